"""``-o custom-columns=HEADER:PATH,...``.

Source: kubectl pkg/cmd/get/customcolumn.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.golang.go_text import display
from auditor.printing.jsonpath import JsonPathError, compile_template, relaxed
from auditor.printing.tables import align

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.printing.jsonpath import Template


_EXPECTED = "Expected format is one line of space separated headers, one line of space separated column specs."


@dataclass(frozen=True, slots=True)
class CustomColumns:
    """Headers and the templates of their paths; an empty path prints ``<none>``.

    Attributes:
        always_headers: Ignore ``--no-headers``, as kubectl does for columns from a file.
    """

    columns: tuple[tuple[str, str], ...]
    always_headers: bool = False

    def render(
        self, objects: Iterable[Any], *, headers: bool, shown: Callable[[str], str] = str
    ) -> tuple[str, JsonPathError | None]:
        """Return the table, and the error that ended it early, if any: rows before the failing one are printed.

        Args:
            objects: One a row.
            headers: Whether to print the line of headers.
            shown: Called with each cell; returns its printed text.
        """
        lines = ["\t".join(header for header, _ in self.columns)] if headers or self.always_headers else []
        failed: JsonPathError | None = None
        try:
            templates = [compile_template(path) if path else None for _, path in self.columns]
            for obj in objects:  # one by one: rows before a failing one are printed
                cells = [shown(_cell(template, obj)) for template in templates]
                lines.append("\t".join(cells))
        except JsonPathError as error:
            failed = error
        return align("".join(line + "\n" for line in lines)), failed


def parse_custom_columns(spec: str) -> CustomColumns:
    """Parse the text after ``custom-columns=``.

    Raises:
        JsonPathError: The text is kubectl's.
    """
    if not spec:
        raise JsonPathError("parse", "custom-columns format specified but no custom columns given")
    columns = []
    for part in spec.split(","):
        header, colon, path = part.partition(":")
        if not colon:
            raise JsonPathError("parse", f"unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>")
        columns.append((header, relaxed(path)))
    return CustomColumns(tuple(columns))


def read_custom_columns(text: str) -> CustomColumns:
    """Parse the file of ``custom-columns-file``: a line of headers, a line of paths.

    Raises:
        JsonPathError: The text is kubectl's.
    """
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
    for number, name in enumerate(("header", "spec")):
        if len(lines) <= number:
            raise JsonPathError("parse", f"invalid template, missing {name} line. {_EXPECTED}")
    headers, paths = lines[0].split(), lines[1].split()
    if len(headers) != len(paths):
        raise JsonPathError(
            "parse", f"number of headers ({len(headers)}) and field specifications ({len(paths)}) don't match"
        )
    return CustomColumns(tuple(zip(headers, map(relaxed, paths), strict=True)), always_headers=True)


def _cell(template: Template | None, obj: Any) -> str:
    blocks = template.find(obj) if template is not None else []
    values = blocks[0] if blocks else []
    if not values:
        return "<none>"
    text = ",".join(map(display, values))
    return text.replace("\x1b", "^[").replace("\r", "\\r")
