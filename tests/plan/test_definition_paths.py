"""What `--crds` and its like take: files, folders, Helm charts, dumps."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from auditor.base.errors import SourceError
from auditor.plan.definition_paths import definitions_at
from tests.command import auditor

SAMPLE = Path(__file__).resolve().parents[2] / "sample-data/cluster.db.gz"
GUARDED = "{{- if .Values.crds }}\nkind: CustomResourceDefinition\n{{- end }}\n"
TEMPLATE = "{{- if .Values.x }}\napiVersion: {{ .Values.y }}\n{{- end }}\n"


def crd(kind: str) -> dict[str, Any]:
    plural = kind.lower() + "s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {"group": "example.com", "names": {"kind": kind, "plural": plural}, "scope": "Cluster", "versions": []},
    }


def chart(root: Path, name: str, *kinds: str) -> Path:
    folder = root / name
    (folder / "crds/deep").mkdir(parents=True)
    (folder / "templates").mkdir()
    (folder / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n")
    (folder / "templates/broken.yaml").write_text(TEMPLATE)
    (folder / "crds/NOTES.txt").write_text("{{ no manifest")
    for number, kind in enumerate(kinds):
        place = "crds/deep" if number else "crds"
        (folder / place / f"{kind}.yaml").write_text(json.dumps(crd(kind)))
    return folder


def packed(folder: Path) -> Path:
    target = folder.parent / f"{folder.name}-1.0.0.tgz"
    with tarfile.open(target, "w:gz") as tar:
        for one in sorted(folder.rglob("*")):
            tar.add(one, one.relative_to(folder.parent).as_posix(), recursive=False)
    return target


def kinds(*paths: Path) -> list[str]:
    return [one["spec"]["names"]["kind"] for one in definitions_at(map(str, paths)).documents]


def test_a_chart_gives_the_files_of_its_crds_folder_and_not_its_templates(tmp_path: Path) -> None:
    folder = chart(tmp_path, "app", "Aa", "Bb")
    assert kinds(folder) == ["Aa", "Bb"]
    assert kinds(packed(folder)) == ["Aa", "Bb"]


def test_subcharts_count_unpacked_and_packed(tmp_path: Path) -> None:
    folder = chart(tmp_path, "app", "Aa")
    (folder / "charts").mkdir()
    shutil.move(packed(chart(tmp_path / "other", "one", "Bb")), folder / "charts")
    chart(folder / "charts", "two", "Cc")
    assert kinds(folder) == ["Aa", "Bb", "Cc"]
    assert kinds(packed(folder)) == ["Aa", "Cc", "Bb"]


def test_a_chart_without_definitions_is_refused_unless_a_template_may_hold_some(tmp_path: Path) -> None:
    folder = chart(tmp_path, "app")
    assert kinds(folder) == kinds(packed(folder)) == []
    assert auditor("crds", "check", folder).code == 2
    (folder / "templates/crd.yaml").write_text(GUARDED)
    done = auditor("crds", "check", folder)
    assert (done.code, "templates/crd.yaml" in done.stderr) == (3, True)


def test_a_torn_chart_is_an_error(tmp_path: Path) -> None:
    whole = packed(chart(tmp_path, "app", "Aa"))
    whole.write_bytes(gzip.compress(gzip.decompress(whole.read_bytes())[:2048]))
    with pytest.raises(SourceError, match=r"app-1\.0\.0\.tgz"):
        definitions_at([str(whole)])


def test_a_dump_gives_the_definitions_that_it_stores() -> None:
    assert kinds(SAMPLE) == ["Loaf", "Order", "Oven"]


def test_the_definitions_of_a_backup_archive_are_read_as_those_of_a_dump(tmp_path: Path) -> None:
    target = tmp_path / "backup.tar.gz"
    with tarfile.open(target, "w:gz") as tar:
        text = json.dumps(crd("Aa")).encode()
        info = tarfile.TarInfo("resources/customresourcedefinitions.apiextensions.k8s.io/cluster/aas.example.com.json")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    assert kinds(target) == ["Aa"]


def test_commands_take_charts(tmp_path: Path) -> None:
    folder = chart(tmp_path, "app", "Aa")
    done = auditor("crds", "check", packed(folder))
    assert "aas.example.com" in done.stdout, done.stderr
