"""The typed tier proves what the reference finds valid, and stays silent on everything that JSON makes doubtful."""

import json

import pytest

from auditor.crds.definition import parse_definition
from auditor.fastpath.dicts.scope import SchemaNotEmittable
from auditor.fastpath.records.typed import TypedProgram
from auditor.program.program import RECORDS_AFTER, AuditProgram
from tests.typed import typed_difference

PORTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "items": {
        "type": "object",
        "required": ["port"],
        "properties": {
            "port": {"type": "integer", "format": "int32", "minimum": 1},
            "protocol": {"type": "string", "default": "TCP"},
        },
    },
}
SPEC = {
    "type": "object",
    "required": ["n"],
    "properties": {
        "n": {"type": "integer"},
        "s": {"type": "string", "minLength": 1, "maxLength": 3},
        "e": {"type": "string", "enum": ["a", "b"]},
        "p": {"type": "string", "pattern": "^x+$"},
        "t": {"type": "string", "format": "date-time"},
        "f": {"type": "number", "maximum": 5},
        "q": {"x-kubernetes-int-or-string": True},
        "z": {"type": "string", "nullable": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "any": {"type": "object", "properties": {"a": {"type": "integer"}}, "anyOf": [{"required": ["a"]}]},
        "few": {"type": "object", "minProperties": 1, "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ports": PORTS,
        "deep": {
            "type": "object",
            "default": {},
            "properties": {"d": {"type": "string", "default": "x"}, "l": {"type": "array", "items": PORTS}},
        },
    },
}


def document(spec=SPEC, **version):
    schema = {"type": "object", "properties": {"spec": spec}}
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "foos", "kind": "Foo"},
            "scope": "Namespaced",
            "versions": [one],
        },
    }


def programs(**words):
    definition = parse_definition(document(**words))
    version = definition.versions["v1"]
    return AuditProgram(definition, version), AuditProgram(definition, version, compiled=False)


METADATA = {"name": "a", "namespace": "b", "uid": "c", "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z"}
WRITTEN = {
    "manager": "m",
    "operation": "Update",
    "apiVersion": "v1",
    "time": "2024-01-01T00:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:ports": {'k:{"port":80}': {".": {}, "f:port": {}}}}},
}


def text(spec='{"n":1}', **metadata):
    """Return the bytes of an object; a metadata field given as bytes is put in as it is."""
    fields = {**METADATA, **metadata}
    parts = [
        json.dumps(key).encode() + b":" + (value if type(value) is bytes else json.dumps(value).encode())
        for key, value in fields.items()
        if value is not None
    ]
    spec = spec if type(spec) is bytes else spec.encode()
    return b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":{' + b",".join(parts) + b'},"spec":' + spec + b"}"


def owned(fields):
    return (
        b"[" + json.dumps(WRITTEN).replace(json.dumps(WRITTEN["fieldsV1"]), "@").encode().replace(b"@", fields) + b"]"
    )


PROVEN = [
    text(),
    text('{"n":-9223372036854775808,"s":"xyz","e":"b","p":"xx","t":"2024-01-01T00:00:00Z","f":5,"q":"5%","z":null}'),
    text('{"n":9223372036854775807,"free":{"a":{"b":[1,2.5,null]}},"any":{"a":1},"few":{"b":""},"map":{"k":"v"}}'),
    text('{"n":1,"set":["a","b"],"ports":[{"port":1},{"port":1,"protocol":"UDP"}],"deep":{"l":[[{"port":2}]]}}'),
    text(' {"n": 1 , "s": "\\u00e9\\n" } '),
    text(labels={"app": "x", "example.com/a": ""}, annotations={"a/b": "any\u00e9"}, finalizers=["example.com/x"]),
    text(managedFields=[WRITTEN, {**WRITTEN, "subresource": "status", "fieldsV1": {}}]),
    text(managedFields=owned(b'{ "f:spec" : { } }')),
    text(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}]),
    text(deletionTimestamp="2024-01-01T00:00:00Z", deletionGracePeriodSeconds=0),
    text('{"n":1,"s":null,"e":null,"p":null,"f":null,"few":null,"map":null,"set":null,"ports":null}'),
    text('{"n":1,"free":null,"any":null,"deep":null,"few":{"a":null,"b":"x"}}'),
    text('{"n":1,"any":{"a":1},"deep":{"d":null,"l":[[{"port":1}],[{"port":1}]]}}'),
    text("null"),
]

