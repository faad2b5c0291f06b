"""Draws values that fit a schema, and the schema that drawn expressions are written for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fuzz.cel.expressions import (
    CIDRS,
    DURATIONS,
    INTS,
    IPS,
    QUANTITIES,
    SEMVERS,
    STRINGS,
    TIMESTAMPS,
    URLS,
)

if TYPE_CHECKING:
    from random import Random

__all__ = ["RICH", "draw", "stripped"]

Schema = dict[str, Any]

_INT, _TEXT, _NUMBER = {"type": "integer"}, {"type": "string"}, {"type": "number"}


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


_ITEM = _object(k=_TEXT, v=_INT, w={"type": "string", "nullable": True})
RICH: Schema = _object(
    i=_INT, j=_INT, d=_NUMBER, b={"type": "boolean"}, s=_TEXT, t=_TEXT,
    x={"x-kubernetes-int-or-string": True}, y={"x-kubernetes-int-or-string": True},
    bytes={"type": "string", "format": "byte"}, date={"type": "string", "format": "date"},
    dt={"type": "string", "format": "date-time"}, dur={"type": "string", "format": "duration"},
    li=_list(_INT), ls=_list(_TEXT), ld=_list(_NUMBER), lb=_list({"type": "boolean"}),
    lt=_list({"type": "string", "format": "date-time"}), lx=_list({"x-kubernetes-int-or-string": True}),
    ss=_list(_TEXT, **{"x-kubernetes-list-type": "set"}), si=_list(_INT, **{"x-kubernetes-list-type": "set"}),
    lm=_list(_ITEM, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}),
    la=_list(_ITEM), ll=_list(_list(_INT)), ln=_list({"type": "integer", "nullable": True}),
    m=_map(_INT), ms=_map(_TEXT), mo=_map(_ITEM), ml=_map(_list(_TEXT)), mn=_map({"type": "string", "nullable": True}),
    o=_object(a=_INT, b=_TEXT, n={"type": "string", "nullable": True}, namespace=_TEXT, **{"my-key": _INT}),
    u={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    p={"type": "object", "properties": {"a": _INT}, "x-kubernetes-preserve-unknown-fields": True},
    e={"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    n={"type": "integer", "nullable": True},
)  # fmt: skip
"""A schema with every type that an expression can see."""

_KEPT = frozenset({
    "type", "properties", "items", "additionalProperties", "format", "nullable", "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
})  # fmt: skip
_FORMATS = {"byte", "date", "date-time", "duration"}


def stripped(schema: Schema) -> Schema:
    """Return a schema without all that could keep rules from running: no required fields, no bounds, no rules."""
    out = {key: value for key, value in schema.items() if key in _KEPT}
    if "properties" in out:
        out["properties"] = {name: stripped(child) for name, child in out["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(out.get(key), dict):
            out[key] = stripped(out[key])
    if out.get("type") == "string" and out.get("format") not in _FORMATS:
        out.pop("format", None)
    return out


def draw(random: Random, schema: Schema, texts: list[str], depth: int = 0) -> Any:
    """Return a value that fits a stripped schema, which may be used beside the one it was stripped from.

    Args:
        random: Everything comes from it.
        schema: The schema; its enum is drawn from where it has one.
        texts: Texts that are likely to matter.
        depth: How deep the value is nested.
    """
    if schema.get("nullable") and random.random() < 0.15:
        return None
    if schema.get("x-kubernetes-int-or-string"):
        return random.choice([random.choice([0, 1, 5, 80]), random.choice(STRINGS), "80%"])
    match schema.get("type"):
        case "object":
            return _draw_object(random, schema, texts, depth)
        case "array":
            longest = random.choice([0, 1, 2, 3, 5]) if depth < 5 else 1
            items = (
                [draw(random, schema["items"], texts, depth + 1) for _ in range(longest)] if "items" in schema else []
            )
            return _unique(schema, items)
        case "string":
            return _draw_text(random, schema, texts)
        case "integer":
            return random.choice(INTS) if random.random() < 0.15 else random.randint(-2, 9)
        case "number":
            return random.choice([0, 1, 1.5, -2.25, 1e21, 3, 0.1, 100000.0])
        case "boolean":
            return random.random() < 0.5
    return random.choice([1, "a", {"z": [1, 2.5]}, [1, "x"]])


def _draw_object(random: Random, schema: Schema, texts: list[str], depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if isinstance(schema.get("additionalProperties"), dict):
        for key in random.sample(["a", "b", "k", "x-y", "namespace", "é", *texts[:3]], random.choice([0, 1, 2, 3])):
            out[key] = draw(random, schema["additionalProperties"], texts, depth + 1)
    share = random.choice([0.3, 0.9, 0.97, 1.0])
    for name, child in schema.get("properties", {}).items():
        if random.random() < share:
            out[name] = draw(random, child, texts, depth + 1)
    if schema.get("x-kubernetes-embedded-resource"):
        out |= {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": random.choice(["n", "m"])}}
    if schema.get("x-kubernetes-preserve-unknown-fields") and random.random() < 0.6:
        out["zz"] = random.choice([1, 1.5, "a", [1], {"q": 1}])
    return out


def _unique(schema: Schema, items: list[Any]) -> list[Any]:
    if schema.get("x-kubernetes-list-type") == "set":
        return [item for index, item in enumerate(items) if item not in items[:index]]
    if schema.get("x-kubernetes-list-type") == "map":
        keys = schema.get("x-kubernetes-list-map-keys", [])
        for index, item in enumerate(items):
            for key in keys:
                kind = schema["items"].get("properties", {}).get(key, {}).get("type")
                item[key] = {"integer": index, "boolean": bool(index)}.get(kind, f"k{index}")
    return items


def _draw_text(random: Random, schema: Schema, texts: list[str]) -> str:
    match schema.get("format"):
        case "byte":
            return random.choice(["", "aGk=", "YQ==", "/+8=", "YWJj"])
        case "date":
            return random.choice(["2024-05-01", "0001-01-01", "2024-02-29"])
        case "date-time":
            return random.choice([*TIMESTAMPS[:4], "2024-05-01t10:00:00z", "2024-05-01T10:00:00.5+01:00"])
        case "duration":
            return random.choice([*DURATIONS[:5], "2 days", "1 week"])
    if schema.get("enum") and random.random() < 0.7:
        return str(random.choice(schema["enum"]))
    if texts and random.random() < 0.5:
        return random.choice(texts)
    pool = random.choice([STRINGS, STRINGS, IPS, CIDRS, URLS, QUANTITIES, SEMVERS])
    return random.choice(pool)
