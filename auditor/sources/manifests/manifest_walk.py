"""Walks the bytes of manifests and passes every object to a sink, in the order of the text.

Nothing is dropped: a value that no decoder reads becomes a row that the worker reports as unreadable, and if not even
its end is known, the walk reports damage.

sinks.py has the sinks.
"""

from __future__ import annotations

import re
from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from auditor.base.progress import tell
from auditor.golang import jsontext
from auditor.sources.json_stream import Bytes, ObjectLayout, array_items, layout, skip_space, value_end
from auditor.sources.manifests.object_header import ObjectHeader, fast_header, fast_headers, header_of, read_header
from auditor.sources.manifests.yaml_lists import absolute_lines, list_pieces
from auditor.sources.source_plan import DamageLog
from auditor.sources.yaml import Chunk, YamlError, line_behind_document, yaml_chunks, yaml_to_json

if TYPE_CHECKING:
    from auditor.sources.manifests.sinks import Sink


MAX_NESTED_LISTS: Final = 8
MAX_LONG_SCANS: Final = 16
"""Number of objects without end for which the rest of the file is scanned; later ones end at the next line."""
LONG_LINE: Final = 1 << 22
"""Size in bytes of a line that is scanned, not decoded, if the fast decoder refuses it."""
SHORT: Final = 1 << 12
"""Bytes of a line of several values in which the end of one is looked for first."""
FEW_LINES: Final = 16
"""Plain lines that are taken one by one before more are expected: where odd ones are many, none is read twice."""
MANY_LINES: Final = 256
"""Lines that are taken together."""
PIECEWISE_FROM: Final = 1 << 18
"""Bytes of a YAML list from which on its items are converted one by one."""
PRINTED: Final = "printer output (kind: Table) holds no objects; repeat the command with -o json or -o yaml"


def _inherited(kind: str, api_version: str) -> dict[str, str]:
    """Return what items of a typed list may leave out; nothing for the untyped ``List``."""
    if kind == "List" or not kind.endswith("List"):
        return {}
    return {"apiVersion": api_version, "kind": kind[: -len("List")]}


def _missing(header: ObjectHeader, inherited: dict[str, str]) -> dict[str, str]:
    return {key: text for key, text in inherited.items() if text and not getattr(header, key)}


