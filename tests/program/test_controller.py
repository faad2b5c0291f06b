"""The controller of an object: the first owner with `controller: true`; anything else is no controller."""

import json

import pytest

from auditor.program.proof_check import controller_in, controller_of

WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
NODE = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u", "controller": True}


@pytest.mark.parametrize(
    ("owners", "controller"),
    [
        ([WEB], "Deployment.apps/web"),
        ([NODE], "Node/n1"),
        ([{**WEB, "controller": False}, NODE], "Node/n1"),
        ([WEB, NODE], "Deployment.apps/web"),
        ([{**WEB, "controller": "true"}], None),
        ([{**WEB, "name": ""}], None),
        ([{**WEB, "kind": 3}], None),
        ([3, None], None),
        ([], None),
        (None, None),
        ("text", None),
        ({"controller": True}, None),
    ],
)
def test_controllers(owners, controller):
    assert controller_of(owners) == controller
    assert controller_in(json.dumps({"metadata": {"ownerReferences": owners}}).encode()) == controller


@pytest.mark.parametrize(
    "data", [b"", b"{", b"3", b'["ownerReferences", "controller"]', b'{"metadata": ["ownerReferences", "controller"]}']
)
def test_values_of_another_form_have_none(data):
    assert controller_in(data) is None
