"""What an expression may cost at worst, by its tree and by how large its input can get.

In: an expression with types, and `Sized`, what a schema says of sizes; no schema itself may be here. Out: a range of
costs. `prices.py` holds a price for every function, `walk.py` adds them up, `ranges.py` is the arithmetic.

Source: cel-go checker/cost.go; k8s.io/apiserver pkg/cel/library/cost.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.cel.estimate.flat import FlatEstimate
from auditor.cel.estimate.ranges import MAX_COST, Range, saturated_product
from auditor.cel.estimate.walk import Estimate, Sized
from auditor.releases import changes

if TYPE_CHECKING:
    from auditor.cel.check.checker import CheckedExpression

__all__ = ["MAX_COST", "Range", "Sized", "estimate_cost", "saturated_product"]


def estimate_cost(checked: CheckedExpression, root: Sized) -> Range:
    """Return what an expression costs at least and at most, by the sizes that its schema allows.

    Args:
        checked: The expression with its types.
        root: What its variables are.
    """
    walk = Estimate if changes.SIZES_ARE_FOLLOWED.holds else FlatEstimate
    return walk(checked, root).cost(checked.parsed.root)
