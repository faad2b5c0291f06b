"""bolt files: what is written is read back, whatever the page size; what is damaged is reported and read around."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.sources.bolt import BoltTree, Bucket, Loss, read_metas
from auditor.sources.bolt.check import longest_chain
from auditor.sources.bolt.page import Meta
from auditor.sources.files.view import FileView
from tests.sources.bolt_writer import BoltWriter, bolt_file
from tests.sources.etcd.status import unreachable_pages

PAGE_SIZES = [1024, 4096, 16384, 65536]
SLOW = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

keys = st.binary(min_size=1, max_size=40)
items = st.dictionaries(keys, st.one_of(st.binary(max_size=80), st.binary(min_size=1000, max_size=5000)), max_size=60)


def tree_of(data: bytes, *, batch_rows: int = 5) -> BoltTree:
    view = FileView(data)
    return BoltTree(view, read_metas(view).valid[0], batch_rows=batch_rows)


def read_bucket(tree: BoltTree, bucket: Bucket) -> list[tuple[bytes, Any]]:
    out: list[tuple[bytes, Any]] = []
    nested: dict[bytes, Bucket] = {}
    for rows in tree.rows(bucket):
        nested.update(tree.nested(rows))
        for key, key_size, size in zip(
            rows.key.tolist(), rows.key_size.tolist(), rows.value_size.tolist(), strict=True
        ):
            out.append((tree.view.cut(key, key_size), tree.view.cut(key + key_size, size)))
    return [(key, dict(read_bucket(tree, nested[key])) if key in nested else value) for key, value in out]


def read_file(data: bytes, *, batch_rows: int = 5) -> tuple[dict[bytes, Any], list[Loss]]:
    tree = tree_of(data, batch_rows=batch_rows)
    found = read_bucket(tree, Bucket(b"", tree.meta.root))
    assert [key for key, _ in found] == sorted(key for key, _ in found)
    return dict(found), tree.losses


def rows_of(data: bytes, *, batch_rows: int = 1 << 14) -> tuple[dict[bytes, bytes], list[Loss]]:
    """Read the only bucket of a file."""
    tree = tree_of(data, batch_rows=batch_rows)
    (bucket,) = tree.buckets().values()
    return dict(read_bucket(tree, bucket)), tree.losses


# ---- what is written is read back


@given(
    st.dictionaries(keys, items, min_size=1, max_size=4),
    st.sampled_from(PAGE_SIZES),
    st.floats(0.1, 1),
    st.booleans(),
    st.integers(1, 50),
)
@SLOW
def test_buckets_are_read_back(
    buckets: dict[bytes, Any], page_size: int, fill: float, inline: bool, batch: int
) -> None:
    data = bolt_file(buckets, page_size=page_size, fill=fill, inline=inline)
    assert read_file(data, batch_rows=batch) == (buckets, [])


@given(
    st.recursive(
        items, lambda inner: st.dictionaries(keys, st.one_of(st.binary(max_size=30), inner), max_size=5), max_leaves=12
    )
)
@SLOW
def test_buckets_in_buckets_are_read_back(bucket: dict[bytes, Any]) -> None:
    assert read_file(bolt_file({b"outer": bucket}, page_size=1024)) == ({b"outer": bucket}, [])


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_trees_of_several_levels_are_read_back(page_size: int) -> None:
    rows = {struct.pack(">Q", number): b"v" * (number % 90) for number in range(6000)}
    data = bolt_file({b"b": rows}, page_size=page_size, fill=600 / page_size)
    assert rows_of(data) == (rows, [])
    assert rows_of(data, batch_rows=100) == (rows, [])


def test_keys_too_long_to_be_numbers_are_read_back() -> None:
    rows = {b"k" * 30 + struct.pack(">I", number): b"%d" % number for number in range(500)}
    assert rows_of(bolt_file({b"b": rows}, page_size=1024)) == (rows, [])


def test_a_key_that_another_begins_with_comes_first() -> None:
    rows = {b"a": b"1", b"a\0": b"2", b"a\0\0": b"3", b"b" * 24: b"4", b"b" * 24 + b"\0": b"5"}
    assert rows_of(bolt_file({b"b": rows}, inline=False)) == (rows, [])


def test_values_over_many_pages_are_one_span() -> None:
    rows = {b"a": b"1", b"big": bytes(range(256)) * 1000, b"z": b"2"}
    assert rows_of(bolt_file({b"b": rows}, page_size=1024)) == (rows, [])


def test_pages_behind_the_high_water_mark_are_ignored() -> None:
    rows = {b"a": b"1"}
    data = bolt_file({b"b": rows}, tail_pages=40)
    assert rows_of(data) == (rows, [])


@pytest.mark.parametrize("freelist", [None, [7, 8, 9], list(range(100, 70_000))])
def test_a_stored_free_list_is_not_needed_and_not_counted(freelist: list[int] | None) -> None:
    data = bolt_file({b"b": {b"k%03d" % number: b"v" * 50 for number in range(100)}}, freelist=freelist)
    tree = tree_of(data)
    for bucket in tree.buckets().values():
        list(tree.rows(bucket))
    assert unreachable_pages(tree) == 0
    assert tree.meta.freelist is None or freelist is not None


# ---- metas


def test_the_newest_meta_counts() -> None:
    writer = BoltWriter()
    older = writer.put_tree([writer.row(b"old", {b"k": b"1"}, inline=True)])
    newer = writer.put_tree([writer.row(b"new", {b"k": b"2"}, inline=True)])
    for txid in (8, 9):
        writer.finish(newer, txid=txid, older_root=older)
        data = writer.stream.getvalue()
        metas = read_metas(FileView(data))
        assert [meta.txid for meta in metas.valid] == [txid, txid - 1]
        assert metas.valid[0].page == txid % 2
        assert set(tree_of(data).buckets()) == {b"new"}


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_one_meta_is_enough_at_any_page_size(page_size: int) -> None:
    data = bytearray(bolt_file({b"b": {b"k": b"v"}}, page_size=page_size))
    for page in (0, 1):
        broken = bytearray(data)
        broken[page * page_size + 40] ^= 1
        metas = read_metas(FileView(bytes(broken)))
        assert [meta.page for meta in metas.valid] == [1 - page]
        assert metas.faults == ((page, "checksum error"),)
        assert rows_of(bytes(broken))[0] == {b"k": b"v"}


@pytest.mark.parametrize(
    ("at", "number", "fault"),
    [(16, 1, "no bolt database (magic number)"), (20, 3, "version 3, not 2"), (24, 5000, "checksum error")],
)
def test_a_bad_meta_says_what_is_wrong(at: int, number: int, fault: str) -> None:
    data = bytearray(bolt_file({b"b": {}}))
    data[at : at + 4] = struct.pack("<I", number)
    assert read_metas(FileView(bytes(data))).faults[0] == (0, fault)


@pytest.mark.parametrize("size", [0, 10, 79, 80])
def test_a_file_of_a_few_bytes_has_no_meta(size: int) -> None:
    data = bolt_file({b"b": {}})[:size]
    metas = read_metas(FileView(data))
    assert len(metas.valid) == (size == 80)
    assert len(metas.faults) == 2 - len(metas.valid)


# ---- damage


ROWS = {struct.pack(">Q", number): b"value %d " % number * (1 + number % 5) for number in range(400)}


def flip(data: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


SMALL = bolt_file({b"b": ROWS}, page_size=1024, fill=0.5)


@given(st.integers(2048, len(SMALL) - 1), st.integers(0, 7), st.sampled_from([3, 70, 1 << 14]))
@settings(deadline=None, max_examples=400)
def test_one_bit_costs_what_is_reported_and_no_more(at: int, bit: int, batch: int) -> None:
    """Where the walk tells nothing, all keys are there; a key that is gone lies in a gap that it tells."""
    data = flip(SMALL, at, bit)
    tree = tree_of(data, batch_rows=batch)
    found: dict[bytes, bytes] = {}
    for name, bucket in tree.buckets().items():
        if name == b"b":
            found = dict(read_bucket(tree, bucket))
    if b"b" not in tree_of(data).buckets():
        return
    gone = [key for key in ROWS if key not in found]
    # a bit in a key may give another key in the same gap between its neighbours: nothing can tell that
    for key in gone:
        reported = any((loss.low or b"") <= key and (loss.high is None or key < loss.high) for loss in tree.losses)
        near = [other for other in found if other not in ROWS]
        assert reported or near, (key, tree.losses)
    assert len(gone) <= 0.5 * len(ROWS) or tree.losses


@pytest.mark.parametrize("what", ["leaf", "branch"])
def test_a_count_that_is_too_small_hides_nothing(what):
    found = {}
    data = bytearray(SMALL)
    flags = {1: "branch", 2: "leaf"}
    for number in range(2, len(data) // 1024):
        _, kind, count, _ = struct.unpack_from("<QHHI", data, 1024 * number)
        if flags.get(kind) == what and count > 3:
            struct.pack_into("<H", data, 1024 * number + 10, count - 2)
            break
    tree = tree_of(bytes(data))
    for name, bucket in tree.buckets().items():
        if name == b"b":
            found = dict(read_bucket(tree, bucket))
    assert found == ROWS
    assert [f"counts {count - 2} elements, and holds {count}" in loss.reason for loss in tree.losses] == [True]


@given(st.binary(min_size=0, max_size=3000), st.integers(0, 3000))
@settings(deadline=None, max_examples=200)
def test_any_bytes_in_the_place_of_pages_end(noise: bytes, at: int) -> None:
    data = bytearray(SMALL)
    start = 2048 + at
    data[start : start + len(noise)] = noise
    found, _ = read_file(bytes(data))
    assert isinstance(found, dict)


@given(st.integers(80, len(SMALL)))
@settings(deadline=None, max_examples=100)
def test_a_cut_file_keeps_what_is_left(size: int) -> None:
    tree = tree_of(SMALL[:size], batch_rows=50)
    found: dict[bytes, bytes] = {}
    for bucket in tree.buckets().values():
        found.update(read_bucket(tree, bucket))
    assert all(ROWS[key] == value for key, value in found.items())
    assert len(found) == len(ROWS) or tree.losses


def page_of_kind(data: bytes, flags: int, page_size: int = 1024) -> int:
    return next(
        page
        for page in range(2, len(data) // page_size)
        if struct.unpack_from("<QH", data, page * page_size) == (page, flags)
    )


def test_a_branch_that_points_at_itself_ends() -> None:
    branch = page_of_kind(SMALL, 1)
    data = bytearray(SMALL)
    struct.pack_into("<Q", data, branch * 1024 + 16 + 3 * 16 + 8, branch)
    found, losses = rows_of(bytes(data))
    assert [loss.reason for loss in losses] == ["multiple references"]
    assert set(ROWS) - set(found) == {key for key in ROWS if losses[0].low <= key < losses[0].high}


def test_a_page_is_read_once_though_two_parents_name_it() -> None:
    branch = page_of_kind(SMALL, 1)
    data = bytearray(SMALL)
    at = branch * 1024 + 16 + 8
    (first,) = struct.unpack_from("<Q", data, at)
    struct.pack_into("<Q", data, at + 16, first)
    found, losses = rows_of(bytes(data))
    assert len(losses) == 1
    assert all(ROWS[key] == value for key, value in found.items())
    assert set(ROWS) - set(found) == {key for key in ROWS if losses[0].low <= key < losses[0].high}


@pytest.mark.parametrize("depth", [10, 80])
def test_a_chain_of_branches_is_followed_so_far(depth: int) -> None:
    writer = BoltWriter(page_size=1024)
    page = writer.put_page(2, *writer.leaf_elements([(0, b"k", b"v")]))
    for _ in range(depth):
        page = writer.put_branch([(b"k", page)])
    root = writer.put_tree([(1, b"b", struct.pack("<QQ", page, 0))])
    writer.finish(root)
    found, losses = rows_of(writer.stream.getvalue())
    assert found == ({b"k": b"v"} if depth < 64 else {})
    assert [loss.reason for loss in losses] == ([] if depth < 64 else ["more than 64 levels of pages"])


def test_buckets_in_buckets_may_not_loop() -> None:
    """A bucket whose root is the page that holds it: the page is read once."""
    writer = BoltWriter(page_size=1024)
    page = writer.next_page
    root = writer.put_tree([(1, b"b", struct.pack("<QQ", page, 0))])
    assert root == page
    writer.finish(root)
    found, losses = read_file(writer.stream.getvalue())
    assert found == {b"b": {}}
    assert [loss.reason for loss in losses] == ["multiple references"]


def test_a_leaf_with_a_wrong_type_is_read_nevertheless() -> None:
    leaf = page_of_kind(SMALL, 2)
    data = flip(SMALL, leaf * 1024 + 8, 3)
    found, losses = rows_of(data)
    assert found == ROWS
    assert [(loss.page, loss.reason, loss.read_all) for loss in losses] == [(leaf, "flags 0x0a", True)]


def test_an_empty_leaf_is_a_root_or_damage() -> None:
    writer = BoltWriter(page_size=1024)
    full = writer.put_page(2, *writer.leaf_elements([(0, b"a", b"1")]))
    empty = writer.put_page(2, [], [])
    branch = writer.put_branch([(b"a", full), (b"m", empty)])
    bare = writer.put_page(2, [], [])
    root = writer.put_tree([(1, b"b", struct.pack("<QQ", branch, 0)), (1, b"c", struct.pack("<QQ", bare, 0))])
    writer.finish(root)
    found, losses = read_file(writer.stream.getvalue())
    assert found == {b"b": {b"a": b"1"}, b"c": {}}
    assert losses == [Loss(empty, "empty leaf", b"m", None)]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"short", "has a header of 5 bytes"),
        (struct.pack("<QQ", 0, 0) + b"cut", "is cut"),
        (struct.pack("<QQQHHI", 0, 0, 0, 1, 1, 0), "flags 0x01, 1 elements"),
        (struct.pack("<QQQHHIIIII", 0, 0, 0, 2, 1, 0, 0, 16, 900, 0), "element 0 out of page"),
        (struct.pack("<QQ", 999, 0), "not among the pages of the file"),
    ],
)
def test_a_bucket_that_cannot_be_read_is_reported(value: bytes, reason: str) -> None:
    writer = BoltWriter(page_size=1024)
    root = writer.put_tree([(1, b"b", value), writer.row(b"c", {b"k": b"v"}, inline=True)])
    writer.finish(root)
    tree = tree_of(writer.stream.getvalue())
    buckets = tree.buckets()
    found = {name: dict(read_bucket(tree, bucket)) for name, bucket in buckets.items()}
    assert found.get(b"b", {}) == {}
    assert found[b"c"] == {b"k": b"v"}
    assert len(tree.losses) == 1
    assert reason in tree.losses[0].reason


def test_an_overflow_that_claims_too_much_takes_nothing_from_others() -> None:
    leaf = page_of_kind(SMALL, 2)
    data = bytearray(SMALL)
    struct.pack_into("<I", data, leaf * 1024 + 12, 5)
    assert rows_of(bytes(data)) == (ROWS, [])


def test_a_huge_high_water_mark_costs_no_memory() -> None:
    view = FileView(SMALL)
    meta = read_metas(view).valid[0]
    huge = Meta(0, meta.page_size, meta.root, None, 1 << 60, meta.txid)
    tree = BoltTree(view, huge)
    (bucket,) = tree.buckets().values()
    assert dict(read_bucket(tree, bucket)) == ROWS


@given(st.lists(st.binary(min_size=1, max_size=2), max_size=9))
def test_the_longest_chain_is_longest(sequence: list[bytes]) -> None:
    chain = longest_chain(sequence, sequence)
    values = [sequence[index] for index in chain]
    assert chain == sorted(chain)
    assert all(one < other for one, other in pairwise(values))
    best = [1] * len(sequence)
    for index, value in enumerate(sequence):
        best[index] += max((best[before] for before in range(index) if sequence[before] < value), default=0)
    assert len(chain) == max(best, default=0)
