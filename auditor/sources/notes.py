"""Notes on a dump for readers of a report: about its keys, its log, and salvaged data."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

import pyarrow

from auditor.base.wording import are, by_count, counted
from auditor.sources.plan import first_names
from auditor.sources.registry_key import printable_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.sources.etcd.salvage import Lost, Salvage
    from auditor.sources.etcd.wal import WalLog
    from auditor.sources.plan import SourcePlan

__all__ = ["lost_damage", "prefix_note", "salvage_notes", "wal_notes"]

pa: Any = pyarrow

_NAMED_KEYS: Final = 1000
_DEFINITIONS: Final = b"/apiextensions.k8s.io/customresourcedefinitions/"
_NAMESPACES: Final = b"/namespaces/"
_value: Final = methodcaller("as_py")
_NAMED_UNSAFE: Final = 20


def prefix_note(plan: SourcePlan, prefix: str) -> tuple[str, ...]:
    """Return a note if no key has the prefix, with the prefix that the keys have; else one for each other API server.

    Several API servers may have their keys in one etcd, each below a prefix of its own and with its own definitions.
    """
    root = ("/" + prefix.strip("/") + "/") if prefix.strip("/") else "/"
    with pa.memory_map(plan.live) as stream:
        batches = pa.ipc.open_file(stream)
        tops: Counter[bytes] = Counter()
        for index in range(batches.num_record_batches):
            keys = batches.get_batch(index).column("key")
            at = bisect_left(keys, root.encode(), key=lambda key: key.as_py())
            if at < len(keys) and keys[at].as_py().startswith(root.encode()):
                return tuple(_servers_beside(batches.read_all()["key"], root))
            step = max(1, len(keys) // _NAMED_KEYS)
            tops.update(key.as_py().split(b"/", 2)[1] for key in keys[::step] if key.as_py().startswith(b"/"))
    if not tops:
        return ()
    top = "/" + tops.most_common(1)[0][0].decode("utf-8", "backslashreplace")
    return (f"no key is below {root}; most are below {top}/: was the server run with --etcd-prefix {top}?",)


def _servers_beside(keys: Any, root: str) -> Iterator[str]:
    """Yield a note for each first segment of sorted keys below which another API server has its own.

    Args:
        keys: Sorted keys.
        root: The prefix of the run, with slashes around it.
    """
    at, own = 0, root.encode().split(b"/", 2)[1]
    for _ in range(_NAMED_KEYS if own else 0):
        at = bisect_left(keys, b"/", lo=at, key=_value)
        if at >= len(keys) or not (key := keys[at].as_py()).startswith(b"/"):
            return
        top = key.split(b"/", 2)[1]
        end = bisect_left(keys, b"/" + top + b"0", lo=at, key=_value)  # the character after the slash
        for kept in (_DEFINITIONS, _NAMESPACES) if top != own else ():
            first = bisect_left(keys, b"/" + top + kept, lo=at, hi=end, key=_value)
            if first < end and keys[first].as_py().startswith(b"/" + top + kept):
                shown, count = "/" + top.decode("utf-8", "backslashreplace"), end - at
                yield (
                    f"{counted(count, 'key')} {are(count)} below {shown}/, as those of another API server: not judged "
                    f"in this run (--etcd-prefix {shown} in a run of its own judges them)"
                )
                break
        at = end


def lost_damage(lost: Lost, revisions: int, *, salvaged: bool) -> tuple[str, str]:
    """Return place and description of the damage that pages which nothing refers to hold more than the tree.

    Args:
        lost: What they hold.
        revisions: The number of revisions that the tree reaches.
        salvaged: Whether these pages are read.
    """
    held = f"{counted(lost.pages, 'unreferenced page')} {by_count(lost.pages, 'holds', 'hold')} rows of"
    text = (
        f"the tree is intact and reaches {counted(revisions, 'revision')}; {held} {counted(lost.keys, 'key')} beyond it"
    )
    return "bucket key", text if salvaged else f"{text}, which were not read (--salvage reads them)"


def salvage_notes(saved: Salvage, plan: SourcePlan) -> Iterator[str]:
    """Return notes on data from unreferenced pages, and on data that may be lost."""
    yield (
        f"salvage: {saved.revisions} revisions of {len(saved.keys)} keys were saved from {saved.pages} pages that "
        "nothing refers to; they are not certain"
    )
    if saved.unverified:
        yield f"salvage: {saved.unverified} of them may belong to a transaction that was not finished"
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
    found = log.unapplied
    if log.snapshot:
        yield (
            f"the write-ahead log goes on from a snapshot (index {log.snapshot}) that the database does "
            "not hold: the member's state is newer; take a snapshot instead"
        )
    if found.entries:
        from auditor.sources.etcd.wal import MOST_KEYS  # noqa: PLC0415 - for data directories only

        ranges = f" and {counted(found.ranges, 'range')} of keys" if found.ranges else ""
        leases = f" and the keys of {counted(found.leases, 'revoked lease')}" if found.leases else ""
        keys = ("at least " if len(found.keys) >= MOST_KEYS else "") + f"{len(found.keys)} keys"
        yield (
            f"{found.entries} entries of the write-ahead log (index {found.first}..{found.last}) are newer than the "
            f"database and not applied: {keys}{ranges}{leases} may be newer; take a snapshot instead"
        )
    if found.gap:
        yield f"the write-ahead log begins at index {found.first}: what lies between the database and it is missing"
    if log.torn:
        yield "the write-ahead log ends in a record that was being written"
    for name, reason in log.faults:
        yield f"write-ahead log {name}: {reason}"
