"""Inputs that benchmarks derive from drawn objects: JSON Schemas for a peer, files, fleets."""

import base64
import json

import pytest

from tests.benchmarks import drawn, fleets, harness, large, peers, yardstick
from tests.command import auditor
from tests.documents import definition_of
from tests.shared import ROOT, shared


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({"type": "string", "pattern": "^a", "description": "d"}, {"type": "string", "pattern": "^a"}),
        ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"x-kubernetes-int-or-string": True}, {"type": ["integer", "string"]}),
        ({"x-kubernetes-int-or-string": True, "nullable": True}, {"type": ["integer", "string", "null"]}),
        ({"type": "integer", "maximum": 5, "exclusiveMaximum": True}, {"type": "integer", "exclusiveMaximum": 5}),
        ({"type": "integer", "maximum": 5, "exclusiveMaximum": False}, {"type": "integer", "maximum": 5}),
        ({"type": "array", "items": {"type": "boolean"}}, {"type": "array", "items": {"type": "boolean"}}),
        (
            {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3},
            {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3},
        ),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"type": "object"}),
        ({"type": "object", "x-kubernetes-validations": [{"rule": "false"}]}, {"type": "object"}),
        (
            {
                "type": "object",
                "required": ["a", "b"],
                "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}},
            },
            {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            },
        ),
        (
            {"type": "object", "anyOf": [{"required": ["a"]}, {"not": {"required": ["b"]}}]},
            {"type": "object", "anyOf": [{"required": ["a"]}, {"not": {"required": ["b"]}}]},
        ),
    ],
)
def test_a_schema_of_a_definition_becomes_json_schema(schema, made):
    assert peers.json_schema(schema) == made


def test_there_is_a_json_schema_for_each_drawn_kind(tmp_path):
    shared("corpus/crds")
    crds, schemas = peers.write_definitions(tmp_path)
    assert sorted(path.name for path in schemas.iterdir()) == sorted(
        f"{group}_{kind.lower()}_{version}.json"
        for kind, version, group in (one.partition("=")[0].split(".", 2) for one in yardstick.KINDS.split(","))
    )
    assert len(list(crds.iterdir())) == 7
    route = json.loads((schemas / "gateway.networking.k8s.io_httproute_v1.json").read_text())
    assert route["properties"]["spec"]["properties"]["rules"]["type"] == "array"


@pytest.mark.parametrize(("count", "chosen"), [(7, [0, 1, 2, 3, 4, 5, 6]), (2, [3, 6]), (1, [6]), (3, [2, 4, 6])])
def test_files_are_chosen_evenly(count, chosen, tmp_path):
    corpus = tmp_path / "corpus.ndjson"
    lines = [b'{"n":%d}\n' % number for number in range(7)]
    corpus.write_bytes(b"".join(lines))
    folder, together = peers.write_files(corpus, tmp_path / "few", 7, count)
    assert together.read_bytes() == b"".join(lines[number] for number in chosen)
    assert [path.read_bytes() for path in sorted(folder.iterdir())] == [lines[number] for number in chosen]


def test_the_beginning_of_a_larger_corpus_is_not_drawn_again(tmp_path, monkeypatch):
    monkeypatch.setattr(yardstick.subprocess, "run", None)
    monkeypatch.setattr(yardstick, "has_generator", lambda: True)
    lines = [b'{"n":%d}\n' % number for number in range(9)]
    (tmp_path / "bench-2-9.ndjson").write_bytes(b"".join(lines))
    (tmp_path / "bench-2-9-Widget.ndjson").write_bytes(b"other\n")
    (tmp_path / "bench-2-3.ndjson").write_bytes(b"".join(lines[:3]))
    made = yardstick.draw("bench-2", 5, tmp_path)
    assert made.name == "bench-2-5.ndjson"
    assert made.read_bytes() == b"".join(lines[:5])
    assert yardstick.draw("bench-2", 5, tmp_path) == made
    assert not list(tmp_path.glob("*.part"))


def test_what_is_no_beginning_of_a_corpus_is_drawn(tmp_path, monkeypatch):
    for other in ("bench-2-4", "bench-30-9", "bench-2-own-9"):
        (tmp_path / f"{other}.ndjson").write_bytes(b"{}\n" * 9)
    asked = []
    monkeypatch.setattr(yardstick, "build", lambda name, cache: name)
    monkeypatch.setattr(yardstick, "has_generator", lambda: True)
    monkeypatch.setattr(yardstick, "crds", lambda: tmp_path)
    monkeypatch.setattr(
        yardstick.subprocess,
        "run",
        lambda command, **_: asked.append(command) or (tmp_path / "bench-2-5.part").write_bytes(b"drawn\n"),
    )
    assert yardstick.draw("bench-2", 5, tmp_path).read_bytes() == b"drawn\n"
    [command] = asked
    assert command[command.index("-kinds") + 1] == yardstick.KINDS
    assert command[command.index("-n") + 1] == "5"


@pytest.fixture
def timed_here(monkeypatch):
    """What benchmarks measure is run in this process."""

    def timed(command, **_):
        start, words = command.index("pipelines") + 1, [str(word) for word in command]
        ended = auditor(*words[start:])
        assert ended.code == 0, ended.output
        return harness.Run(1.0, 1.0, ended.stdout)

    monkeypatch.setattr(harness, "timed", timed)


