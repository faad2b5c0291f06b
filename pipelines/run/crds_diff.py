"""`auditor crds diff`: what a change of definitions does to clients, without any object."""

from __future__ import annotations

import datetime
import fnmatch
import textwrap
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from auditor.base.visible import label, visible
from auditor.base.wording import by_count, counted
from auditor.crddiff import BREAKS, CHANGES, EFFECTS, HARMLESS, MAY_BREAK
from auditor.crddiff.compare import Comparison, compare
from auditor.golang.jsontext import encode
from auditor.output.views.layout import middle_clipped
from auditor.plan.charts import Render
from auditor.plan.definition_paths import definitions_at, no_definition
from auditor.printing.print_rows import print_rows
from auditor.releases import active
from pipelines.console import ignore_closed_stdout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.causes.accepting import Entry
    from auditor.crddiff import Change
    from auditor.output.formats.problems import Content
    from auditor.plan.definition_paths import GivenDefinitions
    from auditor.printing.print_rows import Columns
    from pipelines.run.report.file_formats import FormatTarget


_NOT_READ: Final = 3
"""Exit code if a file that may hold a definition was not read."""
_FORMAT_MODE: Final = 0o644
_BELOW: Final = " " * 6
_MOST_LINES: Final = 3
_SLACK: Final = 40
"""Columns that lines lose as words are not cut."""
_SHOWN: Final = 60
DEFAULT: Final = "text"
"""The default output format."""
_WORDS: Final = {
    "refused": "refused",
    "deleted": "objects deleted",
    "not-served": "404",
    "unreadable": "unreadable",
    "data-dropped": "data dropped",
    "create-refused": "creates refused",
    "update-refused": "updates refused",
    "apply-refused": "apply fails",
    "defaults": "defaults",
    "columns": "shown otherwise",
    HARMLESS: "",
}
"""Effects in a word or two."""


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """Options of the command.

    Attributes:
        old: Where the definitions before are, as for `definitions_at`.
        new: Where the definitions after are.
        render: Whether charts are rendered by `helm template`.
        accept: File of accepted changes; empty if there is none.
        own: Formats of the changes themselves, each with a file; an empty one is standard output.
        formats: File formats to write.
    """

    old: str
    new: str
    render: bool = False
    accept: str = ""
    own: tuple[tuple[str, str], ...] = ()
    formats: tuple[FormatTarget, ...] = ()


def run_crds_diff(options: DiffOptions) -> int:
    """Print what the definitions of two releases differ in; return the exit code.

    Returns:
        3: a file that may hold a definition was not read; 1: a change breaks something, or may, and was not accepted;
        0: neither.
    """
    from auditor.causes.accepting import read_accepted  # noqa: PLC0415 - it loads numpy

    started, clock = datetime.datetime.now(datetime.UTC), time.monotonic()
    entries = read_accepted(options.accept) if options.accept else ()
    old, new = (_read(path, render=options.render) for path in (options.old, options.new))
    damage = [*old.lines(), *new.lines()]
    for line in damage:
        click.echo(line, err=True)
    comparison = compare(old.documents, new.documents)
    changes, notes = _with_accepted(comparison.changes, entries, started.date())
    comparison = replace(comparison, changes=changes)
    code = _NOT_READ if damage else int(any(change.is_breaking for change in changes))
    content = None
    if options.formats:
        content = _content(
            options, comparison, started=started, seconds=time.monotonic() - clock, damage=damage, code=code
        )
    with ignore_closed_stdout():
        _write(options, comparison, content)
    for line in (*notes, _sentence(comparison, is_whole=not damage)):
        click.echo(line, err=True)
    return code


def _read(path: str, *, render: bool) -> GivenDefinitions:
    given = definitions_at((path,), render=Render(active().name) if render else None)
    if not given.documents and not given.unread:
        raise no_definition((path,))
    return given


# -- accepted changes --------------------------------------------------------------------------------------------------


def _with_accepted(
    changes: Sequence[Change], entries: Sequence[Entry], today: datetime.date
) -> tuple[tuple[Change, ...], list[str]]:
    """Return the changes, accepted or not, and a line for each entry that accepts nothing."""
    notes = []
    out = list(changes)
    for number, entry in enumerate(entries, 1):
        matched = [position for position, change in enumerate(changes) if _matches(entry, change)]
        if not matched:
            notes.append(f"--accept: entry {number} matches no change ({visible(entry.reason)})")
        elif entry.last_day < today:
            notes.append(f"--accept: entry {number} expired on {entry.expires} ({visible(entry.reason)})")
        else:
            for position in matched:
                out[position] = replace(out[position], is_accepted=True)
    return tuple(out), notes


