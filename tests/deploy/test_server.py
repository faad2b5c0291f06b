"""A real API server accepts the manifests of the chart and of the kustomize base: `kubectl create --dry-run=server`.

Runs where AUDITOR_KUBE names the folder of a built server (`start`, `bin/kube-apiserver`, `bin/kubectl`).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.deploy.test_deploy import CHART_VALUES, DEPLOY, rendered_chart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KUBE = Path(os.environ.get("AUDITOR_KUBE", "/nonexistent"))
PORTS = os.environ.get("AUDITOR_KUBE_PORTS", "13379 17643").split()
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not (KUBE / "start").is_file(), reason="AUDITOR_KUBE names no real API server"),
]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    if shutil.which("etcd") is None:
        pytest.skip("etcd is not installed")
    folder = tmp_path_factory.mktemp("server")
    subprocess.run([str(KUBE / "start"), str(folder), *PORTS], check=True, capture_output=True)

    def call(*words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(KUBE / "bin" / "kubectl"), "--kubeconfig", str(folder / "kubeconfig"), *words]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=False)

    try:
        until = time.monotonic() + 120
        while call("get", "namespace", "default").returncode:
            assert time.monotonic() < until, (folder / "api.log").read_text()[-2000:]
            time.sleep(1)
        yield call
    finally:
        for name in ("api.pid", "etcd.pid"):
            with suppress(OSError, ValueError):
                os.kill(int((folder / name).read_text()), signal.SIGTERM)


def test_the_kustomize_base_is_created(kubectl: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    built = kubectl("kustomize", str(DEPLOY / "kustomize"))
    assert built.returncode == 0, built.stderr
    done = kubectl("create", "--dry-run=server", "-f", "-", given=built.stdout)
    assert done.returncode == 0, done.stderr
    assert "cronjob.batch/" in done.stdout
    assert "Warning" not in done.stderr


@pytest.mark.parametrize("values", CHART_VALUES)
def test_the_chart_is_created(kubectl: Callable[..., subprocess.CompletedProcess[str]], values: str) -> None:
    chart = rendered_chart(*CHART_VALUES[values], check=True).stdout
    done = kubectl("create", "--dry-run=server", "-f", "-", given=chart)
    assert done.returncode == 0, done.stderr
    assert "cronjob.batch/" in done.stdout
    assert "Warning" not in done.stderr
