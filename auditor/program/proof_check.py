"""Has the reference judge a share of the objects again that generated code proved valid.

The choice depends on the bytes of the objects alone: on the same dump it is the same, for any number of workers and any
cut of the shards.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.base.errors import ProofRefuted, TooMuchToReport
from auditor.storage_read.read import effect_of

if TYPE_CHECKING:
    from auditor.base.records import AuditedObject, JsonObject
    from auditor.program.program import AuditProgram, Judgement

__all__ = ["Proof", "ProofCheck"]

_BITS: Final = 64
_ABOVE_ALL: Final = "g"
"""Greater than every hexadecimal digit."""
_SHOWN: Final = 3
_LONGEST: Final = 200


class Proof(NamedTuple):
    """The answer of generated code about an object that it proved valid.

    Attributes:
        effect: The changes that the read made to the metadata (`rewritten_metadata`).
        selected: The texts of the selectable fields, in the order of the version.
        object: The object as read; None if it was proven without being built.
    """

    stored_version: str | None
    pruned: tuple[str, ...]
    defaulted: tuple[str, ...]
    effect: str
    selected: tuple[str, ...]
    object: JsonObject | None = None

    @classmethod
    def of(cls, program: AuditProgram, audited: AuditedObject, effect: str) -> Proof:
        """Return the judgement of a program as a proof."""
        selected = _selected(program, audited)
        return cls(audited.stored_version, audited.pruned, audited.defaulted, effect, selected, audited.object)


class ProofCheck:
    """Judges proven objects again, without generated code, and compares the answers.

    Args:
        share: Share of the proven objects, from 0 to 1.

    Attributes:
        is_on: Whether any object is judged again.
        below: An object is judged again if the SHA-256 of its value, in hexadecimal digits, sorts before this.
    """

    def __init__(self, share: float) -> None:
        self.is_on = share > 0
        self.below = _ABOVE_ALL if share >= 1 else f"{int(share * 2**_BITS):016x}"
        self._exact: dict[AuditProgram, AuditProgram] = {}

    def verify(self, program: AuditProgram, data: bytes, judgement: Judgement, effect: str) -> None:
        """Judge an object again if it is proven and in the share; see `check`.

        Args:
            program: The program that judged it.
            data: Its bytes.
            judgement: The judgement of the program.
            effect: The changes that the read made to its metadata.
        """
        if self.is_on and judgement.proven and sha256(data).hexdigest() < self.below:
            self.check(program, data, Proof.of(program, judgement.audited, effect))

    def check(self, program: AuditProgram, data: bytes, proof: Proof) -> None:
        """Judge a proven object again.

        Args:
            program: The program that proved it.
            data: Its bytes.
            proof: The answer of the program.

        Raises:
            ProofRefuted: The reference gives another answer.
        """
        exact = self._exact.get(program)
        if exact is None:
            exact = self._exact[program] = program.reference()
        try:
            audited = exact.judge(data).audited
        except TooMuchToReport:
            return  # no answer: matching or reporting exceeds the limits
        if exact.gave_up(audited.unevaluated_rules):
            return  # likewise
        differences = _differences(exact, data, audited, proof)
        if differences:
            raise ProofRefuted(
                _name(program, audited),
                "generated code and the reference judge this object differently: " + "; ".join(differences),
                advice="this is a fault of the auditor and no report is written: please report it with the definition",
            )


def _differences(exact: AuditProgram, data: bytes, audited: AuditedObject, proof: Proof) -> list[str]:
    """Return the differences of the two answers in words."""
    if audited.unreadable is not None:
        return [f"proven valid, but by the reference unreadable ({_short(audited.unreadable.reason)})"]
    out: list[str] = []
    if audited.findings:
        shown = [f"{one.field}: {one.message}" for one in audited.findings[:_SHOWN]]
        out.append(f"proven valid, but invalid by the reference ({_short('; '.join(shown))})")
    other = Proof.of(exact, audited, effect_of(data, audited.object or {}))
    for name, ours, theirs in zip(Proof._fields, proof, other, strict=True):
        if ours != theirs and not (name == "object" and ours is None):
            out.append(f"{name}: {_short(ours)} by generated code, {_short(theirs)} by the reference")
    return out


def _selected(program: AuditProgram, audited: AuditedObject) -> tuple[str, ...]:
    return tuple(audited.selectable.get(path.removeprefix("."), "") for path in program.version.selectable_fields)


def _name(program: AuditProgram, audited: AuditedObject) -> str:
    metadata = (audited.object or {}).get("metadata") or {}
    place = "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
    return f"{program.definition.name} {program.version.name} {place}".strip()


def _short(value: Any) -> str:
    text = value if isinstance(value, str) and value else repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
