"""A file that may hold definitions and was not read is named by every answer, and none of them is an all-clear."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import SourceError
from auditor.plan.charts import Render
from auditor.plan.definition_paths import definitions_at
from auditor.plan.run_plan import read_definitions
from tests.command import auditor
from tests.plan.test_definition_paths import GUARDED, chart, crd, packed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
KINDS = {"kind": "CustomResourceDefinition"}


def whole(kind: str) -> dict[str, Any]:
    document = crd(kind)
    document["spec"]["versions"] = [VERSION]
    return document


def in_template(root: Path) -> str:
    (chart(root, "app", "Aa") / "templates/crds.yaml").write_text(GUARDED)
    return "app/templates/crds.yaml"


def in_helper(root: Path) -> str:
    (chart(root, "app", "Aa") / "templates/_crd.tpl").write_text('{{ define "crd" }}\n' + GUARDED + "{{ end }}\n")
    return "app/templates/_crd.tpl"


def in_included_file(root: Path) -> str:
    folder = chart(root, "app", "Aa")
    (folder / "files").mkdir()
    (folder / "files/crds.json").write_text(json.dumps(whole("Bb")))
    return "app/files/crds.json"


def in_values(root: Path) -> str:
    (chart(root, "app", "Aa") / "values.yaml").write_text("extra:\n- kind: CustomResourceDefinition\n")
    return "app/values.yaml"


def in_subchart(root: Path) -> str:
    below = chart(root / "app/charts", "sub")
    (below / "templates/crds.yaml").write_text(GUARDED)
    shutil.copytree(chart(root / "other", "app", "Aa"), root / "app", dirs_exist_ok=True)
    return "app/charts/sub/templates/crds.yaml"


def in_packed_subchart(root: Path) -> str:
    folder, below = chart(root, "app", "Aa"), chart(root / "other", "sub")
    (below / "templates/crds.yaml").write_text(GUARDED)
    (folder / "charts").mkdir()
    shutil.move(packed(below), folder / "charts")
    return "app/charts/sub-1.0.0.tgz!sub/templates/crds.yaml"


def in_linked_subchart(root: Path) -> str:
    folder, below = chart(root, "app", "Aa"), chart(root / "other", "sub")
    (below / "templates/crds.yaml").write_text(GUARDED)
    (folder / "charts").mkdir()
    (folder / "charts/linked").symlink_to(below)
    return "app/charts/linked/templates/crds.yaml"


def in_missing_subchart(root: Path) -> str:
    with (chart(root, "app", "Aa") / "Chart.yaml").open("a") as file:
        file.write("dependencies:\n- {name: sub, version: 1.0.0, repository: https://charts.example.com}\n")
    return "app/charts/sub"


def in_broken_subchart(root: Path) -> str:
    folder = chart(root, "app", "Aa")
    (folder / "charts").mkdir()
    (folder / "charts/sub-1.0.0.tgz").write_bytes(b"no archive")
    return "app/charts/sub-1.0.0.tgz"


def without_suffix(root: Path) -> str:
    (chart(root, "app", "Aa") / "crds/bb.yaml.tmpl").write_text("kind: CustomResourceDefinition\n")
    return "app/crds/bb.yaml.tmpl"


def folder_of(root: Path, name: str) -> Path:
    folder = root / "app"
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / "aa.json").write_text(json.dumps(whole("Aa")))
    return folder / name


def in_file_of_a_folder(root: Path) -> str:
    folder_of(root, "more/bb.txt").write_text(json.dumps(whole("Bb")))
    return "app/more/bb.txt"


def in_archive_of_a_folder(root: Path) -> str:
    shutil.move(packed(chart(root / "other", "sub", "Bb")), folder_of(root, "sub.tgz"))
    return "app/sub.tgz"


def in_link_to_a_folder_above(root: Path) -> str:
    folder_of(root, "up").symlink_to(root)
    return "app/up"


def in_dangling_link(root: Path) -> str:
    folder_of(root, "gone").symlink_to(root / "nowhere")
    return "app/gone"


def in_pipe(root: Path) -> str:
    os.mkfifo(folder_of(root, "pipe"))
    return "app/pipe"


def in_large_file(root: Path) -> str:
    with folder_of(root, "large").open("wb") as file:
        file.truncate((64 << 20) + 1)
    return "app/large"


def in_base_of_a_kustomization(root: Path) -> str:
    folder_of(root, "kustomization.yaml").write_text("resources: [aa.json, ../base]\n")
    return "app/kustomization.yaml"


def in_patch_of_a_kustomization(root: Path) -> str:
    folder_of(root, "Kustomization").write_text("resources: [aa.json]\npatches: [{path: p.yaml}]\n")
    return "app/Kustomization"


HIDDEN = [
    in_template, in_helper, in_included_file, in_values, in_subchart, in_packed_subchart, in_linked_subchart,
    in_missing_subchart, in_broken_subchart, without_suffix, in_file_of_a_folder, in_archive_of_a_folder,
    in_link_to_a_folder_above, in_dangling_link, in_pipe, in_large_file, in_base_of_a_kustomization,
    in_patch_of_a_kustomization,
]  # fmt: skip


@pytest.mark.parametrize("hide", HIDDEN, ids=lambda one: one.__name__)
def test_what_was_not_read_is_named(tmp_path: Path, hide: Callable[[Path], str]) -> None:
    where = hide(tmp_path)
    found = definitions_at([str(tmp_path / "app")])
    assert [one["spec"]["names"]["kind"] for one in found.documents] == ["Aa"]
    assert [one.where for one in found.unread] == [f"definitions in {tmp_path / where}"]
    if where == f"{tmp_path.name}/pipe":
        return
    given = read_definitions([str(tmp_path / "app")])
    assert len(given.unread) == 1


@pytest.mark.parametrize("hide", [in_template, in_subchart, in_missing_subchart, in_packed_subchart])
def test_a_packed_chart_is_no_different(tmp_path: Path, hide: Callable[[Path], str]) -> None:
    where = hide(tmp_path)
    (unread,) = definitions_at([str(packed(tmp_path / "app"))]).unread
    assert unread.where.endswith(where)


def test_a_folder_that_is_read_whole_names_nothing(tmp_path: Path) -> None:
    for name in ("README.md", "make.py"):
        folder_of(tmp_path, name).write_text("kind: CustomResourceDefinition")
    (tmp_path / "app/kustomization.yaml").write_text("resources: [aa.json]\nnamespace: x\n")
    (tmp_path / "app/.git").mkdir()
    (tmp_path / "app/.git/pack.gz").write_bytes(b"")
    assert definitions_at([str(tmp_path / "app")]).unread == ()


# -- commands ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.ndjson"
    thing = {"apiVersion": "example.com/v1", "kind": "Aa", "metadata": {"name": "a"}}
    path.write_text("\n".join(map(json.dumps, (whole("Aa"), thing))))
    return path


COMMANDS = [
    ("audit", "DUMP", "--jobs", "1", "--report", "OUT", "--crds", "PATH"),
    ("upgrade", "DUMP", "--jobs", "1", "--report", "OUT", "--new-crds", "PATH"),
    ("upgrade", "DUMP", "--jobs", "1", "--report", "OUT", "--new-crds", "PLAIN", "--old-crds", "PATH"),
    ("upgrade", "DUMP", "--jobs", "1", "--report", "OUT", "--new-crds", "PLAIN", "--via", "PATH"),
    ("validate", "DUMP", "--crds", "PATH"),
    ("crds", "check", "PATH"),
    ("crds", "check", "PLAIN", "--old", "PATH"),
    ("kinds", "DUMP", "--crds", "PATH"),
    ("crds", "export", "PATH"),
    ("query", "DUMP", "aas", "--crds", "PATH"),
    ("gates", "check", "PATH"),
    ("gates", "list", "DUMP", "--crds", "PATH"),
]


@pytest.mark.parametrize("is_only", [False, True], ids=["beside others", "alone"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_names_it_and_ends_with_3(
    tmp_path: Path, dump: Path, words: tuple[str, ...], *, is_only: bool
) -> None:
    folder = chart(tmp_path, "app")
    if not is_only:
        (folder / "crds/aa.json").write_text(json.dumps(whole("Aa")))
    (folder / "templates/crds.yaml").write_text(GUARDED)
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps(whole("Aa")))
    names = {"DUMP": dump, "PATH": folder, "PLAIN": plain, "OUT": tmp_path / "out"}
    done = auditor(*(str(names.get(word, word)) for word in words))
    printed = "".join((done.stdout + done.stderr).split())
    assert f"{folder}/templates/crds.yaml" in printed
    assert done.code == 3, printed
    assert not done.stdout.startswith("safe")
    assert "nothing to do" not in done.stdout


# -- rendering ---------------------------------------------------------------------------------------------------------

HELM = """#!{python}
import sys
sys.stdin.read()
{body}
"""


def helm(folder: Path, body: str) -> Path:
    folder.mkdir()
    program = folder / "helm"
    program.write_text(HELM.format(python=sys.executable, body=body))
    program.chmod(0o755)
    return folder


def printing(*parts: tuple[str, str]) -> str:
    text = "".join(f"---\n# Source: app/{place}\n{json.dumps(whole(kind))}\n" for place, kind in parts)
    return f"print({text!r})"


def test_a_rendered_chart_gives_what_helm_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_template(tmp_path)
    body = printing(("crds/Aa.yaml", "Aa"), ("templates/crds.yaml", "Bb"))
    monkeypatch.setenv("PATH", str(helm(tmp_path / "bin", body)))
    found = definitions_at([str(tmp_path / "app")], render=Render("1.37"))
    assert [one["spec"]["names"]["kind"] for one in found.documents] == ["Aa", "Bb"]
    (made,) = found.charts
    assert (found.unread, made.in_manifest, made.in_crds) == ((), {"bbs.example.com"}, {"aas.example.com"})


def test_an_error_in_what_helm_printed_names_its_line(tmp_path: Path) -> None:
    text = tmp_path / "printed.yaml"
    text.write_text("---\n# Source: app/templates/a.yaml\na: b\n---\nkind: CustomResourceDefinition\nx: [\n")
    with pytest.raises(SourceError, match="line 6"):
        definitions_at([str(text)])


def test_how_charts_are_rendered_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(Render("1.37"))) == Render("1.37")


def test_a_template_that_gives_nothing_by_the_chart_s_own_values_is_still_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_template(tmp_path)
    monkeypatch.setenv("PATH", str(helm(tmp_path / "bin", printing(("crds/Aa.yaml", "Aa")))))
    (unread,) = definitions_at([str(tmp_path / "app")], render=Render("1.37")).unread
    assert unread.where.endswith("templates/crds.yaml")
    assert unread.reason == "rendering made no definition of it, which other values may do"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("sys.exit('Error: nil pointer at crds.yaml')", "helm template failed: Error: nil pointer at crds.yaml"),
        ("import time; time.sleep(60)", "helm template gave no answer within 0.5 seconds"),
    ],
)
def test_what_helm_says_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, text: str) -> None:
    in_template(tmp_path)
    monkeypatch.setattr("auditor.plan.charts._SECONDS", 0.5 if "sleep" in body else 60)
    monkeypatch.setenv("PATH", str(helm(tmp_path / "bin", body)))
    done = auditor("crds", "check", tmp_path / "app", "--render")
    assert done.code == 2
    assert text in done.stderr


def test_without_helm_rendering_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_template(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = auditor("crds", "check", tmp_path / "app", "--render")
    assert (done.code, "helm is not on PATH" in done.stderr) == (2, True)
