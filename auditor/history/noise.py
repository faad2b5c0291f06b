"""Kinds that became noisy: a robust z-score of the last run against the runs before it.

Median and median absolute deviation (MAD) do not move with a few outliers. The scale has floors: counts that never
changed have a MAD of 0, and a count of n objects varies by about its square root anyway. A short history says little of
the scale, so it is widened by 1 + 5/n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

LEAST_RUNS: Final = 7
"""Runs before the last one that are needed."""
MOST_RUNS: Final = 60
"""Runs before the last one that are considered, at most."""
THRESHOLD: Final = 5.0
LEAST_MORE: Final = 5
"""A kind with fewer additional objects than this is not noisy, whatever its score."""
_NORMAL: Final = 1.4826
"""Ratio of the standard deviation to the MAD of normally distributed numbers."""
_WIDENING: Final = 5.0


@dataclass(frozen=True, slots=True)
class Noise:
    """The score of the last count of a series."""

    value: int
    median: float
    mad: float
    scale: float
    score: float
    runs: int

    @property
    def is_noisy(self) -> bool:
        """Whether the count jumped."""
        return self.score >= THRESHOLD and self.value - self.median >= LEAST_MORE

    def arithmetic(self) -> str:
        """Return how the score was computed."""
        return (
            f"z = ({self.value} - {self.median:g}) / {self.scale:.2f} = {self.score:.1f}; median {self.median:g} and "
            f"MAD {self.mad:g} of {self.runs} runs, scale = max(1.4826 x MAD, sqrt(median), 1) x (1 + 5/{self.runs})"
        )


def noise_of(counts: np.ndarray[Any, Any], unread: np.ndarray[Any, Any] | None = None) -> Noise | None:
    """Return the score of the last count of a series; None if there are too few before it.

    Args:
        counts: The series, one count for each run.
        unread: For each run whether its count is not known; such runs before the last one are left out.
    """
    before = counts[:-1] if unread is None else counts[:-1][~unread[:-1]]
    before = before[-MOST_RUNS:]
    if len(before) < LEAST_RUNS:
        return None
    median = float(np.median(before))
    mad = float(np.median(np.abs(before - median)))
    scale = max(_NORMAL * mad, median**0.5, 1.0) * (1 + _WIDENING / len(before))
    return Noise(int(counts[-1]), median, mad, scale, (float(counts[-1]) - median) / scale, len(before))
