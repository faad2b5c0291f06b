"""What file formats are made of, for the answers to manifests: each problem names its file and line."""

from __future__ import annotations

import os
import urllib.parse
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import auditor
from auditor.base.longtext import cut
from auditor.base.wording import objects
from auditor.causes.field_patterns import generic_field
from auditor.causes.keys import CauseKey, form_of, ids_of
from auditor.causes.model import Run, Source
from auditor.causes.severity import rank
from auditor.causes.titles import title_of
from auditor.causes.topics import Cause
from auditor.output.formats.problems import SECRET_TEXT, Content, KindCount, Problem, unread_problems
from auditor.releases import active
from auditor.store.allclear import Unread

if TYPE_CHECKING:
    import datetime
    from collections.abc import Sequence


_LONGEST: Final = 4000
_EXAMPLES: Final = 3
_REFUSED: Final = "high"
_ACCEPTED: Final = "low"


@dataclass(frozen=True, slots=True)
class Text:
    """A cause of a refusal, or a warning.

    Attributes:
        field: Path of the field.
        type: The server's cause.
        check: Which check objects.
        detail: The text after field and value.
        rule: Text of the validation rule, where one failed.
        message: The whole text.
        line: Line in the file; 0 if that is not known.
        is_warning: Whether the object is accepted nevertheless.
    """

    field: str
    type: str
    check: str
    detail: str
    rule: str
    message: str
    line: int
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class ManifestAnswer:
    """What a create would say to an object.

    Attributes:
        file: Its file, as the user named it.
        line: Its line, or that of the field that the reason is about; 0 if that is not known.
        group: API group.
        version: Version.
        kind: Kind.
        namespace: Namespace in which it would be created; empty for objects of the cluster.
        name: Name.
        status: A `Status`.
        reason: Why it is refused, where no text says it; empty if one does, or if it is not refused.
        texts: Causes and warnings.
    """

    file: str
    line: int
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    status: str
    reason: str
    texts: tuple[Text, ...]


@dataclass(slots=True)
class _CauseProblems:
    """A cause and its problems."""

    key: CauseKey
    severity: str
    problems: list[Problem] = field(default_factory=list)
    objects: dict[tuple[str, ...], str] = field(default_factory=dict)
    namespaces: set[str] = field(default_factory=set)


def content_of_answers(
    answers: Sequence[ManifestAnswer],
    *,
    started: datetime.datetime,
    seconds: float,
    exit_code: int,
    damage: Sequence[str] = (),
) -> Content:
    """Return the content of formats.

    Args:
        answers: The answers to all objects.
        started: When the run began, UTC.
        seconds: How long it took.
        exit_code: Its exit code.
        damage: A line for each part of the input that was not read.
    """
    by_key: dict[CauseKey, _CauseProblems] = {}
    statuses: dict[tuple[str, str], Counter[str]] = {}
    for answer in answers:
        statuses.setdefault((answer.group, answer.kind), Counter())[answer.status] += 1
        for key, severity, problem in _problems(answer):
            cause = by_key.setdefault(key, _CauseProblems(key, severity))
            cause.severity = min(cause.severity, severity, key=rank)
            cause.problems.append(problem)
            cause.objects.setdefault((answer.file, answer.namespace, answer.name, answer.kind), problem.message)
            cause.namespaces |= {answer.namespace} if answer.namespace else set()
    ids = ids_of([key.digest() for key in by_key])
    ordered = sorted(by_key.values(), key=lambda one: (rank(one.severity), -len(one.objects), one.key.digest()))
    problems = [problem for group in ordered for problem in _numbered(group, ids[group.key.digest()])]
    problems.sort(key=lambda one: (one.uri, one.line, one.cause, one.number))
    files = tuple(dict.fromkeys(answer.file for answer in answers))
    refused = sum(bool(answer.reason) or any(not text.is_warning for text in answer.texts) for answer in answers)
    return Content(
        title=files[0] if len(files) == 1 else f"{len(files)} files",
        shown="",
        run=Run(
            clusters=(),
            sources=tuple(Source(name, None, "manifests", None, None, 0) for name in files),
            started=started,
            seconds=seconds,
            keys=len(answers),
            checked=len(answers),
            tool=auditor.__version__,
            kubernetes=active().version,
            exit_code=exit_code,
            compared_with=None,
        ),
        verdict="not-compared",
        reasons=(),
        warnings=tuple(damage),
        not_judged=tuple(damage) or (() if answers else ("no object was found",)),
        all_clear=_sentence(refused, len(answers), is_whole=not damage),
        causes=[_cause(group, ids[group.key.digest()], started) for group in ordered],
        kinds=[KindCount(group, kind, dict(counts)) for (group, kind), counts in sorted(statuses.items())],
        problems=lambda: iter(problems),
        unread=unread_problems([Unread("damaged", "", "", line, line) for line in damage], "File"),
        clusters={"": not damage},
    )


