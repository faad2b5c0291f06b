"""Reads the recorded answers beside this file."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "recorded"


def recorded(name: str) -> list[Any]:
    """Return the pairs of a file: what was asked (bytes where it is base64), what was answered."""
    pairs = [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text(encoding="ascii").splitlines()]
    assert pairs
    return [
        (base64.b64decode(asked["b64"]) if isinstance(asked, dict) else asked, answered) for asked, answered in pairs
    ]


def shown(asked: object) -> str:
    """Return a short name for a test."""
    return repr(asked)[:60]
