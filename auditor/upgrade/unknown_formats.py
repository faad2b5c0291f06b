"""Formats that this release does not know, and what would become of the values if it did.

The server lets every value pass at a format that it does not know, and warns of it where a definition is written. A
later release may know it: then values that were never looked at are judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import PlanError
from auditor.schema.structural import StructuralSchema
from auditor.validation.string_formats import accepts, applicable, is_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


ASSUMABLE: Final = {"dns1123subdomain": "k8s-long-name", "dns1123label": "k8s-short-name"}
"""Names that `--assume-format` takes beside the formats that the server knows, and what they are among those."""


@dataclass(slots=True)
class _Node:
    """A position in the schema that has an unknown format, or has one below it."""

    formats: tuple[str, ...] = ()
    properties: dict[str, _Node] = field(default_factory=dict)
    additional: _Node | None = None
    items: _Node | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.formats or self.properties or self.additional or self.items)


class UnknownFormats:
    """The positions in a schema with formats that the server does not know, and the values of objects there.

    Args:
        schema: The schema of the version; None means there is none.
        assumptions: Format in the schema, to the known format that it is checked as.
    """

    def __init__(self, schema: StructuralSchema | None, assumptions: Mapping[str, str] | None = None) -> None:
        self.assumptions = dict(assumptions or {})
        self._root = _node((schema,))
        self.places = tuple(sorted(_places(self._root, "")))

    def __bool__(self) -> bool:
        return bool(self.places)

    def values(self, obj: Any) -> Iterator[tuple[str, str, str, bool]]:
        """Yield (field, format, value, whether it would fail) of every text at such a place.

        Fields have ``[*]`` for items and ``*`` for the keys of maps; a format that nothing is assumed of never fails.
        """
        yield from self._values(obj, self._root, "")

    def _values(self, value: Any, node: _Node, path: str) -> Iterator[tuple[str, str, str, bool]]:
        if type(value) is str:
            for name in node.formats:
                known = self.assumptions.get(name)
                yield path, name, value, known is not None and not accepts(known, value)
        elif type(value) is dict:
            for key, child in value.items():
                below, step = node.properties.get(key), key
                if below is None:
                    below, step = node.additional, "*"
                if below is not None:
                    yield from self._values(child, below, f"{path}.{step}" if path else step)
        elif type(value) is list and node.items is not None:
            for child in value:
                yield from self._values(child, node.items, f"{path}[*]")


def _node(schemas: tuple[StructuralSchema | None, ...]) -> _Node:
    """Return the node of schemas that all judge the same value: one and those in its allOf, anyOf and the like."""
    every: list[StructuralSchema] = []
    todo = [schema for schema in schemas if schema is not None]
    while todo:
        subtree = todo.pop()
        every.append(subtree)
        todo += [*subtree.all_of, *subtree.any_of, *subtree.one_of]
    node = _Node()
    if not every:
        return node
    names = {schema.format for schema in every if schema.format and _is_unknown(schema)}
    node.formats = tuple(sorted(names))
    for key in sorted({key for schema in every for key in schema.properties}):
        below = _node(tuple(schema.properties.get(key) for schema in every))
        if not below.is_empty:
            node.properties[key] = below
    extra = tuple(schema.additional_properties for schema in every)
    additional = _node(tuple(schema for schema in extra if isinstance(schema, StructuralSchema)))
    items = _node(tuple(schema.items for schema in every))
    node.additional = None if additional.is_empty else additional
    node.items = None if items.is_empty else items
    return node


def _is_unknown(schema: StructuralSchema) -> bool:
    if schema.type not in ("", "string") or is_known(schema.format):
        return False
    return bool(schema.type) or not any(applicable(schema.format, (kind,)) for kind in ("integer", "number"))


def _places(node: _Node, path: str) -> Iterator[tuple[str, str]]:
    for name in node.formats:
        yield path, name
    for key, below in node.properties.items():
        yield from _places(below, f"{path}.{key}" if path else key)
    if node.additional is not None:
        yield from _places(node.additional, f"{path}.*" if path else "*")
    if node.items is not None:
        yield from _places(node.items, f"{path}[*]")


def parse_assumptions(given: tuple[str, ...]) -> dict[str, str]:
    """Return the ``FORMAT=KNOWN`` options as a mapping: format of the schema to a known format.

    Raises:
        PlanError: One has another form, its FORMAT is known already, or its KNOWN is not known.
    """
    out = {}
    for text in given:
        name, equals, target = text.partition("=")
        known = ASSUMABLE.get(target, target)
        if not name or not equals or not is_known(known):
            wanted = f"FORMAT=KNOWN, KNOWN being {', '.join(ASSUMABLE)} or a format that this release knows"
            raise PlanError("--assume-format", repr(text), wanted)
        if is_known(name):
            raise PlanError("--assume-format", f"{name!r} is known to this release", "a format that is not known")
        out[name] = known
    return out
