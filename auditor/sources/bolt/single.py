"""Reads one page of a bolt file with every check, and reports its losses.

The walk over a tree (tree.py) reads valid pages by the thousand; a page that fails one of its checks is read here.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from auditor.sources.bolt.check import (
    NOT_BEHIND,
    Loss,
    PageFault,
    PageInfo,
    bound_fault,
    branch_fault,
    branch_keys,
    longest_chain,
    read_page,
    sound_elements,
    split_leaf,
)
from auditor.sources.bolt.page import BRANCH, LEAF, LeafElements, leaf_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from auditor.sources.files.view import FileView


MAX_DEPTH = 64
"""Largest number of levels of pages in a tree, and of nested buckets."""


class PageReader:
    """Reads single pages of one state of a file.

    Args:
        view: The file.
        page_size: Bytes of a page.
        limit: Number of pages of the state.
        visited: Whether each page of the file was visited; pages that are read are marked.
        losses: Receives the losses.
    """

    def __init__(
        self, view: FileView, page_size: int, limit: int, visited: NDArray[np.bool_], losses: list[Loss]
    ) -> None:
        self.view = view
        self.page_size = page_size
        self.limit = limit
        self.visited = visited
        self.losses = losses

    def examine(
        self, page: int, low: bytes | None, high: bytes | None, depth: int
    ) -> tuple[LeafElements | None, list[tuple[int, bytes | None, bytes | None]]]:
        """Return the rows of a leaf page or the children of a branch page."""
        info = read_page(self.view, self.page_size, self.limit, page)
        if info.flags != LEAF:
            self._info(page)
            children = self._believable_children(info, low, high)
            if children is not None:
                if depth >= MAX_DEPTH:
                    raise PageFault(f"more than {MAX_DEPTH} levels of pages")
                self.visited[page] = True
                return None, children
        if info.count:
            return self.leaf(info, low, high), []
        if depth or info.flags != LEAF or info.fault:
            raise PageFault(info.fault or "empty leaf")
        self.visited[page] = True
        return None, []

    def _info(self, page: int) -> PageInfo:
        if page < len(self.visited) and self.visited[page]:
            raise PageFault("multiple references")
        return read_page(self.view, self.page_size, self.limit, page)

    def leaf(self, info: PageInfo, low: bytes | None, high: bytes | None) -> LeafElements:
        """Return the elements of a leaf page that are valid and between its bounds.

        Raises:
            PageFault: There is none, or the page belongs to another position.
        """
        rows, keep, losses = split_leaf(self.view, info, low, high)
        if info.page * self.page_size == info.offset:
            stop = max(int(rows.key[index] + rows.key_size[index] + rows.value_size[index]) for index in keep)
            used = slice(info.page, -(-stop // self.page_size))
            if self.visited[used].any():
                raise PageFault("multiple references")
            self.visited[used] = True
        self.losses.extend(losses)
        if info.fault and not losses:
            self.losses.append(Loss(info.page, info.fault, low, high, read_all=info.fault != NOT_BEHIND))
        return rows.select(np.array(keep, dtype=np.int64), suspect=bool(losses or info.fault))

    def _believable_children(
        self, info: PageInfo, low: bytes | None, high: bytes | None
    ) -> list[tuple[int, bytes | None, bytes | None]] | None:
        """Return the children of a branch page with their bounds, or None if it is not a branch page.

        If the page's own keys are not in order, the children that are consistent with each other are used.
        """
        keys, children = branch_keys(self.view, info)
        fault = info.fault or branch_fault(keys, low, high)
        if not fault:
            return list(zip(children, keys, [*keys[1:], high], strict=True))
        spans = [self.span(child) for child in children]
        fitting = [index for index, span in enumerate(spans) if span and not bound_fault(*span, low, high)]
        known = [span for span in (spans[index] for index in fitting) if span]
        accepted = [
            fitting[position] for position in longest_chain([low for low, _ in known], [high for _, high in known])
        ]
        if info.flags != BRANCH and 2 * len(accepted) <= len(children):
            return None
        if not accepted:
            raise PageFault(fault)
        count = len(children)
        missing = count - len(accepted)
        told = f"its {count} children were read nevertheless" if not missing else f"{missing} of {count} children lost"
        self.losses.append(Loss(info.page, f"{fault}; {told}", low, high, read_all=True))
        return self._accepted(children, spans, accepted, low, high)

    def _accepted(
        self,
        children: list[int],
        spans: list[tuple[bytes, bytes] | None],
        accepted: list[int],
        low: bytes | None,
        high: bytes | None,
    ) -> list[tuple[int, bytes | None, bytes | None]]:
        """Set the bounds of accepted children by their neighbours, and record the losses between them."""
        out: list[tuple[int, bytes | None, bytes | None]] = []
        for position, index in enumerate(accepted):
            span = spans[index]
            following = spans[accepted[position + 1]] if position + 1 < len(accepted) else None
            out.append((children[index], span[0] if span else low, following[0] if following else high))
        bounds = [-1, *accepted, len(children)]
        for pair, other in pairwise(bounds):
            before, after = (spans[pair] if pair >= 0 else None), (spans[other] if other < len(spans) else None)
            for index in range(pair + 1, other):
                lost_low, lost_high = (before[1] + b"\0" if before else low), (after[0] if after else high)
                lost_low, lost_high = widened(lost_low, lost_high, spans[index])
                self.losses.append(Loss(children[index], "does not fit beside its neighbours", lost_low, lost_high))
        return out

    def span(self, page: int) -> tuple[bytes, bytes] | None:
        """Return the first and the last key of a page (for a branch, of its elements), or None if it is damaged."""
        try:
            info = self._info(page)
        except PageFault:
            return None
        if info.fault or not info.count:
            return None
        if info.flags == BRANCH:
            keys, _ = branch_keys(self.view, info)
        else:
            rows = leaf_rows(self.view, np.array([page]), np.array([info.offset]), np.array([info.count]))
            if any(sound_elements(rows, info)):
                return None
            keys = [self.view.cut(int(key), int(size)) for key, size in zip(rows.key, rows.key_size, strict=True)]
        if branch_fault(keys, None, None) or keys[0] is None or keys[-1] is None:
            return None
        return keys[0], keys[-1]


def widened(
    low: bytes | None, high: bytes | None, own: tuple[bytes, bytes] | None
) -> tuple[bytes | None, bytes | None]:
    """Extend bounds to the keys of a refused page: the bounds may be wrong."""
    if own is None:
        return low, high
    return (
        None if low is None else min(low, own[0]),
        None if high is None else max(high, own[1] + b"\0"),
    )
