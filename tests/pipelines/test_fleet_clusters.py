"""Clusters of a fleet, each the work of one of several processes: the report is that of one process."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from auditor.base.errors import PlanError
from auditor.causes.build import build_causes, causes_of
from auditor.plan.options import AuditOptions
from pipelines.log import RunLog
from pipelines.run import fleet_clusters
from pipelines.run.fleet import run_anywhere
from tests.differential.reports import differences
from tests.pipelines.nights.support import Store, definition, loaf

CLUSTERS = 5


def dumps(folder: Path, night: int = 1) -> str:
    """Write dumps of clusters of several sizes, with definitions of their own and in common; one of them is torn."""
    folder.mkdir()
    for number in range(CLUSTERS):
        made = definition(most=100 + number // 2, rules=("self.grams != 7",))
        loafs = (loaf(f"l{at}", grams=at * night) for at in range(3 + 40 * (number == 2)))
        Store(made, *loafs, definition("Roll"), loaf("r", kind="Roll")).write(folder / f"c{number}.json", "etcdctl")
    (folder / "torn.json").write_bytes(b"\0\1 no dump")
    return f"{folder}/*.json"


def audit(pattern: str, report: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    made = AuditOptions(dumps=(pattern,), cluster="{1}", report=str(report), fail_on="never")
    return run_anywhere(replace(made, **options))


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Dumps of two nights, and a report of the first made by one process."""
    folder = tmp_path_factory.mktemp("nights")
    patterns = [dumps(folder / f"n{night}", night) for night in (1, 2)]
    audit(patterns[0], folder / "first", jobs=1)
    return folder, patterns


@pytest.mark.parametrize("jobs", [2, 3])
def test_the_report_of_a_fleet_is_the_same_with_several_workers(
    nights: tuple[Path, list[str]], jobs: int, tmp_path: Path
) -> None:
    folder, (first, second) = nights
    code, manifest = audit(first, tmp_path / "first", jobs=jobs)
    assert code == 3  # one cluster is torn, which costs the others nothing
    assert [one["name"] for one in manifest["clusters"]] == [f"c{number}" for number in range(CLUSTERS)]
    assert [one["cluster"] for one in manifest["inputs"] if one["damage"]] == ["torn"]
    assert differences(folder / "first", tmp_path / "first") == []
    for name, number in (("one", 1), ("several", jobs)):
        audit(second, tmp_path / name, jobs=number, diff=str(folder / "first"))
    assert differences(tmp_path / "one", tmp_path / "several") == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_broken_cluster_changes_nothing_of_the_others(
    nights: tuple[Path, list[str]], jobs: int, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(nights[0] / "n1", whole)
    (whole / "torn.json").unlink()
    healthy_code, healthy = audit(f"{whole}/*.json", tmp_path / "healthy", jobs=jobs)
    assert healthy_code == 0
    dump = (whole / "c2.json").read_bytes()
    broken = {"cut.json": dump[: len(dump) // 2], "empty.json": b"", "c0-gzip.json": gzip.compress(dump)[:-20]}
    for name, data in broken.items():
        (whole / name).write_bytes(data)
    code, manifest = audit(f"{whole}/*.json", tmp_path / "broken", jobs=jobs)
    assert code == 3
    assert {one["cluster"] for one in manifest["inputs"] if one["damage"]} == {"cut", "empty", "c0-gzip"}
    known = _clusters(tmp_path / "broken", manifest)
    alone = _clusters(tmp_path / "healthy", healthy)
    names = sorted(alone)
    assert {name: known[name] for name in names} == alone
    for table in ("objects", "findings"):
        assert _rows(tmp_path / "broken", table, names) == _rows(tmp_path / "healthy", table, names)


def _clusters(report: Path, manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the entries of clusters without the numbers of parts and definitions, which depend on other clusters."""
    lines = (report / "definitions.ndjson").read_bytes().splitlines()
    return {
        one["name"]: one | {"parts": len(one["parts"]), "definitions": [lines[at] for at in one["definitions"]]}
        for one in manifest["clusters"]
    }


def _rows(report: Path, table: str, clusters: list[str]) -> list[dict[str, Any]]:
    """Return the rows of some clusters in a table of a report, in order."""
    rows = [row for path in sorted((report / table).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    found = [row for row in rows if row["cluster"] in clusters]
    assert found
    return found


@pytest.mark.parametrize("rules", [{}, {"severity": ("low kind=Loaf", "high cluster=c2")}, {"owners": "owners.yaml"}])
def test_causes_are_those_of_the_tables_of_the_whole_report(
    nights: tuple[Path, list[str]], rules: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("owners.yaml").write_text("- {team: bakers, kind: Loaf}\n")
    _, manifest = audit(nights[1][0], tmp_path / "r", jobs=2, **rules)
    stored = causes_of(tmp_path / "r")
    assert stored
    made = build_causes(tmp_path / "r", manifest)
    assert [row | {"first_seen": None, "last_seen": None} for row in stored] == made


def test_what_ends_a_run_is_the_same_error_from_a_worker(nights: tuple[Path, list[str]], tmp_path: Path) -> None:
    for jobs in (1, 2):
        with pytest.raises(PlanError, match="no definition has the version v7"):
            audit(nights[1][0], tmp_path / "r", jobs=jobs, at="v7")
        assert not (tmp_path / "r").exists()


def test_workers_log_what_one_process_does(nights: tuple[Path, list[str]], tmp_path: Path, capfd: Any) -> None:
    reported = []
    for jobs in (1, 2):
        log = RunLog()
        log.configure(as_json=True, quiet=False, verbose=True)
        patch = pytest.MonkeyPatch()
        for module in ("pipelines.run.fleet_clusters", "pipelines.run.audit"):
            patch.setattr(f"{module}.LOG", log)
        audit(nights[1][0], tmp_path / str(jobs), jobs=jobs)
        patch.undo()
        lines = [line for line in capfd.readouterr().err.splitlines() if '"source"' in line]
        reported.append(sorted(line.partition('"message"')[2] for line in lines))
    assert len(reported[0]) == CLUSTERS
    assert reported[0] == reported[1]


@pytest.mark.parametrize(
    ("seconds", "jobs", "alone"),
    [
        ([], 2, 0),
        ([5.0] * 12, 2, 0),
        ([5.0, 4.0], 2, 0),
        ([50.0, *[0.1] * 20], 2, 1),
        ([50.0, 40.0, *[0.1] * 20], 8, 2),
        ([50.0] * 3, 8, 3),
        ([0.2, *[0.01] * 20], 8, 0),
    ],
)
def test_only_a_cluster_for_which_the_others_would_wait_is_audited_by_all(
    seconds: list[float], jobs: int, alone: int
) -> None:
    assert fleet_clusters._most_even(seconds, jobs) == alone


def test_what_only_this_process_can_open_is_given_to_no_worker(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    items = [
        (number, fleet_clusters.Cluster(str(number), (dump,)))
        for number, dump in enumerate((str(tmp_path / "a.json"), "-", "/dev/stdin", "s3://b/c", str(tmp_path / "none")))
    ]
    options = AuditOptions(dumps=("*",), jobs=2)
    assert [item[0] for item in fleet_clusters._shared(options, items)] == [0, 3]
    assert fleet_clusters._shared(replace(options, crds=("-",)), items) == []
