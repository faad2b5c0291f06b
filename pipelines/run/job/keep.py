"""How many reports a folder of reports keeps, by number or by age."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.run.job.roots import StoredReport

__all__ = ["Keep"]

_UNITS: Final = {"h": 1 / 24, "d": 1.0, "w": 7.0}


@dataclass(frozen=True, slots=True)
class Keep:
    """Which reports remain: the newest `count`, or those younger than `days`; that of the run always does."""

    count: int = 0
    days: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Keep | None:
        """Parse `30` or `90d` (hours, days, weeks). Returns None if the text has another form."""
        found = re.fullmatch(r"([0-9]{1,6})([hdw]?)", text.strip())
        if found is None or int(found[1]) < 1:
            return None
        return cls(days=int(found[1]) * _UNITS[found[2]]) if found[2] else cls(count=int(found[1]))

    def surplus(self, reports: Sequence[StoredReport], now: datetime.datetime) -> list[StoredReport]:
        """Return the reports that do not remain once a run has written its own.

        Args:
            reports: The others, newest first.
            now: The time, with zone.
        """
        if self.count:
            return list(reports[self.count - 1 :])
        oldest = now - datetime.timedelta(days=self.days)
        return [one for one in reports if one.started < oldest]
