"""The compiled schema: one Node a schema position, with the checks that apply to each kind of value.

The walk is one recursion: Node.run calls checks, and the checks of maps and lists look up the nodes of their children.
With a correlated object it is an update: failures in unchanged nodes are dropped. Without one it is a create.

Match counts (which failing branch of anyOf is shown) are returned by the walk. They are exact below branches; elsewhere
they are not used, and the checks of maps and lists do not add them up.

Source: kube-openapi pkg/validation/validate/schema.go; apiextensions-apiserver pkg/apiserver/validation/ratcheting.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from auditor.base.errors import TooMuchToReport
from auditor.base.longtext import LONG
from auditor.base.trail import Trail, dotted
from auditor.schema.structural import StructuralSchema
from auditor.validation import string_formats
from auditor.validation.field_errors import finding
from auditor.validation.keywords import (
    array_keywords,
    legacy,
    logical,
    number_keywords,
    object_keywords,
    string_keywords,
    type_keywords,
)
from auditor.validation.keywords.failure import MOST_FINDINGS, too_many_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.base.longtext import LongText
    from auditor.base.records import Finding
    from auditor.ratcheting import CorrelatedObject
    from auditor.validation.keywords.failure import Check, Sink


_MOST_TEXT: Final = 64 << 20
"""Most characters of long messages of one object, without those that are shared."""
_NONE: Final = type(None)
_NO_SCHEMA: Final = StructuralSchema()
_FormatOf: TypeAlias = "Callable[[StructuralSchema], str]"


class SchemaNode:
    """One schema position.

    Attributes:
        schema: The schema it was compiled from.
        kinds: Python type of a value -> (constant match count, checks that may fail or count).
    """

    __slots__ = ("kinds", "schema")

    def __init__(self, schema: StructuralSchema) -> None:
        self.schema = schema
        self.kinds: dict[type, tuple[int, tuple[Check, ...]]] = {}

    def run(self, value: Any, trail: Trail, sink: Sink, twin: CorrelatedObject | None) -> int:
        """Check one value.

        Args:
            value: The value; in an update, the new one.
            trail: Its path.
            sink: Receives the failures.
            twin: The value paired with its old one, if the server would compare them.

        Returns:
            The match count.
        """
        count, checks = self.kinds[type(value)]
        if not checks:
            return count
        before = len(sink)
        for check in checks:
            count += check(value, trail, sink, twin)
        if twin is not None and len(sink) > before:
            _tolerate(twin, trail, sink, before)
        return count


def _tolerate(twin: CorrelatedObject, trail: Trail, sink: Sink, before: int) -> None:
    """Drop the failures of a node, and of all below it, if it is unchanged."""
    if twin.is_equal():
        if twin.dropped is not None:
            twin.dropped.append((trail, sink[before:]))
        del sink[before:]


def compile_schema(
    schema: StructuralSchema | None, format_of: Callable[[StructuralSchema], str] = string_formats.strip_format
) -> tuple[SchemaNode, dict[StructuralSchema, SchemaNode]]:
    """Compile a schema.

    Args:
        schema: None is a schema that accepts everything.
        format_of: Returns the format of a node that applies. The server ignores formats that do not fit the type,
            except when it checks the defaults of a definition.
    Returns:
        The root node, and the nodes of all positions outside branches by their schema.
    """
    nodes: dict[StructuralSchema, SchemaNode] = {}
    return _place(schema or _NO_SCHEMA, nodes, format_of), nodes


class _Unfilled(dict[type, tuple[int, "tuple[Check, ...]"]]):
    """The kinds of a node that has checked no value yet: compiled for the first value, as most never get one."""

    __slots__ = ("_fill", "_node")

    def __init__(
        self, node: SchemaNode, fill: Callable[[SchemaNode], dict[type, tuple[int, tuple[Check, ...]]]]
    ) -> None:
        super().__init__()
        self._node = node
        self._fill = fill

    def __missing__(self, kind: type) -> tuple[int, tuple[Check, ...]]:
        self.update(self._fill(self._node))  # in place: the checks of the node above refer to it
        return self[kind]


def _place(
    schema: StructuralSchema, nodes: dict[StructuralSchema, SchemaNode] | None, format_of: _FormatOf
) -> SchemaNode:
    """Return the node of a position; `nodes` is None below a branch."""
    if nodes is None:
        return _unfilled(schema, None, format_of)
    node = nodes.get(schema)
    if node is None:
        node = nodes[schema] = _unfilled(schema, nodes, format_of)
        below = [*schema.properties.values(), schema.items, schema.additional_properties]
        if schema.legacy is not None:
            below += [*schema.legacy.items, schema.legacy.additional_items, *schema.legacy.pattern_properties.values()]
        for child in below:
            if isinstance(child, StructuralSchema):
                _place(child, nodes, format_of)
    return node


def _unfilled(
    schema: StructuralSchema, nodes: dict[StructuralSchema, SchemaNode] | None, format_of: _FormatOf
) -> SchemaNode:
    node = SchemaNode(schema)
    node.kinds = _Unfilled(node, lambda node: _kinds(node, nodes, format_of))
    return node


def _kinds(
    node: SchemaNode, nodes: dict[StructuralSchema, SchemaNode] | None, format_of: _FormatOf
) -> dict[type, tuple[int, tuple[Check, ...]]]:
    """Compile the checks of each kind of value."""
    schema = node.schema
    made: dict[type, tuple[int, tuple[Check, ...]]] = {}
    if schema.int_or_string:
        names: tuple[str, ...] = ("integer", "string")
    else:
        names = (schema.type,) if schema.type else ()
    format_ = format_of(schema)
    enum = type_keywords.enum(schema.enum) if schema.enum else None

    null_type = type_keywords.null_type(names, nullable=schema.nullable)
    null_enum = enum(_NONE) if enum else None
    made[_NONE] = (0 if null_type else 1, tuple(check for check in (null_type, null_enum) if check))

    branches = _branches(schema, format_of)
    numeric = number_keywords.number(schema, names, format_)
    keywords: dict[type, list[Check | None]] = {
        str: [string_keywords.string(schema), string_keywords.format_(format_)],
        int: [numeric.get(int)],
        float: [numeric.get(float)],
        bool: [],
        list: _of_lists(schema, nodes, format_of),
        dict: _of_maps(schema, nodes, format_of),
    }
    known = bool(format_) and string_formats.is_known(format_)
    for kind, own in keywords.items():
        passed, type_check = type_keywords.type_(kind, names, format_)
        # Each validator that applies counts one: this schema, composites twice, enum; type, and those of the kind.
        count = 4 + (1 if names or format_ else 0) + passed + _COUNTS[kind] + (1 if kind is str and known else 0)
        checks: list[Check | None] = [type_check, *branches, *own, enum(kind) if enum else None]
        made[kind] = (count, tuple(check for check in checks if check))
    return made


_COUNTS: Final = {str: 1, int: 2, float: 2, bool: 0, list: 2, dict: 1}


def _branches(schema: StructuralSchema, format_of: _FormatOf) -> list[Check]:
    checks: list[Check] = []
    if schema.any_of:
        checks.append(logical.any_of(tuple(_place(branch, None, format_of) for branch in schema.any_of)))
    if schema.one_of:
        checks.append(logical.one_of(tuple(_place(branch, None, format_of) for branch in schema.one_of)))
    if schema.all_of:
        checks.append(logical.all_of(tuple(_place(branch, None, format_of) for branch in schema.all_of)))
    if schema.not_ is not None:
        checks.append(logical.not_(_place(schema.not_, None, format_of)))
    return checks


def _of_lists(
    schema: StructuralSchema, nodes: dict[StructuralSchema, SchemaNode] | None, format_of: _FormatOf
) -> list[Check | None]:
    checks: list[Check | None] = []
    if schema.items is not None:
        checks.append(array_keywords.items(_place(schema.items, nodes, format_of), counts=nodes is None))
    old = schema.legacy
    if old is not None and old.items:
        first = tuple(_place(item, nodes, format_of) for item in old.items)
        rest = old.additional_items
        further = _place(rest, nodes, format_of) if isinstance(rest, StructuralSchema) else None
        checks.append(legacy.positional_items(first, further, closed=rest is False))
    checks.append(array_keywords.sizes(schema))
    return checks


def _of_maps(
    schema: StructuralSchema, nodes: dict[StructuralSchema, SchemaNode] | None, format_of: _FormatOf
) -> list[Check | None]:
    checks: list[Check | None] = []
    extra = schema.additional_properties
    closed = extra is False
    below = {name: _place(child, nodes, format_of) for name, child in schema.properties.items()}
    rest = _place(extra, nodes, format_of) if isinstance(extra, StructuralSchema) else None
    old = schema.legacy
    matches: Callable[[str], bool] | None = None
    if old is not None and old.pattern_properties:
        patterns = tuple(
            (legacy.matcher(key), _place(child, nodes, format_of)) for key, child in old.pattern_properties.items()
        )
        checks.append(legacy.pattern_properties(patterns, frozenset(below), closed=closed))
        matches = legacy.any_matcher(tuple(matched for matched, _ in patterns))
    if below or closed or rest is not None:
        checks.append(object_keywords.fields(below, rest, closed=closed, matches=matches, counts=nodes is None))
    checks.append(object_keywords.sizes(schema))
    if old is not None and old.dependencies:
        schemas = {
            key: _place(dependency, None, format_of)
            for key, dependency in old.dependencies.items()
            if isinstance(dependency, StructuralSchema)
        }
        names = {key: dependency for key, dependency in old.dependencies.items() if isinstance(dependency, tuple)}
        checks.append(legacy.dependencies(schemas, names))
    return checks


def validate_value(
    node: SchemaNode,
    value: Any,
    twin: CorrelatedObject | None = None,
    prefix: str = "",
    failed: list[Trail] | None = None,
) -> list[Finding]:
    """Run a compiled schema over a value: one run of the server's OpenAPI validation.

    Args:
        node: The compiled schema.
        value: The value; in an update, the new one.
        twin: The value paired with its old one; None if judged as on a create.
        prefix: The path of the value in the object, e.g. ``status``. Only the fields of findings begin with it, their
            texts do not.
        failed: Receives the path of each failure.

    Returns:
        Findings in the order of the walk, each text of the validator once.
    Source: apiextensions-apiserver pkg/apiserver/validation/validation.go (kubeOpenAPIResultToFieldErrors).
    """
    sink: Sink = []
    node.run(value, None, sink, twin)
    if failed is not None:
        failed += [trail for _, trail, _, _ in sink]
    return _findings(sink, prefix) if sink else []


def tolerated_values(dropped: Iterable[tuple[Trail, Sink]]) -> list[tuple[str, list[Finding]]]:
    """Return the findings that ratcheting dropped in a walk, as recorded in `CorrelatedObject.dropped`.

    Returns:
        Dotted paths of unchanged nodes (empty for the root), each with the findings dropped at that node itself.
    """
    return [(dotted(trail), _findings(sink, "")) for trail, sink in dropped]


def _findings(sink: Sink, prefix: str) -> list[Finding]:
    findings: list[Finding] = []
    seen: set[str | LongText] = set()
    left = _MOST_TEXT
    for describe, trail, offending, parameter in sink:
        complaint = describe(dotted(trail), offending, parameter)
        if complaint.text in seen:
            continue
        seen.add(complaint.text)
        if type(complaint.text) is str and len(complaint.text) > LONG:  # others share their parts
            left -= len(complaint.text)
            if left < 0:
                raise TooMuchToReport(f"its findings have more than {_MOST_TEXT:,} characters together")
        field = prefix
        if complaint.name and complaint.name != ".":
            name = complaint.name.removeprefix(".")
            field = f"{prefix}.{name}" if prefix else name
        findings.append(finding("schema", field, complaint.type, complaint.bad_value, complaint.detail))
        if len(findings) > MOST_FINDINGS:
            raise too_many_failures()
    return findings
