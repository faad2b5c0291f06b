"""SHA-256 of values, which show whether an object has changed.

It imports little: a process that computes half of them imports it, without the modules that compare reports.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.plan.dumps import cut_value, open_live, open_values
from pipelines.engines import run_in_background
from pipelines.workers import PRELOAD

if TYPE_CHECKING:
    import pyarrow as pa

    from auditor.plan.plan import Plan
    from auditor.sources import SourcePlan

__all__ = ["DIGEST", "digests_of", "export_digests"]

Numbers = np.ndarray[Any, Any]

DIGEST: Final = 32
_BATCH: Final = 1 << 13
"""Number of values whose hashes are Python objects at the same time."""
_WORTH_ANOTHER: Final = 1 << 15
"""Number of values from which on another process hashes half of them."""


def export_digests(plan: Plan, *, apart: bool = False) -> list[Numbers | None]:
    """Return the hashes of all values of each source that is an export; None for others, which compare keys first.

    Args:
        plan: The plan of this run.
        apart: Whether another process may compute half of them.
    """
    return [_all_digests(source, apart=apart) if source.is_export else None for source in plan.sources]


def _all_digests(source: SourcePlan, *, apart: bool) -> Numbers:
    if not apart or source.rows < _WORTH_ANOTHER:
        return _digests(source, np.arange(source.rows))
    half = source.rows // 2
    order = np.argsort(open_live(source)["offset"].to_numpy(), kind="stable")  # each reads one half of the file
    with run_in_background(partial(_digests, source, order[half:]), PRELOAD) as others:
        own = _digests(source, order[:half])
        found: Numbers = np.concatenate([own, others()])[np.argsort(order)]
        return found


def _digests(source: SourcePlan, rows: Numbers) -> Numbers:
    return digests_of(source, open_live(source), rows)[0]


def digests_of(source: SourcePlan, table: pa.Table, rows: Numbers) -> tuple[Numbers, Numbers]:
    """Return the SHA-256 of some values, and which of them are encrypted.

    They are read in the order of the file: in key order, with random access, it takes a quarter more time.
    """
    values = open_values(source)
    order = np.argsort(table["offset"].to_numpy()[rows], kind="stable")
    starts, lengths, encodings = (table[name].to_numpy()[rows[order]] for name in ("offset", "length", "encoding"))
    found, sealed = bytearray(DIGEST * len(starts)), np.zeros(len(starts), dtype=bool)
    if encodings.any():
        spans = zip(starts.tolist(), lengths.tolist(), encodings.tolist(), strict=True)
        for place, span in enumerate(spans):
            value = cut_value(values, *span)
            found[DIGEST * place : DIGEST * (place + 1)] = sha256(value).digest()
            sealed[place] = value[:4] == b"k8s:"
    else:
        with memoryview(values) as view:
            for first in range(0, len(starts), _BATCH):
                some = starts[first : first + _BATCH]
                ends = (some + lengths[first : first + _BATCH]).tolist()
                between = zip(some.tolist(), ends, strict=True)
                some_found = b"".join([sha256(view[start:end]).digest() for start, end in between])
                found[DIGEST * first : DIGEST * first + len(some_found)] = some_found
        if not source.is_export:
            sealed = _begin_with(values, starts, lengths, b"k8s:")
    asked = np.argsort(order)
    return np.frombuffer(found, dtype=np.uint8).reshape(-1, DIGEST)[asked], sealed[asked]


def _begin_with(values: Any, starts: Numbers, lengths: Numbers, prefix: bytes) -> Numbers:
    text = np.frombuffer(values, dtype=np.uint8)
    found = lengths >= len(prefix)
    for place, byte in enumerate(prefix):
        rows = np.flatnonzero(found)
        found[rows] = text[starts[rows] + place] == byte
    return found
