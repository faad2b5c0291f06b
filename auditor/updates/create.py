"""The answer of `kubectl create --dry-run=server` to one manifest, as far as kubectl and the server's API decide it.

The steps for a manifest: kubectl finds the resource of its kind and version, decodes its metadata and fills in a
missing namespace; the server decodes the object strictly, fills in defaults, drops a status that is a subresource, and
validates. Admission (a namespace that does not exist, webhooks, policies, quotas) is not covered. A definition is
checked as a server checks it; of objects of other built-in kinds only the metadata is validated.

Source: cli-runtime pkg/resource (mapper.go, visitor.go), apiserver pkg/endpoints/handlers/create.go,
pkg/registry/rest/create.go; apiextensions-apiserver pkg/apiserver/customresource_handler.go (schemaCoercingDecoder).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from auditor.base.errors import AuditorError
from auditor.base.records import Finding
from auditor.base.statuses import Status
from auditor.builtin.gotyped import GoDecodeError, parse_members
from auditor.builtin.scheme import served_kind, served_versions
from auditor.builtin.strict import REPEATED, UNKNOWN, check_strictly, metadata_error
from auditor.crds.definition import document_name, parse_definition
from auditor.golang.go_text import quote
from auditor.golang.jsontext import encode
from auditor.schema.defaulting import default
from auditor.schema.objectmeta import CoerceError, decode_metadata, to_json
from auditor.sources.registry_key import OWN_GROUPS
from auditor.storage_read.read import ReadError, coerce
from auditor.validation.builtin_metadata import check_builtin_metadata, has_checked_metadata
from auditor.validation.create import CreateValidator
from auditor.validation.rules import RuleProgram, servable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.base.records import JsonObject
    from auditor.builtin.scheme import ServedKind
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.program.program import AuditProgram
    from auditor.schema.structural import StructuralSchema
    from auditor.validation.rules.evaluate import RuleTime


_DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
_SYSTEM_FIELDS: Final = ("managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""Fields of metadata that a create does not take from the client."""
_LONGEST_BASE: Final = 58
_SUFFIX: Final = "xxxxx"
"""Placeholder for the five random characters of the server."""
_WARM_UP: Final = 30
"""Number of manifests of a version before code is generated, as generating it for few takes longer."""
_STRICT: Final = {UNKNOWN: "UnknownField", REPEATED: "DuplicateField"}


class ManifestNames(NamedTuple):
    """The header of a manifest; missing parts are empty."""

    group: str = ""
    version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


@dataclass(slots=True)
class CreateAnswer:
    """The answer to a manifest.

    Attributes:
        names: Its header, with the namespace in which it would be created.
        status: valid, definition or builtin (accepted), invalid, unreadable, unserved or orphaned (refused).
        reason: Why it is refused, if no finding says it.
        place: The field that the reason is about; empty for the object.
        findings: Causes of the refusal.
        warnings: Unknown and repeated fields with ``Warn``.
        unknown: Paths of fields that the definition does not have.
        unevaluated_rules: Validation rules without an answer.
        gave_up: Whether rules took too much time or memory.
    """

    names: ManifestNames
    status: Status = Status.VALID
    reason: str | None = None
    place: str = ""
    findings: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unevaluated_rules: int = 0
    gave_up: bool = False


