"""Where the objects of manifests go.

`Spans` notes where they lie in the file, `Spool` writes them to a file of their own, one a line, which is needed where
the input does not have the text of an object as it must be read (YAML, items of a typed list that leave kind and
apiVersion to the list, folders).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import orjson

from auditor.golang import jsontext
from auditor.sources.manifests.rows import Header, ManifestRows, header_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from auditor.sources.json_stream import Bytes

__all__ = ["NeedsSpool", "Sink", "Spans", "Spool"]


class NeedsSpool(Exception):
    """An item is not complete where it is."""


class Sink(Protocol):
    """Where objects go."""

    def span(self, data: Bytes, start: int, end: int, header: Header | None) -> None:
        """Take an object that is complete in the file."""

    def spans(self, data: Bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], headers: list[Header]) -> None:
        """Take many of them."""

    def inheriting(self, data: Bytes, start: int, end: int, header: Header, missing: dict[str, str]) -> None:
        """Take an item of a list that lacks some of its type; `missing` has the values, `header` has them already."""

    def value(self, value: Any) -> None:
        """Take a decoded object."""


class Spans:
    """Notes where objects lie in the mapped file."""

    def __init__(self, rows: ManifestRows) -> None:
        self.rows = rows

    def span(self, data: Bytes, start: int, end: int, header: Header | None) -> None:  # noqa: ARG002 - a Sink
        """Add a row."""
        self.rows.add(header, start, end - start)

    def spans(self, data: Bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], headers: list[Header]) -> None:  # noqa: ARG002
        """Add rows."""
        self.rows.add_all(headers, starts, ends - starts)

    def inheriting(self, data: Bytes, start: int, end: int, header: Header, missing: dict[str, str]) -> None:  # noqa: ARG002
        """Refuse: the text of the object is not in the file."""
        raise NeedsSpool

    def value(self, value: Any) -> None:  # noqa: ARG002
        """Refuse, likewise."""
        raise NeedsSpool


class Spool:
    """Writes objects to a file of their own, one a line."""

    def __init__(self, rows: ManifestRows, file: BinaryIO) -> None:
        self.rows = rows
        self.file = file
        self.at = file.tell()

    def _write(self, text: bytes, header: Header | None) -> None:
        self.rows.add(header, self.at, len(text))
        self.file.write(text)
        self.file.write(b"\n")
        self.at += len(text) + 1

    def span(self, data: Bytes, start: int, end: int, header: Header | None) -> None:
        """Copy an object."""
        self._write(bytes(data[start:end]), header)

    def spans(self, data: Bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], headers: list[Header]) -> None:
        """Copy objects."""
        for start, end, header in zip(starts.tolist(), ends.tolist(), headers, strict=True):
            self._write(bytes(data[start:end]), header)

    def inheriting(self, data: Bytes, start: int, end: int, header: Header, missing: dict[str, str]) -> None:
        """Copy an object with what it lacks put behind, where it wins over a key that is there but empty or null."""
        tail = orjson.dumps(missing)[1:]
        body = bytes(data[start : end - 1])
        comma = b"" if body.rstrip() == b"{" else b","
        self._write(body + comma + tail, header)

    def value(self, value: Any) -> None:
        """Write a decoded object as JSON text that decodes to the same."""
        try:
            text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except (TypeError, ValueError):
            text = jsontext.encode(value).encode()
        self._write(text, header_of(value))
