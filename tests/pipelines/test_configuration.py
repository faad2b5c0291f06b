"""A configuration that no option names runs, writes, removes and reaches nothing, and is never read without a word."""

import importlib
import json
import os
import re
import sys
from dataclasses import make_dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from auditor.plan import options as options_of_run
from auditor.plan.declared import COUNTS, RUNS, SHOWS, option
from pipelines.cli import main as cli
from pipelines.cli.config_file import spellings
from pipelines.cli.options.made import Option, refused_unnamed
from tests.command import auditor
from tests.documents import definition_of
from tests.shared import ROOT

SAMPLE = str(ROOT / "sample-data" / "cluster.db.gz")


def run(*arguments, cwd, **env):
    """Run the command in a folder, for a user who has no configuration but one that `env` names."""
    known = {"HOME": str(cwd / "home"), "XDG_CONFIG_HOME": None, "AUDITOR_CONFIG": None, **env}
    return auditor(*arguments, cwd=cwd, env=known)


def options(group=cli.cli, path=()):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from options(command, (*path, name))
        else:
            yield from ((*path, name, each) for each in command.params if isinstance(each, click.Option))


@pytest.mark.parametrize(("path", "option"), [(" ".join(each[:-1]), each[-1]) for each in options()])
def test_every_option_of_every_command_is_declared_with_its_effect(path, option):
    assert isinstance(option, Option), path
    assert option.declared.effect, path


def test_an_option_that_is_not_declared_is_refused():
    assert refused_unnamed(click.Option(["--brand-new"]), "x")


@pytest.fixture
def command_with(monkeypatch):
    """Returns the command line that is made where an audit has one more option."""

    def made(effect):
        field = ("probe", str, option("--probe NAME", "An option that no other place names.", effect, "none"))
        probed = make_dataclass("AuditOptions", [field], bases=(options_of_run.AuditOptions,), frozen=True)
        monkeypatch.setattr(options_of_run, "AuditOptions", probed)
        for name in [name for name in sys.modules if name.startswith("pipelines.cli")]:
            monkeypatch.delitem(sys.modules, name)
        package = importlib.import_module("pipelines")
        monkeypatch.setattr(package, "cli", package.cli)  # the import of the new one sets it
        return importlib.import_module("pipelines.cli.main").cli

    return made


def probed_run(group, *words, monkeypatch):
    """Run an audit up to its start; return the result of click, and the probe that the run was given."""
    started = []

    def run(options):
        started.append(options.probe)
        raise click.Abort

    monkeypatch.setattr("pipelines.run.fleet.run_anywhere", run)
    return CliRunner().invoke(group, words, auto_envvar_prefix="AUDITOR"), started


