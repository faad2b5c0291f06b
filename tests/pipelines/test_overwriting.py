"""No command writes over a file that it reads: exit code 2 before anything is read, and every file as it was."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click
import pytest

from pipelines.cli import main as cli
from pipelines.cli.options.made import Option
from tests.command import auditor
from tests.documents import definition_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def options(group: click.Group = cli.cli) -> Iterator[Option]:
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from options(command)
        else:
            yield from (each for each in command.params if isinstance(each, Option))


def test_every_option_that_names_a_place_to_write_says_which_files_or_has_names_of_its_own() -> None:
    writing = [each for each in options() if each.declared.effect.endswith(("and where", "write a file"))]
    unguarded = {each.opts[0] for each in writing if not (each.declared.writes or each.declared.own_place)}
    assert unguarded == {"--report"}, "that of `auditor accept`, which is read"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dump under several names, definitions, what goes with them, and a report of the dump."""
    crd = definition_of({"type": "object"})
    (tmp_path / "dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [crd]}))
    for name in ("folder/b.json", "crds/c.json", "fleet/c1.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes((tmp_path / "dump.json").read_bytes())
    os.link(tmp_path / "dump.json", tmp_path / "hard.json")
    (tmp_path / "soft.json").symlink_to("dump.json")
    (tmp_path / "accept.yaml").write_text("[]\n")
    (tmp_path / "owners.yaml").write_text("[]\n")
    (tmp_path / "auditor.yaml").write_text("audit: {}\n")
    (tmp_path / "fleet.yaml").write_text("clusters:\n- {name: a, dump: dump.json, crds: [crds]}\n")
    ended = auditor("audit", "dump.json", "--report", "report", "--fail-on", "never", "--jobs", 1, cwd=tmp_path)
    assert ended.code == 0, ended.output
    return tmp_path


AUDIT = ("audit", "dump.json", "--report", "new", "--jobs", "1")
FLEET = ("audit", "--fleet", "fleet.yaml", "--report", "new", "--jobs", "1")
UPGRADE = ("upgrade", "dump.json", "--new-crds", "crds", "--report", "new")


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ((*AUDIT, "-o", "json=dump.json"), "-o: dump.json is a file that"),
        ((*AUDIT, "-o", "json=file://{here}/dump.json"), "is the file dump.json that"),
        ((*AUDIT, "-o", "csv=hard.json"), "-o: hard.json is the file dump.json that"),
        ((*AUDIT, "-o", "csv=soft.json"), "-o: soft.json is the file dump.json that"),
        ((*AUDIT, "-o", "csv=no/../dump.json"), "is the file dump.json that"),
        ((*AUDIT, "-o", "csv", "-o", "html=dump.json"), "-o: dump.json is a file that"),
        ((*AUDIT, "--accept", "accept.yaml", "-o", "markdown=accept.yaml"), "-o: accept.yaml is a file that"),
        ((*AUDIT, "--owners", "owners.yaml", "-o", "markdown=owners.yaml"), "-o: owners.yaml is a file that"),
        ((*AUDIT, "--crds", "crds", "-o", "markdown=crds/c.json"), "-o: crds/c.json is a file of crds that"),
        ((*AUDIT, "--diff", "report", "-o", "json=report/manifest.json"), "is a file of report that"),
        ((*AUDIT, "-o", "json=auditor.yaml"), "-o: auditor.yaml is a file that"),
        (("audit", "folder", "--report", "new", "-o", "json=folder/b.json"), "-o: folder/b.json is a file of folder that"),
        (("audit", "fleet/*.json", "--report", "new", "-o", "json=fleet/c1.json"), "-o: fleet/c1.json is a file that"),
        ((*FLEET, "-o", "json=fleet.yaml"), "-o: fleet.yaml is a file that"),
        ((*FLEET, "-o", "json=dump.json"), "-o: dump.json is a file that"),
        ((*FLEET, "-o", "json=crds/c.json"), "-o: crds/c.json is a file of crds that"),
        ((*UPGRADE, "-o", "json=dump.json"), "-o: dump.json is a file that"),
        ((*UPGRADE, "-o", "sarif=crds/c.json"), "-o: crds/c.json is a file of crds that"),
        ((*UPGRADE, "--plan", "dump"), "--plan: dump.json is a file that"),
        (("validate", "dump.json", "-o", "junit=dump.json"), "-o: dump.json is a file that"),
        (("report", "report", "-o", "html=dump.json"), "-o: dump.json is a file that"),
        (("query", "dump.json", "namespaces", "-o", "parquet=dump.json"), "-o: dump.json is a file that"),
        (("query", "report", "namespaces", "-o", "parquet=dump.json"), "-o: dump.json is a file that"),
        (("accept", "1", "--reason", "r", "--until", "2999-01-01", "--report", "report", "--file", "dump.json"), "--file: dump.json is a file that"),
    ],
)  # fmt: skip
def test_a_file_that_is_read_is_not_written(folder: Path, words: tuple[str, ...], refusal: str) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    ended = auditor(*(word.format(here=folder) for word in words), cwd=folder, env={"XDG_CONFIG_HOME": str(folder)})
    assert ended.code != 0
    assert refusal.format(here=folder) in ended.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_new_file_in_a_folder_that_is_read_is_written(folder: Path) -> None:
    assert auditor("report", "report", "-o", "markdown=folder/new.md", cwd=folder).code == 0
    assert (folder / "folder" / "new.md").exists()
