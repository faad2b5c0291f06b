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

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from auditor.golang.go_text import display, go_syntax, quote, type_name
from auditor.ratcheting import canonical_text
from auditor.schema.structural import ABSENT, ListType, StructuralSchema, folded, nodes_of
from auditor.updates.apply_answer import APPLY_FAILS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.ratcheting import Faults


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


def may_misfit(schema: StructuralSchema | None) -> bool:
    """Return whether an object that passes a create may not fit its types, which generated code does not tell.

    Args:
        schema: The schema of the version.
    """
    return any(_may_hold_compounds(node) for node in nodes_of(schema))


def _may_hold_compounds(node: StructuralSchema) -> bool:
    """Return whether items of a set may be maps or lists; the types of a set take scalars alone."""
    items = node.items
    return node.list_type is ListType.SET and items is not None and items.type in ("object", "array", "")


def _is_unnoticed(node: StructuralSchema) -> bool:
    """Return whether a create may not fail at a position where a value does not fit its types.

    A list passes for a value with a format, and the schema does not check the metadata of embedded resources.
    """
    has_format = bool(node.format) and node.type not in ("integer", "number")
    return _may_hold_compounds(node) or has_format or node.embedded_resource


def apply_fault(definition: CustomResourceDefinition, version: CrdVersion, obj: JsonObject) -> str:
    """Return the server's answer (code 500) to any server-side apply; see `ApplyTypes.fault`."""
    return ApplyTypes(definition, version).fault(obj)


