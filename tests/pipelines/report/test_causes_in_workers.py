"""Workers count causes: of the shards that they write, or of the parts of a large report that is compared."""

import json
import os

import pytest

from auditor.causes.parts import PartCounter
from auditor.plan.options import AuditOptions
from pipelines.run import audit as run_audit
from pipelines.run.fleet import run_anywhere
from tests.causes.reports import widget
from tests.pipelines.report.test_outcome import LOOSE, TIGHT, etcd

KEPT = ("started", "seconds", "programs", "fallbacks")
"""What differs from run to run, or with the number of workers."""


def dumps(folder, crd, torn):
    """Write five dumps of one cluster, and return their paths."""
    for number in range(5):
        objects = [widget(f"w{number}-{place}", {"size": place % 9}, namespace=f"n{place % 4}") for place in range(20)]
        keys = [f"n0/torn-{number}"] if torn else []
        yield str(etcd(folder / f"{number}.json", 100 * (number + 1), crd, *objects, torn=keys))


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """The dumps of two nights, and the report of the first."""
    folder = tmp_path_factory.mktemp("nights")
    both = []
    for name, crd, torn in (("first", LOOSE, False), ("second", TIGHT, True)):
        (folder / name).mkdir()
        both.append(tuple(dumps(folder / name, crd, torn)))
    report = folder / "first-report"
    run_anywhere(AuditOptions(dumps=both[0], report=str(report), jobs=1, fail_on="invalid"))
    return both[1], report


@pytest.fixture
def rules(tmp_path):
    (tmp_path / "owners.yaml").write_text("- team: bakers\n  namespace: n1\n")
    return {"severity": ("high namespace=n2",), "owners": str(tmp_path / "owners.yaml")}


def audited(report, given, **options):
    code = run_anywhere(AuditOptions(dumps=given, report=str(report), fail_on="invalid", **options))[0]
    manifest = json.loads((report / "manifest.json").read_bytes())
    tables = {
        path.relative_to(report).as_posix(): path.read_bytes()
        for path in sorted(report.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }
    return code, {name: value for name, value in manifest.items() if name not in KEPT}, tables


def test_workers_count_the_shards_that_they_write(tmp_path, nights, rules):
    given, _ = nights
    here = audited(tmp_path / "here", given, jobs=1, **rules)
    assert audited(tmp_path / "apart", given, jobs=2, **rules) == here
    (tmp_path / "accept.yaml").write_text("[]")  # with it they don't
    read = audited(tmp_path / "read", given, jobs=1, accept=str(tmp_path / "accept.yaml"), **rules)
    assert read[2] == here[2]


def test_workers_count_the_same_causes(tmp_path, monkeypatch, nights, rules):
    given, first = nights
    options = {**rules, "diff": str(first)}
    here = audited(tmp_path / "here", given, jobs=1, **options)
    calls = []
    count = run_audit.count_in_workers
    monkeypatch.setattr(run_audit, "_LEAST_PARTS", 2)
    monkeypatch.setattr("pipelines.run.audit.count_in_workers", lambda *a, **k: calls.append(1) or count(*a, **k))
    apart = audited(tmp_path / "apart", given, jobs=2, **options)
    assert calls == [1]
    assert apart == here
    assert here[0] == 1
    assert any(kind["breaking"] for kind in here[1]["kinds"])


def test_parts_at_which_workers_end_are_counted_by_the_parent(tmp_path, monkeypatch, nights, rules):
    """It counts them when the workers are gone."""
    given, first = nights
    here = audited(tmp_path / "here", given, jobs=1, diff=str(first), **rules)
    monkeypatch.setattr(run_audit, "_LEAST_PARTS", 2)
    monkeypatch.setattr(run_audit, "_counter_ready", EndsIn(os.getpid()))
    assert audited(tmp_path / "apart", given, jobs=2, diff=str(first), **rules) == here


class EndsIn:
    """Makes a worker ready that ends at its first item; in the parent process it counts."""

    ready = run_audit._counter_ready

    def __init__(self, parent):
        self.parent = parent

    def __call__(self, *given):
        if os.getpid() != self.parent:
            os._exit(9)
        return EndsIn.ready(*given)


@pytest.mark.parametrize(
    ("options", "is_worth"),
    [
        ({}, True),
        ({"jobs": 1}, False),
        ({"engine": "inline"}, False),
        ({"accept": "accept.yaml"}, False),
        ({"redact": "names"}, False),
    ],
)
def test_few_parts_and_some_options_need_this_process(tmp_path, options, is_worth):
    """Parts without causes do not count: here those of objects/, as no object is of a status that is one."""
    for table in ("objects", "findings"):
        (tmp_path / table).mkdir()
    manifest = {"counts": {"statuses": {"invalid": 24}}, "kinds": []}
    asked = AuditOptions(dumps=("x",), report="r", **{"jobs": 2, **options})
    for number in range(24):
        (tmp_path / "objects" / f"part-{number:05}.parquet").touch()
        assert not run_audit.is_worth_workers(asked, tmp_path, manifest)
        (tmp_path / "findings" / f"part-{number:05}.parquet").touch()
    assert run_audit.is_worth_workers(asked, tmp_path, manifest) == is_worth


def test_a_counter_of_parts_is_made_once_a_worker(tmp_path, nights, monkeypatch):
    """It keeps what it read of definitions."""
    made = []
    own = PartCounter.__init__

    def noted(self, *given):
        made.append(given)
        own(self, *given)

    monkeypatch.setattr(PartCounter, "__init__", noted)
    _, first = nights
    manifest = json.loads((first / "manifest.json").read_bytes())
    asked = AuditOptions(dumps=("x",), report="r", jobs=1)
    names = [path.name for path in sorted((first / "findings").glob("*.parquet"))]
    work = run_audit._counter_ready(asked, first, manifest)
    assert [work((at, [name]))[0] for at, name in enumerate(names)] == list(range(len(names)))
    assert len(made) == 1
