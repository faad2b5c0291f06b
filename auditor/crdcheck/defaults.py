"""Checks that the schema accepts its own defaults.

A default outside resource metadata must have only known fields and satisfy its schema, rules included; nested defaults
are not applied to it first. A default inside apiVersion, kind or metadata of a resource must be valid in a resource
that has no other fields. Defaults below additionalProperties are not checked.

Source: apiextensions-apiserver pkg/apiserver/schema/defaulting/{validation,surroundingobject}.go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from auditor.schema.defaulting import copy_json
from auditor.schema.objectmeta import CoerceError, coerce_embedded
from auditor.schema.pruning import META_FIELDS, as_resource, prune_below
from auditor.schema.structural import ABSENT, StructuralSchema
from auditor.validation.embedded import compile_embedded
from auditor.validation.field_errors import finding, invalid
from auditor.validation.node import compile_schema, validate_value
from auditor.validation.rules import RuleProgram, declare
from auditor.validation.rules.compile import NO_TYPE

if TYPE_CHECKING:
    from auditor.base.records import Finding, JsonObject


_CHECK: Final = "schema"
_STEP: Final = re.compile(r"\[([^\]]*)\]|\.?([^.\[]+)")


@dataclass(slots=True)
class _DefaultsWalk:
    """One walk over the defaults of a schema."""

    found: list[Finding]
    pruned: bool


def check_defaults(schema: StructuralSchema, path: str, *, need_pruned: bool = True) -> list[Finding]:
    """Check all defaults of a structural schema.

    Args:
        schema: The schema of a custom resource, with defaults as given.
        path: The path of the schema in the definition.
        need_pruned: Whether defaults must have no unknown fields.
    """
    root = as_resource(schema)
    walk = _DefaultsWalk([], need_pruned)
    _node(root, root, (), path, walk, in_meta=False)
    return walk.found


def _node(
    schema: StructuralSchema,
    resource: StructuralSchema,
    steps: tuple[str | int, ...],
    path: str,
    walk: _DefaultsWalk,
    *,
    in_meta: bool,
) -> None:
    """Check a node: `resource` is the resource that contains it, `steps` lead from there to the node."""
    if schema.embedded_resource:
        in_meta, resource, steps = False, schema, ()
    if schema.default is not ABSENT and schema.default is not None:
        where = f"{path}.default"
        if in_meta:
            walk.found += _in_meta(schema, resource, steps, where)
        else:
            walk.found += _outside_meta(schema, where, walk)
    if schema.items is not None:
        _node(schema.items, resource, (*steps, 0), f"{path}.items", walk, in_meta=in_meta)
    for name, child in schema.properties.items():
        below = in_meta or (schema.embedded_resource and name in META_FIELDS)
        _node(child, resource, (*steps, name), f"{path}.properties[{name}]", walk, in_meta=below)


def _outside_meta(schema: StructuralSchema, where: str, walk: _DefaultsWalk) -> list[Finding]:
    findings: list[Finding] = []
    value, failure = copy_json(schema.default), None
    try:
        coerce_embedded(value, schema, drop=False)
    except CoerceError as error:
        failure = _coercion(str(error), schema.default, where)
    if walk.pruned and prune_below(copy_json(schema.default), schema):
        # The server prints the default after its metadata were coerced.
        findings.append(invalid(_CHECK, where, value, "must not have unknown fields"))
    if failure is not None:
        return [*findings, failure]
    embedded = compile_embedded(schema)
    problems: list[Finding] = []
    if embedded is not None:
        embedded.check(value, None, problems)
    problems = [_moved(finding, where) for finding in problems] or validate_value(
        _compiled(schema), value, prefix=where
    )
    return findings + (problems or _rules(schema, value, where))


def _in_meta(
    schema: StructuralSchema, resource: StructuralSchema, steps: tuple[str | int, ...], where: str
) -> list[Finding]:
    around: Any = copy_json(schema.default)
    for step in reversed(steps):
        around = [around] if type(step) is int else {step: around}
    obj: JsonObject = {"kind": "Validation", "apiVersion": "validation/v1", **around}
    wanted = "must result in valid metadata: "
    try:
        coerce_embedded(obj, resource, drop=False)
    except CoerceError as error:
        return [invalid(_CHECK, where, schema.default, f"{wanted}{error}")]
    problems: list[Finding] = []
    embedded = compile_embedded(resource)
    assert embedded is not None
    embedded.check(obj, None, problems)
    if problems:
        texts = list(dict.fromkeys(finding.message for finding in problems))
        shown = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return [invalid(_CHECK, where, schema.default, wanted + shown)]
    findings = validate_value(_compiled(schema), schema.default, prefix=where)
    return findings or _rules(schema, schema.default, where)


_HOLDER: Final = "default"


def _rules(schema: StructuralSchema, value: Any, where: str) -> list[Finding]:
    """Run the rules of a node, and of those below it, on a default: as an unchanged value, then as a new value."""
    if schema.rules and declare(schema, is_resource=schema.embedded_resource) is None:
        return [invalid("rule", where, schema.type, f"rule compiler initialization error: {NO_TYPE}")]
    program = RuleProgram.of(StructuralSchema(type="object", properties={_HOLDER: schema}))
    if program is None:
        return []
    obj = {_HOLDER: value}
    findings = program.run_update(obj, obj, None) or program.run(obj)
    return [_renamed(finding, f"{where}{finding.field.removeprefix(_HOLDER)}") for finding in findings]


def _compiled(schema: StructuralSchema) -> Any:
    return compile_schema(_plain(schema), lambda node: node.format)[0]


def _plain(schema: StructuralSchema, *, nested: bool = False) -> StructuralSchema:
    """Return a schema as it applies to defaults: x-kubernetes-int-or-string does not restrict types here.

    additionalProperties inside anyOf, allOf, oneOf and not is ignored.
    """
    extra = schema.additional_properties
    return replace(
        schema,
        int_or_string=False,
        embedded_resource=schema.embedded_resource,
        properties={name: _plain(child, nested=nested) for name, child in schema.properties.items()},
        additional_properties=None if nested else _plain(extra) if isinstance(extra, StructuralSchema) else extra,
        items=None if schema.items is None else _plain(schema.items, nested=nested),
        all_of=tuple(_plain(branch, nested=True) for branch in schema.all_of),
        any_of=tuple(_plain(branch, nested=True) for branch in schema.any_of),
        one_of=tuple(_plain(branch, nested=True) for branch in schema.one_of),
        not_=None if schema.not_ is None else _plain(schema.not_, nested=True),
    )


def _moved(one: Finding, where: str) -> Finding:
    """Return a finding about a part of a default with its path in the definition."""
    if one.field == "<nil>":
        field = where
    else:
        field = f"{where}{one.field}" if one.field.startswith("[") else f"{where}.{one.field}"
    return _renamed(one, field)


def _renamed(one: Finding, field: str) -> Finding:
    return replace(one, field=field, message=field + one.message.removeprefix(one.field))


def _coercion(text: str, default: Any, where: str) -> Finding:
    """Return the finding for metadata that cannot be coerced; `text` is ``path: Invalid value: shown: detail``."""
    below = text.partition(": Invalid value: ")[0]
    value = _at(default, below)
    field = f"{where}{below}" if below.startswith("[") else f"{where}.{below}"
    shown = finding(_CHECK, below, "FieldValueInvalid", value, "").message
    return invalid(_CHECK, field, value, text.removeprefix(f"{shown}: "))


def _at(value: Any, path: str) -> Any:
    for match in _STEP.finditer(path):
        step = match[1] if match[1] is not None else match[2]
        if type(value) is list and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        elif type(value) is dict and step in value:
            value = value[step]
        else:
            return None
    return value
