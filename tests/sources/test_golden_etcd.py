"""Real files of etcd 3.4 and 3.6: every number that the tools print, every key that the server listed."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import DamagedDump
from auditor.sources.bolt import read_metas
from auditor.sources.etcd import EtcdFile, MetaValues
from auditor.sources.etcd.mvcc import parse_key_value, parse_revision
from auditor.sources.files.digest import map_file
from auditor.sources.files.view import FileView
from tests.shared import second_check, shared, shared_lines
from tests.sources.dumps import extracted, index, sha256, unpacked, values
from tests.sources.etcd.status import snapshot_status

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "golden/etcd-files"
EXPECTED: dict[str, Any] = json.loads(shared(f"{FOLDER}/expected.json").read_bytes())
SNAPSHOTS = sorted(EXPECTED["snapshots"])
DAMAGED = sorted(name for name in EXPECTED.get("damaged", ()) if not name.startswith("_"))
damaged = second_check("golden/etcd-files", by="tests/sources/etcd/test_salvage.py")


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_status_numbers_are_those_of_the_tools(name: str, tmp_path: Path) -> None:
    expected = EXPECTED["snapshots"][name]
    status = snapshot_status(unpacked(f"{FOLDER}/{name}", tmp_path), workdir=tmp_path)
    found = {
        "etcdutl_status": {
            "hash": status.hash,
            "revision": status.revision,
            "totalKey": status.total_key,
            "totalSize": status.total_size,
            "version": status.version,
        },
        "etcdctl_34_totalKey": status.total_key_34,
        "hashkv": status.hash_kv,
        "current_revision": status.current_revision,
        "consistent_index": status.consistent_index,
        "term": status.term,
        "finished_compact": -1 if status.finished_compaction is None else status.finished_compaction,
        "scheduled_compact": status.scheduled_compaction or 0,
        "high_water_mark": status.high_water_mark,
        "key_rows": status.key_rows,
        "meta_keys": list(status.meta_keys),
        "page_size": status.page_size,
        "sha256_ok": status.digest == "ok",
        "txid": status.txid,
        "unreachable_pages": status.unreachable_pages,
    }
    assert {key: found[key] for key in expected if key != "live"} == {
        key: value for key, value in expected.items() if key != "live"
    }


@pytest.mark.parametrize("batch_rows", [None, 7])
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_live_keys_are_those_that_the_server_listed(name: str, batch_rows: int | None, tmp_path: Path) -> None:
    path = unpacked(f"{FOLDER}/{name}", tmp_path)
    file, counts, rows = index(path, tmp_path, batch_rows=batch_rows)
    found = values(path, rows)
    live = {
        base64.b64encode(row["key"]).decode(): [
            row["create_revision"],
            row["mod_revision"],
            row["key_version"],
            sha256(found[row["key"]])[:16],
        ]
        for row in rows
    }
    assert live == {key: [*row[:3], row[4]] for key, row in EXPECTED["snapshots"][name]["live"].items()}
    assert [row["key"] for row in rows] == sorted(row["key"] for row in rows)
    assert {row["source"] for row in rows} == {3}
    assert counts.rows == len(rows)
    assert file.damage.records() == ()
    assert file.notes == []
    assert [path.name for path in tmp_path.iterdir() if path.suffix in {".keys", ".ends", ".rows"}] == []


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_leases_are_in_the_messages(name: str, tmp_path: Path) -> None:
    """The live table has no lease column; the message parser reads it nevertheless."""
    file = EtcdFile.open(unpacked(f"{FOLDER}/{name}", tmp_path))
    leases: dict[bytes, int] = {}
    for rows in file.rows(b"key"):
        for key, key_size, size in zip(
            rows.key.tolist(), rows.key_size.tolist(), rows.value_size.tolist(), strict=True
        ):
            start = key + key_size
            message = parse_key_value(file.view.data, start, start + size)
            leases[file.view.cut(*message.key)] = message.lease
    live = EXPECTED["snapshots"][name]["live"]
    assert {key: leases[base64.b64decode(key)] for key in live} == {key: row[3] for key, row in live.items()}


def original_rows(tmp_path: Path) -> dict[bytes, bytes]:
    return EtcdFile.open(unpacked(f"{FOLDER}/compacted-36.db.gz", tmp_path)).values(b"key")


@damaged
@pytest.mark.parametrize("name", [name for name in DAMAGED if name != "bad-both-metas.db.gz"])
def test_a_damaged_file_gives_what_is_left_and_says_what_is_lost(name: str, tmp_path: Path) -> None:
    expected = EXPECTED["damaged"][name]
    path = unpacked(f"{FOLDER}/damaged/{name}", tmp_path)
    file = EtcdFile.open(path)
    assert sorted(meta.page for meta in file.valid_metas) == expected["valid_metas"]
    assert sorted(key.decode() for key in file.buckets) == sorted(expected["buckets_found"])
    assert path.stat().st_size == expected["size"]
    if "hwm" in expected:
        assert (file.meta.high_water_mark, file.view.size / file.meta.page_size) == (
            expected["hwm"],
            expected["file_pages"],
        )
    if "compact_rev" in expected:
        assert MetaValues.of(file.values(b"meta")).finished == expected["compact_rev"]
    read = EtcdFile.open(path).values(b"key")
    original = original_rows(tmp_path)
    assert len(read) >= expected["rows_read"]
    wrong = [key for key, value in read.items() if original.get(key) != value]
    assert len(wrong) == expected["rows_not_in_original"]
    lost = sorted(original.keys() - read.keys())
    assert len(lost) <= expected["rows_lost"]

    list(file.rows(b"key"))
    losses = {f"page {loss.page}: {loss.reason}".split(";")[0]: loss for loss in file.tree.losses}
    assert sorted(losses) == sorted(error["error"] for error in expected["errors"])
    for error in expected["errors"]:
        loss = losses[error["error"]]
        # a reader that keeps more of a page names a smaller gap, inside the one that is lost with the whole page
        low, high = (bytes.fromhex(error[key]) if error[key] else None for key in ("lost_from", "lost_to"))
        assert low is None or (loss.low is not None and loss.low >= low)
        assert high is None or (loss.high is not None and loss.high <= high)
    for key in lost:
        assert any(
            not loss.read_all and (loss.low or b"") <= key and (loss.high is None or key < loss.high)
            for loss in losses.values()
        ), parse_revision(key)


@damaged
def test_an_element_that_points_out_of_its_page_costs_one_row(tmp_path: Path) -> None:
    read = EtcdFile.open(unpacked(f"{FOLDER}/damaged/flip-leaf-pos.db.gz", tmp_path)).values(b"key")
    assert len(original_rows(tmp_path).keys() - read.keys()) == 1


@damaged
def test_children_of_a_damaged_branch_page_are_read_nevertheless(tmp_path: Path) -> None:
    original = original_rows(tmp_path)
    for name in ("flip-branch-key", "flip-branch-flags"):
        file = EtcdFile.open(unpacked(f"{FOLDER}/damaged/{name}.db.gz", tmp_path))
        assert file.values(b"key") == original
        file.note_losses()
        (damage,) = file.damage.records()
        assert damage.where == "page 23"
        assert "11 children were read" in damage.reason


@damaged
def test_a_changed_value_is_reported_by_the_digest(tmp_path: Path) -> None:
    path = unpacked(f"{FOLDER}/damaged/flip-leaf-value.db.gz", tmp_path)
    status = snapshot_status(path, workdir=tmp_path)
    assert status.digest == "mismatch"
    printed = json.loads(EXPECTED["damaged"]["flip-leaf-value.db.gz"]["etcdutl"])
    assert (status.hash, status.revision, status.total_key) == (
        printed["hash"],
        printed["revision"],
        printed["totalKey"],
    )


@damaged
def test_both_metas_bad_is_damage_that_stops(tmp_path: Path) -> None:
    path = unpacked(f"{FOLDER}/damaged/bad-both-metas.db.gz", tmp_path)
    assert read_metas(FileView(map_file(path))).valid == ()
    with pytest.raises(DamagedDump, match=r"both meta pages damaged .*checksum error"):
        EtcdFile.open(path)


@damaged
def test_lost_revisions_are_named(tmp_path: Path) -> None:
    file, _, _ = index(unpacked(f"{FOLDER}/damaged/truncated-half.db.gz", tmp_path), tmp_path)
    damage = file.damage.records()
    assert [one.where for one in damage] == ["end of file", "page 83 (revisions 21..39)", "page 84 (revisions 98..99)"]
    assert damage[0].reason == "truncated: header says 141 pages of 4096 bytes, file has 70"


@second_check("golden/etcd-files", by="tests/sources/etcd/test_live_etcd.py")
@pytest.mark.parametrize("name", sorted(EXPECTED["data_dirs"]))
def test_the_database_of_a_data_directory_is_read_alone(name: str, tmp_path: Path) -> None:
    (path,) = extracted(f"{FOLDER}/{name}", tmp_path).rglob("snap/db")
    status = snapshot_status(path, workdir=tmp_path)
    assert {
        "consistent_index": status.consistent_index,
        "current_revision": status.current_revision,
        "finished_compact": status.finished_compaction,
        "scheduled_compact": status.scheduled_compaction,
        "keys": status.total_key,
    } == EXPECTED["data_dirs"][name]["db"]


@pytest.mark.parametrize("name", ["snapshot.db.gz", "snapshot-compacted.db.gz"])
def test_a_cluster_with_long_history_gives_its_live_keys(name: str, tmp_path: Path) -> None:
    path = unpacked(f"golden/upgrade/{name}", tmp_path)
    file, _, rows = index(path, tmp_path, batch_rows=500)
    found = values(path, rows)
    live = {
        row["key"].decode(): (
            row["create_revision"],
            row["mod_revision"],
            row["key_version"],
            row["length"],
            sha256(found[row["key"]]),
        )
        for row in rows
        if row["key"].startswith(b"/registry")
    }
    expected = {
        line["key"]: (line["createRevision"], line["modRevision"], line["version"], line["size"], line["sha256"])
        for line in shared_lines("golden/upgrade/keys.ndjson.gz")
    }
    assert live == expected
    assert file.damage.records() == ()


def test_status_of_the_cluster_is_what_etcdutl_printed(tmp_path: Path) -> None:
    summary = json.loads(shared("golden/upgrade/summary.json").read_bytes())["etcdutlStatus"]
    status = snapshot_status(unpacked("golden/upgrade/snapshot.db.gz", tmp_path), workdir=tmp_path)
    assert {
        "hash": status.hash,
        "revision": status.revision,
        "totalKey": status.total_key,
        "totalSize": status.total_size,
        "version": status.version,
    } == summary