def test_an_option_is_declared_in_one_place(command_with, monkeypatch, tmp_path):
    group = command_with(SHOWS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    shown = CliRunner().invoke(group, ["audit", "--help"]).output
    assert re.search(r"--probe NAME +An option that no other place names\.\s+\[default: none]", shown)
    audit = ("audit", SAMPLE, "--report", "r", "--jobs", "1")
    assert probed_run(group, *audit, monkeypatch=monkeypatch)[1] == ["none"]
    assert probed_run(group, *audit, "--probe", "flag", monkeypatch=monkeypatch)[1] == ["flag"]
    (tmp_path / "auditor.yaml").write_text("audit: {probe: found}\n")
    assert probed_run(group, *audit, monkeypatch=monkeypatch)[1] == ["found"]
    monkeypatch.setenv("AUDITOR_AUDIT_PROBE", "environment")
    assert probed_run(group, *audit, monkeypatch=monkeypatch)[1] == ["environment"]


@pytest.mark.parametrize(
    ("effect", "code", "said"),
    [
        (COUNTS, 1, "auditor.yaml does not set audit probe: only a file given with --config may decide"),
        (RUNS, 2, "auditor.yaml: audit: probe: only a file given with --config may set this (it runs a command)"),
    ],
)
def test_a_file_that_was_found_sets_an_option_by_its_effect(command_with, monkeypatch, tmp_path, effect, code, said):
    group = command_with(effect)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    (tmp_path / "auditor.yaml").write_text("audit: {probe: found}\n")
    audit = ("audit", SAMPLE, "--report", "r", "--jobs", "1")
    ended, probes = probed_run(group, *audit, monkeypatch=monkeypatch)
    assert (ended.exit_code, probes) == (code, ["none"] if code == 1 else [])
    assert said in ended.output
    assert probed_run(group, "--config", "auditor.yaml", *audit, monkeypatch=monkeypatch)[1] == ["found"]


REFUSED = [
    ("audit", "kms-decryptor", "touch ran"), ("audit", "kms_decryptor", "touch ran"), ("audit", "force", True),
    ("audit", "report", "elsewhere"), ("audit", "crds", "https://example.invalid/crds.yaml"), ("audit", "engine", "ray"),
    ("audit", "crds", ["crds", "s3://bucket/crds"]), ("audit", "encryption-config", "x.yaml"), ("audit", "diff", "old"),
    ("audit", "diff", "old"), ("audit", "ray-address", "example.invalid:1"), ("audit", "old", "https://example.invalid/"),
    ("audit", "sidecar", "HTTPS://example.invalid/x"), ("audit", "insecure-http", True), ("query", "save-index", "out"),
    ("query", "show-secrets", True), ("query", "output", "parquet=out"), ("query", "kms-decryptor", "touch ran"),
    ("show", "show-secrets", True), ("history", "show-secrets", True), ("validate", "crds", "gs://bucket/crds"),
    ("upgrade", "report", "elsewhere"), ("upgrade", "new-crds", "https://example.invalid/"), ("upgrade", "force", False),
    ("explain", "kms-decryptor", "touch ran"), ("query", "dump", "https://example.invalid/dump"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "option", "value"), REFUSED)
def test_what_runs_writes_or_reaches_is_refused_with_the_file_the_key_and_what_to_do(tmp_path, command, option, value):
    (tmp_path / "auditor.yaml").write_text(json.dumps({command: {option: value}}))
    done = run("version", cwd=tmp_path)
    assert (done.code, done.stdout) == (2, "")
    assert f"auditor.yaml: {command}: {option}: only a file given with --config may set" in done.stderr
    assert "--config auditor.yaml" in done.stderr
    assert run("--config", "", "version", cwd=tmp_path).code == 0
    if option != "engine":
        named = run("--config", "auditor.yaml", "version", cwd=tmp_path)
        assert (named.code, named.stderr) == (0, f"configuration: {tmp_path / 'auditor.yaml'}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["auditor.yaml"]


def test_an_audit_runs_no_command_of_a_file_that_it_found(tmp_path):
    (tmp_path / "auditor.yaml").write_text("audit:\n  report: r\n  force: true\n  kms-decryptor: touch ran\n")
    done = run("audit", SAMPLE, "--report", "out", cwd=tmp_path)
    assert done.code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["auditor.yaml"]


def test_what_a_file_that_was_found_sets_and_does_not_set_is_said(tmp_path):
    (tmp_path / "auditor.yaml").write_text(
        "audit: {fail-on: never, include: [Oven], jobs: 1}\nquery: {no_headers: true}\n"
    )
    done = run("audit", SAMPLE, "--report", "r", cwd=tmp_path)
    assert done.code == 1
    file = tmp_path / "auditor.yaml"
    assert done.stderr == (
        f"configuration: {file}, found in the current directory, sets audit jobs, query no-headers\n"
        "warning: auditor.yaml does not set audit fail-on, audit include: only a file given with --config may decide "
        "which objects or findings count; if the file is yours, name it (--config auditor.yaml); to run without it: "
        "--config ''\n"
    )
    assert json.loads((tmp_path / "r" / "manifest.json").read_text())["options"]["scope"]["include"] == []


@pytest.fixture(scope="module")
def invalid(tmp_path_factory):
    """A folder with a dump of one object that is too long, and definitions that allow it."""
    folder = tmp_path_factory.mktemp("invalid")
    metadata = {"name": "long", "namespace": "dock"}
    bad = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata, "spec": {"wood": "xxxx"}}
    for name, longest, objects in (("dump.ndjson", 1, [bad]), ("loose.json", 100, [])):
        spec = {"type": "object", "properties": {"wood": {"type": "string", "maxLength": longest}}}
        crd = definition_of({"type": "object", "properties": {"spec": spec}})
        (folder / name).write_text("".join(json.dumps(one) + "\n" for one in (crd, *objects)))
    (folder / "owners.yaml").write_text("[]\n")
    return folder


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[
            ("crds", ["loose.json"]),
            ("exclude", ["X"]),
            ("include", ["Y"]),
            ("namespace", "other"),
            ("skip", ["rules"]),
        ],
        *[("fail-on", "never"), ("owners", "owners.yaml"), ("sidecar", ["gates.yaml"]), ("selector", "a=b")],
        *[("field-selector", "metadata.name=b"), ("at", "v9"), ("accept", "accept.yaml"), ("severity", ["low kind=X"])],
        *[("time", "0.001s"), ("time-per-object", "1ms"), ("etcd-prefix", "/other"), ("kubernetes", "1.32")],
        *[("dry-run", True), ("source", "kine"), ("all-namespaces", True), ("memory", "1Mi"), ("verify", "0")],
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_changes_which_objects_or_findings_count_is_not_set(invalid, tmp_path, option, value):
    for file in invalid.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "auditor.yaml").write_text(json.dumps({"audit": {option: value}}))
    done = run("audit", "dump.ndjson", "--report", "r", "--jobs", "1", cwd=tmp_path)
    assert done.code == 1, done.stderr
    assert f"auditor.yaml does not set audit {option}: only a file given with --config may decide" in done.stderr
    assert json.loads((tmp_path / "r" / "manifest.json").read_text())["counts"]["statuses"]["invalid"] == 1


