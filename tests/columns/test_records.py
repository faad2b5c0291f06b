"""Records hold what the exact read and the exact conversion give, or are not made at all."""

from __future__ import annotations

import json
from random import Random

import orjson
import pyarrow as pa
import pytest

from auditor.columns import KindColumns, TableRow
from auditor.columns.records import overflowing
from auditor.crds.definition import parse_definition
from auditor.golang.jsontext import GoJsonError, decode
from auditor.releases.release import RELEASES, running_as
from auditor.sources.crd_files import read_crd_documents
from auditor.storage_read.read import read_object
from tests.benchmarks.drawn import drawn_lines
from tests.columns.test_kind_columns import SCALARS, definition_of
from tests.corpus import real_definitions
from tests.properties.drawing import Drawer

METADATA = {"name": "a", "namespace": "b", "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z"}


def stored(spec, *, metadata=METADATA, **more):
    """Return the stored bytes of a widget."""
    return orjson.dumps({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec, **more})


def compared(definition, values, columns=None):
    """Return how many of some stored values have records; their rows are those of the exact read and conversion."""
    table = KindColumns.of(definition)
    reader = table.reader(definition, columns)
    if reader is None:
        return 0
    revisions = [7 if index % 2 else None for index in range(len(values))]
    rows, exact, made = [], [], 0
    for data, revision, record in zip(values, revisions, reader.read_all(values, revisions), strict=True):
        obj = read_object(definition, table.version, data).object
        assert obj is not None or record is None, data
        if obj is not None and revision is not None:
            obj["metadata"]["resourceVersion"] = str(revision)
        rows.append(TableRow(mod_revision=revision, object=obj if record is None else record))
        exact.append(TableRow(mod_revision=revision, object=obj))
        made += record is not None
    batch, expected = table.batch(rows, columns), table.exact_batch(exact, columns)
    batch.validate(full=True)
    for got, row, data in zip(batch.to_pylist(), expected.to_pylist(), values, strict=True):
        assert got == row, data
    assert batch.equals(expected)
    return made


def drawn(seed, wild, count):
    """Return a drawn definition, and texts of objects of it with the metadata that servers write."""
    drawer = Drawer(Random(seed), wild=wild)
    definition = parse_definition(document := drawer.definition())
    values = []
    for _ in range(count):
        data = drawer.object_text(document).encode()
        values.append(data)
        try:
            obj = decode(data)
        except GoJsonError:
            continue
        if type(obj) is dict:
            try:
                values.append(json.dumps({**obj, "metadata": METADATA}).encode())
            except RecursionError:
                continue
    return definition, values


def test_rows_of_records_are_those_of_the_exact_read():
    made = values = 0
    for seed in range(80):
        definition, texts = drawn(seed, 0.1, 6)
        made += compared(definition, texts)
        values += len(texts)
    assert made > values * 0.1


@pytest.mark.slow
@pytest.mark.parametrize("first", [1000, 2000])
def test_rows_of_many_records_are_those_of_the_exact_read(first):
    for seed in range(first, first + 500):
        definition, texts = drawn(seed, 0.2 if seed % 2 else 0.02, 12)
        compared(definition, texts)
        names = sorted(KindColumns.of(definition).fields)[:: 1 + seed % 3]
        compared(definition, texts, [*names, "key"])


def test_most_objects_of_real_kinds_have_records():
    documents = [one for one in read_crd_documents([str(real_definitions())]) if "v1beta1" not in one["apiVersion"]]
    made = objects = 0
    for document in documents[:30]:
        definition = parse_definition(document)
        version = definition.storage_version
        if version is None or version.structural is None:
            continue
        kind = f"{definition.kind}.{version.name}.{definition.group}=1"
        for invalid in (0.0, 0.5):
            lines = list(drawn_lines([document], kind, 12, pool=12, invalid=invalid))
            records = compared(definition, lines)
            if not invalid:
                made, objects = made + records, objects + len(lines)
    assert made > objects * 0.8


