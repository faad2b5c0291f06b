"""Values that a schema allows, the smallest first, and values near what two schemas allow differently.

Nothing here decides what is valid: values are tried by the engine (`trial`), which alone says what a server answers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from auditor.crddiff.strings import LONGEST, WORDS, of_pattern, texts
from auditor.golang.jsontext import encode
from auditor.schema.structural import ABSENT, ListType, StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random


ITEMS: Final = "[*]"
KEYS: Final = "*"
"""Steps into the items of a list and the values of a map."""
_MOST_ITEMS: Final = 3_000
_DEEPEST: Final = 24
_FIELDS: Final = 8
"""Optional fields that a drawn object has on average, at most."""
_KEY: Final = "key"
_NULLS: Final = 0.15


class Maker:
    """Makes values for schemas.

    Args:
        random: Draws optional fields and other values; None makes the smallest value.
        literals: Texts and numbers of rules, which are likely values.
    """

    def __init__(self, random: Random | None = None, literals: Sequence[Any] = ()) -> None:
        self.random = random
        self.literals = literals

    def value(
        self, node: StructuralSchema, also: Sequence[StructuralSchema] = (), turn: int = 0, depth: int = 0
    ) -> Any:
        """Return a value that a schema probably allows.

        Args:
            node: The schema.
            also: Further schemas of validations alone, which it fits too.
            turn: Other numbers give other values, where the schema has several.
            depth: Depth of the value, which ends recursion.
        """
        if self.random is not None and node.nullable and self.random.random() < _NULLS:
            return None
        every = self._closed((node, *also))
        enums = [one.enum for one in every if one.enum is not None]
        if enums:
            allowed = [value for value in enums[0] if all(value in enum for enum in enums)] or list(enums[0])
            return self._one_of(allowed, turn)
        if self.random is None and node.default is not ABSENT and not turn:
            return node.default
        kind = node.type or ("object" if node.properties or node.additional_properties else "")
        if kind == "object" or node.embedded_resource:
            return self._object(node, every, turn, depth)
        if kind == "array":
            return self._array(node, every, depth)
        values = list(scalars(every, kind, int_or_string=node.int_or_string))
        if self.random is not None and self.literals and self.random.random() < 0.5:
            values = [value for value in self.literals if type(value) is str or kind != "string"] or values
        return self._one_of(values, turn) if values else {"string": "a", "boolean": True}.get(kind, 0)

    def _closed(self, nodes: Sequence[StructuralSchema]) -> list[StructuralSchema]:
        out: list[StructuralSchema] = []
        rest = list(nodes)
        while rest and len(out) < 64:
            one = rest.pop(0)
            out.append(one)
            rest += one.all_of
            for branches in (one.any_of, one.one_of):
                if branches:
                    rest.append(branches[0] if self.random is None else self.random.choice(branches))
        return out

    def _one_of(self, values: Sequence[Any], turn: int) -> Any:
        return values[turn % len(values)] if self.random is None or turn else self.random.choice(values)

    def _object(self, node: StructuralSchema, every: list[StructuralSchema], turn: int, depth: int) -> dict[str, Any]:
        names = dict.fromkeys(name for one in every for name in one.required)
        extra = node.additional_properties
        if depth < _DEEPEST:
            least = max((one.min_properties or 0 for one in every), default=0)
            more = [name for name in node.properties if name not in names]
            if self.random is not None:
                share = min(self.random.choice((0.1, 0.4, 0.8)) if depth < 4 else 0.1, _FIELDS / max(1, len(more)))
                names.update(dict.fromkeys(name for name in more if self.random.random() < share))
            names.update(dict.fromkeys(more[: max(0, least - len(names))]))
            if isinstance(extra, StructuralSchema):
                wanted = max(0, least - len(names)) or (self.random is not None and self.random.random() < 0.4)
                names.update(dict.fromkeys(f"{_KEY}{number or ''}" for number in range(int(wanted))))
        out: dict[str, Any] = {}
        for name in names:
            child = node.properties.get(name) or (extra if isinstance(extra, StructuralSchema) else None)
            also = [one.properties[name] for one in every[1:] if name in one.properties]
            out[name] = self.value(child or StructuralSchema(), also, turn, depth + 1)
        if node.embedded_resource:
            out = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}} | out
        return out

    def _array(self, node: StructuralSchema, every: list[StructuralSchema], depth: int) -> list[Any]:
        least = max((one.min_items or 0 for one in every), default=0)
        if self.random is not None and depth < _DEEPEST:
            least = max(least, self.random.choice((0, 1, 1, 2)))
        return self.items(node, min(least, _MOST_ITEMS), depth)

    def items(self, node: StructuralSchema, count: int, depth: int = 0) -> list[Any]:
        """Return items of a list that differ from one another where its type asks for that."""
        item = node.items or StructuralSchema()
        out = [self.value(item, (), number, depth + 1) for number in range(count)]
        if count > 1 and node.list_type in (ListType.SET, ListType.MAP):
            for number, value in enumerate(out):
                if type(value) is str and number:
                    out[number] = value if out.index(value) == number else f"{value}{number}"
                elif type(value) is int and out.index(value) != number:
                    out[number] = value + number
                elif type(value) is dict and node.list_map_keys:
                    key = node.list_map_keys[0]
                    if type(value.get(key)) is str and number:
                        out[number] = value | {key: f"{value[key]}{number}"}
                    elif type(value.get(key)) is int:
                        out[number] = value | {key: value[key] + number}
        return out

    # -- values in places ---------------------------------------------------------------------------------------------

    def placed(self, node: StructuralSchema, base: Any, steps: Sequence[str], value: Any) -> Any:
        """Return a copy of a value with another one at a place below it, and what is needed above that.

        Args:
            node: The schema of the value.
            base: The value; it is not changed.
            steps: Names of fields, `ITEMS` and `KEYS`.
            value: `ABSENT` removes what is there.
        """
        if not steps:
            return value
        first, rest = steps[0], steps[1:]
        if first == ITEMS:
            child = node.items or StructuralSchema()
            items = list(base) if type(base) is list else []
            below = self.placed(child, items[0] if items else self.value(child), rest, value)
            return items[1:] if below is ABSENT else [below, *items[1:]]
        out = dict(base) if type(base) is dict else {}
        extra = node.additional_properties
        key = first
        if first == KEYS:
            key = next((name for name in out if name not in node.properties), _KEY)
        other = extra if isinstance(extra, StructuralSchema) else StructuralSchema()
        child = node.properties.get(first, other)
        known = out.pop(key, ABSENT)
        below = self.placed(child, self.value(child) if known is ABSENT and rest else known, rest, value)
        if below is not ABSENT:
            out[key] = below
        return out


def scalars(every: Sequence[StructuralSchema], kind: str, *, int_or_string: bool = False) -> Iterator[Any]:
    """Yield scalar values that fit schemas of one value, simple ones first.

    Args:
        every: The schema, and those of its validations.
        kind: Type of the schema; empty for any.
        int_or_string: Whether it takes integers and strings.
    """
    if kind == "boolean":
        yield from (True, False)
        return
    if kind == "string":
        lengths = [one.min_length or 0 for one in every]
        limits = [one.max_length for one in every if one.max_length is not None]
        patterns = [one.pattern for one in every if one.pattern]
        yield from texts(patterns, [one.format for one in every if one.format], max(lengths), min(limits, default=None))
        return
    low = max((one.minimum for one in every if one.minimum is not None), default=None)
    high = min((one.maximum for one in every if one.maximum is not None), default=None)
    step = next((one.multiple_of for one in every if one.multiple_of), None)
    numbers: list[Any] = [1, 0, 2, 3, -1]
    numbers += [low, low + 1] if low is not None else []
    numbers += [high, high - 1] if high is not None else []
    numbers += [step, 2 * step] if step else []
    for number in dict.fromkeys(numbers):
        whole = math.floor(number) if number == math.floor(number) else math.ceil(number)
        shown = whole if kind == "integer" or int_or_string or number == whole else number
        if (low is None or shown >= low) and (high is None or shown <= high):
            yield shown
    if int_or_string or not kind:
        yield from texts([one.pattern for one in every if one.pattern], [])


def probes(old: StructuralSchema, new: StructuralSchema | None, literals: Sequence[Any]) -> Iterator[Any]:
    """Yield values at a place: those near what one of two schemas refuses come first.

    Args:
        old: The schema before.
        new: The schema after; None means there is none.
        literals: Texts and numbers of rules.
    """
    seen: set[str] = set()
    for value in _probes(old, new or StructuralSchema(), literals):
        text = encode(value) if value is not ABSENT else "-"
        if text not in seen:
            seen.add(text)
            yield value


def _probes(old: StructuralSchema, new: StructuralSchema, literals: Sequence[Any]) -> Iterator[Any]:
    smallest = Maker()
    kind = old.type or ("object" if old.properties or old.additional_properties else "")
    if old.enum is not None:
        yield from (value for value in old.enum if new.enum is None or value not in new.enum)
        yield from old.enum
    if kind in ("string", "") or old.int_or_string:
        yield from _text_probes(old, new)
    if kind in ("integer", "number", "") or old.int_or_string:
        yield from _number_probes(old, new, kind)
    if kind == "boolean":
        yield from (True, False)
    if kind in ("array", ""):
        yield from _list_probes(old, new)
    if kind in ("object", ""):
        yield from _map_probes(old, new)
    yield smallest.value(old)
    if old.nullable:
        yield None
    yield from literals
    if not kind and not old.int_or_string:
        yield from (True, {}, [], None)
    yield ABSENT


def _text_probes(old: StructuralSchema, new: StructuralSchema) -> Iterator[str]:
    if new.max_length is not None and new.max_length < LONGEST:
        yield from texts([old.pattern] if old.pattern else [], [old.format] if old.format else [], new.max_length + 1)
        yield "a" * (new.max_length + 1)
    yield from texts([old.pattern] if old.pattern else [], [old.format] if old.format else [])
    if new.min_length:
        yield "a" * (new.min_length - 1)
    yield from of_pattern(old.pattern, old.min_length or 0) if old.pattern else ()
    yield from of_pattern(new.pattern) if new.pattern else ()
    yield from WORDS


def _number_probes(old: StructuralSchema, new: StructuralSchema, kind: str) -> Iterator[Any]:
    near = 1 if kind == "integer" or old.int_or_string else 0.5
    for one in (new, old):
        for limit in (one.maximum, one.minimum):
            if limit is not None:
                whole = int(limit) if limit == int(limit) else limit
                yield from (whole, whole + near, whole - near)
    yield from scalars((old,), kind or "integer")
    yield from (2**31, -(2**31) - 1, 2**53 + 1, 7, 100)
    if kind == "number":
        yield from (1.5, 0.1)


def _list_probes(old: StructuralSchema, new: StructuralSchema) -> Iterator[list[Any]]:
    maker = Maker()
    if new.max_items is not None and new.max_items < _MOST_ITEMS:
        yield maker.items(old, new.max_items + 1)
    if new.min_items:
        yield maker.items(old, max(old.min_items or 0, new.min_items - 1))
    yield maker.items(old, 1)
    item = maker.value(old.items or StructuralSchema())
    yield [item, item]
    if type(item) is dict and new.list_map_keys and old.items is not None:  # equal keys, other values
        names = [name for name in old.items.properties if name not in new.list_map_keys]
        keyed = {
            key: maker.value(old.items.properties[key]) for key in new.list_map_keys if key in old.items.properties
        }
        for name in names[:8]:
            yield [item | keyed, item | keyed | {name: maker.value(old.items.properties[name], (), 1)}]
    yield []


def _map_probes(old: StructuralSchema, new: StructuralSchema) -> Iterator[dict[str, Any]]:
    maker = Maker()
    whole = maker.value(old)
    whole = whole if type(whole) is dict else {}
    extra = old.additional_properties
    if new.max_properties is not None and new.max_properties < _MOST_ITEMS:
        count = new.max_properties + 1
        if isinstance(extra, StructuralSchema):
            yield {f"{_KEY}{number}": maker.value(extra) for number in range(count)}
        names = [name for name in old.properties if name not in whole][: max(0, count - len(whole))]
        yield whole | {name: maker.value(old.properties[name]) for name in names}
    if isinstance(extra, StructuralSchema):
        yield {_KEY: maker.value(extra)}
    for name, child in old.properties.items():
        if name not in whole:
            yield whole | {name: maker.value(child)}
    if old.preserve_unknown_fields or extra is True:
        yield whole | {"unknown": "a"}
    yield {}
