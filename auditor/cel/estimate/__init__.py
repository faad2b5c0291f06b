"""Estimates the highest cost of an expression, by its tree and by the largest size of its input.

Input: an expression with types, and `Sized`, the sizes that a schema allows; schemas themselves are not known here.
Output: a range of costs. `call_costs.py` has prices of functions and the arithmetic of ranges, `cost_walk.py` adds them
up.

Source: cel-go checker/cost.go; k8s.io/apiserver pkg/cel/library/cost.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.cel.estimate.call_costs import MAX_COST, Range, saturated_product
from auditor.cel.estimate.cost_walk import Estimate, Sized
from auditor.cel.estimate.flat import FlatEstimate
from auditor.releases import changes

if TYPE_CHECKING:
    from auditor.cel.check.checked import CheckedExpression

__all__ = ["MAX_COST", "Range", "Sized", "estimate_cost", "saturated_product"]


def estimate_cost(checked: CheckedExpression, root: Sized) -> Range:
    """Return lowest and highest cost of an expression, by the sizes that its schema allows.

    Args:
        checked: The expression with its types.
        root: The types of its variables.
    """
    walk = Estimate if changes.SIZES_ARE_FOLLOWED.holds else FlatEstimate
    return walk(checked, root).cost(checked.parsed.root)
