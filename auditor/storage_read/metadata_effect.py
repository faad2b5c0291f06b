"""Effects of a read on the metadata of an object, beside pruning: lost parts, and parts that only look different.

A read decodes metadata into its Go type and encodes it again. A malformed field is dropped whole, and the next write
makes this permanent. Times are brought to UTC, null labels become empty ones and a missing generation becomes 1: these
only look different. Zero values that vanish do not change the meaning.

Source: apiextensions-apiserver pkg/apiserver/schema/objectmeta/coerce.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.statuses import Impact

if TYPE_CHECKING:
    from auditor.base.records import JsonObject

__all__ = ["DRIFTS", "LOSES_DATA", "rewritten_metadata"]

LOSES_DATA: Final = Impact.LOSES_DATA.value  # the larger of the two
DRIFTS: Final = Impact.DRIFTS.value


def rewritten_metadata(stored: Any, read: JsonObject) -> str:
    """Return the impact of a read on metadata; empty if the metadata is unchanged.

    Args:
        stored: ``metadata`` as stored, of any type.
        read: ``metadata`` after the read.
    """
    if type(stored) is not dict:
        return DRIFTS if stored is None else LOSES_DATA
    if read.get("creationTimestamp", "") is None:  # absent, as servers before `changes.NO_NULL_TIMES` show it
        read = {key: value for key, value in read.items() if key != "creationTimestamp"}
    if _is_lost(stored, read):
        return LOSES_DATA
    return DRIFTS if _plain(stored) != read else ""


def _is_lost(stored: Any, read: Any) -> bool:
    """Return whether any value other than a zero value is lost."""
    if type(stored) is dict:
        if type(read) is not dict:
            return True
        return any(value and (key not in read or _is_lost(value, read[key])) for key, value in stored.items())
    if type(stored) is list:
        return type(read) is not list or len(stored) != len(read) or any(map(_is_lost, stored, read))
    is_number = type(stored) in (int, float) and type(read) in (int, float)
    return stored is not None and type(stored) is not type(read) and not is_number


def _plain(stored: JsonObject) -> JsonObject:
    """Return metadata without zero values at the top level, which count as absent."""
    kept = "deletionGracePeriodSeconds"
    return {key: value for key, value in stored.items() if value or (key == kept and value is not None)}
