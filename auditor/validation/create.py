"""The checks of a create: all those of the server's strategy, in its order.

Type meta, metadata, schema, scale, embedded resources, list types, rules. A finding of the type meta replaces
metadata, schema and scale; a blocking finding replaces the rules. The object is taken as the storage read returns it.

Source: apiextensions-apiserver pkg/registry/customresource/strategy.go, validator.go; apimachinery
pkg/apis/meta/v1/unstructured/helpers.go.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from auditor.golang.go_text import display, type_name
from auditor.schema.structural import StructuralSchema, nodes_of
from auditor.validation.embedded import compile_embedded
from auditor.validation.field_errors import has_blocking, invalid, rules_not_checked, unique
from auditor.validation.listtype import compile_list_types
from auditor.validation.name_checks import path_segment, subdomain_name
from auditor.validation.node import compile_schema, validate_value
from auditor.validation.objectmeta import check_metadata, read_metadata

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import Finding, JsonObject
    from auditor.base.trail import Trail
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition, Scale
    from auditor.ratcheting import Faults


_MAX_INT32: Final = 2**31 - 1


def check_scale_spec(obj: JsonObject, scale: Scale | None) -> list[Finding]:
    """Check the wanted number of replicas."""
    return _replicas(obj, scale.spec_replicas_path) if scale is not None else []


def check_scale_status(obj: JsonObject, scale: Scale | None) -> list[Finding]:
    """Check the observed number of replicas and the label selector."""
    if scale is None:
        return []
    replicas = _replicas(obj, scale.status_replicas_path)
    path = scale.label_selector_path
    if path:
        value, problem = _look_up(obj, path, str)
        if problem:
            replicas.append(invalid("scale", path, value, problem))
    return replicas


def _replicas(obj: JsonObject, path: str) -> list[Finding]:
    value, problem = _look_up(obj, path, int)
    if not problem:
        if value < 0:
            problem = "should be a non-negative integer"
        elif value > _MAX_INT32:
            problem = f"should be less than or equal to {_MAX_INT32}"
    return [invalid("scale", path, value, problem)] if problem else []


def _look_up(obj: JsonObject, path: str, kind: type) -> tuple[Any, str]:
    """Return the value at a path, or the zero value of its kind with the fault."""
    steps = path.removeprefix(".").split(".")
    zero = kind()
    value: Any = obj
    for index, step in enumerate(steps):
        if value is None:
            return zero, ""
        if type(value) is not dict:
            return zero, _unfit(steps[: index + 1], value, "map[string]interface{}")
        if step not in value:
            return zero, ""
        value = value[step]
    if type(value) is not kind:
        return zero, _unfit(steps, value, "int64" if kind is int else "string")
    return value, ""


def _unfit(steps: list[str], value: Any, expected: str) -> str:
    where = ".".join(steps)
    return f".{where} accessor error: {display(value)} is of the type {type_name(value)}, expected {expected}"


def _text(value: Any) -> str:
    return value if type(value) is str else ""


class ProvenPart(Enum):
    """A part of an object that may be proven without the rest."""

    METADATA = "metadata"
    BODY = "body"
    """All but the metadata, with kind and apiVersion."""


class CreateValidator:
    """The checks of one version of a definition, compiled once.

    Attributes:
        definition: The definition.
        version: The version that objects are judged at.
        root: The compiled schema.
        nodes: The compiled positions outside of anyOf and the like, by their schema.
        has_rules: Whether the version has validation rules, so that a blocking finding is followed by
            `rules_not_checked`.
    """

    def __init__(self, definition: CustomResourceDefinition, version: CrdVersion) -> None:
        self.definition = definition
        self.version = version
        self.api_version = f"{definition.group}/{version.name}"
        self.root, self.nodes = compile_schema(version.schema)
        self.has_rules = has_rules(version.structural)
        self._embedded = compile_embedded(version.structural)
        self._list_types = compile_list_types(version.structural)
        self._failed: tuple[JsonObject, list[Trail]] | None = None

    def run(
        self,
        obj: JsonObject,
        rules: Callable[[JsonObject], list[Finding]] | None = None,
        proven: ProvenPart | None = None,
    ) -> list[Finding]:
        """Judge an object.

        Args:
            obj: The object after the read.
            rules: Evaluates the validation rules; called only if they count. None skips the step.
            proven: The part of the object in which these checks find nothing, if the caller knows one.
        Returns:
            The findings in the order of the checks; the caller sorts.
        """
        if proven is ProvenPart.BODY:
            self._failed = obj, []
            return self._with_rules(obj, self.check_metadata(obj), rules)
        findings = self.check_type_meta(obj)
        if not findings:
            findings = self.check_metadata(obj) if proven is None else []
            self._failed = obj, []
            findings += validate_value(self.root, obj, failed=self._failed[1])
            findings += check_scale_spec(obj, self.version.scale)
            findings += check_scale_status(obj, self.version.scale)
        findings += self.check_embedded(obj)
        findings += self.check_list_types(obj)
        return self._with_rules(obj, findings, rules)

    def _with_rules(
        self, obj: JsonObject, findings: list[Finding], rules: Callable[[JsonObject], list[Finding]] | None
    ) -> list[Finding]:
        if rules is not None and self.has_rules:
            findings += [rules_not_checked()] if has_blocking(findings) else rules(obj)
        return findings

    def faults_of(self, obj: JsonObject) -> Faults | None:
        """Return where the schema fails on an object; None unless it has the values of the object that ran last.

        The metadata may differ, and count as not known.
        """
        last = self._failed
        if last is None or len(obj) != len(last[0]):
            return None
        before = last[0]
        for key, value in obj.items():
            if key != "metadata" and (key not in before or value is not before[key]):
                return None
        faults: Faults = {}
        for trail in last[1]:
            _note_fault(faults, trail)
        faults["metadata"] = None
        return faults

    def check_type_meta(self, obj: JsonObject) -> list[Finding]:
        """Check kind and apiVersion; a value that is not a string counts as empty."""
        findings: list[Finding] = []
        for key, expected in (("kind", self.definition.kind), ("apiVersion", self.api_version)):
            own = obj.get(key)
            if own != expected:
                findings.append(invalid("type-meta", key, _text(own), f"must be {expected}"))
        return findings

    def check_metadata(self, obj: JsonObject) -> list[Finding]:
        """Check metadata as the strategy does on a create."""
        metadata, findings = read_metadata(obj)
        if findings:
            return findings
        return unique(check_metadata(metadata, namespaced=self.definition.namespaced, name_rule=subdomain_name))

    def check_embedded(self, obj: JsonObject) -> list[Finding]:
        """Check the embedded resources."""
        findings: list[Finding] = []
        if self._embedded is not None:
            self._embedded.check(obj, None, findings)
        return findings

    def check_list_types(self, obj: JsonObject) -> list[Finding]:
        """Check that sets and map lists have no duplicates."""
        findings: list[Finding] = []
        if self._list_types is not None:
            self._list_types.check(obj, None, findings)
        return findings

    def check_common(self, obj: JsonObject) -> list[Finding]:
        """Check metadata as the generic registry does before the object is created.

        It runs only if `run` finds nothing, and can then find only a generateName that ends in ``/-``.

        Source: apiserver pkg/registry/rest/create.go (BeforeCreate).
        """
        metadata, findings = read_metadata(obj)
        if findings:
            return findings
        return check_metadata(metadata, namespaced=self.definition.namespaced, name_rule=path_segment)


def _note_fault(faults: Faults, trail: Trail) -> Faults:
    """Add a path to faults; return the faults below it."""
    if trail is None:
        return faults
    below: Faults = _note_fault(faults, trail[0]).setdefault(trail[1], {})
    return below


def has_rules(schema: StructuralSchema | None) -> bool:
    """Return whether a schema has rules at the places where the server looks for them, which are not below allOf.

    Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (hasXValidations).
    """
    return any(node.rules for node in nodes_of(schema))
