"""Judges values, one at a time, with the definitions and programs of a run; rows are written elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import orjson

from auditor.base.errors import AuditorError, EngineError
from auditor.base.statuses import KeyClass
from auditor.crds.definition import parse_definition
from auditor.crds.definitions_file import RULES, encode_definition
from auditor.golang import jsontext
from auditor.plan.dumps import open_live, open_values
from auditor.program.conversion_command import ConversionCommand
from auditor.program.impact import needs_webhook
from auditor.program.program import AuditProgram
from auditor.program.proof_check import ProofCheck
from auditor.releases import active, find_release, running_as
from auditor.selectors.grammar import parse_field_selector, parse_label_selector
from auditor.selectors.partitions import folders_of
from auditor.shards.gates import GatedFields
from auditor.shards.previous import Changes
from auditor.shards.result import shown_error
from auditor.shards.updates import UpdateVerdicts
from auditor.sources.encryption import make_unsealer
from auditor.sources.manifests.object_header import fast_header
from auditor.sources.registry_key import classify, printable_key
from auditor.validation.rules import RuleTime, broken_rules, compile_rules, servable

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import AuditedObject, JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.crds.usable import UsableDefinitions
    from auditor.plan.run_plan import Plan
    from auditor.program.prepared import Prepared
    from auditor.program.program import Judgement
    from auditor.shards.updates import UpdateOutcome
    from auditor.validation.rules.compile import RuleNode


_WARM_UP: Final = 4
"""Number of first objects of a kind that the reference judges: generating code for fewer takes longer than it saves."""


class JudgedVersion(NamedTuple):
    """A value as judged at one version.

    Attributes:
        audited: The object.
        by_webhook: Whether only a conversion webhook could have read it at some requested version.
        effect: The impact of the changes that the read made to its metadata; empty if there are none.
        rewritten: The object under other definitions, if an observer rewrote it before it was judged.
    """

    audited: AuditedObject
    by_webhook: bool
    effect: str
    rewritten: AuditedObject | None = None


def judged_version(judgement: Judgement) -> JudgedVersion:
    """Return a judgement with what only a conversion webhook could read."""
    return JudgedVersion(judgement.audited, needs_webhook(judgement.audited), judgement.effect)


class RowHead:
    """Identity of one row while it is being made.

    Attributes:
        at: Its position in the shard.
        decoded: The document that orjson decoded from `data`; None if there is none or judging has changed it.
    """

    __slots__ = ("at", "data", "decoded", "group", "key", "kind", "name", "namespace", "place", "plural", "revision",
                 "stored", "uid")  # fmt: skip

    def __init__(self, at: int, key: bytes | None, revision: int | None, data: bytes) -> None:
        self.at = at
        self.key = key
        self.revision = revision
        self.data = self.stored = data
        self.decoded: Any = None
        self.place: Any = None
        self.group: str | None = None
        self.plural: str | None = None
        self.kind: str | None = None
        self.namespace: str | None = None
        self.name: str | None = None
        self.uid: Any = None

    def take_decoded(self) -> Any:
        """Return the decoded document, once: judging the object changes it in place."""
        decoded, self.decoded = self.decoded, None
        return decoded

    def take_names(self) -> None:
        """Set the names from the header of the object, without decoding the rest."""
        header = fast_header(self.data)
        if header is not None:
            self.group, self.kind = header.group, header.kind or None
            self.namespace, self.name = header.namespace or None, header.name or None

    @property
    def text_key(self) -> str | None:
        """The key as text; None means it has none."""
        return None if self.key is None else printable_key(self.key)


class Observer(Protocol):
    """Receives each judged object, besides the rows that are written of it."""

    def begin(self) -> None:
        """Forget the objects of the shard, which is audited again."""

    def rejudged(
        self, definition: CustomResourceDefinition, data: bytes, judged: list[JudgedVersion]
    ) -> list[JudgedVersion]:
        """Return the judgement to count for an object, if it differs from that of its value."""

    def on_judged(
        self, row: RowHead, definition: CustomResourceDefinition, judged: JudgedVersion, outcome: UpdateOutcome
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


class ParsedScope:
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
        """Return whether a kind is in scope."""
        if self.whole:
            return True
        names = {name.lower() for part in (kind, plural) if part for name in (part, f"{part}.{group}")}
        return not (names & self.exclude) and (not self.include or bool(names & self.include))

    def has_object(self, audited: AuditedObject) -> bool:
        """Return whether the labels and fields of an object are in scope."""
        if not self.labels and not self.fields:
            return True
        labels = ((audited.object or {}).get("metadata") or {}).get("labels") or {}
        return all(r.matches(labels) for r in self.labels) and all(r.matches(audited.selectable) for r in self.fields)


def own_version(definition: CustomResourceDefinition, api_version: str) -> str | None:
    """Return the version in an apiVersion, or None if the definition does not have it."""
    group, _, version = api_version.partition("/")
    return version if group == definition.group and version in definition.versions else None


def stored_version(definition: CustomResourceDefinition, data: bytes, decoded: Any = None) -> str | None:
    """Return the version in the apiVersion of a value, or None if its definition does not have it."""
    try:
        document = jsontext.decode(data) if decoded is None else decoded
    except jsontext.GoJsonError:
        return None
    api = document.get("apiVersion") if isinstance(document, dict) else None
    return own_version(definition, api) if isinstance(api, str) else None


class ObjectJudge:
    """Judges the values of a run one by one; builds programs on first use and reuses them.

    Args:
        plan: The plan of the run.
        parts: Folder of the part files.
        observer: Receives each judged object, or None.
        documents: Returns the document of a definition; if None, the file of the plan is read.
        prepared: Cache of parsed definitions and programs, or None.
        usable: What other workers have read, or None if this one is alone.
    """

    def __init__(
        self,
        plan: Plan,
        parts: str,
        *,
        observer: Observer | None = None,
        documents: Callable[[DefinitionEntry], JsonObject] | None = None,
        prepared: Prepared | None = None,
        usable: UsableDefinitions | None = None,
    ) -> None:
        self.plan = plan
        self.release = find_release(plan.options.kubernetes)
        self.parts = Path(parts)
        self.observer = observer
        self.has_documents = documents is not None
        self.documents = documents or plan.definitions_file.document
        self.prepared = prepared
        self.usable = usable
        self.scope = ParsedScope(plan)
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
        self.manifests: ManifestChanges | None = None
        self.since_collect = 0
        self.rule_time = RuleTime(plan.options.seconds_per_object)
        self.proofs = ProofCheck(plan.options.verify)
        self.gated = GatedFields(plan.options)
        self.unsealer = make_unsealer(plan.options.encryption_config, plan.options.kms_decryptor)
        command = plan.options.convert_with
        self.converter = ConversionCommand(command) if command else None
        if plan.old:
            self.changes = Changes(plan, self.unsealer, self.program)
            from auditor.shards.builtin_changes import ManifestChanges  # noqa: PLC0415 - rarely needed, with much else

            self.manifests = ManifestChanges(plan, self.changes.old)

    # ---- definitions and programs

    def definition(self, entry: DefinitionEntry) -> CustomResourceDefinition | str:
        """Return the parsed definition, or why no server could use it."""
        definition = self.definitions.get(entry.name)
        if definition is None:
            try:
                definition = self._parse(entry)
                if not definition.versions:
                    definition = f"{entry.name}: spec.versions: no version; expected at least one"
            except AuditorError as error:
                definition = str(error)
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 - its objects are lost by name, and no others
                definition = BrokenDefinition(f"{entry.name}: {shown_error(error)}")
            if not isinstance(definition, str) and definition.name != entry.name:  # a document may lack a name
                definition = replace(definition, name=entry.name)
            if not isinstance(definition, str) and definition.conversion == "Webhook":
                definition = replace(definition, webhook=self.converter or self.plan.lost_webhook(entry.name))
            self.definitions[entry.name] = definition
        if type(definition) is BrokenDefinition:
            raise EngineError(entry.name, f"the definition cannot be used: {definition}")
        return definition

    def _parse(self, entry: DefinitionEntry) -> CustomResourceDefinition:
        if self.prepared is not None:
            return self.prepared.definition(self.documents(entry), stored=entry.stored)
        if self.has_documents:
            return servable(parse_definition(self.documents(entry), stored=entry.stored))
        return servable(parse_definition(jsontext.decode(self.plan.definitions_file.text(entry)), stored=entry.stored))

    def is_usable(self, entry: DefinitionEntry) -> bool:
        """Return whether objects can be judged by a definition."""
        if self.is_known_usable(entry):
            return True
        try:
            return not isinstance(self.definition(entry), str)
        except EngineError:
            return False

    def note_usable(self, entry: DefinitionEntry, definition: CustomResourceDefinition) -> None:
        """Tell other workers that they need not read a definition of a dump, which objects were judged by."""
        if self.usable is None or entry.name in self.plan.from_files or self.usable.has(entry):
            return
        is_ruled = RULES in self.plan.definitions_file.text(entry)
        if not is_ruled or not broken_rules(definition, self.compiled_rules):
            self.usable.add(entry)

    def is_known_usable(self, entry: DefinitionEntry) -> bool:
        """Return whether a worker found that a server can use a definition, and that it has no broken rule."""
        return self.usable is not None and self.usable.has(entry)

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
        program = self.programs.get(key)
        if program is None:
            rules = "rules" not in self.plan.options.skip
            program = None if self.prepared is None else self.prepared.program(definition, version, rules=rules)
            if program is None:
                program = AuditProgram(definition, definition.versions[version], rules=rules, warm_up=_WARM_UP)
                if self.prepared is not None:
                    self.prepared.keep(program, rules=rules)
            if program.rule_program is not None:
                program.rule_program.time = self.rule_time
            self.programs[key] = program
        return program

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
            own = stored_version(definition, data, decoded)
            return [self.as_served(definition, self.at_version(definition, own or fallback, data, decoded), data)]
        if at != "storage":
            judged = self.at_version(definition, at if at in definition.versions else fallback, data)
            return [self.as_served(definition, judged, data)]
        judged = self.as_served(definition, self.at_version(definition, fallback, data, decoded), data)
        audited, webhook = judged.audited, judged.by_webhook
        own = audited.stored_version
        is_refused = definition.webhook is not None and not webhook  # a LIST fails on it
        if audited.unreadable is not None and own in definition.versions and own != fallback and not is_refused:
            second = self.at_version(definition, own, data)
            if second.audited.unreadable is None:
                return [second._replace(by_webhook=webhook)]
        return [judged]

    def as_served(self, definition: CustomResourceDefinition, judged: JudgedVersion, data: bytes) -> JudgedVersion:
        """Return a judgement; at a version that is not served, with what a read of a served one needs from a webhook.

        Returns:
            The same, if the version is served or no webhook converts. Else the same by a webhook; or the failure of a
            webhook that is lost.
        """
        version = judged.audited.audited_version
        if definition.conversion != "Webhook" or judged.audited.unreadable is not None or version is None:
            return judged
        served = next((each.name for each in definition.served_versions), None)
        if served is None or definition.versions[version].served or isinstance(definition.webhook, ConversionCommand):
            return judged
        read = self.at_version(definition, served, data)
        if read.by_webhook:
            return judged._replace(by_webhook=True)
        return judged if read.audited.unreadable is None else read

    def at_version(
        self, definition: CustomResourceDefinition, version: str, data: bytes, decoded: Any = None
    ) -> JudgedVersion:
        """Return the judgement of a value at one version."""
        if active() is not self.release:  # two auditors of one scan may be of two releases
            with running_as(self.release):
                return self.at_version(definition, version, data, decoded)
        program = self.program(definition, version)
        judgement = program.judge(data, decoded)
        self.proofs.verify(program, data, judgement)
        return judged_version(judgement)

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
        exported = ExportedObject(KeyClass.UNREADABLE, None, None, None, namespace, name, None, decoded)
        if not isinstance(api, str) or not isinstance(kind, str):
            return exported._replace(reason="apiVersion or kind is missing")
        group = api.partition("/")[0] if "/" in api else ""
        exported = exported._replace(group=group, kind=kind)
        if group == "apiextensions.k8s.io" and kind == "CustomResourceDefinition":
            return exported._replace(status=KeyClass.DEFINITION)
        entry = self.by_kind.get((group, kind))
        if entry is not None:
            return exported._replace(status=KeyClass.CUSTOM, entry=entry)
        place = classify((group, kind.lower() + "s", *(part for part in (namespace, name) if part)), {})
        if not group or place.status is KeyClass.BUILTIN:
            return exported._replace(status=KeyClass.BUILTIN)
        return exported._replace(status=KeyClass.ORPHANED, reason=f"no definition for {kind}.{group}")

    def source(self, number: int) -> tuple[Any, Any]:
        """Return the mapped (live table, values) of a source."""
        source = self.sources.get(number)
        if source is None:
            plan = self.plan.sources[number]
            source = self.sources[number] = (open_live(plan), open_values(plan))
        return source
