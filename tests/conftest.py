"""Puts the project root on the path, so that tests import `tests.shared`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
