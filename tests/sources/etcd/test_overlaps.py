"""Elements of a page that lie over each other: believed once, or a page of a few bytes would hold gigabytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from auditor.sources.bolt import BoltTree, read_metas
from auditor.sources.bolt.page import fnv64a
from auditor.sources.files.view import FileView
from tests.sources.bolt_writer import bolt_file, key_value, revision
from tests.sources.dumps import index

if TYPE_CHECKING:
    from pathlib import Path

PAGE = 4096


def forged(elements: int, size: int) -> bytes:
    """A database whose one leaf has many elements, all with the same long value."""
    value = key_value(b"k" * size, 2, 2, 1, b"v")
    rows = {revision(main): b"v" for main in range(2, 2 + elements)}
    data = bytearray(bolt_file({b"key": rows, b"meta": {b"term": bytes(8)}}, inline=False))
    page = next(
        at for at in range(2 * PAGE, len(data), PAGE)
        if struct.unpack_from("<H", data, at + 8)[0] == 2 and struct.unpack_from("<H", data, at + 10)[0] == elements
    )  # fmt: skip
    needed = 16 + 16 * elements + 17 * elements + len(value)
    pages = -(-needed // PAGE)
    image = bytearray(pages * PAGE)
    new = len(data) // PAGE
    struct.pack_into("<QHHI", image, 0, new, 2, elements, pages - 1)
    body = 16 + 16 * elements
    for number in range(elements):
        at = 16 + 16 * number
        key = body + 17 * number
        image[key : key + 17] = revision(number + 2)
        # every value runs to the end of the page, over the keys after it
        struct.pack_into("<IIII", image, at, 0, key - at, 17, body + 17 * elements + len(value) - key - 17)
    image[body + 17 * elements : body + 17 * elements + len(value)] = value
    data += image
    old = struct.pack("<Q", page // PAGE)
    root = struct.unpack_from("<Q", data, 16 + 16)[0] * PAGE
    at = data.index(old, root)
    data[at : at + 8] = struct.pack("<Q", new)
    for meta in (0, 1):
        struct.pack_into("<Q", data, meta * PAGE + 16 + 40, new + pages)
        struct.pack_into("<Q", data, meta * PAGE + 16 + 56, fnv64a(bytes(data[meta * PAGE + 16 : meta * PAGE + 72])))
    return bytes(data)


@pytest.mark.parametrize("elements", [3, 60])
def test_elements_over_each_other_are_reported_and_not_read_twice(
    elements: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[int] = []

    def counted(function: Any) -> Any:
        def call(view: FileView, *spans: Any) -> Any:
            copies = function(view, *spans)
            copied.append(len(copies) if type(copies) is bytes else copies.nbytes)
            return copies

        return call

    for name in ("cut", "gather", "binary"):
        monkeypatch.setattr(FileView, name, counted(getattr(FileView, name)))
    data = forged(elements, 3_000_000)
    tree = BoltTree(FileView(data), read_metas(FileView(data)).valid[0])
    rows = list(tree.rows(tree.buckets()[b"key"]))
    assert sum(int((batch.key_size + batch.value_size).sum()) for batch in rows) <= len(data)
    assert any("lies over another one" in loss.reason for loss in tree.losses)
    path = tmp_path / "forged.db"
    path.write_bytes(data)
    file, counts, _ = index(path, tmp_path)
    assert counts.rows <= 1
    assert file.damage.records()
    assert sum(copied) < 2 * len(data)
