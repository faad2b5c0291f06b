"""The state of a report, and its verdict against the one it was compared with: worse, incomplete, same or better."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.base.wording import by_count, counted
from auditor.causes.severity import SEVERITIES
from auditor.store.allclear import different, stale_dumps, unanswered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from auditor.causes.topics import Cause


VERDICT_WORDS: Final = {
    "worse": "WORSE",
    "incomplete": "INCOMPLETE",
    "same": "SAME",
    "better": "BETTER",
    "not-compared": "NOT COMPARED",
}
"""As people read the word of a verdict."""


STATE_WORDS: Final = {
    "broken": "BROKEN",
    "at-risk": "AT RISK",
    "findings": "FINDINGS",
    "incomplete": "INCOMPLETE",
    "clean": "CLEAN",
}
"""As people read the word of a state, worst first."""


def state_of(causes: Iterable[Cause], *, is_whole: bool, is_judged: bool) -> str:
    """Return the state: broken if a cause is critical, at-risk if one is high; else incomplete if that is not known.

    Args:
        causes: The causes.
        is_whole: Whether everything was read.
        is_judged: Whether everything that was read was judged.
    """
    severities = {cause.severity for cause in causes if cause.is_open}
    if severities & {"critical", "high"}:
        return "broken" if "critical" in severities else "at-risk"
    if not is_whole:
        return "incomplete"
    return "findings" if severities else "clean" if is_judged else "incomplete"


def counts_text(causes: Iterable[Cause], *, is_whole: bool) -> str:
    """Return the number of open causes of each severity, as in `2 critical, 1 low causes`."""
    counts = Counter(cause.severity for cause in causes if cause.is_open)
    text = ", ".join(f"{counts[severity]:,} {severity}" for severity in SEVERITIES if counts[severity])
    if not text:
        return "no causes" if is_whole else "unknown: not everything was read"
    return f"{'' if is_whole else 'at least '}{text} {by_count(counts.total(), 'cause', 'causes')}"


def change_text(causes: Sequence[Cause], since: str, *, is_whole: bool) -> str:
    """Return how many causes are new and how many are gone since an earlier report; empty without one.

    Args:
        causes: All causes.
        since: When that began, an ISO time; empty without one.
        is_whole: Whether everything was read.
    """
    if not since:
        return ""
    new = sum(cause.is_open and cause.change == "new" for cause in causes)
    fixed = sum(cause.change == "fixed" for cause in causes)
    parts = [f"+{new:,} new"] if new or is_whole else ["new unknown"]
    parts += [f"{fixed:,} fixed"] if fixed or is_whole else ["fixed unknown"]
    return f"{', '.join(parts)} since {since[:10]}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a report compares with the earlier one.

    Attributes:
        word: ``worse``, ``incomplete``, ``same`` or ``better``; ``not-compared`` without an earlier report.
        reasons: Why, worst first.
        changes: Those of the reasons that are neither new causes nor what was not read.
    """

    word: str
    reasons: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def is_worse(self) -> bool:
        """Whether it is worse."""
        return self.word == "worse"


def verdict_of(manifest: dict[str, Any], causes: Sequence[Cause]) -> Verdict:
    """Return the verdict of a report.

    It is worse if something that is not accepted is new. Else it is incomplete if a dump is missing, stale or damaged:
    nothing says that its content is worse, or better. Else it is better if something is fixed.
    """
    unread = unread_reasons(manifest)
    diff = manifest.get("diff") or {}
    alone = [cluster["name"] for cluster in diff.get("clusters") or () if cluster["report"] is None]
    is_compared = bool(diff) and (not alone or len(alone) < len(diff["clusters"]))
    first = [f"{counted(len(alone), 'cluster')} compared with nothing"] if alone else []
    if not is_compared:
        answer = [manifest["upgrade"]["sentence"]] if "upgrade" in manifest else []
        return Verdict("incomplete" if unread else "not-compared", (*answer, *unread))
    fresh = [cause for cause in causes if cause.is_open and cause.change == "new"]
    more = sum(cause.new_objects for cause in causes if cause.is_open and cause.change == "more")
    worse = [counted(len(fresh), "new cause")] if fresh else []
    grown = [f"{counted(more, 'more object')} of known causes"] if more else []
    fixed = [cause for cause in causes if cause.fixed_objects or cause.fixed_findings]
    better = [f"{counted(sum(cause.fixed_objects for cause in fixed), 'object')} fixed"] if fixed else []
    word = "worse" if worse or grown else "incomplete" if unread else "better" if better else "same"
    reasons = (*unread, *([*worse, *grown] or better), *first)
    return Verdict(word, reasons, (*grown, *better, *first))


def unread_reasons(manifest: dict[str, Any]) -> list[str]:
    """Return what a run did not read, for its exit code 3."""
    unread = []
    if missing := len(manifest.get("missing") or ()):
        unread.append(f"{counted(missing, 'cluster')} without a dump")
    if stale := len(different(dump["source"] for dump in stale_dumps(manifest))):
        unread.append(counted(stale, "stale dump"))
    if damaged := len(different(source["name"] for source in manifest["inputs"] if source["damage"])):
        unread.append(f"{counted(damaged, 'dump')} not read completely")
    if lost := len(manifest["lost"]):
        unread.append(f"{counted(lost, 'part')} of the keys not judged")
    if changes := unanswered(manifest):
        unread.append(f"the answers to {counted(changes, 'change')} not known")
    return unread
