"""`auditor history`: the writes that the revisions of a dump have: when, by whom, and what each changed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from auditor.base.records import metadata_of, place_text
from auditor.base.visible import visible
from auditor.base.wording import are, by_count, counted
from auditor.golang import jsontext
from auditor.printing.discovery import stored_kinds
from auditor.printing.get.server_errors import StatusError, not_found
from auditor.printing.print_rows import NDJSON, print_rows
from auditor.printing.yamltext import yaml_diff
from auditor.server.clock import time_text
from auditor.server.comparison import difference_of, without_bookkeeping
from auditor.server.history import check_history, revision_at, writes
from auditor.sources.registry_key import printable_key
from pipelines.console import terminal_width
from pipelines.run.objects.chosen_kinds import REFUSED, kinds_and_name, kinds_that_take, refusal
from pipelines.run.objects.unknown_kinds import is_incomplete
from pipelines.run.query import open_dump
from pipelines.streams import ErrorLines, TextWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from auditor.server.history import Point, Write
    from pipelines.run.objects.query_options import QueryOptions


_COLUMNS: Final = ("revision", "time", "event", "group", "kind", "namespace", "name", "by", "fields")
_TITLES: Final = {"time": "object_time"}
"""A write has no time of its own."""


def run_history(options: QueryOptions, *, begin: Point | None, end: Point | None, output: str, as_diff: bool) -> int:
    """Print the writes of the requested kinds or objects; return the exit code.

    Args:
        options: The dump, how it is read, and the selectors.
        begin, end: The first and the last write; None for all.
        output: A form of rows; json and ndjson are the lines of a watch.
        as_diff: Print what each write changed as a unified diff.

    Raises:
        PlanError: There is no dump, or it has no history.
    """
    out, err = TextWriter(sys.stdout), ErrorLines()
    with open_dump(options, err) as store:
        history = _History(store, options, err)
        try:
            for text in history.texts(begin, end, output, as_diff=as_diff):
                out(text)
            history.tell(is_table=output in ("table", "wide"))
        except REFUSED as error:
            return refusal(error, store, err)
        return 3 if is_incomplete(store) or history.unread else 0


class _History:
    """The requested writes.

    Attributes:
        unread: How many of them cannot be read.
    """

    def __init__(self, store: DumpStore, options: QueryOptions, err: ErrorLines) -> None:
        self.unread = 0
        self._store, self._options, self._err = store, options, err
        self._kinds: list[Resource] = []
        self._name = self._key = ""
        self._is_all = False
        self._printed = 0
        self._outside: set[bytes] = set()
        self._spans: list[tuple[int, int]] = []

    def texts(self, begin: Point | None, end: Point | None, output: str, *, as_diff: bool) -> Iterator[str]:
        """Yield the writes as text; raises UnknownResource, UsageError, StatusError."""
        self._choose()
        for number, source in enumerate(self._store.plan.sources):
            check_history(source)
            first = 0 if begin is None else revision_at(self._store, number, begin, before=True)
            self._spans.append((first, sys.maxsize if end is None else revision_at(self._store, number, end)))
        is_of_lines = as_diff or output in ("json", NDJSON)  # kubectl's JSON of a watch is a line for each event
        make: Callable[[Write], Any] = self._diff if as_diff else self._line if is_of_lines else self._row
        made = (one for write in self._writes() if (one := self._made(make, write)) is not None)
        if is_of_lines:
            yield from made
            return
        if output == "yaml":
            yield from print_rows(made, (), output)
            return
        are_many = len({resource.kind for resource in self._kinds}) > 1
        columns = {_TITLES.get(name, name): name for name in _COLUMNS if name != "kind" or are_many}
        fit: dict[str, Any] = {"cut": ("by",), "width": terminal_width()}
        yield from print_rows(made, columns, output, wide=("group",), **fit)

    def _choose(self) -> None:
        """Choose kinds, and the name or key, by the arguments; without any, all kinds that take the selectors."""
        args, options, store = self._options.args, self._options, self._store
        if args and not args[0].startswith("/"):
            selective = bool(options.labels or options.fields)
            self._kinds, self._name = kinds_and_name(store.discovery, args, "history", self._err, selective=selective)
            return
        self._key = args[0] if args else ""
        kinds = stored_kinds(store.discovery)
        self._kinds = kinds_that_take(
            kinds, lambda resource: store.selection.parsed(resource, options.labels, options.fields), self._err
        )
        self._is_all = self._kinds == kinds

    def _writes(self) -> Iterator[Write]:
        options = self._options
        for write in writes(
            self._store,
            self._kinds,
            namespace=options.namespace,
            name=self._name,
            key=self._key.encode("utf-8", "surrogateescape"),
            labels=options.labels,
            fields=options.fields,
            spans=self._spans,
            outside=self._outside if self._is_all else None,
        ):
            self._printed += 1
            self.unread += write.type == "ERROR"
            yield write

    def tell(self, *, is_table: bool) -> None:
        """Report on standard error what is not there.

        Raises:
            StatusError: There is no write at all of the object that is asked for.
        """
        is_whole = all(span == (0, sys.maxsize) for span in self._spans)
        is_whole = is_whole and not (self._options.labels or self._options.fields or self._store.left_out.failed)
        if self._name and not self._printed and is_whole:
            raise not_found(self._kinds[0], self._name)
        if not self._printed and is_table:
            self._err("No writes found.\n")
        if self.unread:
            lines = by_count(self.unread, "its line says", "their lines say")
            self._err(f"{counted(self.unread, 'write')} cannot be read, as {lines}\n")
        if self._outside:
            keys, first = counted(len(self._outside), "key"), printable_key(min(self._outside))
            self._err(f"note: {keys} of no kind {are(len(self._outside))} left out; first {first}\n")
        for source, (first_revision, _) in zip(self._store.plan.sources, self._spans, strict=True):
            if first_revision <= (compacted := source.compacted_revision or -1):
                self._err(
                    f"note: compacted up to revision {compacted}: of the writes before, at most the last one of each "
                    "object is here, and no deletion\n"
                )

    def _made(self, make: Callable[[Write], Any], write: Write) -> Any:
        try:
            return make(write)
        except Exception as error:  # noqa: BLE001 - it is left out
            self._store.leave_out(printable_key(write.revision.key), error)
            return None

    def _row(self, write: Write) -> dict[str, Any]:
        time, manager = write.by()
        row: dict[str, Any] = {
            "revision": write.revision.revision,
            "time": "" if time is None else time_text(time),
            "event": write.type,
            "group": write.resource.group,
            "kind": write.resource.kind,
            "namespace": write.place[0],
            "name": write.place[1],
            "by": manager,
            "fields": self._fields(write),
        }
        if write.object is not None:
            row["object"] = self._store.reader.concealed(write.resource, write.object)
        return row

    def _fields(self, write: Write) -> str:
        """Return some paths that a write changed, or why they are not known."""
        if write.old is None or write.new is None:
            return write.reason[:200] or (f"not known ({_unknown(write)})" if write.type == "MODIFIED" else "")
        return difference_of(self._store.reader, write.resource, write.old, write.new).first_paths() or _unseen(write)

    def _line(self, write: Write) -> str:
        obj: Any = write.object
        if obj is None:
            what = "corrupt object " if write.is_corrupt else ""
            message = f"{what}{printable_key(write.revision.key)}: {write.reason}"
            obj = StatusError(500, "InternalError", message).status()
        else:
            obj = self._store.reader.concealed(write.resource, obj)
        return f'{{"type":"{write.type}","object":{jsontext.encode(obj)}}}\n'

    def _diff(self, write: Write) -> str:
        """Return what a write changed: a unified diff, and what it does not show."""
        time, manager = write.by()
        words = [f"revision {write.revision.revision}", write.resource.kind, place_text(*write.place)]
        words += ["" if time is None else time_text(time), f"by {manager}" if manager else ""]
        words += ["(deleted)"] if write.revision.deleted else []
        after = visible(" ".join(filter(None, words)))
        if write.type == "ERROR":
            return f"unreadable: {after}: {visible(write.reason)}\n"
        before = "/dev/null" if write.type == "ADDED" else f"({_unknown(write)})"
        if write.old is not None:
            before = f"revision {metadata_of(write.old.read).get('resourceVersion')}"
        reader = self._store.reader
        old, new = (
            None if state is None else reader.concealed(write.resource, without_bookkeeping(state.read) or state.read)
            for state in (write.old, write.new)
        )
        text = yaml_diff(old, new, (before, after), for_terminal=sys.stdout.isatty())
        notes: list[str] = []
        if write.old is not None and write.new is not None:
            notes = difference_of(reader, write.resource, write.old, write.new).notes()
            notes = notes if text or notes else [_unseen(write)]
        head = "" if text else f"--- {before}\n+++ {after}\n"
        return head + text + "".join(f"# {note}\n" for note in notes)


def _unknown(write: Write) -> str:
    return "compacted" if write.is_first else "the revision before cannot be read"


def _unseen(write: Write) -> str:
    """Return what a write changed that changes nothing else."""
    is_same = write.old is not None and write.new is not None and write.old.stored == write.new.stored
    return "only resourceVersion" + ("" if is_same else " and managedFields")
