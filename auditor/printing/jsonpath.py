"""JSONPath templates as kubectl and printer columns understand them: text, blocks in braces, ranges.

A template consists of text and blocks. A block is a list of steps, each mapping a list of values to another list; it
begins with the root object, or inside a range with the item. Quirks of kubectl are reproduced: an empty list at ``[*]``
ends the step for the values after it as well, quotes are literals, ``$`` has no meaning, numbers of two Go types never
compare.

Source: client-go util/jsonpath (parser.go, jsonpath.go), third_party/forked/golang/template.

Over 500 lines: the grammar and its evaluation, as in one file of client-go.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.golang import jsontext
from auditor.golang.go_text import display, type_name, without_broken
from auditor.golang.unicode import MAX_RUNE, digits_end, is_digit, is_letter, is_print

if TYPE_CHECKING:
    from collections.abc import Callable


class JsonPathError(ValueError):
    """A template that does not parse, or fails on an object; `stage` is ``parse`` or ``exec``, the text is Go's."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.stage = stage


class TooManyVisits(Exception):
    """An evaluation would look at more values than allowed: a path with several ``..`` visits each value many times."""


class Visits:
    """Limits how many values evaluations may look at: in total, and each (at most `EACH`).

    Args:
        together: Values for all evaluations; each may look at `LEAST` even after that.
    """

    EACH: Final = 1_000_000
    LEAST: Final = 1_000

    def __init__(self, together: int = 5 * EACH) -> None:
        self._together = together
        self._left = 0

    def begin(self) -> None:
        """Begin an evaluation."""
        self._left = min(self.EACH, max(self._together, self.LEAST))

    def add(self, count: int) -> None:
        """Count visited values.

        Raises:
            TooManyVisits: The limit is exceeded.
        """
        self._together -= count
        self._left -= count
        if self._left < 0:
            raise TooManyVisits


class _Step(NamedTuple):
    """One step of a block; the meaning of `value` depends on the kind."""

    kind: str
    value: Any = None


class _Slice(NamedTuple):
    """``[start:stop:step]``; a single index is a slice of one item, with a derived stop."""

    start: int | None
    stop: int | None
    step: int | None
    derived: bool


class _Filter(NamedTuple):
    left: tuple[_Step, ...]
    operator: str
    right: tuple[_Step, ...]


_TERMINATORS: Final = frozenset(" \t\r\n.,[]$@{}")
_SLICE: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_DICT_KEY: Final = re.compile(r"'([^']*)'")
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_RELAXED: Final = re.compile(r"\{\.?([^{}]+)\}|\.?([^{}]+)")
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")
_ESCAPES: Final = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34}


# -- parse -------------------------------------------------------------------------------------------------------------


