"""The events of the first document of a text, as Go's parser produces them.

libyaml scans the text. It is newer than the C code from which Go's parser was made, and differs in seven places, which
are corrected here:

- ``"\\/"`` is an escape for libyaml and an error for Go;
- ``"\\'"`` is an error for libyaml and an escape for Go;
- a ``?`` inside a flow collection ends a plain scalar for Go, and what follows is then out of place;
- a ``:`` before one of ``,?[]{}`` is an error for libyaml and part of the plain scalar for Go;
- a ``,``, ``[`` or ``]`` belongs to a tag like ``!a`` for Go, and ends it for libyaml; behind one like ``!<a>`` Go
  takes none of them;
- a byte order mark at the start of a later line is skipped by libyaml and text for Go;
- ``%YAML 1.2`` passes libyaml; Go takes 1.1 only.

Apostrophes, colons and byte order marks are done by putting a character that the text does not use in the place of
the one concerned, and by putting it back in the scalars; tags by writing the character as tags may, ``%2C``.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import yaml

from auditor.sources.yaml.yaml_error import YamlError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


BOM: Final = "\ufeff"
MAX_STAND_INS: Final = 200
"""Number of repeated parses with placeholders for colons and tags that libyaml refuses; real texts need none."""
MAX_READ_AGAIN: Final = 1 << 25
"""Number of characters that are parsed again because of apostrophes, which real texts may escape in many scalars."""

_UNEXPECTED_COLON: Final = "found unexpected ':'"
_UNKNOWN_ESCAPE: Final = "found unknown escape character"
_NO_DOCUMENT: Final = "did not find expected <document start>"
_NO_TAG: Final = "did not find expected tag URI"
_AFTER_TAG: Final = "did not find expected whitespace or line break"
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PARSER: Final[Callable[[bytes], Any]] = yaml.CSafeLoader


class _PartingHere(Exception):
    """Libyaml refuses or misreads a text that Go accepts.

    Attributes:
        start: Index of the colon, the double-quoted scalar or the character of a tag.
        end: Index after it.
    """

    def __init__(self, start: int, end: int) -> None:
        super().__init__(start, end)
        self.start = start
        self.end = end


def _decoded(data: bytes) -> str:
    """Return the text in which libyaml counts positions: without the byte order mark that names the encoding.

    Invalid UTF-8 is preserved, so that `_encoded` passes it to the parser unchanged.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def _go_error(error: yaml.MarkedYAMLError) -> YamlError:
    """Return the error with the line that Go names: of the problem, or of its context if that is on line 0."""
    problem, context = error.problem_mark, error.context_mark
    line = 0
    if problem is not None and problem.line:
        line = problem.line + (1 if isinstance(error, yaml.scanner.ScannerError) else 0)
    elif context is not None and context.line:
        line = context.line
    where = f"line {line}: " if line else ""
    return YamlError(f"yaml: {where}{error.problem or 'unknown problem parsing YAML content'}")


def _version_error(data: bytes) -> YamlError | None:
    """Return Go's error about the first ``%YAML`` directive that is not of 1.1; None if there is none."""
    for token in yaml.scan(data, Loader=yaml.CSafeLoader):
        if type(token) is yaml.DirectiveToken and token.name == "YAML" and token.value != (1, 1):
            where = f"line {token.start_mark.line}: " if token.start_mark.line else ""
            return YamlError(f"yaml: {where}found incompatible YAML document")
        if type(token) not in (yaml.StreamStartToken, yaml.DirectiveToken):
            break
    return None


def _parting(error: yaml.MarkedYAMLError, data: bytes) -> _PartingHere | None:
    """Return the place to correct before the text is parsed again; None if Go has the error, too."""
    if error.problem_mark is None:
        return None
    position = error.problem_mark.index
    if error.problem == _UNEXPECTED_COLON:
        return _PartingHere(position, position + 1)
    if error.problem == _UNKNOWN_ESCAPE and error.context_mark is not None:
        text = _decoded(data)
        quoted = _QUOTED.match(text, error.context_mark.index)
        return _PartingHere(*quoted.span()) if quoted and text.startswith("\\'", position) else None
    if error.problem in (_AFTER_TAG, _NO_TAG):
        text = _decoded(data)
        return (
            _PartingHere(position, position + 1)
            if text.startswith((",", "[", "]"), position) and text[position - 1] != ">"
            else None
        )
    return None


def _raw_events(data: bytes) -> Iterator[Any]:
    """Yield libyaml's events up to the end of the first document."""
    try:
        parser = _PARSER(data)
        while True:
            event = parser.get_event()
            if event is None:
                return
            yield event
            if type(event) is yaml.DocumentEndEvent:
                return
    except yaml.MarkedYAMLError as error:
        parting = _parting(error, data)
        if parting is not None:
            raise parting from None
        is_late = error.problem == _NO_DOCUMENT  # Go looks at the directives before it looks for the document
        raise (_version_error(data) if is_late else None) or _go_error(error) from None
    except yaml.reader.ReaderError as error:
        raise YamlError(f"yaml: {error.reason}") from None
    except UnicodeDecodeError:
        raise YamlError("yaml: invalid Unicode character") from None


def _check_escapes(event: Any, text: str) -> None:
    raw = text[event.start_mark.index : event.end_mark.index]
    for match in _ESCAPE.finditer(raw, raw.find('"')):
        if match.group(1) == "/":
            line = event.start_mark.line + raw.count("\n", 0, match.start())
            where = f"line {line + 1}: " if line else ""
            raise YamlError(f"yaml: {where}found unknown escape character")


