"""The custom resources of dumps, one after another, with their definitions: for commands that look at each once.

Unlike an audit, which uses many workers, this is one loop; each value is decoded once and not judged.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.base.records import place_text
from auditor.base.statuses import KeyClass
from auditor.base.visible import visible
from auditor.golang import jsontext
from auditor.plan.dumps import cut_value
from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import damage_text, look_again, make_plan
from auditor.shards.sealed import sealed_by
from auditor.shards.shard_audit import ShardAuditor
from auditor.sources.encryption import resource_of
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.registry_key import classify, printable_key, split_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.crds.definition import CustomResourceDefinition
    from auditor.plan.run_plan import Plan


_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True, slots=True)
class CustomObject:
    """One live object of a kind that a definition owns.

    Attributes:
        source: The dump that it is in, as the user named it.
        key: Its etcd key; None in exports.
        data: Its JSON (or CBOR) bytes.
    """

    definition: CustomResourceDefinition
    source: str
    namespace: str | None
    name: str | None
    key: str | None
    data: bytes

    @property
    def document(self) -> Any:
        """The decoded value, or None if it does not decode to an object."""
        try:
            document = jsontext.decode_object(self.data)
        except jsontext.GoJsonError:
            return None
        return document if type(document) is dict else None

    @property
    def place(self) -> str:
        """namespace/name, or the name."""
        return place_text(self.namespace, self.name)


class CustomObjects:
    """The definitions of some dumps and the objects that they own.

    Attributes:
        definitions: By name; those that no server could decode are in `broken`, with the reason.
    """

    def __init__(self, plan: Plan, folder: str) -> None:
        self.plan = plan
        self._auditor = ShardAuditor(plan, folder)
        definitions = {entry.name: self._auditor.definition(entry) for entry in plan.entries}
        self.definitions = {
            name: definition for name, definition in definitions.items() if not isinstance(definition, str)
        }
        self.broken = {name: definition for name, definition in definitions.items() if isinstance(definition, str)}
        self._not_decrypted: dict[str, str] = {}

    def incomplete(self) -> bool:
        """Return whether anything was not read (damage, changes, encrypted values), and name it on standard error.

        Encrypted objects are counted during the iteration over objects, so call this afterwards.
        """
        sealed = [
            {
                "provider": reason.provider,
                "name": reason.name,
                "key_id": reason.key_id,
                "values": number,
                "sealed": reason.lacks_key,
                "error": reason.error,
            }
            for reason, number in sorted(self._auditor.unsealer.counts.items())
        ]
        notes = [f"{text}; these objects are left out" for text in sealed_by(sealed)]
        notes += [f"definition {name} is encrypted, and no key was given" for name in sorted(self.plan.sealed)]
        notes += [f"{key}: not decrypted, left out: {reason}" for key, reason in self._not_decrypted.items()]
        sys.stderr.write(look_again(self.plan) + "".join(f"{visible(note)}\n" for note in notes))
        return bool(notes) or any(source.damage for source in self.plan.sources)

    def __iter__(self) -> Iterator[CustomObject]:
        self._auditor.unsealer.counts.clear()
        self._not_decrypted.clear()
        for number, source in enumerate(self.plan.sources):
            table, values = self._auditor.source(number)
            for key, offset, length, encoding in _rows(table):
                data = cut_value(values, offset, length, encoding)
                made = self._exported(source.name, data) if source.is_export else self._stored(source.name, key, data)
                if made is not None:
                    yield made

    def _exported(self, source: str, data: bytes) -> CustomObject | None:
        exported = self._auditor.classify_export(data)
        entry = exported.entry if exported.status is KeyClass.CUSTOM else None
        definition = None if entry is None else self.definitions.get(entry.name)
        return (
            None
            if definition is None
            else CustomObject(definition, source, exported.namespace, exported.name, None, data)
        )

    def _stored(self, source: str, key: bytes, data: bytes) -> CustomObject | None:
        auditor = self._auditor
        place = classify(split_key(key, self.plan.options.etcd_prefix), auditor.scopes)
        entry = (
            auditor.entries.get((place.group or "", place.plural or "")) if place.status is KeyClass.CUSTOM else None
        )
        definition = None if entry is None else self.definitions.get(entry.name)
        if definition is None:
            return None
        opened = auditor.unsealer.open(key, resource_of(place), data)
        if opened.data is None:
            if not opened.lacks_key:
                self._not_decrypted[printable_key(key)] = opened.reason or ""
            return None
        return CustomObject(definition, source, place.namespace, place.name, printable_key(key), opened.data)


def _rows(table: Any) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield key, offset, length and encoding of all rows, a part of the table at a time."""
    for start in range(0, table.num_rows, _ROWS_AT_ONCE):
        part = table.slice(start, _ROWS_AT_ONCE)
        columns = [part[name].to_pylist() for name in ("key", "offset", "length", "encoding")]
        yield from zip(*columns, strict=True)


@contextmanager
def open_objects(dumps: tuple[str, ...], crds: tuple[str, ...] = (), **options: Any) -> Iterator[CustomObjects]:
    """Open dumps for as long as the block lasts; damage in them is reported on standard error.

    Args:
        dumps: As for an audit.
        crds: Files and folders of definitions that replace those of the dumps by name.
        options: Further fields of `AuditOptions`.
    Raises:
        SourceError: A dump cannot be read at all.
    """
    with temporary_folder("objects") as folder:
        plan = make_plan(AuditOptions(dumps=dumps, crds=crds, **options), folder)
        sys.stderr.write(damage_text(plan.sources))
        yield CustomObjects(plan, str(folder))
