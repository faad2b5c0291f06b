"""`--kubernetes`: commands answer as the release that was asked for, and say so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
import pyarrow.parquet as pq
import pytest

import auditor as library
from auditor.releases import DEFAULT, active
from pipelines.cli.main import cli
from tests.command import auditor
from tests.documents import definition_of
from tests.pipelines.nights.support import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.command import Ended

FIELDS = {"l": {"type": "array", "minItems": 2, "items": {"type": "string"}}, "b": {"type": "string", "format": "byte"}}
RULE = {"rule": "!has(self.b) || size(self.b) == 3"}
SPEC = {"type": "object", "properties": FIELDS, "x-kubernetes-validations": [RULE]}
DEFINITION = definition_of({"type": "object", "properties": {"spec": SPEC}})
COSTLY = {
    "type": "string",
    "maxLength": 1000,
    "x-kubernetes-validations": [{"rule": "url(self).getHost().matches('^[a-z.]+$')"}],
}
OLD_TEXT = "spec.l: Invalid value: 1: spec.l in body should have at least 2 items"
NEW_TEXT = "spec.l: Too few: 1: must have at least 2 items"


def thing(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "uid": name, "generation": 1, "resourceVersion": "1"}
    return {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata, "spec": spec}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.ndjson"
    things = [thing("few", l=["a"]), *(thing(f"b-{number}", b="+/+/") for number in range(90))]
    path.write_text("\n".join(map(json.dumps, [DEFINITION, *things])))
    return path


def run(*words: Any, expect: int = 0) -> Ended:
    done = auditor(*words)
    assert done.code == expect, done.output
    return done


def refused(*words: Any) -> str:
    """Return why a call is refused as a usage error."""
    return run(*words, expect=2).stderr


def audit(dump: Path, *words: Any) -> tuple[str, dict[str, Any], list[str]]:
    """Return what an audit prints, its manifest, and the messages of its findings."""
    report = dump.parent / "report"
    shown = run("audit", dump, "--report", report, "--force", "--fail-on", "never", *words).stdout
    manifest = json.loads((report / "manifest.json").read_text())
    found = pq.read_table(report / "findings")
    kept = zip(found["request"].to_pylist(), found["message"].to_pylist(), strict=True)
    return shown, manifest, sorted(message for request, message in kept if request == "create")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_audit_judges_as_the_release_and_names_it(dump: Path, jobs: int) -> None:
    engine = ("--engine", "processes", "--jobs", jobs)
    shown, manifest, messages = audit(dump, *engine)
    assert "Kubernetes" not in shown
    assert manifest["kubernetes_release"] == DEFAULT.version == "v1.37.2"
    assert OLD_TEXT in messages
    assert len(messages) == 91, "90 values of + and / that the alphabet for URLs does not have"
    shown, manifest, messages = audit(dump, "--kubernetes", "1.38", *engine)
    assert " · Kubernetes v1.38.0-alpha.2 · " in shown.splitlines()[1]
    assert manifest["kubernetes_release"] == "v1.38.0-alpha.2"
    assert messages == [NEW_TEXT]
    assert active() is DEFAULT


def test_the_tables_name_the_release(dump: Path) -> None:
    audit(dump, "--kubernetes", "v1.38.0-alpha.2")
    for table in ("objects", "findings"):
        (part,) = (dump.parent / "report" / table).glob("*.parquet")
        assert pq.read_schema(part).metadata[b"auditor.kubernetes_release"] == b"v1.38.0-alpha.2"


def test_each_cluster_of_a_fleet_has_its_release(dump: Path) -> None:
    fleet = dump.parent / "fleet.yaml"
    fleet.write_text(
        f"clusters:\n- {{name: old, dump: {dump}}}\n- {{name: new, dump: {dump}, kubernetes: '1.38'}}\n"
        f"- {{name: also, dump: {dump}, kubernetes: '1.37'}}\n"
    )
    report = dump.parent / "report"
    for jobs in (1, 2):
        run("audit", "--fleet", fleet, "--report", report, "--force", "--fail-on", "never", "--jobs", jobs)
        manifest = json.loads((report / "manifest.json").read_text())
        assert manifest["kubernetes_release"] == "v1.37.2, v1.38.0-alpha.2"
        assert [one["kubernetes_release"] for one in manifest["clusters"]] == ["v1.37.2", "v1.38.0-alpha.2", "v1.37.2"]
        rows = pq.read_table(report / "findings").to_pylist()
        messages = {
            name: sorted({one["message"] for one in rows if one["cluster"] == name and one["request"] == "create"})
            for name in ("old", "new", "also")
        }
        assert messages["new"] == [NEW_TEXT]
        assert OLD_TEXT in messages["old"]
        assert messages["old"] == messages["also"]
    fleet.write_text(f"clusters:\n- {{name: a, dump: {dump}, kubernetes: '1.2'}}\n")
    assert "'1.2' is not a release that is known" in refused("audit", "--fleet", fleet, "--report", report, "--force")


def test_manifests_and_definitions_are_checked_as_the_release(tmp_path: Path) -> None:
    crds, manifest, costly = tmp_path / "crds.json", tmp_path / "m.json", tmp_path / "costly.json"
    crds.write_text(json.dumps(DEFINITION))
    manifest.write_text(json.dumps(thing("few", l=["a"])))
    costly.write_text(json.dumps(definition_of({"type": "object", "properties": {"u": COSTLY}})))
    assert OLD_TEXT in run("validate", "--crds", crds, manifest, expect=1).stdout
    assert NEW_TEXT in run("validate", "--crds", crds, "--kubernetes", "1.38", manifest, expect=1).stdout
    assert "exceeds budget" in run("crds", "check", costly, expect=1).stdout
    assert "exceeds budget" not in run("crds", "check", costly, "--kubernetes", "1.38").stdout


def test_a_key_is_shown_as_the_release_of_its_report(dump: Path) -> None:
    audit(dump, "--kubernetes", "1.38")
    report = dump.parent / "report"
    assert NEW_TEXT in run("show", report, "n/few", "--dump", dump).stdout
    assert NEW_TEXT in run("show", dump, "n/few", "--kubernetes", "1.38").stdout
    assert OLD_TEXT in run("show", dump, "n/few").stdout
    said = refused("show", report, "n/few", "--kubernetes", "1.37")
    assert "the report was made as Kubernetes v1.38.0-alpha.2" in said


INCLUDING = ("--where", "has(self.spec.l) && [self.spec.l].includes(['a'])", "-o", "name")


def test_a_dump_is_queried_as_the_release(dump: Path) -> None:
    assert run("query", dump, "xs", *INCLUDING).stdout == "x.x.example.com/few\n"
    old = auditor("query", str(dump), "xs", *INCLUDING, "--kubernetes", "1.36")
    assert "undeclared reference to 'includes'" in old.stderr
    config = dump.parent / "auditor.yaml"
    config.write_text("query:\n  kubernetes: '1.36'\n")
    old = auditor("--config", str(config), "query", str(dump), "xs", *INCLUDING)
    assert "undeclared reference to 'includes'" in old.stderr


def test_a_report_is_queried_as_the_release_that_it_was_made_as(dump: Path) -> None:
    fleet, report = dump.parent / "fleet.yaml", dump.parent / "report"
    named = ("a", "1.36"), ("b", "1.37")
    fleet.write_text("clusters:\n" + "".join(f"- {{name: {a}, dump: {dump}, kubernetes: '{b}'}}\n" for a, b in named))
    run("audit", "--fleet", fleet, "--report", report, "--fail-on", "never")
    one = run("query", report, "xs", "--cluster", "b", *INCLUDING)
    assert (one.stdout, "note" in one.stderr) == ("x.x.example.com/few\n", False)
    assert "made as Kubernetes v1.37.2" in refused("query", report, "xs", "--cluster", "b", "--kubernetes", "1.36")
    old = auditor("query", str(report), "xs", "--cluster", "a", *INCLUDING)
    assert "undeclared reference to 'includes'" in old.stderr
    both = run("query", report, "xs", *INCLUDING).stderr
    assert "clusters were audited as Kubernetes v1.36.6, v1.37.2; their objects are read as v1.37.2" in both


def test_two_reports_have_their_own_releases(dump: Path) -> None:
    audit(dump)
    report = dump.parent / "report"
    done = auditor("diff", str(report), str(report), "--kubernetes", "1.36")
    assert (done.code, "the report was made as Kubernetes v1.37.2" in done.output) == (2, True)


def test_a_configuration_names_the_release(dump: Path) -> None:
    config = dump.parent / "auditor.yaml"
    config.write_text("audit:\n  kubernetes: '1.38'\n")
    report = dump.parent / "report"
    words = ("--config", config, "audit", dump, "--report", report, "--force", "--fail-on", "never")
    assert "Kubernetes v1.38.0-alpha.2" in run(*words).stdout


def pod(image: str) -> bytes:
    """Return a pod as etcd holds it, as far as it matters here: Protobuf, with the image in it."""
    return (
        b"k8s\0\n\t\n\x02v1\x12\x03Pod\x12@\n\x0ekube-apiserver\x12" + bytes([len(image)]) + image.encode() + b"\x1a\0"
    )


@pytest.mark.parametrize(
    ("images", "words", "said"),
    [
        (["registry.k8s.io/kube-apiserver:v1.35.2"], (), "API server was v1.35.2 (image of"),
        (
            ["registry.k8s.io/kube-apiserver:v1.34.1", "r/kube-apiserver:v1.36.0-rc.1"],
            (),
            "API server was v1.36.0-rc.1",
        ),
        (["registry.k8s.io/kube-apiserver:v1.37.9"], (), ""),
        (["registry.k8s.io/kube-apiserver:v1.38.0"], ("--kubernetes", "1.38"), ""),
        (["registry.k8s.io/kube-proxy:v1.35.2", "mine/kube-apiserver:latest"], (), ""),
        ([], (), ""),
    ],
)
def test_the_release_that_a_snapshot_shows_is_named(
    tmp_path: Path, images: list[str], words: tuple[str, ...], said: str
) -> None:
    store = Store(DEFINITION, thing("well", b="aGlq"))
    for number, image in enumerate(images):
        store.put(pod(image), f"/registry/pods/kube-system/kube-apiserver-cp{number}")
    store.put(pod("registry.k8s.io/kube-apiserver:v1.20.0"), "/registry/pods/other/kube-apiserver-cp0")
    store.write(tmp_path / "dump.json", "etcdctl")
    shown, manifest, _ = audit(tmp_path / "dump.json", *words)
    one = " ".join(shown.split())
    assert ("API server was" in one, said in one) == (bool(said), True)
    assert "give --kubernetes (auditor releases lists them)" in one or not said
    if said:
        assert manifest["server"]["key"].startswith("/registry/pods/kube-system/kube-apiserver-cp")
    fleet = tmp_path / "fleet.yaml"
    lines = [f"- {{name: {name}, dump: {tmp_path / 'dump.json'}}}\n" for name in ("west", "east")]
    fleet.write_text("clusters:\n" + "".join(lines))
    report = tmp_path / "fleet-report"
    shown = run("audit", "--fleet", fleet, "--report", report, "--fail-on", "never", *words).stdout
    assert ("API server of west was" in " ".join(shown.split())) == bool(said)


RELEASE_DOES_NOT_MATTER = {
    "accept": "it writes an entry for a cause of a report",
    "changes": "it prints a report, which names its release",
    "completion": "it prints a script for a shell",
    "crds export": "it prints definitions as they are stored",
    "events": "it prints a built-in kind, decoded by the types of the default release",
    "findings": "it prints a report, which names its release",
    "gates check": "it checks sidecars of gates, which are not part of Kubernetes",
    "gates list": "gates of fields are not part of Kubernetes",
    "gates simulate": "gates of fields are not part of Kubernetes",
    "kinds": "it counts objects as they are stored; it checks nothing",
    "releases": "it takes two releases as arguments",
    "report": "it prints a report, which names its release",
    "sources": "it says what a dump is and whether it is whole; it decodes no objects",
    "summary": "it prints a report, which names its release",
    "trend": "it prints numbers of earlier audits",
    "version": "it names the default release",
}


def commands(group: click.Group, *before: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *before, name)
        else:
            yield " ".join((*before, name)), command


def test_each_command_takes_the_release_or_does_not_depend_on_it() -> None:
    takes = {name: any("--kubernetes" in one.opts for one in command.params) for name, command in commands(cli)}
    assert {name for name, is_there in takes.items() if not is_there} == set(RELEASE_DOES_NOT_MATTER)
    assert {name for name, is_there in takes.items() if is_there} == TAKING


TAKING = {
    "audit",
    "crds check",
    "crds diff",
    "diff",
    "explain",
    "history",
    "query",
    "refs",
    "show",
    "sql",
    "tables",
    "upgrade",
    "validate",
}


@pytest.mark.parametrize("command", sorted(TAKING))
def test_a_release_that_is_not_reproduced_is_a_usage_error(command: str) -> None:
    assert "'1.31' is not a release that is known; expected one of " in refused(
        *command.split(), "--kubernetes", "1.31", "x", "y"
    )


def test_a_gate_that_is_gone_is_refused(dump: Path) -> None:
    words = ("audit", dump, "--report", dump.parent / "r", "--feature-gates", "CRDValidationRatcheting=false")
    shown = " ".join(run(*words, "--fail-on", "never").stdout.split())
    assert "NOTE judged with CRDValidationRatcheting=false, as servers before 1.33 can be started" in shown
    assert "is not a feature gate since Kubernetes 1.38" in refused(*words, "--force", "--kubernetes", "1.38")


def test_the_releases_and_what_changes_between_them_are_listed() -> None:
    shown = run("releases").stdout
    assert "1.37      v1.37.2           reproduced; the default" in shown
    assert "1.38      v1.38.0-alpha.2   reproduced; pre-release: only by its name" in shown
    assert json.loads(run("releases", "-o", "json").stdout)[-1]["name"] == "1.38"
    changed = run("releases", "1.37", "1.38").stdout
    assert "STORED OBJECTS\nstandard-base64 (1.38)\n  now:    values of format byte" in changed
    assert max(map(len, changed.splitlines())) <= 80
    rows = json.loads(run("releases", "1.38", "1.37", "-o", "json").stdout)
    assert {"too-few", "exact-quantities"} <= {row["name"] for row in rows}
    assert all(row["source"] and row["now"] != row["before"] for row in rows)
    assert run("releases", "1.37", "1.37").stdout == "Kubernetes v1.37.2 to v1.37.2: 0 changes\n"
    assert auditor("releases", "1.37").code == 2
    assert "'1.20' is not a release that is known" in refused("releases", "1.37", "1.20")


def test_the_python_api_answers_as_the_release() -> None:
    catalog = library.CrdCatalog.from_documents([DEFINITION])
    data = json.dumps(thing("few", l=["a"])).encode()
    for _ in range(2):
        assert [one.message for one in library.audit_object(catalog, data).findings] == [OLD_TEXT]
        with library.running_as("1.38"):
            assert [one.message for one in library.audit_object(catalog, data).findings] == [NEW_TEXT]
