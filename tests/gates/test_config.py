"""The rules that a configuration must pass: each violation is one finding with the path of the offending key."""

from __future__ import annotations

from typing import Any

import pytest

from auditor.gates import gate_config, parse_sidecar
from auditor.gates.paths import GatePath, GatePathError, goes_through_list, parse_path, places
from tests.gates.support import definition, gate

AT = "spec.customFeatureGates.featureGates"


def found(*gates: Any) -> list[tuple[str, str]]:
    return [(one.field, one.type) for one in gate_config(definition(list(gates))).findings]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (gate("A", ".spec.rep"), []),
        (gate("", ".spec.rep"), [(f"{AT}[0].name", "FieldValueRequired")]),
        ({"preRelease": "alpha", "fieldPaths": [".spec.rep"]}, [(f"{AT}[0].name", "FieldValueRequired")]),
        (gate("A"), [(f"{AT}[0].fieldPaths", "FieldValueRequired")]),
        ({"name": "A", "preRelease": "alpha"}, [(f"{AT}[0].fieldPaths", "FieldValueRequired")]),
        (gate("A", ".spec.rep", stage="gamma"), [(f"{AT}[0].preRelease", "FieldValueNotSupported")]),
        ({"name": "A", "fieldPaths": [".spec.rep"]}, [(f"{AT}[0].preRelease", "FieldValueRequired")]),
        ({"name": "A", "prerelease": "beta", "default": True, "fieldPaths": [".spec.rep"]}, []),
        (
            {"name": "A", "prerelease": "beta", "preRelease": "alpha", "fieldPaths": [".spec.rep"]},
            [(f"{AT}[0].prerelease", "FieldValueInvalid")],
        ),
        (gate("A", ".spec.rep", default=True), [(f"{AT}[0].default", "FieldValueInvalid")]),
        (gate("A", ".spec.rep", default=False), []),
        (gate("A", ".spec.rep", stage="stable", default=False), [(f"{AT}[0].default", "FieldValueInvalid")]),
        (gate("A", ".spec.rep", stage="stable", default=True), []),
        (gate("A", ".spec.rep", stage="stable"), []),
        (gate("A", ".spec.rep", stage="beta"), [(f"{AT}[0].default", "FieldValueRequired")]),
        (gate("A", ".spec.rep", stage="beta", default=False), []),
        (gate("A", ".spec.rep", stage="deprecated"), []),
        (gate("A", ".spec.rep", enabled="yes"), [(f"{AT}[0].enabled", "FieldValueTypeInvalid")]),
        (gate("A", "spec.rep"), [(f"{AT}[0].fieldPaths[0]", "FieldValueInvalid")]),
        (gate("A", ".spec[*].rep"), [(f"{AT}[0].fieldPaths[0]", "FieldValueInvalid")]),
        (gate("A", ".metadata.labels"), [(f"{AT}[0].fieldPaths[0]", "FieldValueForbidden")]),
        (gate("A", ".kind"), [(f"{AT}[0].fieldPaths[0]", "FieldValueForbidden")]),
        (gate("A", ".apiVersion"), [(f"{AT}[0].fieldPaths[0]", "FieldValueForbidden")]),
        (gate("A", ".spec.rep", ".spec.rep"), [(f"{AT}[0].fieldPaths[1]", "FieldValueDuplicate")]),
        (gate("A", ".spec.rep", ".spec['rep']"), [(f"{AT}[0].fieldPaths[1]", "FieldValueDuplicate")]),
        ({**gate("A"), "fieldPaths": [5]}, [(f"{AT}[0].fieldPaths[0]", "FieldValueTypeInvalid")]),
        ("A", [(f"{AT}[0]", "FieldValueTypeInvalid")]),
    ],
)
def test_one_gate(given: Any, expected: list[tuple[str, str]]) -> None:
    assert found(given) == expected


def test_every_violation_is_reported() -> None:
    bad = {"preRelease": "gamma", "default": 1, "fieldPaths": ["x", ".kind"]}
    assert len(found(bad)) == 5


def test_names_are_unique() -> None:
    assert found(gate("A", ".spec.rep"), gate("A", ".spec.replicas")) == [(f"{AT}[1].name", "FieldValueDuplicate")]


def test_a_path_has_one_guard_and_parent_and_child_may_have_different_ones() -> None:
    assert found(gate("A", ".spec.foo"), gate("B", ".spec.foo.qux")) == []
    config = gate_config(definition([gate("A", ".spec.foo"), gate("B", ".spec.foo")]))
    assert [(one.field, one.detail) for one in config.findings] == [
        (f"{AT}[1].fieldPaths[0]", "is guarded by gate A already")
    ]


