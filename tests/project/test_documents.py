"""The documents are true: their commands run, their transcripts are what commands print, their links lead somewhere.

`make test` runs the commands of README alone, `make slow` those of the other pages, and `make nightly` those that need
Ray.
"""

from __future__ import annotations

import json
import re
import shutil
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from auditor.base.statuses import Impact, Status
from auditor.fastpath.dicts.fallbacks import Part, Reason
from tests.papers.blocks import PAGES, blocks_of, commands_of, fill_transcripts, is_plain, run, without_ages
from tests.papers.changes import CHANGES, rows_of_table
from tests.papers.notebook import names_in, python_of
from tests.papers.reference import GENERATED
from tests.papers.sandbox import environment_of, make_sandbox, placed
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark import ParameterSet

    from tests.papers.blocks import Command

MOST_OF_README = 8 * 1024
BEFORE = (
    "auditor audit snapshot.db --report report/ --fail-on never",
    "auditor audit 'backups/*.db' --cluster-name '{1}' --report fleet/ --fail-on never",
    "auditor audit snapshot.db --report reports/today --fail-on never",
    "cp -r report out && mkdir -p made && mv out made/last-night && mv made out",
    "cp auditor.yaml.example auditor.yaml",
)
"""What the commands of a page find: reports of earlier commands and nights."""

TEXTS = sorted({*PAGES, *ROOT.glob("*.md")})
RAY = "--engine ray"
WITH_COMMANDS = [page for page in PAGES if commands_of(page)]
WITH_PYTHON = [page for page in PAGES if python_of(page)]
WITH_TRANSCRIPTS = [page for page in PAGES if "```console\n" in page.read_text()]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def each(pages: list[Path]) -> list[ParameterSet]:
    """Return pages as parameters; all but README are slow."""
    marks = {ROOT / "README.md": ()}
    return [pytest.param(page, id=name_of(page), marks=marks.get(page, pytest.mark.slow)) for page in pages]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents") / "filled"
    folder.mkdir()
    make_sandbox(folder)
    for command in BEFORE:
        done = run(command, folder, environment_of(folder))
        assert done.returncode == 0, done.stderr
    (folder / "auditor.yaml").unlink()
    return folder


