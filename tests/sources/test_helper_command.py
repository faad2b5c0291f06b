"""A command of the user is bounded in time, output and calls, and nothing that it starts outlives its call."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from auditor.base.errors import PlanError
from auditor.sources.helper_command import HelperCommand, HelperFailed

if TYPE_CHECKING:
    from pathlib import Path


def helper(command: str, **bounds: float) -> HelperCommand:
    given = {"seconds": 120.0, "most": 1 << 20, **bounds}
    return HelperCommand("--helper", command, name="the helper", **given)  # type: ignore[arg-type]


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "helper.py"
    path.write_text(text)
    return f"{sys.executable} {path}"


@pytest.mark.parametrize("size", [0, 1, 1 << 20])
def test_an_answer_is_returned_whole(size: int) -> None:
    assert helper("cat", most=1 << 21).ask(b"x" * size + b".") == b"x" * size + b"."


def test_a_command_that_reads_nothing_still_answers() -> None:
    assert helper("echo yes").ask(b"x" * (1 << 20)) == b"yes\n"


def test_the_environment_of_a_call_is_added(tmp_path: Path) -> None:
    command = script(tmp_path, "import os\nprint(os.environ['KEY'], 'PATH' in os.environ)")
    assert helper(command).ask(b"", {"KEY": "a\0b"}) == b"ab True\n"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("cat /dev/zero", "the helper gave more than 1000 bytes"),
        ("true", "the helper gave 0 bytes"),
        ("false", "the helper ended with 1"),
        ("sleep {long}", "the helper gave no answer within 0.3 seconds"),
        ("sh -c 'sleep {long} & echo late'", "the helper gave no answer within 0.3 seconds"),
        ("sh -c 'exec >&-; sleep {long}'", "the helper gave no answer within 0.3 seconds"),
        ("/nowhere/helper", "the helper cannot be run: No such file or directory"),
    ],
)
def test_a_call_without_an_answer_says_why_and_leaves_nothing_running(command: str, reason: str) -> None:
    long = f"86400.{os.getpid()}"
    with pytest.raises(HelperFailed) as caught:
        helper(command.replace("{long}", long), seconds=0.3 if "sleep" in command else 120, most=1000).ask(b"key")
    assert str(caught.value) == reason
    for _ in range(600):  # a process that was killed may be listed for a moment
        if not running(long):
            return
        time.sleep(0.1)
    raise AssertionError(running(long))


def running(word: str) -> list[str]:
    """Return the commands of all processes with a word."""
    listed = subprocess.run(["ps", "-A", "-o", "args="], check=True, capture_output=True, text=True)
    return [line for line in listed.stdout.splitlines() if word in line]


def test_what_a_command_started_is_gone_after_its_call(tmp_path: Path) -> None:
    left = tmp_path / "left"
    helper(f"sh -c '(sleep 1; touch {left}) >/dev/null & echo yes'").ask(b"")
    time.sleep(1.5)
    assert not left.exists()


def test_calls_are_bounded(tmp_path: Path) -> None:
    asked = helper("cat", calls=2)
    assert [asked.ask(b"a"), asked.ask(b"b")] == [b"a", b"b"]
    with pytest.raises(HelperFailed, match=r"^the helper is not asked any more: it was asked 2 times$"):
        asked.ask(b"c")


def test_failing_calls_are_bounded_in_time_and_good_ones_are_not() -> None:
    failing = helper("sleep 60", seconds=0.2, failing_seconds=0.3)
    for _ in range(2):
        with pytest.raises(HelperFailed, match="no answer within"):
            failing.ask(b"")
    with pytest.raises(HelperFailed, match="not asked any more: failing calls took"):
        failing.ask(b"")
    good = helper("cat", failing_seconds=1e-9)
    assert [good.ask(b"a"), good.ask(b"b")] == [b"a", b"b"]


@pytest.mark.parametrize(("command", "reason"), [("'", "cannot be split into words"), ("  ", "empty")])
def test_a_command_that_is_none_is_refused(command: str, reason: str) -> None:
    with pytest.raises(PlanError, match=f"--helper: {reason}"):
        helper(command)
