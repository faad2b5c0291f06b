"""etcd's database file: the checksum of a snapshot, the buckets, and the values of `meta`.

A snapshot is the database followed by its SHA-256 (32 bytes), so that `size % 512 == 32`; a copied database has none. A
wrong digest is reported as damage, and reading continues.
Source: etcd etcdutl/snapshot/v3_snapshot.go, server/storage/schema/bucket.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from auditor.base.errors import DamagedDump, UnknownDump
from auditor.base.wording import counted
from auditor.sources.bolt import BoltTree, Bucket, Loss, Meta, Metas, read_metas
from auditor.sources.etcd.mvcc import parse_revision
from auditor.sources.etcd.salvage import Salvage, find_root
from auditor.sources.files.digest import DIGEST_SIZE, SECTOR, map_file
from auditor.sources.files.view import FileView
from auditor.sources.source_plan import DamageLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from auditor.sources.bolt import LeafElements


def transactions(path: Path) -> tuple[int, ...]:
    """Return the transactions in the meta pages of a database, newest first."""
    return tuple(meta.txid for meta in read_metas(FileView(map_file(path))).valid)


@dataclass(slots=True)
class EtcdFile:
    """An etcd database whose pages can be read.

    Attributes:
        meta: The meta page in use.
        valid_metas: All valid ones, newest first.
        buckets: Top-level buckets by name.
        notes: Notes for the report.
        damage: Damage so far; `note_losses` adds the losses of the tree.
    """

    path: str
    view: FileView
    meta: Meta
    valid_metas: tuple[Meta, ...]
    tree: BoltTree
    buckets: dict[bytes, Bucket]
    notes: list[str] = field(default_factory=list)
    damage: DamageLog = field(default_factory=DamageLog)

    @classmethod
    def open(cls, path: Path, *, name: str = "", salvage: bool = False) -> EtcdFile:
        """Open a database or snapshot.

        Args:
            name: Its name in messages; the path if empty.
            salvage: If the meta pages lead to no root page, search for one among all pages.

        Raises:
            DamagedDump: No meta page is valid.
            UnknownDump: A bolt file of something else.
        """
        name = name or str(path)
        data = map_file(path)
        size = len(data)
        view = FileView(data, size - DIGEST_SIZE if size % SECTOR == DIGEST_SIZE else size)
        metas = read_metas(view)
        if not metas.valid:
            faults = "; ".join(f"meta page {page}: {fault}" for page, fault in metas.faults)
            what = f"both meta pages damaged ({faults})"
            rescued = cls._rescued(name, view, metas, what) if salvage else None
            if rescued is None:
                advice = "save it again" if salvage else "try audit --salvage, or save it again"
                raise DamagedDump(name, f"etcd database with {what}", "", advice)
            return rescued
        trees = [BoltTree(view, meta) for meta in metas.valid]
        buckets = [tree.buckets() for tree in trees]
        chosen = _better(trees, buckets)
        bucket = buckets[chosen]
        if b"key" not in bucket and not trees[chosen].losses:
            meta = metas.valid[chosen]
            lost = Salvage(view, trees[chosen], None, None).lost(0)
            if lost is not None:
                what = f"the root, page {meta.root}, has no bucket `key`"
                rescued = cls._rescued(name, view, metas, what) if salvage else None
                if rescued is not None:
                    return rescued
                text = (
                    f"etcd database: {what}; {lost.pages} unreferenced pages hold rows of {counted(lost.keys, 'key')}"
                )
                advice = "save it again" if salvage else "try audit --salvage, or save it again"
                raise DamagedDump(name, text, "", advice)
            names = ", ".join(sorted(key.decode("utf-8", "backslashreplace") for key in bucket)) or "none"
            raise UnknownDump(
                name, f"bolt file, not etcd: buckets found: {names}", "an etcd database with a bucket `key`"
            )
        out = cls(name, view, metas.valid[chosen], metas.valid, trees[chosen], bucket)
        out.notes.extend(
            f"meta page {page} is damaged ({fault}); the other one is used" for page, fault in metas.faults
        )
        if chosen:
            page, fault = _fault(trees[0], buckets[0])
            told = f"state as of the transaction before it ({out.meta.txid}, not {metas.valid[0].txid}) is read instead"
            out.damage.add(f"page {page}", f"{fault}; {told}")
        if salvage and b"key" not in bucket:
            reason = "; ".join(f"page {loss.page}: {loss.reason}" for loss in out.tree.losses)
            rescued = cls._rescued(name, view, metas, f"the root page is lost ({reason})")
            if rescued is not None:
                return rescued
        out.note_losses("root")
        out._check_size(size)
        return out

    @classmethod
    def _rescued(cls, name: str, view: FileView, metas: Metas, reason: str) -> EtcdFile | None:
        """Open a file by the newest root page that can be found in it; None if there is none."""
        meta = find_root(view, metas.valid[0].page_size if metas.valid else None)
        if meta is None:
            return None
        tree = BoltTree(view, meta)
        out = cls(name, view, meta, metas.valid, tree, tree.buckets())
        told = f"{reason}; the newest root that was found, page {meta.root}, is read instead: all of it is salvaged"
        out.damage.add("root page" if metas.valid else "meta pages", told)
        out.note_losses("root")
        return out

    def _check_size(self, size: int) -> None:
        meta, view = self.meta, self.view
        if meta.high_water_mark * meta.page_size > view.size:
            pages = view.size // meta.page_size
            text = f"header says {meta.high_water_mark} pages of {meta.page_size} bytes, file has {pages}"
            self.damage.add("end of file", f"truncated: {text}")
        elif size % SECTOR not in {0, DIGEST_SIZE}:
            self.notes.append(f"size {size} is neither that of a database nor of a snapshot: cut or padded")

    def rows(self, bucket: bytes) -> Iterator[LeafElements]:
        """Yield the rows of a bucket; nothing if it does not exist."""
        if bucket in self.buckets:
            yield from self.tree.rows(self.buckets[bucket])

    def values(self, bucket: bytes) -> dict[bytes, bytes]:
        """Return the rows of a small bucket."""
        cut = self.view.cut
        return {
            cut(key, key_size): cut(key + key_size, size)
            for rows in self.rows(bucket)
            for key, key_size, size in zip(
                rows.key.tolist(), rows.key_size.tolist(), rows.value_size.tolist(), strict=True
            )
        }

    def report(self, page: int, element: int, reason: str) -> None:
        """Record a row of the `key` bucket that cannot be used."""
        self.damage.add(f"page {page}, element {element}", reason)

    def note_losses(self, bucket: str = "key") -> None:
        """Move the losses of the tree to `damage`, described by revisions."""
        for loss in self.tree.losses:
            self.damage.add(*_describe(loss, bucket))
        self.tree.losses.clear()


def _better(trees: list[BoltTree], buckets: list[dict[bytes, Bucket]]) -> int:
    """Choose between two states: the newer one, unless only the other can be read."""

    def score(index: int) -> int:
        tree, candidate = trees[index], buckets[index]
        if b"key" not in candidate:
            return 0
        return 1 if tree.losses or tree.root_fault(candidate[b"key"]) else 2

    best = max(score(index) for index in range(len(trees)))
    return next(index for index in range(len(trees)) if score(index) == best)


def _fault(tree: BoltTree, found: dict[bytes, Bucket]) -> tuple[int, str]:
    """Return why a state was not chosen: page, reason."""
    if tree.losses:
        return tree.losses[0].page, tree.losses[0].reason
    if b"key" not in found:
        return tree.meta.root, "no bucket `key`"
    return found[b"key"].root, tree.root_fault(found[b"key"])


def _describe(loss: Loss, bucket: str) -> tuple[str, str]:
    """Describe the range of lost keys."""
    where = f"page {loss.page}"
    if bucket != "key":
        return f"{where} (bucket {bucket})", loss.reason
    if loss.read_all:
        return where, loss.reason
    low = parse_revision(loss.low[:17]) if loss.low else None
    high = parse_revision(loss.high[:17]) if loss.high else None
    first = low.main if low else 1
    if high is None:
        span = f"revisions {first} and later"
    else:
        last = high.main if high.sub else high.main - 1
        span = f"revisions {first}..{max(first, last)}"
    return f"{where} ({span})", f"{loss.reason}; objects changed in these revisions are unknown"


@dataclass(frozen=True, slots=True)
class MetaValues:
    """Values of the bucket `meta`; None if one is missing."""

    consistent_index: int | None
    finished: int | None
    scheduled: int | None
    keys: tuple[str, ...]

    @classmethod
    def of(cls, values: dict[bytes, bytes]) -> MetaValues:
        """Read the values of the bucket."""

        def main(key: bytes) -> int | None:
            revision = parse_revision(values.get(key, b""))
            return revision.main if revision else None

        index = values.get(b"consistent_index", b"")
        return cls(
            int.from_bytes(index, "big") if len(index) == 8 else None,
            main(b"finishedCompactRev"),
            main(b"scheduledCompactRev"),
            tuple(sorted(key.decode("utf-8", "backslashreplace") for key in values)),
        )

    def current_revision(self, last: int) -> int:
        """Return the store's revision, given that of the last row: a compacted deletion may have been newer."""
        return max(1, last, self.finished or 0, self.scheduled or 0)
