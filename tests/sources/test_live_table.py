"""The live table has the newest row of each key, whether a thread sorts and merges or not."""

import random
import threading

import numpy as np
import pyarrow as pa
import pytest

from auditor.sources import live_table
from auditor.sources.live_table import ROW, KeyedRows, NewestPerKey


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let a few rows make many runs, which are folded."""
    monkeypatch.setattr(live_table, "_HELD_BYTES", 3000)
    monkeypatch.setattr(live_table, "_PART_BYTES", 4000)
    monkeypatch.setattr(live_table, "_RUNS_PER_TIER", 3)


def batches(rng, count):
    """Draw batches of rows in the order of their revisions; later ones are newer."""
    revision = 0
    for _ in range(count):
        keys, rows = [], []
        for _ in range(rng.randrange(60)):
            revision += 1
            keys.append(b"/registry/things/%d" % rng.randrange(300))
            rows.append((revision, rng.random() < 0.3))
        yield KeyedRows.of(
            pa.array(keys, pa.large_binary()),
            mod=np.array([row[0] for row in rows], dtype=np.int64),
            offset=np.array([row[0] * 10 for row in rows], dtype=np.int64),
            length=7,
            deleted=np.array([row[1] for row in rows], dtype=bool),
        )


def expected(given):
    newest = {}
    for batch in given:
        for key, row in zip(batch.keys.to_pylist(), batch.rows, strict=True):
            newest[key] = (int(row["mod"]), bool(row["deleted"]))
    return [(key, mod) for key, (mod, deleted) in sorted(newest.items()) if not deleted]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("in_thread", [False, True])
def test_the_newest_row_of_each_key_is_in_the_table(tmp_path, seed, in_thread):
    rng = random.Random(seed)
    given = list(batches(rng, rng.choice([0, 1, 3, 40])))
    path = tmp_path / "live.arrow"
    with NewestPerKey(tmp_path, 4, in_thread=in_thread) as newest:
        for batch in given:
            newest.add(batch)
        count = newest.finish(path)
    table = pa.ipc.open_file(str(path)).read_all()
    found = list(zip(table["key"].to_pylist(), table["mod_revision"].to_pylist(), strict=True))
    assert found == expected(given)
    assert count == len(found)
    assert set(table["source"].to_pylist()) <= {4}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("in_thread", [False, True])
def test_the_rows_that_are_not_the_newest_of_their_key_are_kept_in_a_file(tmp_path, in_thread):
    given, path = list(batches(random.Random(3), 40)), tmp_path / "rows.older"
    with NewestPerKey(tmp_path, 4, in_thread=in_thread, older=path) as newest:
        for batch in given:
            newest.add(batch)
        newest.finish(tmp_path / "live.arrow")
    rows = [row for batch in given for row in zip(batch.keys.to_pylist(), batch.rows.tolist(), strict=True)]
    last = dict(rows)
    older = np.fromfile(path, dtype=ROW).tolist()
    assert len(older) == len(set(older)) > 100
    assert {row for row in older if not row[-1]} == {row for key, row in rows if row != last[key] and not row[-1]}


@pytest.mark.parametrize("seed", range(4))
def test_the_file_is_the_same_with_a_thread(tmp_path, seed):
    files = []
    for in_thread in (False, True):
        path = tmp_path / f"{in_thread}.arrow"
        with NewestPerKey(tmp_path, 0, in_thread=in_thread) as newest:
            for batch in batches(random.Random(seed), 40):
                newest.add(batch)
            newest.finish(path)
        files.append(path.read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("at", [0, 5, 39])
def test_an_error_of_the_thread_is_raised(tmp_path, monkeypatch, at):
    write = live_table._SortedRun.write
    written = []

    def full(self, batch):
        written.append(batch)
        if len(written) > at:
            raise OSError(28, "No space left on device")
        write(self, batch)

    monkeypatch.setattr(live_table._SortedRun, "write", full)

    def collect():
        with NewestPerKey(tmp_path, 0, in_thread=True) as newest:
            for batch in batches(random.Random(1), 60):
                newest.add(batch)
            newest.finish(tmp_path / "live.arrow")

    with pytest.raises(OSError, match="No space left"):
        collect()


def test_the_thread_ends_with_the_block(tmp_path):
    with NewestPerKey(tmp_path, 0, in_thread=True) as newest:
        for batch in batches(random.Random(1), 60):
            newest.add(batch)
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("newest-per-key")]
