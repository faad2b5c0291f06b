"""`auditor upgrade` as a user runs it."""

import json
from pathlib import Path

import pytest
import yaml

from tests.command import auditor
from tests.upgrade.support import crd, managed, spec, string, thing, version, write_crds, write_dump

OLD = crd(
    version(spec(a=string(), b=string())),
    version(spec(a=string(), b=string()), "v1alpha1", storage=False),
    stored=["v1alpha1", "v1"],
)
NEW = crd(version(spec(a=string(default="x", maxLength=3))))


@pytest.fixture
def cluster(tmp_path):
    wrote = managed("kubectl-edit", "2026-03-04T05:06:07Z", {"f:spec": {"f:a": {}}})
    objects = [
        thing("long", {"a": "much too long"}, metadata={"managedFields": [wrote]}),
        thing("loses", {"a": "y", "b": "gone"}),
        thing("drifts", {}),
        thing("old", {"a": "z"}, at="v1alpha1"),
    ]
    return write_dump(tmp_path / "dump.json", [OLD], objects)


def run(*words, **options):
    return auditor("upgrade", *words, "--jobs", "1", **options)


def test_the_summary_begins_with_the_answer_and_names_everything(cluster, tmp_path):
    report = tmp_path / "out"
    done = run(cluster, "--new-crds", write_crds(tmp_path / "new.json", NEW), "--report", report)
    assert done.code == 1, done.output
    lines = done.output.splitlines()
    assert lines[0] == (
        "blocks, because of things.example.com (the server refuses the definition; 1 object loses stored data (spec.b))"
    )
    assert "things.example.com is refused: status.storedVersions[0]: Invalid value" in done.output
    text = auditor("changes", report).output
    assert "version v1alpha1 is removed; 1 object is stored as it" in text
    assert "plan for things.example.com: there is none: 1 object would lose stored data" in text
    assert "kubectl patch" not in text
    assert "last written by kubectl-edit at 2026-03-04T05:06:07Z" in text
    assert "spec.a: Too long: may not be more than 3 bytes" in text
    assert f"auditor show {report} /registry/example.com/things/default/long" in text
    assert 'spec.a: nothing -> "x"' in text
    assert json.loads((report / "manifest.json").read_text())["upgrade"]["decision"] == "blocks"


def test_what_helm_prints_is_read_from_standard_input(cluster, tmp_path):
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "values"}, "data": {"a": "b"}}
    text = "---\n# Source: chart/templates/config.yaml\n" + yaml.safe_dump(other)
    text += "---\n# Source: chart/crds/empty.yaml\n---\n# Source: chart/crds/things.yaml\n" + yaml.safe_dump(NEW)
    report = tmp_path / "out"
    done = run(cluster, "--new-crds", "-", "--report", report, "--fail-on", "never", stdin=text)
    assert done.code == 0, done.output
    section = json.loads((report / "manifest.json").read_text())["upgrade"]
    assert [one["name"] for one in section["definitions"]] == ["things.example.com"]
    assert section["definitions"][0]["categories"]["data-loss"] == 1


def test_old_definitions_for_exports(tmp_path):
    export = tmp_path / "export.json"
    export.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [thing("a", {"a": "long", "b": "x"})]}))
    done = run(export, "--old-crds", write_crds(tmp_path / "old.json", OLD), "--new-crds",
               write_crds(tmp_path / "new.json", NEW), "--report", tmp_path / "out")  # fmt: skip
    assert done.code == 1, done.output
    assert "an export does not show" in done.output
    text = auditor("changes", tmp_path / "out").output
    assert "auditor show" in text
    assert "default/a" in text
    definitions = json.loads((tmp_path / "out" / "manifest.json").read_text())["definitions"]
    assert definitions["from_files"] == ["things.example.com"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--new-crds", "nothing"], "no such file"),
        (["--new-crds", "empty.json"], "no definition found"),
        (["--new-crds", "new.json", "--assume-format", "x"], "--assume-format"),
    ],
)
def test_usage_errors_say_what_is_wrong(cluster, tmp_path, monkeypatch, words, text):
    monkeypatch.chdir(tmp_path)
    write_crds(tmp_path / "new.json", NEW)
    write_crds(tmp_path / "empty.json")
    done = run(cluster, *words, "--report", "out")
    assert done.code == 2
    assert text in done.stderr
    assert not (tmp_path / "out").exists()


def test_standard_input_is_only_one_thing(tmp_path):
    done = run("-", "--new-crds", "-", "--report", tmp_path / "out")
    assert done.code == 2
    assert "standard input is named more than once" in done.stderr


def test_help_has_examples():
    done = auditor("upgrade", "-h")
    assert "helm template" in done.output
    assert "--assume-format" in done.output


def test_the_sample_of_the_guide(tmp_path):
    sample = Path(__file__).resolve().parents[2] / "sample-data"
    done = run(sample / "cluster.db.gz", "--new-crds", sample / "next-crds.yaml", "--report", "out/upgrade",
               "--assume-format", "dns1123subdomain=dns1123subdomain", cwd=tmp_path)  # fmt: skip
    assert done.code == 1
    readme = (sample.parent / "docs" / "guide" / "before-an-upgrade.md").read_text()
    for line in done.output.splitlines():
        assert line in readme
