"""`auditor validate`: the answers of `kubectl create --dry-run=server` to manifests, without a server."""

from __future__ import annotations

import datetime
import io
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from auditor.base.errors import PlanError, SourceError, TooMuchToReport
from auditor.base.longtext import cut
from auditor.base.paths import check_paths
from auditor.base.progress import tell
from auditor.base.statuses import Status
from auditor.base.visible import visible
from auditor.base.wording import counted
from auditor.causes.follows import noted, with_notes
from auditor.shards.result import RULES_GIVEN_UP
from auditor.sources.crd_files import definitions_in, may_define, no_collector
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.manifests.placed import PlacedDocument, field_line, objects_in, placed_documents, repeated_keys
from auditor.sources.registry_key import printable_name
from auditor.validation.bounded_texts import BoundedTexts
from pipelines.console import ignore_closed_stdout
from pipelines.run.validate_output import DEFAULT, answer_parts, print_results

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.base.records import Finding, JsonObject
    from auditor.output.formats.manifests import ManifestAnswer
    from auditor.output.formats.problems import Content
    from auditor.updates.create import CreateAnswer, CreateJudge
    from pipelines.run.report.file_formats import FormatTarget


_NOT_READ = 3
"""Exit code if a file was not read."""
_FEW_PATHS = 4096
"""Bytes of a JSON document whose paths are never too long together."""
_LONGEST = 4000
"""Length of the beginning of a detail that identifies its cause."""
_FORMAT_MODE = 0o644
"""Permissions of formats: manifests are usually in a repository."""
_REFUSED = frozenset({Status.INVALID, Status.UNREADABLE, Status.UNSERVED})


@dataclass(frozen=True, slots=True)
class ValidateOptions:
    """Options of the command.

    Attributes:
        files: Files, folders, dumps of objects, URLs; ``-`` is standard input.
        crds: Sources of definitions, as for `definitions_at`.
        own: Formats of the answers themselves, each with a file; an empty one is standard output.
        formats: File formats to write.
        namespace: Namespace of the context; None for ``default``, in which case objects may name another one.
        field_validation: Strict, Warn or Ignore.
        ignore_missing: Whether objects without a definition are ignored.
        render: Whether charts among the sources of definitions are rendered by `helm template`.
        skip_others: Whether documents with neither apiVersion nor kind are left out; they are counted.
    """

    files: tuple[str, ...]
    crds: tuple[str, ...] = ()
    own: tuple[tuple[str, str], ...] = ()
    namespace: str | None = None
    field_validation: str = "Strict"
    ignore_missing: bool = False
    formats: tuple[FormatTarget, ...] = ()
    render: bool = False
    skip_others: bool = False


@dataclass(slots=True)
class _Manifests:
    """What was given, and the errors.

    Attributes:
        files: The name and the content of each file, or its documents if they may be definitions.
        size: Bytes of all.
        others: How many documents were left out as no objects.
    """

    files: list[tuple[str, bytes | list[PlacedDocument]]] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    size: int = 0
    others: int = 0

    def documents(self, *, skip_others: bool) -> Iterator[tuple[str, PlacedDocument]]:
        """Yield each document with the name of its file; it is decoded now, and no two are kept.

        Args:
            skip_others: Whether documents that are no objects are left out.
        """
        for count, (name, held) in enumerate(self.files):
            tell("judging", count, len(self.files), "files")
            for document in placed_documents(held) if isinstance(held, bytes) else held:
                if skip_others and not _is_object(document):
                    self.others += 1
                else:
                    yield name, document

    def definitions(self) -> Iterator[JsonObject]:
        """Yield the definitions among the documents."""
        for _, held in self.files:
            for document in () if isinstance(held, bytes) else held:
                yield from definitions_in(document.value)


