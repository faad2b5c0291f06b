"""The verdict of a report against the one it was compared with: worse, same or better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.base.wording import counted
from auditor.report.allclear import stale_dumps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.report.findings.causes import Cause

__all__ = ["VERDICT_WORDS", "Verdict", "verdict_of"]

VERDICT_WORDS: Final = {"worse": "WORSE", "same": "SAME", "better": "BETTER", "not-compared": "NOT COMPARED"}
"""As people read the word of a verdict."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a report compares with the earlier one.

    Attributes:
        word: ``worse``, ``same`` or ``better``; ``not-compared`` without an earlier report.
        reasons: Why, worst first.
    """

    word: str
    reasons: tuple[str, ...] = ()

    @property
    def is_worse(self) -> bool:
        """Whether it is worse."""
        return self.word == "worse"


def verdict_of(manifest: dict[str, Any], causes: Sequence[Cause]) -> Verdict:
    """Return the verdict of a report.

    It is worse if something that is not accepted is new, or if a dump is missing, stale or damaged: its content is
    not known. It is better if something is fixed and nothing is worse.
    """
    worse = []
    if missing := len(manifest.get("missing") or ()):
        worse.append(f"{counted(missing, 'cluster')} without a dump")
    if stale := len(stale_dumps(manifest)):
        worse.append(counted(stale, "stale dump"))
    if damaged := sum(bool(source["damage"]) for source in manifest["inputs"]) + len(manifest["lost"]):
        worse.append(f"{counted(damaged, 'dump')} not read completely")
    diff = manifest.get("diff")
    if not diff:
        return Verdict("worse", tuple(worse)) if worse and manifest.get("since") else Verdict("not-compared")
    fresh = [cause for cause in causes if cause.is_open and cause.change == "new"]
    more = [cause for cause in causes if cause.is_open and cause.change == "more"]
    if fresh:
        worse.append(counted(len(fresh), "new cause"))
    if more:
        total = sum(cause.new_objects for cause in more)
        worse.append(f"{counted(total, 'more object')} of known causes")
    if worse:
        return Verdict("worse", tuple(worse))
    fixed = [cause for cause in causes if cause.fixed_objects or cause.fixed_findings]
    if fixed:
        return Verdict("better", (f"{counted(sum(cause.fixed_objects for cause in fixed), 'object')} fixed",))
    return Verdict("same")
