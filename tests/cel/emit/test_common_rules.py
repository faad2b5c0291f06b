"""Rules like those of real definitions: each holds for its value, and is proven."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cel.emit.proving import Judge, assert_sound

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
DOUBLE = {"type": "number"}
EITHER = {"x-kubernetes-int-or-string": True}


def list_of(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def map_of(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def object_of(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def text(form: str) -> dict[str, Any]:
    return {"type": "string", "format": form}


NAMED = list_of(object_of(name=TEXT, value=TEXT, nums=list_of(NUMBER)), maxItems=30)
ABC = object_of(a=TEXT, b=NUMBER, c=object_of(d=TEXT))
LISTS = object_of(a=list_of(TEXT), b=list_of(TEXT))

CASES: list[tuple[dict[str, Any], str, list[Any]]] = [
    (TEXT, "format.named('dns1123Label').value().validate(self) == optional.none()", ["ab"]),
    (TEXT, "lists.range(3).all(i, self.charAt(i) != 'x')", ["abc"]),
    (ABC, "optional.ofNonZeroValue(self.?a.orValue('')).hasValue() || true", [{}]),
    (ABC, "self.?a == optional.none() || self.?a != optional.of('x')", [{}, {"a": "y"}]),
    (EITHER, "type(self) == string ? int(self.replace('%','')) <= 100 : self <= 100", ["50%", 50, "x"]),
    (EITHER, "type(self) == int ? self >= 0 : self.matches('^[0-9]+%$')", [5, "5%"]),
    (EITHER, "string(self).matches('^[0-9]+%?$')", [5, "5%"]),
    (EITHER, "quantity(string(self)).isGreaterThan(quantity('0'))", [5, "5m"]),
    (EITHER, "self == 0 || self == '0'", [0, "0"]),
    (EITHER, "isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('1')) >= 0", [5, "2Gi"]),
    (EITHER, "size(string(self)) > 0", [5]),
    (EITHER, "self.endsWith('%') || int(self) > 3", ["4%"]),
    (
        map_of(TEXT),
        "self.all(x, x in ['kubernetes.io/os','a'] || !x.find('^([^/]+)').endsWith('kubernetes.io'))",
        [{"a": "b"}, {"x.io/b": "c"}],
    ),
    (map_of(TEXT), "self.all(k, self[k].size() < 64)", [{"a": "b"}]),
    (map_of(TEXT), "self.all(k, v, k != v)", [{"a": "b"}]),
    (map_of(TEXT), "size(self) <= 50 && !('x' in self)", [{"a": "b"}]),
    (TEXT, "url(self).getScheme() in ['http','https','file']", ["https://a"]),
    (TEXT, "isURL(self) && url(self).getHostname() != ''", ["https://a"]),
    (TEXT, "duration(self) >= duration('1ms')", ["1s"]),
    (TEXT, "isCIDR(self) && cidr(self).ip().family() == 4 && cidr(self).prefixLength() >= 8", ["10.0.0.0/8"]),
    (TEXT, "self.split(':').size() == 2 && int(self.split(':')[1]) >= 1 && int(self.split(':')[1]) <= 65535", ["a:80"]),
    (TEXT, "self.split('/')[0].split('.').all(x, x.matches('^[a-z]+$'))", ["a.b/c"]),
    (TEXT, "self.indexOf('x') == -1 || self.substring(0, self.indexOf('x')).size() > 0", ["abxc"]),
    (TEXT, "!format.dns1123Subdomain().validate(self).hasValue()", ["ab"]),
    (TEXT, "[self].all(x, x.lowerAscii() == x)", ["ab"]),
    (NAMED, "self.all(x, self.filter(y, y.name == x.name).size() == 1)", [[{"name": "a"}]]),
    (NAMED, "self.map(x, x.name).all(n, n != '')", [[{"name": "a"}]]),
    (NAMED, "self.map(x, x.nums.sum()).sum() <= 10", [[{"nums": [1, 2]}]]),
    (NAMED, "self.map(x, has(x.name), x.name).isSorted()", [[{"name": "a"}]]),
    (list_of(TEXT), "self.all(x, self.indexOf(x) == self.lastIndexOf(x))", [["a", "b"]]),
    (list_of(TEXT), "self.distinct().size() == self.size()", [["a", "b"]]),
    (list_of(TEXT), "sets.intersects(self, ['a','b'])", [["a"]]),
    (list_of(TEXT), "!sets.intersects(self, ['a','b']) || self == ['a']", [["a"]]),
    (list_of(TEXT), "self.exists(x, x.startsWith('a')) && self.join(',').size() < 10", [["a"]]),
    (list_of(TEXT), "self.sort() == self && self.reverse()[0] == 'b'", [["a", "b"]]),
    (list_of(NUMBER), "self.max() - self.min() < 10 && self.sum() > 0", [[1, 2]]),
    (list_of(EITHER), "self.all(x, type(x) == int || x == 'a')", [["a", 1]]),
    (ABC, "(has(self.a)?1:0)+(has(self.b)?1:0)+(has(self.c)?1:0) <= 1", [{"a": ""}]),
    (ABC, "self.?c.?d.orValue('x') == 'x'", [{}]),
    (ABC, "self.?c.d.hasValue() || self.?b.orValue(0) == 0", [{}]),
    (ABC, "!has(self.b) || self.b in [1,2,3]", [{"b": 1}]),
    (ABC, "self.a == '' ? self.b > 0 : self.b % 2 == 0", [{"a": "", "b": 1}]),
    (ABC, "[has(self.a), has(self.b), has(self.c)].exists_one(x, x)", [{"a": ""}]),
    (ABC, "{'x': 1, 'y': 2}[self.a] == 1", [{"a": "x"}]),
    (ABC, "self.a in {'x': ['y']}", [{"a": "x"}]),
    (LISTS, "self.a.all(x, x in self.b) && (self.a + self.b).size() < 10", [{"a": ["x"], "b": ["x"]}]),
    (LISTS, "sets.equivalent(self.a, self.b)", [{"a": ["x"], "b": ["x"]}]),
    (
        object_of(a=text("date-time"), b=text("date-time")),
        "self.a < self.b",
        [{"a": "2024-01-01T00:00:00Z", "b": "2025-01-01T00:00:00Z"}],
    ),
    (
        object_of(a=text("date-time")),
        "timestamp('2020-01-01T00:00:00Z') < self.a && self.a.getFullYear() > 2000",
        [{"a": "2024-01-01T00:00:00Z"}],
    ),
    (object_of(a=DOUBLE), "self.a >= 0.0 && self.a <= 1.0", [{"a": 1}, {"a": 0.5}]),
    (object_of(a=DOUBLE, b=NUMBER), "double(self.b) * self.a > 0.5", [{"a": 1, "b": 3}]),
    (object_of(a=text("byte")), "self.a.size() > 0 && string(self.a) == 'hi'", [{"a": "aGk="}]),
    (object_of(a=text("duration")), "self.a.getSeconds() > 5 && self.a <= duration('24h')", [{"a": "1h"}]),
    (object_of(a=map_of(list_of(TEXT))), "self.a.all(k, self.a[k].all(x, x != ''))", [{"a": {"b": ["c"]}}]),
    (TEXT, "semver(self).isGreaterThan(semver('1.0.0'))", ["1.2.3"]),
    (TEXT, "isSemver(self, true) && semver(self, true).major() >= 1", ["v1.2"]),
    (TEXT, "self.matches('^' + 'a' + '$')", ["a"]),
    (TEXT, "self.contains('a') && !self.contains('b') && self.trim() == self", ["a"]),
    (TEXT, "self.size() <= 63 && self.replace('.', '').matches('^[a-z]*$')", ["a.b"]),
    (TEXT, "string(int(self)) == self", ["12"]),
    (TEXT, "self.lowerAscii() in ['a','b']", ["A"]),
    (TEXT, "ip(self) == ip('10.0.0.1')", ["10.0.0.1"]),
    (TEXT, "cidr('10.0.0.0/8').containsIP(self)", ["10.0.0.1"]),
    (TEXT, "cidr(self).containsCIDR('10.0.0.0/16')", ["10.0.0.0/8"]),
    (TEXT, "quantity(self) == quantity('1')", ["1000m"]),
    (TEXT, "sign(quantity(self)) >= 0", ["1000m"]),
]


@pytest.mark.parametrize(("schema", "rule", "values"), CASES, ids=[rule for _, rule, _ in CASES])
def test_it_is_proven_where_it_holds(schema: dict[str, Any], rule: str, values: list[Any]) -> None:
    judged = Judge(schema).rule(rule)
    holding = 0
    for value in values:
        found = judged.on(value)
        assert_sound(found, rule)
        holding += found.value is True
        assert found.is_proven == (found.value is True), (value, found.reason)
    assert holding


@pytest.mark.parametrize(("schema", "rule", "values"), CASES, ids=[rule for _, rule, _ in CASES])
def test_the_contrary_is_not_proven(schema: dict[str, Any], rule: str, values: list[Any]) -> None:
    judged = Judge(schema).rule(f"!({rule})")
    for value in values:
        assert_sound(judged.on(value), rule)


@pytest.mark.parametrize("other", ["quantity(self)", "quantity('1')"])
def test_a_quantity_that_was_compared_with_a_wide_one_is_made_anew(other: str) -> None:
    compared = f"{other}.isLessThan(quantity('1.5Ki'))"
    for rule, holds in [(f"{compared} && {other}.isInteger()", True), (f"{compared} && !{other}.isInteger()", False)]:
        judged = Judge(TEXT).rule(rule)
        for _ in range(2):
            found = judged.on("1")
            assert_sound(found, rule)
            assert (found.value, found.is_proven) == (holds, holds)
