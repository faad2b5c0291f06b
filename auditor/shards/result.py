"""The counts of a shard; a module of its own, since the parent process adds them up without loading the judges."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from auditor.base.statuses import Impact
from auditor.sources.registry_key import printable_key

if TYPE_CHECKING:
    from auditor.fastpath.dicts.fallbacks import Fallback
    from auditor.sources.encryption import SealedCount


MOST_LOST: Final = 100
"""Most lost objects of a shard that are named."""
MOST_GIVEN_UP: Final = 5
"""Most objects of a version that the summary names if their rules took too much; objects/ has all of them."""
_LONGEST: Final = 300
NO_TIME: Final = "not judged: the time of the run (--time) was over"
"""The reason of a key that was not judged because the time of the run was over."""
NOT_JUDGED: Final = ("not audited: ", "not judged: ")
"""What the reason of a key begins with whose value may be intact: the run had too little memory or time for it."""
FAILED: Final = "the auditor failed on this value"
"""What the reason of a key begins with on whose value the auditor itself failed."""
RULES_GIVEN_UP: Final = (
    "rules not evaluated: they need more time (--time-per-object) or memory than the rules of an object get"
)
"""The reason why not all validation rules of an object, or of an update of it, have a verdict."""

Kind = tuple[str, str]


@dataclass(slots=True)
class ShardResult:
    """The counts of one shard; small, whatever the shard's size. Kinds are (group, kind)."""

    number: int
    rows: int = 0
    bytes: int = 0
    statuses: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    impacts: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    breaking: dict[Kind, tuple[str, str, str]] = field(default_factory=dict)
    stuck: dict[Kind, tuple[str, str]] = field(default_factory=dict)
    findings: Counter[tuple[Kind, str, str, str]] = field(default_factory=Counter)
    stored: Counter[tuple[str, str]] = field(default_factory=Counter)
    unevaluated: Counter[tuple[str, str]] = field(default_factory=Counter)
    given_up: Counter[tuple[str, str]] = field(default_factory=Counter)
    given_up_first: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    proven: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    valid: Counter[tuple[str, str]] = field(default_factory=Counter)
    interpreted: Counter[tuple[str, str]] = field(default_factory=Counter)
    fallbacks: Counter[tuple[str, str, Fallback, bool]] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    unanswered: Counter[tuple[str, str]] = field(default_factory=Counter)
    unanswered_first: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    out_of_scope: int = 0
    deleting: int = 0
    encrypted: Counter[SealedCount] = field(default_factory=Counter)
    lost: str = ""
    lost_more: int = 0

    def note_lost(self, line: str) -> None:
        """Record objects that could not be audited: the first ones by name, and the number of the others."""
        lines = self.lost.split("\n") if self.lost else []
        if len(lines) < MOST_LOST:
            self.lost = "\n".join((*lines, line))
        else:
            self.lost_more += 1

    def note_given_up(self, version: tuple[str, str], names: list[str], count: int = 1) -> None:
        """Count objects whose rules took too much time or memory, and name the first.

        Args:
            version: Definition and version of the objects.
            names: Their names, at least the first ones.
            count: Their number.
        """
        self.given_up[version] += count
        first = self.given_up_first.setdefault(version, [])
        first += names[: MOST_GIVEN_UP - len(first)]

    def note_unanswered(self, kind: str, reason: str, *names: str, count: int = 1) -> None:
        """Count changes of a kind whose answer is not known, by the reason, and name the first objects."""
        self.unanswered[kind, reason] += count
        first = self.unanswered_first.setdefault((kind, reason), [])
        first += names[: MOST_GIVEN_UP - len(first)]

    def note_breaking(self, kind: Kind, found: tuple[str, str, str]) -> None:
        """Keep the first object that breaks lists of a kind, or the first that crashes the server, which is worse.

        Args:
            kind: The kind.
            found: The name of the object, the reason why it could not be read, and its impact.
        """
        known = self.breaking.get(kind)
        if known is None or is_worse(found[2], known[2]):
            self.breaking[kind] = found


def is_worse(impact: str, known: str) -> bool:
    """Return whether an object that breaks a kind replaces the one that is named so far."""
    return Impact(impact).rank < Impact(known).rank


def object_name(key: bytes | None, namespace: str | None, name: str | None) -> str:
    """Return the name of an object for messages: its key, or namespace and name in an export."""
    return (None if key is None else printable_key(key)) or f"{namespace or ''}/{name}"


def shown_error(error: BaseException | str) -> str:
    """Return an error as one short line that every table and every terminal can hold."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    line = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
