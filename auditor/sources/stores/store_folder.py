"""Files of an object store: small ones of a job, and those directly in a folder, several at once with one client."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import SourceError
from auditor.sources.stores import patience
from auditor.sources.stores.folders import listed
from auditor.sources.stores.locations import COPY, ask_store, remote_file, shown_url, store_failures, store_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


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


_MOST = 256 << 20
_BLOCK = 1 << 20


def joined(url: str, name: str) -> str:
    """Return the URL of a file or folder below another; options after the ``?`` are kept."""
    path, mark, query = url.partition("?")
    return f"{path.rstrip('/')}/{name}{mark}{query}"


def read_file(url: str) -> bytes | None:
    """Return the content of a file, or None if it does not exist.

    Raises:
        SourceError: The store does not answer, or the file has more than 256 MiB.
    """
    try:
        with remote_file(url).open() as stream:
            data = stream.read(_MOST + 1)
    except SourceError as error:
        if error.found == "no such file or folder":
            return None
        raise
    if len(data) > _MOST:
        raise SourceError(shown_url(url), f"has more than {_MOST >> 20} MiB")
    return data


def write_file(url: str, data: bytes) -> None:
    """Write a file; an existing one is replaced.

    Raises:
        SourceError: The store refuses it.
    """
    with store_failures(url):
        store, path = store_of(url)
        with store.open_output_stream(path, compression=None) as out:
            out.write(data)


def copy_file(path: Path, url: str) -> None:
    """Copy a local file to a store, block by block; an existing one is replaced.

    Raises:
        SourceError: The store refuses it.
    """
    with path.open("rb") as stream, store_failures(url):
        store, target = store_of(url)
        with store.open_output_stream(target, compression=None) as out:
            while block := stream.read(_BLOCK):
                out.write(block)


def create_file(url: str, data: bytes) -> bool | None:
    """Write a file unless it exists, atomically; return whether it was written.

    Returns None if the store has no such operation.

    Raises:
        SourceError: The store does not answer.
    """
    with store_failures(url):
        store, path = store_of(url)
        create = getattr(store, "create_file", None)
        if create is None:
            return None
        return bool(ask_store(lambda: create(path, data)))


def remove_files(urls: Iterable[str]) -> None:
    """Remove files, in the order given.

    Raises:
        SourceError: The store refuses it.
    """
    for url in urls:
        with store_failures(url):
            store, path = store_of(url)
            store.delete_file(path)