class _TemplateParser:
    """Parses a template from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def blocks(self) -> tuple[tuple[_Step, ...], ...]:
        out: list[tuple[_Step, ...]] = []
        while self.at < len(self.text):
            opening = self.text.find("{", self.at)
            if opening < 0:
                opening = len(self.text)
            if opening > self.at:
                out.append((_Step("text", self.text[self.at : opening]),))
            self.at = opening + 1
            if opening < len(self.text):
                out.append(tuple(self.block()))
        return tuple(out)

    def block(self) -> list[_Step]:
        """Read up to the closing brace."""
        steps: list[_Step] = []
        while True:
            letter = self.text[self.at : self.at + 1]
            if letter == "}":
                self.at += 1
                return steps
            if letter in ("", "\r", "\n"):
                raise JsonPathError("parse", "unclosed action")
            if letter in " @$":
                self.at += 1
            elif self.text.startswith("[?(", self.at):
                steps.append(self.filter())
            elif letter == "[":
                steps += self.array()
            elif letter == ".":
                steps.append(self.dotted(steps))
            elif letter in "\"'":
                steps.append(_Step("text", self.quoted(letter)))
            elif letter in "+-" or is_digit(letter):
                steps.append(self.number())
            elif letter == "_" or is_letter(letter):
                steps.append(_word(self.identifier()))
            else:
                letter = without_broken(letter)
                shown = f" '{letter}'" if is_print(ord(letter)) else ""
                raise JsonPathError("parse", f"unrecognized character in action: U+{ord(letter):04X}{shown}")

    def name(self) -> str:
        """Read a name up to its end; a backslash adds the next letter to it."""
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in _TERMINATORS:
            self.at += 2 if self.text[self.at] == "\\" else 1
        return self.text[start : self.at]

    def identifier(self) -> str:
        """Read a word without a dot before it; a backslash counts as a letter."""
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in _TERMINATORS:
            self.at += 1
        return self.text[start : self.at]

    def dotted(self, before: list[_Step]) -> _Step:
        if self.text.startswith("..", self.at):
            if before and before[-1].kind == "below":
                raise JsonPathError("parse", "invalid multiple recursive descent")
            following = self.text[self.at + 2 : self.at + 3]
            # a name may follow directly; it is read as if its dot were the second one
            self.at += 1 if following == "_" or is_letter(following) or is_digit(following) else 2
            return _Step("below")
        self.at += 1
        name = self.name()
        return _Step("all") if name == "*" else _Step("key", name.replace("\\", ""))

    def quoted(self, quote: str) -> str:
        start = self.at
        while True:
            self.at += 1
            letter = self.text[self.at : self.at + 1]
            if letter in ("", "\n"):
                raise JsonPathError("parse", "unterminated quoted string")
            if letter == quote and self.text[self.at - 1] != "\\":
                break
        self.at += 1
        return _unquote(self.text[start : self.at])

    def number(self) -> _Step:
        start, self.at = self.at, digits_end(self.text, self.at + 1)
        text = self.text[start : self.at]
        number = _parse_number(text)
        if number is None:
            raise JsonPathError("parse", f"cannot parse number {text}")
        return _Step("value", number)

    def array(self) -> list[_Step]:
        start = self.at
        end = self.text.find("]", start)
        newline = self.text.find("\n", start)
        if end < 0 or 0 <= newline < end:
            raise JsonPathError("parse", "unterminated array")
        self.at = end + 1
        inner = self.text[start + 1 : end]
        if inner == "*":
            inner = ":"
        parts = inner.split(",")
        if len(parts) > 1:
            return [_Step("union", tuple(_nested(f"[{part.strip(' ')}]") for part in parts))]
        key = _DICT_KEY.fullmatch(inner)
        if key is not None:
            return list(_nested(f".{key[1]}"))
        return [_Step("slice", _slice(inner))]

    def filter(self) -> _Step:
        start = self.at + 3
        self.at = start
        opened = closed = False
        pair = ""
        while True:
            letter = self.text[self.at : self.at + 1]
            if letter in ("", "\n"):
                raise JsonPathError("parse", "unterminated filter")
            self.at += 1
            if letter in "\"'":
                if not opened:
                    opened, pair = True, letter
                elif letter == pair and self.text[self.at - 2] != "\\":
                    closed = True
            elif letter == ")" and opened == closed:
                break
        if self.text[self.at : self.at + 1] != "]":
            raise JsonPathError("parse", "unclosed array expect ]")
        inner = self.text[start : self.at - 1]
        self.at += 1
        match = _COMPARISON.fullmatch(inner)
        if match is None:
            return _Step("filter", _Filter(_nested(inner), "exists", ()))
        return _Step("filter", _Filter(_nested(match[1]), match[2], _nested(match[3])))


def _nested(text: str) -> tuple[_Step, ...]:
    """Parse the text in brackets as its own block; only its first block counts."""
    return _TemplateParser(f"{{{text}}}").blocks()[0]


def _word(name: str) -> _Step:
    if name in ("true", "false"):
        return _Step("value", name == "true")
    return _Step(name) if name in ("range", "end") else _Step("unknown", name)


def _slice(text: str) -> _Slice:
    match = _SLICE.fullmatch(text)
    if match is None:
        raise JsonPathError("parse", f"invalid array index {text}")
    first, second, third = match.groups()
    start = _index(first) if first else None
    if second is None:
        return _Slice(start, (start or 0) + 1, None, derived=True)
    return _Slice(
        start,
        _index(second[1:]) if second[1:] else None,
        _index(third[1:]) if third and third[1:] else None,
        derived=False,
    )


def _index(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 2**63
    if not -(2**63) <= number < 2**63:
        raise JsonPathError("parse", f"array index {text} is not a number")
    return number


def _parse_number(text: str) -> int | float | None:
    """Return the number in a text of sign, digits and points: an int64, else a float64, or None if it is neither."""
    try:
        number = float(text if text.isascii() else "")  # other digits are no number
    except ValueError:
        return None
    if math.isinf(number):
        return None
    if "." not in text and -(2**63) <= int(text) < 2**63:
        return int(text)
    return number


def _unquote(quoted: str) -> str:
    """Undo the quotes and Go's escapes; bytes that are not UTF-8 become U+FFFD."""
    quote, inner = quoted[0], quoted[1:-1]
    if "\\" not in inner and quote not in inner:
        return inner
    out = bytearray()
    position = 0
    while position < len(inner):
        if inner[position] not in ("\\", quote):
            out += inner[position].encode("utf-8", "surrogatepass")
            position += 1
            continue
        escape = _ESCAPE.match(inner, position)
        meant = _meant(escape[1], quote) if escape is not None else b""
        if escape is None or not meant:
            raise JsonPathError("parse", f"unquote string {quoted} error invalid syntax")
        out += meant
        position = escape.end()
    return out.decode("utf-8", "replace")


