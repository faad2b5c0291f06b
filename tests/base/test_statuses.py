"""Queries of statuses and impacts; each table lists all members, so that a new one cannot be forgotten."""

from __future__ import annotations

import pickle

import pytest

from auditor.base.statuses import Impact, KeyClass, Status

IMPACTS = {
    # is_breaking, blocks, decides_alone, is_harmless
    Impact.CRASHES_SERVER: (True, False, True, False),
    Impact.BREAKS_LIST: (True, False, True, False),
    Impact.BREAKS_WATCH: (True, False, True, False),
    Impact.IS_DELETED: (False, False, True, False),
    Impact.NEEDS_WEBHOOK: (False, False, True, True),
    Impact.BLOCKS_DELETE: (False, True, False, False),
    Impact.BLOCKS_EVERY_UPDATE: (False, True, False, False),
    Impact.BLOCKS_STATUS: (False, True, False, False),
    Impact.BLOCKS_SPEC: (False, True, False, False),
    Impact.BLOCKS_METADATA: (False, True, False, False),
    Impact.BLOCKS_APPLY: (False, True, False, False),
    Impact.TOLERATED: (False, False, False, False),
    Impact.LOSES_DATA: (False, False, False, False),
    Impact.DRIFTS: (False, False, False, True),
    Impact.UNKNOWN: (False, False, False, True),
    Impact.NONE: (False, False, False, True),
}
STATUSES = {
    # is_read, is_unreadable, is_listed
    Status.VALID: (True, False, True),
    Status.INVALID: (True, False, True),
    Status.UNREADABLE: (False, True, True),
    Status.SEALED: (False, False, False),
    Status.NEEDS_CONVERSION: (False, True, True),
    Status.UNSERVED: (False, False, False),
    Status.ORPHANED: (False, False, False),
    Status.DEFINITION: (False, False, False),
    Status.BUILTIN: (False, False, False),
    Status.OTHER: (False, False, False),
}


@pytest.mark.parametrize("impact", Impact)
def test_impacts(impact: Impact) -> None:
    assert (impact.is_breaking, impact.blocks, impact.decides_alone, impact.is_harmless) == IMPACTS[impact]


@pytest.mark.parametrize("status", Status)
def test_statuses(status: Status) -> None:
    assert (status.is_read, status.is_unreadable, status.is_listed) == STATUSES[status]


def test_the_rank_is_the_order_from_worst_to_none() -> None:
    assert [impact.rank for impact in Impact] == list(range(len(IMPACTS)))
    assert min([Impact.DRIFTS, Impact.BLOCKS_SPEC, Impact.LOSES_DATA], key=lambda one: one.rank) is Impact.BLOCKS_SPEC


def test_workers_hand_them_over_as_they_are() -> None:
    assert all(pickle.loads(pickle.dumps(one)) is one for one in (*Impact, *Status, *KeyClass))


def test_a_key_whose_value_is_not_read_has_the_status_of_its_class() -> None:
    read = {KeyClass.CUSTOM, KeyClass.MISPLACED}
    assert {one for one in KeyClass if one.is_custom} == read
    assert [Status(one).value for one in KeyClass if one not in read] == [
        *("definition", "builtin", "orphaned", "sealed", "unreadable", "other"),
    ]
