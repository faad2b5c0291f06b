"""Builds the generated program of a version of a definition.

The program of a version reads and proves an object in one pass. If an object is stored at one version and audited at
another, two programs run in sequence: that of the stored version, then that of the other without defaults, as the
storage codec does.

No code is generated for a schema whose keywords contradict each other. The emitters write code for a value by its type,
and rely on checks that a server makes for new definitions: a list type needs an array, an embedded resource needs an
object, and so on. A definition in a dump may contradict itself nevertheless. The reference audits its objects: it
applies each keyword separately.

Source: apiextensions-apiserver pkg/apiserver/schema/validation.go; pkg/apis/apiextensions/validation/validation.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.codegen import Module
from auditor.fastpath.dicts.emit import ModuleEmitter
from auditor.fastpath.dicts.metadata import prove_embedded, prove_metadata
from auditor.fastpath.dicts.metadata_parts import NotNormal
from auditor.fastpath.dicts.root import fused, selector
from auditor.fastpath.dicts.scope import SchemaNotEmittable
from auditor.golang.go_text import display
from auditor.schema.objectmeta import read_metadata, reads_the_same
from auditor.schema.structural import ABSENT, ListType, StructuralSchema
from auditor.storage_read.read import rewritten_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.fastpath.dicts.support import Log

    Run = Callable[[JsonObject, Log, int], bool | None]


_TYPES: Final = frozenset(("", "string", "integer", "number", "boolean", "object", "array"))
_SCALARS: Final = frozenset(("string", "integer", "number", "boolean"))


def contradiction(schema: StructuralSchema | None) -> str:
    """Return the contradiction in a schema; empty if there is none."""
    if schema is None:
        return ""
    pending = [(schema, False)]
    seen = set()
    while pending:
        node, nested = pending.pop()
        if (id(node), nested) in seen:
            continue
        seen.add((id(node), nested))
        if reason := _nested(node) if nested else _own(node):
            return reason
        pending += [(child, nested) for child in _children(node)]
        pending += [(child, True) for child in _branches(node)]
    return ""


def _children(node: StructuralSchema) -> Iterator[StructuralSchema]:
    yield from node.properties.values()
    if node.items is not None:
        yield node.items
    if isinstance(node.additional_properties, StructuralSchema):
        yield node.additional_properties


def _branches(node: StructuralSchema) -> Iterator[StructuralSchema]:
    yield from node.all_of
    yield from node.any_of
    yield from node.one_of
    if node.not_ is not None:
        yield node.not_


def _own(node: StructuralSchema) -> str:
    """Return the contradiction in a node, outside of allOf, anyOf, oneOf and not."""
    kind = node.type
    if kind not in _TYPES:
        return "an unknown type"
    if node.int_or_string and (
        kind not in ("", "integer", "string") or node.preserve_unknown_fields or node.embedded_resource
    ):
        return "an integer or string that holds others"
    if node.embedded_resource and (kind != "object" or node.additional_properties is not None):
        return "an embedded resource that is no object, or has additionalProperties"
    if kind not in ("", "object") and (node.properties or node.additional_properties is not None):
        return "properties of a value that is no object"
    if node.items is not None and kind not in ("", "array"):
        return "items of a value that is no array"
    if node.properties and node.additional_properties is not None:
        return "properties beside additionalProperties"
    return _list_type(node) if node.list_type is not None or node.list_map_keys else ""


def _list_type(node: StructuralSchema) -> str:
    if node.type != "array" or node.items is None:
        return "a list type of a value that is no array"
    keys, items = node.list_map_keys, node.items
    if node.list_type is not ListType.MAP:
        return "keys of a list that is no map" if keys else ""
    if not keys or len(set(keys)) != len(keys) or items.type != "object":
        return "a map list without keys"
    for key in keys:
        child = items.properties.get(key)
        if child is None or not (child.type in _SCALARS or child.int_or_string):
            return "a key of a map list that is no scalar"
    return ""


def _nested(node: StructuralSchema) -> str:
    """Return the keyword that has no meaning in a node below allOf, anyOf, oneOf or not."""
    if (
        node.default is not ABSENT
        or node.preserve_unknown_fields
        or node.embedded_resource
        or node.list_type is not None
        or node.type not in _TYPES
    ):
        return "what concerns a whole value, in a part of its validation"
    return ""


class VersionProgram:
    """The generated functions of one version.

    Attributes:
        module: All its functions.
        run: Takes the decoded object, a `Log` and the size of its text, and returns whether it is proven, or None if
            all but its metadata is; see `root.fused`. None means there is no program.
        select: Takes the read object and returns what field selectors see; None means only the reference knows.
        reason: Why there is no `run`; empty means there is one.
    """

    __slots__ = ("module", "reason", "run", "select")

    def __init__(
        self,
        module: Module,
        run: Run | None,
        select: Callable[[JsonObject], dict[str, str]] | None,
        reason: str = "",
    ) -> None:
        self.module = module
        self.reason = reason
        self.run = run
        self.select = select


def build_version(
    definition: CustomResourceDefinition, version: CrdVersion, *, defaults: bool = True
) -> VersionProgram:
    """Build the program of a version.

    Args:
        definition: The definition.
        version: Its version.
        defaults: Whether the program fills in defaults; the read after a conversion does not.
    """
    title = f"{definition.kind}.{version.name}.{definition.group}{'' if defaults else ' converted'}"
    module = Module(title, {"_display": display})
    emitter = ModuleEmitter(
        module, prunes=not definition.preserve_unknown_fields, defaults=defaults, embedded=prove_embedded
    )
    run = select = None
    reason = ""
    if conflict := contradiction(version.schema):
        return VersionProgram(module, None, None, f"a schema that contradicts itself: {conflict}")
    try:
        name = fused(emitter, definition, version, _repairer(namespaced=definition.namespaced, drop=defaults))
        run = module.compile(name)
        chosen = selector(emitter, definition, version)
        select = None if chosen is None else module.compile(chosen)
    except Exception as error:
        if isinstance(error, OSError):
            raise
        run = select = None
        reason = str(error) if isinstance(error, SchemaNotEmittable) else type(error).__name__
    return VersionProgram(module, run, select, reason)


def _repairer(*, namespaced: bool, drop: bool) -> Callable[[JsonObject, int, Log], bool]:
    """Return a function that coerces metadata as the reference does, and then proves it."""

    def repair(obj: JsonObject, size: int, log: Log) -> bool:
        stored = obj["metadata"]
        unknown: list[str] = []
        read = read_metadata(stored, drop=drop, unknown=unknown)
        if drop and "generation" not in read:
            read = {**read, "generation": 1}
        obj["metadata"] = read
        log.pruned.extend((None, f"metadata.{path}") for path in unknown)
        log.effect = max(log.effect, rewritten_metadata(stored, read))
        if not reads_the_same(read):
            raise NotNormal
        return read is not stored and prove_metadata(read, size, namespaced)

    return repair
