"""Objects drawn from the schemas of definitions, for benchmarks without the generator beside the project.

Each body fits the types, bounds, enums and usual patterns of its schema; rules may still refuse it. A share of the
objects gets a defect: a value of another type. The same seed draws the same objects.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["drawn_lines", "kinds_of"]

_TEXTS = (
    *("web", "web-1", "web.example.com", "https://web.example.com", "5m", "100m", "10Gi", "10.0.0.1", "10.0.0.0/24"),
    *("2026-01-01T00:00:00Z", "v1.2.3", "a/b", "1", "80", "1.2.3", "/web", "Web", "WEB", "aGk=", "web@example.com"),
)
"""A text with a pattern or a format is the first of these that fits."""
_FORMATS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "duration": "5m",
    "byte": "aGk=",
    "cidr": "10.0.0.0/24",
}
_SHALLOW = 3
_FEW = 0.3
"""Share of the fields that are not required which an object has; a third of it below the third level."""


def kinds_of(documents: Iterable[dict[str, Any]], kinds: str) -> list[tuple[dict[str, Any], str, int]]:
    """Return definition, version and weight for each of some kinds that has a definition.

    Args:
        documents: The definitions.
        kinds: ``Kind.version.group=weight``, separated by commas.
    """
    known = {(one["spec"]["names"]["kind"], one["spec"]["group"]): one for one in documents}
    found = []
    for entry in kinds.split(","):
        name, _, weight = entry.partition("=")
        kind, version, group = name.split(".", 2)
        if (kind, group) in known:
            found.append((known[kind, group], version, int(weight or 1)))
    return found


def drawn_lines(
    documents: Iterable[dict[str, Any]], kinds: str, objects: int, *, pool: int, invalid: float = 0.0, seed: int = 42
) -> Iterator[bytes]:
    """Yield objects as JSON, one a line; those of one kind share so many bodies.

    Args:
        documents: The definitions.
        kinds: As for `kinds_of`.
        objects: How many.
        pool: Bodies of a kind.
        invalid: Share of the objects that get a defect.
        seed: What is drawn.

    Raises:
        ValueError: None of the kinds has a definition.
    """
    rng = random.Random(seed)
    chosen = kinds_of(documents, kinds)
    if not chosen:
        raise ValueError(f"no definition of {kinds}")
    bodies: dict[int, list[dict[str, Any]]] = {}
    weights = [weight for _, _, weight in chosen]
    for number in range(objects):
        at = rng.choices(range(len(chosen)), weights)[0]
        document, version, _ = chosen[at]
        known = bodies.setdefault(at, [])
        if len(known) < pool:
            known.append(_body(_schema(document, version), rng))
            body = known[-1]
        else:
            body = rng.choice(known)
        spec = document["spec"]
        metadata: dict[str, Any] = {
            "name": f"{spec['names']['kind'].lower()}-{number:07}",
            "uid": f"{rng.getrandbits(32):08x}-0000-4000-8000-{number:012x}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 1,
            "labels": {"app.kubernetes.io/name": f"app-{number % 50}", "tier": rng.choice(("front", "back"))},
            "managedFields": [_manager(spec["group"], version, body)],
        }
        if spec["scope"] == "Namespaced":
            metadata["namespace"] = f"team-{number % 20:02}"
        if rng.random() < invalid:
            body = orjson.loads(orjson.dumps(body))
            _spoil(body, rng)
        head = {"apiVersion": f"{spec['group']}/{version}", "kind": spec["names"]["kind"], "metadata": metadata}
        yield orjson.dumps(head | body) + b"\n"


def _schema(document: dict[str, Any], version: str) -> dict[str, Any]:
    own = next(one for one in document["spec"]["versions"] if one["name"] == version)
    schema: dict[str, Any] = own["schema"]["openAPIV3Schema"]
    return schema


def _body(schema: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    parts = {name: properties[name] for name in properties if name not in {"apiVersion", "kind", "metadata", "status"}}
    return {name: value for name, part in parts.items() if (value := _value(part, rng, 1)) is not None}


def _manager(group: str, version: str, body: dict[str, Any]) -> dict[str, Any]:
    fields = {f"f:{part}": {f"f:{name}": {} for name in body[part]} for part in body if isinstance(body[part], dict)}
    return {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": f"{group}/{version}",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def _value(schema: dict[str, Any], rng: random.Random, depth: int) -> Any:
    """Return a value that fits a schema, or None if none is found."""
    if schema.get("enum"):
        return rng.choice([one for one in schema["enum"] if one is not None] or [None])
    if schema.get("x-kubernetes-int-or-string"):
        return rng.randint(1, 9000)
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, rng, depth)
    if kind == "array":
        items = schema.get("items") or {}
        size = max(schema.get("minItems", 0), 1)
        found = [value for _ in range(size) if (value := _value(items, rng, depth + 1)) is not None]
        return found if len(found) == size else None
    if kind == "string":
        return _text(schema, rng)
    if kind in ("integer", "number"):
        least = int(schema.get("minimum", 1)) + bool(schema.get("exclusiveMinimum"))
        most = int(schema.get("maximum", least + 1000)) - bool(schema.get("exclusiveMaximum"))
        return rng.randint(least, max(least, min(most, least + 1000)))
    if kind == "boolean":
        return rng.random() < 0.5
    return {"any": "thing"} if schema.get("x-kubernetes-preserve-unknown-fields") else None


def _object(schema: dict[str, Any], rng: random.Random, depth: int) -> dict[str, Any] | None:
    properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
    required = set(schema.get("required") or ())
    choices = schema.get("oneOf") or schema.get("anyOf") or ()
    required |= next((set(one["required"]) for one in choices if one.get("required")), set())
    share = _FEW if depth < _SHALLOW else _FEW / 3
    made = {}
    for name, part in properties.items():
        if name not in required and (choices or rng.random() >= share):
            continue
        value = _value(part, rng, depth + 1)
        if value is not None:
            made[name] = value
        elif name in required:
            return None
    if isinstance(extra, dict) and not properties:
        made |= {f"key-{at}": value for at in range(2) if (value := _value(extra, rng, depth + 1)) is not None}
    return made


def _text(schema: dict[str, Any], rng: random.Random) -> str | None:
    if found := _FORMATS.get(schema.get("format", "")):
        return found
    least, most = schema.get("minLength", 0), schema.get("maxLength", 1 << 20)
    if pattern := schema.get("pattern"):
        try:
            fits = re.compile(pattern)
        except re.error:  # one of Go's own
            return None
        return next((text for text in _TEXTS if fits.search(text) and least <= len(text) <= most), None)
    text = "-".join(rng.choice(("alpha", "beta", "gamma", "delta", "north", "south")) for _ in range(rng.randint(1, 4)))
    return text.ljust(least, "x")[:most]


def _spoil(value: dict[str, Any], rng: random.Random) -> None:
    """Put a value of another type somewhere into an object."""
    place: Any = value
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        if not keys:
            return
        key = rng.choice(list(keys))
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        place[key] = {"of": "another type"} if not isinstance(place[key], dict) else 7
        return
