"""What tests expect of the environment that they run in."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

__all__ = ["without_pandas"]

without_pandas = pytest.mark.skipif(
    find_spec("pandas") is not None, reason="pandas is installed: Arrow loads it, and it loads nearly everything"
)
"""Marks tests that say which modules are not loaded."""
