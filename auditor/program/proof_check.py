"""A second answer to what generated code proved: the reference judges a share of the proven objects again.

Which objects these are depends on their bytes alone: on the same dump it is the same ones, whatever the number of
workers and the cut of the shards.
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
    """What the generated code says of an object that it proved valid.

    Attributes:
        effect: What the read did to the metadata (`rewritten_metadata`).
        selected: The texts of the selectable fields, in the order of the version.
        object: The object as read; None: it was proven without being made.
    """

    stored_version: str | None
    pruned: tuple[str, ...]
    defaulted: tuple[str, ...]
    effect: str
    selected: tuple[str, ...]
    object: JsonObject | None = None

    @classmethod
    def of(cls, program: AuditProgram, audited: AuditedObject, effect: str) -> Proof:
        """Return the proof that the judgement of a program is."""
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
        """Judge an object again if it is proven and among the share; as `check`.

        Args:
            program: Judged it.
            data: Its bytes.
            judgement: What the program says of it.
            effect: What the read did to its metadata.
        """
        if self.is_on and judgement.proven and sha256(data).hexdigest() < self.below:
            self.check(program, data, Proof.of(program, judgement.audited, effect))

    def check(self, program: AuditProgram, data: bytes, proof: Proof) -> None:
        """Judge a proven object again.

        Args:
            program: Proved it.
            data: Its bytes.
            proof: What the program says of it.

        Raises:
            ProofRefuted: The reference gives another answer.
        """
        exact = self._exact.get(program)
        if exact is None:
            exact = self._exact[program] = program.reference()
        try:
            audited = exact.judge(data).audited
        except TooMuchToReport:
            return  # no answer: matching or reporting takes more than there is
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
    """Return in words what the two answers do not agree in."""
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
