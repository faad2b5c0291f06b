"""A job over many nights of a cluster that changes: some runs are killed, one finds the disk full.

Each night that ends has the verdict that an independent model of the cluster expects, and the report that a full audit
of the same dump writes. At the end there are as many reports as are kept, and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fuzz.hostile.documents import definition
from tests.shared import ROOT
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Cluster:
    """Objects of some kinds, and what is wrong with them.

    Attributes:
        history: What etcd has.
        limits: The largest size that the definition of each plural takes.
        sizes: Plural and name of each object to its size; None means its value is torn.
    """

    draw: random.Random
    history: History = field(default_factory=History)
    limits: dict[str, int] = field(default_factory=dict)
    sizes: dict[tuple[str, str], int | None] = field(default_factory=dict)
    made: int = 0

    def define(self, plural: str, most: int) -> None:
        """Create or change a definition."""
        self.limits[plural] = most
        size = {"type": "integer", "maximum": most}
        spec = {"type": "object", "required": ["size"], "properties": {"size": size, "note": {"type": "string"}}}
        made = definition({"type": "object", "properties": {"spec": spec}}, plural=plural, kind=plural.title())
        key = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{plural}.ex.com"
        self.history.put(key.encode(), json.dumps(made).encode())

    def put(self, plural: str, name: str, size: int | None) -> None:
        """Create or change an object."""
        self.sizes[plural, name] = size
        metadata = {"name": name, "namespace": "d", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
        value = {"apiVersion": "ex.com/v1", "kind": plural.title(), "metadata": metadata, "spec": {"size": size}}
        text = json.dumps(value).encode()
        self.history.put(f"/registry/ex.com/{plural}/d/{name}".encode(), text if size is not None else text[:40])

    def remove(self, plural: str, name: str) -> None:
        """Delete an object."""
        del self.sizes[plural, name]
        self.history.delete(f"/registry/ex.com/{plural}/d/{name}".encode())

    def undefine(self, plural: str) -> None:
        """Delete a definition and its objects, as the server does."""
        for place in [one for one in self.sizes if one[0] == plural]:
            self.remove(*place)
        del self.limits[plural]
        self.history.delete(f"/registry/apiextensions.k8s.io/customresourcedefinitions/{plural}.ex.com".encode())

    def grow(self, count: int) -> None:
        """Create objects; few of them are too large."""
        for _ in range(count):
            plural = self.draw.choice(sorted(self.limits))
            most = self.limits[plural]
            is_bad = self.draw.random() < 0.004
            self.made += 1
            self.put(
                plural,
                f"o{self.made}",
                self.draw.randint(most + 1, most + 20) if is_bad else self.draw.randint(0, most),
            )

    def live_through_a_day(self, day: int) -> None:
        """Change what changes in a day."""
        draw = self.draw
        self.grow(draw.randint(0, 15))
        for plural, name in draw.sample(sorted(self.sizes), 12):
            size, most = self.sizes[plural, name], self.limits[plural]
            if draw.random() < 0.3:
                self.remove(plural, name)
            elif size is None or size > most:
                self.put(plural, name, draw.randint(0, most))  # repaired
            else:
                self.put(plural, name, draw.randint(0, most))
        if day % 7 == 3:  # torn, and repaired two days later
            self.put(*draw.choice(sorted(self.sizes)), None)
        if day % 7 == 5:
            for plural, name in [place for place, size in self.sizes.items() if size is None]:
                self.put(plural, name, 1)
        if day % 9 == 4:
            plural = draw.choice(sorted(self.limits))
            self.define(plural, max(5, self.limits[plural] + draw.choice((-10, 30))))
        if day % 11 == 6:
            self.define(f"kind{day}s", 50)
            self.grow(10)
        if day % 13 == 12 and len(self.limits) > 2:
            self.undefine(draw.choice(sorted(self.limits)))

    def broken(self) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        """Return the objects that are too large, and those that are torn."""
        large = {place for place, size in self.sizes.items() if size is not None and size > self.limits[place[0]]}
        return large, {place for place, size in self.sizes.items() if size is None}

    def dump(self, path: Path) -> None:
        """Write a snapshot."""
        path.write_bytes(snapshot(bolt_file(etcd_buckets(self.history.rows))))


def command(*options: Any) -> list[str]:
    return [sys.executable, "-m", "pipelines", "audit", "dump.db", "--jobs", "2", *map(str, options)]


JOB = ("--report-root", "root", "--diff", "auto", "--only-new")


def start(folder: Path, options: tuple[Any, ...], **more: Any) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "temporary")}
    return subprocess.Popen(
        command(*options), cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, **more,
    )  # fmt: skip


def reports_in(root: Path) -> list[Path]:
    return sorted((path.parent for path in root.glob("*/manifest.json")), key=lambda path: path.stat().st_ctime_ns)


def begun(root: Path) -> bool:
    """Return whether a run has a folder of its own beside the reports, in which its report comes into being."""
    return any(path.name.startswith(".") and path.is_dir() for path in root.glob("*"))


def rows_of(report: Path, table: str) -> list[dict[str, Any]]:
    parts = [pq.read_table(path) for path in sorted((report / table).glob("*.parquet"))]
    return pa.concat_tables(parts, promote_options="permissive").to_pylist() if parts else []


def killed_run(folder: Path, root: Path, job: tuple[Any, ...], seconds: float) -> int:
    """Start a run, and kill it so long after it began its report. Returns its exit code."""
    process = start(folder, job)
    while process.poll() is None and not begun(root):
        time.sleep(0.002)
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return process.returncode


def limited() -> None:
    """Let no file grow beyond a few kilobytes, as on a disk that is nearly full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))


