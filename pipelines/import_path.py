"""Removes the current directory from the module search path: it may contain a dump from an untrusted source.

`python -c` and `python -m`, and an empty entry of PYTHONPATH, make Python search there first. It imports little, and
not `from __future__`: it runs before any other module is searched.
"""

import os
import site
import sys


def leave_out_current_folder() -> bool:
    """Remove the current directory from the module search path of this process and of those that it starts.

    Returns:
        Whether PYTHONPATH has it: then Python may have searched there before this call.
    """
    sys.path[:] = search_path()
    named = os.environ.get("PYTHONPATH")
    if not named:
        return False
    entries = named.split(os.pathsep)
    left = _without_current(entries)
    if len(left) == len(entries):
        return False
    if left:
        os.environ["PYTHONPATH"] = os.pathsep.join(left)
    else:
        del os.environ["PYTHONPATH"]
    return True


def search_path() -> list[str]:
    """Return the module search path of this process, without the current directory."""
    return _without_current(sys.path)


def _without_current(entries: list[str]) -> list[str]:
    """Return entries without those that lead to the current directory; they remain if the auditor itself is there."""
    try:
        current = os.path.realpath(os.getcwd())  # noqa: PTH109 - pathlib is not to be looked for yet
    except OSError:  # it was removed: nothing can be in it
        return [entry for entry in entries if entry]
    if current in _own_folders():
        return [entry or current for entry in entries]
    return [entry for entry in entries if entry and os.path.realpath(entry) != current]


def _own_folders() -> set[str]:
    """Return the folders from which the auditor, its dependencies and Python are loaded."""
    package = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as above
    folders = [os.path.dirname(package), os.path.dirname(os.__file__), *site.getsitepackages()]  # noqa: PTH120
    return {os.path.realpath(folder) for folder in folders}
