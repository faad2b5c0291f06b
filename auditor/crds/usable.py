"""Definitions that a worker read for their objects, so that no other worker reads them for their own rows."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.crds.definitions_file import DefinitionEntry


class UsableDefinitions:
    """The definitions of a run that a server can use and that have no broken rule, as far as workers know by now.

    Each is one empty file: it is there or not, never in part. A worker that does not find one reads the definition
    itself, with the same result.

    Args:
        folder: A folder of the run that all its workers see.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def has(self, entry: DefinitionEntry) -> bool:
        """Return whether a worker has noted a definition."""
        return (self._folder / str(entry.offset)).exists()

    def add(self, entry: DefinitionEntry) -> None:
        """Note a definition for the other workers."""
        with suppress(OSError):  # no space: they read it themselves
            (self._folder / str(entry.offset)).touch()
