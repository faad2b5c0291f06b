"""Formats that this release does not know: where they are used, and what would happen to the values there."""

import pytest

from auditor.base.errors import PlanError
from auditor.schema.parse import parse_schema
from auditor.upgrade import UnknownFormats, parse_assumptions


def schema(**properties):
    return parse_schema({"type": "object", "properties": properties})


def text(name):
    return {"type": "string", "format": name}


def test_places_of_unknown_formats():
    tree = schema(
        a=text("new"),
        b=text("date"),
        c={"type": "integer", "format": "int32"},
        l={"type": "array", "items": {"type": "object", "properties": {"k": text("new")}}},
        m={"type": "object", "additionalProperties": text("other")},
        j={"type": "string", "allOf": [{"format": "in-all-of"}]},
        n={"type": "integer", "allOf": [{"format": "int64"}]},
    )
    found = UnknownFormats(tree)
    assert found.places == (("a", "new"), ("j", "in-all-of"), ("l[*].k", "new"), ("m.*", "other"))
    assert bool(found)
    assert not UnknownFormats(schema(a=text("date")))
    assert not UnknownFormats(None)


def test_values_and_those_that_would_fail():
    tree = schema(
        a=text("new"),
        l={"type": "array", "items": text("new")},
        m={"type": "object", "additionalProperties": text("other")},
    )
    obj = {"a": "Bad_", "l": ["good", 5, None], "m": {"x.y": "v"}, "z": "Bad_"}
    found = list(UnknownFormats(tree, {"new": "k8s-long-name"}).values(obj))
    assert found == [("a", "new", "Bad_", True), ("l[*]", "new", "good", False), ("m.*", "other", "v", False)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("x=dns1123subdomain", {"x": "k8s-long-name"}),
        ("x=dns1123label", {"x": "k8s-short-name"}),
        ("x=date-time", {"x": "date-time"}),
    ],
)
def test_assumptions(given, expected):
    assert parse_assumptions((given,)) == expected


@pytest.mark.parametrize("given", ["x", "=date", "x=no-such", "date=uuid", "x="])
def test_assumptions_that_make_no_sense(given):
    with pytest.raises(PlanError, match="--assume-format"):
        parse_assumptions((given,))
