"""No test compares a clock: how long a machine takes depends on the machine, and on what else it does.

A test counts operations, bytes, rows or calls instead, or compares N with 8 N by such a count. What reads a clock, what
is assigned or returned from it (also by a helper that another module of the tests defines), and what a program in a
string prints of it is followed. A comparison of it by order, or with a number, is refused wherever it is in a test, as
what decides may be far from it.

A wait for another process or thread may be bounded, so that it ends when the event never comes. Its form is::

    deadline = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < deadline

or `while not happened() and time.monotonic() < deadline`. The bound is a number, or a constant of the module, in the
function that waits, and at least 60 s.

Benchmarks may print seconds. Programs that are no tests (fuzzers) may have a budget of time.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tests.style.files import Module, Project

__all__ = ["clocks_are_not_compared"]

LEAST_WAIT: Final = 60
"""Seconds that a bounded wait takes at least."""
_CLOCKS: Final = ("process_time", "thread_time", "perf_counter", "monotonic", "default_timer")
_READ: Final = {
    *_CLOCKS,
    *(f"{name}_ns" for name in _CLOCKS),
    "ru_utime",
    "ru_stime",
    "children_user",
    "children_system",
    "clock_gettime",
    "clock_gettime_ns",
    "timeit",
}
"""Names and attributes that read a clock; `ru_maxrss` is memory."""
_CLOCK: Final = "a clock"
_IN_PROGRAM: Final = re.compile(rf"\b({'|'.join(_CLOCKS)})(_ns)?\(|\bru_[us]time\b|\bperformance\.now\(|\bimporttime\b")
_MENTIONED: Final = re.compile(
    rf"\b({'|'.join(sorted(_READ))}|from time import|time\.time|os\.times|deadline|performance\.now|importtime)\b"
)
_NO_SECONDS: Final = {"megabytes", "out", "err", "stderr", "code", "returncode"}
"""Attributes of what has a time too: memory, output of a command, its exit code."""
_ORDER: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_INSTEAD: Final = "count operations, bytes, rows or calls"


def clocks_are_not_compared(project: Project) -> Iterator[str]:
    """No test compares a clock, and no examples of Hypothesis have a deadline."""
    modules = [module for module in project.below("tests") if not module.name.startswith("tests/benchmarks/")]
    helpers = {
        _dotted(module.name): _Clocks(module, {}).functions
        for module in modules
        if not _is_test(module) and _MENTIONED.search(module.text)
    }
    for module in modules:
        timed = _imported(module, helpers)
        if _is_test(module) and (timed or _MENTIONED.search(module.text)):
            yield from _Clocks(module, timed).places()


def _is_test(module: Module) -> bool:
    name = module.name.rpartition("/")[2]
    return name.startswith("test_") or name == "conftest.py"


def _dotted(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(module: Module, helpers: Mapping[str, set[str]]) -> dict[str, str]:
    """Return the names that a module imports of helpers which return seconds, each with its helper."""
    return {
        each.asname or each.name: node.module
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and node.module in helpers
        for each in node.names
        if each.name in helpers[node.module]
    }


class _Clocks:
    """What holds seconds in a module, and where it is compared."""

    def __init__(self, module: Module, imported: Mapping[str, str]) -> None:
        self._module = module
        self.functions: set[str] = set()
        """Functions of the module that return seconds."""
        self._attributes: set[str] = set()
        self._global: set[str] = {_CLOCK, *imported, *_from_time(module)}
        self._names: dict[ast.AST, set[str]] = {}
        outer = list(self._outer())
        bound = [(self._global, list(_bindings(_within(module.tree.body))))]
        returned: list[tuple[set[str], str, set[str]]] = []
        for function in outer:
            names = self._names[function] = set()
            nodes = list(ast.walk(function))
            bound.append((names, list(_bindings(nodes))))
            returned += [(names, name, reads) for name, reads in _returned(nodes)]
        before = -1
        while before != (before := self._known()):
            for names, pairs in bound:
                for target, reads in pairs:
                    if self._is_timed(reads, names):
                        (self._attributes if target.startswith(".") else names).add(target)
            self.functions |= {name for names, name, reads in returned if self._is_timed(reads, names)}

    def _known(self) -> int:
        return sum(map(len, (self.functions, self._attributes, self._global, *self._names.values())))

    def _outer(self) -> Iterator[ast.AST]:
        """Yield functions of the module and methods of its classes; what is nested belongs to them."""
        for node in _within(self._module.tree.body):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def _is_timed(self, reads: set[str], names: set[str]) -> bool:
        """Return whether something that is read holds seconds; a fixture has the name of its function."""
        return any(not reads.isdisjoint(timed) for timed in (names, self._global, self.functions, self._attributes))

    def places(self) -> Iterator[str]:
        """Yield each place that compares a clock."""
        for function in self._outer():
            for node, loops in _with_loops(function):
                yield from self._place(node, self._names[function], function, loops=loops)
        for node in self._module.nodes:
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
                "settings",
                "register_profile",
            ):
                for word in node.keywords:
                    if word.arg == "deadline" and ast.unparse(word.value) != "None":
                        yield f"{self._module.name}:{node.lineno}: a deadline for examples: write deadline=None"

    def _place(self, node: ast.AST, names: set[str], function: ast.AST, *, loops: bool) -> Iterator[str]:
        if not isinstance(node, ast.Compare) or not _is_with_number(node):
            return
        if not self._is_timed(_reads(node), names):
            return
        where = f"{self._module.name}:{node.lineno}: `{ast.unparse(node)}`"
        if not loops:
            yield f"{where} compares a clock: {_INSTEAD}"
        elif self._seconds(node, function) < LEAST_WAIT:
            yield f"{where} bounds a wait by less than {LEAST_WAIT} s: set the deadline before by `time.monotonic() + 120`"

    def _seconds(self, compared: ast.Compare, function: ast.AST) -> float:
        """Return the seconds after which a wait ends; 0 if they are not given in the form that this module names."""
        constants = {
            node.targets[0].id: node.value.value
            for node in self._module.tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        }
        names = {each.id for each in ast.walk(compared) if isinstance(each, ast.Name)}
        found: list[float] = []
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[target], value=value):
                    pairs = [(target, value)]
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                        pairs = list(zip(target.elts, value.elts, strict=True))
                case _:
                    continue
            for each, its in pairs:
                match each, its:
                    case ast.Name(id=name), ast.BinOp(left=ast.Call(), op=ast.Add(), right=ast.Constant(value=bound)):
                        found += [bound] if name in names else []
                    case ast.Name(id=name), ast.BinOp(left=ast.Call(), op=ast.Add(), right=ast.Name(id=constant)):
                        found += [constants.get(constant, 0)] if name in names else []
        return min(found, default=0)


def _is_with_number(compared: ast.Compare) -> bool:
    """Return whether a comparison is one of order, or with a number or a range of numbers."""
    for sign, other in zip(compared.ops, compared.comparators, strict=True):
        match other:
            case ast.Constant(value=int() | float()) | ast.Call(func=ast.Name(id="range")):
                return True
        if isinstance(sign, _ORDER):
            return True
    return False


def _from_time(module: Module) -> set[str]:
    """Return the names under which a module imports clocks of `time`."""
    clocks = {*_READ, "time"}
    return {
        each.asname or each.name
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and node.module == "time"
        for each in node.names
        if each.name in clocks
    }


def _reads(value: ast.AST) -> set[str]:
    """Return the names that an expression reads, attributes with a dot before them, and `_CLOCK` if it reads a clock."""
    found = set()
    pending = [value]
    while pending:
        node = pending.pop()
        match node:
            case ast.Attribute(attr=name) if name in _NO_SECONDS:
                continue
            case ast.Name(id="megabytes") | ast.Call(func=ast.Name(id="len")):
                continue
            case ast.Name(id=name):
                found.add(_CLOCK if name in _READ else name)
            case (
                ast.Attribute(value=ast.Name(id="time"), attr="time")
                | ast.Attribute(value=ast.Name(id="os"), attr="times")
            ):
                found.add(_CLOCK)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                found |= {f".{name}", _CLOCK if name in _READ else name}
            case ast.Attribute(attr=name):
                found.add(_CLOCK if name in _READ else f".{name}")
            case ast.Constant(value=str(text)) if _IN_PROGRAM.search(text):
                found.add(_CLOCK)
        pending += ast.iter_child_nodes(node)
    return found


def _bindings(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, set[str]]]:
    """Yield each name, or attribute with a dot before it, that some nodes assign to, and what is read for it."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _bound(target, value)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.comprehension(target=target, iter=value)
                | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
            ):
                yield from _bound(target, value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend" | "add"), args=args):
                yield from ((name, _reads(each)) for each in args)


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, set[str]]]:
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for each, its in zip(targets, values, strict=True):
                yield from _bound(each, its)
        case ast.Tuple(elts=targets) | ast.List(elts=targets), _:
            for each in targets:
                yield from _bound(each, value)
        case ast.Subscript(value=inner) | ast.Starred(value=inner), _:
            yield from _bound(inner, value)
        case ast.Name(id=name), _:
            yield name, _reads(value)
        case ast.Attribute(attr=name), _:
            yield f".{name}", _reads(value)


def _returned(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each function among some nodes with what it reads to return or yield it."""
    for function in nodes:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Return | ast.Yield) and node.value:
                    yield function.name, _reads(node.value)


def _within(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes of some statements, functions without what is in them."""
    pending = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += ast.iter_child_nodes(node)


def _with_loops(node: ast.AST, *, loops: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the nodes of a function, each with whether a `while` loop repeats it."""
    for child in ast.iter_child_nodes(node):
        yield child, loops
        yield from _with_loops(
            child, loops=isinstance(child, ast.While) or (loops and not isinstance(child, ast.FunctionDef))
        )
