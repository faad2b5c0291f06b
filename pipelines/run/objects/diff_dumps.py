"""`auditor diff OLD NEW [KIND[/NAME]]`: objects added, removed and changed from one dump to another."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.base.errors import NotFound, NotKnown
from auditor.base.records import place_text
from auditor.base.wording import first_of
from auditor.golang import jsontext
from auditor.printing.discovery import UnknownResource, kinds_named, stored_kinds
from auditor.printing.print_rows import format_table, print_rows
from auditor.printing.yamltext import yaml_diff
from auditor.server.comparison import (
    ObjectChange,
    differences,
    without_bookkeeping,
)
from auditor.server.report import ReportStore
from pipelines.run.objects.chosen_kinds import REFUSED, kinds_and_name, note_of_no_kind, refusal
from pipelines.run.objects.unknown_kinds import is_incomplete
from pipelines.run.query import open_dump
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from pipelines.run.objects.query_options import QueryOptions


_FOLDED = ("leases.coordination.k8s.io", "events")
"""Kinds that change all the time: a list of all changes has a line for each kind, not for each object."""
_NAMED = 3
"""Kinds that a note names."""
_COLUMNS = ("change", "group", "kind", "namespace", "name", "fields", "stored_fields", "reason")


def run_diff_dumps(options: QueryOptions, new: str, write: Callable[[str], None], *, output: str) -> int:
    """Compare two dumps; return the exit code.

    Args:
        options: Options for opening both; the target is the older one: a dump, DUMP@REVISION, or a report; and kinds,
            or one object; none for everything.
        new: The newer one.
        write: Called with the output.
        output: text, or a form of rows.
    Raises:
        NotFound: There is no such object.
    """
    err = ErrorLines()
    with open_dump(_at_revision(options), err) as before, open_dump(_at_revision(options, new), err) as after:
        wanted = "/".join(options.args)
        try:
            kinds, name = _wanted(before, after, options.args, err)
        except REFUSED as error:
            return refusal(error, after, err)
        differences = _all(before, after, kinds, options.namespace, name)
        unread = _printed(
            differences,
            after,
            (options.target, new),
            write,
            output=output,
            whole=bool(name),
            folded=() if wanted else _FOLDED,
        )
        incomplete = any([is_incomplete(before), is_incomplete(after)])
        if name and not any(differences.counts.values()):
            advice = "-n NAMESPACE says where; auditor query prints names"
            if incomplete:
                raise NotKnown("", f"what could be read of the dumps has no {wanted}", "", advice)
            raise NotFound("", f"neither dump has {wanted}", "", advice)
        for dump, store, change in (("OLD", before, "added"), ("NEW", after, "removed")):
            if missing := _not_exported(store, differences.one_sided[change].values()):
                err(f"note: {dump}: {missing}\n")
        for dump, store in (("OLD", before), ("NEW", after)) if not wanted else ():
            note_of_no_kind(store, kinds, "compared", err, f"{dump}: ")
        if isinstance(before, ReportStore) and isinstance(after, ReportStore):
            err(f"these are objects: `auditor findings {new} --against {options.target}` compares the findings\n")
        return 3 if unread or incomplete else 0


def _at_revision(options: QueryOptions, target: str = "") -> QueryOptions:
    """Return options that read a target, which may be DUMP@REVISION."""
    target = target or options.target
    dump, mark, revision = target.rpartition("@")
    if mark and revision.isdecimal() and not Path(target).exists() and Path(dump).exists():
        return replace(options, target=dump, as_of=int(revision))
    return replace(options, target=target)


def _wanted(
    before: DumpStore, after: DumpStore, args: Sequence[str], err: Callable[[str], None]
) -> tuple[list[Resource], str]:
    """Return the kinds that are compared, by either dump, and the name of one object; raises one of `REFUSED`."""
    kinds = stored_kinds(after.discovery, before.discovery)
    if not args:
        return kinds, ""
    try:
        wanted, name = kinds_and_name(after.discovery, args, "diff", err)
    except UnknownResource:
        wanted, name = kinds_and_name(before.discovery, args, "diff", err)
    return [same for resource in wanted for same in kinds_named(kinds, resource)], name


def _not_exported(store: DumpStore, kinds: Iterable[Resource]) -> str:
    """Return a sentence about the kinds that an export has no object of at all; empty if there are none."""
    if not any(source.is_export for source in store.plan.sources):
        return ""
    names = [resource.group_resource for resource in kinds if next(store.rows.of(resource), None) is None]
    if not names:
        return ""
    return f"the export has no objects of {first_of(names, _NAMED, 'kind')}; they may not have been exported"


class _All:
    """The differences of some kinds, the counts of objects by change, and the kinds of those that one dump has."""

    def __init__(self, changes: Callable[[], Iterator[ObjectChange | None]]) -> None:
        self.counts = dict.fromkeys(("added", "removed", "changed", "stored", "unreadable", "repeated", "same"), 0)
        self.one_sided: dict[str, dict[str, Resource]] = {"added": {}, "removed": {}}
        self._changes = changes

    def __iter__(self) -> Iterator[ObjectChange]:
        for change in self._changes():
            self.counts["same" if change is None else change.change] += 1
            if change is not None:
                if change.change in self.one_sided:
                    self.one_sided[change.change].setdefault(change.resource.group_resource, change.resource)
                yield change


def _all(before: DumpStore, after: DumpStore, kinds: list[Resource], namespace: str, name: str) -> _All:
    return _All(
        lambda: (
            change
            for resource in kinds
            for change in differences(before, after, resource, namespace=namespace, name=name)
        )
    )


def _printed(
    found: _All,
    store: DumpStore,
    names: tuple[str, str],
    write: Callable[[str], None],
    *,
    output: str,
    whole: bool,
    folded: Collection[str],
) -> int:
    """Print the differences, of some kinds only their number; return how many objects could not be read."""
    if output != "text":
        for part in print_rows((_record(store, one) for one in found), _COLUMNS, output, encode=jsontext.encode):
            write(part)
        return found.counts["unreadable"]
    rows: list[list[str]] = []
    numbers: dict[str, Counter[str]] = {}
    for change in found:
        if change.resource.group_resource in folded and not change.reason:
            numbers.setdefault(change.resource.group_resource, Counter())[change.change] += 1
        elif whole and not change.reason:
            was, now = (_shown(store, change.resource, obj) for obj in (change.old, change.new))
            write(yaml_diff(was, now, names, for_terminal=sys.stdout.isatty()))
            write("".join(f"{_place(change)}: {note}\n" for note in change.difference.notes()))
        else:
            rows.append([change.change, change.resource.group_resource, _place(change), _where(change)])
    rows += [["folded", kind, _counts(number), "-o prints each"] for kind, number in numbers.items()]
    counts = found.counts
    if not whole:
        write(f"{_counts(counts, ('added', 'removed', 'changed', 'same'))}\n")
        write(f"\n{format_table(('CHANGE', 'KIND', 'OBJECT', 'FIELDS'), rows)}\n" if rows else "")
    elif not any(count for name, count in counts.items() if name != "same"):
        write("the same\n" if counts["same"] else "")
    return counts["unreadable"]


def _counts(counts: Mapping[str, int], always: Collection[str] = ()) -> str:
    words = {"stored": "changed only as stored", "same": "the same", "unreadable": "not read"}
    shown = [name for name, count in counts.items() if count or name in always]
    return ", ".join(f"{counts[name]} {words.get(name, name)}" for name in shown)


def _place(change: ObjectChange) -> str:
    return place_text(change.namespace, change.name)


def _where(change: ObjectChange) -> str:
    if change.reason:
        return change.reason[:120]
    return change.difference.first_paths()


def _shown(store: DumpStore, resource: Resource, obj: Any) -> Any:
    plain = without_bookkeeping(obj)
    return None if plain is None else store.reader.concealed(resource, plain)


def _record(store: DumpStore, change: ObjectChange) -> dict[str, Any]:
    """Return a difference as JSON data."""
    record: dict[str, Any] = {
        "change": change.change,
        "group": change.resource.group,
        "kind": change.resource.kind,
        "namespace": change.namespace,
        "name": change.name,
    }
    if change.reason:
        record["reason"] = change.reason
    difference = change.difference
    columns = (
        ("fields", difference.read),
        ("stored_fields", difference.stored),
        ("redacted_fields", difference.redacted),
    )
    record |= {name: list(paths) for name, paths in columns if paths}
    for side, obj in (("old", change.old), ("new", change.new)):
        if obj is not None:
            record[side] = _shown(store, change.resource, obj)
    return record
