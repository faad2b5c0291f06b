"""The image of deploy/Containerfile: built on packages of Debian, and run as a cluster runs it.

No image can be pulled here. BUILD is made by mmdebstrap; buildah carries the Containerfile out, or, where it is not
installed, a chroot carries out its RUN line. What comes of it runs as user 65532, with a root that is read only and
without capabilities.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from auditor.base.release import VERSION
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.nightly
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
MOST_BYTES = 260_000_000
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "auditor", "pipelines", "deploy/image")
OF_THE_HOST = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf")
"""How this machine reaches its package index, for the build stage."""

MOUNTS = """
set -e
root=$1 work=$2; shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"; chmod 1777 "$root/tmp"
mount -t tmpfs tmpfs "$root/dev"; mkdir -m 1777 "$root/dev/shm"
for one in null zero random urandom; do touch "$root/dev/$one"; mount --bind "/dev/$one" "$root/dev/$one"; done
mount --bind "$work" "$root/work"
mount -o remount,ro,bind "$root"
exec "$@"
"""
"""The file systems of a container whose root is read only."""

ENTER = """
import ctypes, os, sys
root, user, *call = sys.argv[1:]
os.chroot(root)
os.chdir("/work")
prctl = ctypes.CDLL(None).prctl
for capability in range(64):
    prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
os.execvpe(call[0], call, os.environ)
"""


@dataclass(frozen=True)
class Image:
    """What was built: its root, and the settings that it is run with."""

    root: Path
    user: int
    environment: dict[str, str]
    entrypoint: list[str]

    def run(self, *words: str, work: Path, entrypoint: list[str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run it as a cluster does: read-only root, no capability, no new privilege."""
        call = [*(self.entrypoint if entrypoint is None else entrypoint), *words]
        enter = [sys.executable, "-c", ENTER, str(self.root), str(self.user), *call]
        command = ["unshare", "--mount", "--", "sh", "-c", MOUNTS, "sh", str(self.root), str(work), *enter]
        return subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)


def needs(tool: str) -> str:
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    return found


