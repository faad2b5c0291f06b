"""Each format of `audit`, `upgrade`, `validate` and `report`: printed, written, beside others, and refused with why."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

from auditor.output.formats.registry import FORMATS, formats_of, own_forms
from auditor.output.views.data import SCHEMA
from tests.causes.reports import definition, export, widget
from tests.command import Ended, auditor

COMMANDS = ("audit", "upgrade", "validate", "report")
EVERY = ("text", "table", "wide", "yaml", *FORMATS)
HAS = {
    "audit": {*FORMATS},
    "upgrade": {*FORMATS},
    "validate": {*FORMATS, "table", "text", "wide", "yaml"},
    "report": {*FORMATS},
}
"""The table of formats, said once more."""
WHY = {
    **dict.fromkeys(("wide", "yaml", "text"), "only `auditor validate` and `auditor crds diff` have it"),
    "table": "the summary is printed without -o",
}
BEGINS = {
    "text": "m.yaml:7: invalid: Widget.example.com team/a: spec.size: ",
    "json": '{\n  "schema": "auditor/findings/v1"',
    "ndjson": '{"cluster":"',
    "html": "<!DOCTYPE html>",
    "sarif": "{",
    "junit": "<?xml",
    "codequality": "[",
    "github": "::",
    "github-summary": "**",
    "markdown": "**",
    "csv": "cluster,group,kind,",
    "prometheus": "# HELP auditor_run_success ",
    "openreports": '---\n{"apiVersion": "openreports.io/v1alpha1", "kind": "Report"',
}
OWN = {
    ("validate", "table"): "FILE  ",
    ("validate", "wide"): "FILE  ",
    ("validate", "yaml"): "- file: m.yaml",
    ("validate", "json"): r'\[\n  \{\n    "file": "m.yaml"',
    ("validate", "ndjson"): r'\{"file":"m.yaml"',
}
"""How the answer of a command itself begins."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Dumps, a definition that is narrower, a manifest, and a report."""
    made = tmp_path_factory.mktemp("given")
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    export(made / "dump.ndjson", crd, widget("a", {"size": 9}))
    export(made / "valid.ndjson", crd, widget("a", {"size": 5}))
    (made / "new.json").write_text(json.dumps(definition({"size": {"type": "integer", "maximum": 4}})))
    (made / "crd.json").write_text(json.dumps(crd))
    text = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\n  namespace: team\nspec:\n  size: 9\n"
    (made / "m.yaml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        run("audit")
        (made / "out").rename(made / "stored")
        yield made


@pytest.fixture(scope="module")
def plain(folder: Any) -> dict[str, str]:
    """Return what each command prints when no format is asked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        asked = {command: ("-o", "csv=other.out") if command == "report" else () for command in COMMANDS}
        return {command: run(command, *words).stdout for command, words in asked.items()}


@pytest.fixture(autouse=True)
def _inside(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def run(command: str, *words: str) -> Ended:
    """Run a command over what was given."""
    given = {
        "audit": ("dump.ndjson", "--report", "out", "--force", "--jobs", "1", "-q", "--fail-on", "never"),
        "upgrade": ("valid.ndjson", "--new-crds", "new.json", "--report", "out", "--force", "--jobs", "1"),
        "validate": ("m.yaml", "--crds", "crd.json"),
        "report": ("stored",),
    }
    return auditor(command, *given[command], *words)


def begins(command: str, name: str, text: str) -> bool:
    """Return whether a text is what a command has under the name of a format."""
    if name in own_forms(command) and (command, name) in OWN:
        return re.match(OWN[command, name], text) is not None
    if command == "upgrade":  # what it does to definitions is a problem of the cluster, and comes first
        text = text.replace('"kind": "Cluster', '"kind": "', 1)
    return text.startswith(BEGINS[name])


def timeless(text: str) -> str:
    """Return a text without what two runs differ in: times and durations."""
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?", "TIME", text)
    text = re.sub(r"(?m)^(auditor_[a-z_]*(?:seconds)(?:\{.*\})?) .*$", r"\1 N", text)
    return re.sub(r'("seconds": |"nanos": |time="|\b)[\d.]+(e-\d+)?( s\b|(?=[,}"\s]))', "N", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_table_of_formats_is_the_only_one(command: str) -> None:
    assert set(formats_of(command)) == HAS[command]
    shown = auditor(command, "--help").output
    (option,) = re.findall(r"-o, --output .*(?:\n {10,}.*)*", shown)
    assert [name for name in formats_of(command) if not re.search(rf"\b{name}\b", re.sub(r"-\n +", "-", option))] == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_format_is_printed_and_written_alike(command: str, name: str, folder: Any, plain: dict[str, str]) -> None:
    printed, written = run(command, "-o", name), run(command, "-o", f"{name}=file.out")
    if name not in HAS[command]:
        for done in (printed, written):
            assert done.code == 2
            assert f"'{name}' is no format of this command: " in done.stderr
            assert WHY[name] in done.stderr
        assert not (folder / "file.out").exists()
        return
    assert printed.code == written.code == (1 if command in ("upgrade", "validate") else 0), printed.output
    text = (folder / "file.out").read_text()
    (folder / "file.out").unlink()
    assert begins(command, name, printed.stdout), printed.stdout[:200]
    assert timeless(text) == timeless(printed.stdout)
    assert timeless(written.stdout) == timeless(plain[command]), "a file changes nothing that is printed"


@pytest.mark.parametrize("command", COMMANDS)
def test_all_formats_are_written_at_once(command: str, folder: Any) -> None:
    names = formats_of(command)
    done = run(command, *(word for name in names for word in ("-o", f"{name}={folder}/all/{name}")))
    assert done.code == (1 if command in ("upgrade", "validate") else 0), done.output
    assert sorted(path.name for path in (folder / "all").iterdir()) == sorted(names)
    for name in names:
        assert begins(command, name, (folder / "all" / name).read_text()), name
        (folder / "all" / name).unlink()


@pytest.mark.parametrize("command", ["audit", "report"])
def test_json_is_that_of_the_summary_and_has_its_schema(command: str) -> None:
    found = json.loads(run(command, "-o", "json").stdout)
    jsonschema.validate(found, json.loads(SCHEMA.read_bytes()))
    report = "stored" if command == "report" else "out"
    assert found == json.loads(auditor("summary", report, "-o", "json").stdout)


def test_metrics_and_policy_reports_of_manifests_speak_of_no_stored_keys() -> None:
    for name in ("prometheus", "openreports"):
        stored, manifests = run("report", "-o", name).stdout, run("validate", "-o", name).stdout
        assert [words in stored for words in ("auditor_unread_keys ", '"stored objects"')].count(True) == 1
        assert "auditor_unread_keys" not in manifests
        assert "stored objects" not in manifests


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_format_lists_those_of_the_command(command: str) -> None:
    done = run(command, "-o", "nope")
    assert done.code == 2
    assert f"one of {', '.join(formats_of(command))}" in done.stderr
