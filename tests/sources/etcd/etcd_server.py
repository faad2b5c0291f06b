"""Real etcd servers for tests: found on the machine, or built from the Go module proxy; and a client of their gateway."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

import pytest

MODULES = {"3.5": "v3.5.21", "3.6": "v3.6.16"}
CACHE = Path(tempfile.gettempdir()) / "auditor-test-etcd"


def built(package: str, release: str) -> Path:
    """Build a command of an etcd release once; skip where that cannot be done."""
    go = shutil.which("go")
    name = f"{package}-{release}"
    target = CACHE / name
    if target.exists():
        return target
    if go is None:
        pytest.skip(f"no {name} on this machine, and no Go to build it with")
    folder = CACHE / f"{name}.src"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text("module etcdtools\n\ngo 1.24\n")
    module = f"go.etcd.io/etcd/{package}/v3"
    for command in (["get", "-tool", f"{module}@{MODULES[release]}"], ["build", "-o", str(target), module]):
        done = subprocess.run([go, *command], cwd=folder, check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{name} cannot be built: {done.stderr.strip().splitlines()[-1:]}")
    return target


def server_binary(release: str) -> Path:
    """Return a server of a release (3.4, 3.5, 3.6): the one on PATH where it is that, else a built one."""
    found = shutil.which("etcd")
    if found:
        reported = subprocess.run([found, "--version"], check=False, capture_output=True, text=True).stdout
        if reported.startswith(f"etcd Version: {release}."):
            return Path(found)
    if release not in MODULES:
        pytest.skip(f"no etcd {release} on this machine")
    return built("server", release)


def etcdutl() -> Path:
    found = shutil.which("etcdutl")
    return Path(found) if found else built("etcdutl", "3.6")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Etcd:
    """One member; a context manager."""

    def __init__(self, binary: Path, folder: Path, *flags: str) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{free_port()}"
        peer = f"http://127.0.0.1:{free_port()}"
        self.process = subprocess.Popen(
            [str(binary), "--name", "one", "--data-dir", str(folder), "--listen-client-urls", self.url,
             "--advertise-client-urls", self.url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", f"one={peer}", "--logger", "zap", "--log-outputs", "/dev/null", *flags],
            env={**os.environ, "ETCD_UNSUPPORTED_ARCH": os.environ.get("ETCD_UNSUPPORTED_ARCH", "")},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __enter__(self) -> Self:
        for _ in range(300):
            try:
                self.call("kv/range", {"key": b64(b"a")})
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
            else:
                return self
        raise AssertionError("etcd does not answer")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(20)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)

    def call(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url}/v3/{name}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=20) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        return found

    def put(self, key: bytes, value: bytes) -> None:
        self.call("kv/put", {"key": b64(key), "value": b64(value)})

    def delete(self, key: bytes, end: bytes = b"") -> None:
        self.call("kv/deleterange", {"key": b64(key), **({"range_end": b64(end)} if end else {})})

    def compact(self, revision: int) -> None:
        self.call("kv/compaction", {"revision": str(revision), "physical": True})

    def defragment(self) -> None:
        self.call("maintenance/defragment", {})

    def live(self) -> tuple[int, dict[bytes, tuple[int, int, int, bytes]]]:
        """Return (revision, key -> create, mod, version, value)."""
        found = self.call("kv/range", {"key": b64(b"\0"), "range_end": b64(b"\0")})
        return int(found["header"]["revision"]), {
            base64.b64decode(row["key"]): (
                int(row["create_revision"]),
                int(row["mod_revision"]),
                int(row["version"]),
                base64.b64decode(row.get("value", "")),
            )
            for row in found.get("kvs", [])
        }

    def snapshot(self, target: Path) -> None:
        request = urllib.request.Request(f"{self.url}/v3/maintenance/snapshot", b"{}")
        with urllib.request.urlopen(request, timeout=60) as answer, target.open("wb") as out:
            for line in answer:
                part = json.loads(line).get("result", {})
                out.write(base64.b64decode(part.get("blob", "")))
