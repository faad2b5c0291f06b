"""What the rows of an object have from its metadata; and a share of all objects, judged again by the reference.

The choice depends on the bytes of the objects alone: on the same dump it is the same, for any number of workers and any
cut of the shards. The text of a controller is ``Kind.group/name``, or ``Kind/name`` in the core group; it is in the
namespace of the object, or in none.

Source: apimachinery pkg/apis/meta/v1/controller_ref.go (GetControllerOf: the first entry that has `controller: true`).
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from auditor.base.errors import ProofRefuted, TooMuchToReport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.base.records import AuditedObject, Finding, JsonObject
    from auditor.program.program import AuditProgram, Judgement


@lru_cache(maxsize=1024)
def _kind(api_version: str, kind: str) -> str:
    group, slash, _ = api_version.partition("/")
    return f"{kind}.{group}" if slash and group else kind


def controller_of(owners: Any) -> str | None:
    """Return the controller of an object.

    Args:
        owners: The decoded value of its ownerReferences, of any type.
    Returns:
        None if it has none, or one without kind or name.
    """
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("controller") is True:
            api_version, kind, name = (owner.get(field) for field in ("apiVersion", "kind", "name"))
            if isinstance(api_version, str) and isinstance(kind, str) and isinstance(name, str) and kind and name:
                return f"{_kind(api_version, kind)}/{name}"
            return None
    return None


def controller_of_records(owners: Iterable[Any]) -> str | None:
    """Return the controller of an object that was proven from its bytes.

    Args:
        owners: The records of its ownerReferences (`auditor.fastpath.records.metadata.Owner`).
    """
    for owner in owners:
        if owner.controller is True:
            return f"{_kind(owner.api_version, owner.kind)}/{owner.name}"
    return None


def controller_in(data: bytes) -> str | None:
    """Return the controller of a value that no server reads, or that has no definition; None if it is not known.

    Args:
        data: The value; it is decoded only if it may have a controller.
    """
    if b'"ownerReferences"' not in data or b'"controller"' not in data:
        return None
    try:
        metadata = orjson.loads(data)["metadata"]
        return controller_of(metadata.get("ownerReferences"))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


_BITS: Final = 64
_ABOVE_ALL: Final = "g"
"""Greater than every hexadecimal digit."""
_LONGEST: Final = 200


class Head(NamedTuple):
    """What the rows of an object have from its metadata."""

    namespace: Any = None
    name: Any = None
    uid: Any = None
    created: Any = None
    deleting: bool = False
    labels: Any = None
    controller: str | None = None

    @classmethod
    def of(cls, metadata: JsonObject) -> Head:
        """Return the head of an object from its metadata after the read."""
        find = metadata.get
        names = find("namespace"), find("name"), find("uid"), find("creationTimestamp")
        labels, controller = find("labels") or {}, controller_of(find("ownerReferences"))
        return cls(*names, "deletionTimestamp" in metadata, labels, controller)


class AuditAnswer(NamedTuple):
    """What an audit says of an object.

    Attributes:
        head: What its rows have from its metadata.
        effect: The changes that the read made to the metadata (`rewritten_metadata`).
        selected: The texts of the selectable fields, in the order of the version.
        findings: Those of a create, sorted; empty if it is valid.
        unreadable: Why it cannot be read; empty if it can.
        unevaluated: Number of its rules without a result.
        object: The object as read; None if it cannot be read, or was proven without being built.
    """

    head: Head
    stored_version: str | None
    pruned: tuple[str, ...]
    defaulted: tuple[str, ...]
    effect: str
    selected: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    unreadable: str = ""
    unevaluated: int = 0
    object: JsonObject | None = None

    @classmethod
    def of(cls, program: AuditProgram, judgement: Judgement) -> AuditAnswer:
        """Return the judgement of a program as an answer."""
        audited = judgement.audited
        return cls(
            Head.of((audited.object or {}).get("metadata") or {}),
            audited.stored_version,
            audited.pruned,
            audited.defaulted,
            judgement.effect,
            tuple(audited.selectable.get(path.removeprefix("."), "") for path in program.version.selectable_fields),
            audited.findings,
            audited.unreadable.reason if audited.unreadable is not None else "",
            judgement.unevaluated,
            audited.object,
        )


class ProofCheck:
    """Judges objects again, without generated code, and compares the answers.

    Args:
        share: Share of all objects, from 0 to 1.

    Attributes:
        below: An object is judged again if the SHA-256 of its value, in hexadecimal digits, sorts before this; empty if
            none is.
        last: The last value that was asked about, the same bytes object, and its SHA-256 in hexadecimal digits.
    """

    def __init__(self, share: float) -> None:
        self.below = "" if share <= 0 else _ABOVE_ALL if share >= 1 else f"{int(share * 2**_BITS):016x}"
        self._exact: dict[AuditProgram, AuditProgram] = {}
        self.last: tuple[bytes | None, str] = (None, "")

    def has(self, data: bytes) -> bool:
        """Return whether an object is in the share."""
        if not self.below:
            return False
        if data is not self.last[0]:
            self.last = data, sha256(data).hexdigest()
        return self.last[1] < self.below

    def exact(self, program: AuditProgram) -> AuditProgram:
        """Return the program of the same version without generated code."""
        exact = self._exact.get(program)
        if exact is None:
            exact = self._exact[program] = program.reference()
        return exact

    def verify(self, program: AuditProgram, data: bytes, judgement: Judgement) -> None:
        """Judge an object again if it is in the share; see `check`.

        Args:
            program: The program that judged it.
            data: Its bytes.
            judgement: The judgement of the program.
        """
        if self.has(data) and not program.gave_up(judgement.unevaluated):
            self.check(program, data, AuditAnswer.of(program, judgement))

    def check(self, program: AuditProgram, data: bytes, answer: AuditAnswer) -> None:
        """Judge an object again.

        Args:
            program: The program that judged it.
            data: Its bytes.
            answer: The answer of the program.

        Raises:
            ProofRefuted: The reference gives another answer.
        """
        exact = self.exact(program)
        try:
            judgement = exact.judge(data)
        except TooMuchToReport:
            return  # no answer: matching or reporting exceeds the limits
        if exact.gave_up(judgement.unevaluated):
            return  # likewise
        differences = _differences(answer, AuditAnswer.of(exact, judgement))
        if differences:
            raise refuted(program, judgement.audited, "; ".join(differences))


def refuted(program: AuditProgram, audited: AuditedObject, differences: str) -> ProofRefuted:
    """Return the error about an object that generated code and the reference judge differently."""
    return ProofRefuted(
        _name(program, audited),
        f"generated code and the reference judge this object differently: {differences}",
        advice="this is a fault of the auditor and no report is written: please report it with the definition",
    )


def _differences(ours: AuditAnswer, theirs: AuditAnswer) -> list[str]:
    """Return the differences of an answer and that of the reference in words."""
    shown = [[f"{finding.field}: {finding.message}" for finding in answer.findings] for answer in (ours, theirs)]
    if theirs.unreadable and not ours.unreadable:
        return [f"read, but by the reference unreadable ({_short(theirs.unreadable)})"]
    out: list[str] = []
    if shown[1] and not shown[0]:
        out.append(f"proven valid, but invalid by the reference ({_short('; '.join(shown[1]))})")
    elif shown[0] != shown[1]:
        out.append(f"findings: {_short('; '.join(shown[0]))}, by the reference {_short('; '.join(shown[1]))}")
    for name, own_value, other in zip(AuditAnswer._fields, ours, theirs, strict=True):
        if name != "findings" and own_value != other and not (name == "object" and own_value is None):
            out.append(f"{name}: {_short(own_value)} by generated code, {_short(other)} by the reference")
    return out


def _name(program: AuditProgram, audited: AuditedObject) -> str:
    metadata = (audited.object or {}).get("metadata") or {}
    place = "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
    return f"{program.definition.name} {program.version.name} {place}".strip()


def _short(value: Any) -> str:
    text = value if isinstance(value, str) and value else repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
