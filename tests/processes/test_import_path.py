"""Nothing is imported from the current directory, by any command, nor by any process that a command starts."""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from pipelines.import_path import search_path
from tests.documents import definition_of
from tests.shared import ROOT

OBJECTS = 12_000
HEAD = '{"apiVersion":"x.example.com/v1","kind":"X","metadata":{"namespace":"d","name":"x'
MARK = "imported"
SCRIPT = (
    "import sys\nfrom pipelines.cli.main import main\nif __name__ == '__main__':\n    sys.exit(main())\n"  # as pip's
)
PIECES = {"sitecustomize", "usercustomize", "ray", "fsspec", "pandas", "pipelines", "auditor", "cryptography", "nacl"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder of dumps with a module for every name that Python or a dependency may ask for."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in {*sys.stdlib_module_names, *packages_distributions(), *PIECES}:
        if name.isidentifier():
            (folder / f"{name}.py").write_text(f"open({str(folder / MARK)!r}, 'a').write({name + ' '!r})\n")
    lines = "".join(f'{HEAD}{number}"}}}}\n' for number in range(OBJECTS))
    (folder / "many.ndjson").write_text(lines)
    (folder / "many.ndjson.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "crd.json").write_text(json.dumps(definition_of({"type": "object"})))
    (folder / "one.json").write_text(f'{HEAD}1"}}}}\n')
    with tarfile.open(folder / "many.tar.gz", "w:gz") as tar:
        tar.add(folder / "many.ndjson", "many.ndjson")
    return folder


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    script = tmp_path_factory.mktemp("bin") / "auditor"
    script.write_text(SCRIPT)
    return [sys.executable, str(script)]


def run(command, folder, *arguments, stdin=None, **more):
    """Run a command in a folder; return what ended, once nothing was imported from there."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **more}
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=env, stdin=stdin, capture_output=True, text=True, check=False
    )
    mark = folder / MARK
    imported = mark.read_text() if mark.exists() else ""
    mark.unlink(missing_ok=True)
    assert imported == "", f"{arguments}: {done.stderr}"
    return done


AUDITS = [("many.ndjson.gz",), ("many.ndjson",), (".", "--exclude", "Y"), ("many.tar.gz",), ("*.ndjson*",)]


def audit(*dumps, jobs="2"):
    return ["audit", *dumps, "--crds", "crd.json", "--fail-on", "never", "--jobs", jobs]


@pytest.fixture(scope="module")
def report(hostile, command, tmp_path_factory):
    out = tmp_path_factory.mktemp("reports") / "report"
    assert run(command, hostile, *audit("many.ndjson.gz"), "--report", str(out)).returncode == 0
    return out


def test_an_audit_with_workers_imports_nothing_from_the_current_directory(report):
    assert json.loads((report / "manifest.json").read_text())["counts"]["statuses"] == {"valid": OBJECTS}


@pytest.mark.slow
@pytest.mark.parametrize("dumps", AUDITS, ids=[each[0] for each in AUDITS])
def test_no_form_of_a_dump_has_an_audit_import_anything_from_there(hostile, command, tmp_path, dumps):
    done = run(command, hostile, *audit(*dumps), "--report", str(tmp_path / "r"))
    assert done.returncode in {0, 3}, done.stderr  # the folder holds files that are no dumps
    assert (tmp_path / "r" / "manifest.json").exists()


@pytest.mark.slow
def test_nor_does_an_audit_of_what_comes_by_a_pipe_or_after_an_earlier_one(hostile, command, report, tmp_path):
    with (hostile / "many.ndjson").open("rb") as stdin:
        assert run(command, hostile, *audit("-"), "--report", str(tmp_path / "r"), stdin=stdin).returncode == 0
    diff = ("--diff", str(report))
    assert run(command, hostile, *audit("many.ndjson.gz"), "--report", str(tmp_path / "s"), *diff).returncode == 0


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_nor_does_a_ray_of_our_own(hostile, command, tmp_path):
    done = run(command, hostile, *audit("many.ndjson"), "--report", str(tmp_path / "r"), "--engine", "ray")
    assert done.returncode == 0, done.stderr


ASKS = [
    "query {report} x -o name", "query many.ndjson.gz x --crds crd.json -o yaml", "show {report} d/x1",
    "explain {report} x", "diff {report} {report}", "crds check crd.json", "kinds many.ndjson --crds crd.json",
    "validate --crds crd.json one.json", "gates list crd.json", "sources", "version", "--help", "audit --help",
    "history one.json x", "query s3://no-such-bucket.invalid/report x", "query other://report x",
    "upgrade many.ndjson.gz --old-crds crd.json --new-crds crd.json --jobs 2 --report {out}",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKS)
def test_no_other_command_does(hostile, command, report, tmp_path, asked):
    refused = "://" in asked  # what ends early has imported what it needed nevertheless
    arguments = asked.format(report=report, out=tmp_path / "r").split()
    done = run(command, hostile, *arguments, AWS_EC2_METADATA_DISABLED="true")
    assert done.returncode == (1 if "history" in asked else 4 if "s3://" in asked else 2 if refused else 0), done.stderr


def test_the_module_does_not_where_python_itself_did_not(hostile, tmp_path):
    command = [sys.executable, "-P", "-m", "pipelines"]
    assert run(command, hostile, *audit("many.ndjson.gz"), "--report", str(tmp_path / "r")).returncode == 0


@pytest.fixture
def planted(tmp_path):
    """A folder with a module that only workers would import, and none that Python imports at its start."""
    (tmp_path / "multiprocess.py").write_text(f"open({str(tmp_path / MARK)!r}, 'a').write('multiprocess ')\n")
    lines = "".join(f'{HEAD}{number}"}}}}\n' for number in range(OBJECTS))
    (tmp_path / "many.ndjson.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "crd.json").write_text(json.dumps(definition_of({"type": "object"})))
    return tmp_path


@pytest.mark.parametrize(
    "entries",
    [
        ":{root}",
        *(pytest.param(entries, marks=pytest.mark.slow) for entries in ("{root}:", "{root}:.", "{here}:{root}")),
    ],
)
def test_a_pythonpath_that_names_the_current_directory_is_said_and_not_followed(planted, command, entries):
    named = entries.format(root=ROOT, here=planted)
    done = run(command, planted, *audit("many.ndjson.gz"), "--report", "r", PYTHONPATH=named)
    assert done.returncode == 0, done.stderr
    assert "warning: PYTHONPATH names the current directory" in done.stderr


@pytest.mark.parametrize(
    "start", [["-m", "pipelines"], pytest.param(["-c", SCRIPT], marks=pytest.mark.slow)], ids=["module", "code"]
)
def test_a_start_by_module_or_code_does_not_once_the_auditor_runs(planted, start):
    done = run([sys.executable, *start], planted, *audit("many.ndjson.gz"), "--report", "r")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_folder_of_the_auditor_itself_stays_where_it_is_the_current_one(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", ["", str(ROOT), "/elsewhere"])
    assert search_path() == [str(ROOT), str(ROOT), "/elsewhere"]


def test_a_link_to_the_current_directory_is_the_current_directory(monkeypatch, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path / "real")
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "link"), ".", str(tmp_path)])
    assert search_path() == [str(tmp_path)]


def test_where_the_current_directory_is_gone_nothing_is_looked_for_in_it(monkeypatch, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(sys, "path", ["", str(Path("/elsewhere"))])
    assert search_path() == ["/elsewhere"]
