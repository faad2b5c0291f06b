"""The live table of an export: from the headers of objects to a sorted Arrow file.

Rows are flat arrays (24 bytes a row, and the names), not Python objects: a List may have millions of items.
"""

from __future__ import annotations

from array import array
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from auditor.base import arrow
from auditor.base.tables import LIVE_KEYS
from auditor.base.wording import counted
from auditor.sources.manifests.object_header import ObjectHeader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray


BATCH: Final = 65_536
FEW: Final = 16_384
"""Number of rows that are sorted without Arrow's functions, whose import takes longer."""
REDACTED_BY_EXPORT: Final = "the export redacted"
"""How the note on Secrets without values begins."""
NAMES: Final = 32_768
"""Names of rows added one by one that are gathered before they go to Arrow; more than few."""
_TYPE: Final = attrgetter("apiVersion", "kind")


def _numbered(numbers: dict[Any, int], keys: list[Any]) -> list[int]:
    """Return the numbers of keys, by first appearance; few are new."""
    try:
        return [*map(numbers.__getitem__, keys)]
    except KeyError:
        return [numbers.setdefault(key, len(numbers)) for key in keys]


def _renumbered(numbers: dict[Any, int], others: dict[Any, int], column: array[int]) -> bytes:
    """Return a column with the numbers of the same keys in another dictionary, which gets those that it lacks."""
    table = np.array([*(numbers.setdefault(key, len(numbers)) for key in others), -1], dtype=np.int32)
    return table[np.frombuffer(column, dtype=np.int32)].tobytes()  # -1 is last


def _ranked(keys: list[Any], column: array[int]) -> NDArray[np.int32]:
    """Convert a column of indexes in a list to ranks of the values in sort order; -1 ranks last."""
    rank = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([*(rank[key] for key in keys), len(rank)], dtype=np.int32)[np.frombuffer(column, dtype=np.int32)]


