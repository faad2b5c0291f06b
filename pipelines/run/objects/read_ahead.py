"""Reads the rows of a LIST by worker processes, ahead of the process that answers.

Workers return the objects of rows on which there is nothing to report. Each other row - one that cannot be read, is
encrypted or shown as stored, or on which the predicate or this program fails - is left to the process that answers,
which reads it at its place in the order; so are all rows of a worker that was lost. So rows, notes, counts and errors
are those of one process. Chunks go to workers in order and are given on in order, so few of them wait in memory. Both
ways they are bytes that `marshal` writes, which takes a small part of the time of a pickle.
"""

from __future__ import annotations

import marshal
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.base.machine import processors
from auditor.releases import active, running_as
from auditor.server.dump import DumpStore, Steps
from auditor.server.dump_rows import RowRead, StoredRow
from auditor.server.not_read import LeftOut, NotRead
from auditor.sources.crd_files import no_collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.base.errors import WorkerLost
    from auditor.base.records import JsonObject
    from auditor.plan.run_plan import Plan
    from auditor.releases import Release
    from auditor.server.catalog import Catalog
    from auditor.server.dump import Query
    from auditor.server.dump_rows import DumpRows, ListRequest, RowToRead
    from auditor.server.object_reader import ReadMode


WORTH_WORKERS: Final = 30_000
"""More rows of a kind are read by workers if their number is not given: they take half a second to start."""
CHUNK_ROWS: Final = 512
_CHUNK_BYTES: Final = 4 << 20
"""Bytes from which on a chunk takes no further row."""


class _Chunk(NamedTuple):
    """Rows for a worker: of each the `StoredRow`, and whether the predicate is tested; None for one that is left."""

    number: int
    rows: bytes


class _Answer(NamedTuple):
    """What a worker read of a chunk.

    Attributes:
        number: The number of the chunk.
        read: What each `RowRead` has; None for a row that is left. Empty if all are.
    """

    number: int
    read: bytes


def read_ahead_by(jobs: int | None, store: DumpStore) -> None:
    """Let workers read the rows of the lists of a store.

    Args:
        jobs: Their number; None for one a processor if there are many rows.
        store: The store of a dump or report.
    """
    count = jobs or processors()
    if count > 1 and not (store.mode.as_server or store.mode.streamed):  # a list that ends early reads few
        store.read_ahead = partial(_read_ahead, store, count, 0 if jobs else WORTH_WORKERS)


def _read_ahead(
    store: DumpStore, jobs: int, at_most_here: int, request: ListRequest, rows: Iterator[RowToRead]
) -> Iterator[tuple[RowToRead, RowRead | None]]:
    first = list(islice(rows, max(at_most_here, CHUNK_ROWS) + 1))
    if len(first) <= max(at_most_here, CHUNK_ROWS) or all(row.is_left for row in first):
        yield from ((row, None) for row in chain(first, rows))
        return
    from pipelines.engines import PRELOAD, run_processes  # noqa: PLC0415 - only for many rows

    given: dict[int, list[RowToRead]] = {}

    def chunks() -> Iterator[_Chunk]:
        for number, some in enumerate(_chunks(chain(first, rows))):
            given[number] = some
            yield _Chunk(number, marshal.dumps([None if row.is_left else (*row.row, row.is_tested) for row in some]))

    asked = partial(_reader, store.plan, store.mode, store.make_rows, store.query, request, active())
    answers = run_processes(asked, chunks(), jobs=jobs, on_lost=_lost, preload=PRELOAD, in_order=True)
    arrived: dict[int, bytes] = {}
    following = 0
    for number, read in answers:
        arrived[number] = read
        while following in arrived:
            own, some = arrived.pop(following), given.pop(following)
            following += 1
            known = marshal.loads(own) if own else [None] * len(some)  # noqa: S302 - our worker wrote it
            for row, seen in zip(some, known, strict=True):
                yield row, None if seen is None else RowRead(*seen)


def _chunks(rows: Iterator[RowToRead]) -> Iterator[list[RowToRead]]:
    """Yield rows in lists that are bounded in rows and in bytes."""
    some: list[RowToRead] = []
    size = 0
    for row in rows:
        some.append(row)
        size += row.row.length
        if len(some) >= CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _lost(chunk: _Chunk, _: WorkerLost) -> _Answer:
    """Leave the rows of a chunk whose worker ended twice to the process that answers."""
    return _Answer(chunk.number, b"")


def _reader(
    plan: Plan,
    mode: ReadMode,
    make_rows: Callable[[Plan, Catalog], DumpRows],
    query: Query,
    request: ListRequest,
    release: Release,
) -> Callable[[_Chunk], _Answer]:
    """Make a worker ready that reads chunks of rows."""
    with running_as(release):
        store = DumpStore(plan, mode, lambda _: None, make_rows)
        store.ask(query)

    def work(chunk: _Chunk) -> _Answer:
        with running_as(release), no_collector():
            rows = marshal.loads(chunk.rows)  # noqa: S302 - the parent wrote it
            read = [None if row is None else _read(store, request, StoredRow(*row[:-1]), row[-1]) for row in rows]
            try:
                return _Answer(chunk.number, marshal.dumps(read))
            except ValueError:  # a value is nested too deep for it
                return _Answer(chunk.number, b"")

    return work


def _read(
    store: DumpStore, request: ListRequest, row: StoredRow, is_tested: bool
) -> tuple[bool, JsonObject | None] | None:
    """Return what a `RowRead` has; None if there is anything to report."""
    left_out, steps = LeftOut(), Steps()
    notes = NotRead(request.resource, left_out)
    has_failed, obj = True, None
    with suppress(Exception):  # it is raised again, and reported, where the row is read again
        obj = store.answer(request, row, notes, steps, is_tested=is_tested)
        has_failed = False
    failures = store.where_failures.get(request.resource)
    if failures is not None and failures.failed:
        failures.failed, has_failed = 0, True
    return None if has_failed or left_out or notes.unconverted else (bool(steps.fitted), obj)
