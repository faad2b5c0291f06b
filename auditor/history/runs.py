"""The runs of a history: when each began, and how many objects each cause had in it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base.arrow import fill_null, in_one_piece, plain, take
from auditor.history.files import UNREAD, is_history_file, read_runs
from auditor.store.coded import Coded, combined, groups_of

if TYPE_CHECKING:
    import datetime
    from collections.abc import Sequence


LAST_KNOWN: Final = "last known"
"""What a night has beside severities if it did not read a cluster whole: how many more objects the last one knew."""
TRIES: Final = 20
"""How often a history is listed and read while others merge its files."""
RETRY_SECONDS: Final = 0.01
"""Wait before the second time; each further wait is longer by as much."""


@dataclass(slots=True)
class History:
    """The runs of a history, oldest first.

    Attributes:
        times: When each run began.
        causes: What is known of each cause, by cluster and digest: the columns of its last row.
        objects: For each cause and run the number of objects that are not accepted, in what was read.
        unread: For each cluster that was not read whole in some run: for each run whether that is so.
    """

    times: list[datetime.datetime]
    causes: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    objects: dict[tuple[str, str], np.ndarray[Any, Any]] = field(default_factory=dict)
    unread: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    def is_unread(self, cluster: str) -> np.ndarray[Any, Any]:
        """Return for each run whether it did not read a cluster whole."""
        return self.unread.get(cluster, np.zeros(len(self.times), dtype=bool))

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
        clusters: Only these clusters; empty for all.

    Raises:
        DamagedDump: A file is not one that an audit writes.
    """
    for number in range(1, TRIES + 1):
        paths = [path for path in Path(folder).iterdir() if is_history_file(path.name)]
        try:
            runs = read_runs(paths)
            break
        except FileNotFoundError:  # an audit has just merged it with others
            if number == TRIES:
                raise
            time.sleep(number * RETRY_SECONDS)
    history = History([])
    if not runs.names:
        return history
    begins = np.searchsorted(runs.run, np.arange(len(runs.names)))
    history.times = plain(take(runs.rows.select(["started"]), begins))["started"].to_pylist()
    whole, run = runs.rows, runs.run
    cluster, digest = Coded(whole["cluster"]), Coded(whole["digest"])
    for place_in_codes in np.flatnonzero(Coded(whole["severity"]).numbers((UNREAD,)) == 0).tolist():
        name = cluster.of(place_in_codes) or ""
        if not clusters or name in clusters:
            history.unread.setdefault(name, np.zeros(len(history.times), dtype=bool))[run[place_in_codes]] = True
    group = groups_of(combined([(cluster.codes, len(cluster.texts)), (digest.codes, len(digest.texts))]))[1]
    last = np.zeros(int(group.max()) + 1, dtype=np.int64)
    last[group] = np.arange(len(group))  # the last of equal positions counts
    sums = np.zeros((len(last), len(runs.names)), dtype=np.int64)
    opened = [np.asarray(fill_null(in_one_piece(whole[name]), 0)) for name in ("objects", "accepted_objects")]
    np.add.at(sums, (group, run), np.maximum(0, opened[0] - opened[1]))
    rows = plain(take(whole, last)).to_pylist()
    for number, row in enumerate(rows):
        place = (row["cluster"] or "", row["digest"])
        if row["digest"] is not None and (not clusters or place[0] in clusters):
            history.causes[place] = row
            history.objects[place] = sums[number]
    return history
