"""Dumps that are not local files: object stores and web servers.

``s3://`` goes through boto3, ``gs://``, ``az://`` (``abfs://``) and ``file://`` through pyarrow.fs, with the
credentials of the environment, as the tools of these stores find them; ``https://`` through the standard library; other
schemes through fsspec where it is installed. ``http://`` is refused unless the user allows it, as a dump could be
changed in transit. Requests to a server that is too slow, or whose listing does not end, are stopped (`patience`).

A tar is read from the store as a stream; files that must be mapped are copied to the working directory first. Names in
errors and reports carry neither user, password nor query.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from auditor.base.errors import SourceError, StoreUnreachable
from auditor.sources.files.free_space import check_free_space
from auditor.sources.files.state import state_of_file
from auditor.sources.stores import patience

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO


Result = TypeVar("Result")

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
COPY: Final = 1 << 20
_NANO: Final = 1_000_000_000
_LONGEST_NAME: Final = 60
"""Largest length of the name of a copy in characters: at most 240 bytes."""
_MOST_TEXT: Final = 400
_INSECURE: Final = "AUDITOR_INSECURE_HTTP"
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_NAME_ERRORS: Final = frozenset({
    errno.EEXIST, errno.EILSEQ, errno.EINVAL, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOTDIR,
})  # fmt: skip
_WEB: Final = frozenset({"http", "https"})
_CONTAINERS: Final = frozenset({"az", "abfs", "abfss"})
"""Schemes that have a container at the position of a user."""


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return _SCHEME.match(path) is not None


def shown_url(url: str) -> str:
    """Return a URL without user, password and query."""
    if not is_remote(url):
        return url
    scheme, _, rest = url.partition("://")
    rest = rest.partition("?")[0]
    host, slash, path = rest.partition("/")
    user, parts, server = host.rpartition("@")
    if scheme.lower() in _CONTAINERS and ":" not in user:
        server = user + parts + server
    return f"{scheme}://{server}{slash}{path}"


@contextmanager
def store_failures(url: str) -> Iterator[None]:
    """Convert exceptions of a store's client to errors of ours, without secrets and of limited length."""
    import http.client  # noqa: PLC0415 - only for what is remote

    import pyarrow as pa  # noqa: PLC0415

    try:
        yield
    except FileNotFoundError:
        raise SourceError(shown_url(url), "no such file or folder") from None
    except (OSError, ValueError, http.client.HTTPException, pa.ArrowException) as error:
        text = str(error).replace(url, shown_url(url)).partition("\n")[0] or type(error).__name__
        text = text if len(text) <= _MOST_TEXT else text[:_MOST_TEXT] + "..."
        kind = SourceError if isinstance(error, ValueError) else StoreUnreachable  # a URL that no client supports
        raise kind(shown_url(url), text, "", "see the credentials in use") from None


class _Stream:
    """The bytes at a URL; failures, including an early end and a slow server, are errors of ours."""

    def __init__(self, url: str, stream: Any, size: int | None) -> None:
        self._url = url
        self._stream = stream
        self._left = self.size = size
        self._ahead = patience.ReadAhead(stream.read, patience.READ_SECONDS)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, empty at the end."""
        with store_failures(self._url):
            block = self._ahead.read(size)
            if self._left is not None:
                self._left -= len(block)
                if not block and size and self._left > 0:
                    raise OSError(f"the connection ended {self._left} bytes early")
        return block

    def close(self) -> None:
        """Close the connection; one that a thread waits for ends with the process."""
        if self._ahead.stop():
            self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ask_store(call: Callable[[], Result]) -> Result:
    """Return the answer of a store, or stop waiting for it."""
    return patience.within(patience.CALL_SECONDS, call)


def allow_http() -> None:
    """Let this process and those that it starts read ``http://`` URLs."""
    os.environ[_INSECURE] = "1"


def allows_http() -> bool:
    """Return whether ``http://`` may be used."""
    return os.environ.get(_INSECURE, "").lower() in _TRUE


def _check_http(url: str) -> None:
    if url.partition("://")[0].lower() == "http" and not allows_http():
        raise SourceError(
            shown_url(url),
            "http:// is neither encrypted nor authenticated: others on the way can read and change the file",
            "https://",
            "give --insecure-http to read it nevertheless",
        )


def _redirects() -> Any:
    """Return the redirect handler of a web server: no redirects from https to http, unless allowed."""
    import urllib.request  # noqa: PLC0415

    class Redirects(urllib.request.HTTPRedirectHandler):
        max_redirections = 5

        def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
            if not is_web(newurl):
                raise SourceError(shown_url(req.full_url), f"redirects to {shown_url(newurl)}", "https://")
            _check_http(newurl)
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    return Redirects()


def is_web(url: str) -> bool:
    """Whether a URL is that of a web server, which has no folders and is read-only."""
    return url.partition("://")[0].lower() in _WEB


def local_path(url: str) -> str:
    """Return the path of a ``file://`` URL; empty for other URLs."""
    scheme, _, rest = url.partition("://")
    return store_of(url)[1] if scheme.lower() == "file" and rest else ""