@pytest.fixture
def sandbox(filled: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "sandbox"
    shutil.copytree(filled, folder)
    for program in (folder / "bin").iterdir():
        program.write_text(program.read_text().replace(str(filled), str(folder)))
    return folder


@pytest.mark.parametrize("page", each(WITH_COMMANDS))
def test_every_command_of_a_page_runs(page: Path, sandbox: Path) -> None:
    if page.name == "configuration.md":
        shutil.copyfile(sandbox / "auditor.yaml.example", sandbox / "auditor.yaml")
    check_commands([command for command in commands_of(page) if RAY not in command.text], sandbox)


@pytest.mark.nightly
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_every_command_with_ray_runs(sandbox: Path) -> None:
    commands = [command for page in WITH_COMMANDS for command in commands_of(page) if RAY in command.text]
    assert commands
    check_commands(commands, sandbox)


def check_commands(commands: list[Command], sandbox: Path) -> None:
    """Run commands in order; each ends with a code that its page allows."""
    wrong = []
    for text, codes in commands:
        command = placed(text, sandbox)
        for report in ("report", "upgrade", "fleet", "out/tonight", "out/upgrade", "reports/today", "backups/report"):
            if f"--report {report}" in command or f"--report s3://{report}" in text:
                shutil.rmtree(sandbox / report, ignore_errors=True)
        done = run(command, sandbox, environment_of(sandbox))
        if done.returncode not in codes or "Traceback" in done.stderr:
            wrong.append(f"{text}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", each(WITH_TRANSCRIPTS))
def test_transcripts_are_what_commands_print(page: Path, sandbox: Path) -> None:
    now = fill_transcripts(page.read_text(), sandbox, environment_of(sandbox))
    assert without_ages(now) == without_ages(page.read_text()), "run `make docs`"


@pytest.mark.parametrize("page", each(WITH_PYTHON))
@pytest.mark.filterwarnings("ignore")
def test_the_python_of_a_page_runs(page: Path, sandbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_in(sandbox)
    monkeypatch.chdir(sandbox)
    exec(compile(python_of(page), str(page), "exec"), names)


@pytest.mark.parametrize(
    ("command", "is_of_auditor_alone"),
    [
        ("auditor query r loaves -o 'jsonpath={.items[*]}'  # with a comment; and more", True),
        ("auditor audit 'backups/*.db' --cluster-name '{1}'", True),
        ("auditor validate manifests/*.yaml", False),
        ("auditor sources | head", False),
        ('auditor findings "$(ls)"', False),
        ("auditor sources > sources.txt", False),
        ("helm template chart/", False),
    ],
)
def test_a_shell_runs_what_needs_one(command: str, *, is_of_auditor_alone: bool) -> None:
    assert is_plain(command) == is_of_auditor_alone


def test_commands_and_transcripts_are_found() -> None:
    assert {"README.md", "docs/guide/dumps.md", "docs/guide/before-an-upgrade.md"} <= {
        name_of(p) for p in WITH_COMMANDS
    }
    assert "README.md" in {name_of(page) for page in WITH_TRANSCRIPTS}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_auditor_commands_are_in_blocks_that_are_run(page: Path) -> None:
    for language, block in blocks_of(page):
        assert language or not re.search(r"^(\$ )?auditor ", block, re.MULTILINE), (
            "a block of `auditor` commands is ```sh"
        )


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("name", GENERATED)
def test_generated_pages_are_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text() == GENERATED[name](), "run `make docs`"


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"], ids=name_of)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = set(re.findall(r"`((?:auditor|pipelines|tests|docs)/[\w./-]+)`", page.read_text()))
    assert len(named) >= 5
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_rows_of_typical_changes_name_files() -> None:
    rows = [line.split("|")[1:3] for line in rows_of_table().splitlines()]
    assert len(rows) == len(CHANGES)
    assert [change for change, files in rows if "`" not in files] == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("a column of objects/", "auditor/shards/fast_path.py"),  # else the column is null for each proven object
        ("a cause of an impact", "auditor/causes/titles.py"),
        ("a keyword that schemas did not have", "auditor/schema/parse.py"),
        ("an option of `audit` that a run reads", "auditor/plan/options.py"),
    ],
)
def test_what_is_followed_leads_to_the_files_that_a_change_needs(change: str, name: str) -> None:
    row = next(each for each in CHANGES if each.what == change)
    assert row.traced is not None
    assert name in row.traced()


@pytest.mark.parametrize("members", [Status, Impact])
def test_the_guide_explains_every_status_and_impact(members: type[Status | Impact]) -> None:
    text = (ROOT / "docs" / "guide" / "findings.md").read_text()
    assert [each for each in members if f"| `{each}` |" not in text] == []


def test_the_manifest_page_lists_every_key(sandbox: Path) -> None:
    text = (ROOT / "docs" / "reference" / "manifest.md").read_text()
    manifest = json.loads((sandbox / "report" / "manifest.json").read_text())
    assert [key for key in manifest if f"`{key}`" not in text] == []


@pytest.mark.parametrize("members", [Part, Reason])
def test_the_manifest_page_explains_every_fallback(members: type[Part | Reason]) -> None:
    text = (ROOT / "docs" / "reference" / "manifest.md").read_text().partition("## Fallbacks")[2]
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert [each for each in members if not any(f"`{each}`" in cell for cell in first)] == []


def test_readme_fits_on_a_few_screens() -> None:
    assert (ROOT / "README.md").stat().st_size <= MOST_OF_README


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_documents_name_nothing_outside_the_project(page: Path) -> None:
    assert "../shared" not in page.read_text()
    assert str(ROOT) not in page.read_text()
