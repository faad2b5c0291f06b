"""The older revisions of live keys, as the walk that found these came across them: the dump is not walked again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from auditor.plan.dumps import open_live, open_values, position_not_before
from auditor.sources.live_table import OLDER, ROW

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.sources.source_plan import SourcePlan


_CREATE_REVISION: Final = b"\x10"
"""The tag of the field after the key in a KeyValue message."""
_MOST_NUMBERS: Final = 45
"""Most bytes between the key of a KeyValue message and its value: three numbers, and the length of the value."""


class OlderRow(NamedTuple):
    """An older revision of a key, with the place of its value."""

    key: bytes
    revision: int
    version: int
    offset: int
    length: int


def older_rows(source: SourcePlan, keys: Iterable[bytes]) -> Iterator[OlderRow]:
    """Yield the older revisions of live keys since each was created, newest first.

    Args:
        source: A dump with history.
        keys: The keys.
    """
    older = np.fromfile(Path(source.live).with_suffix(OLDER), dtype=ROW)
    if not len(older):
        return
    table, values = open_live(source), open_values(source)
    live = [row for key in sorted(keys) if (row := _row_of(table, key)) is not None]
    older = older[np.isin(older["create"], [create for _, create, _ in live])]
    older = older[np.argsort(-older["mod"])]
    for key, create, newest in live:
        field = key + _CREATE_REVISION  # keys that one transaction created have the same create revision
        for _, mod, version, offset, length, *_ in older[older["create"] == create].tolist():
            if mod < newest and field in values[max(0, offset - len(key) - _MOST_NUMBERS) : offset]:
                yield OlderRow(key, mod, version, offset, length)


def _row_of(table: Any, key: bytes) -> tuple[bytes, int, int] | None:
    """Return a live key with the revisions that created and changed it; None if it is not live."""
    keys = table["key"]
    row = position_not_before(keys, key)
    if row == len(keys) or keys[row].as_py() != key:
        return None
    return key, table["create_revision"][row].as_py(), table["mod_revision"][row].as_py()