def manager_fault(
    definition: CustomResourceDefinition, version: CrdVersion, obj: JsonObject, versions: Container[str] | None = None
) -> str:
    """Return the server's answer (code 500) to an apply of an object that fits its types; empty if no manager fails it.

    Args:
        definition, version: As of `ApplyTypes`.
        obj: The object as read at this version.
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
            text = ApplyTypes(definition, definition.versions[name], duplicates=False).errors(obj)
            if text:
                return text
    return ""


class ApplyTypes:
    """The types of a version, for applies of its objects. A position is compiled when a value first reaches it.

    Args:
        definition: The definition of the objects.
        version: The version of the apply.
        duplicates: Whether keys of lists may repeat, as in a live object.
        after_create: Whether failures of a create are passed: the types are read for positions where it notices none.
    """

    def __init__(
        self,
        definition: CustomResourceDefinition,
        version: CrdVersion,
        *,
        duplicates: bool = True,
        after_create: bool = False,
    ) -> None:
        self._definition = definition
        self._version = version
        self._duplicates = duplicates
        self._preserve = definition.preserve_unknown_fields
        root = version.structural
        self._unnoticed = _unnoticed_below(root) if after_create else None
        self._faults: _FaultsOf = _fits if root is None else self._of_resource(root, preserve=False)

    def fault(self, obj: JsonObject, failures: Faults | None = None) -> str:
        """Return the server's answer (code 500) to any server-side apply; empty if the object fits its types.

        The server has the fields of several faults in any order; here they are sorted.

        Args:
            obj: The object as read at the version: its metadata have their types.
            failures: Where a create of the object fails, if that is known (`CreateValidator.faults_of`). Then only
                these values are looked at, and those at positions where a create does not notice a misfit.
        """
        text = self.errors(obj, failures)
        if not text:
            return ""
        metadata = obj.get("metadata") or {}
        place = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
        called = f"({place}; {self._definition.group}/{self._version.name}, Kind={obj.get('kind')})"
        if metadata.get("managedFields"):
            return f"{APPLY_FAILS}typed live object {called}: {text}"
        return f"{APPLY_FAILS}manager for existing fields: failed to convert new object {called} to smd typed: {text}"

    def errors(self, obj: JsonObject, failures: Faults | None = None) -> str:
        """Return the server's text for what does not fit in an object; empty if all does."""
        faults = self._faults(obj, failures)
        return "\n".join(["errors:", *(f"  {fault}" for fault in faults)]) if len(faults) > 1 else "".join(faults)

    # -- compiling a position ---------------------------------------------------------------------------------------

    def _of_resource(self, node: StructuralSchema, *, preserve: bool) -> _FaultsOf:
        """Return the types of a resource, at the root or embedded.

        Args:
            node: Its schema.
            preserve: Whether a node above it keeps unknown fields.
        """
        of_metadata = self._of_map(_METADATA, preserve=True)

        def faults_of_metadata(value: Any, _failures: Faults | None) -> Sequence[str]:
            if type(value) is not dict:
                return ()
            return of_metadata({name: value[name] for name in _METADATA.properties if name in value}, None)

        keys = self._keys(node, _OWN, preserve=preserve or node.preserve_unknown_fields)
        keys["metadata"] = None, faults_of_metadata, False
        return _faults_of_map(node, keys, first="metadata")

    def _of_value(self, node: StructuralSchema | bool, *, preserve: bool) -> _Value:
        if not isinstance(node, StructuralSchema):
            return None, _fits if node else _undeclared, False
        is_noticed = self._unnoticed is not None and id(node) not in self._unnoticed
        faults_of = self._of_node(node, preserve=preserve or node.preserve_unknown_fields)
        return _SCALARS.get(node.type), faults_of, is_noticed

    def _of_node(self, node: StructuralSchema, *, preserve: bool) -> _FaultsOf:
        of_map = self._of_resource if node.embedded_resource else self._of_map
        if node.type == "object":
            return of_map(node, preserve=preserve)
        if node.type == "array":
            return self._of_list(node, preserve=preserve)
        if node.type:
            return lambda value, _failures: _faults_of_scalar(node, value)
        either: dict[type, _FaultsOf] = {
            dict: of_map(node, preserve=preserve),
            list: self._of_list(node, preserve=preserve),
        }
        return lambda value, failures: either.get(type(value), _fits)(value, failures)

    def _of_map(self, node: StructuralSchema, *, preserve: bool) -> _FaultsOf:
        return _faults_of_map(node, self._keys(node, {}, preserve=preserve))

    def _keys(self, node: StructuralSchema, own: dict[str, StructuralSchema], *, preserve: bool) -> _Keys:
        known: dict[str, StructuralSchema | bool] = {**node.properties, **own}
        others = node.additional_properties
        if others is None:
            others = preserve or self._preserve or not known
        return _Keys(known, others, partial(self._of_value, preserve=preserve))

    def _of_list(self, node: StructuralSchema, *, preserve: bool) -> _FaultsOf:
        items = node.items
        if items is None:
            return lambda value, _failures: () if type(value) is list else _faults_of_scalar(node, value)
        scalar, faults_of, is_noticed = self._of_value(items, preserve=preserve)
        is_keyed = node.list_type in (ListType.SET, ListType.MAP)

        def faults(value: Any, failures: Faults | None) -> Sequence[str]:
            if type(value) is not list:
                return _faults_of_scalar(node, value)
            misfits: list[str] = []
            keys: set[str] = set()
            for index, item in enumerate(value):
                key = None
                if is_keyed:
                    key, fault = _key_of(node, items, item)
                    if fault:
                        misfits.append(f": element {index}: {fault}")
                        break  # the server does not look at the others
                    if not self._duplicates:
                        same = canonical_text(key)
                        if same in keys:
                            misfits.append(f": duplicate entries for key {_step(key)}")
                        keys.add(same)
                if type(item) is scalar:
                    continue
                inside = failures if failures is None else failures.get(index, _NOWHERE)
                if (inside is not _NOWHERE or not is_noticed) and (below := faults_of(item, inside)):
                    step = _step(key) if is_keyed else f"[{index}]"
                    misfits += [f"{step}{fault}" for fault in below]
                    if len(misfits) >= _MOST:
                        break
            return misfits[:_MOST]

        return faults


def _unnoticed_below(root: StructuralSchema | None) -> set[int]:
    """Return the ids of the nodes at or below which a create may not notice a misfit (`_is_unnoticed`)."""
    unnoticed: set[int] = set()

    def note(
        node: StructuralSchema, properties: dict[str, bool | None], extra: bool | None, items: bool | None
    ) -> bool | None:
        if not (any(properties.values()) or extra or items or _is_unnoticed(node)):
            return None
        unnoticed.add(id(node))
        return True

    folded(root, note)
    return unnoticed


