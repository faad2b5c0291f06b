"""Notes on a dump for readers of a report: about its log, and salvaged data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow

from auditor.base.wording import by_count, counted
from auditor.sources.registry_key import printable_key
from auditor.sources.source_plan import first_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.sources.etcd.salvage import Lost, Salvage
    from auditor.sources.etcd.wal import WalLog
    from auditor.sources.source_plan import SourcePlan


pa: Any = pyarrow

_NAMED_UNSAFE: Final = 20


def lost_damage(lost: Lost, revisions: int, *, salvaged: bool) -> tuple[str, str]:
    """Return place and description of the damage that pages which nothing refers to hold more than the tree.

    Args:
        lost: What they hold.
        revisions: The number of revisions that the tree reaches.
        salvaged: Whether these pages are read.
    """
    held = f"{counted(lost.pages, 'unreferenced page')} {by_count(lost.pages, 'holds', 'hold')} rows of"
    text = f"the tree reaches {counted(revisions, 'revision')}; {held} {counted(lost.keys, 'key')} beyond it"
    return "bucket key", text if salvaged else f"{text}, which were not read (auditor audit --salvage reads them)"


def salvage_notes(saved: Salvage, plan: SourcePlan) -> Iterator[str]:
    """Return notes on data from unreferenced pages, and on data that may be lost."""
    yield (
        f"salvage: {saved.revisions} revisions of {len(saved.keys)} keys were saved from {saved.pages} pages that "
        "nothing refers to; they are not certain"
    )
    if saved.unverified:
        yield f"salvage: {saved.unverified} of them may belong to a transaction that was not finished"
    if saved.outdated:
        last = "not known" if saved.compacted is None else f"revision {saved.compacted}"
        yield (
            f"salvage: {saved.outdated} of them may be of before the last compaction ({last}): objects that were "
            "changed or deleted since may be among what was read"
        )
    import pyarrow.compute as pc  # noqa: PLC0415 - it makes 300 functions when it is loaded

    unsafe = set(saved.unsafe)
    with pa.memory_map(plan.live) as stream:
        batches = pa.ipc.open_file(stream)
        for index in range(batches.num_record_batches if unsafe else 0):
            keys = batches.get_batch(index).column("key")
            wanted = pa.array(sorted(unsafe), keys.type)
            unsafe.difference_update(keys.filter(pc.is_in(keys, value_set=wanted)).to_pylist())
    if unsafe:
        names = first_names([printable_key(key) for key in sorted(unsafe)[:_NAMED_UNSAFE]], len(unsafe))
        yield (
            f"salvage: {len(unsafe)} keys were met only in revisions that a compaction may have removed; they are not "
            f"in this report: {names}"
        )


def wal_notes(log: WalLog) -> Iterator[str]:
    """Return notes on the contents of the write-ahead log that are not in the database."""
    newer = log.unapplied
    if log.snapshot:
        yield (
            f"the write-ahead log goes on from a snapshot (index {log.snapshot}) that the database does "
            "not hold: the member's state is newer; take a snapshot instead"
        )
    if newer.entries:
        from auditor.sources.etcd.wal import MOST_KEYS  # noqa: PLC0415 - for data directories only

        ranges = f" and {counted(newer.ranges, 'range')} of keys" if newer.ranges else ""
        leases = f" and the keys of {counted(newer.leases, 'revoked lease')}" if newer.leases else ""
        keys = ("at least " if len(newer.keys) >= MOST_KEYS else "") + f"{len(newer.keys)} keys"
        yield (
            f"{newer.entries} entries of the write-ahead log (index {newer.first}..{newer.last}) are newer than the "
            f"database and not applied: {keys}{ranges}{leases} may be newer; take a snapshot instead"
        )
    if newer.gap:
        yield f"the write-ahead log begins at index {newer.first}: what lies between the database and it is missing"
    if log.torn:
        yield "the write-ahead log ends in a record that was being written"
    for name, reason in log.faults:
        yield f"write-ahead log {name}: {reason}"
