"""The columns about updates: codes, verdicts, impacts and finding rows of one object.

`auditor.updates.noop` has the logic; this module turns its answers into columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.updates.body import RequestName
from auditor.updates.builtin_update import refused
from auditor.updates.managed_fields import Writers, locate, owned_roots
from auditor.updates.noop import BLOCKS, NoopUpdates, NoopVerdict
from auditor.updates.update import TriedUpdate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.longtext import LongText
    from auditor.base.records import AuditedObject, Finding
    from auditor.base.statuses import Impact
    from auditor.program.program import AuditProgram
    from auditor.updates.builtin_update import ChangeAnswer


CREATE: Final = "create"
"""The request of findings about the object itself."""

Codes = tuple[int | None, int | None, int | None]
"""put_code, label_code, status_code."""


class UpdateColumns(NamedTuple):
    """The columns of a finding's row about updates and writers."""

    request: str
    verdict: str | None
    guard_path: str | None
    last_manager: str | None
    last_write: str | None


@dataclass(frozen=True, slots=True)
class UpdateOutcome:
    """The answers to updates of one object.

    Attributes:
        codes: The codes of the no-op PUT, the label PATCH and the no-op PUT of /status; None if not tried or not known.
        verdict: The verdict of the object's own no-op updates; None if it needed none or could not be read.
        is_known: Whether an update verdict exists at all.
        gave_up: Whether rules took too much time or memory, so that part of the outcome is unknown.
    """

    codes: Codes = (None, None, None)
    verdict: NoopVerdict | None = None
    is_known: bool = False
    gave_up: bool = False

    @property
    def why_stuck(self) -> str:
        """The server's answer to the end of a deletion; empty if it accepts it or no update was tried."""
        end = self.verdict.end_delete if self.verdict is not None else None
        return end.message if end is not None and end.is_refused else ""

    @property
    def apply_refusal(self) -> str:
        """The server's answer to any server-side apply, where a value does not fit its type; empty if all fit."""
        apply = self.verdict.apply if self.verdict is not None else None
        return "" if apply is None else apply.message

    def merge(self, impacts: tuple[Impact, ...]) -> tuple[Impact, ...]:
        """Return impacts of the read with those of the updates, worst first."""
        if self.verdict is None or not self.verdict.impacts:
            return impacts
        return tuple(sorted({*impacts, *self.verdict.impacts}, key=attrgetter("rank")))

    def rows(self, audited: AuditedObject) -> Iterator[tuple[Finding, UpdateColumns]]:
        """Yield all findings that have rows: those of the create with their verdicts, then those of the requests."""
        verdict = self.verdict
        if not audited.findings and verdict is None:
            return
        obj = audited.object or {}
        metadata = obj.get("metadata")
        if verdict is None and not (type(metadata) is dict and metadata.get("managedFields")):
            for finding in audited.findings:
                yield finding, NO_UPDATES
            return
        owned = tuple(owned_roots(obj))
        managers: Writers | None = None
        writers: dict[str, tuple[str | None, str | None]] = {}

        def writer(finding: Finding) -> tuple[str | None, str | None]:
            nonlocal managers
            field = finding.field
            if not field.startswith(owned):
                return _NOBODY
            writer = writers.get(field)
            if writer is None:
                managers = managers or Writers(obj)
                writer = writers[field] = managers.last(locate(obj, field)[0]) or _NOBODY
            return writer

        if verdict is None:
            for finding in audited.findings:
                who = writer(finding)
                yield finding, NO_UPDATES if who is _NOBODY else UpdateColumns(CREATE, None, None, *who)
            return
        for finding, (what, guard) in zip(audited.findings, verdict.verdicts, strict=True):
            yield finding, UpdateColumns(CREATE, what, guard, *writer(finding))
        for request, tried in verdict.requests():
            seen: set[str | LongText] = set()
            for finding in tried.findings:
                if finding.words not in seen:
                    seen.add(finding.words)
                    yield finding, UpdateColumns(request, BLOCKS, None, *writer(finding))


_NOBODY: Final = (None, None)
_REASONS: Final = {400: "BadRequest", 404: "NotFound", 409: "Conflict", 422: "Invalid"}
"""Reasons of a status by its code."""

NOT_ASKED: Final = UpdateOutcome()
"""The outcome of a value that is not a readable custom resource, and of all objects of a run without updates."""
RULES_TOOK_TOO_LONG: Final = UpdateOutcome(gave_up=True)
"""The outcome of an object whose rules took too much time or memory."""
NO_UPDATES: Final = UpdateColumns(CREATE, None, None, None, None)
"""The columns of a finding of an object without an update verdict and without a known writer."""

