"""A definition is read by the worker that judges its objects, and by no other worker for its own row."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from auditor.base.records import Shard
from auditor.crds.usable import UsableDefinitions
from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import SourceShard, make_plan
from auditor.shards import judge, shard_keys
from auditor.shards.shard_audit import ShardAuditor
from tests.benchmarks.definitions import synthetic, write_dump

COUNT, PLAIN, RULED, BROKEN, UNUSABLE = 5, 0, 1, 2, 3
"""Definitions of the dump, and what some of them are; the last has no objects."""


def definitions():
    made = [synthetic(number) for number in range(COUNT)]
    for number, rule in ((RULED, "self.spec.name.size() < 64"), (BROKEN, "self.spec.name < 64")):
        root = made[number]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        root["x-kubernetes-validations"] = [{"rule": rule}]
    made[UNUSABLE]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {"type": "nothing"}
    return made


@pytest.fixture
def plan(tmp_path):
    write_dump(tmp_path / "dump.json", definitions(), 4 * (COUNT - 1), COUNT - 1, corpus=False)
    return make_plan(AuditOptions(dumps=(str(tmp_path / "dump.json"),), jobs=2), tmp_path)


@pytest.fixture
def parsed(monkeypatch):
    """Names of the definitions that were parsed."""
    names = []
    for module in (judge, shard_keys):

        def parse(document, *, given=module.parse_definition, **words):
            names.append(int(document["spec"]["group"][1:5]))
            return given(document, **words)

        monkeypatch.setattr(module, "parse_definition", parse)
    return names


def shards(plan):
    """Return two shards: the definitions, and the objects."""
    rows = plan.sources[0].rows
    return SourceShard(0, Shard(0, 0, COUNT), 1), SourceShard(0, Shard(1, COUNT, rows), 1)


def rows_of(parts):
    return [row for folder in ("objects", "findings") for row in pq.read_table(parts / folder).to_pylist()]


def test_a_definition_is_read_for_its_objects_alone_unless_it_is_broken(plan, parsed, tmp_path):
    defined, objects = shards(plan)
    folder = tmp_path / "usable"
    folder.mkdir()
    ShardAuditor(plan, str(tmp_path / "shared"), usable=UsableDefinitions(folder))(objects)
    assert sorted(parsed) == [PLAIN, RULED, BROKEN, UNUSABLE]
    parsed.clear()
    ShardAuditor(plan, str(tmp_path / "shared"), usable=UsableDefinitions(folder))(defined)
    assert parsed == [BROKEN]  # that the unusable one decodes is proven in another way
    for item in (defined, objects):
        ShardAuditor(plan, str(tmp_path / "alone"))(item)
    assert rows_of(tmp_path / "shared") == rows_of(tmp_path / "alone")
    findings = pq.read_table(tmp_path / "shared" / "findings" / "part-00000.parquet").to_pylist()
    assert [finding["name"] for finding in findings] == [plan.entries[BROKEN].name]


def test_a_definition_in_files_spares_no_row_of_one_in_the_dump(plan, tmp_path):
    folder = tmp_path / "usable"
    folder.mkdir()
    names = frozenset(entry.name for entry in plan.entries)
    given = replace(plan, from_files=names)
    ShardAuditor(given, str(tmp_path / "parts"), usable=UsableDefinitions(folder))(shards(plan)[1])
    assert not list(folder.iterdir())
