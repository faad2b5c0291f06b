"""Findings and objects of one of two reports that are compared, and the names that find them in the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auditor.base import tables
from auditor.base.arrow import concat, in_one_piece, plain
from auditor.base.statuses import Status
from auditor.compare.compared_rows import Selected, identified
from auditor.compare.worse import Objects
from auditor.releases.meanings import coarse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


Numbers = np.ndarray[Any, Any]

_Result = TypeVar("_Result")
_THREADS: Final = 2
"""Threads for the parts of one report; two reports are read at once."""

OBJECT: Final = ("group", "kind", "namespace", "name")
FINDING: Final = ("request", "check", "field", "type", "rule")
_FOUND: Final = ("cluster", "key", "mod_revision", *OBJECT, *FINDING, "verdict")
"""Columns of findings/ by which they are compared and counted."""
_COLUMNS: Final = (
    *("cluster", "key", *OBJECT, "plural", "status", "reason", "impact", "impacts", "value_hash", "mod_revision"),
    "put_code",
)
_WAYS: Final = 3
"""Ways to call an object: by key, by kind, by plural name."""
_SEPARATOR: Final = "\0"
_DEFINITION: Final = "CustomResourceDefinition"
"""The kind of findings without a kind: those of definitions read from keys."""
_NONE: Final = "\1"
"""Stands for an unknown part in a joined text; no name contains it."""


def side_by_side(work: Callable[..., _Result], *parts: Iterable[Any]) -> Iterator[_Result]:
    """Yield the result of a function for each part of a report, in order; Arrow reads and writes beside this thread."""
    with ThreadPoolExecutor(_THREADS) as pool:
        yield from pool.map(work, *parts)


class ReportSide:
    """Findings and objects of one report."""

    def __init__(self, folder: Path, *, by_cluster: bool) -> None:
        self.folder = folder
        self.paths = sorted((folder / "findings").glob("part-*.parquet"))
        schema = pa.schema([tables.FINDINGS.field(name) for name in _FOUND])
        parts = list(side_by_side(partial(identified, schema=schema), self.paths))
        self.counts = [part.num_rows for part in parts]
        self.findings = concat(parts, plain(schema.empty_table()).schema)
        schema = pa.schema([tables.OBJECTS.field(name) for name in _COLUMNS])
        read = partial(identified, schema=schema, shown=["reason"])
        self.object_paths = sorted((folder / "objects").glob("part-*.parquet"))
        parts = list(side_by_side(read, self.object_paths))
        self.object_counts = [part.num_rows for part in parts]
        self.objects = concat(parts, plain(schema.empty_table()).schema)
        self.by_cluster = by_cluster

    def rows(self) -> dict[str, int]:
        """Return how many rows each table has."""
        return {"objects": self.objects.num_rows, "findings": self.findings.num_rows}

    def selected(self, mask: Numbers) -> Selected:
        """Return those findings, with all of their columns."""
        return Selected(self.paths, self.counts, mask, tables.FINDINGS)

    def finding_names(self, *, of_other_release: bool) -> Any:
        """Return one text for each finding, by which it is looked up in the other report.

        Args:
            of_other_release: The other report is of another release, which may have other words.
        """
        columns = [_text(self.findings[name]) for name in ("request", "check", "rule")]
        said = pc.dictionary_encode(_joined([self.findings["field"], self.findings["type"]]))
        if of_other_release and len(said):
            texts = (text.rpartition(_SEPARATOR) for text in said.dictionary.to_pylist())
            meant = [_SEPARATOR.join(coarse(field, type_)) for field, _, type_ in texts]
            said = pa.DictionaryArray.from_arrays(said.indices, pa.array(meant, pa.string()))
        return _joined([self._whose(self.findings), *columns, said.cast(pa.string())])

    def requests(self) -> Any:
        """Return a text for each finding that is the same for all of its object and request."""
        return _joined([self._whose(self.findings), self.findings["request"]])

    def of_rules(self) -> tuple[Numbers, Numbers]:
        """Return for each finding whether a rule failed, and whether it says that rules were not checked."""
        is_of_rule = pc.equal(self.findings["check"], "rule")
        is_broken = pc.and_(is_of_rule, pc.is_valid(self.findings["rule"]))
        is_root = pc.equal(self.findings["field"], "<nil>")
        is_skipped = pc.and_(pc.and_(is_of_rule, is_root), pc.is_null(self.findings["rule"]))
        return tuple(np.asarray(pc.fill_null(in_one_piece(mask), False)) for mask in (is_broken, is_skipped))  # type: ignore[return-value]

    def plurals(self, findings: pa.Table) -> Any:
        """Return the plural name of the kind of some findings; null if it is not known."""
        names = ["group", "kind", "plural"]
        kinds = self.objects.select(names).group_by(names, use_threads=False).aggregate([]).drop_null()
        known, wanted = (_known([rows["group"], rows["kind"]]) for rows in (kinds, findings))
        return kinds["plural"].take(pc.index_in(wanted, value_set=known))

    def names_of(self, findings: pa.Table) -> list[Any]:
        """Return the names of the objects of some findings, in each of the ways of `_called`."""
        return self._called(findings, self.plurals(findings))

    def objects_compared(self) -> Objects:
        """Return the objects in the form in which they are compared with those of another report."""
        names = [lambda rows, way=way: self._name(rows, rows["plural"], way) for way in range(_WAYS)]
        return Objects(self.objects, self._whose(self.objects), names)

    @cached_property
    def names_of_objects(self) -> list[Any]:
        """The names of the objects, in each of the ways of `_called`."""
        return self._called(self.objects, self.objects["plural"])

    def _called(self, rows: pa.Table, plural: Any) -> list[Any]:
        """Return texts for objects: by key, by kind and by plural name; null if that is not known.

        An export has no keys; without a definition a key does not show the kind, nor an export the plural name.
        """
        return [self._name(rows, plural, way) for way in range(_WAYS)]

    def _name(self, rows: pa.Table, plural: Any, way: int) -> Any:
        """Return texts for objects in one of the ways of `_called`."""
        if way == 0:
            return _known([self._cluster(rows), rows["key"]])
        kind = rows["kind"] if way == 1 else plural
        return _known([self._cluster(rows), kind, _text(rows["group"]), _text(rows["namespace"]), rows["name"]])

    def clusters(self, rows: pa.Table) -> Numbers:
        """Return the name of the cluster of each row; the empty text where reports are of one cluster each."""
        if not self.by_cluster:
            return np.full(rows.num_rows, "", dtype=object)
        return np.array([name or "" for name in rows["cluster"].to_pylist()], dtype=object)

    def sealed(self) -> Any:
        """Return a text for each encrypted object for which no key was given."""
        return pc.unique(self._whose(self.objects.filter(pc.equal(self.objects["status"], Status.SEALED))))

    def _cluster(self, rows: pa.Table) -> Any:
        return _text(rows["cluster"]) if self.by_cluster else pa.array([""] * rows.num_rows, pa.string())

    def _whose(self, rows: pa.Table) -> Any:
        plural = rows["plural"] if "plural" in rows.column_names else _DEFINITION
        kind = pc.coalesce(rows["kind"], plural)
        name = pc.coalesce(rows["name"], rows["key"])
        if "value_hash" in rows.column_names:
            name = pc.coalesce(name, rows["value_hash"])
        return _joined([self._cluster(rows), *map(_text, (rows["group"], kind, rows["namespace"], name))])


def _text(column: Any) -> Any:
    return pc.fill_null(in_one_piece(column), _NONE)


def _joined(columns: list[Any]) -> Any:
    return pc.binary_join_element_wise(*map(_text, columns), _SEPARATOR)


def _known(columns: list[Any]) -> Any:
    """Return columns joined as `_joined` does; null if one of them is."""
    return pc.binary_join_element_wise(*map(in_one_piece, columns), _SEPARATOR)
