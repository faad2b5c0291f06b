"""Shards are alike in bytes, whatever the workers; a report is the same file for file, and one poison object harms no other."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auditor import CrdCatalog
from auditor.base import tables
from auditor.plan.cut import cut_shards
from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import Plan, make_plan
from auditor.program.program import AuditProgram
from auditor.sources.source_plan import SourcePlan
from pipelines.run.audit import run_audit
from tests.benchmarks.definitions import synthetic, write_dump
from tests.counting import calls_of, steps_of
from tests.documents import thing_definition

MIB = 1 << 20
OPTIONS = AuditOptions(dumps=())


def planned(folder, *sources, options=OPTIONS):
    """Return a plan whose sources have values of these lengths."""
    plans = []
    for number, lengths in enumerate(sources):
        live = folder / f"live-{number}.arrow"
        columns = {field.name: pa.nulls(len(lengths), field.type) for field in tables.LIVE_KEYS}
        columns["length"] = pa.array(lengths, pa.int64())
        with pa.OSFile(str(live), "wb") as sink, pa.ipc.new_file(sink, tables.LIVE_KEYS) as writer:
            writer.write_table(pa.table(columns, schema=tables.LIVE_KEYS))
        plans.append(SourcePlan(f"dump-{number}", "ndjson", "", "", None, None, True, str(live), len(lengths)))
    return Plan(tuple(plans), "", (), frozenset(), "", options)


@pytest.mark.parametrize(
    ("lengths", "count"),
    [
        ([], 0),
        ([5], 1),
        ([1000] * 500, 1),
        ([1000] * 3000, 3),
        ([2000] * 20_000, 12),
        ([100_000] * 2000, 24),
        ([0] * 100_000, 12),
        ([20] * 1_000_000, 72),
    ],
)
def test_shards_are_alike_and_workers_share_them_evenly(tmp_path, lengths, count):
    shards = cut_shards(planned(tmp_path, lengths))
    assert len(shards) == count
    assert [one.shard.number for one in shards] == list(range(count))
    ends = [0, *(one.shard.stop for one in shards)]
    assert [one.shard.start for one in shards] == ends[:-1]
    assert ends[-1] == len(lengths)
    assert [one.bytes for one in shards] == [sum(lengths[one.shard.start : one.shard.stop]) for one in shards]
    assert all(one.bytes <= 1.05 * OPTIONS.shard_bytes for one in shards)
    if count > 1:
        rows = [one.shard.stop - one.shard.start for one in shards]
        assert max(rows) <= 1.1 * min(rows)


def test_mixed_sizes_are_shared_out_by_bytes(tmp_path):
    lengths = np.random.default_rng(8).lognormal(7.5, 1.5, 50_000).astype(int).tolist()
    weights = [one.bytes for one in cut_shards(planned(tmp_path, lengths))]
    assert len(weights) % 12 == 0
    assert sum(weights) == sum(lengths)
    assert max(weights) < 1.5 * sum(weights) / len(weights)


@pytest.mark.parametrize("place", [0, 1000, 1999])
def test_an_object_greater_than_a_shard_is_in_one_and_leaves_none_empty(tmp_path, place):
    lengths = [10_000] * 2000
    lengths[place] = 100 * MIB
    shards = cut_shards(planned(tmp_path, lengths))
    assert all(one.shard.start < one.shard.stop for one in shards)
    assert shards[-1].shard.stop == 2000
    others = [one.bytes for one in shards if not one.shard.start <= place < one.shard.stop]
    assert others
    assert max(others) <= 1.05 * OPTIONS.shard_bytes


def test_each_dump_is_cut_by_itself_and_all_shards_together_are_alike(tmp_path):
    shards = cut_shards(planned(tmp_path, [1000] * 10_000, [], [3], [4000] * 10_000))
    by_source = {number: [one for one in shards if one.source == number] for number in range(4)}
    assert [len(by_source[number]) for number in range(4)] == [3, 0, 1, 9]
    assert [one.shard.number for one in shards] == list(range(len(shards)))
    for number, rows in ((0, 10_000), (2, 1), (3, 10_000)):
        assert by_source[number][0].shard.start == 0
        assert by_source[number][-1].shard.stop == rows


def test_a_small_cluster_of_a_fleet_is_one_shard_as_one_worker_audits_it(tmp_path):
    in_fleet = replace(OPTIONS, in_fleet=True)
    small, large = [2000] * 3000, [2000] * 20_000
    assert [len(cut_shards(planned(tmp_path, small, options=options))) for options in (OPTIONS, in_fleet)] == [5, 1]
    assert cut_shards(planned(tmp_path, large, options=in_fleet)) == cut_shards(planned(tmp_path, large))


def test_the_cut_does_not_know_how_many_work(tmp_path):
    lengths = [3000] * 9000
    cuts = [
        cut_shards(planned(tmp_path, lengths, options=replace(OPTIONS, jobs=jobs, engine=engine)))
        for jobs, engine in ((1, "inline"), (3, "processes"), (64, "processes"))
    ]
    assert cuts[0] == cuts[1] == cuts[2]


# -- whole audits ------------------------------------------------------------------------------------------------------


def definition(items):
    properties = {
        "size": {"type": "integer", "maximum": 900},
        "color": {"type": "string", "default": "blue"},
        "items": items,
    }
    return thing_definition({"type": "object", "properties": properties}, selectable=".spec.color")


def thing(name, **spec):
    head = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"namespace": "d", "name": name}}
    return json.dumps({**head, "spec": spec}) + "\n"


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    (folder / "crd.json").write_text(json.dumps(definition({"type": "array", "items": {"type": "string"}})))
    text = "".join(
        thing(f"x{number}", size=number, **({"lost": 1} if number % 7 else {}), items=["a"] * (number % 40))
        for number in range(1000)
    )
    (folder / "dump.ndjson").write_text(text + '{"apiVersion":"x.example.com/v1","kind":"X","metadata":{"name":3}}\n')
    return folder


def audit(dump, report, **options):
    given = AuditOptions(
        dumps=(str(dump / "dump.ndjson"),),
        crds=(str(dump / "crd.json"),),
        report=str(report),
        fail_on="never",
        **options,
    )
    return run_audit(given)[1]


def parts(report):
    return {str(path.relative_to(report)): path.read_bytes() for path in report.rglob("*.parquet")}


def without_times(manifest):
    return {name: value for name, value in manifest.items() if name not in ("started", "seconds")}


@pytest.fixture(scope="module")
def alone(dump, tmp_path_factory):
    report = tmp_path_factory.mktemp("alone") / "r"
    return audit(dump, report, engine="inline", shard_bytes=50_000), report


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_any_number_of_workers_gives_the_same_bytes(dump, alone, tmp_path, jobs):
    manifest, report = alone
    expected = parts(report)
    assert sum(name.startswith("objects/") for name in expected) == 12
    other = audit(dump, tmp_path / "r", jobs=jobs, shard_bytes=50_000)
    assert parts(tmp_path / "r") == expected
    assert other["counts"] == manifest["counts"]
    assert other["kinds"] == manifest["kinds"]
    assert other["findings"] == manifest["findings"]


def test_the_parts_together_are_in_the_order_of_keys(alone):
    _, report = alone
    tables_in_order = [pq.read_table(path) for path in sorted((report / "objects").glob("*.parquet"))]
    names = [name for table in tables_in_order for name in table["name"].to_pylist()]
    assert names == [None, *sorted(f"x{number}" for number in range(1000))]


STRINGS = {"type": "array", "items": {"type": "string"}}
NAMED = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 3}, "filled": {"type": "string", "default": "y"}},
}
POISON = {
    "a long list": (False, STRINGS, [f"value-{at:06d}" for at in range(100_000)]),
    "each item is wrong": (
        False,
        {"type": "array", "items": {"type": "string", "pattern": "^a$"}},
        [f"value-{at:06d}" for at in range(100_000)],
    ),
    "a set": (False, {**STRINGS, "x-kubernetes-list-type": "set"}, [f"value-{at:06d}" for at in range(100_000)]),
    "a set of the same": (False, {**STRINGS, "x-kubernetes-list-type": "set"}, ["a-value-to-see"] * 100_000),
    "each item of a map is wrong, loses and gains": (
        True,
        {"type": "array", "items": NAMED, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        [{"name": f"n{at:05d}", "lost": 1} for at in range(100_000)],
    ),
    "a rule over pairs": (
        True,
        {**STRINGS, "x-kubernetes-validations": [{"rule": "self.all(x, self.exists_one(y, x == y))"}]},
        [f"value-{at:06d}" for at in range(100_000)],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", POISON)
def test_a_poison_object_starves_no_other_object(tmp_path, kind):
    """A 1.5 MiB object with a list of 100,000 takes seconds of one worker; the others take everything else."""
    is_slow, items, poison = POISON[kind]
    (tmp_path / "crd.json").write_text(json.dumps(definition(items)))
    text = [thing(f"x{number}", size=1, items=[]) for number in range(4000)]
    text.insert(10, thing("poison", size=1, items=poison))
    (tmp_path / "dump.ndjson").write_text("".join(text))
    manifest = audit(tmp_path, tmp_path / "r", jobs=2, shard_bytes=200_000)
    assert manifest["lost"] == []
    assert manifest["not_evaluated"] == []
    assert sum(manifest["counts"]["statuses"].values()) == 4001
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "r" / "objects").glob("*")}
    found = {path: {row["name"]: row["status"] for row in pq.read_table(path).to_pylist()} for path in written}
    statuses = {name: status for part in found.values() for name, status in part.items()}
    assert {status for name, status in statuses.items() if name != "poison"} == {"valid"}
    [held] = (path for path, names in found.items() if "poison" in names)
    if is_slow:
        assert sum(at < written[held] for at in written.values()) > len(written) / 2


@pytest.mark.parametrize("kind", [kind for kind in POISON if kind != "a rule over pairs"])
def test_the_work_for_a_list_grows_as_its_length(kind):
    _, items, poison = POISON[kind]
    catalog = CrdCatalog.from_documents([definition(items)])
    [crd] = catalog.crds.values()
    program = AuditProgram(crd, crd.versions["v1"], warm_up=0)
    few, many = (thing("poison", size=1, items=poison[:count]).encode() for count in (300, 2400))
    program.audit(few)
    assert steps_of(lambda: program.audit(many)) < 12 * steps_of(lambda: program.audit(few))
    assert calls_of(lambda: program.audit(many)) < 12 * calls_of(lambda: program.audit(few))


def test_kinds_with_few_objects_are_shared_out_as_what_their_definitions_cost(tmp_path):
    number = 120
    definitions = [synthetic(at) for at in range(number)]
    for one in definitions:  # as large as real ones are
        one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "x" * 60_000
    write_dump(tmp_path / "dump.json", definitions, number, number, corpus=False)
    plan = make_plan(AuditOptions(dumps=(str(tmp_path / "dump.json"),)), tmp_path)
    shards = cut_shards(plan)
    defined = number  # rows of definitions come first
    with_objects = [one for one in shards if one.shard.stop > defined]
    assert len(shards) == 12
    assert len(with_objects) > 6
    assert [one.is_last for one in shards] == [one.shard.start < defined for one in shards]
    assert shards[0].is_last
    assert sum(one.shard.stop - one.shard.start for one in shards) == 2 * number
    in_fleet = replace(plan, options=replace(plan.options, in_fleet=True))
    assert len([one for one in cut_shards(in_fleet) if one.shard.stop > defined]) == 1
