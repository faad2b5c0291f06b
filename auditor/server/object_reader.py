"""Reads the objects of a dump as a server does: decrypted, decoded, at the requested version.

Source: apiserver pkg/storage/etcd3/{store,errors}.go, pkg/storage/value/encrypt.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import orjson

from auditor.base.records import metadata_of
from auditor.builtin.judge import is_proven
from auditor.builtin.loose_values import event_at
from auditor.builtin.protobuf import MAGIC, WireError, decode_stored
from auditor.builtin.scheme import target_of
from auditor.builtin.stored import UndecodableError, stored_object
from auditor.crds.as_v1 import as_v1
from auditor.crds.conversion import LostWebhook
from auditor.program.program import AuditProgram
from auditor.server.not_read import LeftOut
from auditor.sources.encryption import make_unsealer, sealed_count
from auditor.sources.manifests.sinks import REDACTED, REDACTED_VALUE
from auditor.storage_read.read import ReadError, decode_value, read_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.plan.run_plan import Plan
    from auditor.printing.discovery import Resource
    from auditor.server.catalog import Catalog
    from auditor.server.dump_rows import DumpRows, StoredRow
    from auditor.server.not_read import NotRead
    from auditor.sources.encryption import SealedCount


_WARM_UP: Final = 20
"""Number of first objects of a kind that are read exactly: generating code for fewer takes longer than it saves."""


@dataclass(slots=True)
class ReadMode:
    """How objects are read, and what happens to those that cannot be read.

    Attributes:
        stored: Show objects as stored, not as a server reads them.
        as_server: Fail whole lists as a live server would.
        limit: How many objects a LIST asks that server for at once; 0 for all, as informers do.
        watch_cache: Whether that server has its watch cache, as all do by default.
        streamed: Yield objects one by one in key order, for callers that stop early.
        any_field: Accept every path as a field label.
        show_secrets: Print the values of Secrets.
    """

    stored: bool = False
    as_server: bool = False
    limit: int = 500
    watch_cache: bool = True
    streamed: bool = False
    any_field: bool = False
    show_secrets: bool = False


class UndecodedObject(Exception):
    """An object that the server cannot decode; the text is the reason."""

    closed = False
    lacks_key = False
    needs_webhook = False


class _Closed(UndecodedObject):
    """A value that the server cannot decrypt."""

    closed = True


class SealedObject(_Closed):
    """An encrypted value for which no key was given."""

    lacks_key = True

    def __init__(self, reason: str, count: SealedCount) -> None:
        super().__init__(reason)
        self.count = count


class _Unconverted(UndecodedObject):
    """An object that only a conversion webhook can bring to the requested version."""

    needs_webhook = True


class ObjectReader:
    """Reads objects of rows.

    Attributes:
        mode: How they are read.
        unsealer: Decrypts values.
        left_out: Counts objects that the answers leave out.
        program: Makes the program that reads the objects of a definition at a version.
    """

    def __init__(self, plan: Plan, catalog: Catalog, rows: DumpRows, mode: ReadMode) -> None:
        self.mode = mode
        self.unsealer = make_unsealer(plan.options.encryption_config, plan.options.kms_decryptor)
        self.left_out = LeftOut()
        self.program: Callable[[CustomResourceDefinition, CrdVersion], AuditProgram] = program_for_reads
        self._catalog = catalog
        self._rows = rows
        self._programs: dict[tuple[str, str], tuple[CustomResourceDefinition, AuditProgram | None]] = {}

    def plain_bytes(self, row: StoredRow, resource: Resource) -> bytes:
        """Return the bytes of a row, decrypted.

        Raises:
            StatusError: They cannot be decrypted.
        """
        data = self._rows.stored_bytes(row)
        if row.key is None:
            return data
        opened = self.unsealer.open(row.key, (resource.group, resource.plural), data)
        if opened.data is None:
            if opened.lacks_key and self.mode.as_server:  # the answer of a server that has the keys given here
                raise _Closed("identity transformer tried to read encrypted data")
            reason = opened.reason or "encrypted"
            raise SealedObject(reason, sealed_count(data, opened)) if opened.lacks_key else _Closed(reason)
        return opened.data

    # ---- objects

    def read(self, resource: Resource, row: StoredRow) -> JsonObject:
        """Return the object of a row at the requested version.

        Raises:
            Unreadable: A server cannot read it.
        """
        return self._read(resource, row, names_only=False)[0]

    def read_names(self, resource: Resource, row: StoredRow) -> JsonObject:
        """Do as `read`, but return at least apiVersion, kind, namespace and name."""
        return self._read(resource, row, names_only=True)[0]

    def read_with_version(self, resource: Resource, row: StoredRow) -> tuple[JsonObject, str | None]:
        """Return the object of a row as `read` does, and the version that it is stored at, if it names one.

        Raises:
            Unreadable: A server cannot read it.
        """
        return self._read(resource, row, names_only=False)

    def _read(self, resource: Resource, row: StoredRow, *, names_only: bool) -> tuple[JsonObject, str | None]:
        data = self.plain_bytes(row, resource)
        definition = self._catalog.definition(resource)
        if definition is None:
            stored = _builtin_object(resource, data)
            version = version_of(stored)
            obj = as_v1(event_at(stored, resource.group))
        else:
            obj, version = self._custom_object(definition, resource.version, data, names_only=names_only)
        metadata = obj.get("metadata")
        if row.mod_revision is not None and type(metadata) is dict:
            metadata["resourceVersion"] = str(row.mod_revision)
        return obj, version

    def _custom_object(
        self, definition: CustomResourceDefinition, version: str, data: bytes, *, names_only: bool
    ) -> tuple[JsonObject, str | None]:
        """Return a stored value of a definition as read at a version, proven by generated code or read exactly.

        Returns:
            (the object, the version that it is stored at; None if that is not known, or if only names are wanted)
        """
        place = (definition.name, version)
        if place not in self._programs:
            known = definition.versions.get(version)
            if isinstance(definition.webhook, LostWebhook) and not self.mode.as_server:
                definition = replace(definition, webhook=None)  # the objects are as intact as those of another webhook
            program = None if known is None else self.program(definition, known)
            self._programs[place] = definition, program
        definition, program = self._programs[place]
        if program is not None:
            if not names_only:
                read = program.proven_object(data)
                if read is not None:
                    return read
            elif (names := program.proven_names(data)) is not None:
                return names, None
        result = read_object(definition, version, data)
        if result.object is None:
            raise (_Unconverted if result.needs_conversion else UndecodedObject)(result.unreadable or "")
        return result.object, result.stored_version

    def read_or_stored(
        self, resource: Resource, row: StoredRow, notes: NotRead, *, names_only: bool = False
    ) -> JsonObject | None:
        """Return the object of a row as `read` does, or as stored if only a webhook could read it.

        Args:
            resource: The kind and version.
            row: The row.
            notes: Counts what was not read.
            names_only: Whether what `read_names` returns is enough.

        Returns:
            The object, or None if no key for its value was given.

        Raises:
            Unreadable: A server cannot read it.
        """
        try:
            return self.read_names(resource, row) if names_only else self.read(resource, row)
        except SealedObject as error:
            notes.add(row, error.count)
            return None
        except _Unconverted:
            if self.mode.as_server:  # the webhook of the kind does not answer
                raise
            notes.unconverted += not self.mode.stored
        except UndecodedObject:
            if not self.mode.stored:
                raise
        return self.as_stored(resource, row)

    def as_stored(self, resource: Resource, row: StoredRow) -> JsonObject:
        """Return the object of a row as stored.

        A server decodes a value of a built-in kind by its key: it may be empty, YAML, or without a kind.
        """
        data = self.plain_bytes(row, resource)
        try:
            return decode_stored(data) if data.startswith(MAGIC) else decode_value(data)
        except (ReadError, WireError) as error:
            if self._catalog.definition(resource) is None:
                return _builtin_object(resource, data)
            raise UndecodedObject(str(error)) from None

    def is_whole(self, resource: Resource, row: StoredRow) -> bool:
        """Return whether a value decodes by itself, of whatever kind it is: then it lacks nothing that was written."""
        data = self._rows.stored_bytes(row)
        target = target_of(resource.group, resource.kind)
        with suppress(orjson.JSONDecodeError):
            return type(orjson.loads(data)) is dict
        if target is None or not is_proven(target, data):
            try:
                self.as_stored(resource, row)
            except UndecodedObject:
                return False
        return True

    def as_stored_if_read(self, resource: Resource, row: StoredRow) -> JsonObject:
        """Return the object of a row as stored; raises UndecodedObject unless it is read, or only a webhook could."""
        if self._catalog.definition(resource) is None:
            return _builtin_object(resource, self.plain_bytes(row, resource))
        obj = self.as_stored(resource, row)
        if (obj.get("apiVersion"), obj.get("kind")) != (resource.api_version, resource.kind):
            with suppress(_Unconverted):
                self.read(resource, row)
        return obj

    def as_read(self, resource: Resource, row: StoredRow) -> JsonObject:
        """Return a custom resource as read, at the version that it is stored at if only a webhook could convert it.

        Others, and one that neither version can be read at, are returned as `as_stored_if_read` does.
        """
        if self._catalog.definition(resource) is not None:
            with suppress(UndecodedObject):
                return self.read(resource, row)
        stored = self.as_stored_if_read(resource, row)
        if self._catalog.definition(resource) is not None:
            with suppress(UndecodedObject):
                return self.read(replace(resource, version=version_of(stored) or ""), row)
        return stored

    def shown(self, resource: Resource, row: StoredRow, obj: JsonObject) -> JsonObject:
        """Return the printed form of an object that was selected."""
        return self.concealed(resource, self.in_form(resource, row, obj))

    def in_form(self, resource: Resource, row: StoredRow, obj: JsonObject) -> JsonObject:
        """Return an object that was read in the form that is requested: as stored, or as it is."""
        return self.as_stored(resource, row) if self.mode.stored else obj

    def concealed(self, resource: Resource, obj: JsonObject) -> JsonObject:
        """Return an object without the values of a Secret, unless they are known and to be printed."""
        if resource.kind == "Secret" and not resource.group:
            return _without_secrets(obj, known=self.mode.show_secrets)
        return obj


def program_for_reads(definition: CustomResourceDefinition, version: CrdVersion) -> AuditProgram:
    """Return a program that reads the objects of a definition at a version."""
    return AuditProgram(definition, version, rules=False, warm_up=_WARM_UP)


def with_names_only(obj: JsonObject) -> JsonObject:
    """Return of an object what `ObjectReader.read_names` returns at least."""
    out: JsonObject = {key: obj[key] for key in ("apiVersion", "kind") if key in obj}
    metadata = metadata_of(obj)
    out["metadata"] = {key: metadata[key] for key in ("namespace", "name") if key in metadata}
    return out


def version_of(obj: JsonObject) -> str | None:
    """Return the version in the apiVersion of an object, or None if it has none."""
    api_version = obj.get("apiVersion")
    return (api_version.rpartition("/")[2] or None) if type(api_version) is str else None


def _builtin_object(resource: Resource, data: bytes) -> JsonObject:
    target = target_of(resource.group, resource.kind)
    try:
        if target is None:
            return decode_stored(data)
        return stored_object(target, data, proven=is_proven(target, data))
    except (UndecodableError, WireError) as error:
        raise UndecodedObject(str(error)) from None


def _without_secrets(obj: JsonObject, *, known: bool) -> JsonObject:
    """Return a Secret with its values redacted, also in annotations; those that are `known` stay."""
    out = dict(obj)
    for key in ("data", "stringData"):
        values = obj.get(key)
        if type(values) is dict:
            out[key] = {
                name: value if known and value != REDACTED_VALUE else REDACTED for name, value in values.items()
            }
        elif values is not None and not known:
            out[key] = REDACTED
    metadata = metadata_of(obj)
    annotations = metadata.get("annotations")
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    if type(annotations) is dict and applied in annotations and not known:
        out["metadata"] = {**metadata, "annotations": {**annotations, applied: REDACTED}}
    return out
