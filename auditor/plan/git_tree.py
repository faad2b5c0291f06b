"""Files of a revision in the local git repository: ``git:REF:PATH``, read by the git program.

Only files are copied, as they are in the repository: no filter, hook or attribute of the repository runs or counts.

Source: git ls-tree and cat-file; gitrevisions (``REF:PATH`` is relative to the root, ``REF:./PATH`` to the folder).
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

from auditor.base.errors import PlanError
from auditor.sources.source_plan import UNREAD_DEFINITIONS, Damage

if TYPE_CHECKING:
    from pathlib import Path


GIT: Final = "git:"
_SECONDS: Final = 60
_ENVIRONMENT: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
_NOT_FILES: Final = {
    "120000": "it is a link, which was not followed",
    "160000": "it is a submodule, which was not read",
}
_POINTER: Final = b"version https://git-lfs.github.com/spec/"


def checked_out(given: str, folder: Path) -> tuple[Path, list[Damage]]:
    """Copy a file or folder of a revision.

    Args:
        given: ``git:REF:PATH``; an empty path is the whole tree.
        folder: An empty folder, which takes the files.
    Returns:
        Where the file or folder is now, and what is there and was not copied.

    Raises:
        PlanError: There is no such revision or path, or no git.
    """
    ref, colon, path = given.removeprefix(GIT).partition(":")
    if not ref or not colon:
        raise PlanError(given, "it names no revision and path", "git:REF:PATH, such as git:main:crds")
    kind = _git(given, "cat-file", "-t", "--end-of-options", f"{ref}:{path}").decode().strip()
    found = _git(given, "rev-parse", "--verify", "--end-of-options", f"{ref}:{path}").decode().strip()
    base = path.rstrip("/").rpartition("/")[2] or "tree"
    target = folder / (base if base not in (".", "..") else "tree")
    if kind == "blob":
        target.write_bytes(data := _git(given, "cat-file", "blob", found))
        return target, [_damage(given, "", "it is a pointer of Git LFS")] if data.startswith(_POINTER) else []
    target.mkdir()
    unread = []
    for entry in _git(given, "ls-tree", "-r", "-z", found).split(b"\0")[:-1]:
        head, _, name = entry.partition(b"\t")
        mode, _, blob = head.decode().split(" ")
        inner = os.fsdecode(name)
        if why := _NOT_FILES.get(mode, ""):
            unread.append(_damage(given, inner, why))
            continue
        place = target / inner
        place.parent.mkdir(parents=True, exist_ok=True)
        data = _git(given, "cat-file", "blob", blob)
        place.write_bytes(data)
        if data.startswith(_POINTER):
            unread.append(_damage(given, inner, "it is a pointer of Git LFS"))
    return target, unread


def _damage(given: str, inner: str, why: str) -> Damage:
    return Damage(f"{UNREAD_DEFINITIONS}{given.rstrip('/')}{inner and '/'}{inner}", why)


def _git(given: str, *words: str) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 - the user asked for it, and no shell is used
            ["git", *words],  # noqa: S607 - as the user's own commands find it
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise PlanError(given, "git is not on PATH", "git, which reads revisions") from None
    except subprocess.TimeoutExpired:
        raise PlanError(given, f"git gave no answer within {_SECONDS} seconds", "a local revision") from None
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:500]
        raise PlanError(given, f"git: {said}", "a revision and a path of this repository", "a shallow clone has few")
    return done.stdout