REFUSED_PUT: Final = UpdateColumns("put", BLOCKS, None, None, None)
"""The columns of a finding that refuses a change of an object of a built-in kind."""


class UpdateVerdicts:
    """Judges the updates of a worker's objects; the program of a version is built on first use.

    Args:
        ratcheting: Whether the server has CRDValidationRatcheting on.
    """

    def __init__(self, *, ratcheting: bool = True) -> None:
        self.ratcheting = ratcheting
        self._noops: dict[tuple[int, bool], tuple[NoopUpdates, UpdateOutcome]] = {}

    def judge(
        self,
        program: AuditProgram,
        audited: AuditedObject,
        data: bytes,
        place: tuple[str | None, str | None],
        revision: int | None,
        *,
        is_export: bool,
    ) -> UpdateOutcome:
        """Judge the no-op updates of one object.

        Args:
            program: The program that audited it.
            audited: The object as audited.
            data: Its stored bytes.
            place: Namespace and name of its key, or in an export of its metadata.
            revision: Its modification revision; None if not known.
            is_export: Whether it comes from an export.
        """
        if audited.unreadable is not None or audited.object is None:
            return NOT_ASKED
        if program.gave_up(audited.unevaluated_rules):
            return RULES_TOOK_TOO_LONG  # of the create already
        noop, fine = self.of(program, audited, is_export=is_export)
        where = RequestName(place[0] or "", place[1] or "")
        if not noop.is_needed(audited, data, where):
            return fine
        verdict = noop.judge(audited, where, revision or 1, data)
        broken = _broken(program)
        put = _code(verdict.put, broken)
        label = put if verdict.label is verdict.put else _code(verdict.label, broken)
        status = put if verdict.status is verdict.put else _code(verdict.status, broken)
        return UpdateOutcome((put, label, status), verdict, is_known=True, gave_up=_gave_up(program, verdict))

    def of(
        self, program: AuditProgram, audited: AuditedObject, *, is_export: bool
    ) -> tuple[NoopUpdates, UpdateOutcome]:
        """Return the judge of the no-op updates of a program's objects, and the outcome if none needs a try."""
        key = (id(program), is_export)
        known = self._noops.get(key)
        if known is None:
            noop = NoopUpdates(program, ratcheting=self.ratcheting, is_export=is_export)
            unknown = audited.unevaluated_rules > _broken(program) or noop.is_written_by_webhook
            fine = UpdateOutcome(
                (None if unknown else 200,) * 2 + (None if unknown or not noop.version.has_status else 200,)
            )
            known = self._noops[key] = noop, fine
        return known


def refused_change(answer: ChangeAnswer) -> UpdateOutcome:
    """Return the outcome of a change that is refused before the object is checked."""
    put = TriedUpdate(answer.code or 0, answer.findings[0].message, answer.findings)
    verdict = NoopVerdict(put, None, None, None, (), (BLOCKS,))
    return UpdateOutcome((put.code, None, None), verdict, is_known=True)


def judged_change(program: AuditProgram, verdict: NoopVerdict) -> UpdateOutcome:
    """Return the outcome of a change between two dumps; a refusal as a whole is a finding, too."""
    broken, put = _broken(program), verdict.put
    if put.is_refused and not put.findings and not put.needs_webhook:
        reason = _REASONS.get(put.code, "InternalError")
        verdict = replace(verdict, put=replace(put, findings=refused(put.code, reason, put.message).findings))
    codes = (_code(verdict.put, broken), None, _code(verdict.status, broken))
    return UpdateOutcome(codes, verdict, is_known=True, gave_up=_gave_up(program, verdict))


def _gave_up(program: AuditProgram, verdict: NoopVerdict) -> bool:
    """Return whether rules of an update took too much time or memory."""
    return program.gave_up(max([tried.unevaluated_rules for _, tried in verdict.requests()]))


def _broken(program: AuditProgram) -> int:
    """Return the number of rules that do not compile; each object that reaches one has a finding about it."""
    return 0 if program.rule_program is None else len(program.rule_program.broken)


def _code(tried: TriedUpdate | None, broken: int) -> int | None:
    """Return the code of an answer, or None if rules were skipped or a webhook would have to convert the object."""
    if tried is None or tried.needs_webhook or (tried.unevaluated_rules > broken and not tried.is_refused):
        return None
    return tried.code