class CreateJudge:
    """Answers to manifests. Not thread-safe.

    Args:
        documents: Definitions; of several with one name the last one counts.
        namespace: The namespace of manifests that name none.
        enforce: Whether another namespace in a manifest is an error, as with ``kubectl -n``.
        field_validation: Treatment of unknown and repeated fields: Strict, Warn or Ignore, as in a request.
        rule_time: Seconds that validation rules may take; None for the limit of one object.
    """

    def __init__(
        self,
        documents: Iterable[JsonObject],
        *,
        namespace: str = "default",
        enforce: bool = False,
        field_validation: str = "Strict",
        rule_time: RuleTime | None = None,
    ) -> None:
        self.namespace = namespace
        self.enforce = enforce
        self.field_validation = field_validation
        self.rule_time = rule_time
        self._documents = {(_group(document), _kind(document)): document for document in documents}
        self._definitions: dict[tuple[str, str], CustomResourceDefinition | str] = {}
        self._programs: dict[tuple[str, str, str], _VersionProgram] = {}
        self._tried = 0

    @property
    def has_definitions(self) -> bool:
        """Whether any definition is known."""
        return bool(self._documents)

    # -- one manifest ----------------------------------------------------------------------------------------------

    def judge(self, value: Any, repeated: Iterable[str] = ()) -> CreateAnswer:
        """Answer to a manifest.

        Args:
            value: The decoded document; it may be changed.
            repeated: Paths of fields that occur twice.
        """
        if type(value) is not dict:
            return CreateAnswer(ManifestNames(), Status.UNREADABLE, "invalid object to validate (not a mapping)")
        names, reason = _names_of(value)
        if reason:
            return CreateAnswer(names, Status.UNREADABLE, reason)
        builtin = served_kind(names.group, names.version, names.kind)
        program = None if builtin else self._served(names)
        if isinstance(program, CreateAnswer):
            return program
        if program is not None and not repeated and not self.enforce and program.is_proven(value, self.namespace):
            namespace = (names.namespace or self.namespace) if program.definition.namespaced else ""
            return CreateAnswer(names if namespace == names.namespace else names._replace(namespace=namespace))
        self._tried += 1
        if "metadata" in value and not (self._tried > _WARM_UP and _is_decodable(value["metadata"])):
            wrong = metadata_error(parse_members(encode(value["metadata"]).encode()))
            if wrong is not None:
                return CreateAnswer(names, Status.UNREADABLE, str(wrong), wrong.place)
        namespaced = builtin.namespaced if builtin else program is not None and program.definition.namespaced
        answer = CreateAnswer(names._replace(namespace=(names.namespace or self.namespace) if namespaced else ""))
        if namespaced and self.enforce and names.namespace not in ("", self.namespace):
            answer.status, answer.place = Status.INVALID, "metadata.namespace"
            answer.reason = (
                f'the namespace from the provided object "{names.namespace}" does not match the namespace '
                f"\"{self.namespace}\". You must pass '--namespace={names.namespace}' to perform this operation."
            )
        elif builtin:
            self._builtin(answer, builtin, value, repeated)
        elif program is not None:
            self._custom(answer, program, value, repeated)
        return answer

    def _served(self, names: ManifestNames) -> _VersionProgram | CreateAnswer:
        """Return the checks of the version that a custom resource names, or the answer if there is no such version."""
        definition = self._definition(names.group, names.kind)
        if definition is None:
            is_own = not names.group or names.group in OWN_GROUPS
            served = served_versions(names.group, names.kind)
            return CreateAnswer(
                names, Status.UNSERVED if is_own else Status.ORPHANED, _no_match(names, served), "apiVersion"
            )
        if isinstance(definition, str):
            return CreateAnswer(names, Status.UNREADABLE, definition)
        version = definition.versions.get(names.version)
        if version is None or not version.served:
            served = [version.name for version in definition.served_versions]
            return CreateAnswer(names, Status.UNSERVED, _no_match(names, served), "apiVersion")
        if version.unserved_reason:
            return CreateAnswer(names, Status.UNREADABLE, f"unusable CRD {definition.name}: {version.unserved_reason}")
        return self._program(definition, version)

    def _take_strict(self, answer: CreateAnswer, fields: Iterable[tuple[str, str]]) -> bool:
        """Record unknown and repeated fields; return whether the object is refused for them."""
        noted = [_strict_finding(what, path) for what, path in fields]
        if not noted or self.field_validation == "Ignore":
            return False
        if self.field_validation == "Warn":
            answer.warnings += noted
            return False
        answer.findings += noted
        answer.status = Status.INVALID
        return True

    # -- built-in kinds --------------------------------------------------------------------------------------------

    def _builtin(self, answer: CreateAnswer, kind: ServedKind, value: JsonObject, repeated: Iterable[str]) -> None:
        if not kind.creatable:
            answer.status, answer.reason = (
                Status.INVALID,
                "the server does not allow this method on the requested resource",
            )
            return
        try:
            unknown = check_strictly(parse_members(encode(value).encode()), kind.type)
        except GoDecodeError as error:
            answer.status, answer.reason, answer.place = Status.UNREADABLE, str(error), error.place
            return
        answer.unknown = [path for what, path in unknown if what == UNKNOWN]
        if self._take_strict(answer, [*((REPEATED, path) for path in repeated), *unknown]):
            return
        answer.status = Status.BUILTIN
        group, version, name = answer.names[:3]
        if (group, name) == _DEFINITION:
            self._checked(answer, value)
        elif has_checked_metadata(group, name):
            if "metadata" in value:
                value["metadata"] = to_json(decode_metadata(value["metadata"], drop=False))
            _prepare_metadata(value, answer.names.namespace)
            findings = check_builtin_metadata(value, group, version, name, namespaced=kind.namespaced)
            answer.findings += sorted(findings, key=Finding.sort_key)
            if findings:
                answer.status = Status.INVALID

    def _checked(self, answer: CreateAnswer, document: JsonObject) -> None:
        """Check a definition as the server does."""
        from auditor.crdcheck import check_crd  # noqa: PLC0415 - most runs need none of it

        got = check_crd(document)
        answer.findings += got.findings
        answer.status = Status.INVALID if got.findings else Status.DEFINITION
        if got.unreadable is not None:
            answer.status, answer.reason = Status.UNREADABLE, got.unreadable.reason

    # -- custom resources ------------------------------------------------------------------------------------------

    def _definition(self, group: str, kind: str) -> CustomResourceDefinition | str | None:
        """Return a definition, the reason why no server could use it, or None if there is none."""
        key = group, kind
        document = self._documents.get(key)
        if document is None:
            return None
        if key not in self._definitions:
            try:
                definition: CustomResourceDefinition | str = servable(parse_definition(document))
            except AuditorError as error:
                definition = str(error)
            if not isinstance(definition, str) and not definition.versions:
                definition = f"{document_name(document)}: spec.versions: no version; expected at least one"
            self._definitions[key] = definition
        return self._definitions[key]

    def _program(self, definition: CustomResourceDefinition, version: CrdVersion) -> _VersionProgram:
        key = definition.group, definition.kind, version.name
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = _VersionProgram(definition, version, self.rule_time)
        return program

    def _custom(self, answer: CreateAnswer, program: _VersionProgram, obj: JsonObject, repeated: Iterable[str]) -> None:
        try:
            unknown = coerce(program.definition, obj, drop=False)
        except (CoerceError, ReadError) as error:
            answer.status, answer.reason = Status.UNREADABLE, str(error)
            return
        answer.unknown = unknown
        fields = [*((REPEATED, path) for path in repeated), *((UNKNOWN, path) for path in unknown)]
        if self._take_strict(answer, fields):
            return
        default(obj, program.version.structural)
        _prepare(obj, program, answer.names.namespace)
        answer.findings, answer.unevaluated_rules, answer.gave_up = program.findings(obj)
        answer.status = Status.INVALID if answer.findings else Status.VALID


