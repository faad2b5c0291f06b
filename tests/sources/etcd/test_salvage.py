"""What is saved of a damaged database is right; what may be stale is only named."""

from __future__ import annotations

import gzip
import random
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from auditor.base.errors import DamagedDump
from auditor.sources import open_source
from auditor.sources.bolt import read_metas
from auditor.sources.bolt.page import BRANCH, LEAF, branch_elements, read_headers
from auditor.sources.etcd import EtcdFile
from auditor.sources.etcd.salvage import find_root
from auditor.sources.files.digest import map_file
from auditor.sources.files.view import FileView
from auditor.sources.source_plan import SourcePlan
from tests.shared import SHARED, recorded, second_check
from tests.sources.bolt_writer import BoltWriter, bolt_file, key_value, revision
from tests.sources.dumps import table_rows, unpacked, values
from tests.sources.etcd.wal_writer import WalWriter, put

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "golden/etcd-files"
DAMAGED = sorted(path.name for path in (SHARED / FOLDER / "damaged").glob("*.gz")) or ["bad-both-metas.db.gz"]
PAGE = 4096


def read(path: Path, folder: Path, *, salvage: bool) -> tuple[SourcePlan, dict[bytes, tuple[int, bytes]]]:
    folder.mkdir(exist_ok=True)
    plan = open_source(str(path), number=0, workdir=folder, salvage=salvage)
    assert isinstance(plan, SourcePlan)
    rows = table_rows(plan.live)
    found = values(path if plan.mapped == str(path) else folder / plan.mapped, rows)
    return plan, {row["key"]: (row["mod_revision"], found[row["key"]]) for row in rows}


def salvage_notes(plan: SourcePlan) -> list[str]:
    return [note for note in plan.notes if note.startswith("salvage")]


@second_check("golden/etcd-files", by="tests/sources/etcd/test_salvage.py")
@pytest.mark.parametrize("name", DAMAGED)
def test_nothing_is_saved_that_was_not_there(name: str, tmp_path: Path) -> None:
    _, whole = read(unpacked(f"{FOLDER}/compacted-36.db.gz", tmp_path), tmp_path / "whole", salvage=False)
    path = unpacked(f"{FOLDER}/damaged/{name}", tmp_path)
    plan, found = read(path, tmp_path / "saved", salvage=True)
    # a deletion that is lost leaves its key as it was before; the gap is named
    wrong = {key for key, value in found.items() if whole.get(key) != value}
    assert len(wrong) <= (name in {"flip-leaf-pos.db.gz", "flip-leaf-value.db.gz"})
    if name == "bad-both-metas.db.gz":
        assert found == whole
        (damage,) = plan.damage
        assert damage.where == "meta pages"
        assert damage.reason.endswith("is read instead: all of it is salvaged")


def test_rows_that_a_compaction_may_have_removed_are_only_named(tmp_path: Path) -> None:
    path = unpacked(f"{FOLDER}/compacted-36.db.gz", tmp_path)
    cut_into_the_last_large_leaf(path)
    plan, found = read(path, tmp_path / "saved", salvage=True)
    first, named = salvage_notes(plan)
    assert first.startswith("salvage: 0 revisions of 0 keys were saved from 0 pages")
    assert " keys were met only in revisions that a compaction may have removed; " in named
    keys = {key.encode() for key in named.rpartition(": ")[2].split(", ")}
    assert {b"/registry/big/a", b"/registry/big/b"} <= keys
    assert not keys & found.keys()


