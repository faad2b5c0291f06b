"""`auditor show`: everything known about objects: as read and as stored, findings, impact, writers, revisions."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import NotFound, NotKnown, PlanError
from auditor.base.statuses import Status
from auditor.printing.arguments import read_arguments
from auditor.printing.discovery import Resource, UnknownResource
from auditor.printing.get.server_errors import OF_THE_COMMAND, StatusError, left_out, not_found
from auditor.printing.jsonprint import to_json
from auditor.printing.print_rows import DATA, print_rows, yaml_text
from auditor.printing.yamltext import YamlTextError, to_yaml
from auditor.server.comparison import are_different
from auditor.server.dump import DumpStore
from auditor.server.history import deleted_keys
from auditor.sources.manifests.object_header import read_header
from auditor.sources.registry_key import printable_key
from auditor.store.manifest import MANIFEST
from pipelines.console import terminal_width
from pipelines.run.objects.chosen_kinds import REFUSED, refusal
from pipelines.run.objects.row_kind import resource_of
from pipelines.run.objects.show_document import document_of
from pipelines.run.objects.show_report import Place, of_cause, of_report
from pipelines.run.objects.show_text import Shown, known_text, object_text, writer_rows
from pipelines.run.objects.unknown_kinds import lost_definitions
from pipelines.run.query import open_stores
from pipelines.run.remote import query_here
from pipelines.streams import ErrorLines, TextWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.server.dump_rows import StoredRow
    from pipelines.run.objects.query_options import QueryOptions
    from pipelines.run.query import Opened


_OF_OBJECT: Final = ("key", "kind", "group", "stored_version", "status", "impact", "impacts", "reason")


def run_show(options: QueryOptions, *args: str, output: str, now: float | None = None, writers: bool = False) -> int:
    """Print what is known about objects; return the exit code: 1 if one of them does not exist.

    Args:
        options: The dump or report, and how it is read.
        args: A key, KIND/NAME, or a kind and names.
        output: text, or a form of rows; yaml and json are documents of the objects, the others rows of them.
        now: Seconds since 1970, for the ages of events; None for the newest time of the dump.
        writers: Print who wrote each field instead.

    Raises:
        NotFound: There is no such key.
        PlanError: The report is of another release, or the dump of a report is missing.
    """
    with query_here(options) as local:
        return _show(local, args, output, now=now, writers=writers)


def _show(options: QueryOptions, args: Sequence[str], output: str, *, now: float | None, writers: bool) -> int:
    out, err = TextWriter(sys.stdout), ErrorLines()
    has_report = (Path(options.target) / MANIFEST).exists()
    places: dict[Place, list[Shown]] = {}
    errors: list[Exception] = []
    with open_stores(replace(options, rows_of_other=not options.dumps), err) as opened:
        clusters = tuple(opened.stores) if opened.is_fleet else ()
        stores = {cluster: store for cluster, store in opened.stores.items() if isinstance(store, DumpStore)}
        for cluster, store in stores.items():
            for place, shown in _chosen(store, args, options, errors):
                document = {**({"cluster": cluster} if clusters else {}), **shown.document}
                places.setdefault(place._replace(clusters=clusters), []).append(shown._replace(document=document))
        if has_report and len(args) == 1 and not places:
            places[Place(args[0], clusters)] = []
        parts = [(of_report(options.target, place) if has_report else {}, shown) for place, shown in places.items()]
        parts = [(judged, shown) for judged, shown in parts if judged or shown]
        if not parts and not any(store.left_out.failed for store in stores.values()):
            if has_report and len(args) == 1 and (first := of_cause(options, args[0])):
                return _show(first[0], first[1:], output, now=now, writers=writers)
            code = _nothing(options, args, errors, opened, err)
            return 3 if opened.is_incomplete() and code < 2 else code
        every = [shown for _, several in parts for shown in several]
        if not every and (writers or options.shown_as == "stored") and parts:
            raise PlanError(options.target, "the dump of this report is not here", "", "--dump names it")
        if writers:
            makers = [partial(_writers, every, output, err)]
        elif options.shown_as == "stored":
            makers = [partial(_stored, shown.document.get("stored"), output) for shown in every]
        elif output == "text":
            text_of = partial(object_text, now=now, with_events=len(every) == 1)
            makers = [partial(text_of, one, judged) for judged, shown in parts for one in shown]
            makers += [partial(known_text, {}, judged, {}) for judged, shown in parts if not shown]
        else:
            documents = [document for judged, shown in parts for document in _documents(judged, shown)]
            makers = [partial(_text, document, output, headers=not number) for number, document in enumerate(documents)]
        failed = _print_each(makers, out, err, args[0], _BETWEEN.get(output, ""))
        for error in errors if len(stores) == 1 else ():
            refusal(error, opened.as_one(err), err)
        is_incomplete = opened.is_incomplete() or failed
    return 1 if errors and len(stores) == 1 else 3 if is_incomplete else 0


_BETWEEN: Final = {"text": "\n\n", "yaml": "---\n", "json": "---\n"}


def _print_each(makers: Sequence[Callable[[], str]], out: TextWriter, err: ErrorLines, place: str, between: str) -> int:
    """Print what each returns; return on how many this program failed."""
    failed, lead = 0, ""
    for make in makers:
        try:
            text = make()
        except OF_THE_COMMAND:
            raise
        except Exception as error:  # noqa: BLE001 - it is left out
            failed += 1
            err(left_out(place, error))
            continue
        out(lead + text)
        lead = between
    return failed


def _nothing(
    options: QueryOptions, args: Sequence[str], errors: Sequence[Exception], opened: Opened, err: ErrorLines
) -> int:
    """Report that there is no such object; return the exit code.

    Raises:
        NotFound, NotKnown: It was asked for by its key.
        PlanError: The dump of a report is missing.
    """
    errors = list({str(error): error for error in errors}.values())
    unknown = [error for error in errors if not isinstance(error, StatusError)]
    store = opened.as_one(err)
    has_dumps = any(isinstance(one, DumpStore) for one in opened.stores.values())
    names = [error.name for error in unknown if isinstance(error, UnknownResource)]
    near = " or ".join(near for name in names for near in store.discovery.similar(name))
    if len(args) == 1 and (unknown or not has_dumps):
        is_report = (Path(options.target) / MANIFEST).exists()
        advice = "the column `key` of objects/ lists the keys" if is_report else "`auditor query` prints the names"
        if opened.is_incomplete() or (names and lost_definitions(store)):
            raise NotKnown(options.target, f"what could be read of it has no key {args[0]}", "", advice)
        raise NotFound(options.target, f"there is no key {args[0]}", "", f"did you mean {near}?" if near else advice)
    if not has_dumps:
        raise PlanError(options.target, "the dump of this report is not here", "", "--dump names it")
    if not errors:
        err(f"No resources found{f' in {options.namespace} namespace' if options.namespace else ''}.\n")
    return max((refusal(error, store, err) for error in errors), default=0)


def _chosen(
    store: DumpStore, args: Sequence[str], options: QueryOptions, errors: list[Exception]
) -> Iterator[tuple[Place, Shown]]:
    """Yield the objects that the arguments mean, and where a report has them; errors gets what is not there."""
    rows: list[tuple[Resource | None, StoredRow, int]] = []
    if len(args) == 1:
        of_key = [(row, 0) for row in _of_key(store, args[0])] or deleted_keys(store, args[0], args[0])
        rows = [(resource_of(store, row, options.etcd_prefix)[0], row, deleted) for row, deleted in of_key]
    is_key, is_list = bool(rows), False
    selectors: dict[Resource | None, Any] = {}
    if not is_key:
        try:
            wanted = read_arguments(
                store.discovery,
                args,
                selective=bool(options.labels),
                all_namespaces=False,
                warn=lambda text: store.warn(f"{text}\n"),
                command="auditor show DUMP",
            )
            if options.labels:
                selectors = {kind: store.selection.parsed(kind, options.labels, "") for kind in wanted.kinds}
        except REFUSED as error:
            errors.append(error)
            return
        is_list = bool(wanted.kinds)
        rows = [(kind, row, 0) for kind in wanted.kinds for row in store.rows.of(kind, options.namespace)]
        for resource, name in wanted.names:
            namespace = options.namespace if resource.namespaced else ""
            is_anywhere = resource.namespaced and not namespace
            live = store.rows.anywhere(resource, name) if is_anywhere else store.rows.of(resource, namespace, name)
            below = f"{store.catalog.key_prefix(resource)}{f'{namespace}/' if namespace else ''}"
            named = [(row, 0) for row in live] or deleted_keys(store, below, f"/{name}")
            rows += [(resource, row, deleted) for row, deleted in named]
            if not named:
                errors.append(not_found(resource, name))
    for kind, row, deleted in rows:
        try:  # the revisions of each key are a walk through the dump
            document = document_of(store, row, options, with_revisions=not is_list)
        except Exception as error:  # noqa: BLE001 - it is left out
            store.leave_out(store.rows.place(row), error)
            continue
        if deleted:
            document = {"deleted_at_revision": deleted, **document}
        shown = Shown(store, row, kind, document, _is_unread(store, row, document))
        if (
            kind is not None
            and kind in selectors
            and not store.selection.matches(kind, document.get("read") or {}, *selectors[kind])
        ):
            continue
        if row.key is not None:
            yield Place(printable_key(row.key)), shown
        elif is_key or kind is None:
            yield Place(args[0]), shown
        else:
            yield Place("/".join(store.rows.place_in(kind, row) or ()), kind=(kind.group, kind.kind)), shown


def _is_unread(store: DumpStore, row: StoredRow, document: dict[str, Any]) -> bool:
    """Return whether no server can read a value, or its key was not given; report it, and count it as left out."""
    status = document.get("status")
    if "read" in document or status not in (Status.UNREADABLE, Status.SEALED):
        return False
    if status == Status.UNREADABLE:
        store.corrupt_objects.add(store.rows.place(row), str(document.get("reason")))
    else:
        store.left_out.sealed += 1
        store.warn(f"{store.rows.place(row)}: {document.get('reason')}\n")
    return True


def _of_key(store: DumpStore, key: str) -> Iterator[StoredRow]:
    """Yield the rows of an etcd key, or of [NAMESPACE/]NAME in an export."""
    for number, source in enumerate(store.plan.sources):
        if not source.is_export:
            yield from store.rows.exact(number, key.encode("utf-8", "surrogateescape"))
            continue
        for row in store.rows.all(number):
            header = read_header(store.rows.stored_bytes(row))
            if header is not None and key in (header.name, f"{header.namespace}/{header.name}"):
                yield row


def _documents(judged: dict[str, Any], objects: Sequence[Shown]) -> Iterator[dict[str, Any]]:
    """Yield what is printed as data: what a report has, then each object."""
    if judged:
        yield {"report": judged}
    for shown in objects:
        yield {name: value for name, value in shown.document.items() if not (judged and name == "findings")}


def _writers(objects: Sequence[Shown], output: str, err: ErrorLines) -> str:
    """Return a table of the fields of objects and of those who wrote them."""
    rows = [row for shown in objects for row in writer_rows(shown)]
    columns = ("field", "manager", "operation", "subresource", "time")
    names = ("namespace", "name") if len(objects) > 1 else ()
    if not rows:
        err("No managedFields can be read: who wrote is not known.\n")
    form = "table" if output == "text" else output
    fit: dict[str, Any] = {"cut": ("field", "manager"), "width": terminal_width()}
    return "".join(print_rows(rows, (*names, *columns), form, named=bool(names), **fit))


def _stored(stored: Any, output: str) -> str:
    """Return an object as etcd has it; a value that cannot be decoded is text."""
    if output == "json":
        return to_json(stored)
    if output not in ("text", "yaml"):
        return "".join(print_rows([stored], (), output))
    return f"{stored}\n" if type(stored) is str else yaml_text(stored, for_terminal=sys.stdout.isatty())


def _text(sections: dict[str, Any], output: str, *, headers: bool) -> str:
    if output == "json":
        return to_json(sections)
    if output == "yaml":
        return _yaml(sections)
    rows = sections["report"]["objects"] if "report" in sections and output not in DATA else [sections]
    wide = ("group", "stored_version", "impacts")
    return "".join(print_rows(rows, _OF_OBJECT, output, wide=wide, headers=headers))


def _yaml(sections: dict[str, Any]) -> str:
    """Return the sections in their order, in YAML as kubectl writes it; one object is printed once."""
    text = []
    is_same = "read" in sections and not are_different(sections["read"], sections.get("stored"))
    for name, value in sections.items():
        if name == "stored" and is_same:
            text.append("# stored: as read, without resourceVersion\n")
            continue
        try:
            text.append(to_yaml({name: value}, for_terminal=sys.stdout.isatty()))
        except YamlTextError:  # control characters, which the YAML writer refuses
            text.append(f"{name}: {to_json(value)}")
    return "".join(text)
