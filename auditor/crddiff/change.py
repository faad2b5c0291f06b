"""One change of a definition, and what it does: the effect, the server's words, and an object that proves it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from auditor.base.records import JsonObject


REFUSED: Final = "refused"
DELETED: Final = "deleted"
NOT_SERVED: Final = "not-served"
UNREADABLE: Final = "unreadable"
DATA_DROPPED: Final = "data-dropped"
CREATE_REFUSED: Final = "create-refused"
UPDATE_REFUSED: Final = "update-refused"
APPLY_REFUSED: Final = "apply-refused"
DEFAULTS: Final = "defaults"
COLUMNS: Final = "columns"
HARMLESS: Final = "harmless"
EFFECTS: Final = {
    REFUSED: "the server refuses the update of the definition",
    DELETED: "its objects are deleted with it",
    NOT_SERVED: "requests get 404",
    UNREADABLE: "stored objects become unreadable",
    DATA_DROPPED: "data is dropped at the next write",
    CREATE_REFUSED: "creates are refused",
    UPDATE_REFUSED: "updates are refused",
    APPLY_REFUSED: "server-side apply fails",
    DEFAULTS: "defaults appear or change",
    COLUMNS: "selectors, columns or names change",
    HARMLESS: "harmless",
}
"""Effects, worst first, each with what it is."""
RANKS: Final = {effect: rank for rank, effect in enumerate(EFFECTS)}

BREAKS: Final = "breaks"
MAY_BREAK: Final = "may break"
CHANGES: Final = "changes"
VERDICTS: Final = (BREAKS, MAY_BREAK, CHANGES, HARMLESS)
"""Worst first. The first two end the command with exit code 1."""
TOLERATED: Final = "tolerated"
"""Answer to an update that leaves the field alone, where it is not `REFUSED`."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a definition.

    Attributes:
        definition: Name of the definition.
        kind: Kind that it defines.
        versions: Names of the versions concerned; empty for the definition as a whole.
        path: Place in the objects, as `SchemaChange.path`; empty means the object, or the definition.
        change: What changed, e.g. ``maximum``.
        old: The value before, as text; empty means there was none.
        new: The value after.
        verdict: One of `VERDICTS`. Only what the engine has shown ``breaks``.
        effect: A key of `EFFECTS`; for a change that may break the worst that is likely.
        message: The server's words; empty if there are none.
        updates: The answer to updates that leave a refused field alone: refused, tolerated, or empty.
        reason: Why a change is harmless, or why it is not known whether it breaks something.
        witness: An object that the server accepts under the old definition, and to which the effect happens.
        update: Where only a change of the witness is refused: the object after that change.
        is_accepted: Whether a user accepted it (--accept).
    """

    definition: str
    kind: str
    change: str
    verdict: str
    effect: str
    versions: tuple[str, ...] = ()
    path: str = ""
    old: str = ""
    new: str = ""
    message: str = ""
    updates: str = ""
    reason: str = ""
    witness: JsonObject | None = None
    update: JsonObject | None = None
    is_accepted: bool = False

    @property
    def id(self) -> str:
        """What identifies the change, whatever the effect, for accept.yaml."""
        parts = (self.definition, *self.versions, self.path, self.change, self.old, self.new)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def is_breaking(self) -> bool:
        """Whether it breaks something, or may, and no user accepted that."""
        return self.verdict in (BREAKS, MAY_BREAK) and not self.is_accepted

    @property
    def rank(self) -> tuple[int, int]:
        """Order: worst effect first, and what is shown before what is likely."""
        return VERDICTS.index(self.verdict), RANKS[self.effect]

    def row(self) -> dict[str, Any]:
        """Return the change as JSON data."""
        row = asdict(self)
        return {
            "id": self.id,
            **{key: row[key] for key in ("definition", "kind", "versions", "path", "change", "old", "new")},
            **{key: row[key] for key in ("verdict", "effect", "message", "updates", "reason", "witness", "update")},
            "accepted": self.is_accepted,
        }
