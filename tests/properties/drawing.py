"""Draws structural definitions and the bytes of objects that fit them more or less.

Everything comes from one `random.Random`, so that hypothesis can drive it (`st.randoms`) and a command can repeat it by
a seed. Objects are drawn as text: numbers have spellings (`1.0`, `1e2`, integers beyond 64 bits) that decide their
type.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

__all__ = ["Drawer", "Spelled", "text_of"]

Schema = dict[str, Any]

GROUP, KIND, PLURAL = "draw.example.com", "Thing", "things"
NAMES = ["a", "b", "c", "k", "spec", "x-y", "metadata", "kind", "replicas"]
EXTRA = ["a", "k", "zz", "x.y", "", "kind", "metadata"]
STRINGS = [
    *("", "a", "b", "abc", "é", "日本語", "A b", "5", "true", "2020-01-01T00:00:00Z", "2020-02-30T00:00:00Z", "1h", "aGk="),
    *("10.0.0.1", "10.0.0.0/8", "::1", "a@b.co", "http://x/y", "550e8400-e29b-41d4-a716-446655440000", "2020-01-01", "x" * 300),
]  # fmt: skip
FORMATS = [
    *("date-time", "date", "ipv4", "ipv6", "cidr", "uuid", "byte", "email", "uri", "hostname", "duration", "int32", "int64"),
    *("double", "float", "password", "unheard-of", "datetime", "mac", "hexcolor", "isbn"),
]  # fmt: skip
PATTERNS = ["^[a-z]+$", "^a", "b$", r"^\d+$", "é", "^.{2,4}$", "(?i)ABC", r"\S", "^$"]


class Spelled(str):
    """JSON text that stands for itself."""

    __slots__ = ()


NUMBERS: list[Any] = [
    *(0, 1, 2, 3, 5, -1, -7, 80, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 1.5, 0.1, -2.5),
    *map(Spelled, ["1.0", "-0", "-0.0", "1e2", "2E0", "9223372036854775808", "-9223372036854775809", "1e400", "3.0", "1e-7"]),
]  # fmt: skip
TIMES = [
    *("2024-05-01T10:00:00Z", "2024-05-01T10:00:00.5+01:00", "2024-05-01", "", "0001-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59-01:00", "2024-02-30T00:00:00Z"),
]  # fmt: skip


def text_of(value: Any) -> str:
    """Return JSON in which `Spelled` parts are written as they are."""
    if type(value) is Spelled:
        return str.__str__(value)
    if type(value) is dict:
        return "{" + ",".join(f"{json.dumps(key)}:{text_of(item)}" for key, item in value.items()) + "}"
    if type(value) is list:
        return "[" + ",".join(map(text_of, value)) + "]"
    return json.dumps(value)


class Drawer:
    """Draws; `wild` is the share of values that have nothing to do with their schema."""

    def __init__(self, random: Random, wild: float = 0.04) -> None:
        self.random = random
        self.wild = wild

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def some(self, values: list[Any], most: int) -> list[Any]:
        return self.random.sample(values, self.random.randint(0, min(most, len(values))))

    # -- schemas

    def schema(self, depth: int) -> Schema:
        """Return a structural node."""
        random = self.random
        roll = random.random()
        out: Schema = {}
        if roll < 0.06:
            out["x-kubernetes-int-or-string"] = True
            if self.chance(0.5):
                out["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        elif roll < 0.10:
            out["x-kubernetes-preserve-unknown-fields"] = True
        else:
            kinds = ["string", "integer", "number", "boolean"]
            if depth > 0:
                kinds += ["object", "object", "object", "array", "array"]
            out["type"] = random.choice(kinds)
        if self.chance(0.2):
            out["nullable"] = True
        self.keywords(out, 0.12)
        kind = out.get("type")
        if kind == "object":
            self.object_schema(out, depth)
        elif kind == "array":
            self.array_schema(out, depth)
        if self.chance(0.12):
            self.combine(out, 2)
        if self.chance(0.15) and "x-kubernetes-embedded-resource" not in out:
            default = self.value(out, depth)
            if default is not None and "x-kubernetes-preserve-unknown-fields" not in out:
                out["default"] = json.loads(text_of(default)) if "1e400" not in text_of(default) else "a"
        return out

    def object_schema(self, out: Schema, depth: int) -> None:
        roll = self.random.random()
        if roll < 0.7:
            most = 18 if self.chance(0.06) else 4
            names = self.some(NAMES, most) if most <= 4 else [f"p{n}" for n in range(most)]
            out["properties"] = {name: self.schema(depth - 1 if most <= 4 else 0) for name in names}
            if names and self.chance(0.4):
                out["required"] = self.random.sample([*names, "missing"], 1)
        elif roll < 0.9:
            out["additionalProperties"] = self.chance(0.5) if self.chance(0.15) else self.schema(depth - 1)
        if self.chance(0.15):
            out["x-kubernetes-preserve-unknown-fields"] = True
        if self.chance(0.08) and "additionalProperties" not in out:
            out["x-kubernetes-embedded-resource"] = True
            out["x-kubernetes-preserve-unknown-fields"] = True
            for name in ("metadata", "kind"):
                out.get("properties", {}).pop(name, None)
                if name in out.get("required", ()):
                    del out["required"]

    def array_schema(self, out: Schema, depth: int) -> None:
        roll = self.random.random()
        out["items"] = self.schema(depth - 1)
        if roll < 0.2:
            out["items"] = {"type": self.random.choice(["string", "integer", "number", "boolean"])}
            out["x-kubernetes-list-type"] = "set"
        elif roll < 0.45:
            keys = self.random.choice([["k"], ["k", "a"]])
            properties = {key: {"type": self.random.choice(["string", "integer", "boolean"])} for key in keys}
            required = keys
            if self.chance(0.3):
                last = properties[keys[-1]]
                last["default"] = {"string": "a", "integer": 1, "boolean": True}[last["type"]]
                required = keys[:-1]
            properties["b"] = self.schema(depth - 1)
            out["items"] = {"type": "object", "properties": properties}
            if required:
                out["items"]["required"] = required
            out["x-kubernetes-list-type"] = "map"
            out["x-kubernetes-list-map-keys"] = keys
        elif roll < 0.5:
            out["x-kubernetes-list-type"] = "atomic"

    def keywords(self, out: Schema, share: float) -> None:
        """Add validations, those of other types too."""
        random = self.random
        draws: dict[str, Any] = {
            "enum": lambda: [self.plain() for _ in range(random.randint(1, 3))],
            "maximum": lambda: random.choice([0, 3, 80, 2.5, 100, 2**31, 2**53 + 2, 1e19]),
            "minimum": lambda: random.choice([0, 1, -1, 0.5, -7, -(2**31) - 1, -1e19]),
            "multipleOf": lambda: random.choice([1, 2, 0.5, 0.1, 3]),
            "maxLength": lambda: random.choice([0, 1, 3, 40]),
            "minLength": lambda: random.choice([0, 1, 2]),
            "pattern": lambda: random.choice(PATTERNS),
            "format": lambda: random.choice(FORMATS),
            "maxItems": lambda: random.choice([0, 1, 2]),
            "minItems": lambda: random.choice([1, 2]),
            "maxProperties": lambda: random.choice([0, 1, 3]),
            "minProperties": lambda: random.choice([1, 2]),
        }
        kind = out.get("type")
        fitting = {
            "string": {"maxLength", "minLength", "pattern", "format", "enum"},
            "integer": {"maximum", "minimum", "multipleOf", "format", "enum"},
            "number": {"maximum", "minimum", "multipleOf", "format", "enum"},
            "boolean": {"enum"},
            "array": {"maxItems", "minItems"},
            "object": {"maxProperties", "minProperties"},
        }.get(str(kind), set(draws))
        for name, draw in draws.items():
            if self.chance(share if name in fitting else share / 12):
                out[name] = draw()
        if "maximum" in out and self.chance(0.2):
            out["exclusiveMaximum"] = True
        if "minimum" in out and self.chance(0.2):
            out["exclusiveMinimum"] = True

    def combine(self, out: Schema, depth: int) -> None:
        """Add anyOf, oneOf, allOf, not; what they name must be there above them, as in a structural schema."""
        for word in ("anyOf", "oneOf", "allOf"):
            if self.chance(0.4):
                out[word] = [self.branch(out, depth) for _ in range(self.random.randint(1, 3))]
        if self.chance(0.3):
            out["not"] = self.branch(out, depth)

    def branch(self, above: Schema, depth: int) -> Schema:
        """Return a node below a combinator: values only."""
        out: Schema = {}
        self.keywords({"type": above.get("type")} | out, 0)
        fake: Schema = {"type": above.get("type")} if above.get("type") else {}
        self.keywords(fake, 0.25)
        fake.pop("type", None)
        out.update(fake)
        properties = above.get("properties")
        if properties:
            names = self.some(sorted(properties), 2)
            if names and self.chance(0.6):
                out["properties"] = {
                    name: self.branch(properties[name], depth - 1) if depth > 0 else {} for name in names
                }
            if self.chance(0.6):
                out["required"] = [self.random.choice(sorted(properties))]
        if type(above.get("items")) is dict and self.chance(0.5) and depth > 0:
            out["items"] = self.branch(above["items"], depth - 1)
        if type(above.get("additionalProperties")) is dict and self.chance(0.5) and depth > 0:
            out["additionalProperties"] = self.branch(above["additionalProperties"], depth - 1)
        if depth > 0 and self.chance(0.2):
            self.combine(out, depth - 1)
        return out

    # -- definitions

    def definition(self) -> Schema:
        """Return a definition with one or two versions."""
        random = self.random
        names = ["v1", "v2"] if self.chance(0.3) else ["v1"]
        versions = []
        for name in names:
            root: Schema = {"type": "object", "properties": {"spec": self.schema(4), "status": self.schema(2)}}
            if self.chance(0.15):
                self.combine(root, 1)
            if self.chance(0.1):
                root["required"] = [random.choice(["spec", "status", "missing", "metadata"])]
            if self.chance(0.1):
                self.keywords(root, 0.1)
            if self.chance(0.1):
                root["x-kubernetes-preserve-unknown-fields"] = True
            if self.chance(0.12):
                root["properties"]["metadata"] = {
                    "type": "object",
                    "properties": {"name": {"type": "string", "maxLength": random.choice([1, 5, 60])}},
                }
            version: Schema = {
                "name": name,
                "served": True,
                "storage": name == names[-1],
                "schema": {"openAPIV3Schema": root},
            }
            paths = [f".{'.'.join(path)}" for path in _scalar_paths(root) if path[0] != "metadata"]
            if paths and self.chance(0.4):
                version["selectableFields"] = [{"jsonPath": path} for path in self.some(paths, 2)] or [
                    {"jsonPath": paths[0]}
                ]
            if self.chance(0.3):
                version["subresources"] = {"status": {}}
                if self.chance(0.5):
                    version["subresources"]["scale"] = {
                        "specReplicasPath": random.choice([".spec.replicas", ".spec.a", ".spec.k.replicas"]),
                        "statusReplicasPath": random.choice([".status.replicas", ".status.b"]),
                        **({"labelSelectorPath": ".status.a"} if self.chance(0.5) else {}),
                    }
            versions.append(version)
        legacy = self.chance(0.1)
        return {
            "apiVersion": f"apiextensions.k8s.io/{'v1beta1' if legacy else 'v1'}",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{PLURAL}.{GROUP}"},
            "spec": {
                **({"preserveUnknownFields": self.chance(0.7)} if legacy else {}),
                "group": GROUP,
                "names": {"plural": PLURAL, "singular": "thing", "kind": KIND, "listKind": f"{KIND}List"},
                "scope": random.choice(["Namespaced", "Cluster"]),
                "versions": versions,
            },
        }

    # -- values

    def plain(self) -> Any:
        return self.random.choice(
            [*self.random.choices(STRINGS[:10], k=4), 0, 1, 3, 2.5, True, False, self.random.choice([None, [], {}])]
        )

    def anything(self, depth: int = 2) -> Any:
        roll = self.random.random()
        if depth <= 0 or roll < 0.6:
            return self.random.choice(
                [*self.random.choices(STRINGS, k=3), *self.random.choices(NUMBERS, k=4), None, True, False]
            )
        if roll < 0.8:
            return [self.anything(depth - 1) for _ in range(self.random.randint(0, 3))]
        return {self.random.choice(EXTRA): self.anything(depth - 1) for _ in range(self.random.randint(0, 3))}

    def value(self, schema: Schema, depth: int = 4) -> Any:
        """Return a value that has good chances to fit."""
        random = self.random
        if self.chance(self.wild):
            return self.anything()
        if self.chance(0.06 if schema.get("nullable") else 0.015):
            return None
        if schema.get("enum") and self.chance(0.85):
            return random.choice(schema["enum"])
        kind = schema.get("type")
        if kind is None:
            kind = random.choice(["integer", "string"]) if schema.get("x-kubernetes-int-or-string") else ""
        if kind == "string":
            return self.string(schema)
        if kind in ("integer", "number"):
            low, high = schema.get("minimum", -9), schema.get("maximum", 90)
            if self.chance(0.25) or high < low:
                return random.choice(NUMBERS)
            number = random.randint(int(low) + (int(low) < low), max(int(low) + 1, int(high)))
            return number if kind == "integer" or self.chance(0.5) else number + 0.5
        if kind == "boolean":
            return self.chance(0.5)
        if kind == "array":
            return [
                self.value(schema.get("items", {}), depth - 1)
                for _ in range(random.randint(schema.get("minItems", 0), 3))
            ]
        if kind == "object":
            return self.map_value(schema, depth)
        return self.anything()

    def string(self, schema: Schema) -> Any:
        good = {
            "date-time": "2020-01-01T00:00:00Z", "date": "2020-01-01", "ipv4": "10.0.0.1", "ipv6": "::1", "cidr": "10.0.0.0/8",
            "uuid": "550e8400-e29b-41d4-a716-446655440000", "byte": "aGk=", "email": "a@b.co", "uri": "http://x/y",
            "duration": "1h", "mac": "00:00:5e:00:53:01", "hexcolor": "#fff",
        }.get(schema.get("format", ""))  # fmt: skip
        return good if good and self.chance(0.8) else self.random.choice(STRINGS)

    def map_value(self, schema: Schema, depth: int) -> Schema:
        made = {}
        for name, child in schema.get("properties", {}).items():
            if name in schema.get("required", ()) or self.chance(0.6):
                made[name] = self.value(child, depth - 1)
        extra = schema.get("additionalProperties")
        if extra is not None:
            for name in self.some(EXTRA, 3):
                made.setdefault(name, self.value(extra, depth - 1) if type(extra) is dict else self.anything())
        if self.chance(0.08):
            made.setdefault(self.random.choice(EXTRA), self.anything())
        if schema.get("x-kubernetes-embedded-resource"):
            if self.chance(0.85):
                made |= {"apiVersion": "v1", "kind": "Pod"}
            if self.chance(0.7):
                made["metadata"] = self.metadata(embedded=True)
            if self.chance(0.1):
                made[self.random.choice(["apiVersion", "kind", "metadata"])] = self.anything(1)
        return made

    def metadata(self, *, embedded: bool = False, namespaced: bool = True) -> Any:
        """Return metadata, mostly fine."""
        random = self.random
        out: Schema = {"name": random.choice(["x", "web-1", "a.b"])}
        if namespaced:
            out["namespace"] = "d"
        if not embedded:
            out |= {"uid": "u-1", "generation": 1, "creationTimestamp": "2024-05-01T10:00:00Z"}
        odd: dict[str, Any] = {
            "name": lambda: random.choice(["", "Bad_Name", "x/y", "a" * 254, 5, None]),
            "namespace": lambda: random.choice(["", "B", "x.y", 7, None, "d"]),
            "generation": lambda: random.choice([0, -1, 3, "5", None, *NUMBERS]),
            "creationTimestamp": lambda: random.choice([*TIMES, None, 5]),
            "deletionTimestamp": lambda: random.choice([*TIMES, None]),
            "deletionGracePeriodSeconds": lambda: random.choice([0, 30, None, "x", 1.5, *NUMBERS]),
            "labels": lambda: random.choice(
                [{}, {"a": "b"}, {"a/b": "c", "x": ""}, {"a b": "c"}, {"a": "b c"}, {"a": 1}, {"a": None}, None, "x", [], {"A" * 64: "x"}]
            ),
            "annotations": lambda: random.choice(
                [{}, {"a": "b c\n"}, {"A.b/C": "x"}, {"İ": "y"}, {"a": None}, {"a": 5}, None, {"big": "x" * 300}, {"/": "x"}]
            ),
            "finalizers": lambda: random.choice(
                [[], ["x.y/z"], ["foregroundDeletion", "orphan"], ["orphan"], ["bad name"], [None], [5], "x", None]
            ),
            "ownerReferences": lambda: random.choice([[], [self.owner()], [self.owner(), self.owner()], [{}], None, {}, [5]]),
            "managedFields": lambda: random.choice([[], [self.manager()], [self.manager(), self.manager()], [{}], None, 3]),
            "resourceVersion": lambda: random.choice(["7", "", None, 5]),
            "selfLink": lambda: random.choice(["/x", "", 1]),
            "generateName": lambda: random.choice(["x-", "", "Bad_", 4]),
            "unknown": lambda: self.anything(1),
            "Labels": lambda: {"a": "b"},
        }  # fmt: skip
        for name in self.some(list(odd), 4) if self.chance(0.35) else []:
            out[name] = odd[name]()
        if self.chance(0.5):
            out["labels"] = {"app": random.choice(["web", "db"]), "example.com/tier": "front"}
        return out

    def owner(self) -> Any:
        out: Schema = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", "uid": "u"}
        if self.chance(0.5):
            out["controller"] = True
        if self.chance(0.3):
            out[self.random.choice([*out, "blockOwnerDeletion", "zz"])] = self.random.choice(
                ["", None, 5, True, "a/b/c"]
            )
        return out

    def manager(self) -> Any:
        out: Schema = {
            "manager": "kubectl", "operation": "Update", "apiVersion": f"{GROUP}/v1", "time": "2024-05-01T10:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:a": {}, ".": {}}},
        }  # fmt: skip
        if self.chance(0.3):
            odd = ["", None, 5, "x" * 130, {}, {"a": 1.0}, "Apply", *TIMES[:3]]
            out[self.random.choice([*out, "subresource", "zz"])] = self.random.choice(odd)
        return out

    def object_text(self, definition: Schema) -> str:
        """Return the stored text of an object."""
        spec = definition["spec"]
        version = self.random.choice(spec["versions"])
        made: Schema = {"apiVersion": f"{GROUP}/{version['name']}", "kind": KIND}
        made["metadata"] = self.metadata(namespaced=spec["scope"] == "Namespaced")
        for name, schema in version["schema"]["openAPIV3Schema"]["properties"].items():
            if name != "metadata" and self.chance(0.85):
                made[name] = self.value(schema)
        if self.chance(0.06):
            made[self.random.choice(["extra", "zz"])] = self.anything()
        if self.chance(0.04):
            odd = [None, "", 5, "v1", f"{GROUP}/v9", "other.io/v1", "Other", "a/b/c", [], {}]
            made[self.random.choice(["apiVersion", "kind", "metadata"])] = self.random.choice(odd)
        if self.chance(0.02):
            del made[self.random.choice(["apiVersion", "kind", "metadata"])]
        text = text_of(made)
        if self.chance(0.02):
            text = self.random.choice(
                [
                    text[:-1] + ',"spec":{"a":1}}',
                    text[:-2],
                    text + "x",
                    " " + text + "\n",
                    text.replace('"a"', '"\\ud800"'),
                ]
            )
        return text


def _scalar_paths(schema: Schema, path: tuple[str, ...] = (), depth: int = 3) -> list[tuple[str, ...]]:
    """Return paths of properties that a field selector may name."""
    found = []
    for name, child in schema.get("properties", {}).items():
        if not name.isidentifier():
            continue
        if child.get("type") in ("string", "integer", "boolean"):
            found.append((*path, name))
        elif child.get("type") == "object" and depth and "additionalProperties" not in child:
            found += _scalar_paths(child, (*path, name), depth - 1)
    return found
