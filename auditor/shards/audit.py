"""Stages 2 and 3: audits a Shard into part files and counts.

Runs in a worker, independent of other workers. If an object makes the auditor fail, its row is unreadable and names it;
all others are judged.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import orjson

import auditor
from auditor.base.disk_cache import use_cache
from auditor.base.errors import EngineError, ProofRefuted, WorkerLost
from auditor.base.statuses import KeyClass
from auditor.codegen import keep_code
from auditor.crds.definition import parse_definition
from auditor.crds.definitions_file import encode_definition
from auditor.crds.kept import parse_text
from auditor.golang import jsontext
from auditor.golang.regex.compiled import MATCH_TIME
from auditor.plan.dumps import CHANGED, cut_values, is_at_rest, open_live, open_values
from auditor.plan.limits import bound_worker, pattern_seconds, rule_seconds
from auditor.program.conversion_command import ConversionCommand
from auditor.program.prepared import PREPARED, Prepared
from auditor.program.program import AuditProgram
from auditor.program.proof_check import ProofCheck
from auditor.releases import active, find_release, running_as
from auditor.shards.columns import part_name
from auditor.shards.conversions import convert_ahead
from auditor.shards.fast_path import own_version
from auditor.shards.gates import GatedFields
from auditor.shards.index_folders import folders_of
from auditor.shards.previous import Changes
from auditor.shards.result import ShardResult, shown_error
from auditor.shards.row_writer import JudgedVersion, PartFiles, RowHead, RowWriter, judged_version
from auditor.shards.shard_keys import Scope, ShardKeys
from auditor.shards.updates import Outcome, UpdateVerdicts
from auditor.sources.encryption import make_unsealer
from auditor.sources.registry_key import classify
from auditor.validation.rules import RuleTime
from auditor.validation.rules.compile import compile_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.plan import Plan, SourceShard
    from auditor.validation.rules.compile import RuleNode

__all__ = ["Observer", "ShardAuditor", "forget_parts", "lost_shard", "setup"]

_WARM_UP: Final = 4
"""Number of first objects of a kind that the reference judges: generating code for fewer takes longer than it saves."""


class Observer(Protocol):
    """Receives each judged object, besides the rows that are written of it."""

    def begin(self) -> None:
        """Forget the objects of the shard, which is audited again."""

    def rejudged(
        self, definition: CustomResourceDefinition, data: bytes, judged: list[JudgedVersion]
    ) -> list[JudgedVersion]:
        """Return the judgement to count for an object, if it differs from that of its value."""

    def on_judged(
        self, row: RowHead, definition: CustomResourceDefinition, judged: JudgedVersion, outcome: Outcome
    ) -> None:
        """Receive a judged object."""


class ExportedObject(NamedTuple):
    """An object of an export, classified by its own header.

    Attributes:
        status: Its class.
        entry: The definition of its kind, or None.
        reason: Why it is unreadable or has no definition.
        decoded: The document that orjson decoded from it; None if only the exact decoder reads it.
    """

    status: KeyClass
    entry: DefinitionEntry | None = None
    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    reason: str | None = None
    decoded: Any = None


class BrokenDefinition(str):
    """Raised if the auditor itself fails on a definition."""

    __slots__ = ()


class ShardAuditor:
    """Audits shards, one after another; builds programs on first use and reuses them.

    Args:
        plan: The plan of the run.
        parts: Folder of the part files.
        sink: Receives the rows of a shard; if None, they are written to part files.
        observer: Receives each judged object, or None.
        documents: Returns the document of a definition; if None, the file of the plan is read.
        prepared: Cache of parsed definitions and programs, or None.
    """

    def __init__(
        self,
        plan: Plan,
        parts: str,
        *,
        sink: PartFiles | None = None,
        observer: Observer | None = None,
        documents: Callable[[DefinitionEntry], JsonObject] | None = None,
        prepared: Prepared | None = None,
    ) -> None:
        self.plan = plan
        self.release = find_release(plan.options.kubernetes)
        self.parts = Path(parts)
        self.sink = sink or PartFiles()
        self.observer = observer
        self.has_documents = documents is not None
        self.documents = documents or plan.definitions_file.document
        self.prepared = prepared
        self.scope = Scope(plan)
        self.entries = {(entry.group, entry.plural): entry for entry in plan.entries}
        self.by_kind = {(entry.group, entry.kind): entry for entry in plan.entries}
        self.by_name = {entry.name: entry for entry in plan.entries}
        self.folders = folders_of(plan)
        self.scopes = {key: entry.namespaced for key, entry in self.entries.items()}
        self.definitions: dict[str, CustomResourceDefinition | str] = {}
        self.programs: dict[tuple[str, str], AuditProgram] = {}
        self.sources: dict[int, tuple[Any, Any]] = {}
        self.storages: dict[str, str | None] = {}
        self.counted: dict[tuple[str, str], tuple[int, int]] = {}
        self.verdicts = UpdateVerdicts(ratcheting=plan.options.ratcheting)
        self.changes: Changes | None = None
        self.since_collect = 0
        self.rule_time = RuleTime(plan.options.seconds_per_object)
        self.proofs = ProofCheck(plan.options.verify_proven)
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
                found = self._parse(entry)
                if not found.versions:
                    found = f"{entry.name}: spec.versions: no version; expected at least one"
            except auditor.AuditorError as error:
                found = str(error)
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 - its objects are lost by name, and no others
                found = BrokenDefinition(f"{entry.name}: {shown_error(error)}")
            if not isinstance(found, str) and found.name != entry.name:  # a document may lack a name
                found = replace(found, name=entry.name)
            if self.converter is not None and not isinstance(found, str) and found.conversion == "Webhook":
                found = replace(found, webhook=self.converter)
            self.definitions[entry.name] = found
        if type(found) is BrokenDefinition:
            raise EngineError(entry.name, f"the definition cannot be used: {found}")
        return found

    def _parse(self, entry: DefinitionEntry) -> CustomResourceDefinition:
        if self.prepared is not None:
            return self.prepared.definition(self.documents(entry), stored=entry.stored)
        if self.has_documents:
            return parse_definition(self.documents(entry), stored=entry.stored)
        return parse_text(self.plan.definitions_file.text(entry), stored=entry.stored)

    def is_usable(self, entry: DefinitionEntry) -> bool:
        """Return whether objects can be judged by a definition."""
        try:
            return not isinstance(self.definition(entry), str)
        except EngineError:
            return False

    def is_document(self, entry: DefinitionEntry, document: JsonObject) -> bool:
        """Return whether a document is the one that the plan has for a definition."""
        return not self.has_documents and self.plan.definitions_file.text(entry) == encode_definition(document)

    def compiled_rules(self, definition: CustomResourceDefinition, version: str) -> RuleNode | None:
        """Return the compiled rules of a version, or None if it has none."""
        if "rules" in self.plan.options.skip:
            return compile_rules(definition.versions[version].structural)
        rules = self.program(definition, version).rule_program
        return None if rules is None else rules.root

    def program(self, definition: CustomResourceDefinition, version: str) -> AuditProgram:
        """Return the program of a definition at a version, built on first use."""
        key = (definition.name, version)
        found = self.programs.get(key)
        if found is None:
            rules = "rules" not in self.plan.options.skip
            found = None if self.prepared is None else self.prepared.program(definition, version, rules=rules)
            if found is None:
                found = AuditProgram(definition, definition.versions[version], rules=rules, warm_up=_WARM_UP)
                if self.prepared is not None:
                    self.prepared.keep(found, rules=rules)
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

    def judge(
        self, definition: CustomResourceDefinition, data: bytes, at: str, decoded: Any = None
    ) -> list[JudgedVersion]:
        """Return the judgement of an object at each requested version, after the observer; see `judge_alone`."""
        judged = self.judge_alone(definition, data, at, decoded)
        return judged if self.observer is None else self.observer.rejudged(definition, data, judged)

    def judge_alone(
        self, definition: CustomResourceDefinition, data: bytes, at: str, decoded: Any = None
    ) -> list[JudgedVersion]:
        """Return the judgement of a value at each requested version.

        Args:
            definition: The definition of its kind.
            data: The value.
            at: The version at which it is judged: storage, stored, served, or a name.
            decoded: The document that orjson decoded from it, if the caller has it; it is changed in place.
        """
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
        is_refused = definition.webhook is not None and not webhook  # a LIST fails on it
        if audited.unreadable is not None and own in definition.versions and own != fallback and not is_refused:
            second = self.at_version(definition, own, data)
            if second.audited.unreadable is None:
                return [second._replace(by_webhook=webhook)]
        return [judged]

    def at_version(
        self, definition: CustomResourceDefinition, version: str, data: bytes, decoded: Any = None
    ) -> JudgedVersion:
        """Return the judgement of a value at one version."""
        if active() is not self.release:  # two auditors of one scan may be of two releases
            with running_as(self.release):
                return self.at_version(definition, version, data, decoded)
        program = self.program(definition, version)
        judgement = program.judge(data, decoded)
        judged = judged_version(judgement, data)
        self.proofs.verify(program, data, judgement, judged.effect)
        return judged

    # ---- classifying exported objects

    def classify_export(self, data: bytes, decoded: Any = None) -> ExportedObject:
        """Classify an exported object by its own header.

        Args:
            data: The object.
            decoded: The document that orjson decoded from it, if the caller has it.
        """
        document: Any
        try:
            # Passed on, so that a value is decoded once.
            document = decoded = orjson.loads(data) if decoded is None else decoded
            if type(document) is not dict:
                raise orjson.JSONDecodeError("no object", "", 0)  # noqa: TRY301 - the exact decoder names it
        except orjson.JSONDecodeError:
            decoded = None
            try:
                document = jsontext.decode_object(data)
            except jsontext.GoJsonError as error:
                return ExportedObject(KeyClass.UNREADABLE, reason=str(error))
        api, kind = document.get("apiVersion"), document.get("kind")
        metadata = document.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        namespace, name = metadata.get("namespace"), metadata.get("name")
        namespace = namespace if isinstance(namespace, str) else None
        name = name if isinstance(name, str) else None
        found = ExportedObject(KeyClass.UNREADABLE, None, None, None, namespace, name, None, decoded)
        if not isinstance(api, str) or not isinstance(kind, str):
            return found._replace(reason="apiVersion or kind is missing")
        group = api.partition("/")[0] if "/" in api else ""
        found = found._replace(group=group, kind=kind)
        if group == "apiextensions.k8s.io" and kind == "CustomResourceDefinition":
            return found._replace(status=KeyClass.DEFINITION)
        entry = self.by_kind.get((group, kind))
        if entry is not None:
            return found._replace(status=KeyClass.CUSTOM, entry=entry)
        place = classify((group, kind.lower() + "s", *(part for part in (namespace, name) if part)), {})
        if not group or place.status is KeyClass.BUILTIN:
            return found._replace(status=KeyClass.BUILTIN)
        return found._replace(status=KeyClass.ORPHANED, reason=f"no definition for {kind}.{group}")

    # ---- a shard

    def __call__(self, item: SourceShard) -> ShardResult:
        """Audit one shard as the release of the plan: write its part files, return its counts."""
        with running_as(self.release):
            result = self._audit(item)
        keep_code()
        return result

    def _audit(self, item: SourceShard) -> ShardResult:
        try:
            convert_ahead(self, item)
            table, values = self.source(item.source)
        except auditor.base.errors.ChangedDump as error:
            return self.lost(item, str(error))
        shard = item.shard
        source = self.plan.sources[item.source]
        rows = table.slice(shard.start, shard.stop - shard.start)
        judge = self.shard_keys(item, table, rows)
        add = judge.add if self.uses_fast_paths(judge) else judge.add_slowly
        keys, revisions = (_listed(rows[name]) for name in ("key", "mod_revision"))
        self.rule_time.begin(rule_seconds(item.bytes))
        MATCH_TIME.begin(pattern_seconds(item.bytes))
        until = self.plan.options.until
        failed: dict[int, Exception] = {}
        for at, key, revision, data in zip(range(len(rows)), keys, revisions, cut_values(rows, values), strict=True):
            if until and time() > until:
                judge.out_of_time(at, key, revision)
                continue
            try:
                add(at, key, revision, data)
            except ProofRefuted:
                raise
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
                return judge.finish()
            except Exception as error:
                if isinstance(error, OSError):  # no space or no permission to write: not the fault of an object
                    raise
        from auditor.shards.apart import audit_apart  # noqa: PLC0415 - only on failure

        return audit_apart(self, item, failed)

    def forget_counts(self) -> None:
        """Discard the counts since the last finished shard."""
        self.unsealer.counts.clear()
        for key, program in self.programs.items():
            self.counted[key] = (program.proven, program.total - min(program.total, program.warm_up))
            program.fallbacks.take()

    def lost(self, item: SourceShard, why: str) -> ShardResult:
        """Write the rows of a shard that cannot be audited: every key is unreadable, with the reason."""
        self.begin()
        rows = open_live(self.plan.sources[item.source]).slice(item.shard.start, item.shard.stop - item.shard.start)
        judge = self.shard_keys(item, rows, rows)
        reason = f"not audited: {why}"
        columns = (rows[name].to_pylist() for name in ("key", "mod_revision"))
        for at, (key, revision) in enumerate(zip(*columns, strict=True)):
            judge.not_audited(at, key, revision, reason)
        judge.rows.result.note_lost(f"shard {item.shard.number}: {reason}")
        return judge.finish()

    def begin(self) -> None:
        """Let the observer forget the shard, which is audited again."""
        if self.observer is not None:
            self.observer.begin()

    def shard_keys(self, item: SourceShard, table: Any, live: Any) -> ShardKeys:
        """Return the object that judges the keys of a shard.

        Args:
            item: The shard.
            table: The live table of its dump.
            live: The rows of the shard in it.
        """
        source = self.plan.sources[item.source]
        rows = RowWriter(self, source.name, item.shard.number, live, is_export=source.is_export)
        rows.result.bytes = item.bytes
        return ShardKeys(self, rows, item.source, table)

    def uses_fast_paths(self, keys: ShardKeys) -> bool:
        """Whether objects may take a fast path: the run needs only the columns of a row."""
        return (
            self.plan.options.scope.is_everything
            and self.changes is None
            and self.unsealer.config is None
            and keys.at != "served"
            and self.observer is None
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


def setup(plan: Plan, parts: str) -> Callable[[SourceShard], ShardResult]:
    """Set up a worker: no garbage collection (JSON trees have no cycles), files are opened on demand."""
    gc.disable()
    bound_worker(plan.options.memory, plan.options.jobs)
    use_cache(plan.options.cache)
    return ShardAuditor(plan, parts, prepared=PREPARED if plan.options.in_fleet else None)


def forget_parts(parts: Path, number: int) -> None:
    """Remove the part files of a shard."""
    for left in parts.rglob(part_name(number)):
        left.unlink()


def lost_shard(item: SourceShard, error: Exception, *, plan: Plan, parts: str) -> ShardResult:
    """Write the rows of a shard whose worker died twice: every key is unreadable, with the reason."""
    forget_parts(Path(parts), item.shard.number)  # of the dead worker
    why = f"worker lost ({error})" if isinstance(error, WorkerLost) else shown_error(error)
    return ShardAuditor(plan, parts).lost(item, why)
