"""Server-side apply of a stored object: whether the object as read fits the types of its schema.

An apply merges by the types of the schema, and before that the server gives the live object its types. A value of
another type makes each apply fail with 500, whatever it sends, also one that repairs the value. A PUT and a merge patch
need no types.

The types know less than validation: a float is an integer, a string with a format any scalar, null is all that a field
may be, and keys of lists may repeat. So what generated code has proven fits them, except items of sets (`may_misfit`).
An object that a create accepts may misfit in one more way: validation lets a list pass for a string with some formats.

The managers in managedFields are asked too, each at its version, with stricter types: no key repeats, and each field is
known. An object may fail there that fits at the version of the apply (`try_update` and `upgrade` say so; an audit does
not ask).

Source: apimachinery pkg/util/managedfields/internal (structuredmerge.go, skipnonapplied.go, managedfields.go);
kube-openapi pkg/schemaconv; structured-merge-diff merge/update.go, typed (validate.go, helpers.go).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from auditor.golang.go_text import display, go_syntax, quote, type_name
from auditor.ratcheting import canonical_text
from auditor.schema.structural import ABSENT, ListType, StructuralSchema, nodes_of
from auditor.updates.apply_answer import APPLY_FAILS

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition


_STRING: Final = StructuralSchema(type="string")
_SCALARS: Final[dict[str, type]] = {"string": str, "integer": int, "number": float, "boolean": bool}
"""Most values of these types, which need no closer look."""
_OWN: Final = {"apiVersion": _STRING, "kind": _STRING}
_METADATA: Final = StructuralSchema(
    properties={
        "finalizers": StructuralSchema(type="array", items=_STRING, list_type=ListType.SET),
        "ownerReferences": StructuralSchema(
            type="array", items=StructuralSchema(), list_type=ListType.MAP, list_map_keys=("uid",)
        ),
    }
)
"""What can be wrong with metadata as read."""
_MOST: Final = 100
"""Faults of an object in a message; the server has no limit."""


def may_misfit(schema: StructuralSchema | None, *, exact: bool = False) -> bool:
    """Return whether an object that passes a create may not fit its types: those of a set take scalars alone.

    Args:
        schema: The schema of the version.
        exact: Whether findings of the exact validation tell of misfits by their types. They do not where a list passes
            for a value with a format, nor of a field that `additionalProperties: false` forbids.
    """
    return any(
        (node.list_type is ListType.SET and node.items is not None and node.items.type in ("object", "array", ""))
        or (exact and (node.additional_properties is False or (node.format and node.type not in ("integer", "number"))))
        for node in nodes_of(schema)
    )


def apply_fault(definition: CustomResourceDefinition, version: CrdVersion, obj: JsonObject) -> str:
    """Return the server's answer (code 500) to any server-side apply; empty if the object fits its types.

    The server has the fields of several faults in any order; here they are sorted.

    Args:
        definition: The definition of the object.
        version: The version of the apply.
        obj: The object as read at this version.
    """
    text = _type_errors(definition, version, obj, duplicates=True)
    if not text:
        return ""
    metadata = obj.get("metadata") or {}
    place = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
    called = f"({place}; {definition.group}/{version.name}, Kind={obj.get('kind')})"
    if metadata.get("managedFields"):
        return f"{APPLY_FAILS}typed live object {called}: {text}"
    return f"{APPLY_FAILS}manager for existing fields: failed to convert new object {called} to smd typed: {text}"


def manager_fault(
    definition: CustomResourceDefinition, version: CrdVersion, obj: JsonObject, versions: Container[str] | None = None
) -> str:
    """Return the server's answer (code 500) to an apply of an object that fits its types; empty if no manager fails it.

    Args:
        definition, version, obj: As of `apply_fault`.
        versions: Only managers at these versions are asked; all if it is None.
    """
    own = f"{definition.group}/{version.name}"
    metadata = obj.get("metadata") or {}
    for api in dict.fromkeys(entry.get("apiVersion") or "" for entry in metadata.get("managedFields") or ()):
        group, _, name = api.rpartition("/")
        if api == own or (versions is not None and (group != definition.group or name not in versions)):
            continue
        if group != definition.group:
            called = f"{own}, Kind={obj.get('kind')}"
            return f'{called} is unstructured and is not suitable for converting to "{api}"'
        if name not in definition.versions:
            return f"request to convert CR to an invalid group/version: {api}"
        if definition.conversion != "Webhook":
            text = _type_errors(definition, definition.versions[name], obj, duplicates=False)
            if text:
                return text
    return ""


def _type_errors(
    definition: CustomResourceDefinition, version: CrdVersion, obj: JsonObject, *, duplicates: bool
) -> str:
    """Return the server's text for what does not fit; empty if all does.

    Args:
        definition, version, obj: As of `apply_fault`.
        duplicates: Whether keys of lists may repeat.
    """
    if version.structural is None:
        return ""
    types = _Types(duplicates=duplicates, preserve=definition.preserve_unknown_fields)
    faults = list(islice(types.of_resource(version.structural, obj, preserve=False), _MOST))
    return "\n".join(["errors:", *(f"  {fault}" for fault in faults)]) if len(faults) > 1 else "".join(faults)


class _Types:
    """The types of a schema.

    Args:
        duplicates: Whether keys of lists may repeat.
        preserve: Whether each object may have fields that the schema does not know.
    """

    def __init__(self, *, duplicates: bool, preserve: bool) -> None:
        self._duplicates = duplicates
        self._preserve = preserve

    def of_resource(self, node: StructuralSchema, obj: JsonObject, *, preserve: bool) -> Iterator[str]:
        """Yield what does not fit in a resource, at the root or embedded, each with its path below the resource.

        Args:
            node: The schema of the resource.
            obj: The resource as read: its metadata have their types.
            preserve: Whether a node above it keeps unknown fields.
        """
        own = {key: value for key, value in obj.items() if key != "metadata"}
        metadata = obj.get("metadata")
        if type(metadata) is dict:
            for fault in self._of_map(_METADATA, {}, metadata, preserve=True):
                yield f".metadata{fault}"
        yield from self._of_map(node, _OWN, own, preserve=preserve or node.preserve_unknown_fields)

    def _of_node(self, node: StructuralSchema, value: Any, *, preserve: bool) -> Iterator[str]:
        kind = type(value)
        if value is None:
            return
        preserve = preserve or node.preserve_unknown_fields
        if node.type in ("object", "") and kind is dict:
            if node.embedded_resource:
                yield from self.of_resource(node, value, preserve=preserve)
            else:
                yield from self._of_map(node, {}, value, preserve=preserve)
        elif node.type in ("array", "") and kind is list:
            if node.items is not None:
                yield from self._of_list(node, node.items, value, preserve=preserve)
        elif node.type == "object":
            yield f": expected map, got &{{{display(value)}}}"
        elif node.type == "array":
            yield f": expected list, got &{{{display(value)}}}"
        elif node.type:
            yield from _scalar_faults(node, value)

    def _of_map(
        self, node: StructuralSchema, own: dict[str, StructuralSchema], value: JsonObject, *, preserve: bool
    ) -> Iterator[str]:
        known: dict[str, StructuralSchema | bool] = {**node.properties, **own}
        others = node.additional_properties
        if others is None:
            others = preserve or self._preserve or not known
        for key in sorted(value):
            below = known.get(key, others)
            if below is False:
                yield f".{key}: field not declared in schema"
            elif isinstance(below, StructuralSchema) and _SCALARS.get(below.type) is not type(value[key]):
                for fault in self._of_node(below, value[key], preserve=preserve):
                    yield f".{key}{fault}"

    def _of_list(
        self, node: StructuralSchema, items: StructuralSchema, value: list[Any], *, preserve: bool
    ) -> Iterator[str]:
        keys: set[str] = set()
        for index, item in enumerate(value):
            step = f"[{index}]"
            if node.list_type in (ListType.SET, ListType.MAP):
                key, fault = _key_of(node, items, item)
                if fault:
                    yield f": element {index}: {fault}"
                    return  # the server does not look at the others
                shown = _shown(key) if type(key) is dict else f"={_shown(key)}"
                step = f"[{shown}]"
                same = canonical_text(key)
                if same in keys and not self._duplicates:
                    yield f": duplicate entries for key {step}"
                keys.add(same)
            for fault in self._of_node(items, item, preserve=preserve):
                yield f"{step}{fault}"


def _key_of(node: StructuralSchema, items: StructuralSchema, item: Any) -> tuple[Any, str]:
    """Return the key of an item of a set or a map list, and why it has none."""
    if node.list_type is ListType.SET:
        if type(item) is dict:
            return None, "associative list without keys has an element that's a map type"
        if type(item) is list:
            return None, "not supported: associative list with lists as elements"
        return item, "associative list without keys has an element that's an explicit null" if item is None else ""
    if type(item) is not dict:
        what = "a null element" if item is None else "non-map elements"
        return None, f"associative list with keys may not have {what}"
    keys = {}
    for key in sorted(node.list_map_keys):
        field = items.properties.get(key)
        if key in item:
            keys[key] = item[key]
        elif field is not None and field.default is not ABSENT:
            keys[key] = field.default
    if not keys:
        names = " ".join(quote(key) for key in node.list_map_keys)
        omits = "associative list with keys has an element that omits all key fields"
        return None, f"{omits} [{names}] (and doesn't have default values for any key fields)"
    return keys, ""


def _shown(value: Any) -> str:
    """Return a value in a path."""
    if value is None:
        return "null"
    if type(value) is list:
        return f"[{','.join(map(_shown, value))}]"
    if type(value) is dict:
        return ",".join(f"{key}={_shown(below)}" for key, below in value.items())
    return quote(value) if type(value) is str else display(value)


def _scalar_faults(node: StructuralSchema, value: Any) -> Iterator[str]:
    kind = type(value)
    if node.type in ("integer", "number"):
        if kind not in (int, float):
            yield f": expected numeric (int or float), got {type_name(value)}"
    elif node.type == "boolean":
        if kind is not bool:
            yield f": expected boolean, got &{{{display(value)}}}"
    elif node.format not in ("", "byte"):  # not a string for the types
        if kind in (dict, list):
            yield f": expected any scalar, got &{{{display(value)}}}"
    elif kind is not str:
        yield f": expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
