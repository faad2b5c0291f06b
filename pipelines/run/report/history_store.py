"""The folder of a history, on this machine or in an object store: lists, reads, writes and removes its files."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from auditor.sources.stores.locations import is_remote, local_path
from auditor.sources.stores.store_folder import StoreFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["HistoryFolder", "folder_of"]


class HistoryFolder(Protocol):
    """Where the files of a history are."""

    def names(self) -> list[str]:
        """Return the names of all files."""

    def copies(self, names: Sequence[str], folder: Path) -> list[Path]:
        """Return files that can be read; those of a store are copied to a folder first.

        Raises:
            FileNotFoundError: One is gone.
        """

    def add(self, path: Path) -> None:
        """Take a file over by its name and, in a folder, its permissions, in one step; one of that name is replaced."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove files; one that is gone is no error."""


class _Local:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        return [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []

    def copies(self, names: Sequence[str], folder: Path) -> list[Path]:  # noqa: ARG002 - as that of a store
        return [self._folder / name for name in names]

    def add(self, path: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = self._folder / f".{path.name}.{os.getpid()}"
        draft.touch(0o600)
        draft.write_bytes(path.read_bytes())
        draft.chmod(stat.S_IMODE(path.stat().st_mode))
        draft.replace(self._folder / path.name)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)


class _Remote(StoreFolder):
    def copies(self, names: Sequence[str], folder: Path) -> list[Path]:
        return self.fetch(names, folder)


def folder_of(history: str) -> HistoryFolder:
    """Return the folder of a history, by its path or URL."""
    here = local_path(history) or history
    return _Remote(here) if is_remote(here) else _Local(Path(here))
