"""Where dumps lie that are no local files: object stores and web servers, and patterns of names in them.

``s3://``, ``gs://``, ``az://`` (``abfs://``) and ``file://`` go through pyarrow.fs with the credentials of the
environment, as the tools of these stores find them; ``https://`` through the standard library; other schemes through
fsspec where it is installed. A tar is read from the store as a stream; what has to be mapped is copied to the working
directory first. Names in errors and reports carry neither user, password nor query.
"""

from __future__ import annotations

import fnmatch
import importlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

__all__ = ["Match", "RemoteFile", "expand", "has_wildcards", "is_remote", "remote_file", "shown_url", "upload"]

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_WILD: Final = re.compile(r"[*?\[]")
_COPY: Final = 1 << 20
_TIMEOUT: Final = 60
_WEB: Final = frozenset({"http", "https"})


@dataclass(frozen=True, slots=True)
class Match:
    """A file or folder that a pattern names.

    Attributes:
        path: Path or URL.
        parts: What its wildcards stood for, in order.
    """

    path: str
    parts: tuple[str, ...] = ()


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return _SCHEME.match(path) is not None


def has_wildcards(path: str) -> bool:
    """Whether a path is a pattern; what stands behind a ``?`` of a web address is none."""
    return _WILD.search(path) is not None and path.partition("://")[0].lower() not in _WEB


def shown_url(url: str) -> str:
    """Return a URL without user, password and query."""
    if not is_remote(url):
        return url
    scheme, _, rest = url.partition("://")
    rest = rest.partition("?")[0]
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _failed(url: str, error: Exception) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceError(shown_url(url), "no such file or folder")
    text = str(error).replace(url, shown_url(url)).splitlines()[:1]
    return SourceError(shown_url(url), text[0] if text else type(error).__name__, "", "see the credentials in use")


def _query(url: str) -> dict[str, str]:
    import urllib.parse  # noqa: PLC0415 - only for what is remote

    return dict(urllib.parse.parse_qsl(url.partition("?")[2]))