NESTED = {
    "type": "object",
    "properties": {
        **SCALARS,
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True},
        "gone": {"type": "object"},
        "many": {"type": "array", "items": {"type": "object", "properties": SCALARS}},
        "times": {"type": "object", "additionalProperties": SCALARS["time"]},
        "maps": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "object", "properties": SCALARS}}},
        "maybe": {"type": "string", "nullable": True},
        "set": {"type": "integer", "default": 5},
        "deep": {"type": "object", "default": {"text": "d"}, "properties": {**SCALARS, "whole": {"type": "integer", "default": 1}}},
        "inner": {"type": "object", "properties": {"whole": {"type": "integer", "default": 1}}},
    },
}  # fmt: skip
SPECS = [
    *[{}, {"text": "a", "whole": 5, "number": 1, "flag": True, "time": "2024-02-29T00:00:00Z"}],
    *[{"text": value} for value in ("", None, 1, {}, "é\x00", "\\")],
    *[{"whole": value} for value in (-0.0, 0, 1.0, 1.5, None, "1", True, 2**63 - 1, -(2**63), 2**63)],
    *[{"number": value} for value in (-0.0, 0, 1, 1e300, 2**53, 2**53 + 1, None, "1")],
    *[{"time": value} for value in ("x", None, "2024-01-01T00:00:00.123456789Z", "2024-01-01T00:00:00+02:00", 5)],
    *[{"any": value} for value in (None, 1, "a", [], {"b": None, "a": [1.0, {"é": 1}]}, [None])],
    *[{"port": value} for value in (1, "a", 1.0, None, '"', True)],
    *[{"gone": value} for value in ({}, {"a": 1}, None, 1)],
    *[{"many": value} for value in ([], None, [{}], [None], [{"time": "x"}, {"time": METADATA["creationTimestamp"]}])],
    *[{"times": value} for value in ({}, None, {"a": "x"}, {"a": METADATA["creationTimestamp"], "": "x"}, {"a": None})],
    *[{"maps": value} for value in ({"a": []}, {"a": [{"whole": 1}, {"time": "y"}], "b": []}, {"a": None})],
    *[{"maybe": value} for value in ("a", None)],
    *[{"set": value} for value in (1, None, "1")],
    *[{"deep": value} for value in ({}, None, {"whole": 2}, {"whole": None, "text": "t"})],
    *[{"inner": value} for value in ({}, None, {"whole": 2})],
    {"unknown": 1, "text": "a", "many": [{"unknown": 1, "whole": 1}]},
]


def test_each_value_of_each_column_is_as_the_exact_read_gives_it():
    definition = definition_of({"spec": NESTED, "status": NESTED})
    values = [data for spec in SPECS for data in (stored(spec), stored({}, status=spec, more=spec))]
    assert compared(definition, values) > len(values) * 0.5
    for data in values:
        compared(definition, [data])
        for columns in (["spec"], ["status", "key"], ["metadata"], ["_rest"], ["spec", "_rest"], ["stored_object"]):
            compared(definition, [data, values[0]], columns)


