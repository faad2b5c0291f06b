"""Sizes that clusters reach: a million keys of a kind, a key of a million revisions, values of etcd's limit."""

from __future__ import annotations

import json
import resource
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from auditor.sources import open_source
from auditor.sources.source_plan import SourcePlan
from tests.sources.bolt_writer import BoltWriter, key_value, revision
from tests.sources.dumps import table_rows, values

if TYPE_CHECKING:
    from collections.abc import Iterator

MILLION = 1_000_000
ROOT = Path(__file__).resolve().parent.parent.parent.parent
MEMORY = 450 << 20

READ = """
import json, resource, sys, tempfile
from pathlib import Path
from auditor.sources import open_source
with tempfile.TemporaryDirectory() as folder:
    plan = open_source(sys.argv[1], number=0, workdir=Path(folder))
    print(json.dumps([plan.rows, plan.revision, len(plan.damage), plan.notes]))
"""


def write(path: Path, rows: Iterator[tuple[int, bytes, bytes]]) -> None:
    with path.open("w+b") as stream:
        writer = BoltWriter(stream)
        key = writer.put_tree(rows)
        meta = writer.bucket_value({b"consistent_index": struct.pack(">Q", 9)}, inline=True)
        root = writer.put_tree([(1, b"key", struct.pack("<QQ", key, 0)), (1, b"meta", meta)])
        writer.finish(root)


def puts(keys: Iterator[bytes]) -> Iterator[tuple[int, bytes, bytes]]:
    for main, key in enumerate(keys, 2):
        yield 0, revision(main), key_value(key, main, main, 1, b'{"a":1}')


def _usual_stack() -> None:
    """Undo what a command does that another test ran here: the stack of every thread would count as data."""
    resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))


def read(path: Path) -> tuple[int, int, int, list[str]]:
    """Read a dump in a process of its own whose heap is limited; what is mapped does not count."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_DATA, ({MEMORY}, {MEMORY}))\n"
    done = subprocess.run(
        [sys.executable, "-c", limit + READ, str(path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=_usual_stack,
    )
    rows, current, damage, notes = json.loads(done.stdout)
    return rows, current, damage, notes


@pytest.mark.slow
def test_a_million_keys_of_a_kind_are_read_within_memory(tmp_path: Path) -> None:
    path = tmp_path / "keys.db"
    write(path, puts(b"/registry/example.com/widgets/ns-%d/widget-%07d" % (n % 50, n) for n in range(MILLION)))
    assert read(path)[:3] == (MILLION, MILLION + 1, 0)


@pytest.mark.slow
def test_a_key_of_a_million_revisions_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "revisions.db"
    write(path, puts(b"/registry/leases/kube-system/one" for _ in range(MILLION)))
    assert read(path)[:3] == (1, MILLION + 1, 0)


@pytest.mark.parametrize("prefix", ["/kubernetes.io", "/registry", "/a/b"])
def test_large_values_under_any_prefix_come_whole(prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    data = {f"{prefix}/example.com/widgets/ns/w{n}".encode(): bytes([65 + n]) * (3 << 19) for n in range(6)}
    rows = [(0, revision(main), key_value(key, main, main, 1, data[key])) for main, key in enumerate(sorted(data), 2)]
    write(path, iter(rows))
    plan = open_source(str(path), number=0, workdir=tmp_path, etcd_prefix=prefix)
    assert isinstance(plan, SourcePlan)
    assert values(path, table_rows(plan.live)) == data
    assert not any("prefix" in note for note in plan.notes)
    other = tmp_path / "other"
    other.mkdir()
    wrong = open_source(str(path), number=0, workdir=other, etcd_prefix="/elsewhere")
    assert isinstance(wrong, SourcePlan)
    assert any(f"most are below /{prefix.split('/')[1]}/" in note for note in wrong.notes)