def store_of(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it."""
    from auditor.sources.stores.clients import file_system  # noqa: PLC0415 - only for what is remote

    scheme, _, rest = url.partition("://")
    return file_system(scheme.lower(), rest, shown_url(url))


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file or folder at a URL."""

    url: str

    @property
    def shown(self) -> str:
        """The URL for errors and reports."""
        return shown_url(self.url)

    def open(self) -> BinaryIO:
        """Return the bytes as a stream, from the beginning.

        Raises:
            SourceError: They are not available.
        """
        import urllib.request  # noqa: PLC0415

        with store_failures(self.url):
            if is_web(self.url):
                _check_http(self.url)
                request = urllib.request.Request(self.url)  # noqa: S310 - http or https, see above
                # Not urlopen, which caches the trusted certificates at its first call.
                opener = urllib.request.build_opener(_redirects())
                answer = ask_store(lambda: opener.open(request, timeout=patience.READ_SECONDS))
                return cast("BinaryIO", _Stream(self.url, answer, answer.length))
            file_system, path = store_of(self.url)
            stream = ask_store(lambda: file_system.open_input_stream(path, compression=None))
            return cast("BinaryIO", _Stream(self.url, stream, None))

    def is_folder(self) -> bool:
        """Whether it is a folder (in an object store: a prefix of names, followed by a slash)."""
        if is_web(self.url):
            return False
        import pyarrow.fs  # noqa: PLC0415

        with store_failures(self.url):
            file_system, path = store_of(self.url)
            info = ask_store(lambda: file_system.get_file_info(path.rstrip("/")))
        if info.type == pyarrow.fs.FileType.NotFound:
            raise SourceError(self.shown, "no such file or folder")
        return bool(info.type == pyarrow.fs.FileType.Directory)

    def modified(self) -> float | None:
        """Return when the store last changed the file, in seconds since 1970, or None if it does not say."""
        if is_web(self.url):
            return None
        with store_failures(self.url):
            file_system, path = store_of(self.url)
            time = ask_store(lambda: file_system.get_file_info(path.rstrip("/"))).mtime
        return None if time is None else float(time.timestamp())

    def copy_to(self, target: Path) -> None:
        """Copy the bytes to a local file."""
        with self.open() as stream, target.open("wb") as out:
            check_free_space(self.shown, target.parent, self._size(cast("_Stream", stream)))
            while block := stream.read(COPY):
                out.write(block)

    def _size(self, stream: _Stream) -> int | None:
        """Return the size that the server states, or None if it states none."""
        if is_web(self.url):
            return stream.size
        with store_failures(self.url):
            file_system, path = store_of(self.url)
            return cast("int | None", ask_store(lambda: file_system.get_file_info(path)).size)

    def copy_folder_to(self, target: Path) -> list[tuple[str, str]]:
        """Copy all files below a folder; return those whose names are not possible here, each with the reason."""
        import pyarrow.fs  # noqa: PLC0415

        with store_failures(self.url):
            file_system, path = store_of(self.url)
            base = path.rstrip("/")
            infos = ask_store(lambda: file_system.get_file_info(pyarrow.fs.FileSelector(base, recursive=True)))
            sizes = [info.size or 0 for info in infos if info.type == pyarrow.fs.FileType.File]
            check_free_space(self.shown, target.parent, sum(sizes))
            left_out: list[tuple[str, str]] = []
            for info in infos:
                name = info.path[len(base) :].lstrip("/")
                is_marker = name.endswith("/") and not info.size  # some tools create one for a folder
                if info.type != pyarrow.fs.FileType.File or not name or is_marker:
                    continue
                try:
                    local = _made_below(target, name)
                except _BadName as bad:
                    left_out.append((name, str(bad)))
                    continue
                below = ask_store(partial(file_system.open_input_stream, info.path, compression=None))
                with _Stream(self.url, below, None) as stream, local.open("wb") as out:
                    while block := stream.read(COPY):
                        out.write(block)
            return left_out


class _BadName(Exception):
    """A name that no local file can have."""


def _made_below(target: Path, name: str) -> Path:
    """Create an empty file below a folder, with the name from the store.

    Raises:
        _BadName: No file can have this name; the text is the reason.
    """
    parts = [part for part in name.split("/") if part]
    if ".." in parts or "." in parts:
        raise _BadName("a name that leads out of the folder")
    local = target.joinpath(*parts)
    try:
        local.parent.mkdir(parents=True, exist_ok=True)
        local.touch(exist_ok=False)
    except ValueError as error:  # a NUL or half of a surrogate pair
        raise _BadName(str(error)) from None
    except OSError as error:
        if error.errno not in _NAME_ERRORS:
            raise
        raise _BadName(os.strerror(error.errno)) from None
    return local


def copy_name(url: str) -> str:
    """Return a name for the copy of a URL: its last part, whose suffix matters."""
    name = url.rstrip("/").rpartition("/")[2].replace("\0", "")
    return name[-_LONGEST_NAME:] if name not in {"", ".", ".."} else "copy"


def remote_file(url: str) -> RemoteFile:
    """Return the file at a URL, without a request."""
    return RemoteFile(url)


def modified_at(path: str) -> float | None:
    """Return when a dump was last changed, in seconds since 1970, or None if not known.

    The time of a folder is that of the newest of its files.
    """
    try:
        if is_remote(path):
            return remote_file(path).modified()
        if path == "-":
            return None
        if not os.path.isdir(path):  # noqa: PTH112 - as below
            return os.stat(path).st_mtime  # noqa: PTH116 - a path for each file of a folder takes longer than its state
        files = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)  # noqa: PTH118
        newest = max((state.written for file in files if (state := state_of_file(file))), default=None)
        return None if newest is None else newest // _NANO + 1e-9 * (newest % _NANO)
    except (OSError, SourceError):
        return None
