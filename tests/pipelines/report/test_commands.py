"""The commands that read reports, over a report of one object."""

import json
import shlex
from functools import partial

import pytest

from tests import command
from tests.causes.reports import audited, definition, export, widget

auditor = partial(command.auditor, env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    return export(tmp_path_factory.mktemp("dump") / "dump.ndjson", crd, widget("a", {"size": 9}))


def test_an_audit_takes_all_options_of_its_outcome(dump, tmp_path):
    accept = tmp_path / "accept.yaml"
    owners = tmp_path / "owners.yaml"
    owners.write_text('[{"team": "blue", "namespace": "team"}]')
    first = ["audit", dump, "--report", tmp_path / "one", "--fail-on", "medium", "--history", tmp_path / "history"]
    done = auditor(*first, "--owners", owners, "--keep-history", 3)
    assert done.code == 1, done.stderr
    assert "Exit code 1: 1 cause of severity medium or worse (--fail-on)." in done.stdout
    [cause] = json.loads(auditor("findings", tmp_path / "one", "-o", "json").stdout)["causes"]
    assert cause["owners"] == ["blue"]
    words = [cause["cause"], "--report", tmp_path / "one", "--reason", "test", "--until", "2999-12-31"]
    assert auditor("accept", *words, "--file", accept).code == 0
    second = ["audit", dump, "--report", tmp_path / "two", "--diff", tmp_path / "one", "--only-new"]
    done = auditor(*second, "--accept", accept, "--max-new", "low=0", "--no-fail-on-standing", "--fail-on", "low")
    assert done.code == 0, done.stderr
    done = auditor("summary", tmp_path / "two")
    assert done.code == 0
    assert "ACCEPTED 1 object" in done.stdout
    done = auditor("trend", tmp_path / "history", "--color", "always")
    assert done.code == 0
    assert "\x1b[1mCAUSE" in done.stdout
    assert cause["cause"] in done.stdout


def test_in_a_pipe_no_path_and_no_command_is_in_pieces(dump, tmp_path):
    first, second = (tmp_path / f"{name}-{'long-name-' * 12}" / "report" for name in ("one", "two"))
    for report, more in ((first, []), (second, ["--diff", first])):
        report.parent.mkdir()
        done = auditor("audit", dump, "--report", report, *more)
        assert done.code == 1, done.stderr
        lines = done.stdout.splitlines()
        assert f"Report: {report}" in lines
        assert lines[-1].startswith(f"  auditor findings {report} ")
        assert auditor(*shlex.split(lines[-1])[1:]).code == 0
        assert len(lines) <= 25
    assert any(str(first) in line for line in lines[:4]), "\n".join(lines)


@pytest.mark.parametrize("words", [["--max-new", "low=0"], ["--severity", "low"], ["--fail-on", "awful"]])
def test_options_of_another_form_are_usage_errors(dump, tmp_path, words):
    assert auditor("audit", dump, "--report", tmp_path / "report", *words).code == 2


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["summary", "REPORT"], 0, "Next: change it as the message says: Widget"),
        (["findings", "REPORT"], 0, "spec.size: Invalid v"),
        (["findings", "REPORT", "--severity", "low"], 0, "No cause matches."),
        (["findings", "REPORT", "zz"], 2, "has no cause zz"),
        (["summary", "missing"], 2, "is not a report"),
        (["trend", "missing"], 2, "is not a folder"),
        (["trend", "."], 2, "has no run"),
        (["accept", "3fa91c02", "--reason", "x", "--until", "soon"], 2, "is not a date"),
    ],
)
def test_commands_answer(dump, tmp_path, words, code, text):
    report = audited(tmp_path / "report", dump)
    done = auditor(*[report if word == "REPORT" else word for word in words])
    assert done.code == code
    assert text in done.stdout + done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if str(report) not in line)


def test_colours_are_printed_when_asked_for_and_not_with_no_color(dump, tmp_path):
    report = audited(tmp_path / "report", dump)
    assert "\x1b[" in auditor("summary", report, "--color", "always").stdout
    assert "\x1b[" not in auditor("summary", report).stdout
    assert "\x1b[" not in auditor("summary", report, "--color", "never").stdout
