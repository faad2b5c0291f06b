"""Estimates of servers before `changes.SIZES_ARE_FOLLOWED`: they follow sizes by the schema alone.

Nothing is known of what an expression makes itself beyond literals and what prices say, and every variable that is not
the first of a macro stands for the whole value.

Source: cel-go v0.22 checker/cost.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.cel.cel_types import Kind
from auditor.cel.estimate.call_costs import ONE, Operand, Range
from auditor.cel.estimate.cost_walk import ACCUMULATORS, SCALARS, Entries, Estimate, Path, added, literal_size
from auditor.cel.syntax.ast import Ident

if TYPE_CHECKING:
    from auditor.cel.cel_types import Type
    from auditor.cel.syntax.ast import Call, Comprehension, Expr


class FlatEstimate(Estimate):
    """The walk as such servers do it."""

    def path(self, expr: Expr) -> Path | None:
        """Return the path that was found for a node."""
        return self.paths.get(expr.id)

    def size(self, expr: Expr) -> Range | None:
        """Return the size of a node."""
        known = self.sizes.get(expr.id)
        if known is None:
            known = literal_size(expr)
        if known is None:
            known = self.schema_size(self._open_steps(expr))
        if known is None and _is_scalar(self.types[expr.id]):
            known = ONE
        return known

    def _open_steps(self, expr: Expr) -> list[str]:
        steps = self.steps(expr)
        return [] if steps and steps[0] in ACCUMULATORS else steps

    def entry(self, _expr: Expr) -> Entries | None:
        """Return None, as these estimates know nothing about items."""
        return None

    def operand(self, expr: Expr) -> Operand:
        """Return a receiver or an argument."""
        steps, kind = self._open_steps(expr), self.types[expr.id]
        # Comparing URLs asks only for sizes that calls have.
        size = self.sizes.get(expr.id) if kind.name == "kubernetes.URL" else self.size(expr)
        return Operand(expr, kind, size, self.schema_size([*steps, "@items"]) if steps else None)

    def cost(self, expr: Expr) -> Range:
        """Return the cost of a node."""
        if not isinstance(expr, Ident):
            return super().cost(expr)
        stack = self.ranges.get(expr.name)
        if not stack:
            self.paths[expr.id] = Path([expr.name], 1)
        else:
            kind = self.types[stack[-1].id].kind
            if kind in (Kind.LIST, Kind.MAP):
                self.paths[expr.id] = added(self.paths.get(stack[-1].id), "@items" if kind is Kind.LIST else "@keys")
        return ONE

    def call(self, expr: Call) -> Range:
        """Return the cost of a call."""
        reference = self.references.get(expr.id)
        return self.function(expr, expr.function if reference is None else reference.name or expr.function)

    def result_size(self, expr: Call, overload: str, size: Range | None) -> Range | None:
        """Return what the price says."""
        self.note_index(expr, overload)
        return size

    def fold(self, expr: Comprehension) -> Range:
        """Return the cost of a comprehension."""
        cost = self.cost(expr.range) + self.cost(expr.init)
        self.ranges.setdefault(expr.variable, []).append(expr.range)
        each = self.cost(expr.condition) + self.cost(expr.step)
        self.ranges[expr.variable].pop()
        cost = cost + self.cost(expr.result)
        count = self.bound(expr.range)
        self.sizes[expr.id] = count
        return cost + count * each

    def bind(self, expr: Comprehension) -> Range:
        """Return the cost of a comprehension that only gives a value a name."""
        return self.fold(expr)


def _is_scalar(kind: Type) -> bool:
    return (kind.parameters[0] if kind.kind is Kind.WRAPPER else kind).kind in SCALARS
