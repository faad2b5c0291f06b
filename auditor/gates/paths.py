"""Simple paths to guarded fields, ``.spec.replicas``, ``.spec['a.b'].c``, and their positions in an object.

A path names fields only. If it leads through a list, it means the field in every item.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.schema.structural import StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Iterator


_STEP: Final = re.compile(r"\.(?P<plain>[^.\[\]'\"()?@$*\s]+)|\['(?P<quoted>(?:[^'\\]|\\.)+)'\]")
_WILD: Final = re.compile(r"\*|\.\.|\[[^']|[()?@$]")
_RESERVED: Final = ("metadata", "apiVersion", "kind")


class GatePathError(ValueError):
    """A text that is not a simple path; the message says why."""


@dataclass(frozen=True, slots=True)
class GatePath:
    """The names that lead to a field from the root of an object.

    Attributes:
        steps: At least one.
    """

    steps: tuple[str, ...]

    def __str__(self) -> str:
        """Return the path as it is written in a configuration."""
        return "".join(f".{step}" if _STEP.fullmatch(f".{step}") else f"['{_escaped(step)}']" for step in self.steps)

    def is_above(self, other: GatePath) -> bool:
        """Whether this is a parent of another path: its steps are the first steps of the other, which has more."""
        return len(self.steps) < len(other.steps) and other.steps[: len(self.steps)] == self.steps


def _escaped(step: str) -> str:
    return step.replace("\\", "\\\\").replace("'", "\\'")


def parse_path(text: str) -> GatePath:
    """Parse the text of a path.

    Raises:
        GatePathError: It is not a path, or leads to a field that every object has.
    """
    if not text.startswith("."):
        raise GatePathError("must be a simple JSON path that starts with .")
    steps: list[str] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            if _WILD.search(text):
                raise GatePathError("must name fields only: no wildcards, filters, indices or recursion")
            raise GatePathError("must be a simple JSON path: names behind dots, or ['name']")
        quoted = match["quoted"]
        steps.append(match["plain"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        position = match.end()
    if steps[0] in _RESERVED:
        raise GatePathError(f"must not guard {steps[0]}, which every object has")
    return GatePath(tuple(steps))


def is_known(path: GatePath, schema: StructuralSchema | None) -> bool:
    """Whether a schema allows the field; it also allows unknown fields if it preserves them."""
    node = schema
    for step in path.steps:
        while node is not None and node.type == "array":
            if node.items is None:
                return node.preserve_unknown_fields
            node = node.items
        if node is None:
            return False
        below = node.properties.get(step)
        if below is None:
            extra = node.additional_properties
            if not isinstance(extra, StructuralSchema):
                return node.preserve_unknown_fields or extra is not None
            below = extra
        node = below
    return True


def goes_through_list(path: GatePath, schema: StructuralSchema | None) -> bool:
    """Whether a schema has a list on the way to the field, so that it is in every item."""
    node = schema
    for step in path.steps:
        if node is None:
            return False
        if node.type == "array":
            return True
        extra = node.additional_properties
        node = node.properties.get(step) or (extra if isinstance(extra, StructuralSchema) else None)
    return False


def places(value: Any, steps: tuple[str, ...], where: str = "") -> Iterator[tuple[str, Any]]:
    """Yield position and value of a field in an object; for a list on the way, those of every item.

    Args:
        value: The object.
        steps: The steps of the path.
        where: The position of the value itself.
    """
    if type(value) is list:
        for index, item in enumerate(value):
            yield from places(item, steps, f"{where}[{index}]")
    elif type(value) is dict and steps and steps[0] in value:
        name, *rest = steps
        below = f"{where}.{name}" if where else name
        if rest:
            yield from places(value[name], tuple(rest), below)
        else:
            yield below, value[name]