_FaultsOf: TypeAlias = "Callable[[Any, Faults | None], Sequence[str]]"
"""Returns what does not fit in a value, each with its path below it, at most `_MOST`; empty if all fits.

It gets where a create fails below the value; None if that is not known.
"""
_Value: TypeAlias = "tuple[type | None, _FaultsOf, bool]"
"""The Python type whose values all fit, the faults of others, and whether a create fails wherever one does not fit."""
_NOWHERE: Final[Faults] = {}
"""The failures of a value in which a create fails nowhere."""


class _Keys(dict[str, "_Value"]):
    """The types of the keys of a map, each compiled at its first value.

    Args:
        known: The declared keys.
        others: The type of all others: whether they may be there, or their schema.
        compile_: Compiles a type.
    """

    __slots__ = ("_compile", "_known", "_others", "_rest")

    def __init__(
        self,
        known: dict[str, StructuralSchema | bool],
        others: Any,
        compile_: Callable[[StructuralSchema | bool], _Value],
    ) -> None:
        super().__init__()
        self._known = known
        self._others: StructuralSchema | bool = others
        self._compile = compile_
        self._rest: _Value | None = None

    def __missing__(self, key: str) -> _Value:
        if key in self._known:
            value = self[key] = self._compile(self._known[key])
            return value
        if self._rest is None:
            self._rest = self._compile(self._others)
        return self._rest  # not by key, as there may be any number of them


def _faults_of_map(node: StructuralSchema, keys: _Keys, first: str = "") -> _FaultsOf:
    """Return the faults of a map; those of the key `first` come first, the others in the order of keys."""

    def faults(value: Any, failures: Faults | None) -> Sequence[str]:
        if type(value) is not dict:
            return _faults_of_scalar(node, value)
        misfits: dict[str, Sequence[str]] = {}
        for key, item in value.items():
            scalar, faults_of, is_noticed = keys[key]
            if type(item) is scalar:
                continue
            inside = failures if failures is None else failures.get(key, _NOWHERE)
            if (inside is not _NOWHERE or not is_noticed) and (below := faults_of(item, inside)):
                misfits[key] = below
        if not misfits:
            return ()
        order = sorted(misfits, key=lambda key: (key != first, key))
        return list(islice((f".{key}{fault}" for key in order for fault in misfits[key]), _MOST))

    return faults


def _fits(_value: Any, _failures: Faults | None) -> Sequence[str]:
    return ()


def _undeclared(_value: Any, _failures: Faults | None) -> Sequence[str]:
    return (": field not declared in schema",)


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


def _step(key: Any) -> str:
    """Return the step to an item of a set or a map list in a path."""
    return f"[{_shown(key)}]" if type(key) is dict else f"[={_shown(key)}]"


def _shown(value: Any) -> str:
    """Return a value in a path."""
    if value is None:
        return "null"
    if type(value) is list:
        return f"[{','.join(map(_shown, value))}]"
    if type(value) is dict:
        return ",".join(f"{key}={_shown(below)}" for key, below in value.items())
    return quote(value) if type(value) is str else display(value)


def _faults_of_scalar(node: StructuralSchema, value: Any) -> Sequence[str]:
    """Return what does not fit where a value is neither a map nor a list that may be there."""
    kind = type(value)
    fault = ""
    if value is None:
        return ()
    if node.type == "object":
        fault = f"expected map, got &{{{display(value)}}}"
    elif node.type == "array":
        fault = f"expected list, got &{{{display(value)}}}"
    elif node.type in ("integer", "number"):
        if kind not in (int, float):
            fault = f"expected numeric (int or float), got {type_name(value)}"
    elif node.type == "boolean":
        if kind is not bool:
            fault = f"expected boolean, got &{{{display(value)}}}"
    elif node.format not in ("", "byte"):  # not a string for the types
        if kind in (dict, list):
            fault = f"expected any scalar, got &{{{display(value)}}}"
    elif kind is not str:
        fault = f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    return (f": {fault}",) if fault else ()
