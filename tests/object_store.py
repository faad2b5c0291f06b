"""An object store for tests: moto serves the API of S3 on a local port, and the environment leads clients to it."""

from __future__ import annotations

import contextlib
import functools
import logging
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BUCKET", "STORE", "served_store"]

BUCKET = "backups"
STORE = f"s3://{BUCKET}"
"""URL of the bucket that the store has."""


@functools.cache
def _loader(search_path: str | None = None) -> Any:
    """Return what reads the descriptions of services, once for all clients: most of what a client costs."""
    from botocore.loaders import create_loader

    return create_loader(search_path)


@contextlib.contextmanager
def served_store() -> Iterator[str]:
    """Serve a store with one empty bucket; yield its endpoint, host:port. Skips the test if moto is not installed."""
    moto_server = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ACCESS_KEY_ID", "tester")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
            patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
            patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
            patch.setattr("botocore.session.create_loader", _loader)
            boto3.client("s3").create_bucket(Bucket=BUCKET)
            yield f"{host}:{port}"
    finally:
        server.stop()
