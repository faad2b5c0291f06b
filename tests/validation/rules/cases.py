"""Definitions and objects at the corners of what rules see; `record` asks the real libraries about them."""

from __future__ import annotations

from typing import Any

from tests.fuzz.cel.batches import Batch, definition, foo

__all__ = ["CASES"]

INT: dict[str, Any] = {"type": "integer"}
S: dict[str, Any] = {"type": "string"}


def L(items: Any, **more: Any) -> dict[str, Any]:  # noqa: N802 - schemas are written densely below
    return {
        "type": "array",
        "items": items,
        **{f"x-kubernetes-{key.replace('_', '-')}": each for key, each in more.items()},
    }


def obj(properties: Any, rules: Any = (), **more: Any) -> dict[str, Any]:
    given = [each if isinstance(each, dict) else {"rule": each} for each in rules]
    return {"type": "object", "properties": properties, "x-kubernetes-validations": given, **more}


def show(*expressions: str) -> list[dict[str, str]]:
    """Return rules that report the values of expressions."""
    return [{"rule": "false", "messageExpression": f"'%s'.format([{each}])"} for each in expressions]


CASES: list[Batch] = []


def case(schema: Any, *specs: Any, root: bool = False, update: bool = False) -> None:
    """Add a case: the schema of `spec` or of the root, and objects, or pairs of old and new."""
    name = f"case{len(CASES) + 1}"
    batch = Batch(name, definition(name, schema, is_root=root), [], is_update=update)
    for index, spec in enumerate(specs):
        given = spec if update else [spec]
        batch.objects.append([foo(name, each, index, is_root=root) for each in given])
    CASES.append(batch)


P = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
case(
    obj(
        {"p": {**P, "properties": {"a": INT}}},
        ["dyn(self.p).all(k, k == 'a')", "dyn(self.p).size() == 1", "dyn(self.p).exists(k, k == 'zz')"],
    ),
    {"p": {"a": 1}},
    {"p": {"a": 1, "zz": 2}},
    {"p": {"zz": 2}},
)
case(
    obj({"p": P}, ["dyn(self.p).all(k, k == 'a')", "dyn(self.p) == dyn({})", "self.p == self.p"]),
    {"p": {}},
    {"p": {"a": 1}},
)
case(
    obj(
        {"l": L(INT)},
        [
            "self.l[dyn(1.0)] == 2",
            "self.l[dyn(1u)] == 2",
            "self.l[dyn('a')] == 2",
            "self.l[5] == 1",
            "self.l[-1] == 1",
            "dyn(self.l)[1.0] == 2",
            "dyn(self.l)[1.5] == 2",
        ],
    ),
    {"l": [1, 2]},
)
case(
    obj(
        {"s": L(S, list_type="set"), "t": L(S, list_type="set"), "l": L(S)},
        [
            "self.s == self.t",
            "self.s == self.l",
            "self.l == self.s",
            "['b','a'] == self.s",
            "self.s == ['b','a']",
            "(self.s + self.t).size() == 3",
            "(self.s + self.t) == ['c','b','a']",
            "self.s + self.t == self.t + self.s",
            "self.l + self.s == self.s + self.l",
            "self.s + ['a','a','z'] == ['z','b','a']",
            *show(
                "self.s + self.t",
                "self.s + self.l",
                "self.l + self.s",
                "(self.s+['q'])+['a','w']",
                "self.s + []",
                "[] + self.s",
            ),
        ],
    ),
    {"s": ["a", "b"], "t": ["b", "c"], "l": ["a", "a"]},
    {"s": ["a", "b"], "t": ["b", "a"], "l": ["b", "a"]},
    {"s": ["a", "a"], "t": ["a", "b"], "l": ["a", "a"]},
)
IT = obj({"k": S, "v": INT, "my-key": S})
case(
    obj(
        {
            "m": L(IT, list_type="map", list_map_keys=["k"]),
            "n": L(IT, list_type="map", list_map_keys=["k"]),
            "d": L(IT, list_type="map", list_map_keys=["my-key"]),
            "e": L(IT, list_type="map", list_map_keys=["k", "v"]),
        },
        [
            "dyn(self.m) == dyn(self.n)",
            "dyn(self.d) == dyn(self.d)",
            "dyn(self.e) == dyn(self.e)",
            "dyn(self.n) == dyn(self.m)",
            *show(
                "(dyn(self.m) + dyn(self.n)).map(x, x.v)",
                "(dyn(self.n) + dyn(self.m)).map(x, x.v)",
                "(dyn(self.d) + dyn(self.d)).map(x, x.v)",
                "(dyn(self.e)+dyn(self.e)).map(x,x.v)",
                "(dyn(self.m) + dyn(self.n)) == (dyn(self.n) + dyn(self.m))",
                "(dyn(self.m)+dyn(self.n))+dyn(self.m) == dyn(self.m) + dyn(self.n)",
            ),
        ],
    ),
    {
        "m": [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
        "n": [{"k": "b", "v": 2}, {"k": "a", "v": 1}],
        "d": [{"my-key": "x", "v": 1}, {"my-key": "y", "v": 2}],
        "e": [{"k": "a", "v": 1}, {"k": "a", "v": 2}, {"k": "c"}],
    },
    {
        "m": [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
        "n": [{"k": "b", "v": 5}, {"k": "c", "v": 1}],
        "d": [{"v": 1}],
        "e": [],
    },
    {"m": [{"v": 1}, {"v": 2}], "n": [{"v": 2}, {"v": 3}], "d": [], "e": [{"v": 1}]},
)
case(
    obj(
        {
            "a": obj({"u": {"x-kubernetes-preserve-unknown-fields": True}, "x": INT}),
            "b": obj({"u": {"x-kubernetes-preserve-unknown-fields": True}, "x": INT}),
        },
        ["dyn(self.a) == dyn(self.b)", "self.a == self.a"],
    ),
    *[
        {"a": {"u": x, "x": 1}, "b": {"u": y, "x": 1}}
        for x, y in [
            (1, 1),
            (1, 1.5),
            ([1], [1]),
            ({"q": [1, 2]}, {"q": [1, 2]}),
            ({"q": 1}, {"q": 2}),
            ("a", "a"),
            (1, None),
        ]
    ],
    {"a": {"x": 1}, "b": {"x": 1, "u": 2}},
)
case(
    obj(
        {"e": {**P, "x-kubernetes-embedded-resource": True, "properties": {"spec": P}}},
        [
            "self.e.kind == 'Pod'",
            "self.e.metadata.name == 'x'",
            "has(self.e.metadata.generateName)",
            "self.e.apiVersion == 'v1'",
            "has(self.e.spec)",
            "self.e == self.e",
        ],
    ),
    {"e": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "y", "labels": {"a": "b"}}, "spec": {"q": 1}}},
)
case(
    obj(
        {
            "e": {
                **P,
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-validations": [
                    {"rule": "self.kind == 'X'"},
                    {"rule": "self.metadata.name == 'z'", "fieldPath": ".metadata.name"},
                ],
            }
        }
    ),
    {"e": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "y"}}},
)
case(
    obj(
        {
            "1st": obj({"a": INT}, ["self.a > 5"]),
            "é": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}]},
            "": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}]},
        }
    ),
    {"1st": {"a": 1}, "é": 2, "": 3},
)
for base in (INT, {"type": "number"}, S, {"type": "boolean"}, {"x-kubernetes-int-or-string": True}):
    case(
        obj(
            {
                "m": {"type": "object", "additionalProperties": {**base, "nullable": True}},
                "l": L({**base, "nullable": True}),
                "o": {**base, "nullable": True},
            },
            [
                "self.m.all(k, self.m[k] == self.m[k])",
                "self.l.all(x, x == x)",
                "self.l[0] == self.m.a",
                "has(self.o)",
                "self.?o.hasValue()",
                "self.m.a == null || true",
                *show("self.m", "self.l", "self.l[0]", "self.?o"),
            ],
        ),
        {"m": {"a": None}, "l": [None], "o": None},
        {
            "m": {},
            "l": [],
        },
    )
