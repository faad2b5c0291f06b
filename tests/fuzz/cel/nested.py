"""Batches of updates under rules at every level: what correlates, what is tolerated, in which order rules stop."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from tests.fuzz.cel.batches import Batch, definition, foo
from tests.fuzz.cel.objects import draw

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

__all__ = ["nested_batches", "spoiled"]

Schema = dict[str, Any]

_RULES: list[dict[str, Any]] = [
    {"rule": "false"},
    {"rule": "true"},
    {"rule": "self == oldSelf"},
    {"rule": "self != oldSelf", "message": "changed not"},
    {"rule": "oldSelf.hasValue()", "optionalOldSelf": True},
    {"rule": "!oldSelf.hasValue()", "optionalOldSelf": True},
    {"rule": "false", "messageExpression": "'m'", "reason": "FieldValueForbidden"},
    {"rule": "type(self) == type(oldSelf)"},
    {"rule": "dyn(self) == dyn(self)"},
]
_PRESERVED: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SCALARS: dict[str, Schema] = {
    "integer": {"type": "integer"},
    "string": {"type": "string"},
    "int-or-string": {"x-kubernetes-int-or-string": True},
    "preserved": _PRESERVED,
    "embedded": _PRESERVED | {"x-kubernetes-embedded-resource": True},
}
_KINDS = [*_SCALARS, "object", "object", "map", "list", "set", "map list"]
_DEEPEST = 4


def _schema(random: Random, depth: int) -> Schema:
    kind = "object" if depth == 0 else random.choice(_KINDS if depth < _DEEPEST else ["integer", "string"])
    schema = dict(_SCALARS[kind]) if kind in _SCALARS else _container(random, kind, depth)
    if kind in ("list", "map") and random.random() < 0.3:
        schema[f"x-kubernetes-{kind}-type"] = "atomic"
    if random.random() < 0.2:
        schema["nullable"] = True
    if random.random() < 0.45:
        schema["x-kubernetes-validations"] = random.sample(_RULES, random.randint(1, 2))
    if random.random() < 0.15 and "type" in schema:
        entry: Schema = {"x-kubernetes-validations": random.sample(_RULES, 1)}
        names = list(schema.get("properties", {}))[:1]
        if names:
            entry["properties"] = {name: {"x-kubernetes-validations": [random.choice(_RULES)]} for name in names}
        schema["allOf"] = [{}, entry] if random.random() < 0.5 else [entry]
    return schema


def _container(random: Random, kind: str, depth: int) -> Schema:
    if kind == "object":
        names = random.sample(["a", "b", "c", "kind", "x-y", "namespace"], random.randint(1, 4))
        return {"type": "object", "properties": {name: _schema(random, depth + 1) for name in names}}
    if kind == "map":
        return {"type": "object", "additionalProperties": _schema(random, depth + 1)}
    if kind == "list":
        return {"type": "array", "items": _schema(random, depth + 1)}
    if kind == "set":
        items: Schema = {"type": random.choice(["integer", "string"])}
        return {"type": "array", "x-kubernetes-list-type": "set", "items": items}
    fields = {"k": {"type": "string"}, "j": {"type": "integer"}, "v": _schema(random, depth + 2)}
    items = {"type": "object", "properties": fields}
    if random.random() < 0.5:
        items["x-kubernetes-validations"] = [random.choice(_RULES)]
    keys = random.choice([["k"], ["k", "j"]])
    return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": items}


def _changed(random: Random, value: Any, schema: Schema) -> Any:
    if random.random() < 0.08:
        return draw(random, schema, [])
    if isinstance(value, dict):
        value = dict(value)
        for key in list(value):
            below = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
            if random.random() < 0.35 and isinstance(below, dict):
                value[key] = _changed(random, value[key], below)
        if value and random.random() < 0.1:
            value.pop(random.choice(list(value)))
        return value
    if isinstance(value, list):
        items = schema.get("items", {})
        value = [_changed(random, each, items) if random.random() < 0.3 else each for each in value]
        if random.random() < 0.3:
            random.shuffle(value)
        if schema.get("x-kubernetes-list-type") == "set":
            value = [each for index, each in enumerate(value) if each not in value[:index]]
        return value
    return draw(random, schema, []) if random.random() < 0.5 else value


_WRONG: list[Any] = [None, 1.5, True, "wrong", [], {}, [1], {"a": 1}, -0.0, 3]


def spoiled(random: Random, value: Any) -> Any:
    """Return a value in which something may be of a wrong type: an update that leaves it there is tolerated."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(list(value))
        return value | {key: spoiled(random, value[key])}
    if isinstance(value, list) and value and random.random() < 0.9:
        index = random.randrange(len(value))
        return [*value[:index], spoiled(random, value[index]), *value[index + 1 :]]
    return random.choice(_WRONG)


def nested_batches(random: Random, count: int) -> Iterator[Batch]:
    """Yield batches of a dozen updates each."""
    for number in range(count):
        schema = _schema(random, 0)
        batch = Batch(f"nested{number}", {}, ["all rules of the schema"], is_update=True)
        batch.crd = definition(batch.name, schema)
        for index in range(12):
            old = draw(random, schema, [])
            if random.random() < 0.3:
                old = spoiled(random, old)
            new = _changed(random, old, schema) if random.random() < 0.8 else deepcopy(old)
            if old is not None and new is not None:
                batch.objects.append([foo(batch.name, each, index) for each in (old, new)])
        if batch.objects:
            yield batch
