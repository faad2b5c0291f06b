"""Which objects two definitions read and judge alike."""

import copy

import pytest

from auditor.crds.definition import parse_definition
from auditor.upgrade import Pairing
from tests.upgrade.support import crd, spec, string, version

OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def two(first=None, second=None, **more):
    return crd(
        version(first or spec(a=string()), "v1", storage=True),
        version(second or spec(b=string()), "v2", storage=False),
        **more,
    )


def pairing(old, new, at="v1", old_at=None):
    return Pairing(parse_definition(old), parse_definition(new), old_at or at, at)


def test_a_version_that_nothing_is_read_through_may_change():
    pair = pairing(two(), two(second=spec(b=string(minLength=2))))
    assert pair.is_same("v1")
    assert not pair.is_same("v2")
    assert pair.is_same("v9"), "what neither has is unreadable under both"


def test_the_stored_form_and_the_manifest_of_one_definition_are_the_same():
    new = crd(version(spec(a=string(), b=string())))
    old = copy.deepcopy(new)
    old["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    [one] = old["spec"]["versions"]
    old["spec"] |= {"version": "v1", "preserveUnknownFields": False, "validation": one.pop("schema")}
    assert pairing(old, new).is_same("v1")


def test_the_order_of_properties_does_not_matter():
    assert pairing(crd(version(spec(a=string(), b=string()))), crd(version(spec(b=string(), a=string())))).is_same("v1")


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec.update(conversion={"strategy": "Webhook"}),
        lambda spec: spec["versions"][0].update(subresources={"status": {}}),
        lambda spec: spec["versions"][0].update(selectableFields=[{"jsonPath": ".spec.a"}]),
        lambda spec: spec["versions"][0].update(schema={"openAPIV3Schema": {"type": "object"}}),
        lambda spec: spec["names"].update(kind="Other"),
        lambda spec: spec["versions"].pop(0),
        lambda spec: (spec["versions"][0].update(storage=False), spec["versions"][1].update(storage=True)),
    ],
)
def test_what_makes_a_difference(change):
    new = two()
    change(new["spec"])
    assert not pairing(two(), new).is_same("v1")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"type": "boolean", "default": True}, {"type": "integer", "default": 1}, True),
        ({"type": "integer", "default": 1}, {"type": "integer", "default": 0}, False),
        ({"type": "boolean", "default": True}, {"type": "boolean", "default": False}, False),
        ({**OPEN, "default": {"k": [True]}}, {**OPEN, "default": {"k": [1.0]}}, True),
    ],
)
def test_defaults_that_python_could_confuse(old, new, expected):
    assert pairing(crd(version(spec(f=old))), crd(version(spec(f=new)))).may_confuse is expected
