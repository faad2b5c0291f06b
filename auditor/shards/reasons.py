"""Why an object was not judged, or not by all checks: reasons in rows that the summary counts."""

from __future__ import annotations

from typing import Final

__all__ = ["NO_TIME", "RULES_GIVEN_UP"]

NO_TIME: Final = "not judged: the time of the run (--time) was over"
"""Why a key was not judged for which the run had no time left."""
RULES_GIVEN_UP: Final = (
    "rules not evaluated: they need more time (--time-per-object) or memory than the rules of an object get"
)
"""Why not all validation rules of an object, or of an update of it, have a verdict."""
