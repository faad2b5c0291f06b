"""Rows of built-in kinds in an audit: every value is decoded as by a server, mostly without building an object.

For protobuf values at keys of the usual form, the common columns are computed once for a kind and version. All other
values are classified and judged one by one. Both ways give the same rows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from auditor.base.records import AuditedObject, metadata_of
from auditor.base.statuses import KeyClass, Status
from auditor.builtin.judge import NOT_DECODED, Judged, judge_at, judge_exported, judge_stored, target_at
from auditor.builtin.protobuf import MAGIC, deletion_and_controllers
from auditor.program.proof_check import controller_of
from auditor.shards.row_writer import RowClass
from auditor.sources.registry_key import classify, is_namespaced, split_key

if TYPE_CHECKING:
    from auditor.builtin.scheme import Target
    from auditor.shards.judge import ObjectJudge, RowHead
    from auditor.shards.row_writer import RowWriter


_UNKNOWN: Any = object()
_HAS_HEAD: Final = re.compile(rb'"(?:deletionTimestamp"\s*:\s*"|ownerReferences"\s*:\s*\[)')


class _Resource(NamedTuple):
    """The common columns of keys with the same prefix."""

    group: str | None
    plural: str
    namespaced: bool
    target: Target
    segments: int


class BuiltinRows:
    """Writes the rows of built-in kinds of one shard.

    Args:
        owner: The auditor of the shard, with the plan.
        rows: Receives the rows.

    Attributes:
        is_skipped: Whether values are not decoded.
    """

    def __init__(self, owner: ObjectJudge, rows: RowWriter) -> None:
        options = owner.plan.options
        self._owner = owner
        self._rows = rows
        self.is_skipped = "builtin" in options.skip
        prefix = options.etcd_prefix.strip("/")
        self._root = f"/{prefix}/".encode() if prefix else b"/"
        self._resources: dict[tuple[Any, ...], _Resource | None] = {}
        self._classes: dict[tuple[int, Judged, bool | None], int] = {}

    def name(self, row: RowHead) -> None:
        """Fill the kind of a row that has a key of a built-in kind."""
        target = target_at(row.group, row.plural)
        if target is not None:
            row.kind = target.kind

    def add(self, at: int, key: bytes, data: bytes) -> bool:
        """Write the row of a stored value from the common columns, if there are any for it; else do nothing.

        Args:
            at: Its position in the shard.
            key: Its key.
            data: The value.
        """
        root = self._root
        if not key.startswith(root) or not key.isascii():
            return False
        parts = key[len(root) :].split(b"/")
        place: tuple[bytes | int, ...] = (parts[0], len(parts))
        if len(parts) > 3 or parts[0] == b"services" or b"." in parts[0]:  # the second also classifies the key
            place = (*place, parts[1])
        resource = self._resources.get(place, _UNKNOWN)
        if resource is _UNKNOWN:
            resource = self._resources[place] = self._resource(key)
        if resource is None or not all(parts):
            return False
        if self.is_skipped:
            judged = Judged(Status.BUILTIN, NOT_DECODED)
        else:
            judged = judge_stored(resource.target, resource.plural, data, namespaced=resource.namespaced)
        if judged.reason is not None and not self.is_skipped:
            return False
        deleting, controller = (None, None) if self.is_skipped else head_of(data)
        number = self._classes.get((id(resource), judged, deleting))
        if number is None:
            names = (resource.group, resource.plural, resource.target.kind)
            number = self._classes[id(resource), judged, deleting] = self._class(names, judged, deleting)
        namespace = parts[-2].decode() if resource.namespaced else None
        self._rows.write(at, number, namespace, parts[-1].decode(), None, data, reason=judged.reason)
        if controller is not None:
            self._rows.note_controller(controller)
        return True

    def _resource(self, key: bytes) -> _Resource | None:
        """Return the common columns of keys with the prefix of one, or None if they are classified one by one."""
        owner = self._owner
        segments = split_key(key, owner.plan.options.etcd_prefix)
        place = classify(segments, owner.scopes)
        target = target_at(place.group, place.plural)
        if place.status is not KeyClass.BUILTIN or target is None or segments is None or place.plural is None:
            return None
        namespaced = is_namespaced(place.plural)
        if namespaced is None or "/" in (place.name or "") or (place.namespace is not None) != namespaced:
            return None
        return _Resource(place.group, place.plural, namespaced, target, len(segments))

    def add_row(self, row: RowHead) -> None:
        """Judge a value of a built-in kind that was classified, and write its row."""
        self.write(row, self.judged(row))

    def judged(self, row: RowHead) -> Judged:
        """Judge a value of a built-in kind that was classified."""
        if self.is_skipped:
            return Judged(Status.BUILTIN, NOT_DECODED)
        if row.key is None:
            return judge_exported(row.group or "", row.kind or "", row.data)
        return judge_at(row.group, row.plural, row.data, row.name)

    def write(self, row: RowHead, judged: Judged) -> None:
        """Write the row of a value that was judged."""
        audited = AuditedObject(stored_version=judged.version)
        names = (row.group, row.plural, row.kind)
        is_decoded = judged.status is Status.BUILTIN and not self.is_skipped
        deleting, controller = head_of(row.data) if is_decoded else (None, None)
        number = self._class(names, judged, deleting)
        row_class = RowClass(number, judged.impacts)
        self._rows.object_row(row, audited, row_class, judged.reason, controller=controller)

    def _class(self, names: tuple[str | None, str | None, str | None], judged: Judged, deleting: bool | None) -> int:
        audited = AuditedObject(stored_version=judged.version)
        rating = (judged.status, judged.impact, judged.impacts)
        number: int = self._rows.class_of(names, audited, rating, None, deleting=deleting)
        return number


def head_of(data: bytes) -> tuple[bool | None, str | None]:
    """Return whether the object in a value that decodes is being deleted, and its controller.

    Returns:
        None for what it does not have, and for what is not known.
    """
    try:
        if data.startswith(MAGIC):
            is_deleting, owners = deletion_and_controllers(data)
            return is_deleting, controller_of(owners)
        metadata = metadata_of(orjson.loads(data)) if _HAS_HEAD.search(data) else {}
    except (ValueError, IndexError):  # only the exact decoder reads it
        return None, None
    return metadata.get("deletionTimestamp") is not None, controller_of(metadata.get("ownerReferences"))