class _VersionProgram:
    """The checks of a create at one version of a definition."""

    def __init__(self, definition: CustomResourceDefinition, version: CrdVersion, rule_time: RuleTime | None) -> None:
        self.definition = definition
        self.version = version
        self.validator = CreateValidator(definition, version)
        self.rules = RuleProgram.of(version.structural)
        if self.rules is not None and rule_time is not None:
            self.rules.time = rule_time
        self._depends_on_status = version.structural is None or _depends_on_status(version.structural)
        self._seen = 0
        self._prover: AuditProgram | None = None

    def is_proven(self, obj: JsonObject, namespace: str) -> bool:
        """Return whether generated code proves that a create is accepted without a word; False is no answer.

        A stored object is proven: what a create takes from the client, and what it sets, is the same or cannot matter.

        Args:
            obj: The object; it is not changed.
            namespace: That of an object that names none.
        """
        self._seen += 1
        metadata = obj.get("metadata")
        if self._seen <= _WARM_UP or type(metadata) is not dict or not metadata.get("name"):
            return False
        if "generateName" in metadata:
            return False
        metadata = {"generation": 1, **metadata}
        if self.definition.namespaced and metadata.get("namespace", "") == "":
            metadata["namespace"] = namespace
        obj = {**obj, "metadata": metadata}
        try:
            data = orjson.dumps(obj)
            stored = [data]
            if self.version.has_status and "status" in obj and self._depends_on_status:  # it is decoded, then dropped
                stored.append(orjson.dumps({key: value for key, value in obj.items() if key != "status"}))
        except TypeError:
            return False
        if b"null" in data:
            return False
        if self._prover is None:
            from auditor.program.program import AuditProgram  # noqa: PLC0415 - few manifests need none of it

            self._prover = AuditProgram(self.definition, self.version)
        return all(map(self._prover.proves, stored))

    def findings(self, obj: JsonObject) -> tuple[list[Finding], int, bool]:
        """Return the findings, the number of rules without an answer, and whether rules exceeded a limit."""
        rules = self.rules
        findings = self.validator.run(obj, None if rules is None else rules.run)
        findings = findings or self.validator.check_common(obj)
        left = 0 if rules is None else rules.unevaluated()
        return sorted(findings, key=Finding.sort_key), left, rules is not None and left > len(rules.broken)


