"""Few modules lie between a command and what does its work, so that a reader of the command finds the work soon.

The way is that of the first object. An upgrade judges each object again under the old definitions: by the same modules,
called from `auditor.shards.upgrade.paired`.
"""

from __future__ import annotations

import sys
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import pytest

from auditor.program.program import AuditProgram
from auditor.server.object_reader import ObjectReader
from tests.command import auditor
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest import MonkeyPatch  # noqa: PT013 - for its type alone

SAMPLE = ROOT / "sample-data"
MOST = 8
"""Modules on the way, the command's own and that of the work among them."""


def modules_of_stack() -> Iterator[str]:
    """Yield the module of each call that is not finished, the newest first."""
    frame = sys._getframe(2)
    while frame is not None:
        yield frame.f_globals.get("__name__", "")
        frame = frame.f_back  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("worker", "method", "words"),
    [
        (AuditProgram, "judge", ["audit", SAMPLE / "cluster.db.gz", "--report", "out", "--jobs", 1]),
        (
            AuditProgram,
            "judge",
            [
                "upgrade",
                SAMPLE / "cluster.db.gz",
                "--new-crds",
                SAMPLE / "next-crds.yaml",
                "--report",
                "out",
                "--jobs",
                1,
            ],
        ),
        (ObjectReader, "read", ["query", SAMPLE / "cluster.db.gz", "loaves", "-A"]),
    ],
    ids=["audit", "upgrade", "query"],
)
def test_few_modules_lie_between_a_command_and_its_work(
    worker: Any, method: str, words: list[Any], tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    ways: list[list[str]] = []
    work = getattr(worker, method)

    def followed(*arguments: Any, **named: Any) -> Any:
        calls = takewhile(lambda name: name != "pipelines.cli.main", modules_of_stack())
        own = [worker.__module__, *(name for name in calls if name.startswith(("auditor.", "pipelines.")))]
        ways.append(list(dict.fromkeys(reversed(own))))
        return work(*arguments, **named)

    monkeypatch.setattr(worker, method, followed)
    auditor(*words, cwd=tmp_path)
    assert ways[0][0] == f"pipelines.cli.{words[0]}"
    assert len(ways[0]) <= MOST, " -> ".join(ways[0])