BYTES = [
    (b'"any":{"a":1', b'"any":{"a":1e999'),
    (b'"any":{"a":1', b'"any":{"a":1E+400'),
    (b'"any":{"a":1', b'"any":{"a":-' + b"1" * 400),
    (b'"any":{"a":1', b'"any":{"a":' + b"1" * 250 + b"e99"),
    (b'"any":{"a":1', b'"any":{"a":"\xff"'),
    (b'"any":{"a":1', b'"any":{"a":"\\ud800"'),
    (b'"any":{"a":1', b'"any":{"b":2,"a":1e999,"a":1'),
    (b'"any":{"a":1', b'"any":1e999,"any":{"a":1'),
    (b'"any":{"a":1', b'"any":{"a":-0'),
    (b'"any":{"a":1', b'"any":{"a":' + b"[" * 200 + b"]" * 200),
    (b'"kind":', b'"pruned":1e999,"kind":'),
    (b'"kind":', b'"pruned":[1,-1e1000],"kind":'),
    (b'"kind":', b'"pruned":"\xff\xfe","kind":'),
    (b'"kind":', b'"pruned":' + b"[" * 900 + b"]" * 900 + b',"kind":'),
    (b'"kind":', b'"pruned":{"a":1,"a":2},"kind":'),
    (b'"kind":', b'"Kind":"Other","kind":'),
    (b'"kind":"Widget"', b'"kind":"Other","kind":"Widget"'),
    (b'"text":"a"', b'"text":"b","text":"a"'),
    (b'"text":"a"', b'"t\\u0065xt":"a"'),
    (b'"text":"a"', b'"text":"\xff"'),
    (b'"whole":1', b'"whole":-0'),
    (b'"whole":1', b'"whole":1e0'),
    (b'"number":1', b'"number":-0'),
    (b'"number":1', b'"number":1e22'),
    (b'"number":1', b'"number":0.1e-400'),
    (b'"generation":1', b'"generation":0'),
    (b'"generation":1', b'"generation":1.0'),
    (b'"generation":1', b'"generation":null'),
    (b'"generation":1,', b""),
    (b'"name":"a",', b""),
    (b'"name":"a"', b'"name":""'),
    (b'"name":"a"', b'"name":"a","labels":{}'),
    (b'"name":"a"', b'"name":"a","labels":{"b":"c","a":""},"annotations":{"z":"1","a":"2","z":"3"}'),
    (b'"name":"a"', b'"name":"a","labels":{"b":null}'),
    (b'"name":"a"', b'"name":"a","labels":null'),
    (b'"name":"a"', b'"name":"a","unknown":{"x":1e999}'),
    (b'"name":"a"', b'"name":"a","unknown":{"x":1}'),
    (b'"name":"a"', b'"name":"a","finalizers":["a",""]'),
    (b'"name":"a"', b'"name":"a","resourceVersion":"5","selfLink":"x","generateName":"y","uid":"u"'),
    (b'"name":"a"', b'"name":"a","deletionTimestamp":"2024-01-01T00:00:00Z","deletionGracePeriodSeconds":0'),
    (b'"name":"a"', b'"name":"a","deletionTimestamp":null,"deletionGracePeriodSeconds":null'),
    (b'"name":"a"', b'"name":"a","deletionTimestamp":"0001-01-01T00:00:00Z"'),
    (b'"name":"a"', b'"name":"a","ownerReferences":[{"apiVersion":"","kind":"K","name":"n","uid":"u","x":1}]'),
    (b'"name":"a"', b'"name":"a","ownerReferences":[{"kind":"K","name":"n","uid":"u"}]'),
    (b'"name":"a"', b'"name":"a","ownerReferences":[]'),
    (b'"name":"a"', b'"name":"a","managedFields":[{"manager":"m","fieldsV1":{"f:a":{},"b":{".":{}}},"time":"2024-01-01T00:00:00Z"}]'),
    (b'"name":"a"', b'"name":"a","managedFields":[{"manager":"m","fieldsV1":{"f:a":1.0}}]'),
    (b'"name":"a"', b'"name":"a","managedFields":[{"manager":"","fieldsV1":null,"time":null}]'),
    (b'"name":"a"', b'"name":"a","managedFields":[{"time":"2024-01-01T00:00:00.5Z"}]'),
    (b'"name":"a"', b'"name":"a","managedFields":[{}]'),
    (b'"2024-01-01T00:00:00Z"', b"null"),
    (b'"2024-01-01T00:00:00Z"', b'"2024-01-01T00:00:00.5Z"'),
    (b'"2024-01-01T00:00:00Z"', b'"2024-01-01T00:00:00+02:00"'),
    (b'"2024-01-01T00:00:00Z"', b'"0001-01-01T00:00:00Z"'),
    (b'"2024-01-01T00:00:00Z"', b'"2024-02-30T00:00:00Z"'),
    (b'"2024-01-01T00:00:00Z"', b'"2024-02-29T24:00:00Z"'),
    (b'"2024-01-01T00:00:00Z"', b"5"),
    (b'"metadata":{', b'"metadata":{"name":5,"name":"z"},"metadata":{'),
    (b'example.com/v1"', b'example.com/v2"'),
    (b'{"apiVersion"', b'\xef\xbb\xbf{"apiVersion"'),
    (b'{"apiVersion"', b' \n{"apiVersion"'),
    (b'{"apiVersion"', b'{"apiVersion"'[:5]),
]  # fmt: skip


@pytest.mark.parametrize("release", [RELEASES[0], RELEASES[-1]], ids=str)
def test_odd_bytes_are_read_as_the_exact_read_reads_them(release):
    definition = definition_of({"spec": NESTED})
    plain = stored({"any": {"a": 1}, "text": "a", "whole": 1, "number": 1})
    values = []
    for old, new in BYTES:
        assert old in plain, old
        values.append(plain.replace(old, new, 1))
    values += [b"", b"null", b"[]", b"{}", plain + b" ", plain + b"x", plain[:-1], b"\xd9\xd9\xf7\xa0"]
    with running_as(release):
        assert compared(definition, values) > 10
        for data in values:
            compared(definition, [data])
            compared(definition, [data], ["spec"])
            compared(definition, [data], ["key"])


