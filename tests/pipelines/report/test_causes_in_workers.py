"""Workers count causes: of the shards that they write, or of the parts of a large report that is compared."""

import base64
import json
import os
from pathlib import Path

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
        path = etcd(folder / f"{number}.json", 100 * (number + 1), crd, *objects, torn=keys)
        document = json.loads(path.read_text())
        if not number:  # n1 to n3 are missing
            value = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n0", "uid": "n0"}}
            pair = {"key": b"/registry/namespaces/n0", "value": json.dumps(value).encode()}
            texts = {name: base64.b64encode(part).decode() for name, part in pair.items()}
            document["kvs"].append(document["kvs"][0] | texts)
            document["count"] += 1
        path.write_text(json.dumps(document))
        yield str(path)


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


def test_what_is_new_is_counted_as_if_all_were_read(tmp_path, monkeypatch, nights, rules):
    given, first = nights
    options = {**rules, "diff": str(first)}
    here = audited(tmp_path / "here", given, jobs=1, **options)
    (tmp_path / "accept.yaml").write_text("[]")  # with it all parts are read
    read = audited(tmp_path / "read", given, jobs=1, accept=str(tmp_path / "accept.yaml"), **options)
    assert read[2] == here[2]
    calls = []
    processes = run_audit.run_processes
    monkeypatch.setattr(run_audit, "_LEAST_PARTS", 2)
    monkeypatch.setattr(run_audit, "run_processes", lambda *a, **k: calls.append(1) or processes(*a, **k))
    assert audited(tmp_path / "apart", given, jobs=2, **options) == here
    assert calls == [1]
    assert here[0] == 1
    assert any(kind["breaking"] for kind in here[1]["kinds"])
    assert [entry["name"] for entry in here[1]["namespaces"]] == ["n1", "n2", "n3"]


@pytest.mark.parametrize("changed", [(), (2,), (0, 3)])
def test_only_parts_in_which_something_is_new_are_read_again(tmp_path, monkeypatch, nights, rules, changed):
    given, _ = nights
    first = tmp_path / "first"
    audited(first, given, jobs=1, **rules)
    later = [*given]
    for number in changed:
        document = json.loads(Path(given[number]).read_text())
        kv = document["kvs"][6]
        kv["key"] = base64.b64encode(base64.b64decode(kv["key"]) + b"x").decode()
        later[number] = str(tmp_path / Path(given[number]).name)
        Path(later[number]).write_text(json.dumps(document))
    counted = []
    count = PartCounter.count
    monkeypatch.setattr(PartCounter, "count", lambda counter, name: counted.append(name) or count(counter, name))
    here = audited(tmp_path / "here", tuple(later), jobs=1, diff=str(first), **rules)
    assert counted == [f"part-{number:05}.parquet" for number in changed]
    (tmp_path / "accept.yaml").write_text("[]")
    read = audited(
        tmp_path / "read", tuple(later), jobs=1, diff=str(first), accept=str(tmp_path / "accept.yaml"), **rules
    )
    assert read[2] == here[2]


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
    assert [list(work([name])) for name in names] == [[name] for name in names]
    assert len(made) == 1
