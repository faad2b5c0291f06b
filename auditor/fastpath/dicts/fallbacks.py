"""Counts why exact code judged what generated code did not prove.

A fallback is no error: the fast path may only prove, and what it does not prove the exact path judges. The counts tell
why it did, for the manifest: definitions without code, values that are left to the exact path, exceptions that were
caught.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Final

from auditor.fastpath.dicts.support import Refused

__all__ = ["Fallback", "Fallbacks", "Part", "Reason"]


class Part(StrEnum):
    """The generated code that did not prove something."""

    OBJECT = "object"
    """The code that reads and proves decoded objects: the exact path judged the object."""
    RECORD = "record"
    """The code that proves objects from their bytes: the code of `OBJECT` was tried next."""
    RULES = "rules"
    """The code of validation rules: the interpreter ran them."""
    UPDATE_RULES = "update-rules"
    """The code of validation rules on updates: the interpreter ran them."""


class Reason(StrEnum):
    """Why generated code did not prove something."""

    DEFINITION = "definition"
    """There is no code: the definition has something that none is made for (the detail names it)."""
    CONVERSION = "conversion"
    """The object is stored at a version from which generated code cannot read it."""
    JSON = "json"
    """The value is no JSON, or not as the fast decoder takes it."""
    DEPTH = "depth"
    """The value is nested too deep."""
    IDENTITY = "identity"
    """apiVersion, kind or metadata is missing, or is not that of the version."""
    VALUE = "value"
    """A value whose read is left to the exact path (the detail names it)."""
    SCHEMA = "schema"
    """The schema is not proven: mostly, the object is invalid."""
    METADATA = "metadata"
    """The metadata is not proven: mostly, it is invalid."""
    RULES = "rules"
    """Not all validation rules are proven: mostly, one fails."""
    BUDGET = "budget"
    """The rules may cost more than those of one object are allowed: only counting can tell."""
    ERROR = "error"
    """An exception of another type (the detail names the type)."""


Fallback = tuple[str, str, str]
"""Part, reason, detail."""

_BY_NAME: Final = {
    "CoerceError": Reason.METADATA,
    "DecodeError": Reason.JSON,
    "JSONDecodeError": Reason.JSON,
    "RecursionError": Reason.DEPTH,
    "ValidationError": Reason.SCHEMA,
    "NotNormal": Reason.METADATA,
    "OverBudget": Reason.BUDGET,
}
"""Reasons by the names of exceptions; their modules need not be loaded for this."""
_HEAD: Final = ("apiVersion", "kind", "metadata")
_LONGEST: Final = 80


class Fallbacks:
    """The fallbacks of one version.

    Attributes:
        counts: How often each happened, by fallback and whether exact code found that what it judged is valid.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[Fallback, bool]] = Counter()

    def note(self, part: Part, reason: Reason, detail: str = "", *, valid: bool = False) -> None:
        """Count a fallback."""
        self.counts[(part, reason, detail[:_LONGEST]), valid] += 1

    def caught(self, part: Part, error: Exception) -> None:
        """Count an exception that was caught."""
        self.counts[fallback_of(part, error), False] += 1

    def take(self) -> Counter[tuple[Fallback, bool]]:
        """Return the counts, and begin anew."""
        taken, self.counts = self.counts, Counter()
        return taken


def fallback_of(part: Part, error: Exception) -> Fallback:
    """Return what an exception of generated code is counted as."""
    if type(error) is Refused:
        return part, error.reason, error.detail
    name = type(error).__name__
    reason = _BY_NAME.get(name.lstrip("_"))
    if reason is Reason.JSON and "depth limit" in str(error):  # that of the fast decoder
        reason = Reason.DEPTH
    if reason is not None:
        return part, reason, ""
    if type(error) is KeyError and error.args[0] in _HEAD:
        return part, Reason.IDENTITY, ""
    return part, Reason.ERROR, name
