"""A small writer of bolt files and etcd databases, for tests: pages as bbolt lays them out, sizes as the test wants."""

from __future__ import annotations

import hashlib
import io
import struct
from typing import TYPE_CHECKING, Any

from auditor.sources.bolt.page import fnv64a

if TYPE_CHECKING:
    from collections.abc import Iterable

BucketItems = "dict[bytes, bytes | BucketItems]"
NO_FREELIST = 0xFFFFFFFFFFFFFFFF


class BoltWriter:
    """Writes pages behind each other into a stream; `fill` is how much of a page is used before the next begins."""

    def __init__(self, stream: Any = None, *, page_size: int = 4096, fill: float = 1.0) -> None:
        self.stream = stream if stream is not None else io.BytesIO()
        self.page_size = page_size
        self.fill = fill
        self.next_page = 2
        self.stream.write(bytes(2 * page_size))

    def page_image(self, page: int, flags: int, elements: list[bytes], data: list[bytes], overflow: int) -> bytes:
        return struct.pack("<QHHI", page, flags, len(elements), overflow) + b"".join(elements) + b"".join(data)

    def put_page(self, flags: int, elements: list[bytes], data: list[bytes]) -> int:
        size = 16 + sum(map(len, elements)) + sum(map(len, data))
        count = max(1, -(-size // self.page_size))
        page = self.next_page
        self.stream.write(self.page_image(page, flags, elements, data, count - 1).ljust(count * self.page_size, b"\0"))
        self.next_page += count
        return page

    @staticmethod
    def leaf_elements(items: list[tuple[int, bytes, bytes]]) -> tuple[list[bytes], list[bytes]]:
        elements, data, at = [], [], 16 * len(items)
        for index, (flags, key, value) in enumerate(items):
            elements.append(struct.pack("<IIII", flags, at - 16 * index, len(key), len(value)))
            data += [key, value]
            at += len(key) + len(value)
        return elements, data

    def put_branch(self, children: list[tuple[bytes, int]]) -> int:
        elements, data, at = [], [], 16 * len(children)
        for index, (key, page) in enumerate(children):
            elements.append(struct.pack("<IIQ", at - 16 * index, len(key), page))
            data.append(key)
            at += len(key)
        return self.put_page(1, elements, data)

    def put_tree(self, items: Iterable[tuple[int, bytes, bytes]], *, leaf_rows: int | None = None) -> int:
        """Write sorted (flags, key, value) as a tree of pages and return the root's page id."""
        limit = max(64, int(self.page_size * self.fill))
        level: list[tuple[bytes, int]] = []
        waiting: list[tuple[int, bytes, bytes]] = []
        size = 16

        def put_leaf() -> None:
            nonlocal waiting, size
            level.append((waiting[0][1] if waiting else b"", self.put_page(2, *self.leaf_elements(waiting))))
            waiting, size = [], 16

        for item in items:
            need = 16 + len(item[1]) + len(item[2])
            if waiting and (size + need > limit or len(waiting) == leaf_rows):
                put_leaf()
            waiting.append(item)
            size += need
        if waiting or not level:
            put_leaf()
        while len(level) > 1:
            above: list[tuple[bytes, int]] = []
            start = 0
            while start < len(level):
                stop, size = start, 16
                while stop < len(level) and (stop - start < 2 or size + 16 + len(level[stop][0]) <= limit):
                    size += 16 + len(level[stop][0])
                    stop += 1
                above.append((level[start][0], self.put_branch(level[start:stop])))
                start = stop
            level = above
        return level[0][1]

    def bucket_value(self, items: dict[bytes, Any], *, inline: bool) -> bytes:
        """Write a bucket and return its value in the parent: header, and the page image if it is inline."""
        rows = [self.row(key, items[key], inline=inline) for key in sorted(items)]
        if inline and all(flags == 0 for flags, _, _ in rows):
            elements, data = self.leaf_elements(rows)
            image = self.page_image(0, 2, elements, data, 0)
            if len(image) <= self.page_size // 4:
                return struct.pack("<QQ", 0, 0) + image
        return struct.pack("<QQ", self.put_tree(rows), 0)

    def row(self, key: bytes, value: Any, *, inline: bool) -> tuple[int, bytes, bytes]:
        if isinstance(value, dict):
            return 1, key, self.bucket_value(value, inline=inline)
        return 0, key, value

    def finish(
        self, root: int, *, txid: int = 5, freelist: list[int] | None = None, older_root: int | None = None
    ) -> None:
        """Write the meta pages: the newest at page txid % 2, the other with the transaction before it."""
        freelist_page = NO_FREELIST
        if freelist is not None:
            count, ids = (len(freelist), freelist) if len(freelist) < 0xFFFF else (0xFFFF, [len(freelist), *freelist])
            data = struct.pack(f"<{len(ids)}Q", *ids)
            freelist_page = self.put_page(0x10, [], [data])
            self.stream.seek(freelist_page * self.page_size + 10)
            self.stream.write(struct.pack("<H", count))
        for one, its_root in ((txid, root), (txid - 1, root if older_root is None else older_root)):
            body = struct.pack(
                "<IIIIQQQQQ", 0xED0CDAED, 2, self.page_size, 0, its_root, 0, freelist_page, self.next_page, one
            )
            image = struct.pack("<QHHI", one % 2, 4, 0, 0) + body + struct.pack("<Q", fnv64a(body))
            self.stream.seek((one % 2) * self.page_size)
            self.stream.write(image)
        self.stream.seek(0, 2)


def bolt_file(
    buckets: dict[bytes, Any],
    *,
    page_size: int = 4096,
    fill: float = 1.0,
    inline: bool = True,
    freelist: list[int] | None = None,
    tail_pages: int = 0,
) -> bytes:
    """Return a bolt file with these buckets (nested dicts are buckets)."""
    writer = BoltWriter(page_size=page_size, fill=fill)
    root = writer.put_tree([writer.row(key, buckets[key], inline=inline) for key in sorted(buckets)])
    writer.finish(root, freelist=freelist)
    writer.stream.write(bytes(tail_pages * page_size))
    data: bytes = writer.stream.getvalue()
    return data


def varint(number: int) -> bytes:
    out = bytearray()
    number &= 0xFFFFFFFFFFFFFFFF
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def key_value(key: bytes, create: int = 0, mod: int = 0, version: int = 0, value: bytes = b"", lease: int = 0) -> bytes:
    """Return a mvccpb.KeyValue as etcd writes it: zero fields left out."""
    out = b""
    if key:
        out += b"\x0a" + varint(len(key)) + key
    for tag, number in ((0x10, create), (0x18, mod), (0x20, version)):
        if number:
            out += bytes([tag]) + varint(number)
    if value:
        out += b"\x2a" + varint(len(value)) + value
    if lease:
        out += b"\x30" + varint(lease)
    return out


def revision(main: int, sub: int = 0, *, tombstone: bool = False) -> bytes:
    return struct.pack(">Q", main) + b"_" + struct.pack(">Q", sub) + (b"t" if tombstone else b"")


class History:
    """Writes what etcd would: puts and deletes, one revision each by default."""

    def __init__(self, first: int = 2) -> None:
        self.main = first - 1
        self.sub = 0
        self.rows: dict[bytes, bytes] = {}
        self.live: dict[bytes, tuple[int, int, int, bytes]] = {}

    def _next(self, same: bool) -> None:
        if same:
            self.sub += 1
        else:
            self.main, self.sub = self.main + 1, 0

    def put(self, key: bytes, value: bytes, *, same: bool = False, lease: int = 0) -> None:
        self._next(same)
        create, _, version, _ = self.live.get(key, (self.main, 0, 0, b""))
        self.live[key] = (create, self.main, version + 1, value)
        self.rows[revision(self.main, self.sub)] = key_value(key, create, self.main, version + 1, value, lease)

    def delete(self, key: bytes, *, same: bool = False) -> None:
        self._next(same)
        self.live.pop(key, None)
        self.rows[revision(self.main, self.sub, tombstone=True)] = key_value(key)


def etcd_buckets(
    rows: dict[bytes, bytes], *, finished: int | None = None, scheduled: int | None = None
) -> dict[bytes, Any]:
    """Return the buckets of an etcd 3.6 database around the rows of `key`."""
    meta = {b"consistent_index": struct.pack(">Q", 7), b"term": struct.pack(">Q", 2), b"storageVersion": b"3.6.0"}
    if finished is not None:
        meta[b"finishedCompactRev"] = revision(finished)
    if scheduled is not None:
        meta[b"scheduledCompactRev"] = revision(scheduled)
    empty = (b"alarm", b"auth", b"authRoles", b"authUsers", b"cluster", b"lease", b"members", b"members_removed")
    return {b"key": rows, b"meta": meta, **{name: {} for name in empty}}


def snapshot(data: bytes) -> bytes:
    """Return a bolt file as `etcdctl snapshot save` ends it: with the SHA-256 of all of it."""
    return data + hashlib.sha256(data).digest()
