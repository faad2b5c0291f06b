"""What a statement can name: views by name, each with its columns and a way to read some of them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from auditor.base.errors import SqlError, UnknownTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from auditor.columns.column_types import Paths

_SIMILAR = 4


@dataclass(frozen=True)
class View:
    """A table that a statement can name.

    Attributes:
        name: Its name.
        about: What its rows are, in a few words.
        make_schema: Returns its columns; asked once, and only of a view that is named.
        read: Yields its rows as batches, of the given columns alone, in any order of columns.
        also: Further names of it.
        has_rows: Whether it has any rows; None if it counts as having some.
        note: A sentence about its rows for those who ask it; empty if there is none.
        files: The files that have its rows, as an Arrow dataset, which DuckDB reads itself; None if `read` reads them.
        narrowed: Returns it with the fields of its structs that some paths lead to; None if it is read as it is.
        space: The schema that it is in, if several inputs are asked; empty for one.
    """

    name: str
    about: str
    make_schema: Callable[[], pa.Schema]
    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    also: tuple[str, ...] = ()
    has_rows: Callable[[], bool] | None = None
    note: str = ""
    files: Any = None
    narrowed: Callable[[Paths], View] | None = None
    space: str = ""

    @property
    def shown(self) -> str:
        """Its name as SQL writes it."""
        return f"{quoted(self.space)}.{quoted(self.name)}" if self.space else quoted(self.name)

    def full(self, name: str) -> str:
        """Return one of its names with its schema."""
        return f"{self.space}.{name}" if self.space else name

    @cached_property
    def schema(self) -> pa.Schema:
        """Its columns."""
        return self.make_schema()


class Views:
    """The views of a dump, a report or typed tables; names are compared without case, as DuckDB does.

    Args:
        views: In the order in which they are listed. If several have a name, the first has it.
        absent: By name of a table that there is not, what is needed to have it.

    Attributes:
        listed: The views, in that order.
    """

    def __init__(self, views: Sequence[View], absent: dict[str, str] | None = None) -> None:
        self.listed = list(views)
        self.absent = absent or {}
        self._views: dict[str, View] = {}
        for view in views:
            for name in (view.name, *view.also):
                self._views.setdefault(view.full(name).lower(), view)

    def find(self, name: str) -> View | None:
        """Return the view of a name; None if there is none."""
        return self._views.get(name.lower())

    def named_in(self, text: str) -> dict[str, View]:
        """Return by name the views whose names occur in a text: all that a statement reads, and perhaps others.

        DuckDB's own list of the names in a statement lacks those of a join with USING, and those in texts that the
        statement runs.
        """
        folded = text.lower()
        return {
            name: view
            for name, view in self._views.items()
            if view.space.lower() in folded and name.removeprefix(f"{view.space.lower()}.") in folded
        }

    def similar(self, name: str) -> list[str]:
        """Return the names most similar to one, the most similar first."""
        near = difflib.get_close_matches(name.lower(), self._views, _SIMILAR, 0.6)
        return list(dict.fromkeys(self._views[each].shown for each in near))

    def missing(self, name: str) -> SqlError:
        """Return the error for a name that no view has: why, and what there is instead."""
        folded = name.lower()
        for absent, reason in self.absent.items():
            if absent == folded or absent.endswith(f".{folded}"):
                return SqlError("", f'there is no table "{absent}" here: {reason}')
        of_inputs = [view.shown for each, view in self._views.items() if view.space and each.endswith(f".{folded}")]
        near = of_inputs or self.similar(name)
        hint = f"did you mean {' or '.join(near)}?" if near else r"`\d` lists what there is"
        return UnknownTable("", f'there is no kind or table "{name}"; {hint}')


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    if name.isidentifier() and name.isascii():
        return name
    return '"' + name.replace('"', '""') + '"'
