"""The commands around an upgrade: two hops, files of the plan, formats, and definitions given back."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.command import auditor
from tests.upgrade.server.judge import answers, dump_of
from tests.upgrade.server.pairs import PAIRS, WEBHOOK, crd, version, widget
from tests.upgrade.support import crd as thing_crd
from tests.upgrade.support import spec, string, write_crds
from tests.upgrade.support import version as thing_version

ANSWERS = answers()
BY_NAME = {pair.name: pair for pair in PAIRS}


def run(*words, code=None):
    done = auditor(*words)
    assert code is None or done.code == code, done.output
    return done


@pytest.fixture
def cluster(tmp_path):
    """A cluster that stores v1, upgraded to a release that has v2 alone."""
    pair = BY_NAME["nothing-in-common"]
    dump = dump_of(ANSWERS[pair.name], tmp_path / "dump.json")
    (tmp_path / "new.json").write_text(json.dumps(pair.new_document))
    between = pair.document(crd(version("v1", storage=False), version("v2")))
    (tmp_path / "between.json").write_text(json.dumps(between))
    return dump


def test_without_a_version_in_common_the_release_between_is_named(cluster, tmp_path):
    done = run("upgrade", cluster, "--new-crds", tmp_path / "new.json", "--report", tmp_path / "r", "--jobs", 1, code=1)
    assert "needs a release that serves both v1 and v2 and stores v2" in done.output
    assert "kubectl patch" not in (tmp_path / "r" / "manifest.json").read_text()


def test_two_hops_have_a_plan_of_both(cluster, tmp_path):
    words = ("--via", tmp_path / "between.json", "--plan", tmp_path / "plan.json", "--jobs", 1)
    done = run("upgrade", cluster, "--new-crds", tmp_path / "new.json", "--report", tmp_path / "r", *words, code=1)
    assert done.output.startswith("safe after the steps for widgets.nothing-in-common.acme.io")
    assert f"first hop ({tmp_path / 'between.json'}): safe" in done.output.split("\n")[1]
    plan = json.loads((tmp_path / "plan.json").read_text())
    steps = [step["do"] for one in plan["definitions"] for step in one["steps"]]
    assert steps == ["apply", "check", "rewrite", "managed-fields", "stored-versions", "apply", "check"]
    script = (tmp_path / "plan.sh").read_text()
    assert script.index("widgets.v2.nothing-in-common.acme.io") < script.index('{"status":{"storedVersions":["v2"]}}')
    assert subprocess.run(["sh", "-n", tmp_path / "plan.sh"], check=False).returncode == 0


def test_a_first_hop_that_is_refused_blocks_both(cluster, tmp_path):
    words = ("--via", tmp_path / "new.json", "--jobs", 1)
    done = run("upgrade", cluster, "--new-crds", tmp_path / "new.json", "--report", tmp_path / "r", *words, code=1)
    assert done.output.startswith("blocks, because of widgets.nothing-in-common.acme.io, first hop (the server refuses")


@pytest.mark.parametrize("output", ["json", "ndjson", "markdown", ""])
def test_formats_say_the_same_of_the_scan_and_of_its_report(cluster, tmp_path, output):
    chosen = ("-o", output) if output else ()
    words = ("--report", tmp_path / "r", "--jobs", 1, *chosen)
    shown = run("upgrade", cluster, "--new-crds", tmp_path / "new.json", *words, code=1).output
    again = run("changes", tmp_path / "r", "widget", *chosen, code=0).output
    assert "the server refuses the definition" in shown
    assert "the server refuses the definition" in again
    if output == "json":
        causes = [cause for cause in json.loads(shown)["causes"] if cause["impact"] == "upgrade"]
        assert causes == json.loads(again)["causes"]
        assert json.loads(shown)["upgrade"]["decision"] == "blocks"
    elif output == "ndjson":
        ids = [{json.loads(line)["cause"] for line in text.splitlines()} for text in (shown, again)]
        assert ids[0] > ids[1]
    elif not output:
        assert len(shown.splitlines()) <= 40
        assert again.splitlines()[0].startswith("DEFINITION")
        assert run("changes", tmp_path / "r", code=0).output.splitlines()[0] == shown.splitlines()[0]


def test_changes_of_an_unknown_kind_and_of_no_report_are_refused(cluster, tmp_path):
    run("upgrade", cluster, "--new-crds", tmp_path / "new.json", "--report", tmp_path / "r", "--jobs", 1)
    assert "concerns no such kind" in run("changes", tmp_path / "r", "gadget", code=2).stderr
    assert "is not a report" in run("changes", tmp_path, code=2).stderr


def test_many_definitions_have_one_line_each_and_those_that_block_come_first(tmp_path):
    names = [f"thing{number}s" for number in range(30)]
    old = [thing_crd(thing_version(spec(a=string())), stored=["v1"], plural=name, kind=name.title()) for name in names]
    new = [
        thing_crd(thing_version(spec(a=string()), "v2" if number % 2 else "v1", served=number > 20), plural=name,
                  kind=name.title())
        for number, name in enumerate(names)
    ]  # fmt: skip
    from tests.upgrade.support import thing, write_dump

    dump = write_dump(tmp_path / "d.json", [*old, thing_crd(thing_version(spec()), stored=["v1"])], [thing("a", {})])
    shown = run(
        "upgrade", dump, "--new-crds", write_crds(tmp_path / "n.json", *new), "--report", tmp_path / "r", "--jobs", 1
    )
    lines = shown.output.rstrip("\n").split("\n")
    assert len(lines) <= 40
    assert "HIGH 15 causes" in shown.output, shown.output
    assert sum("the server refuses the definition" in line for line in lines[1:]) > 5


def test_export_gives_back_what_was_applied(tmp_path):
    pair = BY_NAME["columns-changed"]
    dump = dump_of(ANSWERS[pair.name], tmp_path / "dump.json")
    shown = run("crds", "export", dump, code=0).output
    [made] = yaml.safe_load_all(shown)
    assert made == {**pair.old_document, "spec": {**pair.old_document["spec"], "conversion": {"strategy": "None"}}}
    assert "status" not in made
    queried = run("query", dump, "crd", "-o", "json", code=0).output
    assert json.loads(queried)["items"][0]["apiVersion"] == "apiextensions.k8s.io/v1"
    assert "no definition x" in run("crds", "export", dump, "--name", "x", code=2).stderr


def test_definitions_of_a_dump_are_old_and_new_ones(tmp_path):
    pair = BY_NAME["scope-changed"]
    dump = dump_of(ANSWERS[pair.name], tmp_path / "dump.json")
    (tmp_path / "new.json").write_text(json.dumps(pair.new_document))
    done = run("crds", "check", "--old", dump, tmp_path / "new.json", code=1)
    assert "spec.scope: Invalid value" in done.output
    done = run("upgrade", dump, "--new-crds", dump, "--report", tmp_path / "r", "--jobs", 1, code=0)
    assert done.output.startswith("safe")


def test_a_definition_in_v1beta1_is_one_line(tmp_path):
    document = {**BY_NAME["same"].new_document, "apiVersion": "apiextensions.k8s.io/v1beta1"}
    (tmp_path / "crd.json").write_text(json.dumps(document))
    done = run("crds", "check", tmp_path / "crd.json", code=1)
    lines = [line for line in done.output.splitlines() if "refused" in line]
    assert lines[0] == (
        "widgets.same.acme.io: refused: apiextensions.k8s.io/v1beta1 is not served since Kubernetes 1.22"
    )


def test_names_that_another_definition_has_are_never_served(tmp_path):
    old = thing_crd(thing_version(spec(a=string())), stored=["v1"])
    taken = thing_crd(thing_version(spec(a=string())), plural="others", kind="Thing")
    from tests.upgrade.support import thing, write_dump

    dump = write_dump(tmp_path / "d.json", [old], [thing("a", {})])
    done = run(
        "upgrade", dump, "--new-crds", write_crds(tmp_path / "n.json", taken), "--report", tmp_path / "r", "--jobs", 1
    )
    assert done.code == 1
    assert 'the server never serves it: "thing" is already in use; "Thing" is already in use' in done.output


def test_an_export_at_a_version_that_goes_is_judged_at_one_that_remains(tmp_path):
    old = crd(version("v1alpha2", storage=False), version("v1beta1"))
    new = crd(version("v1beta1", storage=False), version("v1"))
    done, manifest = exported(tmp_path, old, new)
    assert done.output.startswith(
        "attention: widgets.same.acme.io (v1alpha2 is removed: requests for it get 404; an export"
    )
    assert manifest["counts"]["statuses"].get("unreadable", 0) == 0
    assert manifest["counts"]["statuses"]["valid"] == 1


def test_an_export_that_only_a_webhook_could_convert_is_not_judged(tmp_path):
    old = crd(version("v1alpha2", storage=False), version("v1"), conversion=WEBHOOK)
    done, manifest = exported(tmp_path, old, crd(version("v1")))
    assert done.output.startswith("attention: ")
    assert "an export does not show the stored version" in run("changes", tmp_path / "r", code=0).output
    assert "breaks-list" not in json.dumps(manifest["counts"])


def exported(folder, old, new):
    pair = BY_NAME["same"]
    for name, body in (("old", old), ("new", new)):
        (folder / f"{name}.json").write_text(json.dumps(pair.document(body)))
    one = {**widget(at="v1alpha2"), "kind": "Widget", "apiVersion": f"{pair.group}/v1alpha2"}
    one["metadata"] = {"name": one.pop("name"), "namespace": "default"}
    del one["at"]
    Path(folder / "export.json").write_text(json.dumps(one))
    words = (
        "--old-crds",
        folder / "old.json",
        "--new-crds",
        folder / "new.json",
        "--report",
        folder / "r",
        "--jobs",
        1,
    )
    done = run("upgrade", folder / "export.json", *words, code=1)
    return done, json.loads((folder / "r" / "manifest.json").read_text())