def _matches(entry: Entry, change: Change) -> bool:
    from auditor.causes.accepting import matches  # noqa: PLC0415 - it loads numpy

    is_named = not entry.name or fnmatch.fnmatchcase(change.definition, entry.name)
    place = entry.cluster or entry.namespace  # a definition has neither
    if not is_named or (place and not fnmatch.fnmatchcase("", place)) or not change.id.startswith(entry.cause):
        return False
    group, checks = change.definition.partition(".")[2], (change.change, change.effect)
    return matches(entry, kind=change.kind, group=group, fields=(change.path,), checks=checks)


# -- what is printed ---------------------------------------------------------------------------------------------------

_COLUMNS: Final[Columns] = {
    "verdict": lambda row: f"{row['verdict']} (accepted)" if row["accepted"] else row["verdict"],
    "effect": lambda row: _WORDS[row["effect"]],
    "definition": "definition",
    "versions": lambda row: ",".join(row["versions"]),
    "path": "path",
    "change": lambda row: _changed(row["change"], row["old"], row["new"]),
    "message": lambda row: row["message"] or row["reason"],
    "witness": lambda row: "" if row["witness"] is None else encode(row["witness"]),
    "id": "id",
}


def _write(options: DiffOptions, comparison: Comparison, content: Content | None) -> None:
    from pipelines.run.report.file_formats import prints, write_outputs, write_text  # noqa: PLC0415

    if content is not None:
        write_outputs(content, options.formats, _FORMAT_MODE)
    own = options.own
    if not any(not target for _, target in own) and not prints(options.formats):
        own = (*own, (DEFAULT, ""))
    for name, target in own:
        text = "".join(_parts(comparison, name))
        if target:
            write_text(target, text, _FORMAT_MODE)
        else:
            click.echo(text, nl=False)


def _parts(comparison: Comparison, form: str) -> Iterator[str]:
    if form == DEFAULT:
        yield from (f"{line}\n" for line in _lines(comparison))
        return
    rows = [change.row() for change in comparison.changes]
    yield from print_rows(rows, _COLUMNS, form, wide=("message", "witness", "id"))


def _lines(comparison: Comparison) -> Iterator[str]:
    """Yield the changes by definition, each on a line, worst first; those that are harmless together on one."""
    from pipelines.console import terminal_width  # noqa: PLC0415 - only for text

    width = terminal_width()
    by_name: dict[str, list[Change]] = {}
    for change in comparison.changes:
        by_name.setdefault(change.definition, []).append(change)
    for name, changes in by_name.items():
        yield label(name)
        for change in changes:
            if change.verdict != HARMLESS:
                yield from _of_change(change, width)
        harmless = Counter(change.change for change in changes if change.verdict == HARMLESS)
        if harmless:
            shown = ", ".join(f"{what} ({count})" if count > 1 else what for what, count in harmless.most_common())
            yield from _wrapped(f"harmless: {visible(shown)}", width, "  ", "    ")


def _of_change(change: Change, width: int) -> Iterator[str]:
    verdict = "accepted" if change.is_accepted else change.verdict
    where = " ".join(filter(None, (",".join(change.versions), change.path)))
    what = _changed(change.change, change.old, change.new)
    line = f"  {verdict:<9}  {_WORDS[change.effect]:<15}  {f'{where}: {what}' if where else what}"
    yield visible(line if len(line) <= width else f"{line[: width - 1]}…")
    said = change.message or change.reason
    if change.updates and change.verdict == BREAKS:
        said += f" (updates {'pass while it is unchanged' if change.updates == 'tolerated' else 'are refused too'})"
    if change.witness is not None:
        said = f"{_brief(change.witness)}{' -> ' if said else ''}{said}"
    if change.update is not None:
        said += f", changed to {_brief(change.update)}"
    if said:
        shown = middle_clipped(visible(said), _MOST_LINES * (width - len(_BELOW)) - _SLACK)
        yield from _wrapped(shown, width, _BELOW, _BELOW)


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, max_lines=_MOST_LINES
    )


def _brief(witness: dict[str, Any]) -> str:
    """Return what a witness has beside its head, as one short line of JSON."""
    body = {key: value for key, value in witness.items() if key not in ("apiVersion", "kind", "metadata")}
    text = encode(body)
    return text if len(text) <= _SHOWN * 2 else f"{text[: _SHOWN * 2]}…"


