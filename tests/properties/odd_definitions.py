"""Definitions that no server takes, and objects for them: generated code proves nothing that the exact path refuses.

    python -m tests.properties.odd_definitions --definitions 20000         # or --seconds 60, --seed 7

Keywords with odd values are put into the schemas that `Drawer` draws: on another type, beside a keyword that excludes
them, out of range, or below a combinator. Exit code 1: the ways differ.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any

from auditor.base.errors import SchemaError
from auditor.crdcheck import check_crd
from auditor.crds.definition import parse_definition
from tests.properties.drawing import GROUP, KIND, Drawer, Schema, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["KEYWORDS", "OddDrawer", "cases"]

_ANY: tuple[Any, ...] = (None, True, False, 0, 1, -1, 1.5, "", "a", "5", [], {}, [1], ["a", "a"], {"a": 1}, {"a": {}})
_NODES: tuple[Schema, ...] = (
    *({}, {"type": "string"}, {"type": "integer"}, {"type": "object"}, {"type": "array"}, {"nullable": True}),
    *({"type": "object", "properties": {"a": {"type": "string", "default": "b"}}}, {"enum": [None]}, {"enum": []}),
    *({"x-kubernetes-int-or-string": True}, {"x-kubernetes-preserve-unknown-fields": True}, {"not": {}}),
    *({"required": ["a"]}, {"pattern": "["}, {"minimum": 1}, {"default": 1}, {"type": "array", "items": {}}),
    *({"type": "odd"}, {"maxLength": -1}, {"allOf": [{"type": "string"}]}, {"format": "date-time"}),
)
KEYWORDS: dict[str, tuple[Any, ...]] = {
    "type": ("", "odd", "null", "String", "string", "integer", "number", "boolean", "object", "array"),
    "format": ("", "odd", "date-time", "int32", "int64", "float", "byte", "int-or-string", "binary", "uuid"),
    "nullable": (True, False),
    "default": _ANY,
    "enum": ([], [None], [1, "1", 1.0, True], [{}], [[]], [{"a": 1}], ["a", None], [0, -0.0, False], [1e300], [2**63]),
    "maximum": (0, -1, 1.5, 1e300, -1e300, 2**63, 2**53 + 1),
    "minimum": (0, -1, 1.5, 1e300, -1e300, 2**63, 2**53 + 1),
    "exclusiveMaximum": (True, False),
    "exclusiveMinimum": (True, False),
    "multipleOf": (0, -1, -0.5, 1e300, 1e-300, 0.1, 2, 2**63),
    "maxLength": (-1, 0, 1, 2**63 - 1, -(2**63)),
    "minLength": (-1, 0, 1, 2**63 - 1, -(2**63)),
    "maxItems": (-1, 0, 1, 2**63 - 1),
    "minItems": (-1, 0, 1, 2, 2**63 - 1),
    "maxProperties": (-1, 0, 1, 2**63 - 1),
    "minProperties": (-1, 0, 1, 2, 2**63 - 1),
    "pattern": ("", "[", "(?=a)", "(?P<a", "\\", "^a", "(a+)+$", "\\C", "\\p{Nope}", "a{2000}"),
    "uniqueItems": (True, False),
    "required": ([], [""], ["a", "a"], ["zz"], ["apiVersion", "kind"], ["metadata", "a"], ["k"]),
    "properties": (
        {}, {"": {}}, {"a": {}}, {"apiVersion": {"type": "integer"}}, {"kind": {"enum": ["Other"]}},
        {"metadata": {"type": "string"}}, {"metadata": {"type": "object", "required": ["zz"]}},
        {"metadata": {"type": "object", "properties": {"labels": {"type": "string"}, "name": {"default": "a"}}}},
        {"a": {"type": "string", "default": 5}}, {'a"b': {"type": "string"}}, {"a": {"type": "object", "nullable": True, "default": None}},
        {"k": {"type": "string", "nullable": True, "default": "k"}}, {"k": {"type": "array", "items": {"type": "string"}}},
    ),
    "additionalProperties": (True, False, *_NODES),
    "items": ([], [{}], [{"type": "string"}], *_NODES),
    "allOf": ([], *([one] for one in _NODES), [{}, {"type": "string"}]),
    "anyOf": ([], *([one] for one in _NODES), [{"type": "integer"}, {"type": "string"}]),
    "oneOf": ([], *([one] for one in _NODES), [{}, {}], [{"type": "integer"}, {"type": "string"}]),
    "not": _NODES,
    "x-kubernetes-int-or-string": (True, False),
    "x-kubernetes-preserve-unknown-fields": (True, False),
    "x-kubernetes-embedded-resource": (True, False),
    "x-kubernetes-list-type": ("atomic", "set", "map", "odd", ""),
    "x-kubernetes-list-map-keys": ([], ["k"], ["a", "a"], ["zz"], [""], ["k", "a"]),
    "x-kubernetes-map-type": ("atomic", "granular", "odd"),
    "x-kubernetes-validations": (
        [{"rule": "true"}], [{"rule": "false"}], [{"rule": "self.a == 'a'"}], [{"rule": "self."}], [{"rule": ""}], [{"message": "m"}],
        [{"rule": "self == oldSelf"}], [{"rule": "self > 0"}], [{"rule": "size(self) < 2"}], [{"rule": "1"}], [{"rule": "has(self.a)"}],
        [{"rule": "self > 0", "messageExpression": "1"}], [{"rule": "self.all(x, x > 0)", "fieldPath": "odd", "reason": "Odd"}],
        [{"rule": "true", "optionalOldSelf": True}], [{"rule": "false", "message": "", "fieldPath": ".a"}],
    ),
    "patternProperties": ({"^a": {"type": "string"}}, {"[": {}}, {"": {"type": "integer"}}),
    "dependencies": ({"a": ["b"]}, {"a": {"type": "string"}}, {"k": {"required": ["zz"]}}),
    "definitions": ({"a": {}},),
    "additionalItems": (True, False, {"type": "string"}),
    "$ref": ("", "#/definitions/a", "odd"),
    "$schema": ("", "odd"),
    "id": ("odd",),
}  # fmt: skip
_WORDS = tuple(KEYWORDS)
_COMMON = (
    *("type", "default", "enum", "required", "properties", "additionalProperties", "items", "x-kubernetes-list-type"),
    *("x-kubernetes-list-map-keys", "x-kubernetes-embedded-resource", "nullable", "x-kubernetes-int-or-string"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 1.5, 2**63 - 1, 2**63, "", "a", "b", "5", "aa", "2020-01-01T00:00:00Z", "x" * 70),
    *([], {}, [None], [[]], [{}], [1, 1], ["a", "a"], [{"k": "a"}, {"k": "a"}], [{"k": 1}, {"k": None}, {}], {"a": None}),
    *({"a": "a"}, {"a": 1}, {"zz": {}}, {"k": "a", "a": "b"}, {"": 1}, {'a"b': "c"}, {"a": {"a": {}}}, {"k": [1]}),
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, {"apiVersion": "", "kind": 5, "metadata": None},
)  # fmt: skip


class OddDrawer(Drawer):
    """Draws definitions with odd keywords, and objects that may fit."""

    def odd_definition(self) -> Schema:
        """Return a definition in which one to four keywords are odd."""
        document = self.definition()
        versions = document["spec"]["versions"]
        for _ in range(self.random.choice((1, 1, 2, 3, 4))):
            root = self.random.choice(versions)["schema"]["openAPIV3Schema"]
            node = self.random.choice(list(_nodes(root)))
            word = self.random.choice(_COMMON if self.chance(0.4) else _WORDS)
            node[word] = copy.deepcopy(self.random.choice(KEYWORDS[word]))
        if self.chance(0.1):
            document["spec"]["preserveUnknownFields"] = True
        if self.chance(0.05):
            versions[0]["selectableFields"] = [
                {"jsonPath": self.random.choice(("", ".", ".spec", "spec.a", ".a[", ".metadata.name"))}
            ]
        if self.chance(0.05):
            versions[0].setdefault("subresources", {})["scale"] = {
                "specReplicasPath": self.random.choice(("", ".spec.a", ".status", ".spec[0]")),
                "statusReplicasPath": self.random.choice(("", ".status.a", ".spec..a")),
            }
        return document

    def odd_text(self, document: Schema) -> str:
        """Return the text of an object, or of a plain one where nothing can be drawn for a definition."""
        try:
            return self.object_text(document)
        except (TypeError, ValueError, AttributeError, LookupError):
            made = {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": {"name": "x", "generation": 1}}
            return text_of({**made, "spec": copy.deepcopy(self.random.choice(_VALUES))})

    def value(self, schema: Any, depth: int = 4) -> Any:
        """Return a value that may fit a schema, whatever that says."""
        if not isinstance(schema, dict):
            return self.anything()
        if self.chance(0.12):
            return copy.deepcopy(self.random.choice(_VALUES))
        try:
            return super().value(schema, depth)
        except (TypeError, ValueError, AttributeError, LookupError, OverflowError):
            return copy.deepcopy(self.random.choice(_VALUES))


def _nodes(node: Any) -> Iterator[Schema]:
    """Yield all schemas in a schema."""
    if not isinstance(node, dict):
        return
    yield node
    for word in ("items", "additionalProperties", "not"):
        yield from _nodes(node.get(word))
    for word in ("properties", "patternProperties"):
        if isinstance(found := node.get(word), dict):
            for child in found.values():
                yield from _nodes(child)
    for word in ("allOf", "anyOf", "oneOf"):
        if isinstance(found := node.get(word), list):
            for child in found:
                yield from _nodes(child)


def cases(seed: int | str, objects: int) -> Iterator[tuple[Schema, list[str]]]:
    """Yield definitions that can be decoded, each with objects, without end."""
    random = Random(seed)
    while True:
        draw = OddDrawer(random)
        document = draw.odd_definition()
        try:
            parse_definition(document)
        except SchemaError:
            continue
        yield document, [draw.odd_text(document) for _ in range(objects)]


def main(words: list[str] | None = None) -> int:
    """Run; return the exit code."""
    from tests.properties.test_paths_agree import differences

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--definitions", type=int, default=1000)
    parser.add_argument("--objects", type=int, default=8, help="objects of each definition")
    parser.add_argument("--seconds", type=float, default=0, help="end after this time")
    parser.add_argument("--seed", default="1")
    options = parser.parse_args(words)
    clock = time.monotonic()
    done = refused = 0
    wrong = []
    for document, texts in islice(cases(options.seed, options.objects), options.definitions):
        if options.seconds and time.monotonic() - clock > options.seconds:
            break
        done += 1
        is_taken = not (checked := check_crd(document)).findings and checked.unreadable is None
        refused += not is_taken
        if found := differences(document, texts):
            wrong.append(found)
            print(f"{'taken' if is_taken else 'refused'}: {json.dumps(document['spec'])}")
            for one in found[:4]:
                print(f"  {one}")
    print(
        f"{done:,} definitions, {refused:,} that no server takes, {done * options.objects:,} objects, {len(wrong)} differ"
    )
    return 1 if wrong or not done else 0


if __name__ == "__main__":
    sys.exit(main())
