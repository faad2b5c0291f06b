"""Puts the project root on the path, so that tests import `tests.shared`, and fixes what property tests draw in CI.

A run of CI says something about the change that it runs on: it draws the same cases each time. Everybody else draws new
ones, and a case that fails becomes a test of its own.
"""

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
