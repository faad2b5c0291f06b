"""Simulates writes of guarded fields: fields whose gate is off are dropped, or keep their old value.

This step follows the conversion to the storage version and precedes the update of the generation, so that a write that
changed only such fields does not increase the generation. Items of a list are paired with their old ones as in the
server's ratcheting: by key if the list is of type map, else by position; the design notes do not specify it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from auditor.ratcheting import MapListKeys, deep_equal
from auditor.schema.defaulting import copy_json
from auditor.schema.structural import ListType, StructuralSchema

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.gates.resolve import ResolvedGates


_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Written:
    """Result of a write.

    Attributes:
        stored: The object that is stored.
        dropped: (position, sent value) of each field that is not stored.
        kept: (position, sent value or None, stored value) of each field that keeps its old value although the request
            had another value, or none.
        generation_changes: Whether ``metadata.generation`` increases; None for a create, which sets it to 1.
    """

    stored: JsonObject
    dropped: tuple[tuple[str, Any], ...] = ()
    kept: tuple[tuple[str, Any, Any], ...] = ()
    generation_changes: bool | None = None


@dataclass(slots=True)
class _Write:
    dropped: list[tuple[str, Any]] = field(default_factory=list)
    kept: list[tuple[str, Any, Any]] = field(default_factory=list)

    def field(self, new: Any, old: Any, steps: tuple[str, ...], where: str, schema: StructuralSchema | None) -> None:
        """Apply one path that is off to a value and its old value, in place."""
        if type(new) is list:
            self.items(new, old, steps, where, schema)
            return
        if type(new) is not dict:
            return
        before = old if type(old) is dict else {}
        name = steps[0]
        below = f"{where}.{name}" if where else name
        if len(steps) == 1:
            self.last(new, before, name, below)
            return
        inner = _below(schema, name)
        if new.get(name) is None:
            revived = _revived(before.get(name), steps[1:])
            if revived is _ABSENT:
                return
            new[name] = {}
        self.field(new[name], before.get(name), steps[1:], below, inner)

    def last(self, new: JsonObject, old: JsonObject, name: str, where: str) -> None:
        sent = new.get(name, _ABSENT)
        if name in old:
            if sent is _ABSENT or not deep_equal(sent, old[name]):
                self.kept.append((where, None if sent is _ABSENT else sent, old[name]))
            new[name] = copy_json(old[name])
        elif sent is not _ABSENT:
            self.dropped.append((where, sent))
            del new[name]

    def items(
        self, new: list[Any], old: Any, steps: tuple[str, ...], where: str, schema: StructuralSchema | None
    ) -> None:
        before = old if type(old) is list else []
        items = None if schema is None else schema.items
        keys = None
        if schema is not None and schema.list_type is ListType.MAP and before:
            keys = MapListKeys(schema, before)
        for index, item in enumerate(new):
            twin = keys.find(item) if keys is not None else before[index] if index < len(before) else None
            self.field(item, twin, steps, f"{where}[{index}]", items)


def _below(schema: StructuralSchema | None, name: str) -> StructuralSchema | None:
    if schema is None:
        return None
    extra = schema.additional_properties
    return schema.properties.get(name) or (extra if isinstance(extra, StructuralSchema) else None)


def _revived(old: Any, steps: tuple[str, ...]) -> Any:
    """Return the old value of a field whose parents are missing in the request; a list is not restored."""
    for step in steps:
        if type(old) is not dict or step not in old:
            return _ABSENT
        old = old[step]
    return old


def simulate_write(
    gates: ResolvedGates,
    new: JsonObject,
    old: JsonObject | None = None,
    schema: StructuralSchema | None = None,
    *,
    has_status: bool = False,
) -> Written:
    """Return the result of a write.

    Args:
        gates: The gates, with the fields that are on.
        new: The object as sent, at the storage version; it is not changed.
        old: The stored object, or None for a create.
        schema: The schema of the storage version, with the types of lists.
        has_status: Whether the kind has the status subresource, so that status does not count for the generation.
    """
    stored = copy_json(new)
    write = _Write()
    for path in gates.off:
        write.field(stored, old, path.path.steps, "", schema)
    changes = None
    if old is not None:
        ignored = {"metadata", "status"} if has_status else {"metadata"}
        changes = not deep_equal(
            {key: value for key, value in stored.items() if key not in ignored},
            {key: value for key, value in old.items() if key not in ignored},
        )
    return Written(stored, tuple(write.dropped), tuple(write.kept), changes)
