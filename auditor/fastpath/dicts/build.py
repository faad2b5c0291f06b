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

from typing import TYPE_CHECKING, Any, Final

from auditor.codegen import Module
from auditor.fastpath.dicts.emit import Emitter
from auditor.fastpath.dicts.metadata import KNOWN_FIELDS, prove_embedded, prove_metadata
from auditor.fastpath.dicts.metadata_parts import NotNormal
from auditor.fastpath.dicts.root import fused, selector
from auditor.fastpath.dicts.scope import NotEmittable
from auditor.golang.text import display
from auditor.schema.objectmeta import CoerceError, decode_metadata, to_json
from auditor.schema.structural import ABSENT, ListType, StructuralSchema
from auditor.storage_read.read import rewritten_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.fastpath.dicts.support import Log

__all__ = ["VersionProgram", "build_version", "contradiction"]

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
        if found := _nested(node) if nested else _own(node):
            return found
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
        run: Takes the decoded object, a `Log` and the size of its text; see `root.fused`. None means there is no
            program.
        select: Takes the read object and returns what field selectors see; None means only the reference knows.
        reason: Why there is no `run`; empty means there is one.
    """

    __slots__ = ("module", "reason", "run", "select")

    def __init__(
        self,
        module: Module,
        run: Callable[[JsonObject, Log, int], bool] | None,
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
    emitter = Emitter(module, prunes=not definition.preserve_unknown_fields, defaults=defaults, embedded=prove_embedded)
    run = select = None
    reason = ""
    if found := contradiction(version.schema):
        return VersionProgram(module, None, None, f"a schema that contradicts itself: {found}")
    try:
        name = fused(emitter, definition, version, _repairer(namespaced=definition.namespaced, drop=defaults))
        run = module.compile(name)
        chosen = selector(emitter, definition, version)
        select = None if chosen is None else module.compile(chosen)
    except Exception as error:
        if isinstance(error, OSError):
            raise
        run = select = None
        reason = str(error) if isinstance(error, NotEmittable) else type(error).__name__
    return VersionProgram(module, run, select, reason)


def _repairer(*, namespaced: bool, drop: bool) -> Callable[[JsonObject, int, Log, Exception], bool]:
    """Return a function that coerces metadata as the reference does, and then proves it.

    If fields are dropped, each key is decoded separately, so only the keys that are known to change are decoded again.
    """

    def repair(obj: JsonObject, size: int, log: Log, why: Exception) -> bool:
        unknown: list[str] = []
        metadata = obj["metadata"]
        stored: JsonObject = {}  # the values of the coerced keys
        repaired: set[str] = set()
        field = why.field if isinstance(why, NotNormal) else ""
        while drop and field and len(unknown) < _FEW:
            if field in metadata:
                stored.setdefault(field, metadata[field])
            repaired.add(field)
            _decode_key(metadata, field, unknown)
            try:
                ok = prove_metadata(metadata, size, namespaced)
            except Exception as again:  # the decoder handles the rest, or one more key
                if getattr(again, "field", None) == field:
                    raise  # a second decoding would change it again (a year 10000): leave it to the reference
                # Keep only its field: the exception in a variable of this frame would be a reference cycle with the
                # object.
                field = again.field if isinstance(again, NotNormal) else ""
                continue
            log.pruned.extend((None, f"metadata.{path}") for path in unknown)
            read = {key: metadata[key] for key in repaired if key in metadata}
            log.effect = max(log.effect, rewritten_metadata(stored, read))
            return ok
        whole = metadata
        if repaired:
            whole = {**{key: value for key, value in metadata.items() if key not in repaired}, **stored}
        fit = decode_metadata(metadata, drop=drop, unknown=unknown)
        if drop:
            fit["generation"] = fit.get("generation", 0) or 1
        obj["metadata"] = to_json(fit)
        log.pruned.extend((None, f"metadata.{path}") for path in unknown)
        log.effect = max(log.effect, rewritten_metadata(whole, obj["metadata"]))
        return prove_metadata(obj["metadata"], size, namespaced)

    return repair


_FEW: Final = 50
"""Number of unknown fields, far below the number at which the decoder stops listing them."""


_TEXTS: Final = frozenset(("name", "generateName", "namespace", "selfLink", "resourceVersion", "uid"))
_TIMES: Final = frozenset(("creationTimestamp", "deletionTimestamp"))
_MAPS: Final = frozenset(("labels", "annotations"))


def _decode_key(metadata: JsonObject, key: str, unknown: list[str]) -> None:
    """Decode one key of metadata separately; usually it vanishes, which needs no decoding."""
    value = metadata.get(key)
    if key not in KNOWN_FIELDS:
        unknown.append(key)
    elif value is None or _never_fits(key, value):
        pass
    elif key in _MAPS:
        kinds = set(map(type, value.values()))
        if value and kinds <= {str, type(None)}:
            metadata[key] = {name: text or "" for name, text in value.items()}
            return
    else:
        made = _decoded(key, value, unknown)
        if key in made:
            value = made[key]
            if key != "generation" or value:
                metadata[key] = value
                return
    if key == "generation":
        metadata[key] = 1
    else:
        del metadata[key]


def _never_fits(key: str, value: Any) -> bool:
    """Return whether the type of a field obviously refuses such a value."""
    kind = type(value)
    if key in _TEXTS:
        return kind is not str
    if key in _TIMES:
        return kind is not str or not value[:4].isdigit()
    if key in _MAPS:
        return kind is not dict
    return key == "generation" and kind in (str, bool, list, dict)


def _decoded(key: str, value: Any, unknown: list[str]) -> JsonObject:
    try:
        return to_json(decode_metadata({key: value}, drop=True, unknown=unknown))
    except CoerceError:
        return {}