@pytest.mark.parametrize(
    ("nights", "kept", "killings", "full", "objects"),
    [
        pytest.param(5, 2, (2,), 3, 100, marks=pytest.mark.slow),
        pytest.param(36, 30, (9, 17, 26), 21, 400, marks=pytest.mark.nightly),
    ],
)
def test_the_job_looks_after_itself(
    tmp_path: Path, nights: int, kept: int, killings: tuple[int, ...], full: int, objects: int
) -> None:
    job = (*JOB, "--keep-reports", kept)
    draw = random.Random(20261125)
    cluster = Cluster(draw)
    for plural, most in (("as", 100), ("bs", 40), ("cs", 60)):
        cluster.define(plural, most)
    cluster.grow(objects)
    (tmp_path / "temporary").mkdir()
    root, known, ended, seen, killed = tmp_path / "root", None, 0, 0, 0
    for night in range(nights):
        if night:
            cluster.live_through_a_day(night)
        cluster.dump(tmp_path / "dump.db")
        if night in killings:
            code = None
            while code != -signal.SIGKILL:  # a run that ends first is an ordinary one, and the night has another
                code = killed_run(tmp_path, root, job, draw.uniform(0, 0.1))
                if len(reports_in(root)) > seen:  # it had ended, or nearly
                    known, seen = cluster.broken(), len(reports_in(root))
            killed += 1
            continue
        if night == full:
            process = start(tmp_path, job, preexec_fn=limited)
            _, err = process.communicate(timeout=600)
            assert process.returncode == 4, err
            assert "error:" in err
            assert json.loads((root / "last-run.json").read_text())["exit_code"] == 4
            assert len(reports_in(root)) == seen
            continue
        process = start(tmp_path, job)
        out, err = process.communicate(timeout=600)
        large, torn = cluster.broken()
        new = large - known[0] if known else large
        assert process.returncode == int(bool(new or torn)), (night, new, torn, out, err)
        ended += 1
        newest = reports_in(root)[-1]
        check_against_a_full_audit(tmp_path, newest, night)
        manifest = json.loads((newest / "manifest.json").read_text())
        assert manifest["counts"]["statuses"].get("invalid", 0) == len(large)
        assert manifest["counts"]["statuses"].get("unreadable", 0) == len(torn)
        if known is not None:
            assert manifest["diff"]["findings"].get("new", 0) == len(new)
        known, seen = (large, torn), len(reports_in(root))
        assert seen <= kept
    assert ended == nights - len(killings) - 1
    assert killed == len(killings)
    assert len(reports_in(root)) == kept
    assert {path.name for path in root.iterdir()} <= {
        *(path.name for path in reports_in(root)),
        "last-run.json",
        ".auditor-lock",
    }
    assert list((tmp_path / "temporary").iterdir()) == []


