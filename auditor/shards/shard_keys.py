"""Goes through the live keys of one shard: classifies each key, has its value judged, and writes its rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.errors import AuditorError, TooMuchToReport, WorkerLost
from auditor.base.records import AuditedObject, Origin, Unreadable
from auditor.base.statuses import Impact, KeyClass, Status
from auditor.crds.definition import parse_definition, why_not_served
from auditor.crds.definitions_file import RULES
from auditor.golang import jsontext
from auditor.program.impact import cache_key_fault, impacts_of
from auditor.program.proof_check import controller_in, controller_of, refuted
from auditor.shards.builtin_rows import BuiltinRows, head_of
from auditor.shards.fast_path import FastPaths, names_of
from auditor.shards.judge import JudgedVersion, ObjectJudge, RowHead, judged_version
from auditor.shards.result import FAILED, NO_TIME, RULES_GIVEN_UP, object_name, shown_error
from auditor.shards.updates import NO_UPDATES, NOT_ASKED, REFUSED_PUT, UpdateOutcome, refused_change
from auditor.sources.encryption import resource_of
from auditor.sources.registry_key import classify, listed_place, split_key
from auditor.sources.storage_value import PROTOBUF_MAGIC
from auditor.validation.rules import broken_rules, is_panic, may_panic

if TYPE_CHECKING:
    from auditor.base.records import Finding
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.program.program import Judgement
    from auditor.shards.builtin_changes import ManifestChanges
    from auditor.shards.fast_path import FastPath
    from auditor.shards.previous import Before
    from auditor.shards.result import ShardResult
    from auditor.shards.row_writer import RowWriter
    from auditor.updates.builtin_update import ChangeAnswer


_IMPACTS_OF: Final = {Status.UNREADABLE: None, Status.SEALED: Impact.UNKNOWN}
"""Impact of a key that is not judged, by its status; all other statuses have no impact."""


class ShardKeys:
    """Judges the keys of one shard.

    Args:
        owner: The auditor of the shard, with the programs.
        rows: Receives the rows.
        table: The live table of the dump.
        first: The number of the dump, and the position of the shard in it.
    """

    def __init__(self, owner: ObjectJudge, rows: RowWriter, table: Any, first: tuple[int, int] = (0, 0)) -> None:
        options = owner.plan.options
        self.owner = owner
        self.rows = rows
        self.table = table
        self.first = first
        self.at = options.at_of_exports if rows.is_export else options.at
        self.fast_paths = FastPaths(owner, rows, self.at)
        self.builtins = BuiltinRows(owner, rows)
        self.judges_updates = options.judges_updates
        self.late = 0

    def place(self, row: RowHead, decoded: Any = None) -> tuple[KeyClass, DefinitionEntry | None, str | None]:
        """Classify a live key: set the names of its row, return (status, definition entry, reason)."""
        owner = self.owner
        entry: DefinitionEntry | None
        if row.key is None:
            export = owner.classify_export(row.data, decoded)
            row.group, row.kind, row.namespace, row.name = export.group, export.kind, export.namespace, export.name
            row.plural = export.entry.plural if export.entry else None
            row.decoded = export.decoded
            return export.status, export.entry, export.reason
        segments = split_key(row.key, owner.plan.options.etcd_prefix)
        place = classify(segments, owner.scopes, owner.plan.sealed)
        if place.status is KeyClass.OTHER and (listed := listed_place(segments, owner.scopes)) is not None:
            status = KeyClass.MISPLACED if listed.status is KeyClass.CUSTOM else listed.status
            place = replace(listed, status=status, reason=place.reason)
        row.group, row.plural, row.namespace, row.name = place.group, place.plural, place.namespace, place.name
        row.place = place
        entry = owner.entries.get((place.group or "", place.plural or "")) if place.status.is_custom else None
        if entry is not None:
            row.kind = entry.kind
        elif place.status in (KeyClass.BUILTIN, KeyClass.DEFINITION):
            self.builtins.name(row)
        return place.status, entry, place.reason

    def add(self, at: int, key: bytes | None, revision: int | None, data: bytes) -> None:
        """Write the rows of one live key, by a fast path if its kind has one."""
        paths = self.fast_paths
        obj: Any = None
        fast = paths.typed
        if fast is not None:
            place = None if key is None else fast.place_of(key)
            if (key is None or place is not None) and fast.add_typed(at, data, place):
                return
        if key is not None:
            if data[:4] == PROTOBUF_MAGIC and self.builtins.add(at, key, data):
                return
            if key.startswith(paths.definitions):  # no object: it need not be decoded to find that it has no fast path
                paths.typed = None
                self.add_slowly(at, key, revision, data)
                return
        try:
            obj = orjson.loads(data)
            place = None
            if key is None:
                fast = paths.of_export(obj)
            else:
                fast, place = paths.of_key(key, obj)
        except orjson.JSONDecodeError:
            fast = None
        paths.typed = fast if fast is not None and fast.has_typed() else None
        if fast is None:
            self.add_slowly(at, key, revision, data, obj)
            return
        judgement = fast.add(at, data, obj, place)
        if judgement is not None:
            row = RowHead(at, key, revision, data)
            row.group, row.plural, row.kind = fast.entry.group, fast.entry.plural, fast.entry.kind
            self.handed_on(row, fast, judgement, place)

    def handed_on(
        self, row: RowHead, fast: FastPath, judgement: Judgement, place: tuple[str | None, str] | None
    ) -> None:
        """Write the rows of an object that its fast path judged and did not write.

        Args:
            row: The row of its key.
            fast: The fast path.
            judgement: The judgement of its program.
            place: Namespace and name of its key; None means it has no key.
        """
        metadata = (judgement.audited.object or {}).get("metadata")
        row.namespace, row.name = place or names_of(metadata if type(metadata) is dict else {}, row.data)
        if type(metadata) is not dict and self.at == "storage":
            self.custom(row, fast.definition)  # it may be readable at its own version
            return
        self.owner.proofs.verify(fast.program, row.data, judgement)
        self.rows_of(row, fast.definition, [judged_version(judgement)])

    def add_slowly(self, at: int, key: bytes | None, revision: int | None, data: bytes, decoded: Any = None) -> None:
        """Classify one live key and write its rows."""
        row = RowHead(at, key, revision, data)
        owner = self.owner
        status, entry, reason = self.place(row, decoded)
        scope = owner.scope
        if not scope.has_kind(row.group or "", row.kind or "", row.plural or "") or (
            scope.namespace and row.namespace != scope.namespace
        ):
            self.rows.result.out_of_scope += 1
            return
        if row.key is not None and (owner.unsealer.config is not None or row.data[:4] == b"k8s:"):
            opened = owner.unsealer.open(row.key, resource_of(row.place), row.data)
            if opened.data is None:
                self.simple(row, Status.SEALED if opened.lacks_key else Status.UNREADABLE, opened.reason)
                return
            row.data = opened.data
        is_builtin = status in (KeyClass.DEFINITION, KeyClass.BUILTIN)
        if is_builtin and row.key is None and owner.manifests is not None:
            self.changed_builtin(row, owner.manifests, Status(status))
            return
        if status is KeyClass.DEFINITION:
            self.defined(row)
            return
        if status is KeyClass.BUILTIN:
            self.builtins.add_row(row)
            return
        if entry is None or not status.is_custom:
            if status is not KeyClass.ORPHANED or not self.is_unmatched(row, None):
                self.simple(row, Status(status), reason)
            return
        definition = owner.definition(entry)
        if isinstance(definition, str):
            self.simple(row, Status.UNSERVED, definition)
            return
        if not definition.established:
            self.simple(row, Status.UNSERVED, why_not_served(definition))
            return
        if status is KeyClass.MISPLACED:
            self.misplaced(row, definition, reason)
            return
        if not self.is_unmatched(row, definition):
            self.custom(row, definition)

    def place_of(self, row: RowHead) -> tuple[int, int]:
        """Return the number of a row's dump, and where its value begins there."""
        source, start = self.first
        return source, self.table["offset"][start + row.at].as_py()

    def changed_builtin(self, row: RowHead, manifests: ManifestChanges, status: Status) -> None:
        """Write the row of a manifest of a built-in kind: an update of the object of the state before, or a create."""
        result = self.rows.result
        answer, is_update = manifests.answer(row.data, self.place_of(row))
        result.changes["updated" if is_update else "created"] += 1
        if answer.reason:
            kind = f"{row.kind}.{row.group}" if row.group else row.kind or ""
            result.note_unanswered(kind, answer.reason, object_name(None, row.namespace, row.name))
        self.answered(row, answer, status)

    def answered(self, row: RowHead, answer: ChangeAnswer, status: Status) -> None:
        """Write the row of a manifest that is not judged as a custom resource, with the answer to it."""
        is_refused = bool(answer.findings)
        impact = Impact.BLOCKS_EVERY_UPDATE if is_refused else Impact.UNKNOWN if answer.reason else Impact.NONE
        audited = AuditedObject(findings=answer.findings)
        impacts = () if impact is Impact.NONE else (impact,)
        row_class = self.rows.simple_row_class(row, audited, status, impacts, impact)
        outcome = UpdateOutcome((answer.code, None, None))
        self.rows.object_row(row, audited, row_class, answer.reason or None, outcome, controller_in(row.data))
        for finding in answer.findings:
            self.rows.found.add(len(self.rows.objects) - 1, finding, REFUSED_PUT)

    def is_unmatched(self, row: RowHead, definition: CustomResourceDefinition | None) -> bool:
        """Write the row of a manifest, and return True, if no server with the state before serves its kind or version.

        Args:
            row: The row.
            definition: The definition of its kind, or None if there is none.
        """
        manifests = self.owner.manifests
        if row.key is not None or manifests is None or (definition is None and not manifests.is_whole):
            return False
        api_version = jsontext.decode_object(row.data)["apiVersion"]
        version = None if definition is None else definition.versions.get(api_version.rpartition("/")[2])
        if version is not None and version.served:
            return False
        from auditor.shards.builtin_changes import no_match  # noqa: PLC0415 - as in `ObjectJudge`

        self.answered(row, no_match(row.kind or "", api_version), Status.INVALID)
        return True

    def misplaced(self, row: RowHead, definition: CustomResourceDefinition, reason: str | None) -> None:
        """Write the row of a key that is below the prefix of a kind but fits no object of it: only a LIST reads it.

        Args:
            row: The row of the key.
            definition: The definition of the kind.
            reason: Why the key fits no object.
        """
        judged = self.owner.judge(definition, row.data, "storage")[0]
        audited = judged.audited
        if audited.unreadable is not None:
            impacts = impacts_of(audited, namespaced=definition.namespaced)
            status = Status.NEEDS_CONVERSION if judged.by_webhook else Status.UNREADABLE
            self.simple(row, status, audited.unreadable.reason, impacts)
        elif fault := cache_key_fault(audited.object, namespaced=definition.namespaced):
            self.simple(row, Status.UNREADABLE, f"couldn't compute key: {fault}", (Impact.BREAKS_WATCH,))
        else:
            self.simple(row, Status.OTHER, reason)

    def out_of_time(self, at: int, key: bytes | None, revision: int | None) -> None:
        """Write the row of a key that was not judged because the time of the run was over."""
        self.not_audited(at, key, revision, NO_TIME)
        self.late += 1

    def not_audited(self, at: int, key: bytes | None, revision: int | None, reason: str) -> None:
        """Write the row of a key whose value is not read."""
        row = RowHead(at, key, revision, b"")
        if key is not None:
            self.place(row)
        self._row_of(row, AuditedObject(), Status.UNREADABLE, reason)

    def simple(self, row: RowHead, status: Status, reason: str | None, impacts: tuple[Impact, ...] = ()) -> None:
        """Write the row of a key that is not judged.

        Args:
            row: The row of the key.
            status: Its status.
            reason: Why it was not judged.
            impacts: The known impacts; an unreadable key always breaks lists.
        """
        is_somewhere = row.key is not None or row.kind  # a manifest without a kind breaks nothing: it has no key
        if status is Status.UNREADABLE and is_somewhere:
            impacts = impacts or (Impact.BREAKS_LIST,)
        impact = impacts[0] if impacts else _IMPACTS_OF.get(status, Impact.NONE)
        audited = AuditedObject()
        self._row_of(row, audited, status, reason, impacts, impact, (None, controller_in(row.data)))

    def _row_of(
        self,
        row: RowHead,
        audited: AuditedObject,
        status: Status,
        reason: str | None,
        impacts: tuple[Impact, ...] = (),
        impact: Impact | None = None,
        head: tuple[bool | None, str | None] = (None, None),
    ) -> None:
        """Write the row of a key whose value was not judged as a custom resource; its head is that of `head_of`."""
        row_class = self.rows.simple_row_class(row, audited, status, impacts, impact, deleting=head[0])
        self.rows.object_row(row, audited, row_class, reason, controller=head[1])

    def defined(self, row: RowHead) -> None:
        """Write the row of a definition; its rules that do not compile are findings, because they break its objects.

        Without objects only rules on which the server's compiler panics are.
        """
        if self.is_torn(row):
            self.builtins.add_row(row)
            return
        findings: list[Finding] = []
        try:
            if RULES in row.data:
                if self.has_objects(row):
                    findings = self.broken_rules(row)
                elif may_panic(row.data):
                    findings = [each for each in self.broken_rules(row) if is_panic(each)]
        except (AuditorError, jsontext.GoJsonError):
            findings = []
        audited = AuditedObject(findings=tuple(findings))
        self._row_of(row, audited, Status.DEFINITION, None, (), Impact.NONE, head_of(row.data))
        for finding in findings:
            self.rows.found.add(len(self.rows.objects) - 1, finding, NO_UPDATES)

    def is_torn(self, row: RowHead) -> bool:
        """Return whether a server cannot decode a definition; it decodes each one that the plan could use."""
        if row.key is None or self.builtins.is_skipped:
            return False
        entry = self.owner.by_name.get(row.name or "")
        if entry is not None and self.is_read_anyway(row, entry) and self.owner.is_usable(entry):
            return False  # reading it, which is needed anyway, takes less time than proving that it decodes
        is_decoded = self.builtins.judged(row).status is Status.BUILTIN
        return not is_decoded and (entry is None or isinstance(self.owner.definition(entry), str))

    def broken_rules(self, row: RowHead) -> list[Finding]:
        """Return findings about the rules of a definition that do not compile.

        Raises:
            GoJsonError: The definition is not JSON.
            SchemaError: No server decodes it.
        """
        document, owner = jsontext.decode(row.data), self.owner
        entry = owner.by_name.get(row.name or "")
        if entry is not None and owner.is_document(entry, document):
            if owner.is_known_usable(entry):
                return []
            if owner.is_usable(entry) and not isinstance(definition := owner.definition(entry), str):
                return broken_rules(definition, owner.compiled_rules)
        return broken_rules(parse_definition(document))

    def is_read_anyway(self, row: RowHead, entry: DefinitionEntry) -> bool:
        """Return whether a definition is read in any case, for its rules or its objects, or was by another worker."""
        options, is_ruled = self.owner.plan.options, RULES in row.data
        is_alone = options.jobs == 1 or options.engine == "inline"
        return (is_alone or is_ruled or self.owner.is_known_usable(entry)) and self.has_objects(row)

    def has_objects(self, row: RowHead) -> bool:
        """Whether a definition has live keys in this dump; without any, its rules are not worth compiling."""
        entry = self.owner.by_name.get(row.name or "")
        if row.key is None or entry is None:
            return True
        return self.rows.sink.has_objects(self.owner, self.table["key"], entry)

    def custom(self, row: RowHead, definition: CustomResourceDefinition) -> None:
        """Judge a custom resource and write all its rows."""
        owner = self.owner
        data, decoded, before = row.data, row.take_decoded(), None
        if owner.changes is not None:
            before = owner.changes.before(definition, row.namespace, row.name, is_manifest=row.key is None)
            if before is not None and row.key is None:
                data, decoded = owner.changes.applied(definition, before, data), None
        self.rows_of(row, definition, owner.judge(definition, data, self.at, decoded), before)

    def rows_of(
        self,
        row: RowHead,
        definition: CustomResourceDefinition,
        judged: list[JudgedVersion],
        before: Before | None = None,
    ) -> None:
        """Write all rows of a custom resource that was judged."""
        owner = self.owner
        if not owner.scope.has_object(judged[0].audited):
            self.rows.result.out_of_scope += 1
            return
        if owner.changes is not None:
            self.rows.result.changes["updated" if before is not None else "created"] += 1
        gated = owner.gated.of(definition, row.data)  # reported once, at the first version
        observer = owner.observer
        for judged_object in judged:
            audited = judged_object.audited
            reason = None if audited.unreadable is None else audited.unreadable.reason
            outcome = self.outcome(row, audited, definition, before)
            metadata = audited.object.get("metadata") if audited.object is not None else None
            metadata = metadata if isinstance(metadata, dict) else {}
            row.uid = metadata.get("uid")
            if row.key is None:
                row.namespace, row.name = metadata.get("namespace", row.namespace), metadata.get("name", row.name)
            place = (definition.name, audited.audited_version or "")
            program = owner.programs.get(place)
            gave_up = outcome.gave_up or (program is not None and program.gave_up(audited.unevaluated_rules))
            if gave_up:
                reason = RULES_GIVEN_UP
                self.rows.result.note_given_up(place, [object_name(row.key, row.namespace, row.name)])
            row_class = self.rows.row_class(row, definition, judged_object, metadata, outcome, gave_up=gave_up)
            owners = metadata.get("ownerReferences")
            controller = controller_of(owners) if audited.unreadable is None else controller_in(row.data)
            self.rows.object_row(row, audited, row_class, reason, outcome, controller)
            number = len(self.rows.objects) - 1
            if self.judges_updates:
                for finding, update in outcome.rows(audited):
                    self.rows.found.add(number, finding, update)
            else:  # who wrote their fields is not asked
                for finding in audited.findings:
                    self.rows.found.add(number, finding, NO_UPDATES)
            for finding in gated:
                self.rows.found.add(number, finding, NO_UPDATES)
            gated = []
            if program is None or program.is_cold:
                self.rows.result.interpreted[place] += 1
            elif audited.unreadable is None and not audited.findings:
                self.rows.result.valid[place] += 1
            if audited.unevaluated_rules:
                self.rows.result.unevaluated[place] += 1
            if observer is not None:
                observer.on_judged(row, definition, judged_object, outcome)
        stored = judged[0].audited.stored_version
        if stored is not None and not self.rows.is_export:
            self.rows.result.stored[(definition.name, stored)] += 1
        self.rows.index.add(definition, row.at, row.data, [judged_object.audited for judged_object in judged])

    def outcome(
        self, row: RowHead, audited: AuditedObject, definition: CustomResourceDefinition, before: Before | None
    ) -> UpdateOutcome:
        """Judge the updates of an object; in an export, its metadata give its key."""
        if audited.object is None or not self.judges_updates:
            return NOT_ASKED
        if self.owner.changes is not None:
            if before is None:
                return self.created(row, definition)
            program = self.owner.program(definition, audited.audited_version or "")
            place = None if row.key is None else (row.namespace, row.name)
            return self.owner.changes.outcome(program, audited, before, place)
        place = (row.namespace, row.name)
        if row.key is None:
            metadata = audited.object.get("metadata") or {}
            place = (metadata.get("namespace"), metadata.get("name"))
        program = self.owner.program(definition, audited.audited_version or "")
        judge, facts = self.owner.verdicts.judge, (audited, row.data, place, row.revision)
        outcome = judge(program, *facts, is_export=row.key is None)
        proofs = self.owner.proofs
        if proofs.has(row.data):
            again = judge(proofs.exact(program), *facts, is_export=row.key is None)
            if again != outcome and not (again.gave_up or outcome.gave_up):
                raise refuted(program, audited, f"updates: {outcome.codes}, by the reference {again.codes}")
        return outcome

    def created(self, row: RowHead, definition: CustomResourceDefinition) -> UpdateOutcome:
        """Return the outcome of a manifest that the state before does not have, apart from the checks of a create."""
        manifests = self.owner.manifests
        if row.key is not None or manifests is None:
            return NOT_ASKED
        namespace = (row.namespace or "default") if definition.namespaced else ""
        answer = manifests.creation(definition.resource, namespace, row.name or "", self.place_of(row))
        if answer is None:
            return NOT_ASKED
        if answer.reason:
            name = object_name(None, row.namespace, row.name)
            self.rows.result.note_unanswered(f"{definition.kind}.{definition.group}", answer.reason, name)
            return NOT_ASKED
        return refused_change(answer)

    def broken(self, row: RowHead, error: Exception) -> None:
        """Write the row of a value on which the auditor itself failed."""
        with suppress(Exception):
            if row.key is None and isinstance(error, WorkerLost | MemoryError):
                row.take_names()  # a value that could not be decoded is not decoded again
            else:
                self.place(row)
        reason = f"{FAILED} ({shown_error(error)}); please report it"
        if isinstance(error, MemoryError):
            reason = "not audited: it needs more memory than there is (--memory)"
        if isinstance(error, TooMuchToReport):
            reason = f"not audited: {error}"
        if isinstance(error, WorkerLost):
            reason = f"not audited: worker lost ({error.found})"
        audited = AuditedObject(unreadable=Unreadable(reason, Origin(self.rows.source)))
        self._row_of(row, audited, Status.UNREADABLE, reason, (), None)
        name = row.text_key or "/".join(part for part in (row.namespace, row.name) if part) or f"value {row.at}"
        kind = ".".join(part for part in (row.kind or row.plural, row.group) if part)
        self.rows.result.note_lost(f"{kind} {name}: {reason}" if row.key is None and kind else f"{name}: {reason}")

    def finish(self) -> ShardResult:
        """Count the objects of the fast paths, finish the rows; return the counts."""
        result = self.rows.result
        if self.late:
            result.note_lost(f"shard {result.number}: {self.late} keys: {NO_TIME}")
            self.late = 0
        for (name, version), fast in self.fast_paths.opened.items():
            fast.settle()
            result.valid[(name, version)] += sum(fast.stored.values())
            if fast.unevaluated:
                result.unevaluated[(name, version)] += fast.unevaluated
            if not self.rows.is_export:
                result.stored.update({(name, stored): n for stored, n in fast.stored.items() if stored is not None})
        return self.rows.finish()
