"""Draws definitions with odd combinations of keywords, and objects that fit them more or less.

Half of the definitions are legacy ones. Most of those preserve unknown fields: their schemas may hold anything.
One definition carries many properties, so that one object tries many pairs of schema and value.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

    Schema = dict[str, Any]

__all__ = ["definition", "object_of", "updated"]

STRINGS = [
    *(
        "",
        "a",
        "ab",
        "abc",
        "zz",
        "é",
        "日本",
        "A",
        "x-y",
        "1",
        "5",
        "true",
        "null",
        "5s",
        "\n",
        "a\nb",
        'q"<&>',
        "\u00a0",
        "😀",
    ),
    *("2020-01-01", "2020-01-01T00:00:00Z", "1.2.3.4", "::1", "10.0.0.0/8", "a@b.c", "aGk=", "#fff", "http://x/y"),
    "550e8400-e29b-41d4-a716-446655440000",
]
PATTERNS = [
    *("^a", "b$", "^[a-z]+$", "^.{2,}$", "(?=x)", "[", r"\d", "^$", "a|b", "^(a|b)*$", "é", r"\.", "(?i)AB", r"\p{L}"),
]
FORMATS = [
    *(
        "date",
        "date-time",
        "datetime",
        "ipv4",
        "ipv6",
        "uuid",
        "byte",
        "int32",
        "int64",
        "float",
        "double",
        "email",
        "uri",
    ),
    *("cidr", "duration", "hexcolor", "weird", "password", "k8s-short-name", "mac", "hostname"),
]
NUMBERS = [
    *(0, 1, -1, 2, 3, 5, 10, 65, 97, 5000000, 12345678, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32),
    *(2**53 - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 1.0, 1.5, 0.1, 0.3, 0.35, 2.5, -0.5, 1e3, 1e6, 1e21, 1e-7, 3.5),
    *(1e39, 3.4028235e38, 2.0**53, 1e19, 0.0, -0.0, 1234567890.5, 100000.0, 123456.789),
]
BOUNDS = [
    *(0, 1, 2, 3, 5, 10, 7, 1.5, 3.5, 0.1, 2.5, -1, -1.5, 1e19, -1e19, 2**31, 2**63 - 1, -(2**63), 2147483647.5),
    *(1e6, 1234567, 0.01, 1e-7, 100000),
]
ENUMS = [
    *("a", "b", "A", "1 2", 1, 2, 2.5, 65, True, False, None, [], [1], [1.5], [None], {}, {"a": 1}, {"a": "<"}),
]
KEYS = ["a", "b", "c", "k", "k.x", "x y", ""]
TYPES = ["string", "integer", "number", "boolean", "array", "object"]


def scalar(random: Random) -> Any:
    return random.choice(
        [*random.choices(STRINGS, k=7), *random.choices(NUMBERS, k=8), True, False, None, None, random.choice([[], {}])]
    )


def any_value(random: Random, depth: int = 2) -> Any:
    roll = random.random()
    if depth <= 0 or roll < 0.5:
        return scalar(random)
    if roll < 0.72:
        return [any_value(random, depth - 1) for _ in range(random.randint(0, 4))]
    return {random.choice(KEYS): any_value(random, depth - 1) for _ in range(random.randint(0, 3))}


def keywords(random: Random, schema: Schema, weight: float) -> None:
    """Add keywords to a schema, whatever its type."""
    draws: dict[str, Any] = {
        "enum": lambda: random.choices(ENUMS, k=random.randint(1, 3)),
        "maximum": lambda: random.choice(BOUNDS),
        "minimum": lambda: random.choice(BOUNDS),
        "exclusiveMaximum": lambda: True,
        "exclusiveMinimum": lambda: True,
        "multipleOf": lambda: random.choice(BOUNDS),
        "maxLength": lambda: random.choice([0, 1, 2, 5]),
        "minLength": lambda: random.choice([1, 2, 3]),
        "pattern": lambda: random.choice(PATTERNS),
        "format": lambda: random.choice(FORMATS),
        "maxItems": lambda: random.choice([0, 1, 2]),
        "minItems": lambda: random.choice([1, 2, 3]),
        "maxProperties": lambda: random.choice([0, 1, 2]),
        "minProperties": lambda: random.choice([1, 2, 3]),
        "required": lambda: random.sample(KEYS, random.randint(1, 2)),
    }
    for name, draw in draws.items():
        if random.random() < weight * (0.05 if name.startswith("exclusive") else 0.13):
            schema[name] = draw()


def branches(random: Random, schema: Schema, depth: int, legacy: int, weight: float = 1) -> None:
    if depth <= 0:
        return
    for name in ("anyOf", "oneOf", "allOf"):
        if random.random() < 0.14 * weight:
            schema[name] = [branch(random, depth - 1, legacy) for _ in range(random.randint(1, 3))]
    if random.random() < 0.08 * weight:
        schema["not"] = branch(random, depth - 1, legacy)


def branch(random: Random, depth: int, legacy: int) -> Schema:
    """Return a schema as it may be written below anyOf, oneOf, allOf and not."""
    schema: Schema = {}
    keywords(random, schema, 1.6)
    if random.random() < 0.3:
        schema["type"] = random.choice(TYPES)
    if legacy and random.random() < 0.1:
        schema["nullable"] = True
    if depth > 0:
        if random.random() < 0.35:
            schema["properties"] = {key: branch(random, depth - 1, legacy) for key in random.sample(KEYS, 2)}
        if random.random() < 0.2:
            schema["items"] = branch(random, depth - 1, legacy)
        if random.random() < 0.12:
            schema["additionalProperties"] = (
                random.choice([True, False]) if legacy and random.random() < 0.5 else branch(random, depth - 1, legacy)
            )
        if legacy > 1:
            old_keywords(random, schema, depth)
    branches(random, schema, depth, legacy, 0.8)
    return schema


def old_keywords(random: Random, schema: Schema, depth: int) -> None:
    """Add keywords that only definitions of old servers have."""
    if random.random() < 0.06:
        schema["items"] = [branch(random, depth - 1, legacy=0) for _ in range(random.randint(1, 2))]
        if random.random() < 0.6:
            schema["additionalItems"] = random.choice([True, False, {"type": "string"}])
    if random.random() < 0.06:
        schema["patternProperties"] = {
            random.choice(["^a", "[", "^k", ".x"]): branch(random, depth - 1, legacy=0) for _ in range(2)
        }
    if random.random() < 0.06:
        schema["dependencies"] = {
            random.choice(KEYS): random.choice([random.sample(KEYS, 2), branch(random, 0, legacy=0)])
        }


def schema_of(random: Random, depth: int, legacy: int) -> Schema:
    """Return a schema outside of branches: a structural one, or any."""
    schema: Schema = {}
    roll = random.random()
    if roll < 0.12:
        schema["x-kubernetes-int-or-string"] = True
    elif roll < 0.22:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    elif not legacy or roll > 0.35:
        schema["type"] = random.choice(TYPES)
    type_ = schema.get("type")
    keywords(random, schema, 1)
    if random.random() < 0.25:
        schema["nullable"] = True
    if depth > 0 and (type_ == "object" or (legacy and not schema.get("x-kubernetes-int-or-string"))):
        maps(random, schema, depth, legacy)
    if type_ == "array" or (legacy and type_ is None and random.random() < 0.3):
        schema["items"] = schema_of(random, depth - 1, legacy) if depth > 0 else {"type": "string"}
        schema.update(
            random.choice(
                [
                    {},
                    {"x-kubernetes-list-type": "set"},
                    {"x-kubernetes-list-type": "atomic"},
                    {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": random.choice([["k"], ["k", "a"]])},
                ]
            )
        )
        if legacy and random.random() < 0.2:
            schema["uniqueItems"] = True
    if legacy > 1 and depth > 0:
        old_keywords(random, schema, depth)
    branches(random, schema, 2, legacy)
    return schema


def maps(random: Random, schema: Schema, depth: int, legacy: int) -> None:
    roll = random.random()
    if roll < 0.55:
        names = random.sample(KEYS, random.randint(1, 3))
        schema["properties"] = {name: schema_of(random, depth - 1, legacy) for name in names}
    if roll > 0.45 and (legacy or "properties" not in schema):
        schema["additionalProperties"] = (
            schema_of(random, depth - 1, legacy) if random.random() < 0.7 else (not legacy or random.random() < 0.5)
        )
    if random.random() < 0.3:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if schema.get("type") == "object" and random.random() < 0.08:
        schema["x-kubernetes-embedded-resource"] = True
        schema["x-kubernetes-preserve-unknown-fields"] = True


def fitting(random: Random, schema: Schema, depth: int = 3) -> Any:
    """Return a value that has good chances to fit."""
    if random.random() < 0.2:
        return any_value(random)
    if schema.get("enum") and random.random() < 0.6:
        return random.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return random.choice([random.choice(STRINGS), random.choice(NUMBERS)])
    type_ = schema.get("type")
    if type_ == "array":
        items = schema.get("items")
        return [fitting(random, items if type(items) is dict else {}, depth - 1) for _ in range(random.randint(0, 3))]
    whole = [number for number in NUMBERS if type(number) is int]
    scalars: dict[str, list[Any]] = {
        "string": STRINGS,
        "integer": whole if random.random() < 0.7 else NUMBERS,
        "number": NUMBERS,
        "boolean": [True, False],
    }
    if type_ in scalars:
        return random.choice(scalars[type_])
    properties = schema.get("properties", {}).items()
    made = {name: fitting(random, child, depth - 1) for name, child in properties if random.random() < 0.7}
    extra = schema.get("additionalProperties")
    if type(extra) is dict:
        for key in random.sample(["a", "k", "q.r", "é", "zz", "b"], random.randint(0, 2)):
            made.setdefault(key, fitting(random, extra, depth - 1))
    if random.random() < 0.3:
        made[random.choice("abck")] = scalar(random)
    if schema.get("x-kubernetes-embedded-resource"):
        made.update(embedded(random))
    return made


def embedded(random: Random) -> dict[str, Any]:
    draws = {
        "apiVersion": ["v1", "a/b/c", "", "g/v1", "/", 5],
        "kind": ["Foo", "Bad_", "", "foo.bar", "İx", 7],
        "metadata": [
            *(
                {},
                None,
                {"name": "x/y"},
                {"name": "a", "namespace": "B"},
                {"generateName": "a%-"},
                {"labels": {"a b": "c d"}},
            ),
            *({"finalizers": ["x y", "x y"]}, {"annotations": {"A.b/C": "x", "İ": "y"}}),
        ],
    }
    return {name: random.choice(values) for name, values in draws.items() if random.random() < 0.75}


def definition(random: Random, number: int, properties: int) -> dict[str, Any]:
    """Return a definition in the form of v1, or in that of v1beta1 if it is a legacy one."""
    # Some of the legacy ones hold keywords that no structural schema has; they must preserve unknown fields.
    legacy = random.choice([0, 0, 0, 1, 1, 2])
    spec_schema = {f"p{n}": schema_of(random, 3, legacy) for n in range(properties)}
    root: Schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": spec_schema},
            "status": schema_of(random, 2, legacy),
        },
    }
    if random.random() < 0.2:
        keywords(random, root, 0.5)
    if legacy and random.random() < 0.1:
        branches(random, root, 2, legacy, 2)
    name, kind = f"f{number}", f"F{number}"
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True}
    spec: dict[str, Any] = {
        "group": "fuzz.io",
        "names": {"plural": f"{name}s", "singular": name, "kind": kind, "listKind": f"{kind}List"},
        "scope": random.choice(["Namespaced", "Cluster"]),
        "versions": [version],
    }
    own = spec if legacy else version
    own["validation" if legacy else "schema"] = {"openAPIV3Schema": root}
    if random.random() < 0.2:
        paths = {"specReplicasPath": ".spec.p0", "statusReplicasPath": ".status.a", "labelSelectorPath": ".spec.p1"}
        own["subresources"] = {"status": {}, "scale": paths}
    if legacy:
        spec |= {"version": "v1", "preserveUnknownFields": legacy > 1 or random.random() < 0.8}
    return {
        "apiVersion": f"apiextensions.k8s.io/{'v1beta1' if legacy else 'v1'}",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}s.fuzz.io"},
        "spec": spec,
    }


def root_of(document: dict[str, Any]) -> Schema:
    spec = document["spec"]
    root: Schema = (spec.get("validation") or spec["versions"][0]["schema"])["openAPIV3Schema"]
    return root


def object_of(random: Random, document: dict[str, Any]) -> dict[str, Any]:
    """Return an object of a definition; its metadata are fine."""
    properties = root_of(document)["properties"]
    metadata = {"name": "x", "uid": "u", "resourceVersion": "4", "generation": 1}
    if document["spec"]["scope"] == "Namespaced":
        metadata["namespace"] = "d"
    spec = {
        name: fitting(random, schema)
        for name, schema in properties["spec"]["properties"].items()
        if random.random() < 0.9
    }
    made = {"apiVersion": "fuzz.io/v1", "kind": document["spec"]["names"]["kind"], "metadata": metadata, "spec": spec}
    if random.random() < 0.7:
        made["status"] = fitting(random, properties["status"])
    return made


def updated(random: Random, old: dict[str, Any]) -> dict[str, Any]:
    """Return an object in which most fields are as they were: some changed, reordered, dropped."""
    new: dict[str, Any] = json.loads(json.dumps(old))
    new["metadata"]["resourceVersion"] = "5"
    spec = new["spec"]
    for name in list(spec):
        if random.random() > 0.3:
            continue
        given = spec[name]
        if type(given) is dict and given and random.random() < 0.7:
            given[random.choice(list(given))] = any_value(random, 1)
        elif type(given) is list and given and random.random() < 0.8:
            if random.random() < 0.5:
                random.shuffle(given)
            else:
                given[random.randrange(len(given))] = any_value(random, 1)
        elif random.random() < 0.2:
            del spec[name]
        else:
            spec[name] = any_value(random)
    return new
