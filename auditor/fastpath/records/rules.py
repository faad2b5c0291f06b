"""Rules on records: a generated function that proves all rules of an object of the record tier, or fails.

It is similar to the code of `rules` for dicts, but simpler: an object that is not proven is left to the next tier,
which starts from the bytes, so nothing is recorded. Costs are bounded in the same way.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from auditor.cel.emit import NotEmittable as NoCode
from auditor.cel.emit import RuleModule, emit_rule
from auditor.cel.environment import PER_CALL_LIMIT
from auditor.codegen import FunctionWriter, Module
from auditor.fastpath.dicts.scope import SchemaNotEmittable
from auditor.fastpath.rules.prover import NEVER, RuleCosts
from auditor.fastpath.rules.rule_shapes import Shapes
from auditor.validation.rules.evaluate import OBJECT_BUDGET

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.cel.emit.bounds import Bound
    from auditor.fastpath.dicts.scope import Decoded
    from auditor.validation.rules import RuleNode, RuleProgram


_MOST_LOOPS: Final = 6
"""Largest number of nested loops."""
_DEEPEST: Final = 40
"""Largest number of steps from the root."""
_FEW_NODES: Final = 3
"""Positions with at least this many nodes get a separate function if several are equal."""


class RecordRules:
    """Proves the rules of records.

    Args:
        rules: The rules of a version.
        root: The form of its decoded objects.
        title: What the function is for.
        more: By how many bytes a decoded object may exceed its text (`shapes.longest_default`).

    Attributes:
        module: The generated function.

    Raises:
        NotEmittable: Some rule cannot be proven on records.
    """

    def __init__(self, rules: RuleProgram, root: Decoded, title: str, more: int) -> None:
        self.module = Module(f"{title} rules")
        self._more = more
        self._constants = RuleModule(self.module)
        self._shapes = Shapes()
        self._costs = RuleCosts()
        self._functions: dict[tuple[int, int], str | None] = {}
        self._times = Counter(map(id, rules.root.walk()))
        try:
            self._run: Callable[..., int] = self.module.compile(
                self.module.function(lambda name: self._write(name, rules.root, root))
            )
        except (NoCode, SyntaxError, RecursionError, MemoryError) as error:
            raise SchemaNotEmittable("rules on records") from error

    def hold(self, record: Any, size: int) -> bool:
        """Return whether all rules of a record are proven.

        Args:
            record: Proven valid except for its rules.
            size: Bytes of its JSON text.

        Raises:
            Exception: An error of any type: they are not proven.
        """
        size += self._more
        return self._run(record, size, self._costs.at(size)) <= OBJECT_BUDGET

    def _write(self, name: str, node: RuleNode, decoded: Decoded) -> str:
        w = FunctionWriter()
        with w.block(f"def {name}(v0, size, costs):"):
            w.line("c = 0")
            self._position(w, node, decoded, 0, 0)
            w.line("return c")
        return w.source

    def _function(self, node: RuleNode, decoded: Decoded) -> str | None:
        """Return the shared function for a position that equals others, or None if it is too small for one."""
        key = (id(node), id(decoded))
        if key not in self._functions:
            name = None
            if self._times[id(node)] > 1 and sum(1 for _ in node.walk()) > _FEW_NODES:
                name = self.module.function(lambda name: self._write(name, node, decoded))
                self.module.compile(name)  # if this fails, later positions have no function either
            self._functions[key] = name
        return self._functions[key]

    def _position(self, w: FunctionWriter, node: RuleNode, decoded: Decoded | None, level: int, loops: int) -> None:
        """Write the code for the rules of a value and of all values below it.

        Args:
            w, node: Writer and node; the value is in the variable of the level.
            decoded: Its form; None for plain values.
            level: Steps from the root.
            loops: How many of these steps enter a list or map.
        """
        if loops > _MOST_LOOPS or level > _DEEPEST:
            raise NoCode("depth")
        x, y = f"v{level}", f"v{level + 1}"
        self._rules(w, node, decoded, x)
        for each in node.all_of:
            self._position(w, each, decoded, level, loops)
        for key, child in node.properties.items():
            below: Decoded | None = None
            missing: tuple[str, ...] = ("None",)
            if decoded is not None and decoded.kind == "record":
                attribute, below = decoded.fields[key]
                missing = decoded.missing(key)
                w.line(f"{y} = {x}.{attribute}")
            else:
                w.line(f"{y} = {x}.get({key!r})")
            self._present(w, [f"{y} is not {each}" for each in missing], child, below, level, loops)
        inside = None if decoded is None else decoded.below
        for rest, values in ((node.extra, f"{x}.values()"), (node.items, x)):
            if rest is not None:
                tests = [f"{y} is not None"] if inside is None or inside.schema.nullable else []
                with w.block(f"for {y} in {values}:"):
                    self._present(w, tests, rest, inside, level, loops + 1)

    def _present(
        self, w: FunctionWriter, tests: list[str], node: RuleNode, decoded: Decoded | None, level: int, loops: int
    ) -> None:
        """Write the code below a position for the case that it exists."""
        if decoded is not None and decoded.kind == "plain":
            decoded = None
        name = None if decoded is None else self._function(node, decoded)
        with w.block(f"if {' and '.join(tests)}:") if tests else nullcontext():
            if name is None:
                self._position(w, node, decoded, level + 1, loops)
            else:
                w.line(f"c += {name}(v{level + 1}, size, costs)")

    def _rules(self, w: FunctionWriter, node: RuleNode, decoded: Decoded | None, x: str) -> None:
        if node.error:
            raise NoCode(node.error)
        tests: list[str] = []
        bounds: list[Bound] = []
        measured: list[str] = []
        for rule in node.rules:
            if rule.is_left_out:
                continue
            checked, environment, declared = rule.checked, rule.environment, node.declared
            if checked is None or environment is None or declared is None:
                raise NoCode("not compiled")
            shape = self._shapes.of(declared) if decoded is None else self._shapes.of_record(declared, decoded)
            code = emit_rule(environment, checked, shape, self._constants, x, "size")
            if code.measured:
                name = f"m{len(measured)}"
                measured.append(name)
                tests.append(f"({name} := {code.measured}) <= {PER_CALL_LIMIT}")
            else:
                bounds.append(code.cost)
            tests.append(code.test)
        if tests:
            w.lines((f"if not ({' and '.join(tests)}):", f" return {NEVER}"))
        costs = list(measured)
        if bounds:
            costs.append(f"costs[{self._costs.add(bounds)}]")
        if costs:
            w.line(f"c += {' + '.join(costs)}")