def debian(tar: Path) -> None:
    """Make BUILD of packages: Python with venv, and a shell."""
    sources = [Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")]
    listed = next((one for one in sources if one.exists() and one.stat().st_size), None)
    release = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.MULTILINE)
    if listed is None or release is None:
        pytest.skip("no packages of Debian: this machine has another distribution")
    command = [needs("mmdebstrap"), "--quiet", "--variant=minbase", "--include=python3-venv,ca-certificates"]
    command += ["--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-include=/usr/share/doc/*/copyright"]
    command += ["--dpkgopt=path-exclude=/usr/share/locale/*", "--dpkgopt=path-exclude=/usr/share/man/*"]
    done = subprocess.run([*command, release[1], str(tar), str(listed)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no packages of Debian: {done.stderr.strip()[-200:]}")


def skip_without_an_index(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode and re.search("No matching distribution|Could not find a version", done.stderr):
        pytest.skip("no package index")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def settings() -> tuple[int, dict[str, str], list[str]]:
    """Return user, environment and entry point as the Containerfile gives them."""
    text = CONTAINERFILE.read_text()
    (user,) = re.findall(r"^USER (\d+):\1$", text, re.MULTILINE)
    (environment,) = re.findall(r"^ENV (.*)$", text, re.MULTILINE)
    (entrypoint,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
    return int(user), dict(one.split("=", 1) for one in shlex.split(environment)), json.loads(entrypoint)


def by_buildah(folder: Path, tar: Path, buildah: str) -> Iterator[Image]:
    """Carry the Containerfile out."""
    env = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
    places = ["--root", str(folder / "images"), "--runroot", str(folder / "running")]

    def call(*words: str) -> str:
        done = subprocess.run([buildah, *places, *words], capture_output=True, text=True, env=env, check=False)
        skip_without_an_index(done)
        return done.stdout.strip()

    container = call("from", "scratch")
    call("add", "--quiet", container, str(tar), "/")
    call("commit", "--quiet", "--rm", container, "build-of-the-test")
    volumes = [f"--volume={one}:{one}:ro" for one in OF_THE_HOST if Path(one).exists()]
    arguments = ["--isolation=chroot", "--pull-never", "--build-arg=BUILD=localhost/build-of-the-test", *volumes]
    call("build", *arguments, f"--file={CONTAINERFILE}", "--tag=image-of-the-test", str(ROOT))
    container = call("from", "--pull-never", "localhost/image-of-the-test")
    config = json.loads(call("inspect", "--type=image", "localhost/image-of-the-test"))["OCIv1"]["config"]
    user, environment, entrypoint = settings()
    assert config["User"] == f"{user}:{user}"
    assert dict(one.split("=", 1) for one in config["Env"]) == environment
    assert (config["Entrypoint"], config["WorkingDir"]) == (entrypoint, "/work")
    try:
        yield Image(Path(call("mount", container)), user, environment, entrypoint)
    finally:
        call("umount", "--all")
        call("rm", "--all")


def by_chroot(folder: Path, tar: Path) -> Image:
    """Carry out the RUN line of the Containerfile in the root file system of BUILD."""
    build = folder / "build"
    build.mkdir()
    subprocess.run(["tar", "-C", str(build), "-xf", str(tar)], check=True)
    for name in SOURCES:
        source, target = ROOT / name, build / "src" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)
    for name in (*OF_THE_HOST, "/etc/resolv.conf"):
        if Path(name).exists():
            shutil.copyfile(name, build / name[1:])
    (line,) = re.findall(r"^RUN (.*)$", CONTAINERFILE.read_text(), re.MULTILINE)
    command = ["chroot", str(build), "sh", "-c", f"cd /src && {line}"]
    env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root"}
    skip_without_an_index(subprocess.run(command, capture_output=True, text=True, env=env, check=False))
    return Image(build / "root-of-image", *settings())


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    needs("mmdebstrap")
    if os.geteuid() or subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a root file system is made and entered by root alone")
    with tempfile.TemporaryDirectory(prefix="auditor-image-") as name:
        folder = Path(name)
        debian(folder / "build.tar")
        if (buildah := shutil.which("buildah")) is not None:
            yield from by_buildah(folder, folder / "build.tar", buildah)
        else:
            yield by_chroot(folder, folder / "build.tar")


@pytest.fixture
def work(tmp_path: Path, image: Image) -> Path:
    """Return a folder that the image's user may write to, with a dump."""
    folder = tmp_path / "work"
    folder.mkdir()
    shutil.copyfile(ROOT / "sample-data" / "cluster.db.gz", folder / "cluster.db.gz")
    os.chown(folder, image.user, image.user)
    return folder


def test_it_is_small(image: Image) -> None:
    size = sum(path.lstat().st_size for path in image.root.rglob("*") if path.is_file() or path.is_symlink())
    assert 150_000_000 < size <= MOST_BYTES, f"{size:,} bytes"


def test_it_has_no_shell_and_no_package_manager(image: Image) -> None:
    folders = [image.root / name for name in ("bin", "sbin", "usr/bin", "usr/sbin", "opt/auditor/bin")]
    programs = {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
    assert "auditor" in programs
    assert not programs & {"sh", "bash", "dash", "dpkg", "apt", "pip", "pip3", "perl", "su", "mount"}
    has_privilege = [path for path in image.root.rglob("*") if path.is_file() and path.lstat().st_mode & 0o6000]
    assert has_privilege == []


def test_it_runs_as_its_user_without_capabilities(image: Image, work: Path) -> None:
    asked = "print(open('/proc/self/status').read())"
    status = dict(
        re.findall(r"^(\w+):\s*(.*)$", image.run("-c", asked, work=work, entrypoint=["python3"]).stdout, re.MULTILINE)
    )
    assert status["Uid"].split() == [str(image.user)] * 4
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == "1"
    done = image.run("-c", "open('/opt/x', 'w')", work=work, entrypoint=["python3"])
    assert "Read-only file system" in done.stderr


def test_it_starts_with_modules_that_are_compiled(image: Image, work: Path) -> None:
    done = image.run("version", work=work)
    assert done.stdout.startswith(f"auditor {VERSION} "), done.stderr
    asked = (
        "import os, sys, pipelines.cli.main; modules = list(sys.modules.values()); "
        "print([one.__name__ for one in modules if not os.path.exists(getattr(one, '__cached__', None) or '/')])"
    )
    assert image.run("-c", asked, work=work, entrypoint=["python3"]).stdout == "[]\n"


def test_it_audits(image: Image, work: Path) -> None:
    outputs = ("-o", "html=r.html", "-o", "sarif=r.sarif", "-o", "prometheus=r.prom")
    done = image.run("audit", "cluster.db.gz", "--report", "r", "--jobs", "2", *outputs, work=work)
    assert done.returncode == 1, done.stderr
    assert "cannot be listed or watched" in done.stdout
    assert json.loads((work / "r" / "manifest.json").read_text())["counts"]["statuses"]["invalid"] == 5
    assert {path.lstat().st_uid for path in (work / "r").rglob("*")} == {image.user}
    assert all((work / name).stat().st_size for name in ("r.html", "r.sarif", "r.prom"))
    assert image.run("query", "r", "loaves", work=work).returncode == 0
    job = ("audit", "cluster.db.gz", "--report-root", "root", "--diff", "auto", "--only-new")
    assert image.run(*job, work=work).returncode == 1
    assert image.run(*job, work=work).returncode == 1  # the torn value still breaks its kind
    newest = max((work / "root").glob("*/manifest.json"), key=lambda path: path.stat().st_mtime_ns)
    assert json.loads(newest.read_text())["diff"]["findings"].get("new", 0) == 0


def test_it_has_what_is_loaded_late(image: Image, work: Path) -> None:
    """Keys, stores and time zones bring libraries along that no start needs."""
    asked = (
        "import zoneinfo, ssl, sqlite3, nacl.secret, boto3.session; from cryptography.hazmat.primitives.ciphers import aead; "
        "zoneinfo.ZoneInfo('Europe/Paris'); boto3.session.Session().client('s3', region_name='a'); "
        "print(ssl.create_default_context().cert_store_stats()['x509_ca'] > 10)"
    )
    done = image.run("-c", asked, work=work, entrypoint=["python3"])
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_its_bill_of_materials_lists_all_that_runs(image: Image) -> None:
    folder = image.root / "opt" / "auditor"
    bill = json.loads((folder / "sbom.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    listed = {one["name"].lower().replace("_", "-") for one in bill["components"]}
    (site,) = folder.glob("lib/python3*/site-packages")
    installed = {path.name.split("-")[0].lower().replace("_", "-") for path in site.glob("*.dist-info")}
    assert {"pyarrow", "kubernetes-dump-auditor"} <= installed <= listed
    assert {"python", "libc6", "libssl3", "libstdc++6"} <= listed | {one.removesuffix("t64") for one in listed}
    assert all(one["purl"] and one["version"] and one["licenses"] for one in bill["components"])
    texts = (folder / "LICENCES.txt").read_text()
    for name in ("pyarrow", "click", "libc6", "python"):
        assert re.search(rf"^={{72}}\n{name} \S+\n\n", texts, re.MULTILINE), name
