"""The output format that ``-o`` and ``--template`` select, and the files that they name.

Source: kubectl pkg/cmd/get (get_flags.go, customcolumn_flags.go); cli-runtime pkg/genericclioptions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.base.given_file import read_given
from auditor.golang.go_text import go_syntax, quote
from auditor.printing.customcolumns import CustomColumns, parse_custom_columns, read_custom_columns
from auditor.printing.jsonpath import JsonPathError, Template, compile_template
from auditor.printing.jsonprint import to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject
    from auditor.printing.get.options import GetOptions


FORMATS: Final = "custom-columns,custom-columns-file,json,jsonpath,jsonpath-as-json,jsonpath-file,name,wide,yaml"
_PLAIN: Final = ("", "wide", "json", "yaml", "name")
_JSONPATH: Final = ("jsonpath", "jsonpath-as-json", "jsonpath-file")
_COLUMNS: Final = ("custom-columns", "custom-columns-file")


class RequestRefused(Exception):
    """The request cannot be fulfilled; the text follows ``error:``, and `more` follows the text."""

    def __init__(self, text: str, more: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.more = more


def check_options(options: GetOptions) -> None:
    """Refuse options that exclude each other.

    Raises:
        Refused: The text is kubectl's.
    """
    if options.show_labels and options.output not in ("", "wide"):
        raise RequestRefused(f"--show-labels option cannot be used with {options.output} printer")
    if options.label_columns and options.output.startswith("custom-columns"):
        raise RequestRefused(f"--label-columns option cannot be used with {options.output} printer")


class OutputFormat:
    """An output format.

    Attributes:
        name: The name of the format; empty for a table.
        template: The JSONPath template, if any.
        custom: The columns of ``custom-columns``, if any.
        is_table: Whether the kind's own columns are printed.
    """

    def __init__(self, options: GetOptions) -> None:
        """Parse the options.

        Raises:
            Refused: There is no such format, or its template does not parse.
        """
        output = options.output or ("go-template" if options.template else "")  # as kubectl takes it; refused here
        name, given, rest = output.partition("=")
        argument = options.template or rest
        self.name = name
        self.template: Template | None = None
        self.custom: CustomColumns | None = None
        self.is_table = output in ("", "wide")
        is_named = not (given and options.template)  # kubectl takes the template from one of them
        if name in options.extra_formats or output in _PLAIN:
            return
        if name in _JSONPATH and is_named:
            self.template = _jsonpath(_given(argument, is_file=name == "jsonpath-file"))
        elif name in _COLUMNS and is_named:
            self.custom = _custom(argument, is_file=name == "custom-columns-file")
        else:
            allowed = ",".join(sorted([*FORMATS.split(","), *options.extra_formats]))
            raise RequestRefused(
                f'unable to match a printer suitable for the output format "{output}", allowed formats are: {allowed}'
            )

    def templated(self, value: JsonObject, *, allow_missing: bool, shown: Callable[[str], str]) -> str:
        """Return the result of the JSONPath template for an object.

        Raises:
            Refused: It fails on the object.
        """
        if self.template is None:
            return ""
        try:
            if self.name == "jsonpath-as-json":
                return "".join(to_json(block) for block in self.template.find(value, allow_missing=allow_missing))
            return self.template.execute(value, allow_missing=allow_missing, shown=shown)
        except JsonPathError as error:
            text = self.template.text
            raise RequestRefused(
                f"error executing jsonpath {quote(text)}: Error executing template: {error}. Printing more information "
                "for debugging the template:",
                (
                    "\ttemplate was:\n",
                    f"\t\t{text}\n",
                    "\tobject given to jsonpath engine was:\n",
                    f"\t\t{go_syntax(value)}\n",
                    "\n\n",
                ),
            ) from None


def _given(argument: str, *, is_file: bool) -> str:
    if not argument:
        raise RequestRefused("template format specified but no template given")
    if not is_file:
        return argument
    try:
        return read_given(argument).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise RequestRefused(f"error reading --template {argument}, {_reason(argument, error)}") from None


def _reason(path: str, error: OSError) -> str:
    """Return an error of the operating system with Go's text."""
    verb = "read" if isinstance(error, IsADirectoryError) else "open"
    return f"{verb} {path}: {(error.strerror or str(error)).lower()}"


def _jsonpath(text: str) -> Template:
    try:
        return compile_template(text)
    except JsonPathError as error:
        raise RequestRefused(f"error parsing jsonpath {text}, {error}") from None


def _custom(argument: str, *, is_file: bool) -> CustomColumns:
    try:
        if not is_file or not argument:
            return parse_custom_columns(argument)
        try:
            text = read_given(argument).decode("utf-8", "surrogateescape")
        except OSError as error:
            raise RequestRefused(f"error reading template {argument}, {_reason(argument, error)}") from None
        return read_custom_columns(text)
    except JsonPathError as error:
        raise RequestRefused(str(error)) from None
