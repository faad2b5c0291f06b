"""Typed decoding: what fits, what null means, which error is reported."""

import pytest

from auditor.schema.typed import (
    BOOL,
    BYTES,
    FLOAT64,
    INT32,
    INT64,
    STRING,
    GoTypeError,
    decode_typed,
    list_of,
    map_of,
    struct,
)

INNER = struct("v1.Inner", {"name": STRING, "count": INT64})
OUTER = struct(
    "v1.Outer",
    {
        "text": STRING,
        "flag": BOOL,
        "small": INT32,
        "real": FLOAT64,
        "raw": BYTES,
        "inner": INNER,
        "list": list_of(INNER),
        "map": map_of(INNER),
        "words": list_of(STRING),
    },
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, {}),
        ({"text": "x", "Text": "y", "other": 1}, {"text": "x"}),
        ({"text": None, "flag": None, "inner": None, "list": None}, {}),
        ({"real": 1}, {"real": 1.0}),
        ({"raw": "aGk="}, {"raw": b"hi"}),
        ({"words": ["a", None]}, {"words": ["a", ""]}),
        ({"list": [None, {"name": "x"}]}, {"list": [{}, {"name": "x"}]}),
        ({"map": {"a": None, "b": {"count": 5}}}, {"map": {"a": {}, "b": {"count": 5}}}),
        ({"small": -2147483648}, {"small": -2147483648}),
    ],
)
def test_what_fits_is_kept_and_null_is_absent(value, expected):
    assert decode_typed(value, OUTER) == expected


def test_a_float_is_an_integer_where_its_text_is_one():
    assert decode_typed({"count": 1.0}, INNER, number=lambda number: f"{number:g}") == {"count": 1}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "json: cannot unmarshal array into Go value of type v1.Outer"),
        ({"text": 5}, "json: cannot unmarshal number into Go struct field Outer.text of type string"),
        ({"flag": "x"}, "json: cannot unmarshal string into Go struct field Outer.flag of type bool"),
        (
            {"small": 2147483648},
            "json: cannot unmarshal number 2147483648 into Go struct field Outer.small of type int32",
        ),
        ({"real": {}}, "json: cannot unmarshal object into Go struct field Outer.real of type float64"),
        ({"inner": {"name": True}}, "json: cannot unmarshal bool into Go struct field Inner.inner.name of type string"),
        ({"list": {}}, "json: cannot unmarshal object into Go struct field Outer.list of type []v1.Inner"),
        (
            {"map": {"k": {"count": 1.5}}},
            "json: cannot unmarshal number 1.5 into Go struct field Inner.map.count of type int64",
        ),
        ({"raw": "*"}, "illegal base64 data"),
    ],
)
def test_what_does_not_fit_is_reported_in_the_words_of_go(value, text):
    with pytest.raises(GoTypeError) as caught:
        decode_typed(value, OUTER)
    assert str(caught.value) == text


def test_the_first_error_is_reported():
    with pytest.raises(GoTypeError, match=r"Inner\.inner\.count"):
        decode_typed({"inner": {"count": "x", "name": 5}, "text": 5}, OUTER)


def test_unknown_fields_are_listed_with_their_places():
    unknown: list[str] = []
    value = {"x": 1, "inner": {"y": 1}, "list": [{}, {"z": 1}], "map": {"a.b": {"w": {"v": 1}}}}
    decode_typed(value, OUTER, unknown=unknown)
    assert unknown == ["x", "inner.y", "list[1].z", "map.a.b.w"]


def test_no_more_than_a_hundred_unknown_fields_are_listed():
    unknown: list[str] = []
    decode_typed({str(number): 1 for number in range(200)}, OUTER, unknown=unknown)
    assert len(unknown) == 100
