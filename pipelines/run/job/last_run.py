"""`last-run.json`: start, end, exit code and its reason of the last run for a report root; the reports of its runs."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.release import VERSION
from auditor.sources.stores.locations import shown_url

if TYPE_CHECKING:
    from pipelines.run.job.roots import Root

__all__ = ["LAST_RUN", "LastRun", "written_reports"]

LAST_RUN: Final = "last-run.json"
_REASONS: Final = {
    0: "finished, --fail-on not reached",
    1: "finished, --fail-on reached",
    2: "usage error, or nothing was judged",
    3: "finished, but part of the dumps was not read, or a cluster is missing or stale",
    130: "interrupted",
}
_SUCCESSES: Final = (0, 1)


class LastRun:
    """The record of one run.

    Args:
        root: Where it is written.
        report: The report that the run writes.
        since: The earlier report that it compares with; empty if there is none.
        reports: Names of the complete reports that runs for this root have written.
    """

    def __init__(self, root: Root, report: str, since: str, reports: list[str]) -> None:
        self._root = root
        self._content: dict[str, Any] = {
            "tool": "auditor",
            "version": VERSION,
            "started": _now(),
            "ended": None,
            "exit_code": None,
            "reason": "running, or killed",
            "report": shown_url(report),
            "since": shown_url(since) or None,
            "last_success": _earlier(root).get("last_success"),
            "reports": reports,
        }

    def write_start(self) -> None:
        """Write that the run has started; it remains if the process is killed."""
        self._write()

    def write_end(self, code: int, reason: str = "", reports: list[str] | None = None) -> None:
        """Write how the run ended.

        Args:
            code: Its exit code.
            reason: The error; empty for the meaning of the exit code.
            reports: Names of the reports that are left of this run and the earlier ones; None if it wrote none.
        """
        ended = _now()
        self._content |= {
            "ended": ended,
            "exit_code": code,
            "reason": reason or _REASONS.get(code, f"exit code {code}"),
        }
        if code in _SUCCESSES:
            self._content["last_success"] = {"ended": ended, "report": self._content["report"]}
        elif reports is None:
            self._content["report"] = None
        if reports is not None:
            self._content["reports"] = reports
            success = self._content["last_success"]
            kept = {shown_url(self._root.path_of(name)) for name in reports}
            if success and success.get("report") not in kept:
                self._content["last_success"] = {**success, "report": None}
        self._write()

    def _write(self) -> None:
        self._root.write(LAST_RUN, orjson.dumps(self._content, option=orjson.OPT_INDENT_2) + b"\n")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def written_reports(root: Root) -> list[str] | None:
    """Return the names of the reports that runs for a root wrote: a copy that a person made is none of them.

    None means that all are: a version that did not name them wrote the record.
    """
    earlier = _earlier(root)
    names = earlier.get("reports", None if earlier else [])
    return [name for name in names if type(name) is str] if type(names) is list else None


def _earlier(root: Root) -> dict[str, Any]:
    """Return the record of the run before; empty if there is none."""
    try:
        content = orjson.loads(root.read(LAST_RUN) or b"null")
    except orjson.JSONDecodeError:
        return {}
    return content if type(content) is dict else {}
