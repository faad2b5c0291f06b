"""`auditor validate` on the command line: lines, summary, exit codes, options."""

from __future__ import annotations

import json
import re
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from auditor.updates.create import CreateJudge
from pipelines.run import validate as run
from tests.command import auditor
from tests.documents import definition_of
from tests.updates.create_cases import DEFINITIONS

if TYPE_CHECKING:
    from pathlib import Path

GEAR = "apiVersion: create.example.com/v1\nkind: Gear\nmetadata:\n  name: {name}\n{more}spec:\n  size: 1\n"
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {}
  template:
    spec:
      containers:
      - name: a
        ports:
        - containerPort: "80"
"""


OF_CAUSES = re.compile(r"(HIGH|LOW) \d+ causes?$|  [0-9a-f]{8}  ")
OF_SUMS = re.compile(r"\d+ objects?: |builtin: |no object|unknown and")


@pytest.fixture
def crds(tmp_path: Path) -> Path:
    path = tmp_path / "crds.json"
    path.write_text("\n".join(map(json.dumps, DEFINITIONS)))
    return path


def validate(*words: Any) -> tuple[int, list[str], list[str]]:
    """Return exit code, what is said of objects, and the sums; lines about causes have tests of their own."""
    ended = auditor("validate", *words)
    out = [line for line in ended.output.splitlines() if line and not OF_CAUSES.match(line)]
    said = [line for line in out if OF_SUMS.match(line)]
    return ended.code, [line for line in out if line not in said], said


def gear(name: str = "a", more: str = "") -> str:
    return GEAR.format(name=name, more=more)


def test_each_cause_is_a_line_with_file_and_line(tmp_path: Path, crds: Path) -> None:
    folder = tmp_path / "m"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.yaml").write_text(
        gear() + "---\n# two\n" + gear("b") + "  colr: red\n---\n" + gear("c") + "  port: []\n"
    )
    (folder / "deep/two.yaml").write_text(DEPLOYMENT)
    (folder / "three.json").write_text('\n{"kind": "Gear",\n "metadata": {"name": "x"}}\n')
    code, lines, said = validate("--crds", crds, folder)
    assert code == 1
    assert [line.partition(": ")[0].removeprefix(f"{folder}/") for line in lines] == [
        "deep/two.yaml:11", "one.yaml:15", "one.yaml:23", "three.json:2"
    ]  # fmt: skip
    assert lines[1].endswith(
        'one.yaml:15: invalid: Gear.create.example.com default/b: strict decoding error: unknown field "spec.colr"'
    )
    assert "json: cannot unmarshal string into Go struct field ContainerPort" in lines[0]
    assert said == ["5 objects: 2 invalid, 2 unreadable, 1 valid"]


def test_the_namespace_is_that_of_the_context(tmp_path: Path, crds: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(gear() + "---\n" + gear("b", "  namespace: other\n"))
    found = [json.loads(line)["namespace"] for line in validate("--crds", crds, "-o", "ndjson", path)[1]]
    assert found == ["default", "other"]
    code, lines, _ = validate("--crds", crds, "-n", "shop", path)
    assert code == 1
    (line,) = lines
    assert line.startswith(f"{path}:12: invalid: ")
    assert 'the namespace from the provided object "other" does not match the namespace "shop"' in line
    path.write_text(gear())
    assert validate("--crds", crds, "-n", "shop", path)[0] == 0


@pytest.mark.parametrize(
    ("mode", "code", "shown"), [("Strict", 1, "invalid"), ("warn", 0, "warning"), ("Ignore", 0, None)]
)
def test_unknown_and_duplicate_fields_are_errors_warnings_or_nothing(
    tmp_path: Path, crds: Path, mode: str, code: int, shown: str | None
) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(
        gear() + "  size: 2\n  colr: red\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n"
    )
    got, lines, said = validate("--crds", crds, "--field-validation", mode, path)
    assert got == code
    assert [line for line in said if line.startswith("unknown and")] == [
        f"unknown and duplicate fields are no errors (--field-validation {mode.capitalize()})"
    ] * (mode != "Strict")
    texts = ['duplicate field "spec.size"', 'unknown field "spec.colr"', 'unknown field "dta"']
    assert [line.partition('d "')[2] for line in lines] == [text.partition('d "')[2] for text in texts if shown]
    assert [line.split(": ")[0:2] for line in lines] == [[f"{path}:{n}", shown] for n in (7, 8, 13) if shown]


def test_kinds_without_a_definition_are_errors_unless_they_are_ignored(tmp_path: Path, crds: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(gear() + "---\napiVersion: other.io/v1\nkind: Other\nmetadata: {name: c}\n")
    code, (line,), _ = validate("--crds", crds, path)
    assert code == 1
    assert line.startswith(
        f'{path}:8: orphaned: Other.other.io c: no matches for kind "Other" in version "other.io/v1"'
    )
    assert validate("--crds", crds, "--ignore-missing", path)[:2] == (0, [])
    path.write_text("apiVersion: create.example.com/v1alpha1\nkind: Gear\nmetadata: {name: a}\n")
    code, (line,), _ = validate("--crds", crds, "--ignore-missing", path)
    assert code == 1
    assert 'no matches for kind "Gear" in version "create.example.com/v1alpha1" (served: v1, v1beta1)' in line


def test_built_in_kinds_need_no_definition_and_are_said_not_to_be_validated(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(DEPLOYMENT.replace('"80"', "80"))
    code, lines, said = validate(path)
    assert (code, lines) == (0, [])
    assert said[0] == "1 object: 1 builtin"
    assert said[1].endswith("; the metadata of kinds that a server stores is validated, nothing else")


def test_definitions_are_checked_as_a_server_checks_them(tmp_path: Path) -> None:
    path = tmp_path / "crd.json"
    definition = json.loads(json.dumps(DEFINITIONS[0]))
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["type"] = "array"
    path.write_text(json.dumps(definition, indent=1))
    code, lines, _ = validate(path)
    assert code == 1
    assert any("spec.versions[0].schema.openAPIV3Schema.type: Invalid value" in line for line in lines)


def test_a_file_without_objects_is_reported(tmp_path: Path, crds: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("# nothing\n---\n")
    code, lines, said = validate("--crds", crds, path)
    assert (code, lines) == (1, [])
    assert said == ["0 objects: none", "no object found in what was given"]


def test_a_document_that_cannot_be_read_costs_itself_alone(tmp_path: Path, crds: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("kind: {{ .Values.x }}\n---\n" + gear() + "  colr: red\n")
    code, lines, _ = validate("--crds", crds, path)
    assert code == 1
    assert [line.split(": ")[0] for line in lines] == [f"{path}:1", f"{path}:9"]
    assert lines[0].endswith("(a template? render it first, for example with `helm template`)")


def test_exports_in_an_archive_have_no_lines(tmp_path: Path, crds: Path) -> None:
    one = tmp_path / "a.yaml"
    one.write_text(gear() + "  colr: red\n")
    archive = tmp_path / "m.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(one, "a.yaml")
    code, (line,), _ = validate("--crds", crds, archive)
    assert code == 1
    assert line.startswith(f"{archive}: invalid: Gear.create.example.com default/a: ")


def test_table_and_json_have_the_same(tmp_path: Path, crds: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(gear() + "  colr: red\n")
    _, (line,), _ = validate("--crds", crds, "-o", "ndjson", path)
    one = json.loads(line)
    assert {key: one[key] for key in ("file", "line", "group", "version", "kind", "namespace", "name", "status")} == {
        "file": str(path), "line": 1, "group": "create.example.com", "version": "v1", "kind": "Gear",
        "namespace": "default", "name": "a", "status": "invalid",
    }  # fmt: skip
    assert one["findings"] == [
        {
            "line": 7,
            "field": "spec.colr",
            "type": "UnknownField",
            "message": 'strict decoding error: unknown field "spec.colr"',
            "check": "strict-decoding",
        }
    ]
    _, (header, row), _ = validate("--crds", crds, "-o", "table", path)
    assert header.split() == ["FILE", "KIND", "NAMESPACE", "NAME", "STATUS", "REASON"]
    assert row.split()[:5] == [f"{path}:7", "Gear.create.example.com", "default", "a", "invalid"]


def test_the_end_has_the_causes_worst_first(tmp_path: Path, crds: Path) -> None:
    path = tmp_path / "m.yaml"
    bad = [f"{gear(f'a{number}')}  colr: red\n" for number in range(3)]
    path.write_text("---\n".join([*bad, gear("b", "  namespace: other\n"), gear("c").replace("Gear", "Cog")]))
    lines = auditor("validate", "--crds", crds, path).output.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("HIGH "))
    assert len(lines[:at]) == 4
    assert lines[at] == "HIGH 2 causes"
    assert re.fullmatch(r"  [0-9a-f]{8}  Gear  spec.colr: Unknown field +3 objects", lines[at + 1])
    assert re.fullmatch(r"  [0-9a-f]{8}  Cog   has no definition +1 object", lines[at + 2])
    assert lines[at + 3 :] == ["5 objects: 3 invalid, 1 orphaned, 1 valid"]
    warned = auditor("validate", "--crds", crds, "--field-validation", "Warn", path).output.splitlines()
    assert [line for line in warned if line.startswith(("HIGH ", "LOW "))] == ["HIGH 1 cause", "LOW 1 cause"]
    for output in ("json", "ndjson"):
        assert "HIGH " not in auditor("validate", "--crds", crds, "-o", output, path).output


def test_the_end_has_at_most_25_lines(tmp_path: Path, crds: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("---\n".join(f"{gear(f'a{number}')}  more{number}x: red\n" for number in range(40)))
    lines = auditor("validate", "--crds", crds, path).output.splitlines()
    end = lines[lines.index("HIGH 40 causes") :]
    assert len(end) <= 25
    assert end[-2:] == ["and 22 more causes: -o markdown=FILE lists them", "40 objects: 40 invalid"]
    assert len([line for line in end if re.match("  [0-9a-f]{8}  ", line)]) == 18


OF_DEFINITION = "warning: --crds: a server refuses to create the definition xs.x.example.com: "


def refused_by_server(name: str) -> tuple[dict[str, Any], str]:
    """Return a definition that a server refuses, and a part of its answer."""
    found = definition_of({"type": "object", "properties": {"size": {"type": "integer"}}})
    version = found["spec"]["versions"][0]
    if name == "rule":
        version["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": "self.missing > 1"}]
        return found, "undefined field 'missing'"
    if name == "no type":
        version["schema"]["openAPIV3Schema"]["properties"]["size"] = {"maximum": 3}
        return found, "must not be empty for specified object fields"
    if name == "no storage":
        version["storage"] = False
        return found, "must have exactly one version marked as storage version, and 1 more error"
    return {**found, "apiVersion": "apiextensions.k8s.io/v1beta1"}, "apiextensions.k8s.io/v1beta1"


@pytest.mark.parametrize("name", ["rule", "no type", "no storage", "v1beta1"])
def test_a_definition_that_a_server_refuses_is_a_warning(tmp_path: Path, name: str) -> None:
    definition, words = refused_by_server(name)
    crd, given = tmp_path / "crd.json", tmp_path / "x.json"
    crd.write_text(json.dumps(definition))
    given.write_text(json.dumps({"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"name": "a"}, "size": 1}))
    ended = auditor("validate", "--crds", crd, given)
    [warning] = [line for line in ended.stderr.splitlines() if line.startswith("warning: --crds: ")]
    assert (warning.startswith(OF_DEFINITION), words in warning) == (True, True), warning
    assert auditor("crds", "check", crd).code == 1


def test_a_definition_of_no_judged_object_is_not_checked(tmp_path: Path, crds: Path) -> None:
    (tmp_path / "crd.json").write_text(json.dumps(refused_by_server("rule")[0]))
    (tmp_path / "gear.yaml").write_text(gear())
    ended = auditor("validate", "--crds", crds, "--crds", tmp_path / "crd.json", tmp_path / "gear.yaml")
    assert (ended.code, "warning: --crds" in ended.stderr) == (0, False)


@pytest.mark.parametrize(
    "kind",
    [
        '"CustomResourceDefinition"',
        '"Custom\\u0052esourceDefinition"',
        '"Custom\\x52esourceDefinition"',
        '"Custom\\\n  ResourceDefinition"',
        "!!binary Q3VzdG9tUmVzb3VyY2VEZWZpbml0aW9u",
        "&kind CustomResourceDefinition",
    ],
)
def test_a_definition_among_manifests_is_found_however_its_kind_is_written(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "a.yaml").write_text("apiVersion: made.example.com/v1\nkind: Made\nmetadata: {name: a, namespace: d}\n")
    (folder / "z.yaml").write_text(
        f"kind: {kind}\napiVersion: apiextensions.k8s.io/v1\nmetadata: {{name: mades.made.example.com}}\n"
        "spec: {group: made.example.com, scope: Namespaced, names: {plural: mades, singular: made, kind: Made, "
        "listKind: MadeList}, versions: [{name: v1, served: true, storage: true, "
        "schema: {openAPIV3Schema: {type: object}}}]}\n"
    )
    assert auditor("validate", folder).code == 0


def test_manifests_are_decoded_one_after_another(tmp_path: Path, crds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    read, judged = run.placed_documents, CreateJudge.judge
    monkeypatch.setattr(run, "placed_documents", lambda data: order.append("read") or read(data))
    monkeypatch.setattr(CreateJudge, "judge", lambda *words: order.append("judged") or judged(*words))
    folder = tmp_path / "all"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.json").write_text(
            f'{{"apiVersion": "v1", "kind": "Thing", "metadata": {{"n": {number}}}}}'
        )
    auditor("validate", folder, "--crds", crds)
    assert order == ["read", "judged"] * 3
