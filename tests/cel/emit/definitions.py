"""Definitions with rules at many positions, and objects of theirs."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from auditor.crds.definition import parse_definition
from auditor.program.program import AuditProgram
from tests.cel.emit.drawing import SCHEMA, Drawer
from tests.properties.drawing import Spelled, text_of

if TYPE_CHECKING:
    from random import Random

    from auditor.base.records import AuditedObject
    from auditor.crds.definition import CustomResourceDefinition

__all__ = ["audits_of", "definition_of", "draw_definition", "draw_text", "reported"]

ON_ITEM = [
    "self.name != 'a'",
    "!has(self.port) || self.port > 2",
    "has(self.tags) && size(self.tags) < 3",
    "self.port < 100",
    "has(self.maybe) ? self.maybe != '' : true",
    "self.tags.all(t, t != self.name)",
]
ON_TEXT = ["self != 'a'", "size(self) < 3", "!self.startsWith('h')", "self.matches('^[a-z]*$')", "self < 'é'"]
ON_NUMBER = ["self > 0", "self != 3", "self + 1 > self", "self % 2 == 0"]
ON_MAP = ["size(self) < 3", "self.all(k, k != 'a')", "'b' in self"]
ON_LIST = ["size(self) < 4", "self.all(x, self.exists_one(y, x == y))"]
ODD = ["self.nope == 1", "oldSelf == self", "self ==", "'text'", "  "]


def definition_of(spec: dict[str, Any], **root: Any) -> CustomResourceDefinition:
    """Return a definition whose objects have that under `spec`."""
    schema = {"type": "object", "properties": {"spec": spec}, **root}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return parse_definition({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        },
    })  # fmt: skip


def _rule(drawer: Drawer, text: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"rule": text}
    if drawer.chance(0.3):
        rule["message"] = "no good"
    if drawer.chance(0.2):
        rule["messageExpression"] = drawer.one(["'it is ' + string(self)", "'is ' + self.s", "'wrong'", "self.s", "1"])
    if drawer.chance(0.2):
        rule["reason"] = drawer.one(["FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"])
    if drawer.chance(0.1):
        rule["fieldPath"] = drawer.one([".s", ".name", ".o.q"])
    if drawer.chance(0.1):
        rule["optionalOldSelf"] = True
    return rule


def _add(drawer: Drawer, schema: dict[str, Any], texts: list[str], share: float) -> None:
    rules = [_rule(drawer, drawer.one(texts)) for _ in range(drawer.one([1, 1, 2, 3])) if drawer.chance(share)]
    if drawer.chance(0.05 * share):
        rules.append(_rule(drawer, drawer.one(ODD)))
    if rules and drawer.chance(0.1):
        schema["allOf"] = [{"x-kubernetes-validations": rules}]
    elif rules:
        schema["x-kubernetes-validations"] = rules


def draw_definition(random: Random, most: float = 1.0) -> CustomResourceDefinition:
    """Draw rules on most positions of the object type, or on a share of those."""
    drawer = Drawer(random)
    spec = copy.deepcopy(SCHEMA)

    def add(schema: dict[str, Any], texts: list[str], share: float = 0.6) -> None:
        _add(drawer, schema, texts, share * most)

    add(spec, [drawer.rule() for _ in range(4)], 0.9)
    for schema in spec["properties"].values():
        kind = schema.get("type")
        if kind == "string" and "format" not in schema:
            add(schema, ON_TEXT, 0.3)
        elif kind == "integer":
            add(schema, ON_NUMBER, 0.3)
        elif kind == "array":
            add(schema, ON_LIST, 0.3)
            items = schema["items"]
            if items.get("type") == "string" and "format" not in items:
                add(items, ON_TEXT, 0.4)
            elif items.get("type") == "object":
                add(items, ON_ITEM)
                add(items["properties"]["tags"]["items"], ON_TEXT)
        elif kind == "object" and "additionalProperties" in schema:
            add(schema, ON_MAP, 0.4)
            if schema["additionalProperties"].get("type") == "string":
                add(schema["additionalProperties"], ON_TEXT)
    return definition_of(spec)


def draw_text(random: Random, *, wild: float = 0.0) -> str:
    """Draw the text of an object; wild ones hold values of other types here and there."""
    drawer = Drawer(random)

    def spoiled(value: Any) -> Any:
        if drawer.chance(wild):
            return drawer.one([None, 5, "text", Spelled("1.0"), Spelled("1e400"), True, [], {}, ["a"], {"a": 1}, 2**63])
        if type(value) is dict:
            return {key: spoiled(item) for key, item in value.items()}
        return [spoiled(item) for item in value] if type(value) is list else value

    metadata = {"name": "x", "namespace": "y", "uid": "u", "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z"}
    spec = spoiled(drawer.object())
    return text_of({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "spec": spec})


def reported(audited: AuditedObject) -> list[tuple[Any, ...]]:
    """Return what was found, in an order of its own."""
    return sorted((f.field, f.type, f.message, f.detail, json.dumps(f.bad_value), f.check) for f in audited.findings)


def audits_of(definition: CustomResourceDefinition) -> tuple[AuditProgram, AuditProgram]:
    """Return the programs of a definition: generated, and not."""
    version = definition.versions["v1"]
    return AuditProgram(definition, version), AuditProgram(definition, version, compiled=False)
