"""The type checker: finds the type of every node, the declaration of every name and the overloads of every call.

It does not change the tree; its results are in tables by node number. Source: cel-go checker/checker.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.cel.cel_errors import Issue
from auditor.cel.cel_types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    UNTYPED,
    Bindings,
    Kind,
    Type,
    is_dyn,
    is_dyn_or_error,
    list_of,
    map_of,
    most_general,
    object_type,
    optional_of,
    type_param,
    unwrap_optional,
)
from auditor.cel.check.checked import CheckedExpression, Reference
from auditor.cel.messages import MESSAGE_OF, SCALARS
from auditor.cel.operations.equality import type_of
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
)
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.cel.declarations import Declarations
    from auditor.cel.operations.dispatch import Declaration


def check(environment: Declarations, parsed: ParsedExpression) -> tuple[CheckedExpression, list[Issue]]:
    """Return the checked expression and its issues; with issues, the types have no use."""
    checker = _Checker(environment, parsed)
    checker.check(parsed.root)
    types = {number: checker.bindings.substitute(kind, free_to_dyn=True) for number, kind in checker.types.items()}
    return CheckedExpression(parsed, types, checker.references, environment.libraries.functions), checker.issues


class _Checker:
    def __init__(self, environment: Declarations, parsed: ParsedExpression) -> None:
        self.environment = environment
        self.parsed = parsed
        self.types: dict[int, Type] = {}
        self.references: dict[int, Reference] = {}
        self.issues: list[Issue] = []
        self.bindings = Bindings()
        self.scopes: list[dict[str, Type]] = []
        self.free = 0

    # Helpers

    def report(self, node_id: int, text: str) -> None:
        self.issues.append(Issue(*self.parsed.location(node_id), text))

    def undeclared(self, node_id: int, name: str) -> None:
        self.report(node_id, f"undeclared reference to '{name}' (in container '')")

    def mismatch(self, node_id: int, expected: Type, found: Type) -> None:
        self.report(node_id, f"expected type '{expected}' but found '{found}'")

    def fresh(self) -> Type:
        self.free += 1
        return type_param(f"_var{self.free - 1}")

    def type(self, expr: Expr) -> Type:
        return self.types.get(expr.id, ERROR)

    def local(self, name: str) -> Type | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def set_type(self, expr: Expr, kind: Type) -> None:
        self.types[expr.id] = kind

    # Nodes

    def check(self, expr: Expr) -> None:
        match expr:
            case Literal():
                self.set_type(expr, type_of(expr.value))
            case Ident():
                self.check_ident(expr)
            case Select():
                self.check_select(expr)
            case Call():
                self.check_call(expr)
            case ListLiteral():
                self.check_list(expr)
            case MapLiteral():
                self.check_map(expr)
            case StructLiteral():
                self.check_struct(expr)
            case Comprehension():
                self.check_comprehension(expr)

    def check_ident(self, expr: Ident) -> None:
        name = expr.name if changes.LEADING_DOTS.holds else expr.name.removeprefix(".")
        kind = None if name.startswith(".") else self.local(name)
        if kind is not None:
            self.set_type(expr, kind)
            self.references[expr.id] = Reference(name)
        elif not self.resolve_global(expr, expr.name):
            self.set_type(expr, ERROR)
            self.undeclared(expr.id, expr.name)

    def resolve_global(self, expr: Expr, name: str) -> bool:
        """Set the declaration of a node to a name of the environment, if there is one."""
        plain = name.removeprefix(".")
        declaration = self.environment.find_name(plain)
        if declaration is None:
            return False
        self.set_type(expr, declaration.type)
        # A leading dot distinguishes the name from a variable of a comprehension.
        written = f".{plain}" if self.local(plain.partition(".")[0]) is not None else plain
        self.references[expr.id] = Reference(written, is_type=declaration.is_type, value=declaration.value)
        return True

    def check_select(self, expr: Select) -> None:
        name = _qualified(expr)
        if name is not None:
            root = name.partition(".")[0] if not name.startswith(".") else ""
            if (not root or self.local(root) is None) and self.resolve_global(expr, name):
                return
        kind = self.check_field(expr, expr.operand, expr.field, optional=False)
        self.set_type(expr, BOOL if expr.test_only else self.bindings.substitute(kind))

    def check_field(self, expr: Expr, operand: Expr, name: str, *, optional: bool) -> Type:
        self.check(operand)
        target, is_optional = unwrap_optional(self.bindings.substitute(self.type(operand)))
        result = ERROR
        if target.kind is Kind.MAP:
            result = target.parameters[1]
        elif target.kind is Kind.OBJECT:
            result = self.field_type(expr.id, target, name)
        elif target.kind is Kind.PARAM:
            self.bindings.assignable(DYN, target)
            result = DYN
        else:
            if not is_dyn_or_error(target):
                self.report(expr.id, f"type '{target}' does not support field selection")
            result = DYN
        return optional_of(result) if is_optional or optional else result

    def field_type(self, node_id: int, target: Type, name: str) -> Type:
        declared = self.environment.object_type(target.name)
        if declared is None:
            self.report(node_id, f"unexpected failed resolution of '{target.name}'")
            return ERROR
        field_type = declared.fields.get(name)
        if field_type is None:
            self.report(node_id, f"undefined field '{name}'")
            return ERROR
        return field_type

    # Calls

    def check_call(self, expr: Call) -> None:
        if expr.function == "_?._":
            operand, name = expr.args
            assert isinstance(name, Literal), "the parser makes it one"
            kind = self.check_field(expr, operand, name.value, optional=True)
            self.set_type(expr, self.bindings.substitute(kind))
            self.references[expr.id] = Reference("_?._", ("select_optional_field",))
            self.set_type(name, type_of(name.value))
            return
        for arg in expr.args:
            self.check(arg)
        if expr.target is None:
            name_of_function = expr.function.removeprefix(".")
            function = self.environment.function(name_of_function)
            if function is None:
                self.set_type(expr, ERROR)
                self.undeclared(expr.id, expr.function)
            else:
                self.resolve(expr, function, None)
            return
        prefix = _qualified(expr.target)
        if prefix is not None:
            function = self.environment.function(f"{prefix}.{expr.function}".removeprefix("."))
            if function is not None:
                self.resolve(expr, function, None)
                return
        self.check(expr.target)
        function = self.environment.function(expr.function)
        if function is None:
            self.set_type(expr, ERROR)
            self.undeclared(expr.id, expr.function)
        else:
            self.resolve(expr, function, expr.target)

    def resolve(self, expr: Call, function: Declaration, target: Expr | None) -> None:
        if function.name in ("_&&_", "_||_"):
            self.check_logic(expr, function.name)
            return
        args = [self.type(each) for each in (expr.args if target is None else (target, *expr.args))]
        fitting: list[str] = []
        result: Type | None = None
        for overload, is_member in function.overloads:
            if is_member is (target is None) or overload.id in self.environment.disabled_overloads:
                continue
            if overload.is_generic:
                rename = self.renaming((*overload.args, overload.result))
                if not self.bindings.assignable_all(args, [rename(each) for each in overload.args]):
                    continue
                mine = self.bindings.substitute(rename(overload.result))
            elif self.bindings.assignable_all(args, overload.args):
                mine = overload.result
            else:
                continue
            fitting.append(overload.id)
            if result is None:
                result = mine
            elif not is_dyn(result) and mine != result:
                result = DYN
        if result is None:
            shown = [str(self.bindings.substitute(each, free_to_dyn=True)) for each in args]
            receiver = f"{shown.pop(0)}." if target is not None else ""
            signature = f"{receiver}({', '.join(shown)})"
            self.report(expr.id, f"found no matching overload for '{function.name}' applied to '{signature}'")
            self.set_type(expr, ERROR)
            return
        self.set_type(expr, result)
        is_global = target is None and expr.target is not None
        self.references[expr.id] = Reference(function.name, tuple(fitting), is_global=is_global)

    def renaming(self, types: Iterable[Type]) -> Callable[[Type], Type]:
        """Return a function that renames the type parameters of an overload to unique names."""
        names: dict[str, Type] = {}
        for name in _parameters(types):
            if name not in names:
                names[name] = self.fresh()

        def rename(kind: Type) -> Type:
            if kind.kind is Kind.PARAM:
                return names[kind.name]
            if not kind.parameters:
                return kind
            return Type(kind.kind, kind.name, tuple(map(rename, kind.parameters)))

        return rename if names else lambda kind: kind

    def check_logic(self, expr: Call, name: str) -> None:
        sound = True
        for arg in expr.args:
            kind = self.type(arg)
            if not self.bindings.assignable(kind, BOOL):
                self.mismatch(arg.id, BOOL, kind)
                sound = False
        self.set_type(expr, BOOL if sound else ERROR)
        self.references[expr.id] = Reference(name, ("logical_and" if name == "_&&_" else "logical_or",))

    # Literals

    def join(self, previous: Type | None, current: Type) -> Type:
        if previous is None or previous is UNTYPED:
            return current
        if self.bindings.assignable(previous, current):
            return most_general(previous, current)
        return DYN

    def optional_item(self, expr: Expr, kind: Type) -> Type:
        inner, is_optional = unwrap_optional(kind)
        if not is_optional and not is_dyn(inner):
            self.mismatch(expr.id, optional_of(inner), inner)
        return inner

    def check_list(self, expr: ListLiteral) -> None:
        joined: Type | None = None
        for index, element in enumerate(expr.elements):
            self.check(element)
            kind = self.type(element)
            if index in expr.optional:
                kind = self.optional_item(element, kind)
            joined = self.join(joined, kind)
        self.set_type(expr, list_of(self.fresh() if joined is None or joined is UNTYPED else joined))

    def check_map(self, expr: MapLiteral) -> None:
        keys: Type | None = None
        values: Type | None = None
        for entry in expr.entries:
            self.check(entry.key)
            keys = self.join(keys, self.type(entry.key))
            self.check(entry.value)
            kind = self.type(entry.value)
            if entry.optional:
                kind = self.optional_item(entry.value, kind)
            values = self.join(values, kind)
        if keys is None or keys is UNTYPED or values is None:
            keys, values = self.fresh(), self.fresh()
        self.set_type(expr, map_of(keys, values))

    def check_struct(self, expr: StructLiteral) -> None:
        name = expr.type_name.removeprefix(".")
        declaration = self.environment.find_type(name)
        if declaration is None or not declaration.is_type:
            self.undeclared(expr.id, expr.type_name)
            self.set_type(expr, ERROR)
            return
        self.references[expr.id] = Reference(name)
        result = declaration.type.parameters[0]
        message = MESSAGE_OF.get(name, name)
        fields = self.environment.message(message)
        if message == name and fields is None and result.kind is not Kind.OBJECT:
            self.report(expr.id, f"'{result.name}' is not a message type")
            result = ERROR
            fields = {} if name in SCALARS else None
        self.set_type(expr, result)
        for part in expr.fields:
            self.check(part.value)
            expected = ERROR
            if fields is not None:
                expected = fields.get(part.name, ERROR)
                if part.name not in fields:
                    self.report(part.id, f"undefined field '{part.name}'")
            elif message != "map":
                expected = self.field_type(part.id, object_type(message), part.name)
            kind = self.type(part.value)
            if part.optional:
                kind = self.optional_item(part.value, kind)
            if not self.bindings.assignable(expected, kind):
                text = f"expected type of field '{part.name}' is '{expected}' but provided type is '{kind}'"
                self.report(part.id, text)

    # Comprehensions

    def check_comprehension(self, expr: Comprehension) -> None:
        self.check(expr.range)
        self.check(expr.init)
        range_type = self.bindings.substitute(self.type(expr.range))
        accumulated = self.type(expr.init)
        first, second = self.variables(expr, range_type)
        self.scopes.append({expr.accumulator: accumulated})
        inner = {expr.variable: first}
        if expr.variable2 is not None:
            inner[expr.variable2] = second
        self.scopes.append(inner)
        self.check(expr.condition)
        self.demand(expr.condition, BOOL)
        self.check(expr.step)
        self.demand(expr.step, accumulated)
        self.scopes.pop()
        self.check(expr.result)
        self.scopes.pop()
        self.set_type(expr, self.bindings.substitute(self.type(expr.result)))

    def variables(self, expr: Comprehension, range_type: Type) -> tuple[Type, Type]:
        two = expr.variable2 is not None
        if range_type.kind is Kind.LIST:
            item = range_type.parameters[0]
            return (INT, item) if two else (item, item)
        if range_type.kind is Kind.MAP:
            return range_type.parameters[0], range_type.parameters[1]
        if range_type.kind in (Kind.DYN, Kind.ERROR, Kind.PARAM):
            self.bindings.assignable(DYN, range_type)
            return DYN, DYN if changes.PAIRS_OF_DYN.holds else UNTYPED
        text = f"expression of type '{range_type}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self.report(expr.range.id, text)
        return ERROR, ERROR

    def demand(self, expr: Expr, expected: Type) -> None:
        if not self.bindings.assignable(expected, self.type(expr)):
            self.mismatch(expr.id, expected, self.type(expr))


def _qualified(expr: Expr) -> str | None:
    """Return a chain of selections from a name as a dotted name."""
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.test_only:
        prefix = _qualified(expr.operand)
        return None if prefix is None else f"{prefix}.{expr.field}"
    return None


def _parameters(types: Iterable[Type]) -> Iterable[str]:
    for kind in types:
        if kind.kind is Kind.PARAM:
            yield kind.name
        else:
            yield from _parameters(kind.parameters)
