"""Fast paths: objects that are proven valid become rows at once.

The row of a valid object nearly always equals that of the last one of its kind: same columns, same codes, same impacts.
A fast path caches these by the few facts that they depend on. An object with findings, with an update that must be
tried, or that cannot be read is passed on with its judgement, so that nothing is judged twice. After some objects of a
kind, the next ones are first decoded into records (`auditor.fastpath.records.typed`), which need no JSON document. All
paths write the same rows; tests compare them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
from msgspec import UNSET

from auditor.base.records import AuditedObject
from auditor.fastpath.dicts.fallbacks import Reason
from auditor.plan.dumps import CRD_PATH
from auditor.program.proof_check import AuditAnswer, Head, controller_of, controller_of_records
from auditor.shards.judge import own_version
from auditor.shards.updates import NOT_ASKED
from auditor.updates.body import RequestName

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.fastpath.records.typed import TypedProgram
    from auditor.program.program import AuditProgram, Judgement
    from auditor.shards.judge import ObjectJudge
    from auditor.shards.row_writer import RowWriter
    from auditor.updates.noop import NoopUpdates


_UNKNOWN: Final = object()
_TRIES: Final = 200
"""Records are paused when the unproven objects outnumber the proven ones by this many."""
_TRIES_AGAIN: Final = 20
"""The same limit after a pause: exports are sorted, so objects without a namespace, which are invalid, all come first.
"""
_PAUSE: Final = 200
"""Number of objects of a pause, which are not tried as records."""
_FINAL: Final = frozenset({Reason.SCHEMA, Reason.RULES})
"""Refusals of records after which dicts are not tried: of other objects these may prove all but the metadata."""
MOST_VALID: Final = 20
"""Objects that records refuse are tried as dicts again when the valid ones outnumber the invalid ones by this many."""


def names_of(metadata: JsonObject, data: bytes) -> tuple[str | None, str | None]:
    """Return namespace and name of an exported object; an empty text, which a read drops, is taken from its bytes.

    Args:
        metadata: The metadata of the object as read; empty if it could not be read.
        data: Its bytes.
    """
    stored: Any = None
    if ("namespace" not in metadata or "name" not in metadata) and (b'""' in data or not metadata):
        stored = orjson.loads(data).get("metadata")
    if type(stored) is not dict:
        return metadata.get("namespace"), metadata.get("name")
    namespace, name = stored.get("namespace"), stored.get("name")
    return (
        metadata.get("namespace", namespace if type(namespace) is str else None),
        metadata.get("name", name if type(name) is str else None),
    )


class FastPath:
    """The fast path of the objects of one kind that are judged at one version, inside one shard.

    Args:
        owner: The auditor of the shard, with the programs.
        writer: Receives the rows.
        definition: The definition of the kind.
        entry: Its names.
        version: The version at which objects are judged.
        root: The prefix of all keys.

    Attributes:
        prefix: The prefix of the keys of its objects.
        stored: Number of objects that took it, by stored version.
        unevaluated: Number of these with rules that were not evaluated.
    """

    def __init__(
        self,
        owner: ObjectJudge,
        writer: RowWriter,
        definition: CustomResourceDefinition,
        entry: DefinitionEntry,
        version: str,
        root: bytes,
    ) -> None:
        self.definition = definition
        self.entry = entry
        self.version = version
        self.program: AuditProgram = owner.program(definition, version)
        self.unevaluated = 0
        self.stored: dict[str | None, int] = {}
        self._owner = owner
        self._below = owner.proofs.below
        self._writer = writer
        self._is_export: bool = writer.is_export
        self._namespaced = definition.namespaced
        self._is_asked = owner.plan.options.judges_updates
        self._noop: NoopUpdates | None = None
        self._codes = NOT_ASKED.codes
        self._classes: dict[tuple[Any, ...], int] = {}
        self._write = writer.write
        self._typed: TypedProgram | None = None
        self._tries = _TRIES
        self._pause = 0
        self._is_typable = True
        self._is_incomplete = False
        self._taken = 0  # proven from their bytes and not yet counted
        # The last object that no generated code can prove, and how many more of these were valid than invalid.
        self._refused: tuple[bytes | None, Reason] = (None, Reason.SCHEMA)
        self._valid = 0
        self._typed_classes: list[int | None] = [None] * 8
        self._index_rows: list[tuple[list[tuple[Any, ...]], bool]] = []
        names = f"{entry.group}/{entry.plural}/"
        self.prefix = root + names.encode()
        self._index = writer.index.quick(definition, version)

    def add(self, at: int, data: bytes, obj: JsonObject, place: tuple[str | None, str] | None) -> Judgement | None:
        """Audit one object and write its rows.

        Args:
            at: Its position in the shard.
            data: Its stored bytes.
            obj: The document that orjson decoded from them; changed in place.
            place: Namespace and name of its key; None means it has no key.
        Returns:
            The judgement if no row of the object is written yet, or None if all are written.
        """
        program = self.program
        if data is self._refused[0]:
            return self._judge_refused(data, self._refused[1], obj)
        judgement = program.judge(data, obj)
        audited, effect, is_proven = judgement
        read = audited.object
        if not is_proven or read is None or program.is_cold:
            return judgement
        metadata = read["metadata"]
        find = metadata.get
        namespace, name = find("namespace"), find("name")
        if not name or (self._namespaced and not namespace) or audited.select_error is not None:
            return judgement
        if audited.unevaluated_rules and (self._is_asked or program.gave_up(audited.unevaluated_rules)):
            return judgement
        if self._is_asked:
            noop = self._noop
            if noop is None:
                noop, fine = self._owner.verdicts.of(program, audited, is_export=self._is_export)
                self._noop, self._codes = noop, fine.codes
            key_namespace, key_name = (namespace, name) if place is None else place
            if noop.is_needed(audited, data, RequestName(key_namespace or "", key_name), proven=is_proven):
                return judgement
        pruned, defaulted = audited.pruned, audited.defaulted
        stored, uid = audited.stored_version, find("uid")
        facts = (stored, not pruned, not defaulted, effect, "deletionTimestamp" in metadata)
        number = self._classes.get(facts)
        if number is None:
            number = self._classes[facts] = self._class(audited, effect)
        if place is not None:
            namespace, name = place
        if type(uid) is not str:
            uid = None
        digest = self._write(at, number, namespace, name, uid, data, self._codes, pruned, defaulted)
        if "ownerReferences" in metadata and (controller := controller_of(metadata["ownerReferences"])) is not None:
            self._writer.note_controller(controller)
        if digest < self._below:
            self._owner.proofs.check(program, data, AuditAnswer.of(program, judgement))
        if audited.unevaluated_rules:
            self.unevaluated += 1
        self.stored[stored] = self.stored.get(stored, 0) + 1
        if self._index is None:
            self._writer.index.add(self.definition, at, data, [audited])
        else:
            self._index(at, read, audited.selectable)
        return None

    def _judge_refused(self, data: bytes, reason: Reason, obj: JsonObject) -> Judgement:
        """Judge an object that no generated code can prove (`TypedProgram.refusal`)."""
        judgement = self.program.judge_refused(data, reason, obj)
        audited = judgement.audited
        self._valid += 1 if audited.object is not None and not audited.findings else -1
        return judgement

    def has_typed(self) -> bool:
        """Whether the next object may be proven from its bytes (`add_typed`)."""
        if self._typed is None and self._is_typable:
            if self._pause:
                self._pause -= 1
                return False
            self._typed = self.program.typed()
            if self._typed is not None:
                self._index_rows = self._writer.index.rows_of(self.definition, self.version)
                self._is_incomplete = self.program.unevaluated_rules > 0
                if not self._index_rows or (self._is_incomplete and self._is_asked):
                    self._typed, self._is_typable = None, False
        return self._typed is not None

    def place_of(self, key: bytes) -> tuple[str | None, str] | None:
        """Return namespace and name in a key, or None if it is not the key of an object of this kind."""
        if not key.startswith(self.prefix):
            return None
        namespace, slash, name = key[len(self.prefix) :].partition(b"/")
        if self._namespaced:
            if not namespace or not name or b"/" in name:
                return None
            return namespace.decode(), name.decode()
        return None if slash or not namespace else (None, namespace.decode())

    def add_typed(self, at: int, data: bytes, place: tuple[str | None, str] | None) -> bool:
        """Write the rows of an object if it can be proven from its bytes; else do nothing.

        Args:
            at: Its position in the shard.
            data: Its stored bytes.
            place: Namespace and name of its key; None means it has no key.
        """
        typed = self._typed
        assert typed is not None
        made = typed.prove(data)
        if made is None:
            if typed.refusal is not None and self._valid < MOST_VALID:
                if typed.refusal in _FINAL:
                    self._refused = data, typed.refusal
                return False
            self._tries -= 1
            if not self._tries:  # they would all be decoded twice
                self._typed, self._tries, self._pause = None, _TRIES_AGAIN, _PAUSE
            return False
        metadata = made.metadata
        namespace, name, uid = metadata.namespace, metadata.name, metadata.uid
        if namespace is UNSET:
            namespace = None
        if uid is UNSET:
            uid = None
        pruned, defaulted = typed.pruned, typed.defaulted
        if self._is_asked:
            noop = self._noop
            if noop is None:
                return False
            key_namespace, key_name = (namespace, name) if place is None else place
            where = RequestName(key_namespace or "", key_name)
            if noop.may_be_needed((namespace, name, uid), data, where, defaulted=bool(defaulted)):
                return False
        if self._tries < _TRIES:
            self._tries += 1
        deleting = metadata.deletion_timestamp is not UNSET
        facts = (1 if pruned else 0) + (2 if defaulted else 0) + (4 if deleting else 0)
        number = self._typed_classes[facts]
        if number is None:
            known = {"namespace": namespace, "name": name} | ({"deletionTimestamp": ""} if deleting else {})
            audited = AuditedObject(None, {"metadata": known}, pruned, defaulted, (), {}, self.version, self.version)
            number = self._typed_classes[facts] = self._class(audited, "")
        created, labels = metadata.creation_timestamp, metadata.labels
        if created is UNSET:
            created = None
        row = (at, namespace, name, uid, created, deleting, {} if labels is UNSET else labels)
        for rows, is_own in self._index_rows:
            rows.append(row + typed.select(made) if is_own else row)
        if place is not None:
            namespace, name = place
        digest = self._write(at, number, namespace, name, uid, data, self._codes, pruned, defaulted)
        owners = metadata.owner_references
        controller = None if owners is UNSET else controller_of_records(owners)
        if controller is not None:
            self._writer.note_controller(controller)
        if digest < self._below:
            head, broken = Head(*row[1:], controller), self.program.unevaluated_rules
            answer = AuditAnswer(head, self.version, pruned, defaulted, "", typed.select(made)[::2], unevaluated=broken)
            self._owner.proofs.check(self.program, data, answer)
        self._taken += 1
        return True

    def settle(self) -> None:
        """Count the objects that were proven from their bytes; the counts are needed only at the end."""
        taken, self._taken = self._taken, 0
        if taken:
            self.program.total += taken
            self.program.proven += taken
            self.unevaluated += taken * self._is_incomplete
            self.stored[self.version] = self.stored.get(self.version, 0) + taken

    def _class(self, audited: AuditedObject, effect: str) -> int:
        """Return the number of the class of rows of a proven object."""
        names = (self.entry.group, self.entry.plural, self.entry.kind)
        return self._writer.new_row_class(names, self.definition, audited, effect, NOT_ASKED).number


class FastPaths:
    """Finds the fast path of a value, if its kind has one.

    Args:
        owner: The auditor of the shard, with the programs.
        rows: Receives the rows of the shard.
        at: The version at which objects are judged: storage, stored, or a name.
    """

    def __init__(self, owner: ObjectJudge, rows: RowWriter, at: str) -> None:
        self.owner = owner
        self.rows = rows
        self.at = at
        options = owner.plan.options
        self.root = ("/" + options.etcd_prefix.strip("/") + "/" if options.etcd_prefix.strip("/") else "/").encode()
        self.definitions = self.root + CRD_PATH.lstrip("/").encode()
        self.opened: dict[tuple[str, str], FastPath] = {}
        self.typed: FastPath | None = None  # of the last value, if the next one may be proven from its bytes
        self._exported: dict[tuple[str, str], FastPath | None] = {}
        self._stored: dict[tuple[bytes, bytes, int, str], FastPath | None] = {}

    def of_export(self, obj: Any) -> FastPath | None:
        """Return the fast path of a decoded object of an export."""
        try:
            names = (obj["apiVersion"], obj["kind"])
            path: Any = self._exported.get(names, _UNKNOWN)
        except (KeyError, TypeError):  # not an object, or without a kind
            return None
        if path is _UNKNOWN:
            path = None
            if type(names[0]) is str and type(names[1]) is str:
                group, slash, _ = names[0].partition("/")
                path = self._open(self.owner.by_kind.get((group if slash else "", names[1])), names[0])
            self._exported[names] = path
        fast: FastPath | None = path
        return fast

    def of_key(self, key: bytes, obj: Any) -> tuple[FastPath | None, tuple[str | None, str] | None]:
        """Return the fast path of a decoded value, and namespace and name in its key."""
        if not key.startswith(self.root):
            return None, None
        parts = key[len(self.root) :].split(b"/")
        try:
            names = (parts[0], parts[1], len(parts), obj["apiVersion"])
            path: Any = self._stored.get(names, _UNKNOWN)
            if path is _UNKNOWN:
                path = None
                if type(names[3]) is str and names[2] in (3, 4):
                    entry = self.owner.entries.get((parts[0].decode(), parts[1].decode()))
                    if entry is not None and entry.namespaced == (names[2] == 4):
                        path = self._open(entry, names[3])
                self._stored[names] = path
            if path is None or not parts[-1] or not parts[2]:
                return None, None
            place = (parts[2].decode() if names[2] == 4 else None, parts[-1].decode())
        except (KeyError, TypeError, IndexError, UnicodeDecodeError):
            return None, None
        return path, place

    def _open(self, entry: DefinitionEntry | None, api_version: str) -> FastPath | None:
        """Return the fast path of a kind, or None if it has none."""
        owner = self.owner
        if entry is None:
            return None
        definition = owner.definition(entry)
        if isinstance(definition, str) or not definition.established or owner.gated.gates(definition) is not None:
            return None
        fallback = owner.storage_of(definition) or next(iter(definition.versions))
        version = version_at = self.at
        if version_at == "stored":
            version = own_version(definition, api_version) or fallback
        elif version_at not in definition.versions:
            version = fallback
        if definition.conversion == "Webhook" and not definition.versions[version].served:
            return None  # what a read of a served version needs is found out object by object
        path = self.opened.get((definition.name, version))
        if path is None:
            path = self.opened[definition.name, version] = FastPath(
                owner, self.rows, definition, entry, version, self.root
            )
            owner.note_usable(entry, definition)
        return path
