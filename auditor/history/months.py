"""Which files of a history become one file, and how many runs there are.

Nothing is locked. A file that replaces others is whole before these are removed, and a run that is in two files counts
once, so that a process which ends in between, or two at the same time, lose no run.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor.history.files import MONTH_FILE, RUN_FILE, is_history_file

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable


_LOOSE: Final = 14
"""Files of runs of the current month that stay single, beside those of the day."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Files of a month that become one.

    Attributes:
        month: The month as YYYYMM.
        names: The files.
    """

    month: str
    names: tuple[str, ...]


def month_of(name: str) -> str:
    """Return the month of a file of a history as YYYYMM."""
    return name[4:10] if RUN_FILE.fullmatch(name) else name[6:12]


def merges(names: Iterable[str], now: datetime.datetime) -> list[Merge]:
    """Return the merges that a history needs: past months whole, of the current one the days before today.

    Args:
        names: The names of its files; others are ignored.
        now: When the last run began, UTC.
    """
    today, current = f"{now:%Y%m%d}", f"{now:%Y%m}"
    out = []
    for month, every in by_month(names).items():
        files = [name for name in every if MONTH_FILE.fullmatch(name) or name[4:12] < today]
        single = sum(RUN_FILE.fullmatch(name) is not None for name in files)
        is_due = single > (_LOOSE if month >= current else 0) or len(files) - single > 1
        if is_due and len(files) > 1:
            out.append(Merge(month, tuple(files)))
    return out


def by_month(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of a history by month, oldest first; others are ignored."""
    months: dict[str, list[str]] = defaultdict(list)
    for name in sorted(filter(is_history_file, names)):
        months[month_of(name)].append(name)
    return dict(sorted(months.items()))


def runs_in(names: Iterable[str]) -> int:
    """Return how many runs files of a history have, by their names; a run that is in two of them counts twice."""
    return sum(int(name.split("-")[2]) if MONTH_FILE.fullmatch(name) else 1 for name in filter(is_history_file, names))
