"""Clients of object stores: from a URL and the environment to a pyarrow file system and a path in it.

Credentials and endpoints are found as by the stores' own tools; options after the ``?`` of a URL take precedence.
Schemes without a client in pyarrow use fsspec if it is installed.
"""

from __future__ import annotations

import importlib
import os
from datetime import timedelta
from typing import Any, Final

from auditor.base.errors import SourceError
from auditor.sources.stores import patience

_KNOWN: Final = "s3://, gs://, az://, file://, https://"
_ENDPOINT: Final = "endpoint_override"
_TRUE: Final = frozenset({"1", "true"})


def file_system(scheme: str, rest: str, shown: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it.

    Args:
        scheme: The part before ``://``, in lower case.
        rest: The part after it.
        shown: The URL for errors.

    Raises:
        SourceError: There is no client for it, or it is incomplete.
    """
    import urllib.parse  # noqa: PLC0415 - only for what is remote

    path, _, query = rest.partition("?")
    options = dict(urllib.parse.parse_qsl(query))
    if scheme == "file":
        import pyarrow.fs  # noqa: PLC0415

        path = urllib.parse.unquote(path)
        return pyarrow.fs.LocalFileSystem(), path if path.startswith("/") else "/" + path
    if scheme in {"s3", "s3a"}:
        return _s3(options, shown), path.rpartition("@")[2]
    if scheme in {"gs", "gcs"}:
        return _google(options, shown), path.rpartition("@")[2]
    if scheme in {"az", "abfs", "abfss"}:
        return _azure(path, options, shown)
    return _other(scheme, f"{scheme}://{rest}", shown)


def _client(name: str, shown: str) -> Any:
    """Return a class of pyarrow.fs; its clients are optional where it is built from source."""
    import pyarrow.fs  # noqa: PLC0415 - loads the clients of all stores

    try:
        return getattr(pyarrow.fs, name)
    except (AttributeError, ImportError):
        what = f"this pyarrow was built without {name}"
        raise SourceError(shown, what, "", "pip install pyarrow, whose wheels have it") from None


def _endpoint(options: dict[str, str], *variables: str) -> tuple[str, str]:
    """Return (scheme, host and port) of an endpoint; empty means the store's own."""
    endpoint = options.get(_ENDPOINT) or next((os.environ[name] for name in variables if os.environ.get(name)), "")
    scheme, _, host = endpoint.rpartition("://")
    return options.get("scheme") or scheme, host.rstrip("/")


def _s3(options: dict[str, str], shown: str) -> Any:
    try:
        importlib.import_module("boto3")
    except ImportError:
        raise SourceError(shown, "no reader of s3://: boto3 is not installed", "", "pip install boto3") from None
    from auditor.sources.stores.s3 import S3Store  # noqa: PLC0415 - only for what is remote

    scheme, host = _endpoint(options, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    return S3Store(
        endpoint=f"{scheme or 'https'}://{host}" if host else "",
        region=options.get("region", ""),
        anonymous=options.get("anonymous", "").lower() in _TRUE,
    )


def _google(options: dict[str, str], shown: str) -> Any:
    """Return a client of Google's store; emulators are found as in all of Google's libraries."""
    scheme, host = _endpoint(options, "STORAGE_EMULATOR_HOST")
    # Google's client would repeat requests to a store that does not answer for 15 minutes.
    given: dict[str, Any] = {"retry_time_limit": timedelta(seconds=patience.READ_SECONDS)}
    if host:
        given |= {"endpoint_override": host, "scheme": scheme or ("https" if _ENDPOINT in options else "http")}
    if options.get("anonymous", "").lower() in _TRUE or (host and _ENDPOINT not in options):
        given["anonymous"] = True
    return _client("GcsFileSystem", shown)(**given)


def _azure(path: str, options: dict[str, str], shown: str) -> tuple[Any, str]:
    """Return a client of Azure's store: ``az://CONTAINER/...`` or ``abfss://CONTAINER@ACCOUNT.dfs.../...``."""
    text = os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "")
    told = {name.lower(): value for name, _, value in (part.partition("=") for part in text.split(";") if part)}
    host, _, below = path.partition("/")
    container, _, account = host.partition("@")

    def known(*variables: str) -> str:
        return next((os.environ[name] for name in variables if os.environ.get(name)), "")

    name = account.partition(".")[0] or options.get("account_name") or told.get("accountname")
    name = name or known("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT")
    if not name:
        raise SourceError(
            shown,
            "no storage account",
            "AZURE_STORAGE_ACCOUNT_NAME or AZURE_STORAGE_CONNECTION_STRING in the environment",
        )
    given: dict[str, Any] = {"account_name": name}
    key = told.get("accountkey") or known("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY")
    sas = told.get("sharedaccesssignature") or known("AZURE_STORAGE_SAS_TOKEN")
    if key:
        given["account_key"] = key
    elif sas:
        given["sas_token"] = sas
    scheme, host = _endpoint(options)
    if not host and told.get("blobendpoint"):
        scheme, _, host = told["blobendpoint"].rstrip("/").removesuffix("/" + name).rpartition("://")
    if host:
        for service in ("blob", "dfs"):
            given |= {f"{service}_storage_authority": host, f"{service}_storage_scheme": scheme or "https"}
    return _client("AzureFileSystem", shown)(**given), f"{container}/{below}".rstrip("/")


def _other(scheme: str, url: str, shown: str) -> tuple[Any, str]:
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        raise SourceError(shown, f"no reader of {scheme}://", _KNOWN, "pip install fsspec for others") from None
    try:
        system_and_path, path = fsspec.core.url_to_fs(url)
    except ImportError as error:  # the package for this scheme; fsspec names it
        raise SourceError(shown, f"no reader of {scheme}://", _KNOWN, str(error)) from None
    import pyarrow.fs  # noqa: PLC0415

    fs: Any = pyarrow.fs
    return fs.PyFileSystem(fs.FSSpecHandler(system_and_path)), path
