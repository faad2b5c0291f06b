"""Draws typed expressions over one object type, and objects of that type.

Expressions are drawn by the kind that they shall have, from fields, literals, operators, functions and macros; most of
them compile. All comes from one `random.Random`, which hypothesis drives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

__all__ = ["SCHEMA", "Drawer"]

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
_ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": TEXT,
        "port": NUMBER,
        "kind": {"type": "string", "enum": ["Service", "Pod", ""]},
        "maybe": {"type": "string", "nullable": True},
        "tags": {"type": "array", "items": TEXT, "maxItems": 8},
        "on": {"type": "boolean"},
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["s", "n"],
    "properties": {
        "s": TEXT,
        "t": {"type": "string", "maxLength": 300},
        "ns": {"type": "string", "nullable": True},
        "n": NUMBER,
        "m": NUMBER,
        "x-y": NUMBER,
        "namespace": TEXT,
        "d": {"type": "number"},
        "b": {"type": "boolean"},
        "nb": {"type": "boolean", "nullable": True},
        "ios": {"x-kubernetes-int-or-string": True},
        "dur": {"type": "string", "format": "duration"},
        "time": {"type": "string", "format": "date-time"},
        "date": {"type": "string", "format": "date"},
        "bytes": {"type": "string", "format": "byte"},
        "texts": {"type": "array", "items": TEXT},
        "set": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "ints": {"type": "array", "items": NUMBER},
        "doubles": {"type": "array", "items": {"type": "number"}},
        "holes": {"type": "array", "items": {"type": "string", "nullable": True}},
        "either": {"type": "array", "items": {"x-kubernetes-int-or-string": True}},
        "times": {"type": "array", "items": {"type": "string", "format": "duration"}},
        "map": {"type": "object", "additionalProperties": TEXT},
        "counts": {"type": "object", "additionalProperties": NUMBER},
        "gaps": {"type": "object", "additionalProperties": {"type": "integer", "nullable": True}},
        "lists": {"type": "object", "additionalProperties": {"type": "array", "items": TEXT}},
        "items": {"type": "array", "items": _ITEM},
        "mapped": {
            "type": "array",
            "items": _ITEM,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "o": {
            "type": "object",
            "properties": {"p": {"type": "object", "properties": {"q": TEXT, "r": NUMBER}}, "q": TEXT},
        },
        "no": {"type": "object", "nullable": True, "properties": {"q": TEXT}},
    },
}
STRINGS = ["", "a", "b", "abc", "é", "日本", "a,b", "http", "Service", "Pod", "10.0.0.1", "10.0.0.0/8", "1.2.3", "500m"]
STRINGS += ["https://x/y?z=1", "1h", "90s", "2024-01-01T00:00:00Z", "5", "-3", "true", "x" * 70, "aGk=", "::1", "Aé😀b"]
INTS = [0, 1, 2, 3, -1, -7, 80, 443, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
DOUBLES: list[Any] = [0, 1, 2.5, -0.5, 1e20, 2**53 + 1, 3.0]
PATTERNS = ["^[a-z]+$", "a", "b$", "^$", "(?i)A", r"^\\d+$", "é", "^.{2,4}$"]
_TIMES = ["2024-01-01T00:00:00Z", "2024-02-29T12:30:00.5+01:00", "1969-12-31T23:59:59Z"]


class Drawer:
    """Draws from one source of chance."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.scopes: list[tuple[str, str]] = []
        self.names = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, values: Any) -> Any:
        return self.random.choice(values)

    # -- objects ------------------------------------------------------------------------------------------------------

    def object(self) -> dict[str, Any]:
        """Return an object of `SCHEMA` in which all is of its type."""
        return self.value(SCHEMA)

    def value(self, schema: dict[str, Any]) -> Any:
        if schema.get("nullable") and self.chance(0.3):
            return None
        if schema.get("x-kubernetes-int-or-string"):
            return self.one([*STRINGS[:6], *INTS[:6]])
        match schema["type"]:
            case "string":
                return self.text(schema)
            case "integer":
                return self.one(INTS)
            case "number":
                return self.one(DOUBLES)
            case "boolean":
                return self.chance(0.5)
            case "array":
                return self.items(schema)
        if "properties" not in schema:
            keys = [key for key in ("a", "b", "abc", "é", "") if self.chance(0.5)]
            return {key: self.value(schema["additionalProperties"]) for key in keys}
        return {
            key: self.value(child)
            for key, child in schema["properties"].items()
            if key in schema.get("required", ()) or self.chance(0.75)
        }

    def text(self, schema: dict[str, Any]) -> str:
        if "enum" in schema:
            return self.one(schema["enum"])
        match schema.get("format"):
            case "duration":
                return self.one(["1h", "90s", "0s", "-5m", "1h30m", "2 days"])
            case "date-time":
                return self.one(_TIMES)
            case "date":
                return self.one(["2024-01-01", "1970-01-01"])
            case "byte":
                return self.one(["", "aGk=", "AAEC"])
        return self.one(STRINGS)

    def items(self, schema: dict[str, Any]) -> list[Any]:
        found = [self.value(schema["items"]) for _ in range(self.one([0, 1, 2, 3, 5]))]
        if schema.get("x-kubernetes-list-type") == "set":
            return list(dict.fromkeys(found))
        if schema.get("x-kubernetes-list-type") == "map":
            return list({each["name"]: each for each in found}.values())
        return found

    # -- expressions --------------------------------------------------------------------------------------------------

    def rule(self) -> str:
        """Return an expression that is a bool."""
        self.scopes, self.names = [], 0
        text = self.bool(self.one([2, 3, 4]))
        return f"!({text})" if self.chance(0.4) else text

    def of(self, kind: str, depth: int) -> str:
        """Return an expression of a kind: a method's name."""
        bound = [name for name, known in self.scopes if known == kind]
        if bound and self.chance(0.5):
            return self.one(bound)
        return getattr(self, kind)(depth - 1)

    def field(self, kind: str) -> str:
        """Return a field of `self`, or of an item that is bound, of a kind."""
        own = {
            "bool": ["b", "nb"],
            "int": ["n", "m", "x__dash__y", "o.p.r"],
            "str": ["s", "t", "ns", "__namespace__", "namespace", "o.q", "o.p.q", "no.q"],
            "double": ["d"],
            "dyn": ["ios"],
            "duration": ["dur"],
            "timestamp": ["time", "date"],
            "texts": ["texts", "set", "holes"],
            "ints": ["ints"],
            "objects": ["items", "mapped"],
            "map": ["map"],
            "counts": ["counts", "gaps"],
        }[kind]
        below = {"bool": ["on"], "int": ["port"], "str": ["name", "kind", "maybe"], "texts": ["tags"]}.get(kind, [])
        bound = [name for name, known in self.scopes if known == "item"]
        if below and bound and self.chance(0.7):
            return f"{self.one(bound)}.{self.one(below)}"
        if below and self.chance(0.1):
            return f"self.items[{self.one([0, 1])}].{self.one(below)}"
        return f"self.{self.one(own)}"

    def bool(self, depth: int) -> str:
        if depth <= 0:
            return self.one([self.has, self.has, lambda: self.one(["true", "false"]), lambda: self.field("bool")])()
        d = depth
        made = self.one([
            lambda: f"({self.of('bool', d)} && {self.of('bool', d)})",
            lambda: f"({self.of('bool', d)} || {self.of('bool', d)})",
            lambda: f"!{self.of('bool', d)}",
            lambda: f"({self.of('bool', d)} ? {self.of('bool', d)} : {self.of('bool', d)})",
            lambda: self.same(d),
            lambda: self.same(d),
            lambda: self.same_whole(d),
            lambda: self.order(d),
            lambda: self.order(d),
            self.has,
            lambda: self.guarded(d),
            lambda: self.guarded(d),
            lambda: self.text_test(d),
            lambda: self.text_test(d),
            lambda: self.member(d),
            lambda: self.macro(d),
            lambda: self.macro(d),
            lambda: self.macro(d),
            lambda: self.library(d),
        ])  # fmt: skip
        return made()

    def has(self) -> str:
        bound = [name for name, known in self.scopes if known == "item"]
        if bound and self.chance(0.6):
            return f"has({self.one(bound)}.{self.one(['port', 'kind', 'maybe', 'tags', 'on'])})"
        names = [
            "t",
            "ns",
            "m",
            "d",
            "b",
            "ios",
            "dur",
            "texts",
            "set",
            "map",
            "items",
            "o",
            "o.p",
            "o.p.q",
            "no",
            "no.q",
        ]
        return f"has(self.{self.one([*names, 'map.a', 'gaps.a', 'namespace', 'x__dash__y', 'holes', 'mapped'])})"

    def guarded(self, depth: int) -> str:
        """Return a test of a field that is looked for first."""
        kind = self.one(["str", "int", "texts", "objects"])
        field = self.field(kind)
        test = {
            "str": f"{field} == {self.of('str', depth)}",
            "int": f"{field} {self.one(['<', '>=', '=='])} {self.of('int', depth)}",
            "texts": f"size({field}) {self.one(['<', '>='])} {self.one([0, 1, 2, 3])}",
            "objects": f"{field}.all(z, z.name != {self.of('str', depth)})",
        }[kind]
        if "[" in field or "." not in field:
            return f"({test})"
        return f"(has({field}) && {test})" if self.chance(0.5) else f"(!has({field}) || {test})"

    def same(self, depth: int) -> str:
        kind = self.one(["int", "str", "bool", "double", "duration", "timestamp", "texts", "ints", "dyn", "str", "map"])
        word = self.one(["==", "!="])
        return f"({self.of(kind, depth)} {word} {self.of(kind, depth)})"

    def same_whole(self, depth: int) -> str:
        """Return a comparison of lists, maps and objects."""
        sources = [
            ["self.texts", "self.set", "['a', 'b']", "[]", self.of("texts", depth)],
            ["self.set", "self.set", "['b', 'a']", "self.texts"],
            ["self.items", "self.mapped", "self.items.filter(e, true)", "self.mapped.filter(e, e.name != 'a')"],
            ["self.items[0]", "self.items[1]", "self.mapped[0]"],
            ["self.o", "self.o"],
            ["self.o.p", "self.o.p"],
            ["self.either", "self.either"],
            ["self.holes", "self.texts", "['a']"],
            ["self.doubles", "[1.0, 2.5]", "[]"],
            ["self.times", "[duration('1h')]"],
            ["self.lists", "{'a': ['b']}"],
            ["self.counts", "self.gaps", "{'a': 1}"],
            ["self.ios", "self.either[0]", "5", "'a'"],
            ["self.?t", "self.?ns", "optional.none()", "optional.of('a')"],
        ]
        one = self.one(sources)
        return f"({self.one(one)} {self.one(['==', '!='])} {self.one(one)})"

    def order(self, depth: int) -> str:
        kind = self.one(["int", "str", "double", "duration", "timestamp", "int"])
        word = self.one(["<", "<=", ">", ">="])
        other = self.one(["int", "double", "dyn"]) if kind in ("int", "double") and self.chance(0.3) else kind
        return f"({self.of(kind, depth)} {word} {self.of(other, depth)})"

    def text_test(self, depth: int) -> str:
        text = self.of("str", depth)
        if self.chance(0.4):
            return f"{text}.matches('{self.one(PATTERNS)}')"
        return f"{text}.{self.one(['contains', 'startsWith', 'endsWith'])}({self.of('str', depth)})"

    def member(self, depth: int) -> str:
        return self.one([
            lambda: f"({self.of('str', depth)} in {self.of('texts', depth)})",
            lambda: f"({self.of('int', depth)} in {self.of('ints', depth)})",
            lambda: f"({self.of('str', depth)} in {self.of('map', depth)})",
            lambda: f"({self.of('dyn', depth)} in self.either)",
            lambda: f"({self.of('str', depth)} in ['a', 'Service', ''])",
            lambda: f"({self.of('int', depth)} in [1, 2, 80])",
            lambda: f"({self.of('str', depth)} in self.holes)",
            lambda: f"({self.of('dyn', depth)} in ['a', 'b'])",
            lambda: f"({self.of('int', depth)} in self.either)",
            lambda: f"('a' in self.{self.one(['lists', 'counts', 'gaps'])})",
        ])()  # fmt: skip

    def name(self) -> str:
        self.names += 1
        return f"y{self.names}"

    def inside(self, bound: list[tuple[str, str]], make: Any) -> str:
        self.scopes += bound
        text: str = make()
        del self.scopes[len(self.scopes) - len(bound) :]
        return text

    def macro(self, depth: int) -> str:
        source, kind = self.one([
            ("objects", "item"), ("objects", "item"), ("texts", "str"), ("ints", "int"), ("map", "str"), ("doubles", "double"),
        ])  # fmt: skip
        range_ = "self.doubles" if source == "doubles" else self.of(source, depth)
        name = self.name()
        macro = self.one(["all", "exists", "exists_one", "all", "exists"])
        if self.chance(0.2) and source != "doubles":
            index = self.name()
            first = (index, "str" if source == "map" else "int")
            body = self.inside([first, (name, kind)], lambda: self.bool(depth - 1))
            return f"{range_}.{macro}({index}, {name}, {body})"
        body = self.inside([(name, kind)], lambda: self.bool(depth - 1))
        return f"{range_}.{macro}({name}, {body})"

    def library(self, depth: int) -> str:
        text = self.of("str", depth)
        return self.one([
            lambda: f"isIP({text})",
            lambda: f"isURL({text})",
            lambda: f"isCIDR({text})",
            lambda: f"isQuantity({text})",
            lambda: f"isSemver({text})",
            lambda: f"(isIP({text}) && ip({text}).family() == 4)",
            lambda: f"(isQuantity({text}) && quantity({text}).isLessThan(quantity('1')))",
            lambda: f"cidr('10.0.0.0/8').containsIP({text})",
            lambda: f"url({text}).getScheme() == 'https'",
            lambda: f"format.dns1123Label().validate({text}).hasValue()",
            lambda: f"sets.contains({self.of('texts', depth)}, {self.of('texts', depth)})",
            lambda: f"sets.equivalent({self.of('texts', depth)}, {self.of('texts', depth)})",
            lambda: f"{self.of('texts', depth)}.isSorted()",
            lambda: f"(type(self.ios) == {self.one(['string', 'int'])})",
            lambda: f"({self.optional(depth)}).hasValue()",
            lambda: f"optional.ofNonZeroValue({self.of('str', depth)}).hasValue()",
            lambda: f"optional.ofNonZeroValue({self.of(self.one(['int', 'texts', 'double']), depth)}).hasValue()",
            lambda: f"lists.range(3).all(g, {self.of('ints', depth)}.exists(h, h > g))",
            lambda: f"format.named('dns1123Label').value().validate({text}) == optional.none()",
            lambda: f"({self.of('texts', depth)}.join(',') == {text})",
        ])()  # fmt: skip

    def optional(self, _: int) -> str:
        return self.one(
            ["self.?t", "self.?ns", "self.?o.p.q", "self.?o.?p", "self.map[?'a']", "self.texts[?1]", "self.?no.q"]
        )

    def dyn(self, _: int) -> str:
        return self.one(["self.ios", "self.ios", "self.either[0]"])

    def int(self, depth: int) -> str:
        if depth <= 0:
            return self.one([lambda: str(self.one(INTS[:9])), lambda: self.field("int")])()
        d = depth
        return self.one([
            lambda: self.field("int"),
            lambda: self.field("int"),
            lambda: f"({self.of('int', d)} {self.one(['+', '-', '*', '/', '%'])} {self.of('int', d)})",
            lambda: f"size({self.of(self.one(['str', 'texts', 'map', 'objects']), d)})",
            lambda: f"{self.of('texts', d)}.size()",
            lambda: f"({self.of('bool', d)} ? {self.of('int', d)} : {self.of('int', d)})",
            lambda: f"self.counts[{self.one(['a', 'b'])!r}]",
            lambda: f"self.gaps[{self.one(['a', 'b'])!r}]",
            lambda: f"self.ints[{self.of('int', 0)}]",
            lambda: f"{self.of('str', d)}.indexOf({self.of('str', d)})",
            lambda: f"{self.of('ints', d)}.{self.one(['sum', 'min', 'max'])}()",
            lambda: f"int({self.of('str', d)})",
            lambda: f"-{self.of('int', d)}",
            lambda: f"self.?m.orValue({self.of('int', d)})",
            lambda: f"optional.of({self.of('int', d)}).optMap(w, w + 1).orValue(0)",
            lambda: f"{self.of('objects', d)}.filter(w, w.name == {self.of('str', d)}).size()",
            lambda: f"{self.of('duration', d)}.getSeconds()",
            lambda: f"self.time.{self.one(['getFullYear', 'getHours', 'getDayOfWeek'])}()",
        ])()  # fmt: skip

    def str(self, depth: int) -> str:
        if depth <= 0:
            return self.one([lambda: repr(self.one(STRINGS)), lambda: self.field("str")])()
        d = depth
        return self.one([
            lambda: self.field("str"),
            lambda: self.field("str"),
            lambda: self.field("str"),
            lambda: repr(self.one(STRINGS)),
            lambda: f"({self.of('str', d)} + {self.of('str', d)})",
            lambda: f"({self.of('bool', d)} ? {self.of('str', d)} : {self.of('str', d)})",
            lambda: f"{self.of('str', d)}.{self.one(['lowerAscii', 'upperAscii', 'trim'])}()",
            lambda: f"{self.of('str', d)}.substring({self.one([0, 1, 2])})",
            lambda: f"{self.of('str', d)}.replace({self.one(STRINGS[:4])!r}, {self.of('str', d)})",
            lambda: f"{self.of('str', d)}.split(',')[{self.one([0, 1, -1])}]",
            lambda: f"string({self.of(self.one(['int', 'bool', 'double', 'duration']), d)})",
            lambda: f"self.map[{self.of('str', 0)}]",
            lambda: f"{self.of('texts', d)}[{self.one([0, 1, -1])}]",
            lambda: f"self.?t.orValue({self.of('str', d)})",
            lambda: f"self.?o.?p.?q.orValue({self.of('str', d)})",
            lambda: f"self.holes[{self.one([0, 1])}]",
            lambda: f"{self.of('str', d)}.find('{self.one(PATTERNS)}')",
        ])()  # fmt: skip

    def double(self, depth: int) -> str:
        if depth <= 0:
            return self.one(["self.d", "1.0", "2.5", "0.0"])
        return self.one([
            lambda: "self.d",
            lambda: "self.doubles[0]",
            lambda: f"({self.of('double', depth)} {self.one(['+', '-', '*', '/'])} {self.of('double', depth)})",
            lambda: f"double({self.of('int', depth)})",
            lambda: "self.doubles.sum()",
        ])()  # fmt: skip

    def duration(self, depth: int) -> str:
        if depth <= 0:
            return self.one(["self.dur", "duration('1h')", "duration('0s')", "self.times[0]"])
        return self.one([
            lambda: "self.dur",
            lambda: f"duration({self.of('str', depth)})",
            lambda: f"({self.of('duration', depth)} + {self.of('duration', depth)})",
            lambda: "(self.time - self.date)",
        ])()  # fmt: skip

    def timestamp(self, depth: int) -> str:
        if depth <= 0:
            return self.one(["self.time", "self.date", "timestamp('2024-01-01T00:00:00Z')"])
        return self.one([lambda: "self.time", lambda: f"(self.time + {self.of('duration', depth)})"])()

    def texts(self, depth: int) -> str:
        if depth <= 0:
            return self.one([lambda: self.field("texts"), lambda: "['a', 'b']", lambda: f"[{self.field('str')}]"])()
        d = depth
        name = self.name()
        return self.one([
            lambda: self.field("texts"),
            lambda: self.field("texts"),
            lambda: f"[{self.of('str', d)}, {self.of('str', d)}]",
            lambda: f"{self.of('str', d)}.split('{self.one([',', 'a', ''])}')",
            lambda: f"({self.of('texts', d)} + {self.of('texts', d)})",
            lambda: f"{self.of('objects', d)}.map({name}, {self.inside([(name, 'item')], lambda: self.str(d - 1))})",
            lambda: f"{self.of('texts', d)}.filter({name}, {self.inside([(name, 'str')], lambda: self.bool(d - 1))})",
            lambda: f"self.map.map({name}, {name})",
            lambda: "self.lists['a']",
            lambda: f"{self.of('texts', d)}.{self.one(['reverse', 'distinct', 'sort'])}()",
            lambda: f"{self.of('texts', d)}.slice(0, 1)",
        ])()  # fmt: skip

    def ints(self, depth: int) -> str:
        if depth <= 0:
            return self.one(["self.ints", "[1, 2]", "[self.n]", "[]"])
        name = self.name()
        return self.one([
            lambda: "self.ints",
            lambda: f"[{self.of('int', depth)}]",
            lambda: f"self.ints.map({name}, {self.inside([(name, 'int')], lambda: self.int(depth - 1))})",
            lambda: f"self.counts.map({name}, self.counts[{name}])",
        ])()  # fmt: skip

    def objects(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.7):
            return self.field("objects")
        name = self.name()
        return f"self.items.filter({name}, {self.inside([(name, 'item')], lambda: self.bool(depth - 1))})"

    def map(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.7):
            return "self.map"
        key, name = self.name(), self.name()
        body = self.inside([(key, "str"), (name, "str")], lambda: self.str(depth - 1))
        return f"self.map.transformMap({key}, {name}, {body})"