def cut_into_the_last_large_leaf(path: Path) -> None:
    """Cut a database inside the last leaf page that has overflow pages."""
    pages = sorted(child for _, child in children(path))
    headers = read_headers(EtcdFile.open(path).view, np.array(pages) * PAGE)
    page = [page for page, overflow in zip(pages, headers.overflow.tolist(), strict=True) if overflow][-1]
    path.write_bytes(path.read_bytes()[: (page + 1) * PAGE + PAGE // 2])


def children(path: Path) -> list[tuple[int, int]]:
    """Return (offset of the child's page id in the file, child) of the branch pages of the bucket `key`."""
    file = EtcdFile.open(path)
    out: list[tuple[int, int]] = []
    pages = [file.buckets[b"key"].root]
    while pages:
        page = pages.pop()
        header = read_headers(file.view, np.array([page * PAGE]))
        if int(header.flags[0]) == BRANCH:
            elements = branch_elements(file.view, np.array([page * PAGE]), header.count)
            for number, child in enumerate(elements.child.tolist()):
                out.append((page * PAGE + 16 + 16 * number + 8, child))
                pages.append(child)
    return out


@pytest.mark.parametrize("name", ["snapshot-34.db.gz", "snapshot-36.db.gz", "cluster"])
def test_a_leaf_that_its_parent_has_lost_is_found_again(name: str, tmp_path: Path) -> None:
    """Nothing was compacted: all revisions of a gap that any leaf holds are right."""
    source = "golden/upgrade/snapshot.db.gz" if name == "cluster" else f"{FOLDER}/{name}"
    path = unpacked(source, tmp_path)
    _, whole = read(path, tmp_path / "whole", salvage=False)
    data = path.read_bytes()
    pointers = children(path)
    random.Random(5).shuffle(pointers)
    saved = 0
    for number, (at, _) in enumerate(pointers[:12]):
        broken = tmp_path / f"broken-{number}"
        broken.write_bytes(data[:at] + struct.pack("<Q", 1) + data[at + 8 :])
        plain, without = read(broken, tmp_path / f"a-{number}", salvage=False)
        plan, found = read(broken, tmp_path / f"b-{number}", salvage=True)
        assert plain.damage
        assert found == whole
        assert plan.damage == plain.damage
        assert not salvage_notes(plain)
        assert "were saved from" in salvage_notes(plan)[0]
        saved += without != whole
    assert saved


def test_a_root_page_that_is_gone_is_looked_for(tmp_path: Path) -> None:
    path = unpacked("golden/upgrade/snapshot.db.gz", tmp_path)
    (meta, *_) = read_metas(FileView(map_file(path))).valid
    assert find_root(FileView(map_file(path)), PAGE) is not None
    data = bytearray(path.read_bytes())
    data[meta.root * PAGE : meta.root * PAGE + 16] = bytes(16)
    path.write_bytes(data)
    _, empty = read(path, tmp_path / "a", salvage=False)
    assert empty == {}
    view = FileView(map_file(path))
    older = find_root(view, PAGE)
    plan, found = read(path, tmp_path / "b", salvage=True)
    if older is None:
        assert found == {}
    else:
        assert found
        assert any("all of it is salvaged" in damage.reason for damage in plan.damage)


@pytest.mark.parametrize("page_size", [4096, 16384, 65536])
def test_a_file_whose_beginning_is_gone_is_reported_by_its_pages(page_size: int, tmp_path: Path) -> None:
    """Nothing is left that says what the file is; both metas are zeros."""
    rows = {revision(main): key_value(b"/registry/a/b/%d" % main, main, main, 1, b"x" * 3000) for main in range(2, 400)}
    meta = {b"consistent_index": struct.pack(">Q", 9)}
    data = bolt_file({b"key": rows, b"meta": meta}, page_size=page_size)
    path = tmp_path / "gone.db"
    path.write_bytes(bytes(2 * page_size) + data[2 * page_size :])
    with pytest.raises(DamagedDump, match=f"pages of {page_size} bytes look intact; .*try audit --salvage"):
        read(path, tmp_path / "a", salvage=False)
    plan, found = read(path, tmp_path / "b", salvage=True)
    assert len(found) == len(rows)
    assert any("all of it is salvaged" in damage.reason for damage in plan.damage)


def test_a_data_directory_whose_meta_pages_are_gone_is_salvaged_with_its_log(tmp_path: Path) -> None:
    meta = {b"consistent_index": struct.pack(">Q", 1)}
    data = bolt_file({b"key": {revision(2): key_value(b"/registry/a", 2, 2, 1, b"x")}, b"meta": meta})
    database = tmp_path / "data" / "member" / "snap" / "db"
    database.parent.mkdir(parents=True)
    database.write_bytes(bytes(2 * PAGE) + data[2 * PAGE :])
    wal = WalWriter(tmp_path / "data" / "member" / "wal")
    wal.entry(put(b"/registry/a"))
    wal.entry(put(b"/registry/b"))
    plan, found = read(tmp_path / "data", tmp_path / "saved", salvage=True)
    assert list(found) == [b"/registry/a"]
    assert [note for note in plan.notes if note.startswith("1 entries of the write-ahead log (index 2..2)")]


def test_a_file_without_any_root_page_cannot_be_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    data = bytearray(bolt_file({b"other": {b"a": b"b"}}))
    data[16:20] = data[4096 + 16 : 4096 + 20] = bytes(4)
    path.write_bytes(data)
    with pytest.raises(DamagedDump, match="both meta pages damaged"):
        EtcdFile.open(path, salvage=True)


@pytest.mark.parametrize("flags", [LEAF, BRANCH])
def test_pages_that_lie_about_themselves_save_nothing(flags: int, tmp_path: Path) -> None:
    path = unpacked(f"{FOLDER}/compacted-36.db.gz", tmp_path)
    data = bytearray(path.read_bytes())
    at, _ = children(path)[0]
    struct.pack_into("<Q", data, at, at // PAGE)  # a branch page that is its own child
    noise = random.Random(7)
    pages = len(data) // PAGE
    for page in range(pages * 7 // 10, pages):
        data[page * PAGE : (page + 1) * PAGE] = noise.randbytes(PAGE)
        struct.pack_into("<QHHI", data, page * PAGE, page, flags, noise.randrange(1, 400), 0)
    path.write_bytes(data)
    plan, found = read(path, tmp_path / "saved", salvage=True)
    assert plan.damage
    assert isinstance(found, dict)


def test_the_page_size_is_guessed_where_no_meta_tells_it(tmp_path: Path) -> None:
    for size in (1024, 4096, 16384):
        rows: dict[bytes, Any] = {struct.pack(">Q", main) + b"_" + bytes(8): b"v" * 90 for main in range(400)}
        buckets = {b"key": rows, b"meta": {b"consistent_index": struct.pack(">Q", 7)}}
        view = FileView(bolt_file(buckets, page_size=size)[2 * size :].rjust(2 * size, b"\0"))
        data = bytes(2 * size) + bolt_file(buckets, page_size=size)[2 * size :]
        view = FileView(data)
        meta = find_root(view)
        assert meta is not None
        assert meta.page_size == size


# -- a tree that is intact and lost ------------------------------------------------------------------------------------


def emptied(path: Path, *, whole: bool, kept: int = 0) -> Path:
    """Make the root page of a database, or that of its bucket `key`, a leaf that has only some of its elements.

    Args:
        path: A database of a server.
        whole: Whether the root of all buckets is meant.
        kept: How many elements stay; more than none need a page that is a leaf.
    """
    with gzip.open(recorded("golden/encrypted/aescbc") / "snapshot.db.gz", "rb") as stream:
        path.write_bytes(stream.read())
    file = EtcdFile.open(path)
    page = file.meta.root if whole else file.buckets[b"key"].root
    data = bytearray(path.read_bytes())
    data[page * PAGE + 8 : page * PAGE + 12] = struct.pack("<HH", LEAF, kept)
    path.write_bytes(bytes(data[: len(data) // 512 * 512]))
    return path


@pytest.fixture(scope="module")
def rows_of_all(tmp_path_factory: pytest.TempPathFactory) -> dict[bytes, tuple[int, bytes]]:
    """The live keys of the database that `emptied` takes."""
    folder = tmp_path_factory.mktemp("whole")
    with gzip.open(recorded("golden/encrypted/aescbc") / "snapshot.db.gz", "rb") as stream:
        (folder / "whole.db").write_bytes(stream.read())
    plan, found = read(folder / "whole.db", folder / "work", salvage=True)
    assert (plan.damage, salvage_notes(plan)) == ((), [])  # free pages of a healthy database are no news
    return found


def test_keys_of_a_bucket_that_was_emptied_are_saved(
    tmp_path: Path, rows_of_all: dict[bytes, tuple[int, bytes]]
) -> None:
    path = emptied(tmp_path / "lost.db", whole=False)
    plain, without = read(path, tmp_path / "plain", salvage=False)
    [damage] = plain.damage
    assert (damage.where, without) == ("bucket key", {})
    assert "the tree reaches 0 revisions; " in damage.reason
    assert damage.reason.endswith("beyond it, which were not read (auditor audit --salvage reads them)")
    assert " unreferenced pages hold rows of " in damage.reason
    plan, found = read(path, tmp_path / "saved", salvage=True)
    assert found == rows_of_all
    assert "they are not certain" in salvage_notes(plan)[0]
    assert len(plan.damage) == 1


def test_a_root_that_was_emptied_is_named_and_saved(
    tmp_path: Path, rows_of_all: dict[bytes, tuple[int, bytes]]
) -> None:
    path = emptied(tmp_path / "lost.db", whole=True)
    with pytest.raises(
        DamagedDump, match=r"has no bucket `key`; \d+ unreferenced pages hold rows of .*try audit --salvage"
    ):
        read(path, tmp_path / "plain", salvage=False)
    plan, found = read(path, tmp_path / "saved", salvage=True)
    assert found.keys() == rows_of_all.keys()
    assert "is read instead: all of it is salvaged" in plan.damage[0].reason


def database(path: Path, reached: range, beside: range) -> Path:
    """Write a database whose tree has some revisions, each of a key, with others in a leaf that nothing refers to."""
    writer = BoltWriter()
    old, rows = (
        {revision(n): key_value(b"/registry/a/%d" % n, n, n, 1, b"{}") for n in some} for some in (beside, reached)
    )
    writer.put_tree([writer.row(key, old[key], inline=False) for key in sorted(old)])
    buckets: dict[bytes, Any] = {b"key": rows, b"meta": {b"consistent_index": struct.pack(">Q", 3)}}
    writer.finish(writer.put_tree([writer.row(key, buckets[key], inline=False) for key in sorted(buckets)]))
    path.write_bytes(writer.stream.getvalue() + bytes(8 * PAGE))
    return path


def test_newer_rows_of_a_few_keys_are_saved_and_are_no_damage(tmp_path: Path) -> None:
    """A snapshot of a busy server has such pages: of transactions that began while it was taken."""
    path = database(tmp_path / "busy.db", range(2, 12), range(12, 14))
    plain, without = read(path, tmp_path / "plain", salvage=False)
    assert (len(without), plain.damage, salvage_notes(plain)) == (10, (), [])
    plan, found = read(path, tmp_path / "saved", salvage=True)
    assert (len(found), plan.damage) == (12, ())
    assert [note.partition(" that nothing")[0] for note in salvage_notes(plan)] == [
        "salvage: 2 revisions of 2 keys were saved from 1 pages",
        "salvage: 2 of them may belong to a transaction that was not finished",
    ]


def test_leaves_are_saved_where_the_root_page_is_cut_off(tmp_path: Path) -> None:
    """Nothing says what was compacted, and nothing else would be read: all is taken, and said to be uncertain."""
    path = database(tmp_path / "cut.db", range(2, 12), range(12, 14))
    root = EtcdFile.open(path).meta.root
    path.write_bytes(path.read_bytes()[: root * PAGE])
    plain, without = read(path, tmp_path / "plain", salvage=False)
    assert (without, plain.damage[-1].where) == ({}, "bucket key")
    plan, found = read(path, tmp_path / "saved", salvage=True)
    assert sorted(found) == sorted(b"/registry/a/%d" % n for n in range(2, 14))
    assert plan.damage[0].where == f"page {root} (bucket root)"
    first, _, compaction = salvage_notes(plan)
    assert first.startswith("salvage: 12 revisions of 12 keys were saved from 2 pages")
    assert "12 of them may be of before the last compaction (not known)" in compaction


def test_older_rows_in_free_pages_are_left_alone(tmp_path: Path) -> None:
    path = database(tmp_path / "healthy.db", range(40, 44), range(2, 30))
    plain, without = read(path, tmp_path / "plain", salvage=False)
    plan, found = read(path, tmp_path / "saved", salvage=True)
    assert (found, plan.damage, plain.damage, salvage_notes(plan)) == (without, (), (), [])


def test_an_older_tree_is_lost_where_more_keys_are_beyond_it(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    writer = BoltWriter()
    newer = {revision(n): key_value(b"/registry/a/%d" % n, n, n, 1, b"{}" * 900) for n in range(4, 30)}
    writer.put_tree([writer.row(key, newer[key], inline=False) for key in sorted(newer)])
    rows = {revision(n): key_value(b"/registry/a/%d" % n, n, n, 1, b"{}") for n in (2, 3)}
    buckets: dict[bytes, Any] = {b"key": rows, b"meta": {b"consistent_index": struct.pack(">Q", 3)}}
    writer.finish(writer.put_tree([writer.row(key, buckets[key], inline=False) for key in sorted(buckets)]))
    path.write_bytes(writer.stream.getvalue())
    plain, without = read(path, tmp_path / "plain", salvage=False)
    assert "reaches 2 revisions; 13 unreferenced pages hold rows of 26 keys beyond it" in plain.damage[0].reason
    _, found = read(path, tmp_path / "saved", salvage=True)
    assert (len(without), len(found)) == (2, 28)
