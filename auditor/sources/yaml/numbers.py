"""Numbers of YAML as a decoder of Kubernetes objects reads them, after Go has printed them as JSON."""

from __future__ import annotations

from typing import Any

from auditor.golang.text import float_json
from auditor.sources.yaml.scalars import INT64_MAX

__all__ = ["to_json_value"]


def _number(value: float) -> int | float:
    """Return a float as a decoder of Kubernetes objects reads it after Go printed it: int64 if the digits are one."""
    if abs(value) >= 1e21 or value != int(value):
        return value
    digits = int(float_json(value))
    return digits if -INT64_MAX - 1 <= digits <= INT64_MAX else value


def to_json_value(tree: Any) -> Any:
    """Convert the numbers of a finite tree with text keys, in place, to the values that its JSON text decodes to.

    Source: encoding/json; k8s.io/apimachinery/pkg/util/json: int64 where it parses as one, else float64.
    """
    holder: list[Any] = [tree]
    todo: list[Any] = [holder]
    while todo:
        container = todo.pop()
        for place, value in container.items() if type(container) is dict else enumerate(container):
            kind = type(value)
            if kind is dict or kind is list:
                todo.append(value)
            elif kind is float:
                container[place] = _number(value)
            elif kind is int and value > INT64_MAX:
                container[place] = float(value)
    return holder[0]
