"""Amazon's S3 and compatible stores, through boto3.

pyarrow's own client follows redirects of a server to any host and sends the session token there. boto3 does not follow
them: the only other host that it contacts is the endpoint of a bucket's region, whose name it builds itself.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import IO, TYPE_CHECKING, Any, Final, Self

from auditor.sources.stores import patience

if TYPE_CHECKING:
    from collections.abc import Iterator


_SPOOLED: Final = 8 << 20
_MISSING: Final = frozenset({"404", "NoSuchBucket", "NoSuchKey", "NotFound"})
_EXISTS: Final = (409, 412)
"""Status codes of a conditional write that failed: another write is in progress, or the object exists."""
_EMPTY_PAGES: Final = 100
"""Largest number of consecutive empty pages of a listing."""


class S3Store:
    """The part of `pyarrow.fs.FileSystem` that stores need; paths are ``BUCKET/KEY``.

    Args:
        endpoint: URL of a compatible server; empty for Amazon.
        region: The region of the buckets; empty for that of the environment, else us-east-1.
        anonymous: Send no credentials.
    """

    type_name = "s3"

    def __init__(self, *, endpoint: str = "", region: str = "", anonymous: bool = False) -> None:
        import boto3  # noqa: PLC0415 - only for what is remote
        from botocore import UNSIGNED  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415

        region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        given: dict[str, Any] = {"signature_version": UNSIGNED} if anonymous else {}
        if endpoint:  # compatible servers address buckets by path, and some do not support the newer checksums
            given |= {"s3": {"addressing_style": "path"}}
            given |= {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
        config = Config(
            region_name=region,
            connect_timeout=patience.READ_SECONDS,
            read_timeout=patience.READ_SECONDS,
            retries={"max_attempts": 3, "mode": "standard"},
            **given,
        )
        self._client = boto3.session.Session().client("s3", endpoint_url=endpoint or None, config=config)

    def get_file_info(self, asked: Any) -> Any:
        """Return the `pyarrow.fs.FileInfo` of a path, or the list of those of a FileSelector."""
        import pyarrow.fs  # noqa: PLC0415

        if isinstance(asked, pyarrow.fs.FileSelector):
            return self._listed(asked)
        bucket, key = _split(asked)
        if key:
            with contextlib.suppress(FileNotFoundError), _errors(asked):
                size = self._client.head_object(Bucket=bucket, Key=key)["ContentLength"]
                return pyarrow.fs.FileInfo(asked, pyarrow.fs.FileType.File, size=size)
        with contextlib.suppress(FileNotFoundError), _errors(asked):
            prefix = f"{key}/" if key else ""
            page = self._client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1)
            if not key or page.get("KeyCount") or page.get("Contents"):
                return pyarrow.fs.FileInfo(asked, pyarrow.fs.FileType.Directory)
        return pyarrow.fs.FileInfo(asked, pyarrow.fs.FileType.NotFound)

    def _listed(self, selector: Any) -> list[Any]:
        import pyarrow.fs  # noqa: PLC0415

        base = selector.base_dir.rstrip("/")
        answer: dict[str, Any] = {}
        try:
            for name, size in self._names(base, deep=selector.recursive):
                kind = pyarrow.fs.FileType.Directory if size is None else pyarrow.fs.FileType.File
                answer[name] = pyarrow.fs.FileInfo(f"{base}/{name}", kind, size=size)
                if len(answer) > patience.ENTRIES:
                    raise OSError(f"the listing has more than {patience.ENTRIES} names")
        except FileNotFoundError:
            if not selector.allow_not_found:
                raise
        return list(answer.values())

    def _names(self, base: str, *, deep: bool) -> Iterator[tuple[str, int | None]]:
        """Yield (name below a folder, size or None for a folder)."""
        bucket, key = _split(base)
        prefix = f"{key}/" if key else ""
        asked = {"Bucket": bucket, "Prefix": prefix, **({} if deep else {"Delimiter": "/"})}
        token, empty, pages = "", 0, 0
        while True:
            with _errors(base):
                page = self._client.list_objects_v2(**asked, **({"ContinuationToken": token} if token else {}))
            names = [(prefix["Prefix"].rstrip("/"), None) for prefix in page.get("CommonPrefixes", ())]
            names += [
                (content["Key"], content["Size"])
                for content in page.get("Contents", ())
                if not content["Key"].endswith("/")
            ]
            yield from ((name[len(prefix) :], size) for name, size in names if name.startswith(prefix))
            empty, pages = 0 if names else empty + 1, pages + 1
            before, token = token, page.get("NextContinuationToken", "") if page.get("IsTruncated") else ""
            if not token:
                return
            if token == before or empty > _EMPTY_PAGES or pages > patience.ENTRIES:
                raise OSError("the listing does not end")

    def open_input_stream(self, path: str, compression: None = None) -> Any:  # noqa: ARG002 - as that of pyarrow
        """Return the bytes of an object as a stream."""
        bucket, key = _split(path)
        with _errors(path):
            answer = self._client.get_object(Bucket=bucket, Key=key)
        return _Body(answer["Body"], path)

    @contextlib.contextmanager
    def open_output_stream(self, path: str, compression: None = None) -> Iterator[IO[bytes]]:  # noqa: ARG002
        """Yield a stream; the written bytes become an object if the block ends without an exception."""
        bucket, key = _split(path)
        with tempfile.SpooledTemporaryFile(_SPOOLED) as stream:
            yield stream
            stream.seek(0)
            with _errors(path):
                self._client.upload_fileobj(stream, bucket, key)

    def create_file(self, path: str, data: bytes) -> bool:
        """Write an object unless it exists; return whether it was written."""
        from botocore.exceptions import ClientError  # noqa: PLC0415

        bucket, key = _split(path)
        with _errors(path):
            try:
                self._client.put_object(Bucket=bucket, Key=key, Body=data, IfNoneMatch="*")
            except ClientError as error:
                if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") not in _EXISTS:
                    raise
                return False
        return True

    def delete_file(self, path: str) -> None:
        """Remove an object."""
        bucket, key = _split(path)
        with _errors(path):
            self._client.delete_object(Bucket=bucket, Key=key)


class _Body:
    """The bytes of an answer; errors are those of a file."""

    def __init__(self, body: Any, path: str) -> None:
        self._body = body
        self._path = path

    def read(self, size: int = -1) -> bytes:
        with _errors(self._path):
            block: bytes = self._body.read(None if size < 0 else size)
        return block

    def close(self) -> None:
        self._body.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def _errors(path: str) -> Iterator[None]:
    """Convert errors of boto3 to those of files."""
    from boto3.exceptions import Boto3Error  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if error.response.get("Error", {}).get("Code") in _MISSING or status == 404:
            raise FileNotFoundError(path) from None
        raise OSError(str(error)) from None
    except (BotoCoreError, Boto3Error) as error:
        raise OSError(str(error)) from None


def _split(path: str) -> tuple[str, str]:
    bucket, _, key = path.strip("/").partition("/")
    return bucket, key
