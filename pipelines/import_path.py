"""Leaves the current directory out of where Python looks for modules: it may be a dump made by a stranger.

`python -c` and `python -m`, and an empty entry of PYTHONPATH, have Python look there first. Light on purpose, and
without `from __future__`: it runs before anything else is looked for.
"""

import os
import site
import sys

__all__ = ["leave_out_current_folder", "search_path"]


def leave_out_current_folder() -> bool:
    """Look for modules in the current directory neither here nor in processes that this one starts.

    Returns:
        Whether PYTHONPATH named it: then Python may have looked there before this could be called.
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
    """Return where this process looks for modules, but for the current directory."""
    return _without_current(sys.path)


def _without_current(entries: list[str]) -> list[str]:
    """Return entries but those that lead to the current directory; where the auditor itself is there they are left."""
    try:
        current = os.path.realpath(os.getcwd())  # noqa: PTH109 - pathlib is not to be looked for yet
    except OSError:  # it is gone: nothing can be in it
        return [entry for entry in entries if entry]
    if current in _own_folders():
        return [entry or current for entry in entries]
    return [entry for entry in entries if entry and os.path.realpath(entry) != current]


def _own_folders() -> set[str]:
    """Return the folders that the auditor, what it depends on and Python are loaded from."""
    package = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as above
    folders = [os.path.dirname(package), os.path.dirname(os.__file__), *site.getsitepackages()]  # noqa: PTH120
    return {os.path.realpath(folder) for folder in folders}
