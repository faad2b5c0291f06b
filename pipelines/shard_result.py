"""What a shard comes to; in a module of its own, as who adds up counts needs nothing of what judges objects."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.sources.encryption import SealedCount

__all__ = ["Kind", "ShardResult", "is_worse"]

Kind = tuple[str, str]


@dataclass(slots=True)
class ShardResult:
    """What one shard came to; small, whatever the shard's size. Kinds are (group, kind)."""

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
    proven: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    valid: Counter[tuple[str, str]] = field(default_factory=Counter)
    interpreted: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    out_of_scope: int = 0
    encrypted: Counter[SealedCount] = field(default_factory=Counter)
    lost: str = ""

    def note_breaking(self, kind: Kind, found: tuple[str, str, str]) -> None:
        """Keep the first object that breaks lists of a kind, or the first that crashes the server, which is worse.

        Args:
            kind: The kind.
            found: What the object is called, why it could not be read, and its impact.
        """
        known = self.breaking.get(kind)
        if known is None or is_worse(found[2], known[2]):
            self.breaking[kind] = found


def is_worse(impact: str, known: str) -> bool:
    """Tell whether an object that breaks lists of a kind is named in place of one that is known."""
    return impact == "crashes-server" != known
