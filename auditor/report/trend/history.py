"""One Parquet file for each run: how many objects each cause has in each cluster. Its name sorts by time."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow

import auditor
from auditor.base import tables
from auditor.base.arrow import dictionary_encoded, fill_null, in_one_piece, plain, read_parquet, take, whole_parquet
from auditor.releases import active
from auditor.report.findings.coded import Coded, combined, groups_of
from auditor.shards.columns import write_parquet

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Sequence

__all__ = ["HISTORY", "RUN_FILE", "History", "expired_files", "read_history", "run_file_name", "write_run"]

pa: Any = pyarrow

RUN_FILE: Final = re.compile(r"run-\d{8}T\d{6}Z-[0-9a-f]{8}\.parquet")
"""Names of files of a history: no other file is read or removed."""
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
"""A file of a history: one row for each cause and cluster of a run; a run without causes has a row without a cause."""
_TEXTS: Final = tuple(one.name for one in HISTORY if one.type in (tables.DICTIONARY, pa.string()))


def run_file_name(manifest: dict[str, Any], started: datetime.datetime) -> str:
    """Return the name of the file of a run: its start, and a digest of its dumps, as runs may start together."""
    dumps = "\n".join(f"{one['name']}\0{one['sha256']}" for one in manifest["inputs"])
    return f"run-{started:%Y%m%dT%H%M%SZ}-{hashlib.sha256(dumps.encode()).hexdigest()[:8]}.parquet"


def write_run(rows: Iterable[dict[str, Any]], started: datetime.datetime, path: Path) -> None:
    """Write the file of a run.

    Args:
        rows: The rows of its causes.parquet.
        started: When it began.
        path: The file.
    """
    content = [{**row, "started": started} for row in rows if row["objects"]]
    content = content or [{**dict.fromkeys(HISTORY.names), "started": started}]
    arrays = [_array([row[one.name] for row in content], one.type) for one in HISTORY]
    schema = tables.with_metadata(HISTORY, tool=auditor.__version__, release=active().version, crds="")
    write_parquet(pa.Table.from_arrays(arrays, schema=schema), path)


def _array(values: list[Any], kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        return dictionary_encoded(pa.array(values, pa.string()))
    return pa.array(values, kind)


def expired_files(names: Iterable[str], keep: int) -> list[str]:
    """Return the files of a history that are older than the newest ones; other files are never among them."""
    found = sorted(name for name in names if RUN_FILE.fullmatch(name))
    return found[: max(0, len(found) - max(1, keep))]


@dataclass(slots=True)
class History:
    """The runs of a history, oldest first.

    Attributes:
        times: When each run began.
        causes: What is known of each cause, by cluster and digest: the columns of its last row.
        objects: For each cause and run the number of objects that are not accepted.
    """

    times: list[datetime.datetime]
    causes: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    objects: dict[tuple[str, str], np.ndarray[Any, Any]] = field(default_factory=dict)

    def of_kinds(self) -> dict[tuple[str, str, str], np.ndarray[Any, Any]]:
        """Return for each cluster, group and kind the number of objects in its causes, run by run."""
        out: dict[tuple[str, str, str], np.ndarray[Any, Any]] = {}
        for place, counts in self.objects.items():
            row = self.causes[place]
            whose = (place[0], row["group"] or "", row["kind"] or "")
            out[whose] = out[whose] + counts if whose in out else counts.copy()
        return out


def read_history(folder: Path, clusters: Sequence[str] = ()) -> History:
    """Return the runs in a folder.

    Args:
        folder: The folder; files with other names are ignored.
        clusters: Only these clusters; empty: all.

    Raises:
        DamagedDump: A file is not one that an audit writes.
    """
    paths = sorted(path for path in Path(folder).iterdir() if RUN_FILE.fullmatch(path.name))
    history, parts, runs = History([]), [], []
    for number, path in enumerate(paths):
        table = read_parquet(path, HISTORY.names, _TEXTS)
        with whole_parquet(path):
            history.times.append(table["started"][0].as_py())
        parts.append(table)
        runs.append(np.full(table.num_rows, number, dtype=np.int64))
    if not parts:
        return history
    whole, run = pa.concat_tables(parts).unify_dictionaries().combine_chunks(), np.concatenate(runs)
    cluster, digest = Coded(whole["cluster"]), Coded(whole["digest"])
    group = groups_of(combined([(cluster.codes, len(cluster.texts)), (digest.codes, len(digest.texts))]))[1]
    last = np.zeros(int(group.max()) + 1, dtype=np.int64)
    last[group] = np.arange(len(group))  # the last of equal positions counts
    sums = np.zeros((len(last), len(paths)), dtype=np.int64)
    opened = [np.asarray(fill_null(in_one_piece(whole[name]), 0)) for name in ("objects", "accepted_objects")]
    np.add.at(sums, (group, run), np.maximum(0, opened[0] - opened[1]))
    rows = plain(take(whole, last)).to_pylist()
    for number, row in enumerate(rows):
        place = (row["cluster"] or "", row["digest"])
        if row["digest"] is not None and (not clusters or place[0] in clusters):
            history.causes[place] = row
            history.objects[place] = sums[number]
    return history