class ManifestRows:
    """Collects rows, then writes them in the order of (group, kind, namespace, name, position).

    Args:
        number: The source's position among the inputs.

    Attributes:
        defining: After writing, the ranges of rows (first, end) that may be or contain definitions, including lists and
            rows that are not objects.
        kinds: After writing, the range of rows (first, end) of each (group, kind).
        redacted: How many Secrets this program redacted when it printed them.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.redacted = 0
        self.defining: tuple[tuple[int, int], ...] = ()
        self.kinds: dict[tuple[str, str], tuple[int, int]] = {}
        self._types: dict[tuple[str, str], int] = {}  # apiVersion and kind
        self._namespaces: dict[str, int] = {}
        self._type = array("i")
        self._namespace = array("i")
        self._offset = array("q")
        self._length = array("q")
        self._pending: list[str] = []
        self._names: list[pa.Array] = []

    def __len__(self) -> int:
        return len(self._offset)

    def add(self, header: ObjectHeader | None, offset: int, length: int) -> None:
        """Add one row; a row without header comes after all others, in the order of the dump."""
        types, namespaces = self._types, self._namespaces
        self._type.append(-1 if header is None else types.setdefault(_TYPE(header), len(types)))
        name = None if header is None else header.metadata.namespace
        self._namespace.append(-1 if name is None else namespaces.setdefault(name, len(namespaces)))
        self._pending.append("" if header is None else header.metadata.name)
        self._offset.append(offset)
        self._length.append(length)
        if len(self._pending) >= NAMES:
            self._flush()

    def add_all(self, headers: list[ObjectHeader], offsets: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        """Add many rows."""
        self._type.extend(_numbered(self._types, [*map(_TYPE, headers)]))
        metadata = [header.metadata for header in headers]
        self._namespace.extend(
            _numbered(self._namespaces, [metadata_of_object.namespace for metadata_of_object in metadata])
        )
        self._pending.extend([metadata_of_object.name for metadata_of_object in metadata])
        self._offset.frombytes(offsets.tobytes())
        self._length.frombytes(lengths.tobytes())
        if len(self) > FEW:  # names go to Arrow while they are still at hand
            self._flush()

    def extend(self, other: ManifestRows, shift: int) -> None:
        """Add the rows of another one, whose objects are now so many bytes further behind."""
        self._type.frombytes(_renumbered(self._types, other._types, other._type))
        self._namespace.frombytes(_renumbered(self._namespaces, other._namespaces, other._namespace))
        self._offset.frombytes((np.frombuffer(other._offset, np.int64) + shift).tobytes())
        self._length.extend(other._length)
        self.redacted += other.redacted
        if other._names:
            self._flush()
            self._names += other._names
        self._pending += other._pending
        if len(self._pending) >= NAMES:
            self._flush()

    def notes(self) -> Iterator[str]:
        """Yield notes for readers of a report."""
        if self.redacted:
            yield f"{REDACTED_BY_EXPORT} {counted(self.redacted, 'Secret')}, whose values are not known"

    def _flush(self) -> None:
        self._names.append(pa.array(self._pending, pa.large_string()))
        self._pending = []

    def _order(self, kinds: NDArray[np.int32]) -> Any:
        """Return the positions of the rows in the order of writing, by their ranks of kinds; equal ones keep theirs."""
        namespaces = _ranked([*self._namespaces], self._namespace)
        if len(self) <= FEW:
            keys = list(zip(kinds.tolist(), namespaces.tolist(), self._pending, self._offset, strict=True))
            return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
        self._flush()
        self._names = [pa.concat_arrays(self._names)]
        places = kinds.astype(np.int64) * (len(self._namespaces) + 1) + namespaces
        return arrow.sorted_rows({"place": arrow.column(places), "name": self._names[0]})

    def _group_kinds(self) -> list[tuple[str, str]]:
        """Return group and kind of each type."""
        return [(ObjectHeader(api).group, kind) for api, kind in self._types]

    def _ranges(self, ranks: NDArray[np.int32]) -> dict[tuple[str, str], tuple[int, int]]:
        """Return the range of rows of each group and kind, from the ranks by kind of the rows as written."""
        return {
            name: (int(np.searchsorted(ranks, rank)), int(np.searchsorted(ranks, rank, side="right")))
            for rank, name in enumerate(sorted(set(self._group_kinds())))
        }

    def _defining(self, order: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
        may = [kind == "CustomResourceDefinition" or kind.endswith("List") for _, kind in self._types]
        rows = np.array([*may, True])[np.frombuffer(self._type, dtype=np.int32)[order]]  # -1, not an object, is last
        edges = np.flatnonzero(np.diff(rows, prepend=False, append=False)).tolist()
        return tuple(zip(edges[::2], edges[1::2], strict=True))

    def write(self, path: Path) -> int:
        """Write the live table; return its number of rows."""
        count = len(self)
        kinds = _ranked(self._group_kinds(), self._type)
        order = self._order(kinds) if count else np.empty(0, dtype=np.int64)
        self.defining, self.kinds = self._defining(order), self._ranges(kinds[order])
        offsets, lengths = np.frombuffer(self._offset, dtype=np.int64), np.frombuffer(self._length, dtype=np.int64)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, LIVE_KEYS) as writer:
            for start in range(0, count, BATCH):
                rows = order[start : start + BATCH]
                many = len(rows)
                unknown = pa.nulls(many, pa.int64())
                writer.write_batch(
                    pa.record_batch(
                        [
                            arrow.column(np.full(many, self.number, dtype=np.int32)),
                            pa.nulls(many, pa.binary()),
                            unknown,
                            unknown,
                            unknown,
                            arrow.column(offsets[rows]),
                            arrow.column(lengths[rows]),
                            arrow.column(np.zeros(many, dtype=np.int8)),
                        ],
                        schema=LIVE_KEYS,
                    )
                )
        return count
