"""What an upgrade does to one object at each version that clients use, and what counts of it: the worst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from auditor.shards.upgrade.sides import Side
    from auditor.upgrade import Change

__all__ = ["OF_VERSIONS", "Effect", "worst_of"]

_VERDICTS: Final = ("blocked", "invalid", "tolerated")
"""An object has only one of these categories; worst first."""
OF_VERSIONS: Final = frozenset({*_VERDICTS, "data-loss", "drift", "selector"})
"""Categories that an object may have at any version; the others are of its value, or of where it was judged first."""


class Effect(NamedTuple):
    """What an upgrade does to an object at one version.

    Attributes:
        new: The object under the new definition, at that version.
        changes: What changes.
        categories: The categories of `Tally` that it has there.
    """

    new: Side
    changes: list[Change]
    categories: set[str]


def worst_of(effects: list[Effect]) -> set[str]:
    """Return the categories of an object: all that it has at some version, of verdicts the worst."""
    found = set().union(*(effect.categories for effect in effects))
    worst = next((one for one in _VERDICTS if one in found), None)
    return {one for one in found if one not in _VERDICTS or one == worst}
