"""`auditor show KEY --history [--diff]`: the revisions of an object that a snapshot still has, with their contents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from auditor.base.errors import PlanError
from auditor.printing.jsonprint import to_json
from auditor.printing.print_rows import print_rows, yaml_text
from auditor.printing.yamltext import yaml_diff
from auditor.server.comparison import State, difference_of, read_state, without_bookkeeping
from auditor.server.dump import DumpStore
from auditor.server.history import check_history, key_revisions
from auditor.server.object_reader import UndecodedObject
from auditor.sources.registry_key import printable_key
from pipelines.run.objects.row_kind import resource_of
from pipelines.run.objects.show import rows_of
from pipelines.run.query import TextWriter, open_stores
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.server.history import KeyRevision
    from pipelines.run.objects.query_options import QueryOptions


def run_history(options: QueryOptions, key: str, *, output: str, as_diff: bool) -> int:
    """Print the revisions of a key, oldest first; return the exit code.

    Raises:
        PlanError: There is no such key, or the dump has no history.
    """
    out, err = TextWriter(sys.stdout), ErrorLines()
    documents: list[dict[str, Any]] = []
    unread = 0
    with open_stores(options, err) as opened:
        for store in opened.stores.values():
            if not isinstance(store, DumpStore):
                raise PlanError(options.target, "the dump of this report is not here", "", "--dump names it")
            for source, stored in _keys(store, key, options):
                before: tuple[_Content | None, str] = (None, "/dev/null")
                for content, state, reason in _contents(store, source, stored, options):
                    unread += bool(reason)
                    record: dict[str, Any] = {"revision": content.revision}
                    record |= {"deleted": True} if content.deleted else {"version": content.version}
                    if reason:
                        record["reason"] = reason
                    elif state is not None:
                        record["object"] = state.shown
                    documents.append(record)
                    if as_diff:
                        label = f"revision {content.revision}"
                        out(f"unreadable: {label}: {reason}\n" if reason else _step(store, before, state, label))
                        before = (state, label)
        damaged = opened.is_incomplete()
    if not documents:
        raise PlanError(options.target, f"there is no key {key}", "", "`auditor query` prints the names")
    if not as_diff:
        if output == "json":
            out(to_json(documents))
        elif output == "yaml":
            out("".join(f"---\n{yaml_text(document, for_terminal=sys.stdout.isatty())}" for document in documents))
        else:
            out("".join(print_rows(documents, ("revision", "version", "deleted", "reason"), output)))
    return 3 if damaged or unread else 0


def _keys(store: DumpStore, key: str, options: QueryOptions) -> Iterator[tuple[int, bytes]]:
    """Yield the requested sources and keys; an etcd key may be one that was deleted."""
    rows = [row for row in rows_of(store, key, options.namespace) if row.key is not None]
    if rows:
        yield from ((row.source, row.key or b"") for row in rows)
        return
    for number, source in enumerate(store.plan.sources):
        check_history(source)
        for candidate in _candidates(store, key, options.namespace):
            yield number, candidate


def _candidates(store: DumpStore, key: str, namespace: str) -> list[bytes]:
    """Return the etcd keys that a key or KIND/NAME can mean, if no live key matches."""
    if key.startswith("/"):
        return [key.encode("utf-8", "surrogateescape")]
    kind, _, name = key.partition("/")
    words = (
        resource
        for resource in store.discovery.resources
        if kind in (resource.plural, resource.one, resource.kind, *resource.short_names)
    )
    resource = next(words, None)
    if resource is None or not name:
        return []
    middle = f"{namespace or 'default'}/" if resource.namespaced else ""
    return [f"{store.catalog.key_prefix(resource)}{middle}{name}".encode("utf-8", "surrogateescape")]


class _Content(NamedTuple):
    """An object at a revision."""

    resource: Resource
    state: State
    shown: JsonObject


def _contents(
    store: DumpStore, number: int, key: bytes, options: QueryOptions
) -> Iterator[tuple[KeyRevision, _Content | None, str]]:
    """Yield each revision of a key with its object, or the reason why it cannot be read."""
    source = store.plan.sources[number]
    check_history(source)
    for revision in key_revisions(source, key, exact=True):
        if revision.deleted:
            yield revision, None, ""
            continue
        row = revision.row(number)
        resource, status = resource_of(store, row, options.etcd_prefix)
        if resource is None:
            yield revision, None, status
            continue
        try:
            state = read_state(store, resource, row)
        except UndecodedObject as error:
            yield revision, None, f"{printable_key(key)}: {error}"
            continue
        shown = store.reader.concealed(resource, without_bookkeeping(state.read) or state.read)
        yield revision, _Content(resource, state, shown), ""


def _step(store: DumpStore, before: tuple[_Content | None, str], now: _Content | None, label: str) -> str:
    """Return what a write changed: a unified diff, and what it does not show."""
    was, name = before
    old, new = (None if content is None else content.shown for content in (was, now))
    text = yaml_diff(old, new, (name, label), for_terminal=sys.stdout.isatty())
    if was is None or now is None:
        return text or f"--- {name}\n+++ {label} (deleted)\n"
    notes = difference_of(store.reader, now.resource, was.state, now.state).notes()
    if not text and not notes:
        notes = ["only resourceVersion" + ("" if was.state.stored == now.state.stored else " and managedFields")]
    head = "" if text else f"--- {name}\n+++ {label}\n"
    return head + text + "".join(f"# {note}\n" for note in notes)
