"""Nights of a job whose dumps are missing, damaged, stale or older: each cluster is compared with the last whole one.

The model draws nights of clusters and knows every fault. Nothing may be called new, fixed or worse that is not; what a
night did not read is the same again as soon as it is read. The second test holds five written nights, where they are
beside the project, against the faults that they list.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.causes.table import read_rows
from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf
from tests.shared import second_check, shared
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = ("fine", "fine", "fine", "missing", "cut", "garbage", "copied", "older")
STATES = ("fine", "fine", "heavy", "rice", "torn", "gone")
VALUES: dict[str, dict[str, Any]] = {"fine": {}, "heavy": {"grams": 900}, "rice": {"flour": "rice"}}
NAMES = tuple(f"loaf-{number}" for number in range(6))


@dataclass
class Cluster:
    """A cluster: what it holds, its faults by name, and what the reports of the nights before knew of it."""

    store: Store = field(default_factory=lambda: Store(definition(), loaf("clock")))
    states: dict[str, str] = field(default_factory=dict)
    read: dict[str, str] | None = None
    """The states of the last night that had it whole; None before there was one."""
    causes: dict[str, datetime] = field(default_factory=dict)
    """When each of its causes of that night was seen first."""
    taken: list[tuple[Store, dict[str, str]]] = field(default_factory=list)
    """The dumps that were whole, oldest first."""

    def change(self, rng: random.Random) -> None:
        """Live a day."""
        for name in NAMES:
            if rng.random() < 0.3:
                self.put(name, rng.choice(STATES))
        self.store.put(loaf("clock"))

    def put(self, name: str, state: str) -> None:
        self.states[name] = state
        key = Store.key(loaf(name))
        self.store.revision += 1
        self.store.kvs.pop(key, None)
        if state == "torn":
            self.store.put(b"{torn", key)
        elif state != "gone":
            self.store.put(loaf(name, **VALUES[state]))

    def write(self, path: Path, event: str) -> dict[str, str] | None:
        """Write tonight's dump; return the states in it if it is whole and not older than one before."""
        store, states = self.store.copy(), dict(self.states)
        if event in ("copied", "older"):
            store, states = self.taken[-1 if event == "copied" else 0]
        store.write(path, "etcdctl")
        if event == "garbage":
            path.write_bytes(b"\\0garbage")
        elif event == "cut":
            text = path.read_text()
            path.write_text(text[: len(text) * 6 // 10])
        else:
            is_older = self.taken and store.revision < self.taken[-1][0].revision
            if not is_older:
                self.taken.append((store, states))
                return states
        return None


def faults(states: dict[str, str] | None) -> set[tuple[str, str]]:
    return {(name, state) for name, state in (states or {}).items() if state not in ("fine", "gone")}


def fixed_of(before: dict[str, str], states: dict[str, str]) -> set[tuple[str, str]]:
    """Return the faults that are seen to be gone: what cannot be read tells nothing of them."""
    return {one for one in faults(before) - faults(states) if states.get(one[0]) != "torn"}


@pytest.mark.parametrize(("seed", "count"), [(seed, 1 if seed % 2 else 5) for seed in range(6)])
def test_drawn_nights_call_nothing_new_or_fixed_that_is_not(tmp_path: Path, seed: int, count: int) -> None:
    rng = random.Random(seed)
    clusters = {f"c{number}": Cluster() for number in range(count)}
    for number in range(1, 9):
        dumps = tmp_path / "dumps"
        shutil.rmtree(dumps, ignore_errors=True)
        dumps.mkdir()
        events, whole = {}, {}
        for name, cluster in clusters.items():
            cluster.change(rng)
            event = "fine" if number == 1 or (name == "c0" and count > 1) else rng.choice(EVENTS)
            events[name] = event = "fine" if event == "missing" and count == 1 else event
            if event != "missing":
                whole[name] = cluster.write(dumps / f"{name}.json", event)
        done = auditor(
            *("audit", "dumps/*.json", "--cluster-name", "{1}", "--report-root", "out", "--report-name", f"n{number}"),
            *("--diff", "auto", "--only-new", "--fail-on", "invalid", "--no-fail-on-standing", "--jobs", 1),
            cwd=tmp_path,
        )
        report = tmp_path / "out" / f"n{number}"
        if not report.exists():  # the dump of the only cluster is no dump
            assert (count, events["c0"], done.code) == (1, "garbage", 2), done.output
            continue
        expected = {
            name: (faults(states) - faults(clusters[name].read), fixed_of(clusters[name].read, states))
            for name, states in whole.items()
            if states is not None and clusters[name].read is not None
        }
        said = json.loads(auditor("summary", report, "-o", "json").stdout)
        is_told = (seed, number, events, done.stdout)
        maybe = {
            (name, *one)
            for name, event in events.items()
            if event == "cut"  # what was read of it may have faults of today
            for one in faults(clusters[name].states) - faults(clusters[name].read)
        }
        check(report, expected, maybe, said, is_told, is_first=number == 1)
        if number > 1:
            is_new = any(new for new, _ in expected.values())
            is_bad = bool({"missing", "cut", "garbage"} & {*events.values()})
            nothing = all(states is None for states in whole.values()) and count == 1 and events["c0"] == "cut"
            assert done.code in ((2, 3) if nothing else (3,) if is_bad else (int(is_new),)), is_told
        started = datetime.fromisoformat(json.loads((report / "manifest.json").read_text())["started"])
        for name, states in whole.items():
            rows = [row for row in read_rows(report) or () if row["objects"] and row["cluster"] == name]
            for row in rows if states is not None else ():
                assert row["first_seen"] == clusters[name].causes.get(row["digest"]), is_told
            if states is not None:
                clusters[name].read = states
                clusters[name].causes = {row["digest"]: row["first_seen"] or started for row in rows}


def check(report: Path, expected: Any, maybe: set[Any], said: dict[str, Any], is_told: Any, *, is_first: bool) -> None:
    """Hold what a report calls new, fixed and worse against the truth."""
    if is_first:
        assert said["verdict"]["word"] == "not-compared", is_told
        return
    new = {(name, *one) for name, (new, _) in expected.items() for one in new}
    fixed = {(name, *one) for name, (_, fixed) in expected.items() for one in fixed}
    for table, truth, more in (("findings", new, maybe), ("fixed", fixed, set())):
        rows = [row for path in (report / table).glob("*.parquet") for row in pq.read_table(path).to_pylist()]
        changes = {"findings": "new", "fixed": "fixed"}
        called = {(row["cluster"], row["name"]) for row in rows if row["change"] == changes[table]}
        wanted, allowed = ({one[:2] for one in some if one[2] != "torn"} for some in (truth, truth | more))
        assert wanted <= called <= allowed, (table, is_told)
    objects = [row for path in (report / "objects").glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    for row in objects:
        if row["change"] in ("new", "worse") and row["status"] in ("invalid", "unreadable"):
            assert (row["cluster"], row["key"].rpartition("/")[2]) in {one[:2] for one in new | maybe}, (row, is_told)
    word = said["verdict"]["word"]
    assert (word == "worse") == bool(new) or (maybe and word == "worse"), is_told
    assert word != "better" or fixed, is_told
    assert not any("definition is new" in text for cause in said["causes"] for text in cause["schema_changes"]), is_told
    fresh = {cause["title"] for cause in said["causes"] if cause["change"] == "new"}
    assert bool(fresh) <= bool(new | maybe), is_told


@pytest.mark.parametrize("share", [0.1, 0.6])
@pytest.mark.parametrize("names", [("one",), ("one", "two")])
def test_nothing_judged_is_2_however_much_of_a_file_is_left(
    tmp_path: Path, share: float, names: tuple[str, ...]
) -> None:
    history = History()
    for number in range(300):
        history.put(f"/registry/configmaps/north/c{number}".encode(), b'{"kind":"ConfigMap","apiVersion":"v1"}' * 20)
    data = snapshot(bolt_file(etcd_buckets(history.rows)))
    for name in names:
        (tmp_path / f"{name}.db").write_bytes(data[: int(len(data) * share)])
    options = ("--cluster-name", "{name}", "--report-root", "out", "--report-name", "night", "--jobs", 1)
    assert auditor("audit", "*.db", *options, cwd=tmp_path).code == 2
    record = json.loads((tmp_path / "out" / "last-run.json").read_text())
    assert (record["exit_code"], record["report"], record["reports"]) == (2, "out/night", ["night"])


def test_the_headline_says_that_a_cluster_is_compared_with_an_earlier_report(tmp_path: Path) -> None:
    """West is damaged on the second night, so the third compares it with the first."""
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    clusters = {name: Cluster() for name in ("east", "west")}
    for night, event in enumerate(("fine", "garbage", "fine"), 1):
        for name, cluster in clusters.items():
            cluster.put("loaf-1", "fine")
            cluster.write(dumps / f"{name}.json", "fine" if name == "east" else event)
        report = ("--report-root", "out", "--report-name", f"night-{night}", "--diff", "auto", "--jobs", 1)
        said = auditor("audit", "dumps/*.json", "--cluster-name", "{1}", *report, cwd=tmp_path)
    shown = " ".join(said.stdout.split())
    assert shown.startswith("CLEAN east, west · no causes · +0 new, 0 fixed since ")
    assert "compared with out/night-2 (1 cluster with an earlier report)" in shown
    assert "NOTE west: compared with out/night-1, the last report that has it whole" in shown


@pytest.mark.parametrize("options", [(), ("--accept", "accept.yaml"), ("--fail-on", "medium")])
def test_a_cluster_that_no_report_has_counts_with_only_new(tmp_path: Path, options: tuple[str, ...]) -> None:
    """The first night has a damaged dump of west; nothing says that the fault of the second night is not new."""
    (tmp_path / "accept.yaml").write_text("accept: []\n")
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    clusters = {name: Cluster() for name in ("east", "west")}
    for event in ("garbage", "fine"):
        for name, cluster in clusters.items():
            cluster.put("loaf-1", "heavy")
            cluster.write(dumps / f"{name}.json", "fine" if name == "east" else event)
        report = ("--report-root", "out", "--report-name", event, "--diff", "auto", "--only-new", "--jobs", 1)
        night = auditor("audit", "dumps/*.json", "--cluster-name", "{1}", *report, *options, cwd=tmp_path)
    assert night.code == 1
    said = json.loads(auditor("summary", tmp_path / "out" / "fine", "-o", "json").stdout)
    rows = {one["cluster"]: (one["verdict"], one["new"], one["fixed"]) for one in said["clusters"]}
    assert rows == {"east": ("same", 0, 0), "west": ("not-compared", None, None)}
    if "medium" not in options:
        assert "that are new, or compared with nothing, at or above --fail-on invalid" in " ".join(night.stdout.split())


@second_check("cases/nights", by="tests/pipelines/job/test_bad_nights.py")
def test_the_written_nights_agree_with_their_truth(tmp_path: Path) -> None:
    made = shared("cases/nights/make.py")
    subprocess.run([sys.executable, made, tmp_path], check=True)
    truth = json.loads((tmp_path / "truth.json").read_text())
    for series in ("nights", "fleet"):
        known: dict[str, set[str]] = {}
        for number, clusters in truth[series].items():
            dumps = tmp_path / "b"
            dumps.mkdir(exist_ok=True)
            for name in clusters:
                (dumps / f"{name}.db").unlink(missing_ok=True)
                if not clusters[name].get("missing"):
                    shutil.copyfile(tmp_path / series / number / f"{name}.db", dumps / f"{name}.db")
            done = auditor(
                *(
                    "audit",
                    "b/*.db",
                    "--cluster-name",
                    "{1}",
                    "--report-root",
                    f"out-{series}",
                    "--report-name",
                    number,
                ),
                *("--diff", "auto", "--only-new", "--jobs", 1),
                cwd=tmp_path,
            )
            report = tmp_path / f"out-{series}" / number
            assert report.exists(), done.output
            said = json.loads(auditor("summary", report, "-o", "json").stdout)
            rows = {one["cluster"]: one for one in said["clusters"]}
            total = 0
            for name, right in clusters.items():
                if right.get("missing") or right["cut"]:
                    assert rows[name]["verdict"] == ("missing" if right.get("missing") else "damaged"), (series, number)
                    assert not rows[name]["new"]
                    assert not rows[name]["fixed"]
                    continue
                if not right.get("copied"):
                    faulty = {*right["invalid"], *right["torn"]}
                    if name in known:
                        counts = rows[name]["new"], rows[name]["fixed"]
                        assert counts == (len(faulty - known[name]), len(known[name] - faulty)), (series, number, name)
                        total += counts[0]
                    known[name] = faulty
            if number != "1":
                assert (said["verdict"]["word"] == "worse") == (total > 0)
        shutil.rmtree(tmp_path / "b")
