"""Files in object stores: read, write, write only if absent, remove. Files to read must be small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.base.errors import SourceError
from auditor.sources.stores.locations import ask_store, remote_file, shown_url, store_failures, store_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = [
    "copy_file",
    "create_file",
    "joined",
    "read_file",
    "remove_files",
    "write_file",
]

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