class ManifestWalk:
    """One walk over one file.

    Args:
        sink: Receives the objects.

    Attributes:
        damage: Parts that could not be read.
        notes: Notes for the report.
        format: The detected format: ndjson, json, list-json or yaml; empty before the walk.
        shared_line: Where the line ends on which several values were found last; it is not looked at as a whole again.
    """

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.damage = DamageLog()
        self.notes: list[str] = []
        self.format = ""
        self.tables = 0
        self.objects = 0
        self.lists = 0
        self.lines = 0
        self.long_scans = 0
        self.shared_line = 0

    def walk(self, data: Bytes) -> None:
        """Read all of it: JSON values one after another, else YAML."""
        start = skip_space(data, 3 if data[:3] == b"\xef\xbb\xbf" else 0)
        if self._takes_whole(data, start):
            return
        behind = _behind_comments(data, start)
        if data[start : start + 1] == b"[" or data[behind : behind + 1] == b"{":
            as_json = self._starts_as_json(data, behind)
        else:
            as_json = _talks_first(data, start)
        if as_json:
            with memoryview(data) as view:
                self._json(data, view, start)
            one_each = self.lines == self.objects + self.tables and not self.lists
            self.format = "list-json" if self.lists else "ndjson" if one_each and self.lines > 1 else "json"
        else:
            self.format = "yaml"
            self._yaml(data)

    # -- JSON ----------------------------------------------------------------------------------------------------------

    def _takes_whole(self, data: Bytes, start: int) -> bool:
        """Take a text that is one plain object and not long, as files of folders are; return whether it is."""
        is_short = len(data) <= PIECEWISE_FROM and data[start : start + 1] == b"{"
        header = fast_header(bytes(data[start:])) if is_short else None
        if header is None or _is_no_object(header.kind):
            return False
        self.format = "json"
        self._take(data, memoryview(b""), start, len(data), header, 0)
        return True

    def _starts_as_json(self, data: Bytes, start: int) -> bool:
        """Distinguish JSON from YAML that begins with a brace, by two tokens and, if short, by the first value."""
        after = skip_space(data, start + 1)
        opened, following = data[start : start + 1], data[after : after + 1]
        if opened == b"{" and following not in (b'"', b"}"):
            return False
        if opened == b"[" and following not in (b"{", b"]"):
            return False
        line_end = data.find(b"\n", start)
        end = value_end(data[start : start + PIECEWISE_FROM], 0)
        if end < 0 or read_header(bytes(data[start : start + end])) is not None or opened == b"[":
            return True
        # The first value is no JSON. Broken NDJSON goes on with an object on the next line; else YAML may read it.
        ahead = skip_space(data, line_end) if line_end >= 0 else len(data)
        if data[ahead : ahead + 1] == b"{":
            return True
        try:
            return type(yaml_to_json(bytes(data[start : start + end]))) is not dict
        except YamlError:
            return True

    def _json(self, data: Bytes, view: memoryview, at: int) -> None:
        size = len(data)
        while at < size:
            first = data[at]
            if first == 0x7B:  # {
                after = at if at < self.shared_line else self._lines(data, view, at)
                at = after if after > at else self._object(data, view, at)
            elif first == 0x5B:  # [
                at = self._array(data, view, at)
            else:
                at = self._other(data, at)
            at = skip_space(data, at)

    def _lines(self, data: Bytes, view: memoryview, at: int) -> int:
        """Read as many lines from `at` on as have one plain object each; return the end of the last one.

        Nearly all large exports have only such lines; `_object` handles other lines.
        """
        begin, count = at, FEW_LINES
        while True:
            after, taken = self._single_lines(data, view, at, count)
            if taken < count:
                return after - 1 if after > begin else begin
            while (at := after) < (after := self._many_lines(data, view, at)):
                tell("opening", after, len(data), "B")
            count = MANY_LINES  # one of them is unusual

    def _single_lines(self, data: Bytes, view: memoryview, at: int, count: int) -> tuple[int, int]:
        """Take so many lines one by one, if all are plain; return where the last of them ends, and their number."""
        find, span, size = data.find, self.sink.span, len(data)
        for taken in range(count):
            end = find(b"\n", at) if at < size and data[at] == 0x7B else -1
            if end < 0 or end - at > LONG_LINE or data[end - 1] != 0x7D:
                return at, taken
            header = fast_header(view[at:end])
            if header is None or _is_no_object(header.kind):
                return at, taken
            self.objects += 1
            self.lines += 1
            span(data, at, end, header)
            at = end + 1
        return at, count

    def _many_lines(self, data: Bytes, view: memoryview, at: int) -> int:
        """Take the next lines together, if all of them are plain; return where they end, else `at`."""
        find, stop, lines = data.find, at, []
        for _ in range(MANY_LINES):
            if (end := find(b"\n", stop)) < 0:
                break
            lines.append(end)
            stop = end + 1
        ends = np.array(lines, np.int64)
        starts = np.concatenate(((at,), ends + 1))[:-1]
        text = np.frombuffer(view, np.uint8)
        if not ((text[starts] == 0x7B) & (text[ends - 1] == 0x7D) & (ends - starts <= LONG_LINE)).all():
            return at
        headers = fast_headers(view[at:stop])
        # Between two such lines no value goes on. So there is at least one in each, and if they are as many, just one.
        if headers is None or len(headers) != len(lines):
            return at
        if any(map(_is_no_object, {header.kind for header in headers})):
            return at
        self.objects += len(lines)
        self.lines += len(lines)
        self.sink.spans(data, starts, ends, headers)
        return stop

    def _object(self, data: Bytes, view: memoryview, at: int) -> int:
        """Read the value at `at`, which begins with a brace; return its end."""
        line_end = self.shared_line
        if at >= line_end:
            line_end = data.find(b"\n", at)
            line_end = len(data) if line_end < 0 else line_end
            header = self._line_header(view, at, line_end)
            if header is not None:
                self.lines += 1
                self._take(data, view, at, line_end, header, 0)
                return line_end
        if line_end - at > 1:
            # Several values on one line, or a broken one.
            for size in (SHORT, PIECEWISE_FROM):
                line = bytes(data[at : min(line_end, at + size)])
                end = value_end(line, 0)
                if end > 0 or len(line) < size:
                    break
            if end > 0:
                self.shared_line = line_end
                header = read_header(line[:end])
                if header is not None:
                    self._take(data, view, at, at + end, header, 0)
                    return at + end
                following = skip_space(data, at + end)
                if following < line_end and data[following] == 0x7B:
                    return self._unreadable(data, at, at + end)
            if end < 0 and self._next_is_a_line(data, view, line_end):
                self.lines += 1
                return self._unreadable(data, at, line_end)
        return self._long_object(data, view, at)

    def _line_header(self, view: memoryview, at: int, line_end: int) -> ObjectHeader | None:
        # A lone brace begins a printed object; asking about it would only cost. The exact decoder
        # would build every item of a very long line, which is a list.
        line = view[at:line_end]
        return read_header(line, exact=line_end - at <= LONG_LINE) if line_end - at > 2 else None

    def _next_is_a_line(self, data: Bytes, view: memoryview, line_end: int) -> bool:
        start = skip_space(data, line_end)
        if data[start : start + 1] != b"{":
            return False
        end = data.find(b"\n", start)
        return read_header(view[start : len(data) if end < 0 else end]) is not None

    def _resume(self, data: Bytes, at: int) -> int:
        """Return the start of the next line that begins with a brace, or the end: reading can continue there."""
        offset = data.find(b"\n{", at)
        return len(data) if offset < 0 else offset + 1

    def _unreadable(self, data: Bytes, start: int, end: int) -> int:
        self.objects += 1
        while end > start and data[end - 1 : end] in (b"\n", b"\r", b" ", b"\t"):
            end -= 1
        self.sink.span(data, start, end, None)
        return end

    def _long_object(self, data: Bytes, view: memoryview, at: int) -> int:
        """Take an object of many lines."""
        if self.long_scans >= MAX_LONG_SCANS:
            end = self._resume(data, at)
            header = read_header(view[at:end])
            if header is None:
                return self._unreadable(data, at, end)
            self._take(data, view, at, end, header, 0)
            return end
        parts = layout(data, at)
        kind, api_version = _text(data, parts, b"kind"), _text(data, parts, b"apiVersion")
        if parts.items is not None and _is_list_kind(kind, parts) and not _name_in(data, parts):
            self._items(data, view, parts, kind, api_version, 0)
            if parts.broken:
                where = f"{kind or 'List'} at byte {at}"
                self.damage.add(
                    where, f"{parts.broken} (byte {parts.end}); {len(parts.items) // 2} items before it were read"
                )
                return len(data)
            return parts.end
        if parts.broken:
            self.long_scans += 1
            return self._unreadable(data, at, self._resume(data, at))
        header = read_header(view[at : parts.end])
        if header is None and b"\n{" in data[at : parts.end]:
            # Brackets are balanced over several objects: a broken one may have swallowed its neighbours.
            self.long_scans += 1
            return self._unreadable(data, at, self._resume(data, at))
        self._take(data, view, at, parts.end, header, 0)
        return parts.end

    def _array(self, data: Bytes, view: memoryview, at: int) -> int:
        """Take the items of a bare array, as ``jq .items`` prints it."""
        parts = ObjectLayout(at)
        parts.items = items = array("q")
        parts.end, parts.broken = array_items(data, at, items)
        self._items(data, view, parts, "List", "", 0)
        if parts.broken:
            reason = f"{parts.broken} (byte {parts.end}); {len(items) // 2} items before it were read"
            self.damage.add(f"array at byte {at}", reason)
            return len(data)
        return parts.end

    def _other(self, data: Bytes, at: int) -> int:
        """Read a value that is neither object nor array: a YAML separator, a comment, or an unreadable line."""
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        line = bytes(data[at:end]).strip()
        if line.startswith(b"#"):
            return end
        if line.startswith(b"---"):
            rest = skip_space(line, 3)
            if rest < len(line) and line[rest] != 0x23:  # an object on the line of the separator
                return at + rest
            following = _behind_comments(data, end)
            if following < len(data) and not _JSON_AHEAD.match(data, following):
                # From here on the file is YAML.
                self._yaml(bytes(data[end + 1 :]), bytes(data[: end + 1]).count(b"\n"))
                return len(data)
            return end
        return max(self._unreadable(data, at, end), at + 1)

    def _take(
        self, data: Bytes, view: memoryview, start: int, end: int, header: ObjectHeader | None, depth: int
    ) -> None:
        """Pass one value to the sink, or its items if it is a list."""
        while end > start and data[end - 1] in b" \t\r\n":
            end -= 1
        if header is None or not self._take_no_object(data, view, start, header, depth):
            self.objects += 1
            self.sink.span(data, start, end, header)

    def _take_no_object(self, data: Bytes, view: memoryview, start: int, header: ObjectHeader, depth: int) -> bool:
        """Handle a printed table, or the items of a list; return whether the value is one of these."""
        if header.kind == "Table" and header.apiVersion.startswith("meta.k8s.io/"):
            self.tables += 1
            self.damage.add(f"Table at byte {start}", PRINTED)
            return True
        if header.kind.endswith("List") and not header.name and depth < MAX_NESTED_LISTS:
            parts = layout(data, start)
            if parts.items is not None and not parts.broken:
                self._items(data, view, parts, header.kind, header.apiVersion, depth)
                return True
        return False

    def _items(
        self, data: Bytes, view: memoryview, parts: ObjectLayout, kind: str, api_version: str, depth: int
    ) -> None:
        self.lists += 1
        inherited = _inherited(kind, api_version)
        items = parts.items or ()
        sink = self.sink
        for position in range(0, len(items), 2):
            start, end = items[position], items[position + 1]
            header = read_header(view[start:end])
            if header is not None and inherited and data[start : start + 1] == b"{":
                missing = _missing(header, inherited)
                if missing:
                    whole = msgspec.structs.replace(header, **missing)
                    if not self._take_no_object(data, view, start, whole, depth + 1):
                        self.objects += 1
                        sink.inheriting(data, start, end, whole, missing)
                    continue
            self._take(data, view, start, end, header, depth + 1)

    # -- YAML ----------------------------------------------------------------------------------------------------------

    def _yaml(self, data: Bytes, above: int = 0) -> None:
        """Take YAML documents; `above` is the number of lines before them in the file."""
        number = last = 0
        try:
            for chunk in yaml_chunks(data):
                tell("opening", chunk.offset, len(data), "B")
                number += 1
                last = chunk.line + chunk.text.count(b"\n")
                self._chunk(Chunk(chunk.text, chunk.offset, chunk.line + above), number)
        except YamlError as error:
            where = f"line {above + last + 1} or later"
            self.damage.add(where, f"{error.found}; nothing from there on was read")

    def _chunk(self, chunk: Chunk, number: int) -> None:
        text = chunk.text
        pieces = list_pieces(text) if len(text) > PIECEWISE_FROM else None
        if pieces is not None:
            self.lists += 1
            kind, api_version, cuts = pieces
            inherited = _inherited(kind, api_version)
            line, seen = chunk.line, 0
            for item, (start, stop) in enumerate(pairwise(cuts), 1):
                line, seen = line + text.count(b"\n", seen, start), start
                try:
                    values = yaml_to_json(text[start:stop])
                except YamlError as error:
                    self._damaged(f"item {item} of document {number} (line {line + 1})", error, line)
                    continue
                for value in values:  # more than one where a hyphen is alone on its line
                    self._value(value, inherited, 1)
            return
        where = f"document {number} (line {chunk.line + 1})"
        try:
            value = yaml_to_json(text)
        except YamlError as error:
            try:
                # kubectl would refuse it, as a comment or separator makes it expect YAML; but it is JSON.
                value = jsontext.decode_object(_PREAMBLE.sub(b"", text))
            except jsontext.GoJsonError:
                self._damaged(where, error, chunk.line)
                return
        else:
            behind = line_behind_document(text)
            if behind is not None:
                self.damage.add(where, f"it ends before line {chunk.line + behind + 1}; the rest was not read")
        if value is not None:
            self._value(value, {}, 0)

    def _damaged(self, where: str, error: YamlError, above: int) -> None:
        reason = absolute_lines(error.found.removeprefix("error converting YAML to JSON: "), above)
        self.damage.add(where, reason)

    def _value(self, value: Any, inherited: dict[str, str], depth: int) -> None:
        """Pass one decoded value to the sink, or its items if it is a list."""
        if type(value) is list and not depth:
            self.lists += 1
            for item in value:
                self._value(item, {}, 1)
            return
        header = header_of(value)
        if header is None:
            self.objects += 1
            self.sink.value(value)
            return
        missing = _missing(header, inherited)
        if missing:
            value = {**value, **missing}
            header = header_of(value) or header
        if header.kind == "Table" and header.apiVersion.startswith("meta.k8s.io/"):
            self.tables += 1
            self.damage.add("Table", PRINTED)
            return
        items = value.get("items")
        if header.kind.endswith("List") and not header.name and type(items) is list and depth < MAX_NESTED_LISTS:
            self.lists += 1
            below = _inherited(header.kind, header.apiVersion)
            for item in items:
                self._value(item, below, depth + 1)
            return
        self.objects += 1
        self.sink.value(value)


