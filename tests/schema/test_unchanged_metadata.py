"""Metadata that a read leaves as they are, and need not decode: held against decoding and encoding them."""

import copy
import itertools
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.golang.jsontext import encode
from auditor.schema.objectmeta import (
    OBJECT_META,
    CoerceError,
    decode_metadata,
    is_written_time,
    read_metadata,
    to_json,
)

USUAL = {
    "name": "n",
    "generateName": "n-",
    "namespace": "d",
    "selfLink": "/l",
    "uid": "u",
    "resourceVersion": "5",
    "generation": 2,
    "creationTimestamp": "2026-01-02T03:04:05Z",
    "deletionTimestamp": "2024-12-31T23:59:59Z",
    "deletionGracePeriodSeconds": 0,
    "labels": {"a": "", "b": "c"},
    "annotations": {"kind": "x", "metadata": "y"},
    "ownerReferences": [
        {"apiVersion": "v1", "kind": "", "name": "x", "uid": "u"},
        {"apiVersion": "v1", "kind": "A", "name": "x", "uid": "u", "controller": False, "blockOwnerDeletion": True},
    ],
    "finalizers": ["a/b", ""],
    "managedFields": [
        {},
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": "g/v1",
            "time": "2026-01-30T03:04:05Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:a": {}, "l": [1, "x", None, {}]}},
            "subresource": "status",
        },
    ],
}
"""Each field of metadata, as a read leaves it."""

ODD = [None, "", "x", 0, 1.0, 2.5, -0.0, True, 5, 2**63, -(2**63) - 1, [], [None], [1], {}, {"a": None}, {"b": 1}]


def _changes(value):
    """Yield a value with one part replaced, removed or added, at any depth."""
    yield from ODD
    if type(value) is dict:
        for key, child in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: changed} for changed in _changes(child))
        yield from ({**value, "other": odd} for odd in ODD)
    elif type(value) is list:
        for index, child in enumerate(value):
            yield from ([*value[:index], changed, *value[index + 1 :]] for changed in _changes(child))
        yield from ([*value, odd] for odd in ODD)


def _answer(read, metadata, *, drop):
    unknown = []
    try:
        made = encode(read(copy.deepcopy(metadata), drop=drop, unknown=unknown))
    except CoerceError as error:
        made = str(error)
    return made, unknown


def _plainly(metadata, *, drop, unknown):
    return to_json(decode_metadata(metadata, drop=drop, unknown=unknown))


def _is_read_plainly(metadata):
    return all(
        _answer(read_metadata, metadata, drop=drop) == _answer(_plainly, metadata, drop=drop) for drop in (True, False)
    )


@pytest.mark.parametrize("field", USUAL)
def test_a_field_with_one_change_is_read_as_by_decoding_it(field):
    values = list(_changes(USUAL[field]))
    assert len(values) >= len(ODD)
    assert [value for value in values if not _is_read_plainly({field: value})] == []


FIELDS = {key: st.sampled_from([value] * 9 + list(_changes(value))) for key, value in USUAL.items()}
FIELDS |= {"other": st.sampled_from(ODD), "another": st.sampled_from(ODD)}


@given(st.fixed_dictionaries({}, optional=FIELDS) | st.sampled_from(ODD))
@settings(max_examples=300, deadline=None)
def test_several_changes_are_read_as_by_decoding_all_fields_together(metadata):
    assert _is_read_plainly(metadata)


def test_times_are_taken_over_only_as_the_server_writes_them():
    dates = itertools.product(("0000", "0001", "0999", "1000", "1900", "2023", "2024", "9999"), range(14), range(33))
    days = [f"{year}-{month:02d}-{day:02d}" for year, month, day in dates]
    clocks = itertools.product((0, 9, 10, 19, 20, 23, 24), (0, 59, 60), (0, 59, 60))
    texts = [f"{day}T00:00:00Z" for day in days]
    texts += [f"2026-01-02T{hour:02d}:{minute:02d}:{second:02d}Z" for hour, minute, second in clocks]
    texts += [f"2026-01-02{rest}" for rest in ("t00:00:00Z", " 00:00:00Z", "T00:00:00z", "T0:00:00Z", "T00:00:00Z\n")]
    texts += [f"2026-01-02T00:00:00{rest}" for rest in ("", ".5Z", ",0Z", "+00:00", "+01:00")]
    texts += ["12026-01-02T00:00:00Z", "226-01-02T00:00:00Z", "\u0662\u0660\u0662\u0666-01-02T00:00:00Z"]
    assert [text for text in texts if not _is_read_plainly({"creationTimestamp": text})] == []


def test_usual_metadata_are_not_decoded():
    assert USUAL.keys() == OBJECT_META.fields.keys()
    assert read_metadata(USUAL, drop=True) is USUAL


@pytest.mark.parametrize("year", [1000, 1900, 1904, 1970, 2000, 2023, 2024, 2096, 2100, 9999])
def test_a_time_is_written_by_the_server_if_its_day_exists(year):
    for month, day in itertools.product(range(14), range(33)):
        try:
            exists = bool(date(year, month, day))
        except ValueError:
            exists = False
        is_left_to_the_exact_path = (year, month, day) == (2000, 2, 29)
        matched = is_written_time(f"{year:04}-{month:02}-{day:02}T23:59:59Z")
        assert (matched is not None) is (exists and not is_left_to_the_exact_path), (year, month, day)


@pytest.mark.parametrize(
    "text",
    [
        "T24:00:00Z",
        "T23:60:00Z",
        "T23:59:60Z",
        "T23:59:59",
        "T23:59:59z",
        " 23:59:59Z",
        "T23:59:59.5Z",
        "T23:59:59Z\n",
        "T2٣:59:59Z",
    ],
)
def test_other_spellings_of_a_time_are_changed_by_a_read(text):
    assert is_written_time(f"2024-01-02{text}") is None
