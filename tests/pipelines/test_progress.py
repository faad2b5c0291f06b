"""The bar on the terminal: what it shows, and that nothing of it stays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base import progress
from pipelines.progress import Bar
from tests.command import auditor
from tests.pipelines.test_promises import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLEAR = "\r\x1b[K"


class Screen:
    """Takes what a bar writes."""

    def __init__(self, columns: int = 80) -> None:
        self.written: list[str] = []
        self.bar = Bar(self.written.append, lambda: columns)

    def shown(self) -> str:
        """Draw; return what was written for it."""
        self.written.clear()
        self.bar.draw()
        return "".join(self.written)


def test_it_says_what_is_done_of_how_much_in_79_columns() -> None:
    screen = Screen()
    screen.bar.tell("judging", 5_000, 20_000, "objects")
    text = screen.shown()
    assert text.startswith("\rjudging:  25%|")
    assert " 5000/20000 " in text
    assert text.endswith("\x1b[K")
    assert len(text.removeprefix("\r").removesuffix("\x1b[K")) == 79
    screen.bar.tell("opening", 3 << 20, 12 << 20, "B")
    assert "3.00M/12.0M" in screen.shown()


def test_no_remaining_time_is_guessed_from_the_first_moments() -> None:
    screen = Screen()
    screen.bar.tell("opening", 36 << 10, 30 << 20, "B")
    text = screen.shown()
    assert "| 36.0k/30.0M [" in text
    assert "<" not in text
    screen.bar.tell("opening", 15 << 20, 30 << 20, "B")
    assert "<" in screen.shown()


def test_a_narrow_terminal_has_a_narrow_bar_and_what_is_not_known_is_not_said() -> None:
    screen = Screen(columns=40)
    screen.bar.tell("writing", 0, None, "parts")
    text = screen.shown().removeprefix("\r").removesuffix("\x1b[K")
    assert text.startswith("writing [00:0")
    screen.bar.tell("reading", 300, None, "objects")
    assert screen.shown().startswith("\rreading: 300 objects [")
    screen.bar.tell("reading", 3, 10_000, "objects")
    assert len(screen.shown().removeprefix("\r").removesuffix("\x1b[K")) == 39


def test_it_is_gone_before_a_line_and_comes_back_after_it() -> None:
    screen = Screen()
    assert screen.shown()
    screen.written.clear()
    screen.bar.make_way(b"warning: half a line")
    assert screen.written == [CLEAR]
    assert screen.shown() == ""
    screen.bar.make_way(b", and its end\n")
    assert screen.written == []
    assert screen.shown()


def test_once_stopped_it_never_comes_back() -> None:
    screen = Screen()
    assert screen.shown()
    screen.written.clear()
    screen.bar.stop()
    assert screen.written == [CLEAR]
    screen.bar.tell("judging", 1, 2, "objects")
    assert screen.shown() == ""


def test_without_a_terminal_no_bar_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", type("Pipe", (), {"isatty": lambda _: False})())
    screen.bar.start()
    progress.tell("judging", 1, 2, "objects")
    assert screen.bar._state[0] == "opening"


@pytest.fixture
def states() -> Iterator[list[tuple[Any, ...]]]:
    received: list[tuple[Any, ...]] = []
    progress.listen(lambda *state: received.append(state))
    yield received
    progress.listen(None)


@pytest.mark.parametrize(
    ("words", "phases"),
    [
        (("audit", SAMPLE, "--report", "out", "--jobs", "1"), ["opening", "judging", "writing"]),
        (("diff", SAMPLE, SAMPLE), ["opening", "comparing"]),
        (("query", SAMPLE, "loaves"), ["opening", "reading"]),
    ],
)
def test_a_command_tells_its_phases_in_order(
    tmp_path: Path, states: list[tuple[Any, ...]], words: tuple[Any, ...], phases: list[str]
) -> None:
    auditor(*words, cwd=tmp_path)
    assert list(dict.fromkeys(phase for phase, *_ in states)) == phases
    opened = [(done, total) for phase, done, total, unit in states if phase == "opening" and unit == "B"]
    assert 2 * opened[-1][0] > opened[-1][1]  # after the last pages, not before them
    judged = [(done, total) for phase, done, total, _ in states if phase == "judging"]
    assert not judged or judged[-1][0] == judged[-1][1] > 0
