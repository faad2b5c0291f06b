"""What an expression may cost at worst, by its tree and by how large its input can get.

In: an expression with types, and `Sized`, what a schema says of sizes; no schema itself may be here. Out: a range of
costs. `prices.py` holds a price for every function, `walk.py` adds them up, `ranges.py` is the arithmetic.

Source: cel-go checker/cost.go; k8s.io/apiserver pkg/cel/library/cost.go.
"""

from auditor.cel.estimate.ranges import MAX_COST, Range, saturated_product
from auditor.cel.estimate.walk import Sized, estimate_cost

__all__ = ["MAX_COST", "Range", "Sized", "estimate_cost", "saturated_product"]