def check_against_a_full_audit(folder: Path, report: Path, night: int) -> None:
    """Compare a report of the job with that of a full audit of the same dump."""
    full = folder / f"full-{night}"
    process = start(folder, ("--report", full, "--fail-on", "never"))
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    for table in ("objects", "findings"):
        mine, other = rows_of(report, table), rows_of(full, table)
        for row in [*mine, *other]:
            row.pop("change", None)
        assert sorted(map(in_order, mine)) == sorted(map(in_order, other)), (night, table)


def in_order(row: dict[str, Any]) -> str:
    return json.dumps(row, default=str)


FULL_DISK = """
import json, os, pathlib, subprocess, sys
folder, *command = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], check=True)
root, filler = pathlib.Path(folder) / "root", pathlib.Path(folder) / "filler"
temporary = pathlib.Path(folder) / "temporary"
temporary.mkdir()
os.environ["TMPDIR"] = str(temporary)

def night():
    done = subprocess.run([*command, "--report-root", str(root)], capture_output=True, text=True)
    reports = sorted(path.parent.name for path in root.glob("*/manifest.json"))
    others = sorted(path.name for path in root.iterdir() if path.name not in reports)
    record = json.loads((root / "last-run.json").read_text())
    return {"code": done.returncode, "said": done.stderr, "reports": reports, "others": others,
            "record": record, "temporary": os.listdir(temporary)}

nights = [night()]
with filler.open("wb", buffering=0) as stream:
    try:
        while stream.write(bytes(4096)):
            pass
    except OSError:
        pass
with filler.open("rb+") as stream:
    stream.truncate(filler.stat().st_size - int(os.environ["LEFT"]))
nights.append(night())
filler.unlink()
nights.append(night())
print(json.dumps(nights))
"""


@pytest.mark.slow
@pytest.mark.parametrize("left", [8_192, 65_536])
def test_a_disk_that_is_full_costs_one_night(tmp_path: Path, left: int) -> None:
    """A real file system of 4 MiB, on which so many bytes are free on the second night."""
    cluster = Cluster(random.Random(5))
    cluster.define("as", 100)
    cluster.grow(400)
    cluster.dump(tmp_path / "dump.db")
    (tmp_path / "disk").mkdir()
    unshare = ["unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",))]
    probe = [*unshare, "mount", "-t", "tmpfs", "tmpfs", str(tmp_path / "disk")]
    try:
        can = subprocess.run(probe, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if can.returncode:
        pytest.skip(f"no file system can be mounted here: {can.stderr.strip()}")
    call = [sys.executable, "-c", FULL_DISK, str(tmp_path / "disk")]
    audit = [sys.executable, "-m", "pipelines", "audit", str(tmp_path / "dump.db"), "--diff", "auto"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LEFT": str(left)}
    command_line = [*unshare, *call, *audit, "--jobs", "2", "--fail-on", "never"]
    done = subprocess.run(command_line, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    before, full, after = json.loads(done.stdout)
    assert [one["code"] for one in (before, full, after)] == [0, 4, 0], full["said"]
    assert "No space left on device" in full["said"]
    assert full["reports"] == before["reports"]
    assert len(after["reports"]) == 2
    for one in (before, full, after):
        assert set(one["others"]) <= {"last-run.json", ".auditor-lock"}
        assert one["temporary"] == []
    assert after["record"]["exit_code"] == 0