@no_collector()
def run_validate(options: ValidateOptions) -> int:
    """Print the answer to a create of each object; return the exit code.

    Returns:
        3: a file was not read, or rules exceeded their limits; 1: an object is refused; 0: neither.
    """
    started, clock = datetime.datetime.now(datetime.UTC), time.monotonic()
    with temporary_folder("validate") as folder:
        manifests = _Manifests()
        for given in options.files:
            _read(given, folder, manifests)
        definitions = _given(options, manifests)
        judge = _judge(options, manifests, definitions)
        texts = BoundedTexts()
        results: list[dict[str, Any]] = []
        answers: list[ManifestAnswer] = []
        for name, document in manifests.documents(skip_others=options.skip_others):
            for answered in _answers(judge, document, manifests.size):
                results.append(_result(name, document, answered, texts))
                if options.formats or _is_listed(results[-1]):
                    answers.append(_answer(results[-1], answered[1], ignores_missing=options.ignore_missing))
    if not judge.has_definitions and not manifests.damage and not options.ignore_missing and _only_missing(results):
        raise PlanError("", "no definition found", "at least one", "give --crds PATH")
    for line in (*manifests.damage, *_refused_definitions(definitions, results)):
        click.echo(line, err=True)
    code = _exit_code(options, manifests, results)
    content = None
    if answers or options.formats:
        from auditor.output.formats.manifests import content_of_answers  # noqa: PLC0415 - only when needed

        seconds, damage = time.monotonic() - clock, manifests.damage
        content = content_of_answers(answers, started=started, seconds=seconds, exit_code=code, damage=damage)
    with ignore_closed_stdout():
        printed = _write(options, results, content)
        print_results(results, printed, content, ignores_missing=options.ignore_missing)
    if options.field_validation != "Strict":
        text = f"unknown and duplicate fields are no errors (--field-validation {options.field_validation})"
        click.echo(text, err=True)
    if manifests.others:
        what = counted(manifests.others, "document")
        click.echo(f"skipped {what} with neither apiVersion nor kind (--skip-others)", err=True)
    elif not results and code != _NOT_READ:
        click.echo("no object found in what was given", err=True)
    return code


def _write(options: ValidateOptions, results: list[dict[str, Any]], content: Content | None) -> str:
    """Write the requested files, and print a format of the content; return the format of the answers to print."""
    if not options.formats and not options.own:
        return DEFAULT
    from pipelines.run.report.file_formats import prints, write_outputs, write_text  # noqa: PLC0415 - only when asked

    if content is not None:
        write_outputs(content, options.formats, _FORMAT_MODE)
    for name, target in options.own:
        if target:
            text = "".join(answer_parts(results, name, ignores_missing=options.ignore_missing))
            write_text(target, text, _FORMAT_MODE)
    without = "" if prints(options.formats) else DEFAULT
    return next((name for name, target in options.own if not target), without)


def _is_listed(result: dict[str, Any]) -> bool:
    """Return whether there is a message about an object."""
    return bool(result["findings"] or result["warnings"] or result["reason"])


def _exit_code(options: ValidateOptions, manifests: _Manifests, results: list[dict[str, Any]]) -> int:
    if manifests.damage or any(result["reason"] == RULES_GIVEN_UP for result in results):
        return _NOT_READ
    refused = _REFUSED if options.ignore_missing else _REFUSED | {Status.ORPHANED}
    is_empty = not results and not options.skip_others
    return 1 if is_empty or any(result["status"] in refused for result in results) else 0


def _is_object(document: PlacedDocument) -> bool:
    """Return whether a document is meant as an object, or as a list of some, or cannot be read."""
    if document.error:
        return True
    value = document.value
    among = value if type(value) is list else [value, *(part for _, part in objects_in(value))]
    return any(type(part) is dict and ("apiVersion" in part or "kind" in part) for part in among)


def _only_missing(results: list[dict[str, Any]]) -> bool:
    return bool(results) and all(result["status"] == Status.ORPHANED for result in results)


# -- reading -----------------------------------------------------------------------------------------------------------


def _read(given: str, folder: Path, into: _Manifests) -> None:
    """Read the paths that the user gave."""
    from auditor.sources.stores.locations import is_remote  # noqa: PLC0415
    from auditor.sources.stores.patterns import fetched  # noqa: PLC0415

    if given == "-":
        _add("-", sys.stdin.buffer.read(), into)
    elif is_remote(given):
        target = folder / f"fetched-{len(into.files)}"
        for shown, local in fetched(given, target):
            _read_path(shown, local, into)
    else:
        _read_path(given, Path(given), into)


def _read_path(shown: str, path: Path, into: _Manifests) -> None:
    from auditor.sources.detect import database_of  # noqa: PLC0415

    if not path.exists():
        raise SourceError(shown, "no such file or folder")
    if path.is_dir() and database_of(path) is None:
        _read_folder(shown, path, into)
    elif path.is_dir() or not _is_text(shown, path):
        _read_dump(shown, path, into)
    else:
        _read_file(shown, str(path), into, whole=True)


def _read_folder(shown: str, path: Path, into: _Manifests) -> None:
    """Read the manifests below a folder; an unreadable file does not affect the others."""
    from auditor.sources.files.folders import not_a_file  # noqa: PLC0415
    from auditor.sources.manifests.manifest_files import manifest_paths, name_below  # noqa: PLC0415
    from auditor.sources.source_plan import Damage  # noqa: PLC0415

    def refuse(error: OSError) -> None:
        into.damage.append(Damage(str(error.filename), str(error.strerror)).line(shown))

    files, _ = manifest_paths(path, refuse)
    if not files and not into.damage:
        raise SourceError(shown, "no manifest in this folder", "files named .json .yaml .yml .ndjson .jsonl")
    above = shown.rstrip("/")
    for count, file in enumerate(files):
        tell("opening", count, len(files), "files")
        below = name_below(file, path)
        if odd := not_a_file(file):
            into.damage.append(Damage(below, odd).line(shown))
            continue
        try:
            _read_file(f"{above}/{below}", file, into)
        except SourceError as error:
            into.damage.append(Damage(below, error.found).line(shown))


