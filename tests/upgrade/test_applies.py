"""Objects whose values do not fit the types of their schema: each server-side apply fails; audits and upgrades say so."""

import json

import pytest

from tests.command import auditor
from tests.upgrade.support import crd, managed, scan, spec, string, thing, version, write_dump

WORDS = crd(version(spec(size=string(), part=string())), stored=["v1"])
NUMBERS = crd(version(spec(size={"type": "integer"}, part=string())), stored=["v1"])
FLUX = {"managedFields": [managed("kustomize-controller", "2026-02-02T03:04:05Z", {"f:spec": {"f:size": {}}})]}
ANSWER = (
    "failed to create typed live object (default/kestrel; example.com/v1, Kind=Thing): "
    ".spec.size: expected numeric (int or float), got string"
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the folder with the report of an audit of two objects with a text for a number, and two without."""
    folder = tmp_path_factory.mktemp("audit")
    objects = [thing("kestrel", {"size": "12"}, metadata=FLUX), thing("petrel", {"size": "x", "part": True})]
    write_dump(folder / "dump.json", [NUMBERS], [*objects, thing("gull", {"size": 3}), thing("tern", {"size": 1.0})])
    ended = auditor("audit", "dump.json", "--report", "report", "--jobs", "1", cwd=folder)
    assert ended.code == 1
    return folder


def test_an_audit_counts_them_as_a_high_cause(report):
    summary = auditor("summary", "report", cwd=report, env={"COLUMNS": "120"}).stdout
    assert "fails each server-side apply (Flux, Argo CD)" in summary
    assert "2 blocks-apply" in summary
    assert "repair the values that the server names by PUT or merge patch" in " ".join(summary.split())
    data = json.loads(auditor("findings", "report", "-o", "json", cwd=report).stdout)
    [cause] = [cause for cause in data["causes"] if cause["impact"] == "blocks-apply"]
    assert (cause["severity"], cause["objects"]) == ("high", 2)


def test_an_object_has_the_answer_of_the_server(report):
    shown = json.loads(auditor("show", "report", "default/kestrel", "-o", "json", cwd=report).stdout)
    [row] = shown["report"]["objects"]
    assert (row["impact"], row["reason"], row["put_code"]) == ("blocks-apply", ANSWER, 200)


def test_the_list_of_a_cause_names_what_does_not_fit(report):
    data = json.loads(auditor("findings", "report", "-o", "json", cwd=report).stdout)
    [cause] = [cause["cause"] for cause in data["causes"] if cause["impact"] == "blocks-apply"]
    listed = auditor("findings", "report", cause, cwd=report, env={"COLUMNS": "160"}).stdout
    assert ".spec.size: expected numeric (int or float), got string" in listed
    assert ".spec.part: expected string" in listed
    assert "failed to create" not in listed


def test_a_redacted_report_has_no_values(report):
    words = ("audit", "dump.json", "--report", "redacted", "--jobs", "1", "--redact")
    assert auditor(*words, cwd=report).code == 1
    shown = json.loads(auditor("show", "redacted", "default/petrel", "-o", "json", cwd=report).stdout)
    [row] = shown["report"]["objects"]
    assert row["reason"].startswith("failed to create ")
    assert "true" not in row["reason"]


def test_fail_on_blocked_counts_them(tmp_path):
    write_dump(tmp_path / "dump.json", [NUMBERS], [thing("kestrel", {"size": "12"})])
    words = ("audit", "dump.json", "--jobs", "1", "--fail-on", "blocked", "--report", "report")
    ended = auditor(*words, cwd=tmp_path)
    assert ended.code == 1
    assert "1 high cause at or above --fail-on blocked" in ended.output


def test_an_upgrade_names_those_that_newly_do_not_fit(tmp_path):
    objects = [thing("kestrel", {"size": "12"}, metadata=FLUX), thing("gull", {"part": "a"})]
    done = scan(tmp_path, [WORDS], [NUMBERS], objects)
    assert done.code == 1
    assert done.definition["decision"] == "attention"
    text = (
        "each server-side apply (Flux, Argo CD) of 1 object fails, also one that repairs it: a PUT or merge patch can"
    )
    assert done.definition["reasons"][0] == text
    assert done.definition["categories"] == {"apply-refused": 1, "tolerated": 1, "unchanged": 1}
    assert done.definition["samples"]["apply-refused"][0]["text"] == ANSWER


def test_an_upgrade_that_repairs_a_type_or_changes_none_names_nothing(tmp_path):
    for name, old, new in (("repaired", NUMBERS, WORDS), ("same", NUMBERS, NUMBERS)):
        folder = tmp_path / name
        folder.mkdir()
        done = scan(folder, [old], [new], [thing("kestrel", {"size": "12"})])
        assert "apply-refused" not in done.definition["categories"]


def test_a_set_of_maps_cannot_be_applied_although_it_is_valid(tmp_path):
    items = {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": string()}}
    both = {"type": "array", "x-kubernetes-list-type": "set", "items": items}
    write_dump(tmp_path / "dump.json", [crd(version(spec(x=both)), stored=["v1"])], [thing("a", {"x": [{"a": "b"}]})])
    auditor("audit", "dump.json", "--report", "report", "--jobs", "1", cwd=tmp_path)
    shown = json.loads(auditor("show", "report", "default/a", "-o", "json", cwd=tmp_path).stdout)
    [row] = shown["report"]["objects"]
    assert (row["status"], row["impact"]) == ("valid", "blocks-apply")
    assert row["reason"].endswith("associative list without keys has an element that's a map type")


def two(new_field, *, alpha=None, **more):
    """Return a definition with v1alpha1, which knows spec.part, and v1, the storage version, which knows one more."""
    own = spec(part=string()) if alpha is None else alpha
    return crd(version(own, "v1alpha1", storage=False), version(spec(part=string(), **new_field)), **more)


ALPHA = {"managedFields": [managed("helm", "2026-02-02T03:04:05Z", {"f:spec": {"f:part": {}}}, at="v1alpha1")]}
DEFAULTED = {"size": string(default="x")}
REFUSED = "managedFields name v1alpha1: .spec.size: field not declared in schema"


@pytest.mark.parametrize(
    ("old", "new", "content", "is_refused"),
    [
        (two({"size": string()}, stored=["v1"]), two(DEFAULTED), {"part": "a"}, True),
        (two({"size": string()}, stored=["v1"]), two(DEFAULTED), {"part": "a", "size": "b"}, False),  # fails today
        (two(DEFAULTED, stored=["v1"]), two({"size": string()}), {"part": "a"}, False),
        (two(DEFAULTED, stored=["v1"]), two(DEFAULTED), {"part": "a"}, False),
        (two({}, alpha=spec(part=string(), size=string()), stored=["v1"]), two(DEFAULTED), {"part": "a"}, True),
        (
            two(DEFAULTED, alpha=spec(part=string(), size=string()), stored=["v1"]),
            two(DEFAULTED),  # only the schema of the manager changes
            {"part": "a"},
            True,
        ),
    ],
)
def test_an_upgrade_names_managers_at_a_version_that_no_longer_knows_all_fields(
    old, new, content, is_refused, tmp_path
):
    """Source: measured on v1.37.2: a PUT or merge patch does not help, managedFields without the version do."""
    done = scan(tmp_path, [old], [new], [thing("kestrel", content, metadata=ALPHA), thing("gull", content)])
    definition = done.definition
    assert definition["categories"].get("manager-refused", 0) == is_refused
    if is_refused:
        text = (
            "server-side apply (Flux, Argo CD) of 1 object fails at v1, as long as managedFields name a version at which "
            "it does not fit"
        )
        assert text in definition["sentence"]
        assert definition["samples"]["manager-refused"][0]["text"] == f"at v1: {REFUSED}"
        assert done.code == 1


def test_a_version_that_goes_is_taken_out_of_managed_fields_first_and_named_once(tmp_path):
    new = crd(version(spec(part=string(), **DEFAULTED)))
    done = scan(tmp_path, [two({}, stored=["v1"])], [new], [thing("kestrel", {"part": "a"}, metadata=ALPHA)])
    assert "manager-refused" not in done.definition["categories"]
    assert done.definition["sentence"].startswith("safe after v1alpha1 is taken out of the managedFields of 1 object")
