"""`etcdctl get --prefix ... -w json`: one JSON document, or several if the output was paged.

Keys and values are base64; fields with value zero are missing. Rows are found in the mapped text by etcdctl's own
format, or, in other formats (other order, white space, numbers as strings from etcd's HTTP gateway), field by field.
Values are not copied: the live table has their positions and their encoding.
Source: etcd api/etcdserverpb/rpc.proto (RangeResponse), api/mvccpb/kv.proto, etcdctl/ctlv3/command/printer_json.go.
"""

from __future__ import annotations

import binascii
import codecs
import re
import string
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow

from auditor.base.errors import DamagedDump
from auditor.base.progress import tell
from auditor.sources.files.digest import map_file
from auditor.sources.json_stream import skip_space, value_end
from auditor.sources.live_table import UNKNOWN, KeyedRows, NewestPerKey
from auditor.sources.registry_key import printable_key
from auditor.sources.source_plan import DamageLog, SourcePlan

if TYPE_CHECKING:
    import mmap
    from pathlib import Path


pa: Any = pyarrow

BASE64: Final = 1
"""Encoding of the live table's values."""

_BATCH: Final = 1 << 13
_BATCH_KEY_BYTES: Final = 4 << 20
_BLOCK: Final = 1 << 20
_ROWS_BETWEEN: Final = 1 << 10
"""Rows between two words about the progress."""
_MAX_INT: Final = (1 << 63) - 1

_USUAL: Final = re.compile(
    rb'\{"key":"([A-Za-z0-9+/=]*+)"(?:,"create_revision":(\d{1,19}+))?(?:,"mod_revision":(\d{1,19}+))?'
    rb'(?:,"version":(\d{1,19}+))?(,"value":")?'
)
_USUAL_END: Final = re.compile(rb'(?:,"lease":-?\d++)?\}')
_NAME: Final = re.compile(rb'\s*+"([^"\\]*+)"\s*+:\s*+')
_NUMBER: Final = re.compile(rb'"?(-?\d{1,19}+)"?')
_DIGITS: Final = (string.ascii_letters + string.digits + "+/").encode()
_MOST_PADDING: Final = 2
_ESCAPE: Final = re.compile(rb"\\(?:/|u00([0-7][0-9a-fA-F]))")


