"""The files directly in a folder of an object store: one client for all requests, several files at once."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from auditor.sources.stores import patience
from auditor.sources.stores.folders import listed
from auditor.sources.stores.locations import COPY, ask_store, store_failures, store_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["StoreFolder"]

_AT_ONCE: Final = 8


class StoreFolder:
    """A folder of a store.

    Args:
        url: Its URL.

    Raises:
        SourceError: There is no client for it. Its methods: the store does not answer, or refuses.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        with store_failures(url):
            self._store, base = store_of(url)
        self._base = base.rstrip("/")

    def names(self) -> list[str]:
        """Return the names of the files in the folder; nothing if it does not exist."""
        with store_failures(self._url):
            return [name for name, _ in listed(self._store, self._base)]

    def fetch(self, names: Sequence[str], folder: Path) -> list[Path]:
        """Copy files to a local folder, and return the copies.

        Raises:
            FileNotFoundError: A file no longer exists.
        """
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            answers = [pool.submit(self._fetch, name, folder / name) for name in names]
            wait(answers)
        for answer in answers:
            if isinstance(answer.exception(), FileNotFoundError):
                answer.result()
        with store_failures(self._url):
            return [answer.result() for answer in answers]

    def _fetch(self, name: str, target: Path) -> Path:
        asked: partial[Any] = partial(self._store.open_input_stream, f"{self._base}/{name}", compression=None)
        stream = ask_store(asked)
        ahead = patience.ReadAhead(stream.read, patience.READ_SECONDS)
        try:
            with target.open("wb") as out:
                while block := ahead.read(COPY):
                    out.write(block)
        finally:
            if ahead.stop():
                stream.close()
        return target

    def add(self, path: Path) -> None:
        """Copy a local file into the folder, under its own name; an existing file is replaced."""
        target = f"{self._base}/{path.name}"
        with (
            path.open("rb") as stream,
            store_failures(self._url),
            self._store.open_output_stream(target, compression=None) as out,
        ):
            while block := stream.read(COPY):
                out.write(block)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files; a missing one is not an error."""
        with store_failures(self._url):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    self._store.delete_file(f"{self._base}/{name}")