def _file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it."""
    import urllib.parse  # noqa: PLC0415

    import pyarrow.fs  # noqa: PLC0415 - loads the clients of all stores

    fs: Any = pyarrow.fs
    scheme, _, rest = url.partition("://")
    scheme, path, options = scheme.lower(), urllib.parse.unquote(rest.partition("?")[0]), _query(url)
    if scheme == "file":
        return fs.LocalFileSystem(), "/" + path.lstrip("/") if not path.startswith("/") else path
    if scheme in {"s3", "s3a"}:
        endpoint = options.get("endpoint_override") or os.environ.get("AWS_ENDPOINT_URL_S3")
        endpoint = endpoint or os.environ.get("AWS_ENDPOINT_URL") or ""
        given: dict[str, Any] = {}
        if endpoint:
            kind, _, host = endpoint.rpartition("://")
            given = {"endpoint_override": host.rstrip("/"), "scheme": options.get("scheme") or kind or "https"}
        if options.get("region"):
            given["region"] = options["region"]
        if options.get("anonymous", "").lower() in {"1", "true"}:
            given["anonymous"] = True
        return fs.S3FileSystem(**given), path.rpartition("@")[2]
    if scheme in {"gs", "gcs"}:
        return fs.GcsFileSystem(), path
    if scheme in {"az", "abfs", "abfss"}:
        host, _, below = path.partition("/")
        container, _, account = host.partition("@")
        name = account.partition(".")[0] or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME")
        name = name or os.environ.get("AZURE_STORAGE_ACCOUNT")
        if not name:
            raise SourceError(shown_url(url), "no storage account", "AZURE_STORAGE_ACCOUNT_NAME in the environment")
        return fs.AzureFileSystem(account_name=name), f"{container}/{below}".rstrip("/")
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        known = "s3://, gs://, az://, file://, https://"
        raise SourceError(shown_url(url), f"no reader of {scheme}://", known, "pip install fsspec for others") from None
    found, path = fsspec.core.url_to_fs(url)
    return fs.PyFileSystem(fs.FSSpecHandler(found)), path


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file or folder behind a URL."""

    url: str

    @property
    def shown(self) -> str:
        """The URL as errors and reports have it."""
        return shown_url(self.url)

    def open(self) -> BinaryIO:
        """Return the bytes as a stream, from the beginning.

        Raises:
            SourceError: They cannot be had.
        """
        import urllib.request  # noqa: PLC0415

        try:
            if self.url.partition("://")[0].lower() in _WEB:
                request = urllib.request.Request(self.url)  # noqa: S310 - http or https, see above
                stream: BinaryIO = urllib.request.urlopen(request, timeout=_TIMEOUT)  # noqa: S310
                return stream
            file_system, path = _file_system(self.url)
            stream = file_system.open_input_stream(path, compression=None)
        except (OSError, ValueError) as error:
            raise _failed(self.url, error) from None
        return stream

    def is_folder(self) -> bool:
        """Whether it is a folder (of an object store: whether names begin with it and a slash)."""
        if self.url.partition("://")[0].lower() in _WEB:
            return False
        import pyarrow.fs  # noqa: PLC0415

        try:
            file_system, path = _file_system(self.url)
            info = file_system.get_file_info(path.rstrip("/"))
        except (OSError, ValueError) as error:
            raise _failed(self.url, error) from None
        if info.type == pyarrow.fs.FileType.NotFound:
            raise SourceError(self.shown, "no such file or folder")
        return bool(info.type == pyarrow.fs.FileType.Directory)

    def copy_to(self, target: Path) -> None:
        """Copy the bytes to a local file."""
        with self.open() as stream, target.open("wb") as out:
            try:
                while block := stream.read(_COPY):
                    out.write(block)
            except (OSError, ValueError) as error:
                raise _failed(self.url, error) from None

    def copy_folder_to(self, target: Path) -> None:
        """Copy all files below a folder; names that would lead out of the target are left out."""
        import pyarrow.fs  # noqa: PLC0415

        try:
            file_system, path = _file_system(self.url)
            base = path.rstrip("/")
            found = file_system.get_file_info(pyarrow.fs.FileSelector(base, recursive=True))
            for info in found:
                parts = [part for part in info.path[len(base) :].split("/") if part]
                if info.type != pyarrow.fs.FileType.File or not parts or ".." in parts or "." in parts:
                    continue
                local = target.joinpath(*parts)
                local.parent.mkdir(parents=True, exist_ok=True)
                with file_system.open_input_stream(info.path, compression=None) as stream, local.open("wb") as out:
                    while block := stream.read(_COPY):
                        out.write(block)
        except (OSError, ValueError) as error:
            raise _failed(self.url, error) from None


def remote_file(url: str) -> RemoteFile:
    """Return the file behind a URL; nothing is asked yet."""
    return RemoteFile(url)


def _pattern(segment: str) -> re.Pattern[str]:
    """Return the expression of one segment of a pattern, each wildcard a group."""
    out, at = "", 0
    for found in re.finditer(r"\*+|\?|\[!?\]?[^\]]*\]", segment):
        out += re.escape(segment[at : found.start()])
        translated = ".*" if found[0].startswith("*") else fnmatch.translate(found[0])[4:-3]
        out += f"({translated})"
        at = found.end()
    return re.compile(out + re.escape(segment[at:]))


