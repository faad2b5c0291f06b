"""Reads and writes the file of definitions of a plan or a report, one JSON document a line. No other module opens it.

A plan has the position of each line and the names that it is found by; a document is decoded when it is needed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from auditor.golang import jsontext

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.base.records import JsonObject


_BUFFER: Final = 1 << 18
FILE: Final = "definitions.ndjson"
"""Name of the file in the folder of a report."""
RULES: Final = b'"x-kubernetes-validations"'
"""Is in the JSON of each definition that has validation rules."""


@dataclass(frozen=True, slots=True)
class DefinitionEntry:
    """Position of one definition in the definitions file, and the names that find it; parsed at its first use."""

    name: str
    group: str
    plural: str
    kind: str
    namespaced: bool
    stored: bool
    offset: int = 0
    length: int = 0


class DefinitionsFile:
    """Reads a file of definitions.

    Args:
        path: The file, or the folder of a report.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            self.path /= FILE

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self.path.is_file()

    def text(self, entry: DefinitionEntry) -> bytes:
        """Return the JSON text of a definition."""
        return next(self.texts((entry,)))[1]

    def document(self, entry: DefinitionEntry) -> JsonObject:
        """Return the decoded document of a definition."""
        document: JsonObject = jsontext.decode(self.text(entry))
        return document

    def texts(self, entries: Iterable[DefinitionEntry]) -> Iterator[tuple[DefinitionEntry, bytes]]:
        """Yield the JSON text of each of some definitions."""
        with self.path.open("rb") as stream:
            for entry in entries:
                stream.seek(entry.offset)
                yield entry, stream.read(entry.length)

    def lines(self) -> Iterator[bytes]:
        """Yield all lines, with their line ends."""
        with self.path.open("rb", _BUFFER) as stream:
            yield from stream

    def offsets(self) -> list[int]:
        """Return where each line begins in bytes, and where the last one ends; [0] where there is no file."""
        if not self.exists():
            return [0]
        return [0, *accumulate(map(len, self.lines()))]

    def between(self, spans: Iterable[tuple[int, int]]) -> Iterator[bytes]:
        """Yield the bytes from one offset to another, for each of some pairs of offsets."""
        if not self.exists():
            return
        with self.path.open("rb", 0) as stream:
            for start, stop in spans:
                stream.seek(start)
                yield stream.read(stop - start)


def write_definitions(
    path: Path, definitions: Iterable[tuple[DefinitionEntry, bytes]]
) -> tuple[tuple[DefinitionEntry, ...], str]:
    """Write a file of definitions.

    Args:
        path: The file.
        definitions: Each with its JSON text; their old positions are ignored.
    Returns:
        (the entries with their new positions, the SHA-256 of the file)
    """
    entries, sha256, offset = [], hashlib.sha256(), 0
    with path.open("wb") as stream:
        for entry, text in definitions:
            entries.append(replace(entry, offset=offset, length=len(text)))
            line = text + b"\n"
            stream.write(line)
            sha256.update(line)
            offset += len(line)
    return tuple(entries), sha256.hexdigest()


def encode_definition(document: JsonObject) -> bytes:
    """Return the document of a definition as JSON, with sorted keys."""
    try:
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError):  # a number or a string that only Go's decoder accepts
        return jsontext.encode(document).encode()


def definition_entry(
    name: str, document: JsonObject, stored: bool, offset: int = 0, length: int = 0
) -> DefinitionEntry:
    """Read the names that keys and objects are matched by; malformed ones are empty, and match nothing."""

    def mapping(parent: JsonObject, key: str) -> JsonObject:
        value = parent.get(key)
        return value if isinstance(value, dict) else {}

    def text(parent: JsonObject, key: str) -> str:
        value = parent.get(key)
        return value if isinstance(value, str) else ""

    spec = mapping(document, "spec")
    names = mapping(spec, "names")
    accepted = mapping(mapping(document, "status"), "acceptedNames")
    if stored and text(accepted, "plural"):
        names = accepted
    return DefinitionEntry(
        name=name,
        group=text(spec, "group"),
        plural=text(names, "plural"),
        kind=text(names, "kind"),
        namespaced=(text(spec, "scope") or "Namespaced") == "Namespaced",
        stored=stored,
        offset=offset,
        length=length,
    )
