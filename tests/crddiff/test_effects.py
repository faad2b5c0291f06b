"""The effect of each sort of change, and its witness, which the public functions judge again under both definitions."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest

from auditor import CrdCatalog, audit_object, try_update
from auditor.crddiff import BREAKS, CHANGES, HARMLESS, MAY_BREAK, Change
from auditor.crddiff.compare import compare
from auditor.crddiff.trial import Trial, Trials
from auditor.crds.definition import parse_definition
from tests.differential.draw_upgrades import Draw

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
NAME = "boats.port.example.com"


def version(spec: dict[str, Any], name: str = "v1", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
    return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}, **more}


def definition(*versions: dict[str, Any], **more: Any) -> dict[str, Any]:
    names = {"kind": "Boat", "listKind": "BoatList", "plural": "boats", "singular": "boat"}
    spec = {"group": "port.example.com", "names": names, "scope": "Namespaced", "versions": list(versions), **more}
    metadata = {"name": NAME}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def field(**schema: Any) -> dict[str, Any]:
    return version({"properties": {"f": schema}})


def changes_of(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    return list(compare([definition(old)], [definition(new)]).changes)


def the_change(old: dict[str, Any], new: dict[str, Any]) -> Change:
    (change,) = changes_of(old, new)
    return change


def answers(document: dict[str, Any], witness: dict[str, Any]) -> Any:
    catalog = CrdCatalog.from_documents([document])
    return audit_object(catalog, json.dumps(witness).encode())


NARROWER: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("enum", TEXT | {"enum": ["s", "m", "l"]}, TEXT | {"enum": ["s", "m"]}, 'spec.f: Unsupported value: "l"'),
    ("enum", TEXT, TEXT | {"enum": ["s"]}, "spec.f: Unsupported value:"),
    ("maximum", WHOLE | {"maximum": 9}, WHOLE | {"maximum": 5}, "less than or equal to 5"),
    ("minimum", WHOLE, WHOLE | {"minimum": 5}, "greater than or equal to 5"),
    ("exclusiveMaximum", WHOLE | {"maximum": 9}, WHOLE | {"maximum": 9, "exclusiveMaximum": True}, "less than 9"),
    ("multipleOf", WHOLE, WHOLE | {"multipleOf": 4}, "multiple of 4"),
    ("maxLength", TEXT, TEXT | {"maxLength": 63}, "Too long"),
    ("minLength", TEXT, TEXT | {"minLength": 2}, "at least 2 chars long"),
    ("pattern", TEXT | {"pattern": "^[a-z]{2,4}$"}, TEXT | {"pattern": "^[a-z]{3,4}$"}, "should match"),
    ("pattern", TEXT, TEXT | {"pattern": r"^\d+$"}, "should match"),
    ("format", TEXT, TEXT | {"format": "date-time"}, "must be of type date-time"),
    ("type", TEXT, WHOLE, "must be of type integer"),
    ("type", {"type": "boolean"}, {"x-kubernetes-int-or-string": True}, "Invalid value"),
    ("maxItems", {"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "maxItems": 2}, "Too many"),
    ("minItems", {"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "minItems": 1}, "at least 1 items"),
    (
        "list type",
        {"type": "array", "items": TEXT},
        {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "Duplicate value",
    ),
    (
        "maxProperties",
        {"type": "object", "additionalProperties": TEXT},
        {"type": "object", "additionalProperties": TEXT, "maxProperties": 1},
        "Too many",
    ),
    (
        "new rule",
        WHOLE | {"maximum": 100},
        WHOLE | {"maximum": 100, "x-kubernetes-validations": [{"rule": "self % 7 != 0", "message": "no sevens"}]},
        "no sevens",
    ),
    (
        "oneOf",
        {"type": "object", "properties": {"a": TEXT, "b": TEXT}},
        {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "must validate one and only one schema",
    ),
]


@pytest.mark.parametrize(("what", "old", "new", "words"), NARROWER)
def test_a_narrower_keyword_refuses_a_witness(what: str, old: dict[str, Any], new: dict[str, Any], words: str) -> None:
    before, after = field(**old), field(**new)
    changes = [change for change in changes_of(before, after) if change.change == what]
    (change,) = changes
    assert (change.path, change.verdict, change.effect) == ("spec.f", BREAKS, "create-refused")
    assert words in change.message
    assert change.witness is not None
    accepted, refused = answers(definition(before), change.witness), answers(definition(after), change.witness)
    assert (accepted.findings, accepted.pruned) == ((), ())
    assert change.message in [finding.message for finding in refused.findings]
    assert list(change.witness["spec"]) == ["f"], "nothing is there that the change does not need"


def test_a_removed_field_is_dropped() -> None:
    before, after = version({"properties": {"f": TEXT, "g": TEXT}}), version({"properties": {"g": TEXT}})
    change = the_change(before, after)
    assert (change.path, change.change, change.verdict, change.effect) == (
        "spec.f",
        "field removed",
        BREAKS,
        "data-dropped",
    )
    assert change.message == 'strict decoding error: unknown field "spec.f"'
    assert change.witness is not None
    assert answers(definition(after), change.witness).pruned == ("spec.f",)


def test_a_field_that_becomes_required_is_tolerated_in_updates() -> None:
    before = version({"properties": {"f": TEXT}})
    after = version({"properties": {"f": TEXT}, "required": ["f"]})
    change = the_change(before, after)
    assert (change.change, change.verdict, change.updates) == ("now required", BREAKS, "tolerated")
    assert change.message == "spec.f: Required value"
    stored = dict(change.witness or {}, metadata={"name": "a", "namespace": "default", "uid": "u"})
    key = "/registry/port.example.com/boats/default/a"
    catalog = CrdCatalog.from_documents([definition(after)])
    assert try_update(catalog, json.dumps(stored).encode(), key=key, revision=1, request="label").code == 200


def test_the_status_has_the_words_of_its_own_writes() -> None:
    before, after = ({**version({}), "subresources": {"status": {}}} for _ in range(2))
    for each, more in ((before, {}), (after, {"maximum": 5})):
        schema = each["schema"]["openAPIV3Schema"]
        schema["properties"]["status"] = {"type": "object", "properties": {"n": WHOLE | more}}
        schema["x-kubernetes-validations"] = [{"rule": "!has(self.spec) || true"}]
    change = the_change(before, after)
    assert (change.path, change.effect, change.updates) == ("status.n", "update-refused", "tolerated")
    assert change.message == "status.n: Invalid value: 6: n in body should be less than or equal to 5"


def test_a_rule_at_the_root_refuses_updates_too() -> None:
    before, after = version({"properties": {"f": WHOLE}}), version({"properties": {"f": WHOLE}})
    root = after["schema"]["openAPIV3Schema"]
    root["x-kubernetes-validations"] = [{"rule": "has(self.spec)", "message": "no spec"}]
    change = the_change(before, after)
    assert (change.effect, change.updates) == ("create-refused", "refused")


def test_a_rule_that_compares_needs_two_objects() -> None:
    rule = {"rule": "self == oldSelf", "message": "fixed"}
    before, after = field(**TEXT), field(**TEXT, **{"x-kubernetes-validations": [rule]})
    change = the_change(before, after)
    assert (change.verdict, change.effect) == (BREAKS, "update-refused")
    assert "fixed" in change.message
    assert change.witness is not None
    assert change.update is not None
    assert change.update["spec"] != change.witness["spec"]


HARMLESS_PAIRS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("wider bounds", WHOLE | {"maximum": 5}, WHOLE | {"maximum": 9}),
    ("the same bound", WHOLE | {"maximum": 10, "exclusiveMaximum": True}, WHOLE | {"maximum": 9}),
    ("a weaker multiple", WHOLE | {"multipleOf": 4}, WHOLE | {"multipleOf": 2}),
    ("a pattern that all values match", TEXT | {"enum": ["a", "b"]}, TEXT | {"enum": ["a", "b"], "pattern": "^[a-z]$"}),
    ("a length that all values have", TEXT | {"enum": ["a", "b"]}, TEXT | {"enum": ["a", "b"], "maxLength": 1}),
    ("a type that takes more", WHOLE, {"x-kubernetes-int-or-string": True}),
    ("words", TEXT | {"description": "old"}, TEXT | {"description": "new"}),
    (
        "a rule about a field that is new",
        {"type": "object", "properties": {"a": TEXT}},
        {
            "type": "object",
            "properties": {"a": TEXT, "b": TEXT},
            "x-kubernetes-validations": [{"rule": "!has(self.b) || self.b != 'x'"}],
        },
    ),
]


@pytest.mark.parametrize(
    ("old", "new"), [pair[1:] for pair in HARMLESS_PAIRS], ids=[pair[0] for pair in HARMLESS_PAIRS]
)
def test_what_affects_no_object_is_harmless_with_a_reason(old: dict[str, Any], new: dict[str, Any]) -> None:
    changes = changes_of(field(**old), field(**new))
    assert changes
    assert {change.verdict for change in changes} == {HARMLESS}
    assert all(change.reason for change in changes)


def test_a_null_that_is_no_longer_allowed_is_dropped_or_refused() -> None:
    change = the_change(field(**TEXT, nullable=True), field(**TEXT))
    assert (change.change, change.verdict, change.effect) == ("null no longer allowed", BREAKS, "data-dropped")
    assert change.message == "the null is dropped"
    changes = changes_of(field(**TEXT, nullable=True), field(**TEXT, default="x"))
    messages = {each.change: each.message for each in changes}
    assert messages["null no longer allowed"] == '"x" takes the place of the null'
    items = {"type": "array", "items": TEXT | {"nullable": True}}
    change = the_change(field(**items), field(**items | {"items": TEXT}))
    assert (change.path, change.verdict, change.effect) == ("spec.f[*]", BREAKS, "create-refused")
    assert '"null"' in change.message


def test_a_required_field_with_a_default_is_filled_in() -> None:
    before = version({"properties": {"f": TEXT}})
    after = version({"properties": {"f": TEXT | {"default": "x"}}, "required": ["f"]})
    verdicts = {change.change: change.verdict for change in changes_of(before, after)}
    assert verdicts == {"now required": HARMLESS, "default": CHANGES}


def test_a_default_that_goes_from_a_required_field_refuses_creates() -> None:
    before = version({"properties": {"f": TEXT | {"default": "x"}}, "required": ["f"]})
    after = version({"properties": {"f": TEXT}, "required": ["f"]})
    change = the_change(before, after)
    assert (change.change, change.verdict, change.message) == ("default", BREAKS, "spec.f: Required value")


def test_a_default_breaks_only_what_it_brings() -> None:
    rule = {"x-kubernetes-validations": [{"rule": "self.c != 'z'"}]}
    old = {"a": TEXT | {"default": "x"}, "b": TEXT | {"default": "p"}, "c": TEXT | {"default": "y"}, "d": TEXT}
    new = {"a": TEXT, "b": TEXT | {"default": "q"}, "c": TEXT | {"default": "z"}, "d": TEXT | {"default": "w"}}
    before, after = ({"properties": each, "required": ["a"]} | rule for each in (old, new))
    shown = {change.path: (change.verdict, change.message) for change in changes_of(version(before), version(after))}
    assert shown["spec.a"] == (BREAKS, "spec.a: Required value")
    assert shown["spec.c"][0] == BREAKS
    assert "failed rule: self.c != 'z'" in shown["spec.c"][1]
    assert shown["spec.b"] == shown["spec.d"] == (CHANGES, "")


def test_a_change_without_witness_or_proof_may_break() -> None:
    words = {"type": "string", "pattern": "^(a|b)*abb$"}
    change = the_change(field(**words), field(**words | {"pattern": "^((a|b)*)abb$"}))
    assert (change.verdict, change.witness) == (MAY_BREAK, None)
    assert change.reason


def test_values_that_were_not_validated_now_are() -> None:
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for strict in (loose | {"properties": {"a": WHOLE}}, {"type": "object", "additionalProperties": WHOLE}):
        (change,) = [each for each in changes_of(field(**loose), field(**strict)) if each.change == "type"]
        assert (change.verdict, change.effect) == (BREAKS, "create-refused")


def test_versions_and_subresources_that_go_get_404() -> None:
    v1, v2 = version({}), version({}, "v2", subresources={"status": {}})
    (change,) = compare([definition(v1, v2)], [definition(v1)]).changes
    assert (change.change, change.effect, change.versions) == ("version removed", "not-served", ("v2",))
    assert (change.witness or {})["apiVersion"] == "port.example.com/v2"
    plain = copy.deepcopy(v2)
    plain.pop("subresources")
    (change,) = compare([definition(v1, v2)], [definition(v1, plain)]).changes
    assert (change.change, change.effect) == ("status subresource removed", "not-served")


def test_another_storage_version_loses_what_it_does_not_have() -> None:
    v1 = version({"properties": {"f": TEXT, "g": TEXT}})
    v2 = version({"properties": {"f": TEXT}}, "v2")
    new = definition({**v1, "storage": False}, {**v2, "storage": True})
    changes = compare([definition(v1)], [new]).changes
    lost = [change for change in changes if change.effect == "data-dropped"]
    assert [(change.path, change.verdict) for change in lost] == [("spec.g", BREAKS)]


def test_definitions_are_paired_by_name() -> None:
    document = definition(version({}))
    other = copy.deepcopy(document)
    other["metadata"]["name"] = "ships.port.example.com"
    other["spec"]["names"] = {"kind": "Ship", "listKind": "ShipList", "plural": "ships", "singular": "ship"}
    got = compare([document], [other])
    assert [(change.definition, change.change, change.effect) for change in got.changes] == [
        (NAME, "definition removed", "deleted"),
        ("ships.port.example.com", "definition added", "harmless"),
    ]
    assert compare([document], [document]).changes == ()


def test_an_update_that_the_server_refuses_has_its_words() -> None:
    document, other = (definition(version({}), scope=scope) for scope in ("Namespaced", "Cluster"))
    (change,) = compare([document], [other]).changes
    assert (change.verdict, change.effect) == (BREAKS, "refused")
    assert "spec.scope: Invalid value" in change.message
    assert "field is immutable" in change.message


@pytest.mark.parametrize("seed", range(60))
def test_nothing_harmless_changes_an_answer_about_drawn_objects(seed: int) -> None:
    """Compare drawn definitions; where all changes are harmless, no drawn object is answered in another way."""
    draw = Draw(Random(seed))
    pair = draw.pair(f"p{seed}")
    old, new = pair.document(pair.old), pair.document(pair.new)
    changes = compare([old], [new]).changes
    harmful = [change for change in changes if change.verdict != HARMLESS]
    for change in harmful:
        assert change.verdict == CHANGES or change.witness or change.reason or change.effect == "refused"
    if any(change.effect == "refused" for change in harmful):
        return
    trials = Trials(parse_definition(old), parse_definition(new))
    for served in trials.old.served_versions:
        after = trials.new.versions.get(served.name)
        if (
            after is None
            or not after.served
            or any(served.name in each.versions or not each.versions for each in harmful)
        ):
            continue
        trial = Trial(trials, served.name, served.name)
        root = next(each for each in pair.old["versions"] if each["name"] == served.name)["schema"]["openAPIV3Schema"]
        head = {"apiVersion": trial.api_version, "kind": trials.old.kind}
        for _ in range(30):
            obj = {**draw.value(root), **head, "metadata": {"name": "a", "namespace": "default"}}
            before = trial.created(obj)
            if trial.is_accepted(before):
                known = {(change.effect, change.path) for change in harmful}
                assert {(each.effect, each.path) for each in trial.answers(obj, before)} <= known, obj
