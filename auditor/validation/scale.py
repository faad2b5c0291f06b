"""Checks the values at the paths of the scale subresource. Never ratcheted; a missing value counts as a valid zero.

Source: apiextensions-apiserver pkg/registry/customresource/validator.go (ValidateScaleSpec, ValidateScaleStatus);
apimachinery pkg/apis/meta/v1/unstructured/helpers.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.golang.text import display, type_name
from auditor.validation.findings import invalid

if TYPE_CHECKING:
    from auditor.base.records import Finding, JsonObject
    from auditor.crds.definition import Scale

__all__ = ["check_scale_spec", "check_scale_status"]

_MAX_INT32: Final = 2**31 - 1


def check_scale_spec(obj: JsonObject, scale: Scale | None) -> list[Finding]:
    """Check the wanted number of replicas."""
    return _replicas(obj, scale.spec_replicas_path) if scale is not None else []


def check_scale_status(obj: JsonObject, scale: Scale | None) -> list[Finding]:
    """Check the observed number of replicas and the label selector."""
    if scale is None:
        return []
    found = _replicas(obj, scale.status_replicas_path)
    path = scale.label_selector_path
    if path:
        value, problem = _look_up(obj, path, str)
        if problem:
            found.append(invalid("scale", path, value, problem))
    return found


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
