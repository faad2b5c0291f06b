"""Where the reference data lies that stands beside the project; tests that need it skip, saying so, where it is not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def shared(name: str) -> Path:
    """Return the path of a file or folder of the reference data, or skip the calling test or module."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"reference data not beside the project: ../shared/{name}", allow_module_level=True)
    return path


def shared_lines(name: str) -> list[Any]:
    """Return the JSON documents of an NDJSON file (plain or .gz) of the reference data."""
    path = shared(name)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as stream:
        return [json.loads(line) for line in stream]