def test_numbers_beyond_a_double_are_found_wherever_they_are():
    plain = stored({"text": "4e120-7e1234-0e999" + "5" * 100, "number": 1e20, "time": "a5e999"})
    numbers = [
        b"1e999",
        b"1E+308",
        b"-1e0400",
        b"1.5e310",
        b"9" * 310,
        b"9" * 230 + b"e80",
        b"0." + b"0" * 500 + b"1e999",
    ]
    assert overflowing([plain] * 200) == set()
    assert overflowing([]) == overflowing([b""]) == set()
    for number in numbers:
        for before in (b'{"a":', b'{"a":[', b'{"a":[1,', b'{"a": ', b'{"a":\n', b'{"a":[1,\t'):
            odd = before + number + b"]}"
            assert overflowing([plain] * 70 + [odd] + [plain] * 70) == {70}, odd
            assert overflowing([odd]) == {0}


def test_merged_columns_have_records_only_if_they_are_those_of_the_definition():
    one, two = definition_of({"spec": NESTED}), definition_of({"spec": SCALARS["text"], "more": SCALARS["whole"]})
    same = KindColumns.merged([KindColumns.of(one), KindColumns.of(one)])
    assert same.reader(one) is not None
    merged = KindColumns.merged([KindColumns.of(one), KindColumns.of(two)])
    assert [merged.reader(each) for each in (one, two)] == [None, None]
    assert merged.reader(two, ["more"]) is not None
    assert merged.reader(one, ["more"]) is None
    folded = definition_of({"Spec": NESTED, "spec": NESTED, "status": NESTED})  # neither has a column
    assert KindColumns.of(folded).reader(folded) is None
    assert KindColumns.of(folded).reader(folded, ["status"]) is not None


def some_paths(columns, random):
    """Return a few paths of fields of some columns."""
    paths = set()
    for _ in range(4):
        name = random.choice(sorted(columns.fields))
        column, path = columns.fields[name], [name.lower()]
        while column.fields and random.random() < 0.8:
            name, column = random.choice(column.fields)
            path.append(name.lower())
        paths.add(tuple(path))
    return frozenset(paths)


def cut(whole, narrow):
    """Return a value with the fields alone that a narrower type has."""
    if pa.types.is_struct(narrow) and whole is not None:
        return {field.name: cut(whole[field.name], field.type) for field in narrow}
    return whole


@pytest.mark.parametrize("wild", [0.0, 0.2])
def test_narrowed_columns_hold_the_same_values(wild):
    fewer = 0
    for seed in range(60):
        definition, texts = drawn(seed, wild, 4)
        whole = KindColumns.of(definition)
        narrow = whole.narrowed(some_paths(whole, Random(seed)))
        names = [name for name in narrow.schema.names if name != "_rest"]
        reader = narrow.reader(definition, names)
        objects = [read_object(definition, whole.version, data).object for data in texts]
        made = [None] * len(texts) if reader is None else reader.read_all(texts, [None] * len(texts))
        expected = whole.exact_batch([TableRow(object=obj) for obj in objects], names).to_pylist()
        for rows in ([TableRow(object=record or obj) for record, obj in zip(made, objects, strict=True)], objects):
            batch = narrow.batch([row if isinstance(row, TableRow) else TableRow(object=row) for row in rows], names)
            for got, row in zip(batch.to_pylist(), expected, strict=True):
                assert got == {field.name: cut(row[field.name], field.type) for field in batch.schema}, seed
        fewer += narrow.schema != whole.schema
    assert fewer > 30


def test_a_path_that_leads_nowhere_keeps_the_column_whole():
    columns = KindColumns.of(definition_of({"spec": NESTED}))
    assert columns.narrowed(frozenset({("spec", "tex")})).schema.field("spec") == columns.schema.field("spec")
    assert columns.narrowed(frozenset({("spec",), ("spec", "text")})).schema.field("spec") == columns.schema.field(
        "spec"
    )
    narrow = columns.narrowed(frozenset({("spec", "deep", "text"), ("spec", "flag"), ("text",)})).schema.field("spec")
    assert [field.name for field in narrow.type] == ["deep", "flag"]
    assert [field.name for field in narrow.type.field("deep").type] == ["text"]
