"""What the charts of space and of the trend show: bytes of each kind, and objects in causes night by night."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from auditor.base.arrow import parquet_reader, read_parquet, whole_parquet
from auditor.causes.severity import SEVERITIES
from auditor.causes.titles import kind_name
from auditor.history.runs import LAST_KNOWN

if TYPE_CHECKING:
    import datetime
    from collections.abc import Sequence
    from pathlib import Path

    from auditor.history.runs import History


_NAMES: Final = ["group", "kind", "plural"]


def bytes_of_kinds(report: Path, clusters: Sequence[str] = ()) -> dict[str, int]:
    """Return the bytes of the stored values of each kind, the most first.

    Args:
        report: Folder of the report; one of an older auditor may know no sizes, which gives no kind.
        clusters: Only these; empty for all.

    Raises:
        DamagedDump: A part is not one that an audit writes.
    """
    total: Counter[str] = Counter()
    for path in sorted((report / "objects").glob("*.parquet")):
        with parquet_reader(path) as reader:
            known = set(reader.schema_arrow.names)
        if not known >= {"size", *_NAMES}:
            continue
        by = [*_NAMES, *(["cluster"] if "cluster" in known else [])]
        rows = read_parquet(path, [*by, "size"], by)
        with whole_parquet(path):
            for row in rows.group_by(by, use_threads=False).aggregate([("size", "sum")]).to_pylist():
                if row["size_sum"] and (not clusters or row.get("cluster") in clusters):
                    total[kind_name(row["group"] or "", row["kind"] or row["plural"] or "")] += row["size_sum"]
    return dict(total.most_common())


def nights_of(history: History) -> list[tuple[datetime.datetime, dict[str, int]]]:
    """Return for each run, oldest first, how many objects are in causes of each severity.

    A run that did not read a cluster whole has `LAST_KNOWN` too, also if that is 0: then its numbers are what was read.
    """
    sums = {name: np.zeros(len(history.times), dtype=np.int64) for name in SEVERITIES}
    for place, counts in history.objects.items():
        severity = history.causes[place]["severity"]
        if severity in sums:
            sums[severity] = sums[severity] + counts
    held = _last_known(history)
    return [
        (
            time,
            ({LAST_KNOWN: held[number]} if number in held else {})
            | {name: int(counts[number]) for name, counts in sums.items()},
        )
        for number, time in enumerate(history.times)
    ]


def _last_known(history: History) -> dict[int, int]:
    """Return for each run that did not read a cluster whole how many more objects the causes of such had before."""
    out: Counter[int] = Counter()
    for unread in history.unread.values():
        out.update(dict.fromkeys(np.flatnonzero(unread).tolist(), 0))
    for place, counts in history.objects.items():
        before = 0
        for number, (count, is_unread) in enumerate(
            zip(counts.tolist(), history.is_unread(place[0]).tolist(), strict=True)
        ):
            if is_unread:
                out[number] += max(0, before - count)
            before = max(before, count) if is_unread else count
    return dict(out)
