"""Trails: paths of values during a walk. They are made for every value, and printed only for a finding.

A trail is a chain from leaf to root: (parent, name) for a declared property, (parent, index) for a list item,
(parent, key, True) for a key of additionalProperties; None is the root. `auditor.base.paths.KeyPath` holds the same as
an object with names; a tuple costs a tenth of it.

Source: kube-openapi pkg/validation/validate (dotted); apimachinery pkg/util/validation/field/path.go (structured).
"""

from __future__ import annotations

from typing import Any

Trail = tuple[Any, ...] | None


def _steps(trail: Trail) -> list[tuple[Any, ...]]:
    steps: list[tuple[Any, ...]] = []
    while trail is not None:
        steps.append(trail)
        trail = trail[0]
    steps.reverse()
    return steps


def dotted(trail: Trail) -> str:
    """Print a trail as OpenAPI validation does: ``spec.m.k.x[3].u``; a key at the root keeps its dot."""
    text = ""
    for step in _steps(trail):
        name = step[1]
        if type(name) is int:
            text = f"{text}[{name}]"
        elif text or len(step) > 2:
            text = f"{text}.{name}"
        else:
            text = name
    return text


def structured(trail: Trail) -> str:
    """Print a trail as all other checks do: ``spec.m[k.x][3].u``; a property without a name prints as ``[]``."""
    text = ""
    for step in _steps(trail):
        name = step[1]
        if type(name) is int or len(step) > 2 or not name:
            text = f"{text}[{name}]"
        else:
            text = f"{text}.{name}" if text else name
    return text
