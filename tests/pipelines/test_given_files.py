"""A file that an option names is a file of bounded size: a device or a pipe, which may never end, is refused."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from auditor.base import given_file
from tests.command import auditor
from tests.documents import definition_of

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "audit": ("crds", "old", "sidecar", "owners", "accept", "clusters", "encryption-config", "diff"),
    "upgrade": ("new-crds", "old-crds", "via", "sidecar", "old-sidecar", "encryption-config"),
    "query": ("crds", "dump", "encryption-config"),
    "validate": ("crds",),
    "accept": ("report", "file"),
}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.ndjson"
    path.write_text(json.dumps(definition_of({"type": "object"})) + "\n")
    return path


@pytest.mark.parametrize("kind", ["pipe", "device", "link"])
@pytest.mark.parametrize(
    ("command", "option"), [(command, option) for command, options in FILES.items() for option in options]
)
def test_what_may_never_end_is_refused(tmp_path: Path, dump: Path, command: str, option: str, kind: str) -> None:
    path = tmp_path / "given"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    given = "/dev/zero" if kind == "device" else str(path)
    words = {"accept": ["1a65c988", "--reason", "r", "--until", "2027-01-01"], "query": [dump, "xs"]}.get(
        command, [dump]
    )
    report = ["--report", "r"] if command in ("audit", "upgrade") else []
    more = ["--new-crds", dump] if command == "upgrade" and option != "new-crds" else []
    done = auditor(command, *words, *report, *more, f"--{option}", given, cwd=tmp_path)
    assert done.code == 2, done.stderr
    assert option == "file" or f"{given} is a" in done.stderr
    assert f"is a {'pipe' if kind == 'pipe' else 'device'}" in done.stderr
    assert not (tmp_path / "r").exists()


def test_what_a_fleet_names_is_refused_likewise(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = auditor("audit", "--fleet", "pipe", "--report", "r", cwd=tmp_path)
    assert (done.code, "pipe is a pipe" in done.stderr) == (2, True)
    done = auditor("--config", "pipe", "version", cwd=tmp_path)
    assert (done.code, "pipe: is a pipe, not a file" in done.stderr) == (2, True)
    for name in ("encryptionConfig", "crds", "sidecars", "dump"):
        one = {"name": "a", "dump": "none.json", name: ["pipe"] if name in ("crds", "sidecars") else "pipe"}
        (tmp_path / "fleet.json").write_text(json.dumps({"clusters": [one]}))
        done = auditor("audit", "--fleet", "fleet.json", "--report", "r", cwd=tmp_path)
        assert (done.code, "is a pipe" in done.stderr) == (2, True), (name, done.stderr)


@pytest.mark.parametrize(
    "command", ["audit", "validate", "upgrade", "crds check", "crds export", "kinds", "query", "show", "diff"]
)
def test_a_device_is_no_argument(tmp_path: Path, dump: Path, command: str) -> None:
    more = {
        "audit": ["--report", "r"],
        "upgrade": ["--new-crds", dump, "--report", "r"],
        "query": ["xs"],
        "show": ["x"],
    }
    words = [*more.get(command, []), *([dump] if command == "diff" else [])]
    (tmp_path / "zero").symlink_to("/dev/zero")
    done = auditor(*command.split(), "zero", *words, cwd=tmp_path)
    assert (done.code, "zero: is a device" in done.stderr) == (2, True), done.output


WRITTEN = {
    "audit": ("audit", "dump.ndjson", "--report", "r", "--jobs", "1", "-o", "json={}"),
    "page": ("report", "r", "-o", "html={}"),
    "upgrade": ("upgrade", "dump.ndjson", "--new-crds", "dump.ndjson", "--report", "r", "-o", "json={}"),
    "plan": ("upgrade", "dump.ndjson", "--new-crds", "dump.ndjson", "--report", "r", "--plan", "{}"),
    "validate": ("validate", "dump.ndjson", "-o", "json={}"),
    "query": ("query", "dump.ndjson", "xs", "-o", "parquet={}"),
}


@pytest.mark.parametrize("command", WRITTEN)
@pytest.mark.parametrize("kind", ["pipe", "link", "in /dev"])
def test_no_file_replaces_a_device(tmp_path: Path, dump: Path, command: str, kind: str) -> None:
    """No path of the machine is given: what is not refused would be gone, or be there, if the tests run as root."""
    assert dump.is_file()
    (tmp_path / "in").symlink_to("/dev")
    path = "in/auditor-test.json" if kind == "in /dev" else "given.json"
    if kind == "pipe":
        os.mkfifo(tmp_path / path)
    elif kind == "link":
        (tmp_path / path).symlink_to("/dev/null")
    done = auditor(*(word.format(path) for word in WRITTEN[command]), cwd=tmp_path)
    assert done.code == 2, done.output
    assert f"{path} is {'in /dev' if kind == 'in /dev' else 'a pipe' if kind == 'pipe' else 'a device'}" in done.stderr
    assert not os.path.lexists("/dev/auditor-test.json")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("option", ["owners", "accept", "clusters", "encryption-config", "sidecar"])
def test_a_file_of_settings_is_bounded(
    tmp_path: Path, dump: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given_file, "_MOST", 1 << 10)
    (tmp_path / "long").write_text("# " + "x" * (1 << 10))
    done = auditor("audit", dump, "--report", "r", "--jobs", "1", f"--{option}", "long", cwd=tmp_path)
    assert done.code == 2
    assert "has more than 0 MiB" in done.stderr