def _check_tag(event: Any, text: str) -> None:
    """Refuse a comma directly after the tag of an empty scalar, where libyaml ends the tag."""
    end = event.end_mark.index
    tag = text[event.start_mark.index : end].rsplit(maxsplit=1)[-1]
    if not tag.startswith("!") or not text.startswith(",", end):
        return
    if not tag.startswith("!<"):
        raise _PartingHere(end, end + 1)
    line = event.end_mark.line
    where = f"line {line + 1}: " if line else ""
    raise YamlError(f"yaml: {where}{_AFTER_TAG}")


class _Flow:
    """The open flow collections, for Go's error if a question mark ends a plain scalar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.closers: list[str] = []

    def look(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            closer = self.closers[-1] if self.closers else ""
            if closer and "?" in event.value and event.style in ("", None):
                line = event.start_mark.line
                where = f"line {line}: " if line else ""
                raise YamlError(f"yaml: {where}did not find expected ',' or '{closer}'")
        elif kind is yaml.SequenceStartEvent:
            self.closers.append("]" if event.flow_style else "")
        elif kind is yaml.MappingStartEvent:
            # A pair in a flow sequence has no brace; Go's error is about the sequence.
            braced = self.text[event.end_mark.index - 1 : event.end_mark.index] == "{"
            self.closers.append(("}" if braced else "]") if event.flow_style else "")
        elif kind in (yaml.SequenceEndEvent, yaml.MappingEndEvent):
            self.closers.pop()


def _checked(data: bytes, text: str | None) -> Iterator[Any]:
    """Yield the events, and raise at the positions at which Go's parser does."""
    if text is None and data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = _decoded(data)
    escapes = b"\\/" in data if text is None else "\\/" in text
    questions = b"?" in data
    tags = b"!" in data
    flow: _Flow | None = None
    if escapes or questions or tags:
        text = _decoded(data) if text is None else text
        flow = _Flow(text) if questions else None
    for event in _raw_events(data):
        if flow is not None:
            flow.look(event)
        if type(event) is yaml.ScalarEvent:
            if escapes and event.style == '"' and text is not None:
                _check_escapes(event, text)
            elif tags and event.tag is not None and not event.value and text is not None:
                _check_tag(event, text)
        elif type(event) is yaml.DocumentStartEvent and event.version not in (None, (1, 1)):
            raise _version_error(data) or YamlError("yaml: found incompatible YAML document")
        yield event


def _unused(text: str) -> list[str]:
    """Return three private characters that do not occur in a text."""
    characters = list(islice((character for character in map(chr, range(0xE000, 0xF900)) if character not in text), 3))
    if len(characters) < 3:
        raise YamlError("yaml: text uses every private character")
    return characters


def _encoded(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return b"\xef\xbb\xbf" + data if text.startswith(BOM) else data


def _with_placeholders(data: bytes) -> Iterator[Any]:
    """Yield the events of a text with byte order marks inside, or with text that libyaml refuses."""
    text = _decoded(data)
    colon, mark, apostrophe = _unused(text)
    apostrophe *= 2  # as long as the escape, so that positions do not change
    text = text[:1] + text[1:].replace(BOM, mark)

    def instead(piece: str) -> str:
        if piece.startswith('"'):
            return _ESCAPE.sub(lambda match: apostrophe if match[1] == "'" else match[0], piece)
        return colon if piece == ":" else f"%{ord(piece):02X}"

    def restored(piece: str) -> str:
        return piece.replace(colon, ":").replace(mark, BOM).replace(apostrophe, "'")

    others = read_again = 0
    while others < MAX_STAND_INS and read_again < MAX_READ_AGAIN:
        try:
            events = list(_checked(_encoded(text), text))
        except _PartingHere as here:
            quoted = text.startswith('"', here.start)
            others += not quoted
            read_again += here.end if quoted else 0
            text = text[: here.start] + instead(text[here.start : here.end]) + text[here.end :]
            continue
        except YamlError as error:
            raise YamlError(restored(error.found)) from None
        for event in events:
            if type(event) is yaml.ScalarEvent:
                event.value = restored(event.value)
        return iter(events)
    raise YamlError(f"yaml: {_UNKNOWN_ESCAPE if quoted else _UNEXPECTED_COLON}")


def document_events(data: bytes) -> Iterator[Any]:
    """Yield the parser events of the first document; the rest of the text is ignored.

    Args:
        data: UTF-8, or UTF-16 with a byte order mark.

    Raises:
        YamlError: The text is Go's, ``yaml: line N: `` included.

    Source: go.yaml.in/yaml v2, scannerc.go, parserc.go, the errors of decode.go fail.
    """
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\xef\xbb\xbf" in data[1:] or (utf16 and BOM in _decoded(data)[1:]):
        yield from _with_placeholders(data)
        return
    given = 0
    try:
        for event in _checked(data, None):
            yield event
            given += 1
    except _PartingHere:
        # The events that were already yielded are the same the second time.
        for number, event in enumerate(_with_placeholders(data)):
            if number >= given:
                yield event


def _line(mark: Any, otherwise: int) -> int:
    return otherwise if mark is None else int(mark.line)


def line_behind(data: bytes) -> int | None:
    """Return the line, from 0, of text after the first document, or None if there is none.

    Args:
        data: UTF-8; its first document has no errors.
    """
    ended: int | None = None
    try:
        parser = _PARSER(data)
        while (event := parser.get_event()) is not None:
            if ended is not None:
                return None if type(event) is yaml.StreamEndEvent else _line(event.start_mark, ended)
            if type(event) is yaml.DocumentEndEvent:
                ended = _line(event.end_mark, 0)
    except yaml.MarkedYAMLError as error:
        return None if ended is None else _line(error.problem_mark, ended)
    except (yaml.reader.ReaderError, UnicodeDecodeError):
        return ended
    return None
