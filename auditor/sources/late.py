"""Digests of dumps that are computed during the audit: only the end of the audit waits for them.

Until then a plan has placeholders for the digest, and for the damage that is reported if the digest of a snapshot does
not match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.sources.plan import Damage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.sources.files.digest import Digest
    from auditor.sources.plan import SourcePlan

__all__ = ["NO_DIGEST", "LateDigests", "status_damage", "status_notes"]

NO_DIGEST: Final = "no checksum trailer (file copied, not `snapshot save`): integrity cannot be verified"
_MISMATCH: Final = (
    'sha256 at the end does not match: the file was changed or cut after "snapshot save"; results may be wrong'
)
_END: Final = "end of file"


def status_notes(status: str) -> tuple[str, ...]:
    """Return the notes on a snapshot for the status of its digest (`Digest.status`)."""
    return {"mismatch": (_MISMATCH,), "absent": (NO_DIGEST,)}.get(status, ())


def status_damage(status: str) -> tuple[Damage, ...]:
    """Return the damage of a snapshot for the status of its digest."""
    return (Damage(_END, _MISMATCH),) if status == "mismatch" else ()


class LateDigests:
    """The digests that are being computed, each with its placeholder."""

    def __init__(self) -> None:
        self._made: dict[str, Digest] = {}

    def add(self, digest: Digest) -> str:
        """Add a digest that was started; return its placeholder in a plan."""
        text = f"digest {len(self._made)} is being made"
        self._made[text] = digest
        return text

    def is_open(self, text: str) -> bool:
        """Return whether a text is a placeholder of a digest."""
        return text in self._made

    def settle(self, sources: Iterable[SourcePlan]) -> Iterator[tuple[SourcePlan, Damage]]:
        """Wait for the digests of some dumps, write them into the plans, and yield the damage that they show."""
        for source in sources:
            if source.sha256 in self._made:
                source.sha256 = self._of(source.sha256).sha256
            notes: list[str] = []
            for note in source.notes:
                notes += status_notes(self._of(note).status) if note in self._made else (note,)
            source.notes = tuple(notes)
            damage: list[Damage] = []
            for one in source.damage:
                if one.where not in self._made:
                    damage.append(one)
                    continue
                found = status_damage(self._of(one.where).status)
                damage += found
                yield from ((source, late) for late in found)
            source.damage = tuple(damage)

    def _of(self, text: str) -> Digest:
        digest = self._made[text]
        digest.join()
        return digest