def _sentence(refused: int, judged: int, *, is_whole: bool) -> str:
    """Return what would happen to the objects, which are all of them only if everything was read."""
    read = "" if is_whole else " that were read"
    if not judged:
        return "No object was found."  # deploy/ci/action reads this line
    if refused:
        return f"{refused} of {objects(judged)}{read} would be refused."
    return "No object is refused." if is_whole else "No object that was read is refused; not everything was read."


def _problems(answer: ManifestAnswer) -> list[tuple[CauseKey, str, Problem]]:
    """Return the problems of an object, each with what identifies its cause and its severity."""
    names = {"group": answer.group, "kind": answer.kind, "version": answer.version}
    out = []
    for text in answer.texts:
        key = CauseKey(
            **names,
            check=text.check,
            type=text.type,
            field=generic_field(text.field, None),
            rule=text.rule,
            form="" if text.rule else form_of(text.detail, text.field),
        )
        severity = _ACCEPTED if text.is_warning else _REFUSED
        out.append((key, severity, _problem(answer, severity, text)))
    if answer.reason:
        plain = Text("", answer.status, "impact", "", "", answer.reason, answer.line)
        key = CauseKey(group=answer.group, kind=answer.kind, impact=answer.status)
        out.append((key, _REFUSED, _problem(answer, _REFUSED, plain)))
    return out


def _problem(answer: ManifestAnswer, severity: str, text: Text) -> Problem:
    is_secret = not answer.group and answer.kind == "Secret"
    return Problem(
        cluster="",
        group=answer.group,
        kind=answer.kind,
        version=answer.version,
        namespace=answer.namespace,
        name=answer.name,
        key="",
        severity=severity,
        change="",
        cause="",
        check=text.check,
        type=text.type,
        field=text.field,
        rule=text.rule,
        message=SECRET_TEXT if is_secret else cut(text.message, _LONGEST),
        verdict="",
        owner="",
        accepted=False,
        uri=_uri(answer.file),
        line=max(1, text.line or answer.line),
    )


def _numbered(found: _CauseProblems, cause: str) -> list[Problem]:
    numbers: Counter[str] = Counter()
    out = []
    for problem in found.problems:
        out.append(replace(problem, cause=cause, number=numbers[problem.uri]))
        numbers[problem.uri] += 1
    return out


def _uri(file: str) -> str:
    """Return a relative path, as code scanning wants it; standard input is ``stdin``."""
    if file == "-":
        return "stdin"
    if "://" in file:
        return urllib.parse.quote(file.partition("://")[2], safe="/", errors="replace")
    path = os.path.relpath(file)
    path = os.path.abspath(file).lstrip("/") if path.startswith("..") else path  # noqa: PTH100 - no link is followed
    return urllib.parse.quote(path, safe="/", errors="replace")


def _cause(found: _CauseProblems, cause: str, started: datetime.datetime) -> Cause:
    key, objects = found.key, list(found.objects.items())
    zeros: dict[str, Any] = dict.fromkeys(
        (
            *("new_objects", "new_findings", "fixed_objects", "fixed_findings", "accepted_objects"),
            *("accepted_findings", "rejected", "tolerated_while_unchanged", "tolerated_globally"),
        ),
        0,
    )
    count = 0 if key.impact else len(found.problems)
    return Cause(
        id=cause,
        digest=key.digest(),
        severity=found.severity,
        change=None,
        title=title_of(key),
        group=key.group,
        kind=key.kind,
        version=key.version or None,
        impact=key.impact or None,
        check=key.check or None,
        type=key.type or None,
        field=key.field or None,
        rule=key.rule or None,
        guard_path=None,
        clusters=(),
        objects=len(objects),
        namespaces=len(found.namespaces),
        findings=count,
        distinct_findings=count,
        verdict_unknown=len(objects),
        first_seen=started,
        last_seen=started,
        owners=(),
        schema_changes=(),
        examples=tuple(
            "/".join(filter(None, (space, name))) or file for (file, space, name, _), _ in objects[:_EXAMPLES]
        ),
        messages=tuple(message for _, message in objects[:_EXAMPLES]),
        example_clusters=("",) * min(_EXAMPLES, len(objects)),
        **zeros,
    )
