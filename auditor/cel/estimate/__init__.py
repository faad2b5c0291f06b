"""Estimates the highest cost of an expression, by its tree and by the largest size of its input.

Input: an expression with types, and `Sized`, the sizes that a schema allows; schemas themselves are not known here.
Output: a range of costs. `prices.py` has prices of functions, `walk.py` adds them up, `ranges.py` has the arithmetic.

Source: cel-go checker/cost.go; k8s.io/apiserver pkg/cel/library/cost.go.
"""

from auditor.cel.estimate.ranges import MAX_COST, Range, saturated_product
from auditor.cel.estimate.walk import Sized, estimate_cost

__all__ = ["MAX_COST", "Range", "Sized", "estimate_cost", "saturated_product"]
