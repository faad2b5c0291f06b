"""``--where``: a CEL predicate over objects, parsed and checked, and run on one object at a time.

``self`` is the whole object; its fields at the top (``spec``, ``status``, ``metadata``, ...) are variables of their
own. An object is selected if the predicate is true. On an error (an absent field, a comparison that CEL does not have)
it is not selected, and counted (`Failures`); as always in CEL, ``error && false`` is false, ``error || true`` is true.

A field that is compared with a timestamp or a duration is converted to one: dates in objects are texts.

Source: cel-go v0.29.2; k8s.io/apiserver pkg/cel/environment (the libraries).
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import SelectorError
from auditor.base.records import name_of, namespace_of, place_text
from auditor.base.visible import visible
from auditor.base.wording import no_field, objects
from auditor.cel.cel_errors import CelError, CompileError
from auditor.cel.cel_types import BOOL, DYN
from auditor.cel.kubernetes import kubernetes_environment
from auditor.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    ParsedExpression,
    Select,
    StructLiteral,
    descendants,
)
from auditor.golang.go_text import without_broken
from auditor.selectors.where_code import WhereCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.cel.environment import Program
    from auditor.schema.structural import StructuralSchema
    from auditor.selectors.grammar import FieldRequirement


_COST_LIMIT: Final = 100_000_000
_ALWAYS: Final = ("self", "apiVersion", "kind", "metadata", "spec", "status")


@dataclass(frozen=True, slots=True)
class Where:
    """A compiled predicate, made by `compile_where`."""

    text: str
    program: Program
    names: tuple[str, ...]
    code: WhereCode

    @property
    def root(self) -> Expr:
        """The tree of the predicate."""
        return self.program.checked.parsed.root

    def value(self, obj: JsonObject) -> Any:
        """Return the value of the predicate for an object: true, false, any other value, or a `CelError`."""
        variables: dict[str, Any] = {
            name: obj[name] if name in obj else CelError(f"no such key: {name}") for name in self.names
        }
        variables["self"] = obj
        return self.program.evaluate(variables, _COST_LIMIT)[0]

    def test(self, obj: JsonObject, failures: Failures | None = None) -> bool:
        """Whether an object is selected; `failures` count it."""
        decided = self.code.decide(obj)
        value = self.value(obj) if decided is None else decided
        if failures is not None:
            failures.tried += 1
            if type(value) is not bool:
                is_error = isinstance(value, CelError)
                failures.add(place_of(obj), str(value) if is_error else "the result is neither true nor false")
        return value is True


@dataclass(slots=True)
class Failures:
    """The objects of a kind on which the evaluation of a predicate failed, so that they are not selected.

    Attributes:
        tried: Objects with a result, or an error.
        is_tried_known: Whether `tried` is their number; else there may be more.
        failed: Objects with an error.
        first: Namespace and name of the first of them.
        reason: Its error.
        others: Objects with another error.
    """

    tried: int = 0
    is_tried_known: bool = True
    failed: int = 0
    first: str = ""
    reason: str = ""
    others: int = 0

    def add(self, place: str, reason: str) -> None:
        """Count an object on which the evaluation failed."""
        self.failed += 1
        if self.failed == 1:
            self.first, self.reason = place, reason
        self.others += reason != self.reason

    @property
    def are_all(self) -> bool:
        """Whether the evaluation failed for every object."""
        return self.is_tried_known and self.failed == self.tried > 0

    def note(self) -> str:
        """Return a sentence; empty if nothing failed."""
        if not self.failed:
            return ""
        among = f"{self.failed} of {objects(self.tried)}" if self.is_tried_known else objects(self.failed)
        others = f"; {self.others} for other reasons" if self.others else ""
        return f"evaluation failed for {among}: {visible(self.reason)}; first {visible(self.first)}{others}"


def notes_of(failures: dict[str, Failures]) -> Iterator[str]:
    """Yield a sentence for each reason why a predicate failed, from the failures of several kinds by their names."""
    by_reason: dict[str, dict[str, Failures]] = {}
    for name, failing in failures.items():
        if failing.failed:
            by_reason.setdefault(failing.reason, {})[name] = failing
    for reason, alike in by_reason.items():
        name, first = next(iter(alike.items()))
        if len(alike) == 1:
            yield f"{name}: {first.note()}"
            continue
        tried, failed, others = (
            sum(getattr(failing, field) for failing in alike.values()) for field in ("tried", "failed", "others")
        )
        is_known = all(failing.is_tried_known for failing in alike.values())
        joint = Failures(tried, is_known, failed, f"{name} {first.first}", reason, others)
        yield f"{len(alike)} kinds: {joint.note()}"


def place_of(obj: JsonObject) -> str:
    """Return namespace and name of an object."""
    return place_text(namespace_of(obj), name_of(obj))


def compile_where(text: str, fields: Iterable[str] = ()) -> Where:
    """Parse and check a predicate.

    Args:
        text: CEL; each byte that is not UTF-8 is read as one U+FFFD.
        fields: Further fields at the top of objects that it may name.
    Raises:
        SelectorError: The predicate is not valid; `found` is the compiler's text.
    """
    text = without_broken(text).encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    names = tuple(dict.fromkeys((*_ALWAYS, *(name for name in fields if name.isidentifier()))))
    environment = kubernetes_environment(dict.fromkeys(names, DYN))
    try:
        checked = environment.check(text, _as_times)
        if checked.type not in (BOOL, DYN):
            raise SelectorError("--where", f"is of type {checked.type}", "a predicate, which is true or false")
        program = environment.program(checked)
        return Where(text, program, names, WhereCode(environment, checked, names, _COST_LIMIT))
    except CompileError as error:
        raise SelectorError("--where", f"does not compile:\n{error}") from None


_TIMES: Final = ("timestamp", "duration")
_COMPARISONS: Final = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")


def _as_times(parsed: ParsedExpression) -> None:
    """Convert fields that are compared with a timestamp or a duration, or subtracted from a timestamp, in the tree."""
    numbers = itertools.count(max(part.id for part in descendants(parsed.root)) + 1)
    for part in descendants(parsed.root):
        if not isinstance(part, Call) or len(part.args) != 2 or part.function not in (*_COMPARISONS, "_-_"):
            continue
        for field, other in (part.args, part.args[::-1]):
            conversion = other.function if isinstance(other, Call) and other.function in _TIMES else ""
            if conversion and _is_field(field) and (part.function != "_-_" or conversion == "timestamp"):
                number = next(numbers)
                parsed.offsets[number] = parsed.offsets[field.id]
                converted = Call(number, conversion, None, (field,))
                part.args = tuple(converted if arg is field else arg for arg in part.args)
                break


def _is_field(expr: Expr) -> bool:
    return isinstance(expr, Select) or (isinstance(expr, Call) and expr.function == "_[_]")


_PATH: Final = re.compile(r"(metadata|spec|status)(\.[A-Za-z_]\w*|\[\d+\])*\.[A-Za-z_]\w*")
_IN_SHELL: Final = re.compile(r"[^'\\]*")


def expression_of(requirement: FieldRequirement, schema: StructuralSchema | None = None) -> str:
    """Return the predicate that means the same as a field selector, of a list that an item has the value.

    Args:
        requirement: A field, and its value.
        schema: The schema of the objects; None if unknown.

    Returns:
        CEL; empty if the field is no path of CEL, does not exist, is below a list, or a list of objects.
    """
    field, value = requirement.label, requirement.value
    if not _PATH.fullmatch(field) or not _IN_SHELL.fullmatch(value):
        return ""
    is_list = False
    if "[" not in field:
        try:
            node = check_path(field.split("."), schema, "")
        except SelectorError:
            return ""
        is_list = node is not None and node.items is not None
        if node is not None and node.items is not None and node.items.properties:
            return ""
    is_text = not re.fullmatch(r"true|false|-?[\d.]+", value)
    if is_list:
        test = (
            f"{_literal(value)} in {field}" if is_text else f"{field}.exists(item, string(item) == {_literal(value)})"
        )
        return f"!has({field}) || !({test})" if requirement.negated else f"has({field}) && {test}"
    text = field if is_text else f"string({field})"
    if requirement.negated is (value == ""):
        return f"has({field}) && {text} {'!=' if requirement.negated else '=='} {_literal(value)}"
    return f"!has({field}) || {text} {'!=' if requirement.negated else '=='} {_literal(value)}"


def conjuncts(expr: Expr) -> list[Expr]:
    """Return the parts of an expression that ``&&`` joins at the top."""
    if isinstance(expr, Call) and expr.function == "_&&_":
        return [part for each in expr.args for part in conjuncts(each)]
    return [expr]


_BINARY: Final = {
    "_&&_": "&&", "_||_": "||", "_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=",
    "@in": "in", "_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%",
}  # fmt: skip


def unparse(expr: Expr) -> str:
    """Return an expression as text for messages; a macro is shown as the expression it iterates over."""
    match expr:
        case Literal():
            return _literal(expr.value)
        case Ident():
            return expr.name
        case Select():
            inner = f"{unparse(expr.operand)}.{expr.field}"
            return f"has({inner})" if expr.test_only else inner
        case ListLiteral():
            return f"[{', '.join(map(unparse, expr.elements))}]"
        case MapLiteral():
            return "{...}" if expr.entries else "{}"
        case StructLiteral():
            return f"{expr.type_name}{{...}}"
        case Comprehension():
            return f"{unparse(expr.range)}.(macro over {expr.variable})"
        case Call():
            return _call(expr)
        case _:
            return "..."


def _call(expr: Call) -> str:
    args = [unparse(arg) for arg in expr.args]
    if expr.function in _BINARY and len(args) == 2:
        own = expr.function
        return " ".join((_inner(expr.args[0], own), _BINARY[own], _inner(expr.args[1], own)))
    if expr.function == "!_":
        return f"!{_inner(expr.args[0])}"
    if expr.function == "-_":
        return f"-{args[0]}"
    if expr.function == "_[_]":
        return f"{args[0]}[{args[1]}]"
    if expr.function == "_?._":
        return f"{args[0]}.?{args[1].strip(chr(34))}"
    if expr.function == "_?_:_":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    target = f"{unparse(expr.target)}." if expr.target is not None else ""
    return f"{target}{expr.function}({', '.join(args)})"


def _inner(expr: Expr, around: str = "") -> str:
    """Return an operand, in brackets if it is ``&&`` inside of ``||`` or the reverse."""
    text = unparse(expr)
    logic = isinstance(expr, Call) and expr.function in ("_&&_", "_||_") and expr.function != around
    return f"({text})" if logic else text


def _literal(value: Any) -> str:
    if value is None or type(value) is bool:
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)


def check_names(where: Where, schema: StructuralSchema | None) -> None:
    """Refuse a predicate that names a field which no object of a schema can have.

    Args:
        schema: The schema of the version at which objects are read; None if unknown.
    Raises:
        SelectorError: There is no such field; the message names the nearest ones.
    """
    if schema is None:
        return
    parts = list(descendants(where.root))
    bound = {
        name
        for part in parts
        if isinstance(part, Comprehension)
        for name in (part.variable, part.variable2, part.accumulator)
    }
    for part in parts:
        steps = _chain(part)
        if steps and not bound.intersection(steps[:2]):
            check_path(steps[1:], schema, "--where")


def _chain(expr: Expr) -> list[str]:
    """Return the steps of a chain of fields from the top of the object; empty if it is not one."""
    if isinstance(expr, Ident):
        return ["self"] if expr.name == "self" else ["self", expr.name]
    if isinstance(expr, Select):
        before = _chain(expr.operand)
        return [*before, expr.field] if before else []
    return []


def check_path(steps: Sequence[str | None], schema: StructuralSchema | None, option: str) -> StructuralSchema | None:
    """Refuse a path to a field that no object of a schema can have.

    Args:
        steps: Names of fields, and None for the items of a list or the values of a map.
        schema: The schema; None if unknown.
        option: The option that has the path.

    Returns:
        The schema of the field; None if anything may be there.

    Raises:
        SelectorError: There is no such field; the message names the nearest ones.
    """
    node = schema
    for position, step in enumerate(steps):
        if node is None or node.preserve_unknown_fields or node.embedded_resource or node.int_or_string:
            return None  # anything may be here
        below = node.additional_properties if node.additional_properties is not True else None
        place = "".join("[*]" if name is None else f".{name}" for name in steps[:position]).removeprefix(".")
        if step is None:
            node = node.items or below or None
        elif step in node.properties:
            node = node.properties[step]
        elif node.properties and not node.additional_properties:
            found, advice = no_field(place, step, node.properties)
            raise SelectorError(option, found, "", advice)
        elif node.items is not None:
            advice = f"use {place}.exists(item, ...)" if option == "--where" else f"did you mean {place}[*].{step}?"
            raise SelectorError(option, f"{place} is a list", "", advice)
        else:
            node = below or None
    return node