def _changed(change: str, old: str, new: str) -> str:
    was, now = (text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…" for text in (old, new))
    if was and now:
        return f"{change} {was} -> {now}"
    return f"{change} {now or was}".rstrip()


def _sentence(comparison: Comparison, *, is_whole: bool) -> str:
    counts = Counter("accepted" if change.is_accepted else change.verdict for change in comparison.changes)
    unchanged = len(comparison.kinds) - len({change.definition for change in comparison.changes})
    parts = [
        f"{n} {by_count(n, text, several)}"
        for key, text, several in (
            (BREAKS, "change breaks something", "changes break something"),
            (MAY_BREAK, "may break something", "may break something"),
            ("accepted", "is accepted", "are accepted"),
            (CHANGES, "changes what clients see", "change what clients see"),
            (HARMLESS, "is harmless", "are harmless"),
        )
        if (n := counts[key])
    ]
    text = f"{counted(len(comparison.kinds), 'definition')}, {unchanged} unchanged: {', '.join(parts) or 'no change'}"
    return text if is_whole else f"{text}; NOT EVERYTHING WAS READ, see above"


# -- file formats ------------------------------------------------------------------------------------------------------


def _content(
    options: DiffOptions,
    comparison: Comparison,
    *,
    started: datetime.datetime,
    seconds: float,
    damage: list[str],
    code: int,
) -> Content:
    """Return what file formats are made of: an answer for each definition, with its place in NEW."""
    from auditor.output.formats.manifests import ManifestAnswer, content_of_answers  # noqa: PLC0415 - only when asked

    places = _Places(options.new)
    answers = []
    for name, kind in comparison.kinds.items():
        file, line = places.of(name, "")
        changes = [change for change in comparison.changes if change.definition == name and change.verdict != HARMLESS]
        texts = tuple(_text(change, places) for change in changes)
        group = name.partition(".")[2]
        answers.append(ManifestAnswer(file, line, group, "", kind, "", name, "valid", "", texts))
    content = content_of_answers(answers, started=started, seconds=seconds, exit_code=code, damage=damage)
    return replace(content, all_clear=f"{_sentence(comparison, is_whole=not damage)}.")


def _text(change: Change, places: _Places) -> Any:
    from auditor.output.formats.manifests import Text  # noqa: PLC0415 - only when asked

    what = _changed(change.change, change.old, change.new)
    versions = ", ".join(change.versions)
    said = change.message or change.reason
    where = f"{versions} {change.path}".strip()
    message = f"{where and f'{where}: '}{what}: {EFFECTS[change.effect]}{said and f': {said}'}"
    if change.witness is not None:
        message += f"; witness: {encode(change.witness)}"
    return Text(
        field=change.path or "<nil>",
        type=change.effect,
        check=change.change,
        detail=what,
        rule="",
        message=message,
        line=places.of(change.definition, change.path, change.versions)[1],
        is_warning=not change.is_breaking,
    )


class _Places:
    """The files and lines of definitions at a local path; others have the path alone.

    Args:
        given: The path that the user gave.
    """

    def __init__(self, given: str) -> None:
        from pathlib import Path  # noqa: PLC0415

        from auditor.crds.definition import document_name  # noqa: PLC0415
        from auditor.sources.crd_files import definitions_in  # noqa: PLC0415
        from auditor.sources.manifests.manifest_files import manifest_files, read_packed  # noqa: PLC0415
        from auditor.sources.manifests.placed import objects_in, placed_documents  # noqa: PLC0415

        self.given = given
        self._known: dict[str, tuple[str, Any, tuple[int, ...]]] = {}
        path = Path(given)
        files = manifest_files(path)[0] if path.is_dir() else [path] if path.is_file() else []
        for file in files:
            shown = str(file) if path.is_dir() else given
            for document in placed_documents(read_packed(file)):
                for items, value in objects_in(document.value):
                    for definition in definitions_in(value):
                        self._known[document_name(definition)] = shown, document, items

    def of(self, name: str, path: str, versions: Sequence[str] = ()) -> tuple[str, int]:
        """Return the file of a definition and the line of a place in its schema; line 0 if that is not known."""
        from auditor.sources.manifests.placed import field_line  # noqa: PLC0415

        if name not in self._known:
            return self.given, 0
        file, document, items = self._known[name]
        return file, field_line(document, self._field(document.value, items, path, versions), items)

    @staticmethod
    def _field(value: Any, items: tuple[int, ...], path: str, versions: Sequence[str]) -> str:
        for number in items:
            value = value["items"][number]
        spec = value.get("spec")
        listed = spec.get("versions") if type(spec) is dict else None
        names = [one.get("name") if type(one) is dict else None for one in listed] if type(listed) is list else []
        if not versions or versions[0] not in names:
            return "metadata.name"
        field = f"spec.versions[{names.index(versions[0])}]"
        if not path:
            return field
        field += ".schema.openAPIV3Schema"
        for part in path.replace("[*]", ".[*]").split("."):
            field += {"[*]": ".items", "*": ".additionalProperties"}.get(part, f".properties.{part}")
        return field