class _UnexpectedText(Exception):
    """The text does not continue as expected, at this offset."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(reason)
        self.at = at


class _DocumentReader:
    """Finds the rows of all documents of a text."""

    def __init__(self, text: mmap.mmap | bytes, newest: NewestPerKey, damage: DamageLog) -> None:
        self.text = text
        self.newest = newest
        self.damage = damage
        self.rows = 0
        self.without_value = 0
        self.revisions: list[int] = []
        self.incomplete = ""
        self._keys: list[bytes] = []
        self._numbers: list[tuple[int, int, int, int, int]] = []
        self._key_bytes = 0

    def read(self, at: int) -> None:
        """Read document after document; a truncated one ends the reading with damage."""
        try:
            while (at := skip_space(self.text, at)) < len(self.text):
                at = self._document(at)
        except _UnexpectedText as stop:
            self.damage.add(f"byte {stop.at}", f"{stop}; {self.rows} keys were read before that")
        self._flush()

    def _document(self, at: int) -> int:
        text = self.text
        if text[at : at + 1] != b"{":
            raise _UnexpectedText(at, "no JSON object begins here")
        here, count, more = self.rows, 0, False
        at = skip_space(text, at + 1)
        while text[at : at + 1] != b"}":
            name, at = self._name(at)
            if name == b"kvs" and text[at : at + 1] == b"[":
                at = self._rows(at + 1)
            else:
                end = value_end(text, at)
                if end < 0:
                    raise _UnexpectedText(at, "the text ends inside a value")
                value = text[at : min(end, at + _BLOCK)]
                if name == b"header":
                    match = re.search(rb'"revision"\s*:\s*"?(\d{1,19}+)', value)
                    self.revisions.extend([int(match[1])] if match else [])
                elif name == b"count" and (match := _NUMBER.fullmatch(value)):
                    count = int(match[1])
                elif name == b"more":
                    more = value == b"true"
                at = end
            at = self._next(at, b"}")
        listed = self.rows - here
        self.incomplete = f"{listed} of {max(count, listed + more)} keys were saved" if more or count > listed else ""
        return at + 1

    def _next(self, at: int, close: bytes) -> int:
        """Step over a comma, or stay at the closing bracket."""
        at = skip_space(self.text, at)
        sign = self.text[at : at + 1]
        if sign == b",":
            return skip_space(self.text, at + 1)
        if sign != close:
            raise _UnexpectedText(at, "the text breaks off" if not sign else f"there is {sign!r} instead of a comma")
        return at

    def _name(self, at: int) -> tuple[bytes, int]:
        match = _NAME.match(self.text, at)
        if not match:
            raise _UnexpectedText(at, "there is no field name")
        return match[1], match.end()

    def _rows(self, at: int) -> int:
        """Read the rows after the opening bracket; return the offset after the closing one."""
        text = self.text
        at = skip_space(text, at)
        while text[at : at + 1] != b"]":
            at = self._usual_row(at) or self._any_row(at)
            at = self._next(at, b"]")
        return at + 1

    def _usual_row(self, at: int) -> int | None:
        """Read a row in etcdctl's own format; None if it has another."""
        match = _USUAL.match(self.text, at)
        if not match:
            return None
        start = stop = match.end()
        if match[5] is not None:
            stop = self.text.find(b'"', start)
            if stop < 0:
                raise _UnexpectedText(start, "the text ends inside a value")
        end = _USUAL_END.match(self.text, stop + (match[5] is not None))
        if not end:
            return None
        create, mod, version = (int(match[group]) if match[group] else UNKNOWN for group in (2, 3, 4))
        self._row(at, match[1], create, mod, version, (start, stop), valued=match[5] is not None)
        return end.end()

    def _any_row(self, at: int) -> int:
        text, start = self.text, at
        if text[at : at + 1] != b"{":
            raise _UnexpectedText(at, "no row begins here")
        key: bytes | None = None
        numbers: dict[bytes, int] = {}
        span, valued = (at, at), False
        at = skip_space(text, at + 1)
        while text[at : at + 1] != b"}":
            name, at = self._name(at)
            end = value_end(text, at)
            if end < 0:
                raise _UnexpectedText(at, "the text ends inside a value")
            quoted = text[at : at + 1] == b'"'
            if name == b"key" and quoted:
                key = text[at + 1 : end - 1]
            elif name == b"value" and quoted:
                span, valued = (at + 1, end - 1), True
            elif number := _NUMBER.fullmatch(text[at : min(end, at + 32)]):
                numbers[name] = int(number[1])
            at = self._next(end, b"}")
        create, mod, version = (
            numbers.get(name, 0) or UNKNOWN for name in (b"create_revision", b"mod_revision", b"version")
        )
        self._row(start, key, create, mod, version, span, valued=valued)
        return at + 1

    def _row(
        self, at: int, key: bytes | None, create: int, mod: int, version: int, span: tuple[int, int], *, valued: bool
    ) -> None:
        self.rows += 1
        if not self.rows % _ROWS_BETWEEN:
            tell("opening", at, len(self.text), "B")
        start, stop = span
        try:
            plain = binascii.a2b_base64(key or b"", strict_mode=True)
            _check_value(self.text, start, stop)
        except binascii.Error as error:
            self.damage.add(f"byte {at}", f"row {self.rows}: {error}, where key and value should be base64")
            return
        if not plain:
            self.damage.add(f"byte {at}", f"row {self.rows} has no key")
            return
        if max(create, mod, version) > _MAX_INT or min(create, mod, version) < -_MAX_INT:
            self.damage.add(f"byte {at}", f"row {self.rows} ({printable_key(plain)}): a number is too large")
            return
        self.without_value += not valued
        self._keys.append(plain)
        self._numbers.append((create, mod, version, start, stop - start))
        self._key_bytes += len(plain)
        if len(self._keys) >= _BATCH or self._key_bytes > _BATCH_KEY_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._keys:
            return
        create, mod, version, offset, length = np.array(self._numbers, dtype=np.int64).T
        self.newest.add(
            KeyedRows.of(
                pa.array(self._keys, pa.large_binary()),
                create=create,
                mod=mod,
                version=version,
                offset=offset,
                length=length,
                encoding=BASE64,
            )
        )
        self._keys, self._numbers, self._key_bytes = [], [], 0