def _meant(escape: str, quote: str) -> bytes:
    """Return the bytes that the characters after a backslash mean; empty if they are no escape."""
    if len(escape) == 1:
        known = escape in _ESCAPES and (escape not in "'\"" or escape == quote)
        return bytes([_ESCAPES[escape]]) if known else b""
    code = int(escape, 8) if escape.isdigit() else int(escape[1:], 16)
    if escape[0] in "uU":
        return b"" if code > MAX_RUNE or 0xD800 <= code < 0xE000 else chr(code).encode()
    return bytes([code]) if code < 256 else b""


# -- run ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template; `compile_template` makes it."""

    text: str
    blocks: tuple[tuple[_Step, ...], ...]

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The keys of a template that is one block of keys, else None."""
        steps = self.blocks[0] if len(self.blocks) == 1 else (_Step("text"),)
        return tuple(step.value for step in steps) if all(step.kind == "key" for step in steps) else None

    @property
    def fields(self) -> list[str | None]:
        """The fields that the first block goes through, None for the items of a list, up to a step of another kind."""
        steps = takewhile(lambda step: step.kind in ("key", "slice", "all", "filter"), (*self.blocks, ())[0])
        return [step.value if step.kind == "key" else None for step in steps if step != ("key", "")]

    def find(self, data: Any, *, allow_missing: bool = True, visits: Visits | None = None) -> list[list[Any]]:
        """Return the results of each block in turn; blocks inside ranges give results once for each item.

        Args:
            data: The object.
            allow_missing: A missing field gives no result.
            visits: How many values may be looked at; None for no limit.
        Raises:
            JsonPathError: With stage ``exec``.
            TooManyVisits: The limit is exceeded.
        """
        if visits is not None:
            visits.begin()
        return _Evaluation(self.blocks, allow_missing=allow_missing, visits=visits).blocks_from(0, data)

    def execute(self, data: Any, *, allow_missing: bool = True, shown: Callable[[str], str] = str) -> str:
        """Return the text that the template makes of an object.

        Args:
            data: The object.
            allow_missing: A missing field gives no text.
            shown: Called with the text of each value, but not with the template's own text; returns the printed text.
        Raises:
            JsonPathError: With stage ``exec``.
        """
        blocks = self.find(data, allow_missing=allow_missing)
        if shown is str:
            return "".join(" ".join(map(to_text, block)) for block in blocks)
        own = {step.value for block in self.blocks for step in block if step.kind == "text"}

        def text_of(value: Any) -> str:
            return value if type(value) is str and value in own else shown(to_text(value))

        return "".join(" ".join(map(text_of, block)) for block in blocks)


def to_text(value: Any) -> str:
    """Return a result as a template prints it: text as it is, lists and maps as JSON, floats as %v, null as null."""
    if type(value) in (dict, list):
        return jsontext.encode(value)
    return "null" if value is None else display(value)


@lru_cache(maxsize=512)
def compile_template(text: str) -> Template:
    """Parse a template.

    Raises:
        JsonPathError: With stage ``parse``.
    """
    return Template(text, _TemplateParser(text).blocks())


def relaxed(expression: str) -> str:
    """Return the template for a path of custom-columns or --sort-by: ``{.a.b}`` for ``a.b``.

    Raises:
        JsonPathError: It is not such a path.
    Source: kubectl pkg/cmd/get/customcolumn.go (RelaxedJSONPathExpression).
    """
    if not expression:
        return ""
    match = _RELAXED.fullmatch(expression)
    if match is None:
        raise JsonPathError(
            "parse",
            "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
        )
    return f"{{.{match[1] or match[2]}}}"


class _Evaluation:
    """One evaluation of a template; opened and closed ranges are counted everywhere, even in a filter."""

    def __init__(
        self, blocks: tuple[tuple[_Step, ...], ...], *, allow_missing: bool, visits: Visits | None = None
    ) -> None:
        self.blocks = blocks
        self.visit: Callable[[int], None] = _ignore if visits is None else visits.add
        self.allow_missing = allow_missing
        self.opened = 0
        self.closed = 0
        self.depth = 0
        self.last_end = -1

    def blocks_from(self, at: int, data: Any) -> list[list[Any]]:
        """Evaluate blocks up to the end of the template or of the range."""
        out: list[list[Any]] = []
        while at < len(self.blocks):
            results = self.steps(self.blocks[at], [data])
            if 0 < self.closed <= self.depth:
                self.closed -= 1
                self.last_end = at
                break
            if self.opened:
                self.opened -= 1
                self.depth += 1
                for item in results:
                    out += self.blocks_from(at + 1, item)
                if not results:  # nothing to repeat, but the end of the range is needed
                    self.blocks_from(at + 1, None)
                self.depth -= 1
                at = max(at, self.last_end)  # if a range has no end, the end of a range inside it counts
            else:
                out.append(results)
            at += 1
        return out

    def steps(self, steps: tuple[_Step, ...], values: list[Any]) -> list[Any]:
        for step in steps:
            values = self.step(step, values)
        return values

    def step(self, step: _Step, values: list[Any]) -> list[Any]:
        kind = step.kind
        self.visit(len(values))
        if kind == "key":
            return self.key(step.value, values)
        if kind == "slice":
            return _sliced(step.value, values, self.visit)
        if kind == "all":
            return [child for value in values for child in _children(value, self.visit)]
        if kind == "text":
            return [step.value]
        if kind == "value":
            return [step.value] * len(values)
        if kind == "below":
            return [each for value in values for each in _descendants(value, self.visit)]
        if kind == "union":
            return [each for part in step.value for each in self.steps(part, values)]
        if kind == "filter":
            return [item for value in values for item in self.filtered(step.value, value)]
        if kind == "range":
            self.opened += 1
            return values
        if kind == "end":
            if not self.depth:
                raise JsonPathError("exec", "not in range, nothing to end")
            self.closed += 1
            return []
        raise JsonPathError("exec", f"unrecognized identifier {step.value}")

    def key(self, name: str, values: list[Any]) -> list[Any]:
        fields = [value[name] for value in values if type(value) is dict and name in value]
        if values and not fields and not self.allow_missing:
            raise JsonPathError("exec", f"{name} is not found")
        return fields

    def filtered(self, condition: _Filter, value: Any) -> list[Any]:
        if type(value) is not list:
            raise JsonPathError("exec", f"{display(value)} is not array or slice and cannot be filtered")
        return [item for item in value if self.passes(condition, item)]

    def passes(self, condition: _Filter, item: Any) -> bool:
        if condition.operator == "exists":
            return self.exists(condition.left, [item])
        sides = []
        for side in (condition.left, condition.right):
            values = self.steps(side, [item])
            if not values:
                return False
            if len(values) > 1:
                raise JsonPathError("exec", "can only compare one element at a time")
            sides.append(values[0])
        return _compare(condition.operator, *sides)

    def exists(self, steps: tuple[_Step, ...], values: list[Any]) -> bool:
        """Whether steps lead to a value; a failing step counts as its input, unless it found nothing."""
        for step in steps:
            try:
                values = self.step(step, values)
            except JsonPathError:
                return bool(values) and step.kind not in ("key", "end")
        return bool(values)


def _compare(operator: str, left: Any, right: Any) -> bool:
    if operator not in ("==", "!=", "<", "<=", ">", ">="):
        raise JsonPathError("exec", f"unrecognized filter operator {operator}")
    for side in (left, right):
        if type(side) not in (str, int, float, bool):
            raise JsonPathError("exec", "invalid type for comparison")
    if type(left) is not type(right):
        raise JsonPathError("exec", "incompatible types for comparison")
    if operator in ("==", "!="):
        return bool((left == right) is (operator == "=="))
    if type(left) is bool:
        raise JsonPathError("exec", "invalid type for comparison")
    if type(left) is str:
        left, right = left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass")
    if operator in ("<", ">="):
        return bool((left < right) is (operator == "<"))
    return bool((left <= right) is (operator == "<="))


def _ignore(_count: int) -> None:
    """Do not count visited values."""


def _sliced(wanted: _Slice, values: list[Any], visit: Callable[[int], None]) -> list[Any]:
    out: list[Any] = []
    for value in values:
        if value is None:
            continue
        if type(value) is not list:
            raise JsonPathError("exec", f"{type_name(value)} is not array or slice")
        length = len(value)
        start, stop = wanted.start or 0, length if wanted.stop is None else wanted.stop
        start += length if start < 0 else 0
        stop += length if stop < 0 or (stop == 0 and wanted.derived) else 0
        if start == stop:
            return out  # kubectl does the same: lists after an empty one are ignored
        if not 0 <= start < length:
            raise JsonPathError("exec", f"array index out of bounds: index {start}, length {length}")
        if not 0 <= stop <= length:
            raise JsonPathError("exec", f"array index out of bounds: index {stop - 1}, length {length}")
        if start > stop:
            raise JsonPathError("exec", f"starting index {start} is greater than ending index {stop}")
        if wanted.step is not None and wanted.step <= 0:
            raise JsonPathError("exec", "step must be > 0")
        visit(stop - start)
        out += value[start : stop : wanted.step or 1]
    return out


def _children(value: Any, visit: Callable[[int], None]) -> list[Any]:
    if type(value) not in (dict, str, list):
        return []
    visit(len(value))
    if type(value) is dict:
        return [value[key] for key in sorted(value)]
    if type(value) is str:
        return list(value.encode("utf-8", "surrogatepass"))  # strings in Go are bytes
    assert type(value) is list
    return value


def _descendants(value: Any, visit: Callable[[int], None]) -> list[Any]:
    """Return a value and everything below it that is a list or map, depth first."""
    out: list[Any] = []
    todo = [value]
    while todo:
        node = todo.pop()
        children = _children(node, visit)
        if children:
            out.append(node)
            if type(node) is not str:
                todo.extend(reversed(children))
    return out
