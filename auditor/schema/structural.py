"""The schema tree of a CRD version: one frozen node for each schema position.

One record holds the fields of three upstream types (Structural, ValueValidation, NestedValueValidation): the walk over
keywords needs all of them at every node, also below anyOf and allOf, and one recursion is simpler than two. `parse.py`
makes the tree from JSONSchemaProps, and checks separately whether it is structural.

Source: apiextensions-apiserver pkg/apiserver/schema/structural.go; pkg/apis/apiextensions/types_jsonschema.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from auditor.base.quick_init import quick_init

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


Made = TypeVar("Made")


class Absent(Enum):
    """Type of ABSENT: None is a possible value."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
"""There is no default (a default of null counts as none)."""


class ListType(Enum):
    """x-kubernetes-list-type."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of x-kubernetes-validations."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LegacyKeywords:
    """Keywords that no structural schema has, but a schema of a legacy definition (preserveUnknownFields) may.

    They matter for validation only: pruning, defaulting and rules never use such a schema.

    Attributes:
        items: `items` given as a list: one schema a position.
        additional_items: Bool or node, like `additional_properties`.
        dependencies: Property to schema, or to the names of properties it requires.
        ref: `$ref`, which no server resolves.
    """

    items: tuple[StructuralSchema, ...] = ()
    additional_items: StructuralSchema | bool | None = None
    pattern_properties: dict[str, StructuralSchema] = field(default_factory=dict)
    dependencies: dict[str, StructuralSchema | tuple[str, ...]] = field(default_factory=dict)
    definitions: dict[str, StructuralSchema] = field(default_factory=dict)
    ref: str = ""


@quick_init
@dataclass(frozen=True, slots=True, eq=False)
class StructuralSchema:
    """One node. Absent keywords are None, empty tuples, "" or ABSENT; nodes are compared and hashed by identity.

    `properties` keeps the order of the definition. `additional_properties` is None (absent), a bool, or a node.
    Bounds are Python ints or floats as JSON gave them: `maximum`, `minimum`, `multiple_of` are float in the server.
    `enum` is None when absent; its values are decoded JSON.
    """

    type: str = ""
    format: str = ""
    nullable: bool = False
    default: Any = ABSENT

    properties: dict[str, StructuralSchema] = field(default_factory=dict)
    additional_properties: StructuralSchema | bool | None = None
    items: StructuralSchema | None = None

    preserve_unknown_fields: bool = False
    embedded_resource: bool = False
    int_or_string: bool = False
    list_type: ListType | None = None
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    rules: tuple[Rule, ...] = ()

    enum: tuple[Any, ...] | None = None
    maximum: float | None = None
    exclusive_maximum: bool = False
    minimum: float | None = None
    exclusive_minimum: bool = False
    multiple_of: float | None = None
    max_length: int | None = None
    min_length: int | None = None
    pattern: str = ""
    max_items: int | None = None
    min_items: int | None = None
    unique_items: bool = False
    max_properties: int | None = None
    min_properties: int | None = None
    required: tuple[str, ...] = ()
    all_of: tuple[StructuralSchema, ...] = ()
    any_of: tuple[StructuralSchema, ...] = ()
    one_of: tuple[StructuralSchema, ...] = ()
    not_: StructuralSchema | None = None
    legacy: LegacyKeywords | None = None


def nodes_of(schema: StructuralSchema | None, *, with_junctors: bool = False) -> Iterator[StructuralSchema]:
    """Yield the nodes of a schema, each once; equal positions share a node, which makes them few.

    Args:
        schema: The schema, which is the first of them; None has no nodes.
        with_junctors: Whether those below allOf, anyOf, oneOf and not are included.
    """
    stack: list[Any] = [schema]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if not isinstance(node, StructuralSchema) or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        stack += (*node.properties.values(), node.items, node.additional_properties)
        if with_junctors:
            stack += (*node.all_of, *node.any_of, *node.one_of, node.not_)


def folded(
    schema: StructuralSchema | None,
    make: Callable[[StructuralSchema, dict[str, Made | None], Made | None, Made | None], Made | None],
) -> Made | None:
    """Return the result of a function for a schema; equal positions, which share a node, share its result.

    Args:
        schema: The schema; the result for None is None.
        make: The function: it gets a node, and its results for the properties, additionalProperties and items below.
    """
    made: dict[int, Made | None] = {}

    def at(node: object) -> Made | None:
        if not isinstance(node, StructuralSchema):
            return None
        if id(node) not in made:
            properties = {name: at(child) for name, child in node.properties.items()}
            made[id(node)] = make(node, properties, at(node.additional_properties), at(node.items))
        return made[id(node)]

    return at(schema)
