"""Work folders of dead runs are removed by the next; those of live ones and folders of others never."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from auditor.sources.files.work_folder import _start_of, clear_dead_folders, work_folder

if TYPE_CHECKING:
    from pathlib import Path

HOLD = """
import sys, time
from pathlib import Path
from auditor.sources.files.work_folder import work_folder
with work_folder(Path(sys.argv[1]), ".report", "report") as folder:
    (folder / "copy").write_text("secret")
    if len(sys.argv) > 2:
        (Path(sys.argv[1]) / "report").rename(folder / "old")
    print(folder.name, flush=True)
    time.sleep(60)
"""


def hold(parent: Path, *words: str) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(parent), *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, parent / process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_signal_between_mkdir_and_its_return_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir

    def interrupted(*words: object, **options: object) -> None:
        mkdir(*words, **options)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt), work_folder(tmp_path, ".report"):
        pytest.fail("it was entered")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_has_the_name_already_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", bytes)  # zeros
    with work_folder(tmp_path, ".report") as own:
        with pytest.raises(FileExistsError), work_folder(tmp_path, ".report"):
            pytest.fail("it was entered")
        assert list(tmp_path.iterdir()) == [own]


def test_folders_of_dead_processes_are_removed_and_of_live_ones_not(tmp_path: Path) -> None:
    dead, left = hold(tmp_path)
    live, used = hold(tmp_path)
    stopped, paused = hold(tmp_path)
    stopped.send_signal(signal.SIGSTOP)
    kill(dead)
    assert left.exists()
    with work_folder(tmp_path, ".report") as own:
        assert not left.exists()
        assert {used, paused, own} == set(tmp_path.iterdir())
        assert own.stat().st_mode & 0o777 == 0o700
    for process in (live, stopped):
        kill(process)
    clear_dead_folders(tmp_path, ".")
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_was_not_awaited_is_dead(tmp_path: Path) -> None:
    process, left = hold(tmp_path)
    process.send_signal(signal.SIGKILL)
    while _start_of(process.pid) != "ended":
        time.sleep(0.01)
    clear_dead_folders(tmp_path, ".")
    assert not left.exists()
    process.wait()


def test_a_report_that_had_stepped_aside_is_put_back(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "manifest.json").write_text("{}")
    process, left = hold(tmp_path, "aside")
    assert not (tmp_path / "report").exists()
    kill(process)
    clear_dead_folders(tmp_path, ".")
    assert not left.exists()
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    "owner",
    [
        None, "", "{}", "[]", "5", '{"tool": "auditor"}', '{"tool": "auditor", "pid": "x"}',
        '{"tool": "auditor", "pid": -1, "boot": ""}', '{"tool": "other", "pid": 4194304}',
        '{"tool": "auditor", "pid": 4194304, "boot": "another", "host": "another"}',
    ],
)  # fmt: skip
def test_folders_of_others_stay(tmp_path: Path, owner: str | None) -> None:
    folder = tmp_path / ".report.abcdefgh"
    folder.mkdir(mode=0o700)
    (folder / "precious").write_text("x")
    if owner is not None:
        (folder / "owner.json").write_text(owner)
    clear_dead_folders(tmp_path, ".")
    assert (folder / "precious").exists()


@pytest.mark.parametrize("spoiled", ["link to folder", "link to owner", "readable", "name", "pipe"])
def test_folders_that_no_run_made_stay(tmp_path: Path, spoiled: str) -> None:
    process, left = hold(tmp_path)
    kill(process)
    target = tmp_path / "kept"
    if spoiled == "link to folder":
        left.rename(target)
        left.symlink_to(target)
    elif spoiled == "link to owner":
        (left / "owner.json").rename(tmp_path / "owner.json")
        (left / "owner.json").symlink_to(tmp_path / "owner.json")
    elif spoiled == "readable":
        left.chmod(0o755)
    elif spoiled == "name":
        left = left.rename(tmp_path / ".report.abc")
    else:
        (left / "owner.json").unlink()
        os.mkfifo(left / "owner.json")
    clear_dead_folders(tmp_path, ".")
    assert (left / "copy").read_text() == "secret"


def test_a_number_that_another_process_has_now_is_that_of_a_dead_one(tmp_path: Path) -> None:
    process, left = hold(tmp_path)
    kill(process)
    owner = json.loads((left / "owner.json").read_text())
    (left / "owner.json").write_text(json.dumps(owner | {"pid": os.getpid()}))
    clear_dead_folders(tmp_path, ".")
    assert not left.exists()
    with work_folder(tmp_path, ".report"):
        clear_dead_folders(tmp_path, ".")
        assert len(list(tmp_path.iterdir())) == 1


def of_another(folder: Path, age: float, **owner: str) -> None:
    """Make a folder that of a process elsewhere, in which nothing changed for some seconds."""
    known = json.loads((folder / "owner.json").read_text())
    with (folder / "owner.json").open("r+") as stream:  # the same file, which may be locked
        stream.write(json.dumps(known | owner))
        stream.truncate()
    then = time.time() - age
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (then, then))


NODE = {"boot": "another boot", "host": "auditor-29", "space": "pid:[4026599999]"}
CONTAINER = {"host": "auditor-29", "space": "pid:[4026599999]"}


@pytest.mark.parametrize(
    ("owner", "age", "remains"),
    [(NODE, 3600, False), (NODE, 60, True), (CONTAINER, 0, False), (NODE | {"boot": ""}, 3600, True)],
    ids=["node", "node, just used", "container of this machine", "unknown"],
)
def test_what_a_killed_pod_left_on_a_shared_volume_is_removed_elsewhere(
    tmp_path: Path, owner: dict[str, str], age: float, remains: bool
) -> None:
    process, left = hold(tmp_path)
    kill(process)
    of_another(left, age, **owner)
    clear_dead_folders(tmp_path, ".")
    assert left.exists() is remains


@pytest.mark.parametrize("owner", [NODE, CONTAINER], ids=["node", "container of this machine"])
def test_a_folder_of_another_pod_whose_lock_is_held_stays(tmp_path: Path, owner: dict[str, str]) -> None:
    process, used = hold(tmp_path)
    of_another(used, 7200, **owner)
    clear_dead_folders(tmp_path, ".")
    assert used.exists()
    kill(process)


@pytest.mark.parametrize("below", ["copy", "report/objects/part-00000.parquet"])
def test_a_folder_of_another_node_in_which_a_file_changed_stays(tmp_path: Path, below: str) -> None:
    process, left = hold(tmp_path)
    kill(process)
    (left / below).parent.mkdir(parents=True, exist_ok=True)
    (left / below).write_text("half")
    of_another(left, 7200, **NODE)
    os.utime(left / below)
    clear_dead_folders(tmp_path, ".")
    assert left.exists()


@pytest.mark.parametrize("name", [".r" * 120, "." + "é" * 120, ".a\udcff"])
def test_any_name_of_a_report_has_a_work_folder(tmp_path: Path, name: str) -> None:
    with work_folder(tmp_path, name) as folder:
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []
