"""Puts the project root on the path, so that tests import `tests.shared`, fixes what property tests draw in CI, lets
commands be interrupted, and shuts folders.

A run of CI tests the change that it runs on, so it draws the same cases each time. Other runs draw new ones, and a
failing case becomes a separate test.

A shell's background jobs ignore Ctrl-C (POSIX, asynchronous lists), and so would the commands that tests start there
and interrupt.
"""

import errno
import gc
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.shared import beside

# How long a loaded machine takes to draw a value or to run an example does not depend on the code.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
# The log of an audit (tests/pipelines/test_log.py) has times in it; elsewhere only warnings and errors are of interest.
os.environ.setdefault("AUDITOR_AUDIT_QUIET", "1")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    """Keep the collector of garbage from walking all tests and modules again and again: they live until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # as the program


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """Leave the recursion limit as it was before a test: some code decodes deeper values where it is higher."""
    limit = sys.getrecursionlimit()
    try:
        return (yield)
    finally:
        sys.setrecursionlimit(limit)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config, items):
    """Make second checks and most cases of sampled tests slow, and leave out second checks without their data."""
    counts = Counter()
    for item in items:
        if (mark := item.get_closest_marker("sampled")) is not None:
            name = item.nodeid.partition("[")[0]
            if counts[name] % mark.args[0]:
                item.add_marker(pytest.mark.slow)
            counts[name] += 1
    marks = [(item, item.get_closest_marker("second_check")) for item in items]
    for item, mark in marks:
        if mark is not None:
            item.add_marker(pytest.mark.slow)
    missing = [item for item, mark in marks if mark is not None and beside(mark.args[0]) is None]
    if missing:
        left_out = set(missing)
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=missing)


@pytest.fixture
def shut(monkeypatch):
    """Let no folder of this name be read, as root may read any."""
    listed = os.scandir

    def scandir(path):
        if Path(path).name == "shut":
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
