"""Tries an object under an old and a new definition: a create under the old one, then what a server does under the new.

Input: a manifest at a served version of the old definition. It is created there, stored at its storage version, read
under the new definition, created anew, and sent back. Output: each way in which the answers differ. Everything that
a server says comes from `auditor.program` and `auditor.updates`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.crddiff.change import (
    APPLY_REFUSED,
    COLUMNS,
    CREATE_REFUSED,
    DATA_DROPPED,
    DEFAULTS,
    REFUSED,
    TOLERATED,
    UNREADABLE,
    UPDATE_REFUSED,
)
from auditor.golang.go_text import quote
from auditor.golang.jsontext import decode, encode
from auditor.program.program import AuditProgram
from auditor.schema.structural import ABSENT, nodes_of
from auditor.updates.body import RequestName
from auditor.updates.noop import NoopUpdates
from auditor.upgrade.changes import SELECTOR, compare_reads, compare_round_trips

if TYPE_CHECKING:
    from auditor.base.records import AuditedObject, Finding, JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.updates.update import TriedUpdate
    from auditor.upgrade.changes import PathChange


@dataclass(frozen=True, slots=True)
class Answer:
    """One way in which the answers of a server about an object differ under the new definition.

    Attributes:
        effect: A key of `EFFECTS`.
        path: Dotted path in the object; empty for the object.
        message: The server's words; empty if there are none.
        finding: What a create under the new definition complains about, where it does.
        updates: Answer to an update that leaves the field alone: ``refused``, ``tolerated``, or empty if unknown.
    """

    effect: str
    path: str
    message: str = ""
    finding: Finding | None = None
    updates: str = ""


_NOT_CHECKED: Final = "some validation rules were not checked because the object was invalid"
"""What a server adds to other errors."""
MOST_TRIES: Final = 8_000
"""Objects that are tried for two releases, in equal parts for the definitions that changed."""


class Trials:
    """The programs of an old and a new definition, made when they are asked.

    Args:
        old: The definition before.
        new: The definition after.
        most: Number of objects that are tried at most.

    Attributes:
        tried: Number of objects that were tried.
        witnesses: Objects that showed a change at one version, by its path, keyword and values: likely at the others.
        values: Values that showed a change at one place, likewise.
    """

    def __init__(self, old: CustomResourceDefinition, new: CustomResourceDefinition, most: int = MOST_TRIES) -> None:
        self.old = old
        self.new = new
        self.most = most
        self.tried = 0
        self.witnesses: dict[tuple[str, ...], JsonObject] = {}
        self.values: dict[tuple[str, ...], Any] = {}
        self._programs: dict[tuple[bool, str], AuditProgram] = {}
        self._noops: dict[tuple[bool, str], NoopUpdates] = {}

    def program(self, version: str, *, is_new: bool) -> AuditProgram:
        """Return the program of a version."""
        key = is_new, version
        if key not in self._programs:
            definition = self.new if is_new else self.old
            self._programs[key] = AuditProgram(definition, definition.versions[version], compiled=False)
        return self._programs[key]

    def noop(self, version: str, *, is_new: bool) -> NoopUpdates:
        """Return the updates of a version that change nothing."""
        key = is_new, version
        if key not in self._noops:
            self._noops[key] = NoopUpdates(self.program(version, is_new=is_new), is_export=True)
        return self._noops[key]


def _null_words(read: PathChange) -> str:
    """Return what a read does to a null; empty for another value."""
    if read.old is not None:
        return ""
    return "the null is dropped" if read.new is ABSENT else f"{encode(read.new)} takes the place of the null"


class Trial:
    """Tries objects that are created at one version, and read at the same or another one under the new definition.

    Args:
        trials: The programs.
        version: Version of the create, served by the old definition.
        read_at: Version of the new definition at which they are read.
    """

    def __init__(self, trials: Trials, version: str, read_at: str) -> None:
        self.trials = trials
        self.version = version
        self.read_at = read_at
        self.api_version = f"{trials.old.group}/{version}"
        self.place = RequestName("default" if trials.old.namespaced else "", "a")
        after = trials.new.versions.get(version)
        self._is_creatable = after is not None and after.served
        storage = trials.old.storage_version
        self._stored_at = None if storage is None else storage.name
        later = trials.new.storage_version
        self._written_at = None if later is None else later.name
        before = trials.old.versions[version]
        self._loses_status = after is not None and after.has_status and not before.has_status
        self._has_status = after is not None and after.has_status
        nodes = nodes_of(trials.new.versions[read_at].structural)
        self._compares = any("oldSelf" in rule.rule for node in nodes for rule in node.rules)

    def created(self, obj: JsonObject) -> AuditedObject:
        """Return an object as a create under the old definition reads and judges it."""
        self.trials.tried += 1
        return self.trials.program(self.version, is_new=False).audit(data_of(obj))

    @staticmethod
    def is_accepted(audited: AuditedObject) -> bool:
        """Return whether a create is accepted: nothing is wrong and no field is unknown."""
        is_whole = audited.unreadable is None and not audited.pruned and not audited.unevaluated_rules
        return is_whole and not audited.findings

    def answers(self, obj: JsonObject, before: AuditedObject) -> list[Answer]:
        """Return how the answers differ under the new definition.

        Args:
            obj: The manifest.
            before: The same, as `created` returned it, accepted.
        """
        out: list[Answer] = []
        created: AuditedObject | None = None
        if self._is_creatable:
            created = self.trials.program(self.version, is_new=True).audit(data_of(obj))
            if created.object is not None and before.object is not None:
                out += _defaults(before, created)
        read = self._read(before)
        if read is not None:
            out += self._stored(*read)
        findings = created.findings if created is not None else ()
        if findings or (read is not None and (read[2].findings or self._compares)):
            out += self._invalid(findings, read)
        if created is not None:
            lost = {answer.path for answer in out if answer.effect == DATA_DROPPED}
            dropped = (path for path in created.pruned if path not in lost)
            out += [
                Answer(DATA_DROPPED, path, f"strict decoding error: unknown field {quote(path)}") for path in dropped
            ]
        if self._loses_status and "status" in (before.object or {}):
            out.append(Answer(DATA_DROPPED, "status"))
        return out

    def _read(self, before: AuditedObject) -> tuple[JsonObject, AuditedObject, AuditedObject] | None:
        """Return what a create stores, and its read under both definitions; None if a webhook converts it."""
        old = self.trials.old
        if self._stored_at is None or (old.conversion == "Webhook" and self._stored_at != self.version):
            return None
        if self.trials.new.conversion == "Webhook" and self._stored_at != self.read_at:
            return None
        stored = {**(before.object or {}), "apiVersion": f"{old.group}/{self._stored_at}"}
        was = self.trials.program(self.version, is_new=False).audit(data_of(stored))
        now = self.trials.program(self.read_at, is_new=True).audit(data_of(stored))
        return None if was.object is None else (stored, was, now)

    def _stored(self, stored: JsonObject, was: AuditedObject, now: AuditedObject) -> list[Answer]:
        if now.unreadable is not None or now.object is None:
            return [Answer(UNREADABLE, "", "" if now.unreadable is None else now.unreadable.reason)]
        out: list[Answer] = []
        reads = compare_reads(was, now, lambda: stored)
        lost = {read.path: _null_words(read) for read in reads if read.is_loss}
        new = self.trials.new
        if self._written_at is not None and (new.conversion != "Webhook" or self._written_at == self.read_at):
            written = {**now.object, "apiVersion": f"{new.group}/{self._written_at}"}
            again = self.trials.program(self.read_at, is_new=True).audit(data_of(written))
            if again.object is not None:
                lost |= {read.path: "" for read in compare_round_trips(now, again)}
        for path, words in lost.items():
            is_unknown = path in now.pruned and self.read_at == self.version
            text = f"strict decoding error: unknown field {quote(path or '')}" if is_unknown else words
            out.append(Answer(DATA_DROPPED, path or "", text))
        for read in reads:
            if read.change == SELECTOR:
                out.append(Answer(COLUMNS, read.path or ""))
            elif not read.is_loss:
                out.append(Answer(DEFAULTS, read.path or ""))
        return out

    def _invalid(
        self, findings: tuple[Finding, ...], read: tuple[JsonObject, AuditedObject, AuditedObject] | None
    ) -> list[Answer]:
        """Return an answer for each finding of a create, and for each of what is stored that a create has not."""
        apply = ""
        put: TriedUpdate | None = None
        if read is not None and read[2].object is not None:
            verdict = self.trials.noop(self.read_at, is_new=True).judge(read[2], self.place, 1)
            earlier = self.trials.noop(self.version, is_new=False).judge(read[1], self.place, 1)
            put = verdict.put if not earlier.put.is_refused else None
            if verdict.apply is not None and earlier.apply is None:
                apply = verdict.apply.message
        findings = tuple(finding for finding in findings if _NOT_CHECKED not in finding.detail)
        words = self._words_of_status(read) if self._has_status else {}
        out = []
        for finding in findings:
            is_status = self._has_status and finding.field.startswith("status")
            message = words.get((finding.field, finding.type), finding.message) if is_status else finding.message
            effect = UPDATE_REFUSED if is_status else CREATE_REFUSED
            out.append(Answer(effect, finding.field, message, finding, _updates(finding, put)))
        known = {finding.words for finding in findings}
        if read is not None:
            known |= {finding.words for finding in read[1].findings}
            later = [*read[2].findings, *(put.findings if put is not None else ())]
            for finding in later:
                if finding.words not in known and _NOT_CHECKED not in finding.detail:
                    known.add(finding.words)
                    updates = _updates(finding, put)
                    out.append(Answer(UPDATE_REFUSED, finding.field, finding.message, finding, updates))
        return [*out, Answer(APPLY_REFUSED, "", apply)] if apply else out

    def _words_of_status(
        self, read: tuple[JsonObject, AuditedObject, AuditedObject] | None
    ) -> dict[tuple[str, str], str]:
        """Return the words of a server to a write of the status, by field and type: its paths begin in the status."""
        obj = None if read is None else read[2].object
        if obj is None or "status" not in obj:
            return {}
        metadata = {**obj["metadata"], "uid": "u", "resourceVersion": "1"}
        old = {key: value for key, value in obj.items() if key != "status"} | {"metadata": metadata}
        update = self.trials.noop(self.read_at, is_new=True).update
        tried = update.attempt("status", old, self.place, 1, {**obj, "metadata": metadata})
        return {(finding.field, finding.type): finding.message for finding in tried.findings}


def _updates(finding: Finding, put: TriedUpdate | None) -> str:
    """Return the answer to an update that changes nothing, as far as it is about a finding."""
    if put is None:
        return ""
    if any(finding.words == other.words for other in put.findings):
        return REFUSED
    return "" if put.is_refused else TOLERATED


def _defaults(before: AuditedObject, created: AuditedObject) -> list[Answer]:
    """Return the paths at which a create of the same manifest stores another value."""
    dropped = set(created.pruned)
    changes = compare_reads(before, created, dict)
    return [
        Answer(DEFAULTS, change.path or "")
        for change in changes
        if change.change != SELECTOR and change.path not in dropped
    ]


def data_of(obj: Any) -> bytes:
    """Return the JSON of an object."""
    return encode(obj).encode("utf-8", "surrogatepass")


def copied(obj: JsonObject) -> JsonObject:
    """Return a copy of an object as JSON data."""
    value: JsonObject = decode(data_of(obj))
    return value