def _depends_on_status(root: StructuralSchema) -> bool:
    """Return whether an object may be valid with its status, and not without it: a check of the root may look at it."""
    junctors = root.all_of or root.any_of or root.one_of or root.not_ is not None or root.legacy is not None
    counts = root.min_properties is not None or root.max_properties is not None or root.enum is not None
    return bool(root.rules or "status" in root.required or junctors or counts)


def _is_decodable(metadata: Any) -> bool:
    """Return whether generated code proves that metadata decode; False is no answer."""
    from auditor.fastpath.records.metadata import decodes  # noqa: PLC0415 - few manifests need none of it

    return type(metadata) is dict and decodes(metadata)


def _prepare(obj: JsonObject, program: _VersionProgram, namespace: str) -> None:
    """Do what the server does between decoding and validation."""
    if program.version.has_status:
        obj.pop("status", None)
    _prepare_metadata(obj, namespace)["generation"] = 1


def _prepare_metadata(obj: JsonObject, namespace: str) -> JsonObject:
    """Set what a create sets in metadata itself; return the metadata."""
    metadata: JsonObject = obj.setdefault("metadata", {})
    for key in _SYSTEM_FIELDS:
        metadata.pop(key, None)
    metadata.pop("namespace", None)
    if namespace:
        metadata["namespace"] = namespace
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = metadata["generateName"][:_LONGEST_BASE] + _SUFFIX
    return metadata


def _names_of(value: JsonObject) -> tuple[ManifestNames, str]:
    """Return the header of a manifest, and its fault."""
    api, kind, metadata = value.get("apiVersion"), value.get("kind"), value.get("metadata")
    metadata = metadata if type(metadata) is dict else {}
    own = [text if type(text) is str else "" for text in (kind, metadata.get("namespace"), metadata.get("name"))]
    api = api if type(api) is str else ""
    group, slash, version = api.partition("/")
    names = ManifestNames(group, version, *own) if slash else ManifestNames("", api, *own)
    missing = [f"{word} not set" for word, text in (("apiVersion", api), ("kind", own[0])) if not text]
    if missing:
        return names, missing[0] if len(missing) == 1 else f"[{', '.join(missing)}]"
    if "/" in version:
        return names, f"unexpected GroupVersion string: {api}"
    return names, ""


def _no_match(names: ManifestNames, served: list[str]) -> str:
    api = f"{names.group}/{names.version}".removeprefix("/")
    text = f'no matches for kind "{names.kind}" in version "{api}"'
    return f"{text} (served: {', '.join(served)})" if served else text


def _strict_finding(what: str, path: str) -> Finding:
    text = f"{what} {quote(path)}"
    return Finding(path, _STRICT[what], None, text, f"strict decoding error: {text}", "strict-decoding")


def _group(document: JsonObject) -> str:
    spec = document.get("spec")
    group = spec.get("group") if type(spec) is dict else None
    return group if type(group) is str else ""


def _kind(document: JsonObject) -> str:
    spec = document.get("spec")
    names = spec.get("names") if type(spec) is dict else None
    kind = names.get("kind") if type(names) is dict else None
    return kind if type(kind) is str else ""
