"""Runs the command line, and writes the processor time (seconds) of its main thread and of its whole process to a file.

    python tests/benchmarks/main_thread.py times.json audit dump.db --report out/ --jobs 2

Both without worker processes. The other threads of the process work beside the main one, such as that of the digest.
"""

from __future__ import annotations

import atexit
import json
import sys
import time
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

__all__ = ["write_times"]


def write_times(path: Path) -> None:
    """Write the times of this process, called in its main thread."""
    path.write_text(json.dumps({"main": time.thread_time(), "all": time.process_time()}))


if __name__ == "__main__":  # workers load this file under another name
    from pipelines.cli.main import main

    atexit.register(write_times, Path(sys.argv.pop(1)))
    main()
