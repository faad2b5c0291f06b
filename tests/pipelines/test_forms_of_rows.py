"""Every command that prints rows takes the same forms."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
import yaml

from auditor.printing.print_rows import FORMS
from tests.causes.reports import definition, export, widget
from tests.command import auditor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMANDS = (
    ("crds", "check", "crd.json"),
    ("gates", "check", "crd.json", "--sidecar", "gates.json"),
    ("gates", "list", "dump.ndjson", "--sidecar", "gates.json"),
    ("gates", "simulate", "dump.ndjson", "--sidecar", "gates.json", "--field-gates", "Size=false"),
    ("sources",),
    ("releases",),
    ("releases", "1.36", "1.37"),
    ("kinds", "dump.ndjson"),
    ("explain", "dump.ndjson", "widgets", "--values"),
    ("show", "dump.ndjson", "widgets/a", "-n", "team"),
    ("show", "dump.ndjson", "widgets", "-n", "team", "--as", "stored"),
    ("validate", "one.json", "--crds", "crd.json"),
    ("diff", "dump.ndjson", "later.ndjson"),
    ("findings", "after", "--against", "report"),
    ("findings", "report"),
    ("summary", "report"),
    ("changes", "scan"),
    ("trend", "history"),
    ("query", "dump.ndjson", "widgets"),
)


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    made: Path = tmp_path_factory.mktemp("given")
    crd, later = (definition({"size": {"type": "integer", "maximum": most}}) for most in (5, 4))
    bad, good = widget("a", {"size": 9}), widget("a", {"size": 5})
    export(made / "dump.ndjson", crd, bad)
    export(made / "later.ndjson", crd, good)
    (made / "crd.json").write_text(json.dumps(crd))
    (made / "new.json").write_text(json.dumps(later))
    (made / "one.json").write_text(json.dumps(bad))
    gates = [{"name": "Size", "preRelease": "beta", "default": True, "fieldPaths": [".spec.size"]}]
    (made / "gates.json").write_text(json.dumps({"widgets.example.com": {"featureGates": gates}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        for dump, report in (("dump", "report"), ("later", "after")):
            words = ("--report", report, "--history", "history", "--jobs", "1", "-q", "--fail-on", "never")
            assert auditor("audit", f"{dump}.ndjson", *words).code == 0
        scan = ("--new-crds", "new.json", "--report", "scan", "--jobs", "1")
        assert auditor("upgrade", "later.ndjson", *scan).code == 1
        yield


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_prints_its_rows_in_every_form(words: tuple[str, ...]) -> None:
    printed = {}
    for form in FORMS:
        done = auditor(*words, "-o", form)
        assert done.code == (1 if words[0] == "validate" else 0), (form, done.output)
        printed[form] = done.stdout
    data = json.loads(printed["json"])
    assert yaml.safe_load(printed["yaml"]) == data
    lines = [json.loads(line) for line in printed["ndjson"].splitlines()]
    assert lines
    head, *rows = csv.reader(io.StringIO(printed["csv"]))
    assert rows
    assert {len(row) for row in rows} == {len(head)}
    if words[0] != "validate":  # whose Markdown is a summary for a chat
        title, rule, *cells = printed["markdown"].splitlines()
        assert (title[:2], set(rule)) == ("| ", {"|", "-"})
        assert cells
    if isinstance(data, list):
        assert lines == data
    if words[0] not in ("changes", "findings", "summary", "trend"):  # their tables have lines around them
        assert len(printed["wide"].splitlines()) == len(rows) + 1
        assert len(printed["table"].splitlines()) == len(rows) + 1


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_another_form_is_refused_with_all_there_are(words: tuple[str, ...]) -> None:
    done = auditor(*words, "-o", "foo")
    assert done.code == 2
    if words[0] not in ("query", "validate"):
        assert all(f"'{form}'" in done.stderr for form in FORMS)


def test_the_shell_completes_forms() -> None:
    for words in ("kinds", "query", "trend", "show", "sources", "diff"):
        position = str(len(words.split()) + 2)
        env = {"_AUDITOR_COMPLETE": "bash_complete", "COMP_WORDS": f"auditor {words} -o ", "COMP_CWORD": position}
        answers = auditor(env=env).stdout.splitlines()
        assert {f"plain,{form}" for form in FORMS} <= set(answers), words