def expand(pattern: str) -> list[Match]:
    """Return what a pattern names, sorted; a path that is no pattern, or that exists as it is, stays as it is.

    Wildcards are ``*``, ``?`` and ``[...]`` inside a segment, and ``**`` for any number of segments.

    Raises:
        SourceError: The pattern names nothing, or the store cannot be asked.
    """
    if pattern == "-" or not has_wildcards(pattern) or (not is_remote(pattern) and Path(pattern).exists()):
        return [Match(pattern)]
    import pyarrow.fs  # noqa: PLC0415

    scheme, _, rest = pattern.rpartition("://") if is_remote(pattern) else ("", "", pattern)
    plain, mark, query = rest.partition("?") if is_remote(pattern) and "=" in rest.partition("?")[2] else (rest, "", "")
    head = plain[: _WILD.search(plain).start()].rpartition("/")[0]  # type: ignore[union-attr]
    segments = plain[len(head) :].strip("/").split("/")
    try:
        if scheme:
            file_system, base = _file_system(f"{scheme}://{head}{mark}{query}")
        else:
            file_system, base = pyarrow.fs.LocalFileSystem(), head or ("/" if plain.startswith("/") else ".")
        found = sorted(_walk(file_system, base.rstrip("/") or "/", segments, ()))
    except (OSError, ValueError) as error:
        raise _failed(pattern, error) from None
    if not found:
        raise SourceError(shown_url(pattern), "the pattern names nothing")
    out = []
    for path, parts in found:
        if not scheme:
            out.append(Match(path, parts))
        else:
            below = path[len(base.rstrip("/")) :].lstrip("/")
            out.append(Match(f"{scheme}://{head.rstrip('/')}/{below}{mark}{query}", parts))
    return out


def _walk(
    file_system: Any, base: str, segments: list[str], parts: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (path, parts) of what the segments name below a folder."""
    import pyarrow.fs  # noqa: PLC0415

    def below(name: str) -> str:
        return name if base == "." else f"{base.rstrip('/')}/{name}"

    segment, rest = segments[0], segments[1:]
    if not _WILD.search(segment):
        path = below(segment)
        if rest:
            yield from _walk(file_system, path, rest, parts)
        elif file_system.get_file_info(path).type != pyarrow.fs.FileType.NotFound:
            yield path, parts
        return
    if segment == "**":
        if rest:
            yield from _walk(file_system, base, rest, parts)
        for name, folder in _listed(file_system, base):
            if folder:
                yield from _walk(file_system, below(name), segments, parts)
            elif not rest:
                yield below(name), (*parts, name)
        return
    pattern = _pattern(segment)
    for name, folder in _listed(file_system, base):
        match = pattern.fullmatch(name)
        if match is None or (name.startswith(".") and not segment.startswith(".")):
            continue
        if not rest:
            yield below(name), (*parts, *match.groups())
        elif folder:
            yield from _walk(file_system, below(name), rest, (*parts, *match.groups()))


def _listed(file_system: Any, base: str) -> list[tuple[str, bool]]:
    """Return (name, whether it is a folder) of what lies in a folder; nothing where there is none."""
    import pyarrow.fs  # noqa: PLC0415

    selector = pyarrow.fs.FileSelector(base, allow_not_found=True)
    kinds = {pyarrow.fs.FileType.Directory: True, pyarrow.fs.FileType.File: False}
    return sorted(
        (info.base_name, kinds[info.type]) for info in file_system.get_file_info(selector) if info.type in kinds
    )


def upload(folder: Path, url: str, *, last: str) -> None:
    """Copy a folder to a store; the file `last` at its root comes last, so that it stands for all of it.

    Raises:
        SourceError: The store does not take it.
    """
    if url.partition("://")[0].lower() in _WEB:
        raise SourceError(shown_url(url), "a web server takes no report", "s3://, gs://, az:// or a folder")
    try:
        file_system, base = _file_system(url)
        base = base.rstrip("/")
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        for path in sorted(files, key=lambda one: (one == folder / last, one)):
            target = f"{base}/{path.relative_to(folder).as_posix()}"
            if getattr(file_system, "type_name", "") == "local":
                Path(target).parent.mkdir(parents=True, exist_ok=True)
            with path.open("rb") as stream, file_system.open_output_stream(target, compression=None) as out:
                while block := stream.read(_COPY):
                    out.write(block)
    except (OSError, ValueError) as error:
        raise _failed(url, error) from None


def remote_names(url: str) -> list[str]:
    """Return the names of what lies directly in a folder of a store; nothing where there is none."""
    try:
        file_system, base = _file_system(url)
        return [name for name, _ in _listed(file_system, base.rstrip("/"))]
    except (OSError, ValueError) as error:
        raise _failed(url, error) from None
