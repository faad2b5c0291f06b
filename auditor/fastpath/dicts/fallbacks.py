"""Counts the reasons for which the exact path judged objects that generated code did not prove.

A fallback is not an error: the exact path judges everything that the fast path does not prove. The counts in the
manifest give the reasons: definitions without code, values that are left to the exact path, caught exceptions.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Final

from auditor.fastpath.dicts.support import NotProven


class Part(StrEnum):
    """The generated code that did not prove something."""

    OBJECT = "object"
    """The code that reads and proves decoded objects; on a fallback the exact path judges the object."""
    RECORD = "record"
    """The code that proves objects from their bytes; on a fallback the code of `OBJECT` is tried next.

    Where that could not prove the object either, the exact path judges it, and the fallback counts for both parts.
    """
    RULES = "rules"
    """The code of validation rules; on a fallback the interpreter runs them."""
    UPDATE_RULES = "update-rules"
    """The code of validation rules on updates; on a fallback the interpreter runs them."""


class Reason(StrEnum):
    """The reason for which generated code did not prove something."""

    DEFINITION = "definition"
    """There is no code: the definition has something that is not supported (the detail names it)."""
    CONVERSION = "conversion"
    """The object is stored at a version from which generated code cannot read it."""
    JSON = "json"
    """The value is not JSON, or the fast decoder refuses it."""
    DEPTH = "depth"
    """The value is nested too deep."""
    IDENTITY = "identity"
    """apiVersion, kind or metadata is missing, or is not that of the version."""
    VALUE = "value"
    """A value whose read is left to the exact path (the detail names it)."""
    SCHEMA = "schema"
    """The schema is not proven: usually, the object is invalid."""
    METADATA = "metadata"
    """The metadata is not proven: usually, it is invalid."""
    RULES = "rules"
    """Not all validation rules are proven: usually, one fails."""
    BUDGET = "budget"
    """The rules may cost more than one object may spend: only counting can decide."""
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
"""Reasons by the names of exceptions, so that their modules need not be imported."""
_HEAD: Final = ("apiVersion", "kind", "metadata")
_LONGEST: Final = 80


class Fallbacks:
    """The fallbacks of one version.

    Attributes:
        counts: Number of fallbacks, by fallback and by whether exact code found the object valid.
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
        """Return the counts, and reset them."""
        taken, self.counts = self.counts, Counter()
        return taken


def fallback_of(part: Part, error: Exception) -> Fallback:
    """Return the fallback for an exception of generated code."""
    if type(error) is NotProven:
        return part, error.reason, error.detail
    name = type(error).__name__
    reason = _BY_NAME.get(name.lstrip("_"))
    if reason is Reason.JSON and "depth limit" in str(error):  # raised by the fast decoder
        reason = Reason.DEPTH
    if reason is not None:
        return part, reason, ""
    if type(error) is KeyError and error.args[0] in _HEAD:
        return part, Reason.IDENTITY, ""
    return part, Reason.ERROR, name
