"""Reading /proc while processes end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process_tree import processes_by_parent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


def test_a_child_is_below_its_parent_until_it_is_waited_for():
    with subprocess.Popen(["sleep", "60"]) as child:
        assert child.pid in processes_by_parent()[os.getpid()]
        child.kill()
    assert child.pid not in processes_by_parent().get(os.getpid(), [])


@pytest.mark.parametrize("error", [FileNotFoundError, ProcessLookupError])
def test_a_process_that_ends_meanwhile_is_left_out(monkeypatch, error):
    read_text = Path.read_text

    def ended(path, *args, **kwargs):
        if path.parent.name == str(child.pid):
            raise error(path)
        return read_text(path, *args, **kwargs)

    with subprocess.Popen(["sleep", "60"]) as child:
        monkeypatch.setattr(Path, "read_text", ended)
        assert child.pid not in processes_by_parent().get(os.getpid(), [])
        assert os.getpid() in processes_by_parent()[os.getppid()]
        child.kill()
