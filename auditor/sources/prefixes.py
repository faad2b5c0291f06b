"""The keys of the API servers that share one etcd: which are those of a run, and notes on the others.

Several API servers may have their keys in one etcd, each below a prefix of its own and with its own definitions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow

from auditor.base.wording import are, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.sources.source_plan import SourcePlan


pa: Any = pyarrow

_NAMED_KEYS: Final = 1000
_DEFINITIONS: Final = b"/apiextensions.k8s.io/customresourcedefinitions/"
_NAMESPACES: Final = b"/namespaces/"
_value: Final = methodcaller("as_py")


def keep_own(plan: SourcePlan, prefix: str, prefixes: Sequence[str] = ()) -> None:
    """Leave the keys of servers that are judged beside this one out of a dump, and note those of further servers.

    Args:
        plan: The dump, which has keys.
        prefix: The prefix of the server.
        prefixes: Those of all servers that are judged, this one among them; the first also keeps the keys that are
            below none. None are given if only this server is judged.
    """
    if not prefixes:
        plan.notes += _note(plan, prefix)
        return
    with pa.memory_map(plan.live) as stream:
        table = pa.ipc.open_file(stream).read_all()
        is_own = _are_own(table["key"], prefix, prefixes)
        kept = table.filter(pa.array(is_own))
        path = Path(plan.live).with_suffix(".own")
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(kept)
    path.replace(plan.live)  # what else the walk wrote is found beside it
    plan.rows = kept.num_rows
    root = _root(prefix)
    first, end = _below(kept["key"], root)
    if first == end:
        plan.notes += (f"no key{_that_was_read(plan)} is below {root}",)
    plan.notes += tuple(_servers_beside(kept["key"], root))


def _root(prefix: str) -> str:
    """Return a prefix with slashes around it."""
    return ("/" + prefix.strip("/") + "/") if prefix.strip("/") else "/"


def _below(keys: Any, root: str) -> tuple[int, int]:
    """Return the range (first, end) of the sorted keys that begin with a text that ends in a slash."""
    first = bisect_left(keys, root.encode(), key=_value)
    return first, bisect_left(keys, root.encode()[:-1] + b"0", lo=first, key=_value)  # the character after the slash


def _are_own(keys: Any, prefix: str, prefixes: Sequence[str]) -> np.ndarray[Any, Any]:
    """Return for each of sorted keys whether it is of one server: a key is below the longest prefix that it has."""
    is_own = np.full(len(keys), prefix == prefixes[0])
    for other in sorted(prefixes, key=lambda one: len(_root(one))):
        first, end = _below(keys, _root(other))
        is_own[first:end] = other == prefix
    return is_own


def _note(plan: SourcePlan, prefix: str) -> tuple[str, ...]:
    """Return a note if no key has the prefix, with the one that the keys have; else one for each other API server."""
    root = _root(prefix)
    with pa.memory_map(plan.live) as stream:
        batches = pa.ipc.open_file(stream)
        tops: Counter[bytes] = Counter()
        for index in range(batches.num_record_batches):
            keys = batches.get_batch(index).column("key")
            position = bisect_left(keys, root.encode(), key=lambda key: key.as_py())
            if position < len(keys) and keys[position].as_py().startswith(root.encode()):
                return tuple(_servers_beside(batches.read_all()["key"], root))
            step = max(1, len(keys) // _NAMED_KEYS)
            tops.update(key.as_py().split(b"/", 2)[1] for key in keys[::step] if key.as_py().startswith(b"/"))
    if not tops:
        return ()
    top = "/" + tops.most_common(1)[0][0].decode("utf-8", "backslashreplace")
    read = _that_was_read(plan)
    return (f"no key{read} is below {root}; most are below {top}/: was the server run with --etcd-prefix {top}?",)


def _that_was_read(plan: SourcePlan) -> str:
    """Return what is to be added to a statement on keys of a damaged dump; empty for one that is whole."""
    return " that was read" if any(damage.reason for damage in plan.damage) else ""  # an open digest has no reason


def _servers_beside(keys: Any, root: str) -> Iterator[str]:
    """Yield a note for each first segment of sorted keys below which another API server has its own.

    Args:
        keys: Sorted keys.
        root: The prefix of the run, with slashes around it.
    """
    position, own = 0, root.encode().split(b"/", 2)[1]
    for _ in range(_NAMED_KEYS if own else 0):
        position = bisect_left(keys, b"/", lo=position, key=_value)
        if position >= len(keys) or not (key := keys[position].as_py()).startswith(b"/"):
            return
        top = key.split(b"/", 2)[1]
        end = bisect_left(keys, b"/" + top + b"0", lo=position, key=_value)  # the character after the slash
        for kept in (_DEFINITIONS, _NAMESPACES) if top != own else ():
            first = bisect_left(keys, b"/" + top + kept, lo=position, hi=end, key=_value)
            if first < end and keys[first].as_py().startswith(b"/" + top + kept):
                shown, count = "/" + top.decode("utf-8", "backslashreplace"), end - position
                yield (
                    f"{counted(count, 'key')} {are(count)} below {shown}/, as those of another API server: not judged "
                    f"in this run (a further --etcd-prefix {shown} of `audit` judges them)"
                )
                break
        position = end
