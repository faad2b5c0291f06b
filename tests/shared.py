"""Where reference data is: recorded in the project, or, from another hand and with more cases, beside it in ../shared.

Where ../shared is missing, tests use what `tests/recorded` has under the same name, in the same form; where that is
missing too, they skip with the reason. ``TESTS_SHARED=none`` leaves ../shared out where it is there.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TESTS_SHARED") or ROOT.parent / "shared")
RECORDED = ROOT / "tests" / "recorded"


def shared(name: str) -> Path:
    """Return the path of a file or folder of the reference data, or skip the calling test or module."""
    for home in (SHARED, RECORDED):
        if (home / name).exists():
            return home / name
    pytest.skip(f"reference data not beside the project: ../shared/{name}", allow_module_level=True)


def second_check(name: str, *, by: str) -> pytest.MarkDecorator:
    """Mark tests of data that is only beside the project; they are not collected where it is missing.

    Args:
        name: The data, below ../shared.
        by: The test file that checks the same with data of the project's own, which always runs.
    """
    return pytest.mark.second_check(name, by)


def beside(name: str) -> Path | None:
    """Return the path of reference data beside the project, or None if it is missing."""
    return SHARED / name if (SHARED / name).exists() else None


def at_least(name: str, with_shared: int, alone: int) -> int:
    """Return how many cases a test must see at least: ../shared has more of them than the project itself.

    Args:
        name: The data, below ../shared.
        with_shared: The least number with that data.
        alone: The least number with the project's own.
    """
    return alone if beside(name) is None else with_shared


def recorded(name: str) -> Path:
    """Return the path of what the project itself has recorded, for tests that know its names."""
    return RECORDED / name


def shared_lines(name: str) -> list[Any]:
    """Return the JSON documents of an NDJSON file (plain or .gz) of the reference data."""
    return _lines(shared(name))


def recorded_lines(name: str) -> list[Any]:
    """Return those of a file that the project itself has recorded."""
    return _lines(recorded(name))


def _lines(path: Path) -> list[Any]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as stream:
        return [json.loads(line) for line in stream]