def _is_no_object(kind: str) -> bool:
    """Return whether a value of a kind may be a list or the output of a printer."""
    return kind.endswith("List") or kind == "Table"


_TALK = re.compile(rb"(?!---|#|%)[^\n]+\n\{[ \t]*\"")


def _talks_first(data: Bytes, start: int) -> bool:
    """Detect JSON lines after a line of other text, e.g. a warning that was written to the same file."""
    return _TALK.match(data, start) is not None


_COMMENT = re.compile(rb"#[^\n]*+")
_JSON_AHEAD = re.compile(rb"\{[ \t\r\n]*[\"}]|\[[ \t\r\n]*[{\]]|---")


def _behind_comments(data: Bytes, at: int) -> int:
    """Return the offset of the first byte from `at` on that is neither white space nor comment."""
    while match := _COMMENT.match(data, at := skip_space(data, at)):
        at = match.end()
    return at


_PREAMBLE = re.compile(rb"\A(?:[ \t]*(?:(?:#|---)[^\n]*)?\n)*")


def _text(data: Bytes, parts: ObjectLayout, key: bytes) -> str:
    span = parts.spans.get(key)
    if span is None or span[1] - span[0] > 1024:
        return ""
    try:
        value = jsontext.decode(bytes(data[span[0] : span[1]]))
    except jsontext.GoJsonError:
        return ""
    return value if type(value) is str else ""


def _is_list_kind(kind: str, parts: ObjectLayout) -> bool:
    """Return whether an object with items is a list; a list that is truncated before its kind counts as one."""
    return kind.endswith("List") or (not kind and bool(parts.broken))


def _name_in(data: Bytes, parts: ObjectLayout) -> bool:
    span = parts.spans.get(b"metadata")
    if span is None or span[1] - span[0] > EXACT_METADATA:
        return False
    header = read_header(b'{"metadata":' + bytes(data[span[0] : span[1]]) + b"}")
    return header is not None and bool(header.name)


EXACT_METADATA: Final = 1 << 20
