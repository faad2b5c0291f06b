"""Files of a history: one of each run, and one of the runs of a month. The same run may be in several of them.

A name says what a file is and sorts by time. Files with other names are neither read nor removed.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow

import auditor
from auditor.base import tables
from auditor.base.arrow import dictionary_encoded, in_one_piece, plain, read_parquet, take, whole_parquet
from auditor.shards.table_rows import write_parquet
from auditor.store.coded import Coded

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


pa: Any = pyarrow

RUN_FILE: Final = re.compile(r"run-\d{8}T\d{6}Z-[0-9a-f]{8}\.parquet")
MONTH_FILE: Final = re.compile(r"month-\d{6}-\d{4,}-[0-9a-f]{8}\.parquet")
"""Month, number of runs, and a digest of their names."""
UNREAD: Final = "unread"
"""Severity of the row of a cluster that was not read whole."""
HISTORY: Final = pa.schema(
    [
        ("started", pa.timestamp("us", tz="UTC")),
        ("cluster", tables.DICTIONARY),
        ("digest", pa.string()),
        ("cause", pa.string()),
        ("severity", tables.DICTIONARY),
        ("group", tables.DICTIONARY),
        ("kind", tables.DICTIONARY),
        ("title", pa.string()),
        ("objects", pa.int64()),
        ("findings", pa.int64()),
        ("new_objects", pa.int64()),
        ("accepted_objects", pa.int64()),
    ]
)
"""The file of a run: one row for each cause and cluster; a run without causes has a row without a cause.

So has each cluster that was not read whole, with the severity `UNREAD`.
"""
_MONTH: Final = HISTORY.append(pa.field("run", tables.DICTIONARY))
"""The file of a month: rows of its runs, each with the name of the file of its run."""


def _texts(schema: Any) -> tuple[str, ...]:
    return tuple(column.name for column in schema if column.type in (tables.DICTIONARY, pa.string()))


def is_history_file(name: str) -> bool:
    """Return whether a name is that of a file of a history."""
    return bool(RUN_FILE.fullmatch(name) or MONTH_FILE.fullmatch(name))


def run_file_name(manifest: dict[str, Any], started: datetime.datetime) -> str:
    """Return the name of the file of a run: its start, and a digest of its dumps, as runs may start together."""
    dumps = "\n".join(f"{source['name']}\0{source['sha256']}" for source in manifest["inputs"])
    return f"run-{started:%Y%m%dT%H%M%SZ}-{hashlib.sha256(dumps.encode()).hexdigest()[:8]}.parquet"


def write_run(
    rows: Iterable[dict[str, Any]], started: datetime.datetime, path: Path, unread: Iterable[str] = ()
) -> None:
    """Write the file of a run.

    Args:
        rows: The rows of its causes.parquet.
        started: When it began.
        path: The file.
        unread: The clusters that were not read whole, also those without a dump; one without a name is the empty text.
    """
    empty = dict.fromkeys(HISTORY.names) | {"started": started}
    content = [{**row, "started": started} for row in rows if row["objects"]]
    content += [{**empty, "cluster": cluster or None, "severity": UNREAD} for cluster in unread]
    content = content or [empty]
    _write([_array([row[column.name] for row in content], column.type) for column in HISTORY], HISTORY, path)


def _write(arrays: list[Any], schema: Any, path: Path) -> None:
    schema = tables.with_metadata(schema, tool=auditor.__version__, release=auditor.KUBERNETES_RELEASE, crds="")
    write_parquet(pa.Table.from_arrays(arrays, schema=schema), path)


def _array(values: list[Any], kind: Any) -> Any:
    return _encoded(pa.array(values, pa.string() if pa.types.is_dictionary(kind) else kind), kind)


def _encoded(values: Any, kind: Any) -> Any:
    return dictionary_encoded(values) if pa.types.is_dictionary(kind) else values


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of some files, each once.

    Attributes:
        names: Names of the files of the runs, oldest first.
        rows: The columns of `HISTORY`, in the order of the runs.
        run: For each row the position of its run.
    """

    names: list[str]
    rows: Any
    run: NDArray[np.int64]

    def only(self, names: Sequence[str]) -> Runs:
        """Return some of the runs."""
        wanted = set(names)
        kept = [name for name in self.names if name in wanted]
        number = {name: position for position, name in enumerate(kept)}
        places = np.array([number.get(name, -1) for name in self.names], dtype=np.int64)
        run = places[self.run]
        rows = np.flatnonzero(run >= 0)
        return Runs(kept, take(self.rows, rows), run[rows])


def read_runs(paths: Iterable[Path]) -> Runs:
    """Return the runs of some files of a history.

    Raises:
        FileNotFoundError: One is gone.
        DamagedDump: One is not a file that an audit writes.
    """
    known: dict[str, int] = {}
    parts, numbers = [], []
    for path in sorted(paths):
        is_month = MONTH_FILE.fullmatch(path.name) is not None
        schema = _MONTH if is_month else HISTORY
        table = read_parquet(path, schema.names, _texts(schema))
        names, codes = [path.name], np.zeros(table.num_rows, dtype=np.int64)
        if is_month:
            with whole_parquet(path):
                coded = Coded(table["run"])
                names, codes = [text or "" for text in coded.texts[:-1]], coded.codes
                if any(not RUN_FILE.fullmatch(name) for name in names) or (codes == len(names)).any():
                    raise KeyError("a row names no run")
            table = table.drop_columns(["run"])
        fresh = np.array([name not in known for name in names], dtype=bool)
        places = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
        rows = np.flatnonzero(fresh[codes])
        parts.append(table if len(rows) == table.num_rows else take(table, rows))
        numbers.append(places[codes[rows]])
    if not parts:
        return Runs([], HISTORY.empty_table(), np.zeros(0, dtype=np.int64))
    ordered = sorted(known)
    rank = np.zeros(len(ordered), dtype=np.int64)
    rank[[known[name] for name in ordered]] = np.arange(len(ordered))
    run = rank[np.concatenate(numbers)]
    order = np.argsort(run, kind="stable")
    whole = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    return Runs(ordered, take(whole, order), run[order])


def write_month(runs: Runs, month: str, folder: Path) -> Path:
    """Write the file of a month, and return it; the same runs give the same name and the same rows.

    Args:
        runs: The runs of the month.
        month: The month as YYYYMM.
        folder: Where it is written.
    """
    digest = hashlib.sha256("\n".join(runs.names).encode()).hexdigest()[:8]
    path = folder / f"month-{month}-{len(runs.names):04}-{digest}.parquet"
    names = dictionary_encoded(pa.array([runs.names[row] for row in runs.run.tolist()], pa.string()))
    plain_rows = plain(runs.rows)
    arrays = [_encoded(in_one_piece(plain_rows[column.name]), column.type) for column in HISTORY]
    _write([*arrays, names], _MONTH, path)
    return path
