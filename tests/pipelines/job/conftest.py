"""A command line of its own process, and an object store on this machine."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


@pytest.fixture
def audit(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `auditor audit` of the sample data, in a folder of its own."""

    def run(*options: Any, dump: Any = SAMPLE) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pipelines", "audit", str(dump), "--jobs", "1", *map(str, options)]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "AUDITOR_AUDIT_QUIET": ""}
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)

    return run


@pytest.fixture
def store() -> Iterator[str]:
    """Return the URL of an empty bucket; the environment leads clients to it."""
    moto_server = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "tester")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        boto3.client("s3").create_bucket(Bucket="backups")
        yield "s3://backups"
    server.stop()
