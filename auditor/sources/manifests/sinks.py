"""Receivers of the objects of manifests.

`Spans` records their positions in the file. `Spool` writes them to a separate file, one per line, if the input does not
have the complete JSON text of an object (YAML, items of a typed list without kind and apiVersion, folders), or has a
Secret that this program redacted: its values are replaced by text that decodes.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol

import orjson

from auditor.golang import jsontext
from auditor.sources.manifests.object_header import ObjectHeader, header_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from auditor.sources.json_stream import Bytes
    from auditor.sources.manifests.export_table import ManifestRows


REDACTED: Final = "(redacted)"
"""What this program prints in place of a value of a Secret."""
REDACTED_VALUE: Final = base64.b64encode(REDACTED.encode()).decode()
"""The value that is read in its place."""


def _is_redacted(data: Bytes, start: int, end: int, header: ObjectHeader | None) -> bool:
    is_secret = header is not None and header.kind == "Secret" and not header.group
    return is_secret and f'"{REDACTED}"'.encode() in bytes(data[start:end])


class NeedsSpool(Exception):
    """An item is not complete in the file, or was redacted."""


class Sink(Protocol):
    """Receives objects."""

    def span(self, data: Bytes, start: int, end: int, header: ObjectHeader | None) -> None:
        """Add an object that is complete in the file."""

    def spans(
        self, data: Bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], headers: list[ObjectHeader]
    ) -> None:
        """Add many such objects."""

    def inheriting(self, data: Bytes, start: int, end: int, header: ObjectHeader, missing: dict[str, str]) -> None:
        """Add an item of a list without its own type; `missing` has the missing fields, `header` has them already."""

    def value(self, value: Any) -> None:
        """Add a decoded object."""


class Spans:
    """Records the positions of objects in the mapped file."""

    def __init__(self, rows: ManifestRows) -> None:
        self.rows = rows

    def span(self, data: Bytes, start: int, end: int, header: ObjectHeader | None) -> None:
        """Add a row."""
        if _is_redacted(data, start, end, header):
            raise NeedsSpool
        self.rows.add(header, start, end - start)

    def spans(
        self, data: Bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], headers: list[ObjectHeader]
    ) -> None:
        """Add rows."""
        secrets = [number for number, header in enumerate(headers) if header.kind == "Secret"]
        if any(_is_redacted(data, int(starts[number]), int(ends[number]), headers[number]) for number in secrets):
            raise NeedsSpool
        self.rows.add_all(headers, starts, ends - starts)

    def inheriting(self, data: Bytes, start: int, end: int, header: ObjectHeader, missing: dict[str, str]) -> None:  # noqa: ARG002
        """Refuse: the text of the object is not in the file."""
        raise NeedsSpool

    def value(self, value: Any) -> None:  # noqa: ARG002
        """Refuse, for the same reason."""
        raise NeedsSpool


class Spool:
    """Writes objects to a separate file, one per line."""

    def __init__(self, rows: ManifestRows, file: BinaryIO) -> None:
        self.rows = rows
        self.file = file
        self.at = file.tell()

    def _write(self, text: bytes, header: ObjectHeader | None) -> None:
        if _is_redacted(text, 0, len(text), header):
            self.rows.redacted += 1
            text = text.replace(f'"{REDACTED}"'.encode(), f'"{REDACTED_VALUE}"'.encode())
        self.rows.add(header, self.at, len(text))
        self.file.write(text)
        self.file.write(b"\n")
        self.at += len(text) + 1

    def span(self, data: Bytes, start: int, end: int, header: ObjectHeader | None) -> None:
        """Copy an object."""
        self._write(bytes(data[start:end]), header)

    def spans(
        self, data: Bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], headers: list[ObjectHeader]
    ) -> None:
        """Copy objects."""
        for start, end, header in zip(starts.tolist(), ends.tolist(), headers, strict=True):
            self._write(bytes(data[start:end]), header)

    def inheriting(self, data: Bytes, start: int, end: int, header: ObjectHeader, missing: dict[str, str]) -> None:
        """Copy an object and append its missing fields, which replace an empty or null field."""
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
