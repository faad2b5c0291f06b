"""`auditor crds diff`, through the command line."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import Ended, auditor
from tests.crddiff.test_effects import NAME, TEXT, definition, field, version

if TYPE_CHECKING:
    from pathlib import Path


OLD = definition(version({"properties": {"size": TEXT | {"enum": ["s", "m", "l"]}, "note": TEXT}}))
NEW = definition(version({"properties": {"size": TEXT | {"enum": ["s", "m"]}, "note": TEXT, "more": TEXT}}))


def run(*words: object, text: str = "") -> Ended:
    return auditor("crds", "diff", *words, stdin=text)


def write(path: Path, *documents: Any) -> str:
    path.write_text("\n".join(json.dumps(document) for document in documents))
    return str(path)


@pytest.fixture
def paths(tmp_path: Path) -> tuple[str, str]:
    return write(tmp_path / "old.json", OLD), write(tmp_path / "new.json", NEW)


def test_what_breaks_has_a_line_and_a_witness(paths: tuple[str, str]) -> None:
    got = run(*paths)
    assert got.code == 1
    assert got.stdout.splitlines() == [
        NAME,
        '  breaks     creates refused  v1 spec.size: enum "l" -> no longer allowed',
        '      {"spec":{"size":"l"}} -> spec.size: Unsupported value: "l": supported',
        '      values: "s", "m" (updates pass while it is unchanged)',
        "  harmless: field added",
    ]
    assert got.stderr == "1 definition, 0 unchanged: 1 change breaks something, 1 is harmless\n"


def test_the_reason_at_the_end_of_a_long_message_is_shown(tmp_path: Path, paths: tuple[str, str]) -> None:
    rule = {"x-kubernetes-validations": [{"rule": "self.none > 3"}]}
    broken = definition(version({"properties": {"size": TEXT}} | rule))
    shown = run(paths[0], write(tmp_path / "broken.json", broken)).stdout
    assert "compilation failed: ERROR: <input>:1:5: undefined field 'none'" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80


def test_what_is_harmless_ends_with_0(paths: tuple[str, str]) -> None:
    assert run(paths[1], paths[0]).code == 1
    assert run(paths[0], paths[0]).code == 0
    got = run("-", paths[1], text=json.dumps(definition(version({"properties": {"size": TEXT | {"enum": ["s"]}}}))))
    assert (got.code, got.stdout) == (0, f"{NAME}\n  harmless: field added (2), enum\n")


def test_json_has_the_witness(paths: tuple[str, str]) -> None:
    got = run(*paths, "-o", "json")
    breaks, harmless = json.loads(got.stdout)
    assert breaks["witness"] == {
        "apiVersion": "port.example.com/v1",
        "kind": "Boat",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"size": "l"},
    }
    assert (breaks["verdict"], breaks["effect"], breaks["updates"]) == ("breaks", "create-refused", "tolerated")
    assert (harmless["verdict"], harmless["witness"]) == ("harmless", None)


def test_file_formats_name_the_line_in_new(tmp_path: Path) -> None:
    lines = ["apiVersion: apiextensions.k8s.io/v1", "kind: CustomResourceDefinition", f"metadata: {{name: {NAME}}}"]
    spec = NEW["spec"]
    lines += ["spec:", "  group: port.example.com", f"  names: {json.dumps(spec['names'])}", "  scope: Namespaced"]
    lines += ["  versions:", "  - name: v1", "    served: true", "    storage: true", "    schema:"]
    lines += ["      openAPIV3Schema:", "        type: object", "        properties:", "          spec:"]
    lines += ["            type: object", "            properties:", "              note: {type: string}"]
    lines += ["              size: {type: string, enum: [s, m]}"]
    new = tmp_path / "new.yaml"
    new.write_text("\n".join(lines))
    old, sarif = write(tmp_path / "old.json", OLD), tmp_path / "out.sarif"
    got = run(old, new, "-o", f"sarif={sarif}", "-o", "github")
    assert got.code == 1
    assert f"line={len(lines)},title=Boat.port.example.com" in got.stdout
    (result,) = json.loads(sarif.read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == len(lines)
    assert "creates are refused" in result["message"]["text"]


@pytest.mark.parametrize("form", ["junit", "markdown", "github-summary", "codequality", "csv", "html"])
def test_every_report_format_names_the_change(paths: tuple[str, str], form: str) -> None:
    got = run(*paths, "-o", form)
    assert got.code == 1
    assert "creates are refused" in got.stdout


def test_accepted_changes_do_not_count(paths: tuple[str, str], tmp_path: Path) -> None:
    cause = json.loads(run(*paths, "-o", "ndjson").stdout.splitlines()[0])["id"]
    accept = tmp_path / "accept.yaml"
    for matcher in (f"cause: {cause}", f"name: {NAME}, field: spec.*", "kind: Boat.port.example.com, check: enum"):
        accept.write_text(f"- {{{matcher}, reason: decided, expires: 2999-01-01}}")
        got = run(*paths, "--accept", accept)
        assert got.code == 0, matcher
        assert "  accepted   creates refused" in got.stdout
    accept.write_text(
        "- {name: other, reason: decided, expires: 2999-01-01}\n- {name: '*', reason: long ago, expires: 2020-01-01}"
    )
    got = run(*paths, "--accept", accept)
    assert got.code == 1
    assert "entry 1 matches no change (decided)" in got.stderr
    assert "entry 2 expired on 2020-01-01 (long ago)" in got.stderr


def test_what_is_not_read_is_never_harmless(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    write(folder / "crd.json", OLD)
    (folder / "more.txt").write_text("kind: CustomResourceDefinition\n")
    got = run(write(tmp_path / "old.json", OLD), folder)
    assert got.code == 3
    assert "NOT EVERYTHING WAS READ" in got.stderr
    assert run(tmp_path / "missing.yaml", folder).code == 2
    (folder / "broken.yaml").write_text("kind: [")
    assert run(write(tmp_path / "old.json", OLD), folder).code == 2
    assert run("-", "-").code == 2


def git(folder: Path, *words: str) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", str(folder), *settings, *words], check=True, capture_output=True)


def test_a_revision_of_the_repository_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "crds").mkdir()
    git(tmp_path, "init")
    write(tmp_path / "crds" / "boats.json", OLD)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "old")
    write(tmp_path / "crds" / "boats.json", NEW)
    monkeypatch.chdir(tmp_path)
    for old in ("git:HEAD:crds", "git:main:./crds/boats.json", "git:HEAD:"):
        got = auditor("crds", "diff", old, "crds", cwd=tmp_path)
        assert (got.code, "spec.size: enum" in got.stdout) == (1, True), got.stderr
    (tmp_path / "crds" / "link.yaml").symlink_to("boats.json")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "link")
    got = auditor("crds", "diff", "git:HEAD:crds", "git:HEAD:crds", cwd=tmp_path)
    assert got.code == 3
    assert "git:HEAD:crds/link.yaml: it is a link, which was not followed" in got.stderr
    for wrong in ("git:HEAD", "git:nothing:crds", "git:HEAD:nothing", "git:--upload-pack=x:crds"):
        assert auditor("crds", "diff", wrong, "crds", cwd=tmp_path).code == 2


def test_the_check_of_an_update_names_this_command(tmp_path: Path) -> None:
    old = write(tmp_path / "old.json", OLD)
    got = auditor("crds", "check", "--old", old, write(tmp_path / "new.json", definition(field(**TEXT))))
    assert "auditor crds diff OLD NEW says which" in got.stderr
