"""Some rows of a table of a report: columns that are not wanted are never decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from auditor.base import arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


Mask = np.ndarray[Any, Any]


def rows_where(
    path: Path, wanted: Callable[[pa.Table], Mask], compared: Sequence[str], columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of a part that are wanted, row group by row group.

    Args:
        path: The part.
        wanted: Tells which rows are, given the columns that it compares.
        compared: These.
        columns: What is returned; None for all.

    Raises:
        DamagedDump: The file is none that an audit writes.
    """
    footer = arrow.parquet_footer(path)
    with arrow.whole_parquet(path), pq.ParquetFile(path, metadata=footer) as part:
        names = list(part.schema_arrow.names if columns is None else columns)
        for number in range(footer.num_row_groups):
            mask = wanted(part.read_row_group(number, columns=list(compared), use_threads=False))
            if mask.any():
                table = part.read_row_group(number, columns=names, use_threads=False).select(names)
                yield table.filter(pa.array(mask))


def is_one_of(column: pa.ChunkedArray, *values: str | None) -> Mask:
    """Return for each row of a column of text whether it is one of some values; a dictionary is looked up once."""
    among = pa.array([value for value in values if value is not None], pa.string())
    masks = []
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            masks.append(
                pc.fill_null(pc.take(pc.is_in(chunk.dictionary, value_set=among), chunk.indices), None in values)
            )
        else:
            masks.append(pc.or_(pc.is_in(chunk, value_set=among), pc.and_(pc.is_null(chunk), None in values)))
    return np.concatenate([np.asarray(mask) for mask in masks]) if masks else np.zeros(0, dtype=bool)