def _check_value(text: Any, start: int, stop: int) -> None:
    """Check that a part of a text is base64; a long one block by block, as it may not fit the memory.

    Raises:
        binascii.Error: It is not.
    """
    while stop - start > _BLOCK:
        block = text[start : start + _BLOCK]
        if block.endswith(b"="):
            raise binascii.Error("Excess data after padding")
        _check_base64(block)
        start += _BLOCK
    _check_base64(text[start:stop])


def _check_base64(text: bytes) -> None:
    """Check that a text is base64, faster than by decoding it.

    Raises:
        binascii.Error: It is not.
    """
    digits = text.rstrip(b"=")
    if len(text) % 4 or len(text) - len(digits) > _MOST_PADDING or digits.translate(None, _DIGITS):
        binascii.a2b_base64(text, strict_mode=True)


def _unescape(match: re.Match[bytes]) -> bytes:
    if match[1] is None:
        return b"/"
    sign = bytes([int(match[1], 16)])
    return match[0] if sign in b'"\\' or sign < b" " else sign


def _rewritten(data_file: Path, target: Path) -> Path:
    """Return the file, or a copy that has values as plain base64: UTF-8, no escapes."""
    text = map_file(data_file)
    encoding = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}.get(text[:2], "")
    if not encoding and text.find(b"\\") < 0:
        return data_file
    decoder = codecs.getincrementaldecoder(encoding or "latin-1")("replace")
    held = b""
    with target.open("wb") as out:
        for start in range(2 if encoding else 0, len(text), _BLOCK):
            block = text[start : start + _BLOCK]
            held += decoder.decode(block).encode() if encoding else block
            cut = len(held) - len(held.rsplit(b"\\", 1)[1]) - 1 if b"\\" in held[-6:] else len(held)
            out.write(_ESCAPE.sub(_unescape, held[:cut]))
            held = held[cut:]
        out.write(_ESCAPE.sub(_unescape, held))
    return target


def open_etcdctl(path: str, data_file: Path, *, number: int, workdir: Path, sha256: str) -> SourcePlan:
    """Write the live table of etcdctl's output.

    Args:
        path: The path that the user gave.
        data_file: The uncompressed file: the file itself or a copy.
        number: Position of the dump among the inputs.
        workdir: Folder for the live table, and for a copy of the text if it must be rewritten.
        sha256: SHA-256 of the given file.

    Raises:
        DamagedDump: It was saved without values, or has nothing readable.
    """
    mapped = _rewritten(data_file, workdir / f"text-{number:03d}")
    text = map_file(mapped)
    damage, notes = DamageLog(), []
    newest = NewestPerKey(workdir, number)
    reader = _DocumentReader(text, newest, damage)
    reader.read(3 if text[:3] == codecs.BOM_UTF8 else 0)
    live = workdir / f"live-{number:03d}.arrow"
    rows = newest.finish(live)
    if reader.rows and reader.without_value == reader.rows:
        advice = 'repeat "etcdctl get /registry --prefix -w json"'
        raise DamagedDump(path, "key-only dump: no values", "values too", advice)
    if not rows and damage.records() and not reader.revisions:
        first = damage.records()[0]
        raise DamagedDump(path, f"{first.where}: {first.reason}", "output of etcdctl -w json")
    if not rows and not reader.revisions:
        raise DamagedDump(path, "neither a header nor keys", "output of etcdctl -w json")
    if reader.incomplete:
        damage.add("end of dump", f"limited dump: {reader.incomplete}")
    if len(set(reader.revisions)) > 1:
        span = f"{min(reader.revisions)}..{max(reader.revisions)}"
        notes.append(f"the pages of this dump were read at different revisions ({span}): it shows no single moment")
    if not rows and not damage.records():
        notes.append("no keys: nothing matched when it was saved")
    return SourcePlan(
        name=path,
        format="etcdctl-json",
        mapped=str(mapped),
        sha256=sha256,
        revision=max(reader.revisions, default=None),
        compacted_revision=None,
        is_export=False,
        live=str(live),
        rows=rows,
        damage=damage.records(),
        notes=tuple(notes),
    )
