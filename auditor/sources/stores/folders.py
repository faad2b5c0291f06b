"""Folders of object stores: listing them, and copying a local folder there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.base.errors import SourceError
from auditor.sources.stores.locations import COPY, ask_store, is_web, shown_url, store_failures, store_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def listed(file_system: Any, base: str) -> list[tuple[str, bool]]:
    """Return (name, whether it is a folder) of each entry of a folder; nothing if it does not exist."""
    import pyarrow.fs  # noqa: PLC0415

    # Google's client shows a folder only if an object with its name exists, so everything below is listed
    deep = getattr(file_system, "type_name", "") == "gcs"
    selector = pyarrow.fs.FileSelector(base, allow_not_found=True, recursive=deep)
    kinds = {pyarrow.fs.FileType.Directory: True, pyarrow.fs.FileType.File: False}
    sizes: dict[str, bool] = {}
    for info in ask_store(lambda: file_system.get_file_info(selector)):
        if info.type in kinds:
            name, slash, _ = info.path[len(base) :].strip("/").partition("/") if deep else (info.base_name, "", "")
            sizes[name] = sizes.get(name, False) or bool(slash) or kinds[info.type]
    return sorted(sizes.items())


def upload(folder: Path, url: str, *, last: str, replaced: Sequence[str] = ()) -> None:
    """Copy a folder to a store; the file `last` at its root is written last, so that its existence means completeness.

    Args:
        folder: The folder.
        url: The target.
        last: Name of that file.
        replaced: Paths of files there that are removed, `last` first, unless there is a new one of the name.

    Raises:
        SourceError: The store refuses it.
    """
    if is_web(url):
        raise SourceError(shown_url(url), "a web server takes no report", "s3://, gs://, az:// or a folder")
    with store_failures(url):
        file_system, base = store_of(url)
        base = base.rstrip("/")
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if last in replaced:
            file_system.delete_file(f"{base}/{last}")
        for name in sorted({*replaced} - {last, *(path.relative_to(folder).as_posix() for path in files)}):
            file_system.delete_file(f"{base}/{name}")
        for path in sorted(files, key=lambda one: (one == folder / last, one)):
            target = f"{base}/{path.relative_to(folder).as_posix()}"
            if getattr(file_system, "type_name", "") == "local":
                Path(target).parent.mkdir(parents=True, exist_ok=True)
            with path.open("rb") as stream, file_system.open_output_stream(target, compression=None) as out:
                while block := stream.read(COPY):
                    out.write(block)


def remote_files(url: str) -> list[str]:
    """Return the path, relative to a folder of a store, of each file in it; nothing if there is no such folder."""
    import pyarrow.fs  # noqa: PLC0415

    with store_failures(url):
        file_system, base = store_of(url)
        base = base.rstrip("/")
        infos = file_system.get_file_info(pyarrow.fs.FileSelector(base, allow_not_found=True, recursive=True))
        return [info.path[len(base) :].strip("/") for info in infos if info.type == pyarrow.fs.FileType.File]


def remote_names(url: str) -> list[str]:
    """Return the names of the direct entries of a folder of a store; nothing if there is no such folder."""
    with store_failures(url):
        file_system, base = store_of(url)
        return [name for name, _ in listed(file_system, base.rstrip("/"))]
