"""The verdict of a report against the one it was compared with: worse, incomplete, same or better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.base.wording import counted
from auditor.store.allclear import different, stale_dumps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.causes.topics import Cause


VERDICT_WORDS: Final = {
    "worse": "WORSE",
    "incomplete": "INCOMPLETE",
    "same": "SAME",
    "better": "BETTER",
    "not-compared": "NOT COMPARED",
}
"""As people read the word of a verdict."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a report compares with the earlier one.

    Attributes:
        word: ``worse``, ``incomplete``, ``same`` or ``better``; ``not-compared`` without an earlier report.
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

    It is worse if something that is not accepted is new. Else it is incomplete if a dump is missing, stale or damaged:
    nothing says that its content is worse, or better. Else it is better if something is fixed.
    """
    unread = []
    if missing := len(manifest.get("missing") or ()):
        unread.append(f"{counted(missing, 'cluster')} without a dump")
    if stale := len(different(dump["source"] for dump in stale_dumps(manifest))):
        unread.append(counted(stale, "stale dump"))
    if damaged := len(different(source["name"] for source in manifest["inputs"] if source["damage"])):
        unread.append(f"{counted(damaged, 'dump')} not read completely")
    if lost := len(manifest["lost"]):
        unread.append(f"{counted(lost, 'part')} of the keys not judged")
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
    worse += [f"{counted(more, 'more object')} of known causes"] if more else []
    fixed = [cause for cause in causes if cause.fixed_objects or cause.fixed_findings]
    better = [f"{counted(sum(cause.fixed_objects for cause in fixed), 'object')} fixed"] if fixed else []
    word = "worse" if worse else "incomplete" if unread else "better" if better else "same"
    return Verdict(word, (*unread, *(worse or better), *first))
