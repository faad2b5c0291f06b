"""Stage 2 and 3: a Shard in, part files and counts out. Runs in a worker, knows nothing of other workers.

The one broad `except` of the house is here: an object that breaks the auditor becomes an unreadable row that names it.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

import auditor
from auditor.base import tables
from auditor.base.errors import EngineError, TooMuchToReport, WorkerLost
from auditor.base.paths import plain_path
from auditor.base.records import AuditedObject, Origin, Unreadable
from auditor.base.statuses import Impact, KeyClass, Status
from auditor.crds.definition import parse_definition
from auditor.golang import jsontext
from auditor.plan.limits import bound_worker, rule_seconds
from auditor.plan.plan import (
    CHANGED,
    Plan,
    SourceShard,
    cut_values,
    has_objects,
    is_at_rest,
    open_live,
    open_values,
)
from auditor.program.conversion_command import ConversionCommand
from auditor.program.impact import cache_key_fault, impacts_of, needs_webhook, worst
from auditor.program.program import AuditProgram, Judgement
from auditor.selectors.grammar import parse_field_selector, parse_label_selector
from auditor.shards.builtin_rows import BuiltinRows
from auditor.shards.columns import ObjectRows, part_name, write_parquet
from auditor.shards.conversions import convert_ahead
from auditor.shards.fast_path import Lanes, effect_of, names_of, own_version
from auditor.shards.findings import FoundRows
from auditor.shards.gates import GatedFields
from auditor.shards.index import IndexBuilder
from auditor.shards.index_folders import folders_of
from auditor.shards.previous import Before, Changes
from auditor.shards.reasons import NO_TIME, RULES_GIVEN_UP
from auditor.shards.result import ShardResult, object_name, shown_error
from auditor.shards.updates import NOT_ASKED, NOTHING_TOLD, Outcome, UpdateVerdicts
from auditor.sources.encryption import make_unsealer, resource_of
from auditor.sources.manifests.rows import fast_header
from auditor.sources.registry_key import classify, listed_place, printable_key, split_key
from auditor.sources.storage_value import PROTOBUF_MAGIC
from auditor.validation.rules import RuleTime, broken_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from auditor.base.records import Finding, JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.shards.result import Kind

__all__ = ["ShardAuditor", "forget_parts", "lost_shard", "setup"]

_WARM_UP: Final = 4
"""Objects of a kind that the reference judges: writing code for them takes longer than it saves."""


class _Scope:
    """The scope of a run, with its selectors parsed."""

    def __init__(self, plan: Plan) -> None:
        scope = plan.options.scope
        self.namespace = scope.namespace
        self.labels = parse_label_selector(scope.labels)
        self.fields = parse_field_selector(scope.fields)
        self.include = {name.lower() for name in scope.include}
        self.exclude = {name.lower() for name in scope.exclude}
        self.whole = not self.include and not self.exclude

    def has_kind(self, group: str, kind: str, plural: str) -> bool:
        if self.whole:
            return True
        names = {name.lower() for part in (kind, plural) if part for name in (part, f"{part}.{group}")}
        return not (names & self.exclude) and (not self.include or bool(names & self.include))

    def has_object(self, audited: AuditedObject) -> bool:
        if not self.labels and not self.fields:
            return True
        labels = ((audited.object or {}).get("metadata") or {}).get("labels") or {}
        return all(r.matches(labels) for r in self.labels) and all(r.matches(audited.selectable) for r in self.fields)


class BrokenDefinition(str):
    """Why the auditor itself failed on a definition."""

    __slots__ = ()


class ShardAuditor:
    """Audits shards, one after another; builds programs on first use and keeps them."""

    def __init__(self, plan: Plan, parts: str) -> None:
        self.plan = plan
        self.parts = Path(parts)
        self.scope = _Scope(plan)
        self.entries = {(entry.group, entry.plural): entry for entry in plan.entries}
        self.by_kind = {(entry.group, entry.kind): entry for entry in plan.entries}
        self.by_name = {entry.name: entry for entry in plan.entries}
        self.folders = folders_of(plan)
        self.scopes = {key: entry.namespaced for key, entry in self.entries.items()}
        self.definitions: dict[str, CustomResourceDefinition | str] = {}
        self.programs: dict[tuple[str, str], AuditProgram] = {}
        self.sources: dict[int, tuple[Any, Any]] = {}
        self.storages: dict[str, str | None] = {}
        self.decoded: Any = None
        self.counted: dict[tuple[str, str], tuple[int, int]] = {}
        self.verdicts = UpdateVerdicts(ratcheting=plan.options.ratcheting)
        self.changes: Changes | None = None
        self.since_collect = 0
        self.rule_time = RuleTime(plan.options.seconds_per_object)
        self.gated = GatedFields(plan.options)
        self.unsealer = make_unsealer(plan.options.encryption_config, plan.options.kms_decryptor)
        command = plan.options.convert_with
        self.converter = ConversionCommand(command) if command else None
        if plan.old:
            self.changes = Changes(plan, self.unsealer, self.program)

    # ---- definitions and programs

    def definition(self, entry: DefinitionEntry) -> CustomResourceDefinition | str:
        """Return the parsed definition, or why no server could use it."""
        found = self.definitions.get(entry.name)
        if found is None:
            try:
                found = parse_definition(self.plan.definitions_file.document(entry), stored=entry.stored)
                if not found.versions:
                    found = f"{entry.name}: spec.versions: no version; expected at least one"
            except auditor.AuditorError as error:
                found = str(error)
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 - its objects are lost by name, and no others
                found = BrokenDefinition(f"{entry.name}: {shown_error(error)}")
            if not isinstance(found, str) and found.name != entry.name:  # what has no name must not pass for another
                found = replace(found, name=entry.name)
            if self.converter is not None and not isinstance(found, str) and found.conversion == "Webhook":
                found = replace(found, webhook=self.converter)
            self.definitions[entry.name] = found
        if type(found) is BrokenDefinition:
            raise EngineError(entry.name, f"the definition cannot be used: {found}")
        return found

    def program(self, definition: CustomResourceDefinition, version: str) -> AuditProgram:
        """Return the program of a definition at a version, built on first use."""
        key = (definition.name, version)
        found = self.programs.get(key)
        if found is None:
            rules = "rules" not in self.plan.options.skip
            found = AuditProgram(definition, definition.versions[version], rules=rules, warm_up=_WARM_UP)
            if found.rule_program is not None:
                found.rule_program.time = self.rule_time
            self.programs[key] = found
        return found

    def storage_of(self, definition: CustomResourceDefinition) -> str | None:
        """Return the name of the storage version of a definition."""
        if definition.name not in self.storages:
            storage = definition.storage_version
            self.storages[definition.name] = None if storage is None else storage.name
        return self.storages[definition.name]

    # ---- judging one value

    def judge(self, definition: CustomResourceDefinition, data: bytes, at: str) -> list[JudgedVersion]:
        """Return what a value is at each version that was asked for."""
        decoded, self.decoded = self.decoded, None
        fallback = self.storage_of(definition) or next(iter(definition.versions))
        if at == "served":
            versions = [version.name for version in definition.served_versions] or [fallback]
            return [self.at_version(definition, name, data) for name in versions]
        if at == "stored":
            own = _own_version(definition, data, decoded)
            return [self.at_version(definition, own or fallback, data, decoded)]
        if at != "storage":
            return [self.at_version(definition, at if at in definition.versions else fallback, data)]
        judged = self.at_version(definition, fallback, data, decoded)
        audited, webhook = judged.audited, judged.by_webhook
        own = audited.stored_version
        is_refused = definition.webhook is not None and not webhook  # what was converted and refused, a LIST fails on
        if audited.unreadable is not None and own in definition.versions and own != fallback and not is_refused:
            second = self.at_version(definition, own, data)
            if second.audited.unreadable is None:
                return [second._replace(by_webhook=webhook)]
        return [judged]

    def at_version(
        self, definition: CustomResourceDefinition, version: str, data: bytes, decoded: Any = None
    ) -> JudgedVersion:
        """Return what a value is at one version."""
        return judged_version(self.program(definition, version).judge(data, decoded), data)

    def saw(
        self, row: _RowHead, definition: CustomResourceDefinition, audited: AuditedObject, outcome: Outcome
    ) -> None:
        """Take notice of an object that was judged: for those who do more with it than an audit."""

    # ---- what an exported object is

    def classify_export(
        self, data: bytes, decoded: Any = None
    ) -> tuple[KeyClass, DefinitionEntry | None, tuple[Any, ...], str | None]:
        """Tell what an exported object is from its own header.

        Args:
            data: The object.
            decoded: What orjson made of it, where that is known.
        """
        document: Any
        try:
            # Handed on, so that a value is decoded once.
            document = decoded = orjson.loads(data) if decoded is None else decoded
            if type(document) is not dict:
                raise orjson.JSONDecodeError("no object", "", 0)  # noqa: TRY301 - the exact decoder names it
        except orjson.JSONDecodeError:
            decoded = None
            try:
                document = jsontext.decode_object(data)
            except jsontext.GoJsonError as error:
                return KeyClass.UNREADABLE, None, (None, None, None, None), str(error)
        self.decoded = decoded
        api, kind = document.get("apiVersion"), document.get("kind")
        metadata = document.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        namespace, name = metadata.get("namespace"), metadata.get("name")
        head_names = (namespace if isinstance(namespace, str) else None, name if isinstance(name, str) else None)
        if not isinstance(api, str) or not isinstance(kind, str):
            return KeyClass.UNREADABLE, None, (None, None, *head_names), "apiVersion or kind is missing"
        group = api.partition("/")[0] if "/" in api else ""
        head = (group, kind, *head_names)
        if group == "apiextensions.k8s.io" and kind == "CustomResourceDefinition":
            return KeyClass.DEFINITION, None, head, None
        entry = self.by_kind.get((group, kind))
        if entry is not None:
            return KeyClass.CUSTOM, entry, head, None
        place = classify((group, kind.lower() + "s", *(part for part in head_names if part)), {})
        if not group or place.status is KeyClass.BUILTIN:
            return KeyClass.BUILTIN, None, head, None
        return KeyClass.ORPHANED, None, head, f"no definition for {kind}.{group}"

    # ---- a shard

    def __call__(self, item: SourceShard) -> ShardResult:
        """Audit one shard: write its part files, return its counts."""
        try:
            convert_ahead(self, item)
            table, values = self.source(item.source)
        except auditor.base.errors.ChangedDump as error:
            return self.lost(item, str(error))
        shard = item.shard
        source = self.plan.sources[item.source]
        rows = table.slice(shard.start, shard.stop - shard.start)
        writer = self.writer(source.name, shard.number, rows, is_export=source.is_export)
        writer.table = table
        writer.result.bytes = item.bytes
        add = writer.add if self.has_lanes(writer) else writer.add_slowly
        keys, revisions = (_listed(rows[name]) for name in ("key", "mod_revision"))
        self.rule_time.left = rule_seconds(item.bytes)
        until = self.plan.options.until
        failed: dict[int, Exception] = {}
        for at, key, revision, data in zip(range(len(rows)), keys, revisions, cut_values(rows, values), strict=True):
            if until and time() > until:
                writer.out_of_time(at, key, revision)
                continue
            try:
                add(at, key, revision, data)
            except Exception as error:  # noqa: BLE001 - the audit goes on; its row names the object
                failed[at] = error
        self.since_collect += len(rows)
        if self.since_collect > 100_000:
            self.since_collect = 0
            gc.collect()
        if not is_at_rest(source):
            self.forget_counts()
            return self.lost(item, f"{source.name}: {CHANGED}")
        if not failed:
            try:
                return writer.finish()
            except Exception as error:
                if isinstance(error, OSError):  # no room, no right to write: that is no fault of an object
                    raise
        from auditor.shards.apart import audit_apart  # noqa: PLC0415 - only on failure

        return audit_apart(self, item, failed)

    def forget_counts(self) -> None:
        """Forget what was counted since the last shard that was finished."""
        self.unsealer.counts.clear()
        for key, program in self.programs.items():
            self.counted[key] = (program.proven, program.total - min(program.total, program.warm_up))

    def lost(self, item: SourceShard, why: str) -> ShardResult:
        """Write the rows of a shard that cannot be audited: every key is there, unreadable, with the reason."""
        self.begin()
        source = self.plan.sources[item.source]
        rows = open_live(source).slice(item.shard.start, item.shard.stop - item.shard.start)
        writer = self.writer(source.name, item.shard.number, rows, is_export=source.is_export)
        reason = f"not audited: {why}"
        columns = (rows[name].to_pylist() for name in ("key", "mod_revision"))
        for at, (key, revision) in enumerate(zip(*columns, strict=True)):
            row = _RowHead(at, key, revision, b"")
            if key is not None:
                writer.place(row)
            audited = AuditedObject()
            writer.object_row(row, audited, writer.simple_standing(row, audited, Status.UNREADABLE, (), None), reason)
        writer.result.note_lost(f"shard {item.shard.number}: {reason}")
        writer.result.bytes = item.bytes
        return writer.finish()

    def begin(self) -> None:
        """Forget what `saw` has noticed: the shard is audited anew."""

    def writer(self, source: str, number: int, live: Any, *, is_export: bool) -> _ShardWriter:
        """Return what writes the rows of a shard."""
        return _ShardWriter(self, source, number, live, is_export=is_export)

    def has_lanes(self, writer: _ShardWriter) -> bool:
        """Whether objects may take the short way: nothing is asked but what the columns of a row tell."""
        return (
            self.plan.options.scope.is_everything
            and self.changes is None
            and self.unsealer.config is None
            and writer.at != "served"
            and type(self).saw is ShardAuditor.saw
        )

    def source(self, number: int) -> tuple[Any, Any]:
        """Return the mapped (live table, values) of a source."""
        found = self.sources.get(number)
        if found is None:
            plan = self.plan.sources[number]
            found = self.sources[number] = (open_live(plan), open_values(plan))
        return found


def _listed(column: pa.ChunkedArray) -> Iterable[Any]:
    """Return the values of a column; in exports there are no keys and no revisions."""
    return repeat(None, len(column)) if column.null_count == len(column) else column.to_pylist()


def _own_version(definition: CustomResourceDefinition, data: bytes, decoded: Any = None) -> str | None:
    try:
        document = jsontext.decode(data) if decoded is None else decoded
    except jsontext.GoJsonError:
        return None
    api = document.get("apiVersion") if isinstance(document, dict) else None
    return own_version(definition, api) if isinstance(api, str) else None


class JudgedVersion(NamedTuple):
    """What a value is at one version.

    Attributes:
        audited: The object.
        by_webhook: Whether only a conversion webhook could have read it at some version that was asked for.
        effect: The impact of what the read did to its metadata; empty: none.
    """

    audited: AuditedObject
    by_webhook: bool
    effect: str


def judged_version(judgement: Judgement, data: bytes) -> JudgedVersion:
    """Return what a program says of a value, with the effect on its metadata where the program does not know it."""
    audited, effect = judgement.audited, judgement.effect
    if audited.object is None:
        effect = ""
    elif effect is None:
        effect = effect_of(data, audited.object)
    return JudgedVersion(audited, needs_webhook(audited), effect)


class Standing(NamedTuple):
    """Where an object stands: the number of its class of rows, and its impacts."""

    number: int
    impacts: tuple[Impact, ...]


_NO_REQUEST: Final = " (no API request reaches this key: only `etcdctl del` removes it)"
_LISTED: Final = (KeyClass.MISPLACED, KeyClass.BUILTIN, KeyClass.DEFINITION)
_IMPACTS_OF: Final = {Status.UNREADABLE: None, Status.SEALED: Impact.UNKNOWN}
"""Impact of a key that is not judged, by its status; of all other statuses it is none."""


class _ShardWriter:
    """Rows of one shard, and its counts."""

    def __init__(self, owner: ShardAuditor, source: str, number: int, live: Any, *, is_export: bool) -> None:
        self.owner = owner
        self.is_export = is_export
        self.at = owner.plan.options.at_of_exports if is_export else owner.plan.options.at
        self.cluster = owner.plan.options.cluster or None
        self.source = source
        meta = {
            "tool": auditor.__version__,
            "release": auditor.KUBERNETES_RELEASE,
            "crds": owner.plan.crds_sha256,
        }
        self.objects = ObjectRows(tables.with_metadata(tables.OBJECTS, **meta), live)
        self.found = FoundRows(tables.with_metadata(tables.FINDINGS, **meta), self.objects)
        self.index = IndexBuilder(owner, self.cluster, source, meta, live)
        self.result = ShardResult(number)
        self.table = live
        self.lanes = Lanes(self)
        self.builtins = BuiltinRows(self)
        self.late = 0
        self._standings: dict[tuple[Any, ...], Standing] = {}

    def place(self, row: _RowHead, decoded: Any = None) -> tuple[KeyClass, DefinitionEntry | None, str | None]:
        """Tell what a live key is: fill the names of its row, return (status, definition entry, reason)."""
        owner = self.owner
        entry: DefinitionEntry | None
        if row.key is None:
            status, entry, head, reason = owner.classify_export(row.data, decoded)
            row.group, row.kind, row.namespace, row.name = head
            row.plural = entry.plural if entry else None
            return status, entry, reason
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
        """Write the rows of one live key, in its lane where it has one."""
        lanes = self.lanes
        obj: Any = None
        lane = lanes.typed
        if lane is not None:
            place = None if key is None else lane.place_of(key)
            if (key is None or place is not None) and lane.add_typed(at, data, place):
                return
        if data[:4] == PROTOBUF_MAGIC and key is not None and self.builtins.add(at, key, data):
            return
        try:
            obj = orjson.loads(data)
            place = None
            if key is None:
                lane = lanes.of_export(obj)
            else:
                lane, place = lanes.of_key(key, obj)
        except orjson.JSONDecodeError:
            lane = None
        lanes.typed = lane if lane is not None and lane.has_typed() else None
        if lane is None:
            self.add_slowly(at, key, revision, data, obj)
            return
        judgement = lane.add(at, data, obj, place)
        if judgement is not None and not lane.add_told(at, key, revision, data, judgement, place):
            row = _RowHead(at, key, revision, data)
            row.group, row.plural, row.kind = lane.entry.group, lane.entry.plural, lane.entry.kind
            row.namespace, row.name = place or names_of({}, data)
            self.unread(row, lane.definition, judgement)

    def unread(self, row: _RowHead, definition: CustomResourceDefinition, judgement: Judgement) -> None:
        """Write the rows of an object that its lane could not read."""
        owner = self.owner
        owner.decoded = None
        if self.at == "storage":
            self.custom(row, definition)  # perhaps it can be read at its own version
        else:
            self.rows_of(row, definition, [judged_version(judgement, row.data)])

    def add_slowly(self, at: int, key: bytes | None, revision: int | None, data: bytes, decoded: Any = None) -> None:
        """Classify one live key and write its rows."""
        row = _RowHead(at, key, revision, data)
        owner = self.owner
        owner.decoded = None
        status, entry, reason = self.place(row, decoded)
        scope = owner.scope
        if not scope.has_kind(row.group or "", row.kind or "", row.plural or "") or (
            scope.namespace and row.namespace != scope.namespace
        ):
            self.result.out_of_scope += 1
            return
        if row.key is not None and (owner.unsealer.config is not None or row.data[:4] == b"k8s:"):
            opened = owner.unsealer.open(row.key, resource_of(row.place), row.data)
            if opened.data is None:
                self.simple(row, Status.SEALED if opened.lacks_key else Status.UNREADABLE, opened.reason)
                return
            row.data = opened.data
        if status is KeyClass.DEFINITION:
            self.defined(row)
            return
        if status is KeyClass.BUILTIN:
            self.builtins.add_row(row)
            return
        if entry is None or not status.is_custom:
            self.simple(row, Status(status), reason)
            return
        definition = owner.definition(entry)
        if isinstance(definition, str):
            self.simple(row, Status.UNSERVED, definition)
            return
        if not definition.established:
            self.simple(row, Status.UNSERVED, f"{definition.name} is not established: the server answers 404")
            return
        if status is KeyClass.MISPLACED:
            self.misplaced(row, definition, reason)
            return
        self.custom(row, definition)

    def misplaced(self, row: _RowHead, definition: CustomResourceDefinition, reason: str | None) -> None:
        """Write the row of a key below those of a kind that fits no object of it: only a LIST reads it.

        Args:
            row: The row of the key.
            definition: The definition of the kind.
            reason: Why the key fits no object.
        """
        audited, webhook, _ = self.owner.judge(definition, row.data, "storage")[0]
        if audited.unreadable is not None:
            impacts = impacts_of(audited, namespaced=definition.namespaced)
            status = Status.NEEDS_CONVERSION if webhook else Status.UNREADABLE
            self.simple(row, status, audited.unreadable.reason, impacts)
        elif fault := cache_key_fault(audited.object, namespaced=definition.namespaced):
            self.simple(row, Status.UNREADABLE, f"couldn't compute key: {fault}")
        else:
            self.simple(row, Status.OTHER, reason)

    def out_of_time(self, at: int, key: bytes | None, revision: int | None) -> None:
        """Write the row of a key for which the run had no time left."""
        row = _RowHead(at, key, revision, b"")
        if key is not None:
            self.place(row)
        audited = AuditedObject()
        self.object_row(row, audited, self.simple_standing(row, audited, Status.UNREADABLE, (), None), NO_TIME)
        self.late += 1

    def simple(self, row: _RowHead, status: Status, reason: str | None, impacts: tuple[Impact, ...] = ()) -> None:
        """Write the row of a key that is not judged.

        Args:
            row: The row of the key.
            status: Its status.
            reason: Why it was not judged.
            impacts: What is known of them; unreadable keys break lists without that.
        """
        is_somewhere = row.key is not None or row.kind  # a manifest without a kind breaks nothing: it stands at no key
        if status is Status.UNREADABLE and is_somewhere:
            impacts = impacts or (Impact.BREAKS_LIST,)
        impact = impacts[0] if impacts else _IMPACTS_OF.get(status, Impact.NONE)
        audited = AuditedObject()
        self.object_row(row, audited, self.simple_standing(row, audited, status, impacts, impact), reason)

    def defined(self, row: _RowHead) -> None:
        """Write the row of a definition: rules of it that do not compile are findings, for they break its objects."""
        if self.is_torn(row):
            self.builtins.add_row(row)
            return
        found: list[Finding] = []
        try:
            if b'"x-kubernetes-validations"' in row.data and self.has_objects(row):
                found = broken_rules(parse_definition(jsontext.decode(row.data)))
        except (auditor.AuditorError, jsontext.GoJsonError):
            found = []
        audited = AuditedObject(findings=tuple(found))
        self.object_row(row, audited, self.simple_standing(row, audited, Status.DEFINITION, (), Impact.NONE), None)
        for finding in found:
            self.found.add(len(self.objects) - 1, finding, NOTHING_TOLD)

    def is_torn(self, row: _RowHead) -> bool:
        """Whether a server does not decode a definition; one that the plan could use it does."""
        if row.key is None or self.builtins.is_skipped:
            return False
        if self.builtins.judged(row).status is Status.BUILTIN:
            return False
        entry = self.owner.by_name.get(row.name or "")
        return entry is None or isinstance(self.owner.definition(entry), str)

    def has_objects(self, row: _RowHead) -> bool:
        """Whether a definition has live keys in this dump; without any, its rules are not worth compiling."""
        entry = self.owner.by_name.get(row.name or "")
        if row.key is None or entry is None:
            return True
        return has_objects(self.table["key"], entry, self.owner.plan.options.etcd_prefix)

    def custom(self, row: _RowHead, definition: CustomResourceDefinition) -> None:
        """Judge a custom resource and write all its rows."""
        owner = self.owner
        data, before = row.data, None
        if owner.changes is not None:
            before = owner.changes.before(definition, row.namespace, row.name, is_manifest=row.key is None)
            if before is not None and row.key is None:
                data, owner.decoded = owner.changes.applied(definition, before, data), None
        self.rows_of(row, definition, owner.judge(definition, data, self.at), before)

    def rows_of(
        self,
        row: _RowHead,
        definition: CustomResourceDefinition,
        judged: list[JudgedVersion],
        before: Before | None = None,
    ) -> None:
        """Write all rows of a custom resource that was judged."""
        owner = self.owner
        if not owner.scope.has_object(judged[0].audited):
            self.result.out_of_scope += 1
            return
        if owner.changes is not None:
            self.result.changes["updated" if before is not None else "created"] += 1
        gated = owner.gated.of(definition, row.data)  # told once, at the first version
        for audited, webhook, effect in judged:
            reason = None if audited.unreadable is None else audited.unreadable.reason
            outcome = self.outcome(row, audited, definition, before)
            metadata = audited.object.get("metadata") if audited.object is not None else None
            metadata = metadata if isinstance(metadata, dict) else {}
            row.uid = metadata.get("uid")
            if row.key is None:
                row.namespace, row.name = metadata.get("namespace", row.namespace), metadata.get("name", row.name)
            at = (definition.name, audited.audited_version or "")
            program = owner.programs.get(at)
            gave_up = outcome.gave_up or (program is not None and program.gave_up(audited.unevaluated_rules))
            if gave_up:
                reason = RULES_GIVEN_UP
                self.result.note_given_up(at, [object_name(row.key, row.namespace, row.name)])
            standing = self.standing(row, definition, audited, webhook, effect, metadata, outcome, gave_up=gave_up)
            self.object_row(row, audited, standing, reason, outcome)
            number = len(self.objects) - 1
            for finding, told in outcome.rows(audited):
                self.found.add(number, finding, told)
            for finding in gated:
                self.found.add(number, finding, NOTHING_TOLD)
            gated = []
            if program is None or program.total <= program.warm_up:
                self.result.interpreted[at] += 1
            elif audited.unreadable is None and not audited.findings:
                self.result.valid[at] += 1
            if audited.unevaluated_rules:
                self.result.unevaluated[at] += 1
            owner.saw(row, definition, audited, outcome)
        stored = judged[0].audited.stored_version
        if stored is not None and not self.is_export:
            self.result.stored[(definition.name, stored)] += 1
        self.index.add(definition, row.at, row.data, [one.audited for one in judged])

    def outcome(
        self, row: _RowHead, audited: AuditedObject, definition: CustomResourceDefinition, before: Before | None
    ) -> Outcome:
        """Judge the updates of an object; where an export keeps it, its metadata are its key."""
        if audited.object is None or not self.owner.plan.options.judges_updates:
            return NOT_ASKED
        if self.owner.changes is not None:
            if before is None:
                return NOT_ASKED
            program = self.owner.program(definition, audited.audited_version or "")
            place = None if row.key is None else (row.namespace, row.name)
            return self.owner.changes.outcome(program, audited, before, place)
        place = (row.namespace, row.name)
        if row.key is None:
            metadata = audited.object.get("metadata") or {}
            place = (metadata.get("namespace"), metadata.get("name"))
        program = self.owner.program(definition, audited.audited_version or "")
        return self.owner.verdicts.judge(program, audited, row.data, place, row.revision, is_export=row.key is None)

    def standing(
        self,
        row: _RowHead,
        definition: CustomResourceDefinition,
        audited: AuditedObject,
        webhook: bool,
        effect: str,
        metadata: JsonObject,
        outcome: Outcome,
        *,
        gave_up: bool = False,
    ) -> Standing:
        """Return where a judged object stands: objects of which the same facts hold stand alike."""
        verdict = outcome.verdict
        is_deleting, is_invalid = "deletionTimestamp" in metadata, bool(audited.findings)
        facts = (
            *(definition.name, row.plural, audited.audited_version, audited.stored_version, effect, is_deleting),
            *(is_invalid, outcome.is_known, None if verdict is None else verdict.impacts),
            *(not audited.pruned, not audited.defaulted, gave_up),
            bool(cache_key_fault(audited.object, namespaced=definition.namespaced)),
        )
        found = self._standings.get(facts) if audited.unreadable is None else None
        if found is None:
            names = (row.group, row.plural, row.kind)
            found = self.new_standing(names, definition, audited, effect, outcome, webhook=webhook, gave_up=gave_up)
            if audited.unreadable is None:
                self._standings[facts] = found
        return found

    def new_standing(
        self,
        names: tuple[str | None, str | None, str | None],
        definition: CustomResourceDefinition,
        audited: AuditedObject,
        effect: str,
        outcome: Outcome,
        *,
        webhook: bool = False,
        gave_up: bool = False,
    ) -> Standing:
        """Return where a judged object stands, worked out from the object.

        Args:
            names: Group, plural and kind.
            definition: What owns it.
            audited: The object.
            effect: What became of its metadata.
            outcome: What updates come to.
            webhook: Whether only a webhook could have read it.
            gave_up: Whether its rules took too much time or memory.
        """
        impacts = impacts_of(audited, namespaced=definition.namespaced, by_webhook=webhook, metadata=effect)
        impacts = outcome.merge(impacts)
        is_invalid = bool(audited.findings)
        status = Status.INVALID if is_invalid else Status.VALID
        deleting = None
        if audited.unreadable is not None:
            status = Status.NEEDS_CONVERSION if webhook else Status.UNREADABLE
        elif audited.object is not None:
            deleting = "deletionTimestamp" in (audited.object.get("metadata") or ())
        impact = worst(impacts, invalid=is_invalid and not outcome.is_known)
        if gave_up and impact in (Impact.NONE, Impact.TOLERATED):
            impact = Impact.UNKNOWN
        number = self.class_of(names, audited, (status, impact, impacts), definition, deleting=deleting)
        return Standing(number, impacts)

    def simple_standing(
        self, row: _RowHead, audited: AuditedObject, status: Status, impacts: tuple[Impact, ...], impact: Impact | None
    ) -> Standing:
        """Return where a key stands whose value was not judged."""
        names = (row.group, row.plural, row.kind)
        return Standing(self.class_of(names, audited, (status, impact, impacts), None, deleting=None), impacts)

    def object_row(
        self,
        row: _RowHead,
        audited: AuditedObject,
        standing: Standing,
        reason: str | None,
        outcome: Outcome = NOT_ASKED,
    ) -> None:
        """Write the row of a key.

        Args:
            row: Whose it is.
            audited: What came of its value.
            standing: Where it stands.
            reason: Why it could not be read or judged.
            outcome: What updates come to.
        """
        self.result.rows += 1
        if standing.impacts:
            kind, place = (row.group or "", row.kind or row.plural or ""), (row.namespace, row.name)
            place_ = row.place  # one with a reason fits no object of its kind
            advice = _NO_REQUEST if place_ is not None and place_.status in _LISTED and place_.reason else ""
            self.alarm(kind, row.key, place, standing.impacts, f"{reason or ''}{advice}", outcome.why_stuck)
        self.objects.append(
            (
                row.at,
                standing.number,
                row.namespace,
                row.name,
                row.uid if type(row.uid) is str else None,
                reason,
                len(audited.findings),
                audited.pruned,
                audited.defaulted,
                *outcome.codes,
                len(row.stored),
                sha256(row.stored).hexdigest(),
            )
        )

    def alarm(
        self,
        kind: Kind,
        key: bytes | None,
        place: tuple[str | None, str | None],
        impacts: tuple[Impact, ...],
        reason: str = "",
        why_stuck: str = "",
    ) -> None:
        """Keep the first object of a kind that breaks its lists or worse, and the first that cannot be deleted.

        Args:
            kind: The kind.
            key: The key of the object.
            place: Its namespace and name, by which it is called where it has no key.
            impacts: Its impacts.
            reason: Why it could not be read.
            why_stuck: What the server says to the end of its deletion.
        """
        is_breaking, is_stuck = impacts[0].is_breaking, Impact.BLOCKS_DELETE in impacts
        if is_breaking or is_stuck:
            called = object_name(key, *place)
            if is_breaking:
                self.result.note_breaking(kind, (called, reason, impacts[0]))
            if is_stuck:
                self.result.stuck.setdefault(kind, (called, why_stuck))

    def class_of(
        self,
        names: tuple[str | None, str | None, str | None],
        audited: AuditedObject,
        standing: tuple[Status, Impact | None, tuple[Impact, ...]],
        definition: CustomResourceDefinition | None,
        *,
        deleting: bool | None,
    ) -> int:
        """Return the number of the class of rows that an object belongs to.

        Args:
            names: Group, plural and kind.
            audited: The object.
            standing: Its status, impact and impacts.
            definition: What owns it; None: it is no custom resource that was judged.
            deleting: Whether it is being deleted; None: not known.
        """
        stored = None if self.is_export else audited.stored_version
        is_storage = None
        if definition is not None and stored is not None:
            storage = self.owner.storage_of(definition)
            is_storage = storage is not None and storage == stored
        return self.objects.class_of(
            (self.cluster, self.source, *names, stored, audited.audited_version, *standing, is_storage, deleting)
        )

    def broken(self, row: _RowHead, error: Exception) -> None:
        """Write the row of a value that broke the auditor itself."""
        with suppress(Exception):
            if row.key is None and isinstance(error, WorkerLost | MemoryError):
                row.take_names()  # what could not be decoded once is not tried again
            else:
                self.place(row)
        reason = f"the auditor failed on this value ({shown_error(error)}); please report it"
        if isinstance(error, MemoryError):
            reason = "not audited: it needs more memory than there is (--memory)"
        if isinstance(error, TooMuchToReport):
            reason = f"not audited: {error}"
        if isinstance(error, WorkerLost):
            reason = f"not audited: worker lost ({error.found})"
        audited = AuditedObject(unreadable=Unreadable(reason, Origin(self.source)))
        self.object_row(row, audited, self.simple_standing(row, audited, Status.UNREADABLE, (), None), reason)
        name = row.text_key or "/".join(part for part in (row.namespace, row.name) if part) or f"value {row.at}"
        kind = ".".join(part for part in (row.kind or row.plural, row.group) if part)
        self.result.note_lost(f"{kind} {name}: {reason}" if row.key is None and kind else f"{name}: {reason}")

    def finish(self) -> ShardResult:
        """Write the part files; return the counts."""
        if self.late:
            self.result.note_lost(f"shard {self.result.number}: {self.late} keys: {NO_TIME}")
            self.late = 0
        for (name, version), lane in self.lanes.lanes.items():
            lane.settle()
            count = sum(lane.stored.values())
            self.result.rows += count
            self.result.valid[(name, version)] += count - lane.interpreted - lane.invalid
            if lane.interpreted:
                self.result.interpreted[(name, version)] += lane.interpreted
            if lane.unevaluated:
                self.result.unevaluated[(name, version)] += lane.unevaluated
            if not self.is_export:
                self.result.stored.update(
                    {(name, stored): n for stored, n in lane.stored.items() if stored is not None}
                )
        for (kind, check, path, type_), count in self.found.counts():
            self.result.findings[(kind, check, plain_path(path), type_)] += count
        del self.lanes  # which know this writer: without a collector the rows of the shard would stay
        self.result.encrypted.update(self.owner.unsealer.counts)
        self.owner.unsealer.counts.clear()
        for (name, version), program in self.owner.programs.items():
            before = self.owner.counted.get((name, version), (0, 0))
            now = (program.proven, program.total - min(program.total, program.warm_up))
            self.result.proven[(name, version, True)] += now[0] - before[0]
            self.result.proven[(name, version, False)] += (now[1] - now[0]) - (before[1] - before[0])
            self.owner.counted[(name, version)] = now
        for shared, count in self.objects.counts():
            kind = (shared["group"] or "", shared["kind"] or shared["plural"] or "")
            self.result.statuses[(kind, shared["status"])] += count
            for impact in {*shared["impacts"], shared["impact"]} - {None}:
                self.result.impacts[(kind, impact)] += count
        name = part_name(self.result.number)
        objects = self.objects.table()
        write_parquet(objects, self.owner.parts / "objects" / name)
        if len(self.found):
            write_parquet(self.found.table(objects), self.owner.parts / "findings" / name)
        self.index.write(self.owner.parts / "index", name)
        return self.result


class _RowHead:
    """Identity of one row while it is being made; `at` is its position in the shard."""

    __slots__ = ("at", "data", "group", "key", "kind", "name", "namespace", "place", "plural", "revision", "stored",
                 "uid")  # fmt: skip

    def __init__(self, at: int, key: bytes | None, revision: int | None, data: bytes) -> None:
        self.at = at
        self.key = key
        self.revision = revision
        self.data = self.stored = data
        self.place: Any = None
        self.group: str | None = None
        self.plural: str | None = None
        self.kind: str | None = None
        self.namespace: str | None = None
        self.name: str | None = None
        self.uid: Any = None

    def take_names(self) -> None:
        """Fill the names from the header of the object, of which nothing else is decoded."""
        header = fast_header(self.data)
        if header is not None:
            self.group, self.kind = header.group, header.kind or None
            self.namespace, self.name = header.namespace or None, header.name or None

    @property
    def text_key(self) -> str | None:
        """The key as text; None: it has none."""
        return None if self.key is None else printable_key(self.key)


def setup(plan: Plan, parts: str) -> Callable[[SourceShard], ShardResult]:
    """Make a worker ready: no garbage collection (JSON trees hold no cycles), files are opened on demand."""
    gc.disable()
    bound_worker(plan.options.memory, plan.options.jobs)
    return ShardAuditor(plan, parts)


def forget_parts(parts: Path, number: int) -> None:
    """Remove what was written of a shard."""
    for left in parts.rglob(part_name(number)):
        left.unlink()


def lost_shard(item: SourceShard, error: Exception, *, plan: Plan, parts: str) -> ShardResult:
    """Write the rows of a shard whose worker died twice: every key is there, unreadable, with the reason."""
    forget_parts(Path(parts), item.shard.number)  # of what the dead worker had found
    why = f"worker lost ({error})" if isinstance(error, WorkerLost) else shown_error(error)
    return ShardAuditor(plan, parts).lost(item, why)