@pytest.mark.parametrize("how", ["XDG_CONFIG_HOME", "HOME", "AUDITOR_CONFIG", "--config"])
def test_the_users_own_and_what_was_named_sets_everything(tmp_path, how):
    (tmp_path / "here").mkdir()
    below = tmp_path / (".config" if how == "HOME" else "x") / "auditor"
    below.mkdir(parents=True)
    file = below / "auditor.yaml"
    file.write_text("audit: {report: r, force: true, fail-on: never, kms-decryptor: 'true'}\n")
    env = {"XDG_CONFIG_HOME": str(below.parent), "HOME": str(tmp_path), "AUDITOR_CONFIG": str(file)}
    given = () if how in env else ("--config", str(file))
    done = run(*given, "audit", SAMPLE, cwd=tmp_path / "here", **{name: env[name] for name in env if name == how})
    assert (done.code, done.stderr) == (0, f"configuration: {file}\n")
    assert (tmp_path / "here" / "r" / "manifest.json").exists()


def test_what_was_found_lies_over_the_users_own_and_a_named_one_is_read_alone(tmp_path):
    own = tmp_path / "home" / ".config" / "auditor" / "auditor.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("audit: {report: r, fail-on: never, include: [Loaf], log-format: text}\n")
    (tmp_path / "auditor.yaml").write_text("audit: {include: [Oven], log-format: json}\n")
    done = run("audit", SAMPLE, cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert [line.split(",")[0] for line in done.stderr.splitlines() if line.startswith("configuration: ")] == [
        f"configuration: {own}", f"configuration: {tmp_path / 'auditor.yaml'}"
    ]  # fmt: skip
    assert "sets audit log-format\n" in done.stderr
    assert json.loads((tmp_path / "r" / "manifest.json").read_text())["options"]["scope"]["include"] == ["Loaf"]
    named = run("--config", "auditor.yaml", "audit", SAMPLE, cwd=tmp_path)
    assert named.code == 2
    assert "--report" in named.stderr


def test_a_user_whose_folder_is_the_current_one_has_named_nothing_less(tmp_path):
    (tmp_path / "auditor").mkdir()
    (tmp_path / "auditor" / "auditor.yaml").write_text("audit: {report: r}\n")
    done = run("version", cwd=tmp_path / "auditor", XDG_CONFIG_HOME=str(tmp_path))
    assert (done.code, done.stderr) == (0, f"configuration: {tmp_path / 'auditor' / 'auditor.yaml'}\n")


def test_a_config_folder_that_is_not_absolute_is_none_of_the_users(tmp_path):
    (tmp_path / "x" / "auditor").mkdir(parents=True)
    (tmp_path / "x" / "auditor" / "auditor.yaml").write_text("audit: {report: r}\n")
    done = run("version", cwd=tmp_path, XDG_CONFIG_HOME="x")
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_what_is_no_file_is_not_read_unless_it_is_named(tmp_path, make):
    make(tmp_path / "auditor.yaml")
    done = run("version", cwd=tmp_path)
    assert (done.code, "auditor.yaml: is not a regular file" in done.stderr) == (2, True)


def test_nor_is_a_file_that_no_user_would_write(tmp_path):
    (tmp_path / "auditor.yaml").write_text("# " + "x" * (1 << 20))
    done = run("version", cwd=tmp_path)
    assert (done.code, "is longer than 1048576 bytes" in done.stderr) == (2, True)


@pytest.mark.parametrize("text", ['{"a\\u001b[31m\\n": {}}', '{"audit": {"a\\u001b[31m\\n": 1}}'])
def test_names_in_the_file_do_not_reach_the_terminal_as_they_are(tmp_path, text):
    (tmp_path / "auditor.yaml").write_text(text)
    done = run("version", cwd=tmp_path)
    assert done.code == 2
    assert "a\\x1b[31m\\n: there is no such" in done.stderr


def test_every_option_can_be_named_as_its_flag_or_its_variable_is():
    names = spellings(cli.cli.commands["audit"])
    assert names["selector"] is names["labels"]