@pytest.mark.usefixtures("timed_here")
def test_an_audit_that_lost_keys_is_no_figure(tmp_path):
    dump = tmp_path / "dump.ndjson"
    dump.write_text('{"apiVersion":"x.example.com/v1","kind":"X","metadata":{"name":"a"}}\n' * 3)
    crds = ROOT / "sample-data" / "next-crds.yaml"
    run = harness.audit(dump, crds, objects=3)
    assert run.manifest["counts"]["statuses"] == {"orphaned": 3}
    with pytest.raises(SystemExit, match="3 keys are in the report, 4 were in the dump"):
        harness.audit(dump, crds, objects=4)


def test_clusters_of_a_fleet_have_definitions_that_differ_in_uid_and_time(tmp_path):
    line = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"name": "a", "namespace": "b"}}
    document = definition_of({"type": "object"})
    assert fleets.write_fleet(tmp_path / "fleet", [json.dumps(line).encode()], [1, 1], [document]) == 2
    found = []
    for path in sorted((tmp_path / "fleet").iterdir()):
        values = [json.loads(base64.b64decode(row["value"])) for row in json.loads(path.read_text())["kvs"]]
        assert line in values
        found += [value for value in values if value["kind"] == "CustomResourceDefinition"]
    one, other = found
    assert one["spec"] == other["spec"] == document["spec"]
    assert one["metadata"]["uid"] != other["metadata"]["uid"]
    assert one["metadata"]["creationTimestamp"] != other["metadata"]["creationTimestamp"]
    assert "uid" not in document["metadata"]


SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size", "color", "at", "names", "port", "tags"],
            "properties": {
                "size": {"type": "integer", "minimum": 3, "maximum": 5},
                "color": {"type": "string", "enum": ["red", "blue"]},
                "at": {"type": "string", "format": "date-time"},
                "names": {"type": "array", "minItems": 2, "items": {"type": "string", "pattern": "^[a-z]+$"}},
                "port": {"x-kubernetes-int-or-string": True},
                "tags": {"type": "object", "additionalProperties": {"type": "string", "minLength": 30}},
                "more": {"type": "object", "oneOf": [{"required": ["a"]}], "properties": {"a": {"type": "boolean"}}},
            },
        }
    },
}


def drawn_objects(**options):
    lines = drawn.drawn_lines([definition_of(SCHEMA)], "Gone.v1.example.com=9,X.v1.x.example.com=1", 200, **options)
    return [json.loads(line) for line in lines]


@pytest.mark.usefixtures("timed_here")
def test_objects_drawn_from_a_schema_fit_it_and_are_drawn_again(tmp_path):
    objects = drawn_objects(pool=20)
    assert objects == drawn_objects(pool=20)
    assert objects != drawn_objects(pool=20, seed=7)
    assert len({json.dumps(one["spec"]) for one in objects}) <= 20
    assert len({one["metadata"]["name"] for one in objects}) == 200
    crd, dump = tmp_path / "crd.json", tmp_path / "dump.ndjson"
    crd.write_text(json.dumps(definition_of(SCHEMA)))
    dump.write_text("".join(json.dumps(one) + "\n" for one in objects))
    assert harness.audit(dump, crd, objects=200).manifest["counts"]["statuses"] == {"valid": 200}


@pytest.mark.usefixtures("timed_here")
def test_a_share_of_drawn_objects_has_a_defect(tmp_path):
    crd, dump = tmp_path / "crd.json", tmp_path / "dump.ndjson"
    crd.write_text(json.dumps(definition_of(SCHEMA)))
    dump.write_text("".join(json.dumps(one) + "\n" for one in drawn_objects(pool=20, invalid=0.3)))
    statuses = harness.audit(dump, crd, objects=200).manifest["counts"]["statuses"]
    assert 30 < statuses["invalid"] < 90


def test_kinds_without_a_definition_are_not_drawn():
    with pytest.raises(ValueError, match="no definition of Gone"):
        next(drawn.drawn_lines([definition_of(SCHEMA)], "Gone.v1.example.com=9", 1, pool=1))


def test_of_more_objects_than_bodies_some_have_another_name(tmp_path):
    corpus = tmp_path / "corpus.ndjson"
    lines = [
        b'{"metadata":{"name":"a","namespace":"n"},"spec":{"big":1e999,"text":"\\u00e9"}}\n',
        b'{"metadata":{"name":7},"spec":{}}\n',
    ]
    corpus.write_bytes(b"".join(lines))
    made = list(large.copies(corpus, 3))
    assert made[:2] == lines
    assert made[2] == b'{"metadata":{"name":"a-1","namespace":"n"},"spec":{"big":1e999,"text":"\\u00e9"}}'
    assert large.renamed(lines[1], 1) == lines[1]


def test_the_yardstick_goes_on_after_a_number_that_orjson_refuses(tmp_path):
    corpus = tmp_path / "corpus.ndjson"
    corpus.write_bytes(b'{"big":1e999}\n{"small":1}\n')
    assert large.decoding(corpus) > 0
    assert list(yardstick.decoded(corpus.read_bytes().splitlines())) == [(b'{"small":1}', {"small": 1})]