def _is_text(shown: str, path: Path) -> bool:
    """Whether a file has manifests as text, and is not a database or an archive."""
    from auditor.sources.detect import form_of  # noqa: PLC0415
    from auditor.sources.files.compression import UnpackedStream, is_tar  # noqa: PLC0415
    from auditor.sources.manifests.manifest_files import MANIFEST_SUFFIXES  # noqa: PLC0415
    from auditor.sources.readers import DUMPS  # noqa: PLC0415

    if not path.is_file():  # a pipe can be read only once
        return True
    with path.open("rb") as file:
        head = UnpackedStream(shown, file).peek()
    if path.name.lower().endswith((".yaml", ".yml")):
        return not is_tar(head)
    form = form_of(path, head)
    is_named = path.name.lower().endswith(MANIFEST_SUFFIXES) and form not in DUMPS
    return not is_tar(head) and (form == "manifests" or is_named)


def _read_file(shown: str, path: str, into: _Manifests, *, whole: bool = False) -> None:
    from auditor.sources.files.compression import UnpackedStream  # noqa: PLC0415
    from auditor.sources.files.folders import whole_file  # noqa: PLC0415
    from auditor.sources.files.unpacking import compression_of  # noqa: PLC0415
    from auditor.sources.source_plan import Damage  # noqa: PLC0415

    try:
        data = whole_file(path)
    except OSError as error:
        raise SourceError(shown, error.strerror or str(error)) from error
    if compression_of(data):
        stream, blocks = UnpackedStream(shown, io.BytesIO(data)), []
        while block := stream.read(1 << 20):
            blocks.append(block)
        if stream.broken and not whole:
            raise SourceError(shown, stream.broken)
        if stream.broken:
            into.damage.append(Damage("its end", stream.broken).line(shown))
        data = b"".join(blocks)
    _add(shown, data, into)


def _add(shown: str, data: bytes, into: _Manifests) -> None:
    into.size += len(data)
    into.files.append((printable_name(shown), [*placed_documents(data)] if may_define(data) else data))


def _read_dump(shown: str, path: Path, into: _Manifests) -> None:
    """Read the objects of an archive of exports; formats with etcd keys are refused."""
    from auditor.golang.jsontext import GoJsonError, decode  # noqa: PLC0415
    from auditor.plan.dumps import cut_values, open_live, open_values  # noqa: PLC0415
    from auditor.plan.options import AuditOptions  # noqa: PLC0415
    from auditor.plan.run_plan import damage_text, make_plan  # noqa: PLC0415

    with temporary_folder("validate") as folder:
        plan = make_plan(AuditOptions(dumps=(str(path),)), folder)
        for source in plan.sources:
            if not source.is_export:  # its values are in a server's own encodings, and some keys are no objects
                raise PlanError(shown, f"holds stored keys ({source.format})", "manifests", "see `auditor audit`")
            for data in cut_values(open_live(source), open_values(source)):
                into.size += len(data)
                try:
                    document = PlacedDocument(0, decode(data))
                except GoJsonError as error:
                    document = PlacedDocument(0, error=str(error))
                into.files.append((source.name, [document]))
        into.damage += damage_text(plan.sources).splitlines()


# -- judging -----------------------------------------------------------------------------------------------------------


def _given(options: ValidateOptions, manifests: _Manifests) -> list[JsonObject]:
    from auditor.plan.charts import Render  # noqa: PLC0415
    from auditor.plan.definition_paths import definitions_at, no_definition  # noqa: PLC0415
    from auditor.releases import active  # noqa: PLC0415

    given = definitions_at(options.crds, render=Render(active().name) if options.render else None)
    if options.crds and not given.documents and not given.unread:
        raise no_definition(options.crds)
    manifests.damage += given.lines()
    return given.documents