case(
    obj(
        {"i": INT, "n": {"type": "number"}},
        [
            "self.i == 1",
            "self.n == 1.0",
            "self.n < 2",
            "self.i < 1.5",
            "self.i == self.n",
            *show("self.n", "self.i", "self.n * 3.0", "string(self.n)", "type(self.n)", "type(self)", "type(self.i)"),
        ],
    ),
    {"i": 1, "n": 1},
    {"i": 1, "n": 1.5},
    {"i": 9007199254740993, "n": 1e21},
)
case(
    obj(
        {"a": INT},
        [
            {"rule": "self.a > 5", "reason": r, "message": "m", "fieldPath": ".a"}
            for r in ("FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "FieldValueInvalid")
        ]
        + [
            {"rule": "self.a > 5", "message": "  "},
            {"rule": "self.a > 5", "message": " x\n y "},
            {"rule": "self.a > 5", "message": "z", "messageExpression": "'   '"},
            {"rule": "self.a > 5", "message": "z", "messageExpression": "'a\\nb'"},
            {"rule": "self.a > 5", "messageExpression": "[1][self.a]==2?'a':'b'"},
            {"rule": " self.a > 5 && \n true ", "messageExpression": "'\\u00a0x\\u2003'"},
            {"rule": "self.a > 5", "messageExpression": "'x'.replace('x', '" + "y" * 5121 + "')"},
            {"rule": "self.a>5", "messageExpression": "oldSelf.a == 1 ? 'a' : 'b'"},
        ],
    ),
    {"a": 1},
)
case(
    {
        **INT,
        "x-kubernetes-validations": [
            {"rule": "self > 5", "reason": r, "message": "m"}
            for r in ("FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
        ],
    },
    1,
)
case(
    obj(
        {
            "s": {**S, "format": "byte"},
            "t": {**S, "format": "date-time"},
            "d": {**S, "format": "date"},
            "u": {**S, "format": "duration"},
        },
        [
            *show(
                "self.s",
                "self.t",
                "self.d",
                "self.u",
                "string(self.t)",
                "self.t.getHours('Europe/Berlin')",
                "self.d.getFullYear()",
            ),
            "self.s == b'hi'",
            "self.t < self.t",
            "self.u > duration('1s')",
            "size(self.s) == 2",
        ],
    ),
    {"s": "aGk=", "t": "2024-05-01T10:00:00.5+01:00", "d": "2024-05-01", "u": "2 days"},
    {"s": "/+8=", "t": "2024-05-01t10:00:00z", "d": "0000-01-01", "u": "1w"},
    {"s": "", "t": "2024-05-01T10:00:00+25:99", "d": "9999-12-31", "u": "1h"},
    {"s": "YQ==", "t": "2024-05-01T10:00:00", "d": "2024-02-29", "u": "5 µs"},
)
# old self
case(
    obj(
        {
            "l": L(obj({"k": S, "v": INT}, ["self.v >= oldSelf.v"]), list_type="map", list_map_keys=["k"]),
            "m": {
                "type": "object",
                "additionalProperties": {
                    **INT,
                    "x-kubernetes-validations": [
                        {"rule": "self >= oldSelf"},
                        {"rule": "oldSelf.orValue(3) > self", "optionalOldSelf": True},
                        {"rule": "self > 100"},
                    ],
                },
            },
            "a": L(
                {
                    **INT,
                    "x-kubernetes-validations": [
                        {"rule": "self >= oldSelf"},
                        {"rule": "self > 3"},
                        {
                            "rule": "oldSelf.hasValue()",
                            "optionalOldSelf": True,
                            "messageExpression": "oldSelf.hasValue() ? 'a' : 'b'",
                        },
                    ],
                }
            ),
        },
        [
            "self == oldSelf",
            {
                "rule": "self.a == oldSelf.value().a",
                "optionalOldSelf": True,
                "messageExpression": "string(oldSelf.a.size())",
            },
        ],
    ),
    (
        {"l": [{"k": "a", "v": 1}, {"k": "b", "v": 5}], "m": {"x": 1, "y": 5}, "a": [1, 2]},
        {"l": [{"k": "b", "v": 4}, {"k": "a", "v": 1}, {"k": "c", "v": 0}], "m": {"y": 4, "z": 1}, "a": [2, 1]},
    ),
    ({"m": {"x": 1}, "a": [1, 2]}, {"m": {"x": 1}, "a": [1, 2]}),
    (
        {"a": None, "l": [{"k": "a", "v": 2}, {"k": "a", "v": 1}]},
        {"a": [4], "l": [{"k": "a", "v": 1}, {"k": "a", "v": 2}]},
    ),
    update=True,
)
case(
    obj(
        {
            "o": {
                **obj({"a": INT, "b": INT}, ["self.a > 5"]),
                "allOf": [
                    {
                        "x-kubernetes-validations": [{"rule": "self.b > 5"}, {"rule": "self.nope"}],
                        "properties": {
                            "a": {"x-kubernetes-validations": [{"rule": "self > 7"}]},
                            "zz": {"x-kubernetes-validations": [{"rule": "false"}]},
                        },
                    }
                ],
            },
            "s": INT,
        },
        [],
    ),
    ({"o": {"a": 1, "b": 1}, "s": 1}, {"o": {"a": 1, "b": 1}, "s": 1}),
    ({"o": {"a": 1, "b": 1}, "s": 1}, {"o": {"a": 1, "b": 1}, "s": 2}),
    ({"o": {"a": 1, "b": 1}}, {"o": {"a": 1, "b": 2}}),
    update=True,
)
case(
    obj({"a": INT, "u": P}, ["self.a > 5"]),
    ({"a": 1}, {"a": 1}),
    ({"a": 1, "u": {"z": 1}}, {"a": 1, "u": {"z": 1}}),
    ({"a": 1, "u": {}}, {"a": 1, "u": {}}),
    update=True,
)
case(
    {
        "type": "object",
        "x-kubernetes-validations": [
            {"rule": "self.spec.a > 5"},
            {"rule": "self.kind == 'X'"},
            {"rule": "false", "fieldPath": ".spec.a"},
            {"rule": "self.metadata.name == 'x'", "fieldPath": ".metadata.name"},
        ],
        "properties": {
            "apiVersion": {**S, "x-kubernetes-validations": [{"rule": "self == 'q'"}]},
            "metadata": {
                "type": "object",
                "properties": {"name": {**S, "x-kubernetes-validations": [{"rule": "self.size() > 20"}]}},
                "x-kubernetes-validations": [{"rule": "has(self.name) && self.name == 'u'"}],
            },
            "spec": obj({"a": INT}),
        },
    },
    ({"spec": {"a": 1}}, {"spec": {"a": 1}}),
    root=True,
    update=True,
)
case(
    obj(
        {
            "x": {
                "type": "array",
                "x-kubernetes-validations": [{"rule": "true"}],
                "items": {"x-kubernetes-preserve-unknown-fields": True},
            },
            "y": L(obj({"a": INT}, ["self.a > 1"])),
        },
        ["has(self.x)"],
    ),
    {"x": [1], "y": [{"a": 0}, None, {}]},
    {"y": []},
)
case(
    obj(
        {"l": L(S, list_type="set")},
        [
            "self.l.all(x, x in self.l)",
            "'a' in self.l",
            "!('z' in self.l)",
            "sets.contains(self.l,['a'])",
            "self.l.isSorted()",
            "self.l.indexOf('b') == 1",
            *show(
                "self.l.join('-')",
                "self.l.distinct()",
                "self.l.reverse()",
                "self.l.slice(0,1)",
                "self.l.sort()",
                "self.l.first()",
                "self.l.last().value()",
                "self.l.map(x, x + 'q')",
                "self.l.filter(x, x > 'a')",
                "self.l.transformList(i, v, string(i) + v)",
                "self.l.max()",
                "self.l.includes('a')",
                "[self.l].flatten()",
                "self.l.sortBy(x, -x.size())",
            ),
        ],
    ),
    {"l": ["b", "a"]},
    {"l": []},
)
case(
    obj(
        {
            "o": obj({"a-b": INT, "namespace": S, "__x": INT, "a__dash__b": INT}),
            "m": {"type": "object", "additionalProperties": INT},
        },
        [
            "self.o.a__dash__b == 1",
            "self.o.namespace == 'n'",
            "self.o.__namespace__ == 'n'",
            "has(self.o.namespace)",
            "self.o.a__underscores__dash__underscores__b == 1",
            "self.o == self.o",
            *show("self.o", "self.m", "dyn(self.o).map(k, k)", "self.m.map(k, k)"),
        ],
    ),
    {"o": {"a-b": 1}, "m": {"a-b": 1}},
    {"o": {"namespace": "n"}, "m": {}},
    {"o": {"a__dash__b": 1}, "m": {"__a__": 2}},
    {"o": {"__x": 1}, "m": {}},
)

WRONG = {"s": [1, "a", None], "l": ["x", 1.5, None], "o": [], "m": {"a": "x", "b": None}, "n": "1"}
case(
    obj(
        {
            "s": L(S, list_type="set"),
            "l": L(INT),
            "o": obj({"a": INT}),
            "m": {"type": "object", "additionalProperties": INT},
            "n": INT,
        },
        [
            "self.s == self.s",
            "self.s != oldSelf.s",
            "'a' in self.s",
            "'b' in self.s",
            "self.s + ['q'] == self.s",
            "self.l == self.l",
            "self.l.all(x, x > 0)",
            "self.l.exists(x, x == 1)",
            "1 in self.l",
            "self.l[0] == 1",
            "self.o.a == 1",
            "has(self.o.a)",
            "has(self.o)",
            "self.o == self.o",
            "self.m.all(k, self.m[k] > 0)",
            "self.m == self.m",
            "has(self.m.a)",
            "'b' in self.m",
            "self.n > 0",
            "has(self.n)",
            "self.?o.?a.hasValue()",
            "self.?n.orValue(3) == 3",
            "self.l.size() == 3",
            "type(self.n) == int",
            "[1] + self.l == [1] + self.l",
            "[1] + self.l != [1] + self.l",
            "2 in [1] + self.l",
            "1 in [1] + self.l",
            "([1] + self.l)[0] == 1",
            "([1] + self.l)[1] == 1",
            "([1] + self.l + [2]).size() == 5",
            "[1] + self.l == [2] + self.l",
            "[1][self.l[0]] == 1",
            "self.l[self.l[1]] == 1",
            "[1][?self.l[0]].hasValue()",
            "self.l.map(x, 1).size() == 3",
            "self.l.filter(x, x == 1 || true).size() == 3",
            "self.s.map(x, x).size() == 3",
        ],
    ),
    (WRONG, WRONG),
    update=True,
)

# Null in a nullable field, and what an object has that its schema does not know: read as a whole.
WHOLE = [
    "'%s'.format([dyn(self)]) == ''",
    "'%s'.format([{'a': [dyn(self)]}]) == ''",
    "true || '%s'.format([dyn(self)]) == ''",
    "dyn(self).all(k, v, v == 'x')",
    "dyn(self).exists_one(k, v, v == 'x')",
    "dyn(self).transformList(k, v, v).size() == 1",
    "dyn(self).transformMap(k, v, v).size() == 1",
    "dyn(self).transformMapEntry(k, v, {k: v}).size() == 1",
    "dyn(self).all(k, dyn(self)[k] == 'x')",
    "dyn(self) == dyn(self)",
]
case(obj({"n": {**S, "nullable": True}}, WHOLE), {"n": None}, {"n": "x"}, {})
case(obj({"n": S}, WHOLE, **{"x-kubernetes-preserve-unknown-fields": True}), {"z": 1}, {"z": None}, {"n": "x"})

# Keys of a list that are no scalars: the server panics over them, where they are not too many to be one text.
for names in (["k"], ["k", "j"], ["k", "j", "i", "g"]):
    item = {"type": "object", "properties": {**dict.fromkeys(names, INT), "k": S, "v": INT}}
    case(
        obj(
            {"l": L(item, maxItems=5, list_type="map", list_map_keys=names)},
            [
                "self.l == oldSelf.l",
                "true || self.l == self.l",
                "(self.l + oldSelf.l).size() == 1",
                "self.l in [oldSelf.l]",
            ],
        ),
        ({"l": [{"k": {}}]}, {"l": [{"k": {}}]}),
        ({"l": [{"k": []}, {"k": "a"}]}, {"l": [{"k": []}, {"k": "a"}]}),
        ({"l": [{"k": 5}]}, {"l": [{"k": 5}]}),
        update=True,
    )
case(obj({}, ["'%s'.format([[{null: duration('1h')}]]) == ''"]), {})
# Bytes as keys of Go maps: the evaluation panics, also where logic would absorb an error.
BYTES = [
    "{bytes(self.s): 1}.size() == 1",
    "{b'a': self.i}.size() == 1 || true",
    "{?bytes(self.s): optional.none()}.size() == 0",
    "{?bytes(self.s): optional.of(1)}.size() == 1",
    "{bytes(self.s): 1/0}.size() == 1",
    "{'a': self.i}.transformMapEntry(k, v, {bytes(k): v}).size() == 1",
    "dyn(bytes(self.s)) in {1: 2}",
    "dyn(bytes(self.s)) in {'a': self.i}",
    "dyn(bytes(self.s)) in {'a': 1}.transformMap(k, v, v) || true",
    "!(dyn(bytes(self.s)) in {})",
    "!(dyn(bytes(self.s)) in self.m)",
    "dyn(bytes(self.s)) in ['a', 'b']",
    "dyn(bytes(self.s)) in [1] || true",
    "!(dyn(bytes(self.s)) in [self.s])",
    "!(dyn(bytes(self.s)) in [[1]])",
    "{'a': 2}[dyn(bytes(self.s))] == 1",
    "{optional.of(bytes(self.s)): self.i}.size() == 1",
]
KEYED = obj({"s": S, "i": INT, "m": {"type": "object", "additionalProperties": INT}}, BYTES)
case(KEYED, {"s": "a", "i": 1, "m": {"a": 1}}, {"s": "", "i": 2, "m": {}})