@pytest.mark.parametrize(
    ("path", "known"),
    [
        (".spec.foo.qux", True),
        (".spec.nope", False),
        (".spec.foo.nope", False),
        (".spec.map.size", True),
        (".spec.map.nope", False),
        (".spec.values.whatever", True),
        (".spec.any.thing", True),
        (".spec['a.b'].c", True),
        (".spec.rep.deeper", False),
    ],
)
def test_a_path_that_the_schema_does_not_know_is_a_warning(path: str, known: bool) -> None:
    config = gate_config(definition([gate("A", path)]))
    assert config.findings == ()
    assert len(config.warnings) == (0 if known else 1)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (".spec", ("spec",)),
        (".spec.a-b.c_d", ("spec", "a-b", "c_d")),
        (".spec['a.b'].c", ("spec", "a.b", "c")),
        (".spec['it\\'s']", ("spec", "it's")),
    ],
)
def test_paths_are_read_and_written_back(text: str, steps: tuple[str, ...]) -> None:
    path = parse_path(text)
    assert path.steps == steps
    assert parse_path(str(path)) == path


@pytest.mark.parametrize(
    "text",
    ["", ".", "spec", ".spec.", "..spec", ".spec..a", ".spec[0]", ".spec[*]", ".spec.*", ".spec[?(@.a)]", ".spec['a'", "$.spec",
     ".spec['']", "['spec']", ".spec a", ".spec]"],
)  # fmt: skip
def test_what_is_no_simple_path_is_refused(text: str) -> None:
    with pytest.raises(GatePathError):
        parse_path(text)


def test_parents_go_by_names_not_by_letters() -> None:
    assert parse_path(".spec.foo").is_above(parse_path(".spec.foo.qux"))
    assert not parse_path(".spec.rep").is_above(parse_path(".spec.replicas"))
    assert not parse_path(".spec.foo").is_above(parse_path(".spec.foo"))


def test_places_go_through_lists() -> None:
    value = {"spec": {"list": [{"size": 1}, {}, {"size": None}], "n": [[{"size": 2}]]}}
    assert list(places(value, ("spec", "list", "size"))) == [("spec.list[0].size", 1), ("spec.list[2].size", None)]
    assert list(places(value, ("spec", "n", "size"))) == [("spec.n[0][0].size", 2)]
    assert list(places(value, ("spec", "missing"))) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [(".spec.map.size", True), (".spec.list", False), (".spec.foo.qux", False), (".spec.nope.x", False)],
)
def test_paths_through_lists_are_reported(path: str, expected: bool) -> None:
    assert goes_through_list(parse_path(path), definition([]).storage_version.schema) is expected


def test_a_sidecar_counts_before_the_manifest() -> None:
    sidecar = parse_sidecar(
        {"loaves.bakery.example.com": {"component": "oven", "featureGates": [gate("B", ".spec.rep")]}}
    )
    config = gate_config(definition([gate("A", ".spec.rep")]), sidecar)
    assert (config.component, [one.name for one in config.gates]) == ("oven", ["B"])
    bad = gate_config(definition([]), {"loaves.bakery.example.com": {"featureGates": [gate("", ".spec.rep")]}})
    assert [one.field for one in bad.findings] == ["loaves.bakery.example.com.featureGates[0].name"]
    with pytest.raises(ValueError, match="maps names of definitions"):
        parse_sidecar([1])


@pytest.mark.parametrize("config", [5, "x", [], {"featureGates": 3}, {"component": 4}])
def test_a_configuration_of_the_wrong_shape_is_a_finding(config: Any) -> None:
    made = gate_config(definition([]), {"loaves.bakery.example.com": config})
    assert [one.type for one in made.findings] == ["FieldValueTypeInvalid"]
    assert made.gates == ()


def test_no_configuration_is_fine() -> None:
    assert gate_config(definition([]), {"loaves.bakery.example.com": None}).gates == ()
    assert GatePath(("spec",)) == parse_path(".spec")


def test_the_first_form_of_the_proposal_is_a_warning() -> None:
    made = definition([])
    made.document["spec"]["featureGates"] = [{"name": "A"}]
    config = gate_config(made)
    assert config.gates == ()
    assert config.warnings == (
        "spec.featureGates: has no effect; gates are read from spec.customFeatureGates.featureGates alone",
    )
