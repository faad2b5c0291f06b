"""One sentence: safe, safe after, or blocks."""

import json

import pytest

from auditor.upgrade import DefinitionChange, PathChange, UpgradeTally, change_of_definition, decide, decide_all
from tests.command import auditor
from tests.documents import named_definition
from tests.upgrade.support import crd, spec, string, version


def tally(**categories):
    made = UpgradeTally(objects=sum(categories.values()))
    made.categories.update({name.replace("_", "-"): number for name, number in categories.items()})
    return made


@pytest.mark.parametrize(
    ("change", "counts", "stored", "sentence"),
    [
        ({}, {"unchanged": 3}, {}, "safe"),
        ({}, {"drift": 1}, {}, "safe; 1 object reads differently"),
        ({"refusals": ('status.storedVersions[0]: Invalid value: "v1": gone',), "unmigrated": ("v1",)}, {"unmigrated": 37},
         {"v1": 37}, 'blocks, because the server refuses the definition: status.storedVersions[0]: Invalid value: "v1": gone'),
        ({"versions_removed": ("v1",)}, {"unmigrated": 1}, {"v1": 1},
         "blocks, because 1 object stored at a removed version can no longer be read, so that no LIST of the kind works"),
        ({"versions_removed": ("v1",)}, {}, {}, "safe"),
        ({"served_removed": ("v1",)}, {"unchanged": 2}, None,
         ("attention: v1 is removed: requests for it get 404; an export does not show at which version objects are stored: "
          "make sure that none is at one removed")),
        ({"served_removed": ("v1",)}, {}, {}, "attention: v1 is removed: requests for it get 404"),
        ({"no_longer_served": ("v1",), "versions": ("v1",)}, {}, {},
         "attention: v1 is no longer served: requests for it get 404; no version is served any more"),
        ({"subresources_removed": (("v1", "status"), ("v2", "status"))}, {}, {},
         "attention: the status subresource of v1, v2 is removed"),
        ({}, {"tolerated": 1}, {},
         ("attention: 1 object becomes invalid: tolerated while the fields concerned do not change, but a restore of the "
          "status fails")),
        ({"not_accepted": ('"x" is already in use',)}, {}, {},
         'attention: the server does not accept all names: "x" is already in use'),
        ({"action": "create", "not_accepted": ('"x" is already in use',)}, {}, {},
         'blocks, because the server never serves it: "x" is already in use'),
        ({"refusals": ("spec.x: Invalid value: no", "b")}, {}, {},
         "blocks, because the server refuses the definition: spec.x: Invalid value: no; b"),
        ({"unreadable": "why"}, {}, {}, "blocks, because the server cannot serve it: why"),
        ({}, {"blocked": 2, "unreadable": 1}, {},
         ("blocks, because 1 object can no longer be read, so that no LIST of the kind works and updates of 2 objects that "
         "pass today are refused")),
        ({"action": "delete"}, {"deleted": 2}, {}, "blocks, because 2 objects are deleted with it"),
        ({"action": "delete"}, {"sealed": 1}, {}, "blocks, because 1 object is deleted with it"),
        ({}, {"sealed": 1}, {}, "safe after 1 object is judged with the keys of its sealed values"),
        ({}, {"sealed": 2, "unchanged": 1}, {}, "safe after 2 objects are judged with the keys of their sealed values"),
        ({"action": "delete"}, {}, {}, "safe: there are no objects that would be deleted with it"),
    ],
)  # fmt: skip
def test_sentences(change, counts, stored, sentence):
    given = DefinitionChange(**{"name": "x", "action": "update", **change})
    decision = decide(given, tally(**counts), stored)
    assert decision.sentence == sentence
    assert sentence.replace(" ", "-").startswith(decision.word)
    assert bool(decision.levels) == (
        (decision.word != "safe" and not counts.keys() & {"sealed"}) or decision.word == "blocks"
    )


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ([PathChange("defaulted", "a", new=1)], "defaults"),
        ([PathChange("default-changed", "a", 1, 2)], "defaults"),
        ([PathChange("pruned", "a", new=1)], "stored values that are shown again"),
        (
            [PathChange("pruned", "a", new=1), PathChange("defaulted", "b", new=1)],
            "defaults and stored values that are shown again",
        ),
    ],
)
def test_the_reason_of_other_reads_is_that_of_the_changes(changes, because):
    made = tally(drift=1)
    for change in changes:
        made.count(change, change.path)
    assert decide(DefinitionChange("x", "update"), made, {}).sentence == (
        f"safe; 1 object reads differently because of {because}"
    )


