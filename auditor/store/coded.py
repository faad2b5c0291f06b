"""Columns of text as numbers: rows are grouped by numbers, and each distinct text is looked at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow

from auditor.base import arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


pa: Any = pyarrow
_MOST = 1 << 62


class Coded:
    """A column of text.

    Attributes:
        codes: For each row the position of its text.
        texts: The texts; the last one is None, for null.
    """

    def __init__(self, column: Any) -> None:
        if isinstance(column, pa.ChunkedArray):
            if column.num_chunks > 1 and pa.types.is_dictionary(column.type):
                column = column.unify_dictionaries()
            column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if isinstance(column, pa.ChunkedArray):  # of no rows, in some releases of Arrow
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        if not pa.types.is_dictionary(column.type):
            column = arrow.dictionary_encoded(arrow.cast(column, pa.string()))
        self.texts: list[str | None] = [*column.dictionary.to_pylist(), None]
        codes = arrow.fill_null(column.indices, len(self.texts) - 1)
        self.codes: NDArray[np.int64] = np.asarray(codes, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.codes)

    def of(self, row: int) -> str | None:
        """Return the text of a row."""
        return self.texts[int(self.codes[row])]

    def text(self, row: int) -> str:
        """Return the text of a row; empty for null."""
        return self.texts[int(self.codes[row])] or ""

    def numbers(self, known: Sequence[str]) -> NDArray[np.int64]:
        """Return for each row the position of its text among known ones; their number if it is none of them."""
        places = {text: position for position, text in enumerate(known)}
        of_texts = [places.get(text, len(known)) if text is not None else len(known) for text in self.texts]
        return np.array(of_texts, dtype=np.int64)[self.codes]


def combined(columns: Sequence[tuple[NDArray[np.int64], int]]) -> NDArray[np.int64]:
    """Return one number for each row; two are equal if the numbers of all columns are.

    Args:
        columns: Numbers below a limit, and that limit.
    """
    total, limit = columns[0][0].astype(np.int64), max(1, columns[0][1])
    for numbers, size in columns[1:]:
        size = max(1, size)  # noqa: PLW2901
        if limit * size >= _MOST:
            _, total = np.unique(total, return_inverse=True)
            limit = len(total) + 1
        total = total * size + numbers
        limit *= size
    return total


def groups_of(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each group of equal numbers, and for each row its group."""
    _, first, group = np.unique(numbers, return_index=True, return_inverse=True)
    return first, group.reshape(-1)
