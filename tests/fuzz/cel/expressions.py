"""Draws expressions that are typed, so that most of them compile: every function and operator of the environment by turns.

Nothing here knows what an expression means; what types fit is read from the declarations that the checker goes by.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from auditor.cel.cel_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Kind,
    Type,
    list_of,
    map_of,
    optional_of,
)
from auditor.cel.kubernetes import kubernetes_libraries

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from auditor.cel.function import Overload

__all__ = ["STRINGS", "Drawer"]

Variable = tuple[str, Type]

STRINGS = [
    *("", "a", "b", "abc", "A b", "é", "日本", "a,b,c", "5", "-7", "1.5", "true", "a-b", "x.y/z", " a ", "a\nb", "😀x"),
    *(
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "http://a.b:80/c?d=e&d=f",
        "10.0.0.1",
        "10.0.0.0/8",
        "::1",
        "1.2.3",
    ),
    *("100Mi", "2024-05-01T10:00:00Z", "1h30m", "aGk=", "test-name", "Z"),
]
INTS = [0, 1, 2, 3, 5, 10, -1, -7, 80, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
DOUBLES = ["0.0", "1.0", "1.5", "-2.5", "1e3", "1e21", "0.1", "9007199254740993.0", "1e-7", "3.0", "-0.0", "1e308"]
REGEXES = [
    "^[a-z]+$",
    "a",
    "b|c",
    "(a)(b)?",
    "^$",
    ".*",
    "[0-9]+",
    "é",
    r"\\d+",
    r"\\bx",
    "(?i)ABC",
    "a{2,3}",
    "(",
    "x*",
    "(?P<n>a)",
]
QUANTITIES = [
    "1",
    "100Mi",
    "1.5",
    "1e3",
    "-1Ki",
    "+.5",
    "5m",
    "1.5Gi",
    "0",
    "abc",
    "1E3",
    "9223372036854775807",
    "1n",
    "12Ei",
    "",
]
SEMVERS = [
    "1.2.3",
    "1.0.0-alpha.1",
    "v1.2",
    "1.2.3+b1",
    "01.1.0",
    "1.2",
    "1",
    "2.0.0",
    "1.0.0-rc",
    "x",
    "1.0.0-alpha.beta",
]
IPS = [
    "10.0.0.1",
    "::1",
    "fe80::1",
    "1.2.3.04",
    "::ffff:1.2.3.4",
    "2001:db8::1",
    "abc",
    "0.0.0.0",
    "224.0.0.1",
    "2001:DB8::1",
]
CIDRS = ["10.0.0.0/8", "10.0.0.1/8", "::/0", "2001:db8::/32", "10.0.0.0/33", "abc", "10.0.0.0/016", "192.168.0.0/24"]
URLS = [
    "http://a.b:80/c?d=e&d=f",
    "https://[::1]:8443/x%20y",
    "abc",
    "/a/b",
    "http://a b/",
    "ftp://u@h",
    "http://x/?a=%zz",
]
DURATIONS = ["1h", "1h30m", "-5s", "1.5ms", "0", "x", "1d", "2562047h47m16.854775807s", "100ns"]
TIMESTAMPS = [
    *("2024-05-01T10:00:00Z", "2024-02-29T23:59:59.123456789+05:30", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59Z", "2024-13-01T00:00:00Z", "x", "1969-12-31T23:59:59.999Z"),
]
ZONES = ["UTC", "America/New_York", "+05:30", "-08:00", "02:00", "Nowhere/X", "Europe/Berlin"]
FORMATS = [
    "dns1123Label",
    "dns1123Subdomain",
    "uuid",
    "byte",
    "date",
    "datetime",
    "uri",
    "labelValue",
    "qualifiedName",
    "nope",
]
CLAUSES = ["%s", "%d", "%f", "%e", "%b", "%x", "%X", "%o", "%.3f", "%.2e", "%%", "x", "%q"]

_TEXTS: dict[str, list[str]] = {
    "quantity": QUANTITIES, "isQuantity": QUANTITIES, "semver": SEMVERS, "isSemver": SEMVERS, "ip": IPS, "isIP": IPS,
    "ip.isCanonical": IPS, "cidr": CIDRS, "isCIDR": CIDRS, "url": URLS, "isURL": URLS, "duration": DURATIONS,
    "timestamp": TIMESTAMPS, "format.named": FORMATS, "containsIP": IPS, "containsCIDR": CIDRS,
    "int": ["1", "-7", "x", "9223372036854775808", "0x1", "1.5"], "uint": ["1", "-1", "18446744073709551615", "1u"],
    "double": ["1.5", "1e3", "x", "NaN", "Infinity", "0x1p4"], "bool": ["true", "false", "True", "1", "x"],
}  # fmt: skip
_SECOND_TEXTS = {"matches": REGEXES, "find": REGEXES, "findAll": REGEXES}
_BINARY = {"_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%", "_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=",
           "_>_": ">", "_>=_": ">=", "_&&_": "&&", "_||_": "||", "@in": "in"}  # fmt: skip
_HIDDEN = frozenset({"@not_strictly_false", "cel.@mapInsert", "@sortByAssociatedKeys", "_?._"})
_SIMPLE = [INT, STRING, DOUBLE, BOOL, UINT, BYTES, DURATION, TIMESTAMP]
_ORDERED = [INT, STRING, DOUBLE, BOOL, UINT, DURATION, TIMESTAMP]
MACROS = ["all", "exists", "exists_one", "all2", "exists2", "existsOne2", "map", "map3", "filter", "sortBy", "has", "transformList",
          "transformList4", "transformMap", "transformMapEntry", "optMap", "optFlatMap", "select", "literal?"]  # fmt: skip


class Drawer:
    """Draws expressions over some variables.

    Args:
        random: Everything comes from it.
        variables: Text and type of what can be read.
    """

    def __init__(self, random: Random, variables: list[Variable]) -> None:
        self.random = random
        self.variables = variables
        self.scope: list[Variable] = []
        functions = kubernetes_libraries().functions
        self.calls: list[tuple[str, Overload, bool]] = [
            (name, overload, member)
            for name, declaration in functions.items()
            if name not in _HIDDEN
            for overload, member in declaration.overloads
        ]
        self.turns: list[Any] = [*self.calls, *MACROS]

    def root(self, turn: int) -> tuple[str, Type]:
        """Return an expression around the function or macro whose turn it is, and its type."""
        chosen = self.turns[turn % len(self.turns)]
        if isinstance(chosen, str):
            return self.macro(chosen, 2)
        name, overload, member = chosen
        return self.call(name, overload, {}, 2, member=member)

    # -- by type ----------------------------------------------------------------------------------------------------

    def of(self, kind: Type, depth: int) -> str:
        """Return an expression of a type."""
        random = self.random
        fitting = [text for text, each in (*self.variables, *self.scope) if each == kind]
        if self.scope and random.random() < 0.5:
            fitting = [text for text, each in self.scope if each == kind] or fitting
        if fitting and random.random() < (0.55 if depth else 0.8):
            return random.choice(fitting)
        if depth > 0 and random.random() < 0.6:
            made = self.computed(kind, depth)
            if made is not None:
                return made
        return self.literal(kind, depth)

    def computed(self, kind: Type, depth: int) -> str | None:
        """Return a call or macro of a type, if there is one."""
        random = self.random
        if random.random() < 0.15:
            return f"({self.of(BOOL, depth - 1)} ? {self.of(kind, depth - 1)} : {self.of(kind, depth - 1)})"
        candidates = [(call, bound) for call in self.calls if (bound := fit(call[1].result, kind)) is not None]
        if not candidates:
            return None
        (name, overload, member), bound = random.choice(candidates)
        return self.call(name, overload, bound, depth - 1, member=member)[0]

    def literal(self, kind: Type, depth: int) -> str:
        """Return an expression of a type that ends the drawing."""
        random = self.random
        below = max(depth - 1, 0)
        match kind.kind:
            case Kind.INT:
                value = random.choice(INTS) if random.random() < 0.3 else random.randint(-3, 12)
                return str(value) if value >= 0 else f"({value})"
            case Kind.UINT:
                return f"{random.choice([0, 1, 2, 5, 2**64 - 1])}u"
            case Kind.DOUBLE:
                return random.choice(DOUBLES)
            case Kind.STRING:
                return quoted(random.choice(STRINGS))
            case Kind.BYTES:
                return f"b{quoted(random.choice(['', 'a', 'abc', 'é']))}"
            case Kind.BOOL:
                return random.choice(["true", "false"])
            case Kind.NULL:
                return "null"
            case Kind.DURATION:
                return f"duration({quoted(random.choice(DURATIONS[:5]))})"
            case Kind.TIMESTAMP:
                return f"timestamp({quoted(random.choice(TIMESTAMPS[:5]))})"
            case Kind.LIST:
                items = [self.of(kind.parameters[0], below) for _ in range(random.choice([0, 1, 2, 3, 3]))]
                return f"[{', '.join(items)}]"
            case Kind.MAP:
                count = random.choice([0, 1, 2, 2])
                entries = [
                    f"{self.of(kind.parameters[0], 0)}: {self.of(kind.parameters[1], below)}" for _ in range(count)
                ]
                return f"{{{', '.join(entries)}}}"
            case Kind.TYPE:
                return random.choice(["int", "string", "list", "map", "double", "type(self)", "null_type"])
            case Kind.DYN | Kind.PARAM | Kind.ANY:
                return f"dyn({self.of(random.choice(_SIMPLE), below)})"
            case Kind.OBJECT if kind.name.startswith("selfType"):
                return next((text for text, each in self.variables if each == kind), "self")
        if kind.is_optional:
            inner = self.of(kind.parameters[0], below)
            return random.choice([f"optional.of({inner})", "optional.none()", f"optional.ofNonZeroValue({inner})"])
        return self.opaque(kind)

    def opaque(self, kind: Type) -> str:
        """Return a value of a type of the libraries; what nothing makes (an authorizer) is any value to the compiler."""
        makers = [call for call in self.calls if call[1].result == kind and call[1].args[:1] in ((STRING,), ())]
        if not makers:
            return f"dyn({self.of(self.random.choice(_SIMPLE), 0)})"
        name = self.random.choice(makers)[0]
        if name.startswith("format."):
            return f"{name}()"
        return f"{name}({quoted(self.random.choice(_TEXTS[name][:5]))})"

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(
        self, name: str, overload: Overload, bound: dict[str, Type], depth: int, *, member: bool
    ) -> tuple[str, Type]:
        """Return a call of an overload, with some of its type parameters bound already."""
        bound = dict(bound)
        texts = []
        for position, kind in enumerate(overload.args):
            texts.append(self.argument(name, position, self.concrete(kind, bound), depth))
        return render(name, texts, member=member), self.concrete(overload.result, bound)

    def argument(self, name: str, position: int, kind: Type, depth: int) -> str:
        random = self.random
        if kind == STRING and random.random() < 0.75:
            if position == 0 and name in _TEXTS:
                return quoted(random.choice(_TEXTS[name]))
            if position == 1 and name in _SECOND_TEXTS:
                text = random.choice(_SECOND_TEXTS[name])
                return f"'{text}'"
            if position == 1 and name in _TEXTS:
                return quoted(random.choice(_TEXTS[name]))
            if position == 1 and name.startswith("get"):
                return quoted(random.choice(ZONES))
            if position == 0 and name == "format":
                return quoted(" ".join(random.choices(CLAUSES, k=random.randint(1, 3))))
        if name == "format" and position == 1:
            return f"[{', '.join(self.of(random.choice(_SIMPLE), depth) for _ in range(random.randint(1, 3)))}]"
        if name == "lists.range":
            return str(random.choice([0, 1, 5, -1, 100, 2_000_000]))
        if name in ("replace", "split", "findAll") and kind == INT:
            return random.choice(["0", "1", "2", "-1"])
        return self.of(kind, depth)

    def concrete(self, kind: Type, bound: dict[str, Type]) -> Type:
        """Return a type without parameters; those that are free are bound now."""
        if kind.kind is Kind.PARAM:
            if kind.name not in bound:
                bound[kind.name] = self.random.choice([INT, STRING, STRING, DOUBLE, BOOL])
            return bound[kind.name]
        if not kind.parameters:
            return kind
        return Type(kind.kind, kind.name, tuple([self.concrete(each, bound) for each in kind.parameters]))

    # -- macros -------------------------------------------------------------------------------------------------------

    def within(self, draw: Callable[[], str], *added: Variable) -> str:
        """Draw with more variables in scope."""
        self.scope.extend(added)
        try:
            return draw()
        finally:
            del self.scope[-len(added) :]

    def macro(self, name: str, depth: int) -> tuple[str, Type]:
        """Return a use of a macro."""
        random = self.random
        item = random.choice([INT, STRING, DOUBLE])
        over = self.of(list_of(item), depth - 1)
        if random.random() < 0.3:
            over = self.of(map_of(STRING, INT), depth - 1)
            item = STRING
        v, w = f"v{len(self.scope)}", f"w{len(self.scope)}"
        one: list[Variable] = [(v, item)]
        is_map = over.startswith(("{", "self.m"))
        two: list[Variable] = [(v, STRING if is_map else INT), (w, INT if is_map else item)]
        kind = random.choice([INT, STRING, BOOL])

        def inner(wanted: Type, added: list[Variable]) -> str:
            return self.within(lambda: self.of(wanted, depth - 1), *added)

        match name:
            case "all" | "exists" | "exists_one":
                return f"{over}.{name}({v}, {inner(BOOL, one)})", BOOL
            case "all2" | "exists2" | "existsOne2":
                return f"{over}.{name[:-1]}({v}, {w}, {inner(BOOL, two)})", BOOL
            case "map":
                return f"{over}.map({v}, {inner(kind, one)})", list_of(kind)
            case "map3":
                return f"{over}.map({v}, {inner(BOOL, one)}, {inner(kind, one)})", list_of(kind)
            case "filter":
                return f"{over}.filter({v}, {inner(BOOL, one)})", list_of(item)
            case "sortBy":
                items = self.of(list_of(item), depth - 1)
                return f"{items}.sortBy({v}, {inner(random.choice(_ORDERED), one)})", list_of(item)
            case "transformList":
                return f"{over}.transformList({v}, {w}, {inner(kind, two)})", list_of(kind)
            case "transformList4":
                return f"{over}.transformList({v}, {w}, {inner(BOOL, two)}, {inner(kind, two)})", list_of(kind)
            case "transformMap":
                return f"{over}.transformMap({v}, {w}, {inner(kind, two)})", map_of(two[0][1], kind)
            case "transformMapEntry":
                entry = f"{{{inner(two[0][1], two)}: {inner(kind, two)}}}"
                return f"{over}.transformMapEntry({v}, {w}, {entry})", map_of(two[0][1], kind)
            case "optMap":
                optional = self.of(optional_of(item), depth - 1)
                return f"{optional}.optMap({v}, {inner(kind, one)})", optional_of(kind)
            case "optFlatMap":
                optional = self.of(optional_of(item), depth - 1)
                return f"{optional}.optFlatMap({v}, {inner(optional_of(kind), one)})", optional_of(kind)
            case "literal?":
                optionals = [f"?{self.of(optional_of(item), depth - 1)}", self.of(item, depth - 1)]
                return f"[{', '.join(optionals)}]", list_of(item)
            case "has":
                fields = [text for text, _ in self.variables if "." in text and "[" not in text and "?" not in text]
                return f"has({random.choice(fields)})", BOOL
        text, kind = random.choice([each for each in self.variables if "." in each[0] and "[" not in each[0]])
        at = text.rindex(".")
        return f"{text[:at]}.?{text[at + 1 :].removeprefix('?')}", kind if kind.is_optional else optional_of(kind)


def quoted(text: str) -> str:
    """Return a text as a literal."""
    return json.dumps(text)


def fit(pattern: Type, kind: Type) -> dict[str, Type] | None:
    """Return what the parameters of a declared type must be for it to be a given type, or None if it cannot be."""
    if pattern.kind is Kind.PARAM:
        return {pattern.name: kind}
    if pattern.kind is not kind.kind or pattern.name != kind.name or len(pattern.parameters) != len(kind.parameters):
        return None
    bound: dict[str, Type] = {}
    for mine, yours in zip(pattern.parameters, kind.parameters, strict=True):
        inner = fit(mine, yours)
        if inner is None or any(bound.get(name, each) != each for name, each in inner.items()):
            return None
        bound |= inner
    return bound


def render(name: str, args: list[str], *, member: bool) -> str:
    """Return a call as it is written."""
    if name in _BINARY:
        return f"({args[0]} {_BINARY[name]} {args[1]})"
    match name:
        case "!_":
            return f"!({args[0]})"
        case "-_":
            return f"-({args[0]})"
        case "_[_]":
            return f"{args[0]}[{args[1]}]"
        case "_[?_]":
            return f"{args[0]}[?{args[1]}]"
        case "_?_:_":
            return f"({args[0]} ? {args[1]} : {args[2]})"
    if member:
        return f"{args[0]}.{name}({', '.join(args[1:])})"
    return f"{name}({', '.join(args)})"


SHOWN = frozenset({BOOL, INT, UINT, DOUBLE, STRING, BYTES, DURATION, TIMESTAMP, NULL, TYPE})


def is_shown(kind: Type) -> bool:
    """Return whether a value can be written into a message with ``%s``."""
    if kind.kind in (Kind.LIST, Kind.MAP):
        return all(map(is_shown, kind.parameters))
    return kind in SHOWN or kind == DYN