def test_what_is_lost_is_named():
    made = tally(data_loss=1)
    made.count(PathChange("pruned", "spec.a", old=1), "spec.a")
    made.count(PathChange("pruned", "spec.back", new=1), "spec.back")
    assert decide(DefinitionChange("x", "update"), made, {}).sentence == (
        "blocks, because 1 object loses stored data (spec.a)"
    )


def test_all_definitions_together_are_as_bad_as_the_worst():
    safe, after, attention, blocks = (
        decide(DefinitionChange("x", "update", **more), tally(**counts), {})
        for more, counts in (
            ({}, {}),
            ({}, {"needs_conversion": 1}),
            ({"served_removed": ("v0",)}, {}),
            ({"unreadable": "why"}, {}),
        )
    )
    assert (
        decide_all([("a", safe), ("b", attention)]).sentence == "attention: b (v0 is removed: requests for it get 404)"
    )
    assert decide_all([("a", attention), ("b", after)]).word == "safe-after"
    assert decide_all([("a", attention), ("b", after)]).levels == {"invalid", "unreadable"}
    assert decide_all([("a", safe)]).sentence == "safe"
    assert decide_all([("a", safe), ("b", after)]).word == "safe-after"
    found = decide_all([("a", safe), ("b", after), *((f"c{number}", blocks) for number in range(5))])
    assert found.sentence.startswith("blocks, because of c0 (the server cannot serve it: why), c1 (")
    assert found.sentence.endswith("and 2 more")


def test_the_answer_to_an_update_separates_what_migration_repairs():
    old = crd(version(spec(a=string()), "v1"), version(spec(a=string()), "v0", storage=False), stored=["v0", "v1"])
    new = crd(version(spec(a=string()), "v1"))
    change = change_of_definition("things.example.com", old, new)
    assert (change.action, change.unmigrated, change.is_only_unmigrated) == ("update", ("v0",), True)
    assert change.refusals[0].startswith('status.storedVersions[0]: Invalid value: "v0": missing from spec.versions')
    assert change.versions_removed == ("v0",)


def test_definitions_that_say_the_same_need_no_answer():
    one = crd(version(spec(a=string())))
    assert change_of_definition("things.example.com", one, one).action == "none"


def test_tallies_add_up_and_keep_the_first_examples():
    from auditor.upgrade import Sample

    whole, parts = UpgradeTally(), [UpgradeTally(), UpgradeTally()]
    for number in range(6):
        for one in (whole, parts[number // 3]):
            one.objects += 1
            one.categories["blocked"] += 1
            one.managed["v0"] += 1
            one.sample("blocked", Sample(str(number), "x"))
    merged = UpgradeTally()
    for part in parts:
        merged.merge(part)
    assert merged == whole
    assert [one.key for one in merged.samples["blocked"]] == ["0", "1", "2"]


@pytest.mark.parametrize("status", [{"conditions": {}}, {"storedVersions": "v1"}, "x", [1]])
def test_a_status_that_no_server_decodes_is_refused(tmp_path, status):
    new = named_definition(
        "boats.x.example.com", "Boat", {"type": "object", "properties": {"spec": {"type": "object"}}}
    )
    conditions = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]
    old = {**new, "status": {"conditions": conditions, "storedVersions": ["v1"]}}
    boat = {"apiVersion": "x.example.com/v1", "kind": "Boat", "metadata": {"name": "a", "namespace": "b", "uid": "u"}}
    (tmp_path / "old.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [old, boat]}))
    (tmp_path / "new.json").write_text(json.dumps({**new, "status": status}))
    done = auditor("upgrade", "old.json", "--new-crds", "new.json", "--report", "r", "--jobs", "1", cwd=tmp_path)
    assert (done.code, done.stdout.startswith("blocks")) == (1, True), done.output
    assert "cannot unmarshal" in done.output


def test_the_headline_is_a_sentence_of_200_characters_with_whole_reasons():
    refused = decide(DefinitionChange("x", "update", refusals=(f"spec.a: {'y' * 300}",)), tally(), {})
    both = decide(DefinitionChange("x", "update", unreadable="why"), tally(unreadable=2, data_loss=1), {})
    assert len(both.texts("reason")) > 1
    for names in (["a"], ["a" * 60, "b" * 60], [f"{letter * 70}.example.com" for letter in "abcdef"]):
        for decision in (refused, both):
            sentence = decide_all([(name, decision) for name in names]).sentence
            assert len(sentence) <= 200
            assert sentence.startswith(
                f"blocks, because of {names[0]} ({decision.texts('reason')[0].partition(': ')[0]}"
            )
            shown = sum(f"{name} (" in sentence for name in names)
            rest = len(names) - shown
            assert sentence.endswith(f"{rest} more" if rest else ")")
