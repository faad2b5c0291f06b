"""A configuration that no option names runs, writes, removes and reaches nothing, and is never read without a word."""

import json
import os
from pathlib import Path

import click
import pytest

from pipelines.cli import main as cli
from pipelines.cli.config_file import spellings
from pipelines.cli.options.safety import HARMLESS, REACHING, refused_unnamed
from tests.command import auditor
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
            yield from ((*path, name, one.name) for one in command.params if isinstance(one, click.Option))


@pytest.mark.parametrize("option", list(options()), ids=" ".join)
def test_every_option_of_every_command_is_said_to_be_harmless_or_not(option):
    name = option[-1]
    reaching = {name, " ".join(option)} & set(REACHING)
    assert reaching or name in HARMLESS, "add it to one of the tables of pipelines/cli/options/safety.py"
    assert name not in REACHING or name not in HARMLESS


def test_the_tables_name_no_option_that_is_not_there():
    names = {option[-1] for option in options()} | {" ".join(option) for option in options()}
    assert {*REACHING, *HARMLESS} <= names


def test_an_option_that_is_not_classified_is_refused():
    assert refused_unnamed(("audit",), click.Option(["--brand-new"]), "x")


REFUSED = [
    ("audit", "kms-decryptor", "touch ran"), ("audit", "kms_decryptor", "touch ran"), ("audit", "force", True),
    ("audit", "report", "elsewhere"), ("audit", "crds", "https://example.invalid/crds.yaml"), ("audit", "engine", "ray"),
    ("audit", "crds", ["crds", "s3://bucket/crds"]), ("audit", "encryption-config", "x.yaml"), ("audit", "since", "old"),
    ("audit", "diff", "old"), ("audit", "ray-address", "example.invalid:1"), ("audit", "old", "https://example.invalid/"),
    ("audit", "sidecar", "HTTPS://example.invalid/x"), ("audit", "insecure-http", True), ("query", "save-index", "out"),
    ("query", "show-secrets", True), ("query", "output", "parquet=out"), ("query", "kms-decryptor", "touch ran"),
    ("show", "show-secrets", True), ("watch", "show-secrets", True), ("validate", "crds", "gs://bucket/crds"),
    ("upgrade", "report", "elsewhere"), ("upgrade", "new-crds", "https://example.invalid/"), ("upgrade", "force", False),
    ("fields", "kms-decryptor", "touch ran"), ("query", "dump", "https://example.invalid/dump"),
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


def test_what_a_file_that_was_found_sets_is_said(tmp_path):
    (tmp_path / "auditor.yaml").write_text("audit: {fail-on: never, include: [Oven]}\nquery: {limit: 3}\n")
    done = run("audit", SAMPLE, "--report", "r", cwd=tmp_path)
    assert done.code == 0
    line = f"configuration: {tmp_path / 'auditor.yaml'}, found in the current directory, sets "
    assert done.stderr == f"{line}audit fail-on, audit include, query limit\n"
    assert json.loads((tmp_path / "r" / "manifest.json").read_text())["options"]["scope"]["include"] == ["Oven"]


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
    own.write_text("audit: {report: r, fail-on: never, include: [Loaf]}\n")
    (tmp_path / "auditor.yaml").write_text("audit: {include: [Oven]}\n")
    done = run("audit", SAMPLE, cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert [line.split(",")[0] for line in done.stderr.splitlines()] == [
        f"configuration: {own}", f"configuration: {tmp_path / 'auditor.yaml'}"
    ]  # fmt: skip
    assert json.loads((tmp_path / "r" / "manifest.json").read_text())["options"]["scope"]["include"] == ["Oven"]
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
