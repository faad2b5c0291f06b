"""Wheel and sdist: two builds are equal; installed without the repository they work, with each extra."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from auditor.base.release import VERSION
from tests.fuzz.hostile.documents import definition
from tests.shared import ROOT
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.nightly
SAMPLE = ROOT / "sample-data" / "cluster.db.gz"
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore", "auditor", "pipelines")
NO_INDEX = re.compile("No matching distribution|Could not find a version|client error|Failed to fetch|not found in the")
CRYPTO_KEY = bytes(range(32))


def call(*words: object, **given: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **given)  # type: ignore[call-overload]
    if done.returncode and NO_INDEX.search(done.stderr):
        pytest.skip(f"no package index: {done.stderr.strip()[-200:]}")
    return done  # type: ignore[no-any-return]


def elsewhere(folder: Path) -> dict[str, str]:
    """Return an environment in which the repository cannot be found."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    return {**kept, "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}


def built(folder: Path, *, day: int, mask: int) -> Path:
    """Build both from a copy of the sources with times and modes of its own."""
    source = folder / "source"
    for name in SOURCES:
        path, target = ROOT / name, source / name
        if path.is_dir():
            shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    for path in source.rglob("*"):
        os.utime(path, (day * 86_400, day * 86_400))
        path.chmod(path.stat().st_mode & ~mask)
    done = call(sys.executable, "-m", "hatchling", "build", "-d", folder / "dist", cwd=source)
    assert done.returncode == 0, done.stderr
    return folder / "dist"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("build"), day=20_000, mask=0o000)


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `uv` and `uvx`."""
    folder = tmp_path_factory.mktemp("uv") / "environment"
    call(sys.executable, "-m", "venv", folder)
    done = call(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "uv")
    assert done.returncode == 0, done.stderr
    return folder / "bin"


def test_two_builds_are_the_same(dist: Path, tmp_path: Path) -> None:
    again = built(tmp_path, day=10_000, mask=0o077)
    hashes = [
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
        for folder in (dist, again)
    ]
    assert sorted(hashes[0]) == [
        f"kubernetes_dump_auditor-{VERSION}-py3-none-any.whl",
        f"kubernetes_dump_auditor-{VERSION}.tar.gz",
    ]
    assert hashes[0] == hashes[1]


def test_they_hold_the_program_and_no_tests(dist: Path, wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {one.partition("/")[0] for one in names} == {
        "auditor",
        "pipelines",
        f"kubernetes_dump_auditor-{VERSION}.dist-info",
    }
    assert "auditor/output/formats/html/report.html.j2" in names
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {one.partition("/")[2] for one in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "auditor/__init__.py"} <= inside
    assert not [one for one in inside if "__pycache__" in one or one.startswith((".venv", "out/"))]


def check(run: Run, folder: Path) -> None:
    """Audit the sample, and ask the report."""
    assert run("auditor", "version").stdout.startswith(f"auditor {VERSION} (Kubernetes v")
    done = run("auditor", "audit", SAMPLE, "--report", folder / "r", "-o", f"html={folder / 'r.html'}", "--jobs", "2")
    assert done.returncode == 1, done.stderr
    assert "cannot be listed or watched" in done.stdout
    assert "loaf" in run("auditor", "query", folder / "r", "loaves", "-A").stdout.lower()
    assert "<html" in (folder / "r.html").read_text()


def test_pip_installs_the_wheel(wheel: Path, tmp_path: Path) -> None:
    env = elsewhere(tmp_path)
    call(sys.executable, "-m", "venv", tmp_path / "venv")
    done = call(tmp_path / "venv/bin/python", "-m", "pip", "install", "--quiet", wheel, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    check(lambda name, *words: call(tmp_path / "venv/bin" / name, *words, env=env, cwd=tmp_path), tmp_path)
    found = call(tmp_path / "venv/bin/kubernetes-dump-auditor", "version", env=env, cwd=tmp_path)
    assert found.stdout.startswith(f"auditor {VERSION} ")


def test_pip_installs_the_sdist(dist: Path, tmp_path: Path) -> None:
    env = elsewhere(tmp_path)
    (sdist,) = dist.glob("*.tar.gz")
    call(sys.executable, "-m", "venv", tmp_path / "venv")
    done = call(tmp_path / "venv/bin/python", "-m", "pip", "install", "--quiet", sdist, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert call(tmp_path / "venv/bin/auditor", "version", env=env, cwd=tmp_path).stdout.startswith("auditor ")


def test_pipx_installs_the_wheel(wheel: Path, tmp_path: Path) -> None:
    pipx = shutil.which("pipx")
    if pipx is None:
        pytest.skip("pipx is not installed")
    env = {**elsewhere(tmp_path), "PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    done = call(pipx, "install", wheel, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    check(lambda name, *words: call(tmp_path / "bin" / name, *words, env=env, cwd=tmp_path), tmp_path)
    assert (tmp_path / "bin" / "kubectl-audit_dump").exists()
    assert (tmp_path / "bin" / "kubectl_complete-audit_dump").exists()


def test_uvx_runs_the_package_by_its_name(wheel: Path, uv: Path, tmp_path: Path) -> None:
    env = {**elsewhere(tmp_path), "UV_CACHE_DIR": str(uv.parent / "cache")}
    asked = (uv / "uvx", "--quiet", "--python", sys.executable, "--from", wheel)
    found = call(*asked, "kubernetes-dump-auditor", "version", env=env, cwd=tmp_path)
    assert found.stdout.startswith(f"auditor {VERSION} (Kubernetes v"), found.stderr
    check(lambda name, *words: call(*asked, name, *words, env=env, cwd=tmp_path), tmp_path)


# ---- extras


def sealed_dump(folder: Path) -> list[object]:
    """Write a snapshot whose one object is sealed by aescbc. Returns the arguments that open it."""
    ciphers = pytest.importorskip("cryptography.hazmat.primitives.ciphers")
    made = definition({"type": "object", "properties": {"spec": {"type": "object"}}})
    history = History()
    history.put(b"/registry/apiextensions.k8s.io/customresourcedefinitions/ws.ex.com", json.dumps(made).encode())
    value = {"apiVersion": "ex.com/v1", "kind": "W", "metadata": {"name": "a", "namespace": "d", "uid": "u"}}
    plain = json.dumps(value).encode()
    plain += bytes([16 - len(plain) % 16]) * (16 - len(plain) % 16)
    start = bytes(range(16))
    seal = ciphers.Cipher(ciphers.algorithms.AES(CRYPTO_KEY), ciphers.modes.CBC(start)).encryptor()
    sealed = b"k8s:enc:aescbc:v1:one:" + start + seal.update(plain) + seal.finalize()
    history.put(b"/registry/ex.com/ws/d/a", sealed)
    (folder / "sealed.db").write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    keys = [{"name": "one", "secret": base64.b64encode(CRYPTO_KEY).decode()}]
    config = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["*.*"], "providers": [{"aescbc": {"keys": keys}}, {"identity": {}}]}],
    }
    (folder / "keys.json").write_text(json.dumps(config))
    return [folder / "sealed.db", "--encryption-config", folder / "keys.json"]


def check_crypto(run: Run, folder: Path) -> None:
    done = run("auditor", "audit", *sealed_dump(folder), "--report", folder / "sealed")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads((folder / "sealed" / "manifest.json").read_text())["counts"]["statuses"]
    assert counts == {"definition": 1, "valid": 1}


def check_ray(run: Run, folder: Path) -> None:
    done = run("auditor", "audit", SAMPLE, "--report", folder / "ray", "--engine", "ray", "--jobs", "1")
    assert done.returncode == 1, done.stderr
    counts = json.loads((folder / "ray" / "manifest.json").read_text())["counts"]["statuses"]
    assert counts["invalid"] == 5


CHECKS = {"crypto": check_crypto, "ray": check_ray}
EXTRAS = {"": (), "crypto": ("crypto",), "ray": ("ray",), "all": ("crypto", "ray")}
REFUSALS = {"crypto": r"\[crypto\]", "ray": r"\[ray\]"}
"""What a command says whose extra is not installed."""


@pytest.mark.parametrize("extra", EXTRAS)
def test_extras_install_and_work(wheel: Path, uv: Path, tmp_path: Path, extra: str) -> None:
    env = {**elsewhere(tmp_path), "UV_CACHE_DIR": str(uv.parent / "cache")}
    call(uv / "uv", "venv", "--quiet", "--python", sys.executable, tmp_path / "venv", env=env)
    wanted = f"kubernetes-dump-auditor{f'[{extra}]' if extra else ''} @ {wheel.as_uri()}"
    done = call(
        *(uv / "uv", "pip", "install", "--quiet", "--python", tmp_path / "venv/bin/python", wanted),
        env=env,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr

    def run(name: str, *words: object) -> subprocess.CompletedProcess[str]:
        return call(tmp_path / "venv/bin" / name, *words, env=env, cwd=tmp_path)

    assert run("auditor", "version").returncode == 0
    for name in EXTRAS[extra]:
        CHECKS[name](run, tmp_path)
    if not extra:
        done = run("auditor", "audit", *sealed_dump(tmp_path), "--report", tmp_path / "r")
        assert re.search(REFUSALS["crypto"], done.stdout + done.stderr), done.stdout + done.stderr
        done = run("auditor", "audit", SAMPLE, "--report", tmp_path / "r2", "--engine", "ray")
        assert done.returncode != 0
        assert re.search(REFUSALS["ray"], done.stderr), done.stderr
