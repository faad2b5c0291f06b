"""100,000 objects are audited in a control group of one processor and 512 MiB, as a small container has."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.hostile.documents import definition
from tests.shared import ROOT
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.nightly
OBJECTS = 100_000
MEMORY = 512 << 20
CGROUPS = Path("/sys/fs/cgroup")


@pytest.fixture
def group() -> Iterator[list[Path]]:
    """The folders of a control group with one processor and 512 MiB, where this process may make one."""
    name = f"auditor-test-{uuid.uuid4().hex[:8]}"
    made: list[Path] = []
    try:
        if (CGROUPS / "memory").is_dir():
            for controller, values in (
                ("memory", {"memory.limit_in_bytes": MEMORY}),
                ("cpu", {"cpu.cfs_period_us": 100_000, "cpu.cfs_quota_us": 100_000}),
            ):
                made.append(CGROUPS / controller / name)
                made[-1].mkdir()
                for file, value in values.items():
                    (made[-1] / file).write_text(str(value))
        else:
            (CGROUPS / "cgroup.subtree_control").write_text("+memory +cpu")
            made.append(CGROUPS / name)
            made[-1].mkdir()
            (made[-1] / "memory.max").write_text(str(MEMORY))
            (made[-1] / "memory.swap.max").write_text("0")
            (made[-1] / "cpu.max").write_text("100000 100000")
        yield made
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    finally:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()


def dump(path: Path) -> None:
    """Write a snapshot of objects of some 900 bytes; one in a thousand is too large."""
    text = {"type": "string"}
    item = {"type": "object", "required": ["name"], "properties": {"name": text, "value": text}}
    properties = {"size": {"type": "integer", "maximum": 99}, "items": {"type": "array", "items": item}}
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": "self.size < 2000"}]}
    made = definition({"type": "object", "properties": {"spec": spec}})
    history = History()
    history.put(b"/registry/apiextensions.k8s.io/customresourcedefinitions/ws.ex.com", json.dumps(made).encode())
    for number in range(OBJECTS):
        metadata = {"name": f"o{number}", "namespace": f"team-{number % 50}", "uid": f"u{number}"}
        metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
        size = 1000 if number % 1000 == 7 else number % 100
        items = [{"name": f"n{number}-{at}", "value": f"{number * 7919 % 100_003}" * 4} for at in range(12)]
        value = {"apiVersion": "ex.com/v1", "kind": "W", "metadata": metadata, "spec": {"size": size, "items": items}}
        history.put(f"/registry/ex.com/ws/team-{number % 50}/o{number}".encode(), json.dumps(value).encode())
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows), inline=False)))


def most_memory(folders: list[Path]) -> int:
    """Return the most bytes that the group held, or 0 where the system does not say."""
    for name in ("memory.max_usage_in_bytes", "memory.peak"):
        with contextlib.suppress(OSError):
            return int((folders[0] / name).read_text())
    return 0


def test_a_small_container_is_enough(group: list[Path], tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:  # memory of the writer must not count
        dump(tmp_path / "dump.db")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (tmp_path / "dump.db").stat().st_size > 80_000_000
    join = "".join(f"echo $$ > {folder}/cgroup.procs; " for folder in group)
    asked = [sys.executable, "-m", "pipelines", "audit", "dump.db", "--report", "report"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", f'{join}exec "$@"', "bash", *asked], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    manifest = json.loads((tmp_path / "report" / "manifest.json").read_text())
    assert manifest["counts"]["statuses"]["invalid"] == OBJECTS // 1000
    assert manifest["counts"]["keys"] == OBJECTS + 1
    assert not manifest.get("lost")
    most = most_memory(group)
    if not most:
        pytest.skip("the process could not join the group, or the system does not say how much memory it took")
    assert most <= MEMORY