DOUBTFUL = [
    *(text(f'{{"n":{n}}}') for n in ("1.0", "1e3", "-0", "9223372036854775808", "-9223372036854775809", "18446744073709551616")),
    *(text(f'{{"n":1,"f":{n}}}') for n in ("-9223372036854775809", "18446744073709551616", "5.5", "1e400", "-0.0")),
    *(text(f'{{"n":1,"q":{n}}}') for n in ("1.0", "-9223372036854775809", "true", "null")),
    *(text(f'{{"n":1,"free":{{"a":{n}}}}}') for n in ("-9223372036854775809", "18446744073709551616", "1.0", "NaN")),
    *(text(f'{{"n":1,{more}}}') for more in (
        '"n":"x"', '"n":2', '"zz":1', '"s":null', '"s":""', '"s":"four"', '"e":"c"', '"p":"y"', '"t":"yesterday"',
        '"z":5', '"few":{}', '"few":{"a":null}', '"any":{"a":null}', '"ports":[{"port":1,"protocol":null}]', '"deep":[null]',
        '"ports":[{"port":1,"protocol":null},{"port":1}]', '"ports":[null]', '"deep":{"l":[null]}', '"n":null',
        '"map":{"a":"","b":"","c":""}', '"map":{"a":null}', '"set":["a","a"]', '"set":[null]',
        '"ports":[{"port":1},{"port":1,"protocol":"TCP"}]', '"ports":[{"port":0}]', '"deep":null', '"any":{}',
        '"any":{"a":1,"b":2}', '"free":null', '"s":"\\ud800"', '"s":"\x01"', '"s":"\\u0000"',
    )),
    text("[]"), text("null"), text('"x"'), text("{}"), text() + b" x", b"\xef\xbb\xbf" + text(), b"\xd9\xd9\xf7\xa0", b"",
    text(b'{"n":1,"s":"\xff"}'), text(b'{"n":1,"free":{"a":"\xff"}}'), text(b'{"n":1,"\xff":1}'),
    *(text(managedFields=owned(fields)) for fields in (
        b'{"f:a":5}', b'{"f:a":0.0}', b'{"f:a":null}', b'{"f:a":[]}', b'{"f:a":[{}]}', b"null", b"[]", b'"x"', b"{} ",
        b'{"f:a\xff":{}}', b'{"f:a\\ud800":{}}', b'{"f:a":5,"f:a":{}}', b'{"a\\\\":5}', b'{"a\\":{":5}', b'{"f:a":"\\":{"}',
    )),
    text(managedFields=[]), text(managedFields=[{**WRITTEN, "operation": "Delete"}]), text(managedFields=[{"manager": "m"}]),
    text(managedFields=[{**WRITTEN, "time": None}]), text(managedFields=[{**WRITTEN, "manager": "\u0001"}]),
    text(managedFields=[{**WRITTEN, "subresource": ""}]), text(managedFields=[{**WRITTEN, "subresource": "s" * 65}]),
    *(text(labels=labels) for labels in ({}, {"a": None}, {"a": "-"}, {"-": "a"}, {"a": 1}, [])),
    *(text(annotations=more) for more in ({}, {"A B": ""}, {"a": None}, {"a": "x" * 262144})),
    *(text(generation=n) for n in (0, -1, 1.0, "1", None, 2**63)), text(name=""), text(name="A"), text(name=None),
    *(text(name="a" * n) for n in (253, 254)), text(name="a.b"), text(namespace=""), text(namespace=None), text(namespace="A.b"),
    text(uid=""), text(uid=5), text(uid=None), text(resourceVersion=""), text(selfLink="/x"), text(extra=1), text(generateName="a-"),
    *(text(creationTimestamp=at) for at in (None, "", "2024-01-01T00:00:00+01:00", "2024-02-30T00:00:00Z", "0001-01-01T00:00:00Z", 5)),
    *(text(deletionTimestamp=at) for at in ("", "2024-01-01T00:00:00.5Z")), text(deletionGracePeriodSeconds=1.0),
    *(text(finalizers=names) for names in ([], ["a b"], ["orphan", "foregroundDeletion"], [None], ["nodomain"])),
    *(text(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", **more}, *two]) for more, two in (
        ({"name": ""}, []), ({"uid": ""}, []), ({"kind": "Event"}, []), ({"apiVersion": "a/b/c"}, []), ({"x": 1}, []), ({"controller": None}, []),
        ({"controller": True}, [{"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "v", "controller": True}]),
    )),
    text().replace(b"example.com/v1", b"example.com/v2"), text().replace(b'"Foo"', b'"Bar"'), text()[:-1] + b',"extra":{}}',
]  # fmt: skip


@pytest.mark.parametrize("data", PROVEN)
def test_a_plain_object_is_proven(data):
    program, reference = programs()
    assert typed_difference(program, reference.audit(data), data, updates=True) == ""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("data", DOUBTFUL, ids=range(len(DOUBTFUL)))
def test_what_is_proven_is_so(data):
    program, reference = programs()
    assert not typed_difference(program, reference.audit(data), data, updates=True)


@pytest.mark.parametrize(
    "path", [".spec.n", ".spec.s", ".spec.any.a", ".spec.deep.d", ".spec.map.k", ".spec.zz", ".zz.n"]
)
@pytest.mark.parametrize("data", PROVEN[:4])
def test_selectable_values_are_those_of_the_reference(path, data):
    program, reference = programs(selectableFields=[{"jsonPath": path}])
    assert typed_difference(program, reference.audit(data), data) == ""


@pytest.mark.parametrize("path", [".spec.n", ".spec.s", ".spec.any.a", ".spec.n.x", ".spec.few.a", ".spec.map.k"])
@pytest.mark.parametrize("data", PROVEN[:4])
def test_a_scale_that_is_not_available_is_not_proven(path, data):
    scale = {"specReplicasPath": path, "statusReplicasPath": ".status.n"}
    program, reference = programs(subresources={"scale": scale})
    assert not typed_difference(program, reference.audit(data), data)


def test_a_scale_that_is_null_is_not_proven():
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".spec.n", "labelSelectorPath": ".spec.z"}
    program, reference = programs(subresources={"scale": scale})
    for data, proven in ((text('{"n":1}'), ""), (text('{"n":1,"z":"a"}'), ""), (text('{"n":1,"z":null}'), None)):
        assert typed_difference(program, reference.audit(data), data) == proven


@pytest.mark.parametrize(
    ("rule", "is_proven"), [("self.n > 0", True), ("self.n > 1", None), ("self.n > oldSelf.n", True)]
)
def test_rules_hold_or_nothing_is_proven(rule, is_proven):
    spec = {**SPEC, "x-kubernetes-validations": [{"rule": rule}]}
    program, reference = programs(spec=spec)
    data = text('{"n":1}')
    assert typed_difference(program, reference.audit(data), data) == ("" if is_proven else None)


LOOSE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("rule", "spec", "is_proven"),
    [
        ("!has(self.s)", '{"n":1}', True),
        ("!has(self.s)", '{"n":1,"s":null}', True),
        ("!has(self.s)", '{"n":1,"s":"xyz"}', False),
        ("!(self.s == 'a')", '{"n":1}', False),  # no such key
        ("!(has(self.s) && self.s == 'a')", '{"n":1}', True),
        ("!has(self.s) || self.s == 'xyz'", '{"n":1,"s":"xyz"}', True),
        ("!has(self.s) ? self.s != 'a' : true", '{"n":1}', False),
        ("has(self.s) ? self.s != 'a' : true", '{"n":1}', True),
        ("!has(self.z) || self.z == 'a'", '{"n":1,"z":null}', True),
        ("has(self.z)", '{"n":1,"z":null}', False),
        ("!(self.z == 'a')", '{"n":1,"z":null}', False),
        ("self.deep.d == 'x' && has(self.deep.d)", '{"n":1}', True),
        ("self.deep.d == 'x'", '{"n":1,"deep":{"d":null}}', True),
        ("self.?s.orValue('b') == 'b' && self.?n.orValue(0) == 1", '{"n":1}', True),
        ("self.?deep.?d == optional.of('x')", '{"n":1}', True),
        ("self.?z.hasValue() || self.?deep.d.hasValue()", '{"n":1,"z":null}', True),
        ("self.ports.all(p, p.port > 0 && p.protocol == 'TCP')", '{"n":1,"ports":[{"port":1}]}', True),
        ("self.ports.exists_one(p, self.ports.all(q, q.port <= p.port))", '{"n":1,"ports":[{"port":1},{"port":2}]}', True),
        ("self.ports.all(p, p.port > 1)", '{"n":1,"ports":[{"port":1}]}', False),
        ("!self.ports.all(p, p.port > 1)", '{"n":1}', False),
        ("self.few == self.few", '{"n":1,"few":{"a":"b"}}', True),  # not of records: left to plain values
        ("self.map.all(k, self.map[k] != k)", '{"n":1,"map":{"a":"b"}}', True),
        ("self.loose.all(l, l.a != 'b')", '{"n":1,"loose":[{"a":"c","x":1},{"a":"d"}]}', True),
        ("!self.loose.exists(l, l.a == 'b')", '{"n":1,"loose":[{"a":"b"}]}', False),
        ("self.looses.all(k, !has(self.looses[k].a) || self.looses[k].a != 'b')", '{"n":1,"looses":{"k":{"a":"c"}}}', True),
        ("!self.looses.exists(k, self.looses[k].a == 'b')", '{"n":1,"looses":{"k":{"a":"b"}}}', False),
    ],
)  # fmt: skip
def test_rules_on_records_say_what_rules_on_dicts_say(rule, spec, is_proven):
    more = {"loose": {"type": "array", "items": LOOSE}, "looses": {"type": "object", "additionalProperties": LOOSE}}
    ruled = {
        **SPEC,
        "properties": {**SPEC["properties"], **more},
        "x-kubernetes-validations": [{"rule": rule}],
    }
    program, reference = programs(spec=ruled)
    data = text(spec)
    exact = reference.audit(data)
    assert typed_difference(program, exact, data) == ("" if is_proven else None)
    assert bool(is_proven) == (not exact.findings)


@pytest.mark.parametrize(
    "data",
    [
        text('{"n":1,"free":{"a":1e400},"free":{}}'),
        text('{"n":1,"free":{"a":1e400}},"spec":{"n":1}'),
        text('{"n":1,"any":{"a":[1e400]},"any":{"a":1}}'),
        text(managedFields=owned(b'{"f:a":{"f:b":1e400}},"fieldsV1":{}')),
        text(managedFields=owned(b'{"f:a":1e400}') + b',"managedFields":' + owned(b"{}")),
    ],
)
def test_a_number_that_no_server_reads_counts_where_its_key_comes_again(data):
    program, reference = programs()
    exact = reference.audit(data)
    assert exact.unreadable is not None
    assert typed_difference(program, exact, data) is None


def test_rules_at_the_root_leave_nothing_to_prove():
    words = document()
    words["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": "true"}]
    definition = parse_definition(words)
    with pytest.raises(SchemaNotEmittable, match="root"):
        TypedProgram(definition, definition.versions["v1"])


def test_records_are_made_when_they_pay():
    program, _ = programs()
    for count in range(RECORDS_AFTER):
        assert program.typed() is None, count
        program.audit(text('{"n":"invalid"}') if count % 2 else text())
    assert program.typed() is program.typed() is not None


def test_what_one_object_lacked_the_next_one_lacks_again():
    program, reference = programs()
    sparse, full = text('{"n":1}'), text('{"n":1,"deep":{"d":"y"}}')
    for data in (sparse, full, sparse, full, full):
        assert typed_difference(program, reference.audit(data), data) == ""


@pytest.mark.parametrize("items", ['[{"a":null,"b":1},{"b":2}]', '[{"a":null},{"a":"x"}]', '[{"a":null},{"a":null}]'])
def test_a_null_key_of_a_list_of_maps_counts_as_absent(items):
    entry = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "items": entry}
    program, reference = programs(spec={"type": "object", "properties": {"keyed": keyed}})
    data = text(f'{{"keyed":{items}}}')
    assert not typed_difference(program, reference.audit(data), data)