def _refused_definitions(given: list[JsonObject], results: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a warning for each definition of --crds that a server refuses, of those whose objects were judged."""
    from auditor.crds.definition import document_name  # noqa: PLC0415
    from auditor.crds.definitions_file import definition_entry  # noqa: PLC0415
    from auditor.upgrade.definition_change import change_of_definition  # noqa: PLC0415

    judged = {(result["group"], result["kind"]) for result in results}
    for document in given:
        name = document_name(document)
        entry = definition_entry(name, document, stored=False)
        if (entry.group, entry.kind) not in judged and entry.kind:
            continue
        errors = change_of_definition(name, None, document).refusals
        if errors:
            more = f", and {counted(len(errors) - 1, 'more error')}" if len(errors) > 1 else ""
            text = f"a server refuses to create the definition {name}: {cut(errors[0], _LONGEST)}{more}"
            yield visible(f"warning: --crds: {text}; what is said of its objects may not hold (see auditor crds check)")


def _judge(options: ValidateOptions, manifests: _Manifests, given: list[JsonObject]) -> CreateJudge:
    from auditor.golang.regex.compiled import MATCH_TIME  # noqa: PLC0415
    from auditor.plan.limits import pattern_seconds, rule_seconds  # noqa: PLC0415
    from auditor.updates.create import CreateJudge  # noqa: PLC0415
    from auditor.validation.rules.evaluate import RuleTime  # noqa: PLC0415

    MATCH_TIME.begin(pattern_seconds(manifests.size))
    return CreateJudge(
        [*manifests.definitions(), *given],
        namespace=options.namespace or "default",
        enforce=options.namespace is not None,
        field_validation=options.field_validation,
        rule_time=RuleTime(together=rule_seconds(manifests.size)),
    )


def _answers(judge: CreateJudge, document: PlacedDocument, size: int) -> Iterator[tuple[tuple[int, ...], CreateAnswer]]:
    """Yield position and answer for each object of a document."""
    from auditor.updates.create import CreateAnswer, ManifestNames  # noqa: PLC0415

    if document.error:
        answer = CreateAnswer(ManifestNames(), Status.UNREADABLE, document.error)
        yield (), answer
        return
    for places, value in objects_in(document.value):
        try:
            repeated = repeated_keys(document, places)
            if not 0 < len(document.text) <= _FEW_PATHS:
                check_paths(value, size)
            yield places, judge.judge(value, repeated)
        except OSError:
            raise
        except TooMuchToReport as error:
            yield places, CreateAnswer(ManifestNames(), Status.UNREADABLE, f"not checked: {error}")
        except Exception as error:  # noqa: BLE001 - the others are still checked
            from auditor.shards.result import shown_error  # noqa: PLC0415 - only on failure

            reason = f"the auditor failed on it ({shown_error(error)}); please report it"
            yield places, CreateAnswer(ManifestNames(), Status.UNREADABLE, reason)


def _result(
    name: str, document: PlacedDocument, answered: tuple[tuple[int, ...], CreateAnswer], texts: BoundedTexts
) -> dict[str, Any]:
    places, answer = answered

    def shown(finding: Finding) -> dict[str, Any]:
        line = field_line(document, finding.field, places, finding.bad_value) or None
        return {
            "line": line,
            "field": texts.bounded(finding.field),
            "type": finding.type,
            "message": texts.bounded(finding.words),
            "check": finding.check,
        }

    names = answer.names
    reason = RULES_GIVEN_UP if answer.gave_up else answer.reason
    return {
        "file": name,
        "line": field_line(document, answer.place, places) or None,
        "group": names.group,
        "version": names.version,
        "kind": names.kind,
        "namespace": names.namespace or None,
        "name": names.name,
        "status": answer.status.value,
        "reason": reason,
        "findings": with_notes([shown(finding) for finding in answer.findings]),
        "warnings": [shown(warning) for warning in answer.warnings],
        "pruned": answer.unknown,
        "unevaluated_rules": answer.unevaluated_rules,
    }


def _with_places(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that a result has: those with a place of their own."""
    said = [
        {"field": finding.field, "type": finding.type, "message": finding.words, "finding": finding}
        for finding in findings
    ]
    return [note["finding"] for note in with_notes(said)]


def _answer(result: dict[str, Any], answer: CreateAnswer, *, ignores_missing: bool) -> ManifestAnswer:
    """Return an answer for file formats, with the identity of the cause of each finding."""
    from auditor.output.formats.manifests import ManifestAnswer, Text  # noqa: PLC0415 - only when asked

    texts = [
        Text(
            field=shown["field"],
            type=finding.type,
            check=finding.check,
            detail=cut(finding.detail, _LONGEST),
            rule=finding.rule or "",
            message=noted(shown),
            line=shown["line"] or 0,
            is_warning=is_warning,
        )
        for is_warning, findings, written in (
            (False, _with_places(answer.findings), result["findings"]),
            (True, answer.warnings, result["warnings"]),
        )
        for finding, shown in zip(findings, written, strict=True)
    ]
    is_missing = ignores_missing and result["status"] == Status.ORPHANED
    return ManifestAnswer(
        file=result["file"],
        line=result["line"] or 0,
        group=result["group"],
        version=result["version"],
        kind=result["kind"],
        namespace=result["namespace"] or "",
        name=result["name"],
        status=result["status"],
        reason="" if is_missing else result["reason"] or "",
        texts=tuple(texts),
    )
