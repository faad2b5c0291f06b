"""Finds the faults of a page, and the usable elements of a damaged one.

Pages have no checksum: a page counts as valid if its number fits its position, its type is known, its elements are
inside it, and its keys ascend between the bounds from its parent. A fault is reported with the range of lost keys. This
module checks one page at a time; valid pages never reach it (see tree.py).
Source: bbolt tx_check.go for the conditions; the rules for damaged pages are ours.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from auditor.sources.bolt.page import (
    BRANCH,
    ELEMENT_SIZE,
    HEADER_SIZE,
    LEAF,
    branch_elements,
    leaf_rows,
    read_headers,
)

if TYPE_CHECKING:
    from auditor.sources.bolt.page import LeafElements
    from auditor.sources.files.view import FileView


@dataclass(frozen=True, slots=True)
class Loss:
    """The data that a damaged page loses.

    Attributes:
        page: Page id.
        reason: The fault.
        low: Lower bound of the lost keys; None for the first key.
        high: Upper bound (exclusive); None for the end.
        read_all: Whether all of it could probably be read nevertheless.
    """

    page: int
    reason: str
    low: bytes | None
    high: bytes | None
    read_all: bool = False


NOT_BEHIND = "the first key is not right after the elements"
"""A fault that does not show how many elements there are."""


_UNORDERED = "keys out of order"


class PageFault(Exception):
    """A page cannot be used at all."""


@dataclass(frozen=True, slots=True)
class PageInfo:
    """A page whose header is good enough to read its elements.

    Attributes:
        page: Page id.
        offset: Where the page begins in the file.
        end: Offset after it and its overflow pages, or the end of the file if that comes first.
        flags: BRANCH or LEAF; for another value, `fault` says so.
        count: Elements.
        fault: A fault that allows reading its elements; empty for a valid header.
    """

    page: int
    offset: int
    end: int
    flags: int
    count: int
    fault: str = ""


def read_page(view: FileView, page_size: int, limit: int, page: int) -> PageInfo:
    """Read the header of a page.

    Args:
        limit: First unused page id (high water mark).

    Raises:
        PageFault: It is not such a page.
    """
    if not 2 <= page < limit:
        raise PageFault("not among the pages of the file")
    offset = page * page_size
    if offset + HEADER_SIZE > view.size:
        raise PageFault("beyond end of file")
    header = read_headers(view, np.array([offset], dtype=np.int64))
    identity, flags = int(header.id[0]), int(header.flags[0])
    count, overflow = int(header.count[0]), int(header.overflow[0])
    if identity != page:
        raise PageFault(f"says it is page {identity}")
    end = offset + (1 + overflow) * page_size
    fault = ""
    if end > view.size or page + overflow >= limit:
        fault = "overflow past end of file"
        end = min(end, view.size, limit * page_size)
    if offset + HEADER_SIZE + ELEMENT_SIZE * count > end:
        raise PageFault(f"{count} elements do not fit")
    if flags not in {BRANCH, LEAF}:
        fault = f"flags 0x{flags:02x}"
    return count_checked(view, PageInfo(page, offset, end, flags, count, fault))


def count_checked(view: FileView, info: PageInfo) -> PageInfo:
    """Compare the number of elements with the position of the first key, which always follows the elements directly.

    A header with too small a count would hide the other elements. If all elements up to the first key are consistent,
    they are used; in both cases the page has a fault.

    Source: bbolt internal/common/inode.go (WriteInodeToPage).
    """
    if not info.count or info.flags not in {BRANCH, LEAF} or info.fault:
        return info
    first = np.array([info.offset])
    single = np.array([1])
    elements = leaf_rows(view, first, first, single) if info.flags == LEAF else branch_elements(view, first, single)
    room, rest = divmod(int(elements.key[0]) - info.offset - HEADER_SIZE, ELEMENT_SIZE)
    if room <= info.count and not rest:
        return info  # too large a count shows in the positions of the elements
    if not rest and info.offset + HEADER_SIZE + ELEMENT_SIZE * room <= info.end:
        told = f"counts {info.count} elements, and holds {room}"
        whole = PageInfo(info.page, info.offset, info.end, info.flags, room, told)
        if info.flags == LEAF:
            rows = leaf_rows(view, first, first, np.array([room]))
            if not any(sound_elements(rows, whole)):
                return whole
        elif None not in branch_keys(view, whole)[0]:
            return whole
    return replace(info, fault=NOT_BEHIND)


def bound_fault(first: bytes, last: bytes, low: bytes | None, high: bytes | None) -> str:
    """Return which bound of the parent some keys violate; empty if they fit."""
    if low is not None and first < low:
        return "key below parent key"
    if high is not None and last >= high:
        return "key not below next parent key"
    return ""


def branch_keys(view: FileView, info: PageInfo) -> tuple[list[bytes | None], list[int]]:
    """Return keys (None: outside the page) and child page ids of a branch page."""
    elements = branch_elements(view, np.array([info.offset]), np.array([info.count]))
    least = info.offset + HEADER_SIZE + ELEMENT_SIZE * info.count
    keys: list[bytes | None] = []
    for key, size in zip(elements.key.tolist(), elements.key_size.tolist(), strict=True):
        keys.append(view.cut(key, size) if least <= key and size and key + size <= info.end else None)
    return keys, elements.child.tolist()


def branch_fault(keys: list[bytes | None], low: bytes | None, high: bytes | None) -> str:
    """Return the fault of the keys of a branch page; empty if there is none."""
    if not keys:
        return "empty branch"
    known = [key for key in keys if key is not None]
    if len(known) < len(keys):
        return f"element {keys.index(None)} out of page"
    if any(bound >= other for bound, other in pairwise(known)):
        return "keys out of order"
    return bound_fault(known[0], known[-1], low, high)


def sound_elements(rows: LeafElements, info: PageInfo) -> list[str]:
    """Return for each element of a leaf page its own fault; empty if there is none."""
    least = info.offset + HEADER_SIZE + ELEMENT_SIZE * info.count
    out: list[str] = []
    for index in range(len(rows)):
        key, ksize, vsize = int(rows.key[index]), int(rows.key_size[index]), int(rows.value_size[index])
        if key < least or key + ksize + vsize > info.end:
            out.append("out of page")
        elif rows.flags[index] > 1:
            out.append(f"flags 0x{int(rows.flags[index]):x}")
        elif not ksize:
            out.append("has no key")
        else:
            out.append("")
    _tell_overlaps(rows, out)
    return out


def _tell_overlaps(rows: LeafElements, faults: list[str]) -> None:
    """Find the elements that overlap others: all elements together are never longer than the page."""
    whole = [index for index, fault in enumerate(faults) if not fault]
    starts = [int(rows.key[index]) for index in whole]
    ends = [int(rows.key[index] + rows.key_size[index] + rows.value_size[index]) for index in whole]
    if all(end <= start for end, start in zip(ends, starts[1:], strict=False)):
        return
    kept = longest_chain([start.to_bytes(8, "big") for start in starts], [(end - 1).to_bytes(8, "big") for end in ends])
    apart = {whole[position] for position in kept}
    for index in whole:
        if index not in apart:
            faults[index] = "lies over another one"


def longest_chain(firsts: list[bytes], lasts: list[bytes]) -> list[int]:
    """Return the positions of the longest sequence of spans that do not overlap, in the given order."""
    ends: list[bytes] = []
    tails: list[int] = []
    before: list[int] = []
    for position, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        length = bisect_left(ends, first)
        before.append(tails[length - 1] if length else -1)
        if length == len(ends):
            ends.append(last)
            tails.append(position)
        elif last < ends[length]:
            ends[length] = last
            tails[length] = position
    chain: list[int] = []
    position = tails[-1] if tails else -1
    while position >= 0:
        chain.append(position)
        position = before[position]
    return chain[::-1]


def split_leaf(
    view: FileView, info: PageInfo, low: bytes | None, high: bytes | None
) -> tuple[LeafElements, list[int], list[Loss]]:
    """Check a leaf page element by element.

    Returns:
        All its rows, the positions of the usable ones, and the losses for the others.

    Raises:
        PageFault: Too few elements are consistent to decide that it belongs here.
    """
    rows = leaf_rows(view, np.array([info.page]), np.array([info.offset]), np.array([info.count]))
    faults = sound_elements(rows, info)
    whole = [index for index, fault in enumerate(faults) if not fault]
    keys = {index: view.cut(int(rows.key[index]), int(rows.key_size[index])) for index in whole}
    inside = [index for index in whole if not bound_fault(keys[index], keys[index], low, high)]
    chain = longest_chain([keys[index] for index in inside], [keys[index] for index in inside])
    keep = [inside[position] for position in chain]
    if len(keep) < len(whole):
        reason = (whole and bound_fault(min(keys.values()), max(keys.values()), low, high)) or _UNORDERED
        if 2 * len(keep) <= len(whole):
            # mostly foreign keys: probably another page, not a page with many wrong keys
            raise PageFault(reason)
        kept = set(keep)
        for index in whole:
            if index not in kept:
                faults[index] = reason
    if not keep and faults:
        raise PageFault(info.fault or f"element 0 {faults[0]}")
    return rows, keep, list(_losses(info, faults, keep, keys, low, high))


def _losses(
    info: PageInfo, faults: list[str], keep: list[int], keys: dict[int, bytes], low: bytes | None, high: bytes | None
) -> list[Loss]:
    """Make one Loss for each run of unusable elements."""
    out: list[Loss] = []
    bounds = [-1, *keep, info.count]
    for place, (pair, other) in enumerate(pairwise(bounds)):
        missing = other - pair - 1
        if not missing:
            continue
        reach, limit = pair, other
        if any(faults[index] == _UNORDERED for index in range(pair + 1, other)):
            # it is not known which of two is misplaced: the key of a neighbour may be the changed one
            reach, limit = bounds[max(0, place - 1)], bounds[min(len(bounds) - 1, place + 2)]
        reason = info.fault or f"element {pair + 1} {faults[pair + 1]}"
        if missing > 1:
            reason += f" ({missing} elements)"
        # the lost keys follow the last usable key, whose smallest successor is itself and a zero byte
        start = keys[reach] + b"\0" if reach >= 0 else low
        stop = keys[limit] if limit < info.count else high
        for index in range(pair + 1, other):
            if index in keys:  # it is readable, and does not belong here; or the bound is wrong
                start = None if start is None else min(start, keys[index])
                stop = None if stop is None else max(stop, keys[index] + b"\0")
        out.append(Loss(info.page, reason, start, stop))
    return out
