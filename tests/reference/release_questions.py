"""Questions that servers of different releases answer differently, or nearly do: each record of the table of changes has some.

`tests.reference.draw` makes a file of vectors of them; the libraries of each release answer it.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["questions"]

Case = dict[str, Any]
GROUP = "releases.example.com"


def definition(plural: str, spec: dict[str, Any], **parts: Any) -> dict[str, Any]:
    kind = plural.capitalize().removesuffix("s")
    schema = {"type": "object", "properties": {"spec": spec}, **parts}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def rule(text: str) -> dict[str, Any]:
    return {"rule": text}


FIELDS: dict[str, dict[str, Any]] = {
    "least": {"type": "array", "minItems": 2, "items": {"type": "string"}},
    "one": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    "keys": {"type": "object", "minProperties": 2, "additionalProperties": {"type": "string"}},
    "most": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
    "any": {"anyOf": [{"minItems": 3}, {"maxItems": 0}], "type": "array", "items": {"type": "string"}},
    "code": {"type": "string", "format": "byte", "x-kubernetes-validations": [rule("size(self) == 3")]},
    "bytes": {"type": "string", "format": "byte"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64", "maximum": 100},
    "float": {"type": "number", "format": "float"},
    "double": {"type": "number", "format": "double"},
    "whole": {"type": "integer", "minimum": 1.5},
    "short": {"type": "string", "format": "k8s-short-name"},
    "long": {"type": "string", "format": "k8s-long-name"},
    "email": {"type": "string", "format": "email"},
    "text": {"type": "string", "maxLength": 1, "x-kubernetes-validations": [rule("self != 'a'")]},
    "number": {"type": "integer", "x-kubernetes-validations": [rule("self > 5")]},
    "choice": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "enum": [{"a": 1}]},
    "set": {
        "type": "array",
        "x-kubernetes-list-type": "set",
        "items": {"type": "string"},
        "x-kubernetes-validations": [rule("!('z' in self) || self == ['z', 'y']"), rule("(self + ['n']).size() < 4")],
    },
    "maps": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {
            "type": "object",
            "required": ["k"],
            "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
        },
        "x-kubernetes-validations": [rule("self + [{'k': 'a', 'v': 1}] != self"), rule("self == self")],
    },
    "amount": {
        "type": "string",
        "x-kubernetes-validations": [
            rule("!isQuantity(self) || quantity(self).add(quantity('1')).isGreaterThan(quantity(self))"),
            rule("isQuantity(self)"),
        ],
    },
    "url": {"type": "string", "x-kubernetes-validations": [rule("url(self).getHost() != 'bad'")]},
    "nulls": {
        "type": "object",
        "properties": {"a": {"type": "string", "nullable": True}, "a__dash__b": {"type": "string"}},
        "x-kubernetes-validations": [rule("self == self")],
    },
    "times": {
        "type": "array",
        "items": {"type": "string", "format": "date-time"},
        "x-kubernetes-validations": [
            rule("optional.of(self)[0].value() == timestamp('2024-01-01T00:00:00Z')"),
            rule("optional.of(self).optMap(l, l).value().size() > 1"),
        ],
    },
    "last": {"type": "string", "x-kubernetes-validations": [rule("self.lastIndexOf('a') == -1")]},
    "short_number": {
        "x-kubernetes-int-or-string": True,
        "maxLength": 5,
        "x-kubernetes-validations": [rule(" || ".join(["string(self).matches('^(a|b)+$')"] * 100))],
    },
    "atomic": {
        "type": "array",
        "x-kubernetes-list-type": "set",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-map-type": "atomic"},
    },
    "embedded": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
}
VALUES: dict[str, list[Any]] = {
    "least": [[], ["a"], ["a", "b"]],
    "one": [[]],
    "keys": [{}, {"a": "b"}, {"a": "b", "c": "d"}],
    "most": [["a", "b"]],
    "any": [["a"], [], ["a", "b", "c"]],
    "code": ["+/+/", "-_-_", "aGlq", "aGk=", "a\nGlq", "aGk", "%"],
    "bytes": ["+/+/", "-_-_", "a"],
    "int32": [2147483647, 2147483648, 1.0, 3e9, "x"],
    "int64": [101, 9223372036854775807, 1e19, True],
    "float": [1.5, 3.5e38, 1e39],
    "double": [1e308, "x"],
    "whole": [1, 2],
    "short": ["ok", "Not_ok", "a.b", ["a"]],
    "long": ["a.b", "A.b"],
    "email": [["a"], 5, "x"],
    "text": ["a", "ab", "b"],
    "number": [1, 7],
    "choice": [{"a": 2}, {"a": 1}, {}],
    "set": [["z", "y"], ["y", "z"], ["a", "b", "c", "d"], ["a", "a"]],
    "maps": [[{"k": "a", "v": 1}], [{"k": "b"}], [{"k": "a"}, {"k": "a"}]],
    "amount": ["100000000000000000000", "1", "1000000000000000000", "9223372036854775807", "x"],
    "url": ["https://bad/x", "https://a.b/c"],
    "nulls": [{"a": None}, {"a__dash__b": "c"}, {"a": "c"}, {}],
    "times": [["2024-01-01T00:00:00Z"], ["2024-01-01T00:00:00Z", "x"], ["2025-01-01T00:00:00Z"]],
    "last": ["", "a", "b"],
    "short_number": [5, "ab"],
    "atomic": [[{"a": [1, 1.5, None, "b"]}, {"a": [1, 1.5, None, "b"]}], [{}, {}]],
    "embedded": [{}, {"apiVersion": "", "kind": ""}, {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}],
}
METADATA: list[dict[str, Any]] = [
    {"ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "a", "uid": "u"}]},
    {"ownerReferences": [{"apiVersion": "", "kind": "A", "name": "", "uid": ""}]},
    {"ownerReferences": [{"apiVersion": "a/b/c", "kind": "A", "name": "a", "uid": "u"}]},
    {"ownerReferences": [{"apiVersion": "g/", "kind": "A", "name": "a", "uid": "u"}]},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "u"}]},
    {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u", "controller": True},
            {"apiVersion": "v1", "kind": "B", "name": "b", "uid": "v", "controller": True},
        ]
    },
    {"managedFields": [{"manager": "m", "operation": ""}]},
    {"managedFields": [{"manager": "m", "operation": "Other", "apiVersion": "v1"}]},
    {"managedFields": [{"manager": "m", "operation": "Apply", "fieldsType": "Other"}]},
    {"generation": -1},
    {"name": "Not_valid"},
    {"name": "", "generateName": "a"},
    {"labels": {"a b": "c"}},
    {"annotations": {"A B": "c"}},
    {"finalizers": ["orphan", "foregroundDeletion"]},
    {"finalizers": ["a"]},
    {"namespace": ""},
    {"uid": "other", "deletionTimestamp": "2024-05-01T10:00:00Z"},
    {"creationTimestamp": "2024-05-01T10:00:00Z", "deletionGracePeriodSeconds": 5},
]
EXPRESSIONS = [
    "quantity('{}').isInteger()",
    "quantity('{}').asApproximateFloat()",
    "quantity('{}').sub(quantity('-9223372036854775808')).asApproximateFloat()",
    "quantity('{}').add(quantity('1')).isInteger()",
    "quantity('{}').compareTo(quantity('9223372036854775807'))",
    "isQuantity('{}')",
]
AMOUNTS = [
    "0", "1", "-1", "999999999999999999", "1000000000000000000", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "1234567890123456789", "123456789012345678.9", "1.5", "0.1m", "100n",
    "0.1n", "1E", "10E", "8Ei", "7Ei", "1e400", "0e400", "0e-400", "1e-400", "000000000000000000001", "1Ki", "-8Ei", "1000m", ".", "1.", "-",
]  # fmt: skip
MORE = [
    "cidr('10.0.0.0/8').isMask()",
    "cidr('10.0.0.1/8').isMask()",
    "cidr('::1/64').isMask()",
    "cidr('::/0').masked().isMask()",
    "[1, 2].includes(2)",
    "[1, 2].includes('a')",
    "'a'.includes('a')",
    "[[1], [2]].includes([2])",
    "{'a': 1}.includes('a')",
    "[quantity('1')].all(q, q.isLessThan(quantity('9Ei')) && q.isInteger())",
    "[quantity('100000000000000000000')].all(q, q.add(quantity('1')).isGreaterThan(q))",
    "[quantity('100000000000000000000')].all(q, q.sub(1).isLessThan(q) && q.compareTo(quantity('1e20')) == 0)",
    "url('https://example.com:80/a%20b?c=d').getEscapedPath()",
    "semver('1.2.3').isGreaterThan(semver('v1.2.0', true))",
    "isSemver('v1.0.0', true)",
    "[1, 2, 3].slice(0, 2)",
    "[3, 1, 2].sort()",
    "[1, [2, 3]].flatten()",
    "[1, 1, 2].distinct()",
    "lists.range(3)",
    "[1, 2].reverse()",
    "[1, 2].first()",
    "{'a': 1}.transformMap(k, v, v + 1)",
    "[1, 2].exists(i, v, i == v - 1)",
    "format.named('byte').value().validate('+/+/')",
    "ip('10.0.0.1').isCanonical('10.0.0.1')",
    "ip.isCanonical('10.0.0.1')",
    "'a,b'.split(',').join('-')",
    "'%d'.format([1.5])",
    "strings.quote('a\"b')",
    "'abc'.reverse()",
    "duration('1h') + duration('30m')",
    "timestamp('2024-01-01T00:00:00Z').getDayOfYear('Europe/Paris')",
    "optional.none().or(optional.of(1))",
    "{?'a': optional.none()}",
    "[1, 2].map(x, x * 2).sum()",
    "type(1) == int",
    "bytes('a') + b'b'",
    "1 / 0 == 1 || true",
    "'a' in ['a', 1]",
    "dyn([1, 2]) == [1.0, 2.0]",
    "dyn(1).orValue(2)",
    "'abc'.indexOf('', 5)",
    "'abc'.indexOf('', -1)",
    "'abc'.lastIndexOf('', 5)",
    "'abc'.lastIndexOf('', -1)",
    "''.lastIndexOf('a')",
    "'a'.lastIndexOf('ab')",
    "'abcdefghijklmnopqrstuvwxyz'.startsWith('a')",
    "'a'.startsWith('abcdefghijklmnopqrstuvwxyz')",
    "'abcdefghijklmnopqrstuvwxyz'.endsWith('xyz')",
    "matches('abcdefghijklmnopqrstuvwxyz', 'abcdefgh')",
    "'abcdefghijklmnopqrstuvwxyz'.matches('abcdefgh')",
    "[[1], [2], [3]].flatten(-1)",
    "{'a-b': 1}.`a-b`",
    "has({'a.b': 1}.`a.c`)",
    "[1].map(self, .self == 1)",
    "[1].map(x, .self == {})",
    "duration(dyn(5))",
    *(
        f"(true ? optional.of({one}) : optional.none()).{rest}"
        for one in (
            "quantity('1500m')",
            "quantity('1.5e4')",
            "quantity('2Mi')",
            "quantity('100n').add(quantity('1Ki'))",
        )
        for rest in ("value().isInteger()", "hasValue()", "orValue(quantity('2')).isInteger()")
    ),
    *(
        f"(true ? optional.of({one}) : optional.none()).value() == {one}"
        for one in (
            "1",
            "1u",
            "1.5",
            "'a'",
            "b'a'",
            "null",
            "[1]",
            "{'a': 1}",
            "type(1)",
            "duration('1h')",
            "optional.of(1)",
            "timestamp('2024-01-01T00:00:00Z')",
            "url('https://a.b/c')",
            "ip('::1')",
            "cidr('10.0.0.0/8')",
            "semver('1.2.3-a')",
        )
    ),
    "[optional.of(quantity('1'))].map(q, q.value().isInteger())",
    "[optional.of(quantity('1'))].all(q, q.hasValue())",
    "optional.of(dyn(quantity('1'))).?a.hasValue()",
    "optional.of(1).optMap(q, quantity('1')).value().isInteger()",
    "'%e %f'.format([1234.5, 1234.5])",
    "dyn([1, 2]).all(i, v, i < v)",
    "dyn([1]).all(i, v, v.a)",
    "dyn([1]).all(i, v, v == v)",
    "dyn([1]).all(i, v, v == dyn(1))",
    "dyn([1]).all(i, v, dyn(1) == v)",
    "dyn([1]).all(i, v, [v] == [1])",
    "dyn([1]).all(i, v, [v].size() == 1)",
    "dyn([1]).transformList(i, v, v)",
    "dyn({'a': 1}).transformMap(k, v, v == 1)",
    f"optional.of('{'a' * 100}') == optional.of('{'a' * 90}b')",
    "optional.of('') == optional.of('')",
    f"dyn(optional.of('{'a' * 40}')).startsWith('aaaa')",
    r"'\ud800' == 'a'",
    r"'\UFFFFFFFF'.size()",
    r"'\U00110000'",
    "(self.a == 1 ? [1] : [2]).all(i, v, i < v)",
    "[1].map(x, __result__)",
    "[1, 2].map(x, __result__.size())",
    "[1].all(__result__, true)",
    "[1].exists_one(__result__, true)",
    "[1].all(__result__, x, true)",
    "timestamp('2024-01-01T00:00:00Z').getHours('a%sb')",
    "timestamp('2024-01-01T00:00:00Z').getFullYear('100%')",
    "timestamp('2024-01-01T00:00:00Z').getHours('1%d:3')",
    "dyn('%.3%').format([1.5])",
    "[1, 2].last()",
    "optional.unwrap([optional.of(1)])",
    "duration([].sum()) == duration('1s')",
    "duration(1) == duration('1s')",
    "duration(int(self.a)) == duration('1s')",
    "duration(dyn(self.a)) == duration('1s')",
    "duration(dyn(1)) == duration('1s')",
    "'a' == 'b' || [1, 2, 3, 1, 4, 5].flatten(-2) != [1]",
    "[1, 2, 3, 1, 4, 5].flatten(-2) != [1]",
]
COSTLY = [
    "url(self).getHost().matches('^[a-z.]+$')",
    "url(self).getEscapedPath().matches('^/[a-z]+(/[a-z]+)*$')",
    "url(self).getQuery().all(k, k.matches('^[a-z]+$'))",
    "url(self).getPort() == url(self).getScheme()",
    "cidr(self).isMask()",
    "[self].includes(self)",
    "self.split(',').all(x, x.split(',').all(y, y == self))",
    "quantity(self).isInteger() && semver(self).major() > 1",
    "matches(self, '^(a|b)+$')",
    "self.startsWith('a') && self.endsWith('b')",
    "self.split('').sort().distinct().size() > 1",
    "dyn(self).matches('^(a|b)+$')",
    "optional.of(self).optMap(v, v.matches('^(a|b)+$')).hasValue()",
    "['a', self].all(x, x.matches('^(a|b)+$'))",
    "self.split(',').all(i, x, x.matches('^(a|b)+$'))",
    "self.split(',').map(x, x).all(y, y.matches('^ab$'))",
    "{'a': self}.a.matches('^(a|b)+$')",
    "(self == 'a' ? [self] : ['b']).all(x, x.matches('^(a|b)+$'))",
    "[url(self)].all(u, u == u)",
]


def _objects() -> list[Case]:
    resource = f"fields.{GROUP}"
    head = {"apiVersion": f"{GROUP}/v1", "kind": "Field"}
    named = {"name": "a", "namespace": "n", "uid": "u", "generation": 1, "resourceVersion": "7"}
    made: list[tuple[str, dict[str, Any]]] = [
        (f"{name} {json.dumps(value)}", {**head, "metadata": named, "spec": {name: value}})
        for name, values in VALUES.items()
        for value in values
    ]
    made += [(f"metadata {json.dumps(one)}", {**head, "metadata": {**named, **one}}) for one in METADATA]
    first = {**head, "metadata": {**named, "creationTimestamp": "2024-01-01T00:00:00Z"}, "spec": {}}
    cases = [{"name": name, "object": json.dumps(one), "resource": resource} for name, one in made]
    for name, one in made:
        cases.append(
            {"name": f"update to {name}", "old": json.dumps(first), "new": json.dumps(one), "resource": resource}
        )
        cases.append({"name": f"kept {name}", "old": json.dumps(one), "new": json.dumps(one), "resource": resource})
    return cases


def _definitions() -> list[Case]:
    made: list[tuple[str, dict[str, Any]]] = [
        (f"field {name}", definition("odds", {"type": "object", "properties": {name: schema}}))
        for name, schema in FIELDS.items()
    ]
    for text in COSTLY:
        for length in (100, 1000, 20_000, None):
            field = {"type": "string", "x-kubernetes-validations": [rule(text)]}
            if length is not None:
                field["maxLength"] = length
            made.append(
                (f"rule {text} of {length}", definition("odds", {"type": "object", "properties": {"s": field}}))
            )
    spec: dict[str, Any] = {"type": "object"}
    for text in ("self.metadata.name.matches('^[a-z]+$')", "self.metadata.generateName.find('a') == 'a'"):
        made.append(
            (f"rule of the root {text}", definition("odds", spec, **{"x-kubernetes-validations": [rule(text)]}))
        )
        capped = {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 10}}}}
        one = definition("odds", spec, **{"x-kubernetes-validations": [rule(text)]})
        schema = one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"].update(capped)
        made.append((f"rule of the root with a short name {text}", one))
    listed = {"type": "array", "x-kubernetes-list-type": "set"}
    of: tuple[dict[str, Any], ...] = (
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
        {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}},
        {"type": "string"},
    )
    made += [(f"set of {json.dumps(items)}", definition("odds", {**listed, "items": items})) for items in of]
    parts: tuple[dict[str, Any], ...] = (
        {"example": {"a": 1}},
        {"externalDocs": {"url": "https://example.com"}},
        {"format": "int32"},
        {"format": "unknown-format"},
        {"default": {"a": "b"}},
        {"title": "t", "description": "d"},
        {"properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "true", "message": " "}]}}},
        {"properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "1", "message": "a\nb"}]}}},
        {"properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "true", "fieldPath": "a"}]}}},
    )
    made += [(f"with {json.dumps(extra)}", definition("odds", {**spec, **extra})) for extra in parts]
    for default in (["a"], [], ["a", "b"]):
        field = {**FIELDS["least"], "default": default}
        made.append((f"default {json.dumps(default)}", definition("odds", {**spec, "properties": {"least": field}})))
    named = definition("odds", spec)
    wrong = ({"name": "Wrong"}, {"name": f"odds.{GROUP}", "labels": {"a b": "c"}}, *METADATA[:3])
    made += [(f"metadata {json.dumps(one)}", {**named, "metadata": {"name": f"odds.{GROUP}", **one}}) for one in wrong]
    return [{"name": f"definition: {name}", "definition": one} for name, one in made]


def questions() -> dict[str, Any]:
    texts = [form.replace("{}", amount) for form in EXPRESSIONS for amount in AMOUNTS] + MORE
    return {
        "about": "What servers of different releases answer differently, or nearly do.",
        "definitions": [definition("fields", {"type": "object", "properties": FIELDS})],
        "cases": [
            *_objects(),
            *_definitions(),
            *({"name": f"expression: {text}", "expression": text, "self": "{}"} for text in texts),
        ],
    }
