"""The kinds of a dump or a report as views, and those of their objects that could not be read."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

from auditor.base.progress import tell
from auditor.base.statuses import Status
from auditor.base.wording import are, by_count, objects
from auditor.columns.kind_columns import STORED_OBJECT
from auditor.printing.discovery import stored_kinds
from auditor.server.dump import DumpStore
from auditor.server.fleet_store import own_kind, stores_of
from auditor.server.kind_batches import kind_batches
from auditor.sql.views import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from auditor.columns.column_types import Paths
    from auditor.printing.discovery import Resource
    from auditor.server.dump_rows import StoredRow
    from auditor.server.fleet_store import AnyStore


NEEDS_DUMP: Final = "an index has no whole objects; name the dump of the report with --dump"
_WITHOUT_OBJECT: Final = {
    Status.SEALED: "encrypted, and no key opens {them}",
    Status.UNREADABLE: "not readable",
    Status.NEEDS_CONVERSION: "in stored_object alone, as only a webhook could convert {them}",
}
"""What is said of the objects whose columns are null."""


class KindViews:
    """The views of the kinds of a store.

    Args:
        store: The store of a dump, a report or a fleet.

    Attributes:
        unread: By name of a kind and status how many of its objects have rows without values, among those that
            statements have read.
    """

    def __init__(self, store: AnyStore) -> None:
        self._store = store
        self.unread: dict[tuple[str, Status], int] = {}

    def stored_kinds(self) -> list[Resource]:
        """Return the kinds that are stored, each once, in discovery order."""
        return stored_kinds(self._store.discovery)

    def can_read(self) -> bool:
        """Whether the objects themselves are there, and not only an index of them."""
        return all(isinstance(each, DumpStore) for each in stores_of(self._store).values())

    def _rows(self, resource: Resource) -> Iterator[StoredRow]:
        for name, one in stores_of(self._store).items():
            own = own_kind(self._store, name, resource)
            if own is not None and isinstance(one, DumpStore):
                yield from one.rows.of(own)

    def has_objects(self, resource: Resource) -> bool:
        """Whether there is an object of a kind."""
        return next(self._rows(resource), None) is not None

    def count(self, resource: Resource) -> int:
        """Return the number of objects of a kind, also of those that cannot be read."""
        return sum(1 for _ in self._rows(resource))

    def views(self, taken: Sequence[str]) -> list[View]:
        """Return the views: each kind by its plural, if no other has that, and by ``plural.group``.

        Args:
            taken: Names that other views have.
        """
        kinds = self.stored_kinds()
        of_plurals: dict[str, list[Resource]] = defaultdict(list)
        for resource in kinds:
            of_plurals[resource.plural].append(resource)
        out = []
        for resource in kinds:
            first = of_plurals[resource.plural][0]
            about = f"{resource.kind} {resource.api_version}"
            names = [resource.group_resource] if resource.group else []
            if resource.plural in taken:
                about += f"; {resource.plural} means the table of the report"
                names = names or [f"{resource.plural}.core"]
            elif first is resource:
                names = [resource.plural, *names]
            else:
                about += f"; {resource.plural} means {first.kind} {first.api_version}"
            out.append(self._view(resource, names, about))
        return out

    def _view(self, resource: Resource, names: Sequence[str], about: str, paths: Paths | None = None) -> View:
        return View(
            names[0],
            about,
            partial(self.schema, resource, paths),
            partial(self.read, resource, paths=paths),
            tuple(names[1:]),
            partial(self.has_objects, resource),
            narrowed=partial(self._view, resource, names, about),
        )

    def schema(self, resource: Resource, paths: Paths | None = None) -> pa.Schema:
        """Return the columns of a kind, with the fields of their structs that some paths lead to; None for all."""
        return kind_batches(self._store, resource, paths=paths)[0]

    def read(self, resource: Resource, columns: Sequence[str], paths: Paths | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a kind, with some columns; those that have no values are counted in `unread`."""
        names = list(dict.fromkeys((*columns, STORED_OBJECT)))
        _, batches = kind_batches(self._store, resource, names, paths=paths)
        seen: Counter[Status] = Counter()
        rows = 0
        while True:
            before = self._left_out()
            batch = next(batches, None)
            if batch is None:
                return
            rows += batch.num_rows
            tell("reading", rows, None, "objects")
            seen += self._left_out() - before
            seen[Status.NEEDS_CONVERSION] += batch.num_rows - batch[STORED_OBJECT].null_count
            for status, count in (+seen).items():
                place = resource.group_resource, status
                self.unread[place] = max(count, self.unread.get(place, 0))  # a statement may read a kind twice
            yield batch

    def _left_out(self) -> Counter[Status]:
        """Return how many objects the stores could not read until now."""
        counts: Counter[Status] = Counter()
        for store in stores_of(self._store).values():
            counts[Status.SEALED] += store.left_out.sealed
            counts[Status.UNREADABLE] += store.left_out.corrupt + store.left_out.failed
        return counts

    def notes(self) -> list[str]:
        """Return a sentence for each kind and status of objects whose rows have no values."""
        return [_note(kind, status, count) for (kind, status), count in sorted(self.unread.items())]


def _note(kind: str, status: Status, count: int) -> str:
    rows, them = by_count(count, "its row has", "their rows have"), by_count(count, "it", "them")
    return f"{objects(count)} of {kind} {are(count)} {_WITHOUT_OBJECT[status].format(them=them)}: {rows} nulls"
