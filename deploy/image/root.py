"""Make the root file system of an image: this Python, the libraries it links, and an installation of the auditor.

python root.py INSTALLATION ROOT

It has no shell and no package manager. Needs `ldd` of glibc; with `dpkg-query` the bill of materials lists the
packages of Debian that libraries come from.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final
from urllib.parse import quote

_USER: Final = 65532
_LEFT_OUT: Final = frozenset(
    [
        "test",
        "tests",
        "idlelib",
        "tkinter",
        "turtledemo",
        "lib2to3",
        "pydoc_data",
        "ensurepip",
        "site-packages",
        "dist-packages",
        "__pycache__",
    ]
)
"""Folders of the standard library that nothing here imports."""
_NOT_NEEDED: Final = (
    "_dbm",
    "_gdbm",
    "_curses",
    "readline",
    "nis",
    "ossaudiodev",
    "_tkinter",
    "_test",
    "_xx",
    "xx",
    "_ctypes_test",
)
"""Prefixes of extension modules that nothing here imports; they would add libraries."""
_LOADED_BY_NAME: Final = ("libgcc_s.so.1", "libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2")
"""Libraries that glibc opens by itself."""
_CERTIFICATES: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem")
_ZONES: Final = Path("/usr/share/zoneinfo")
_DUMP: Final = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.ex.com}
spec:
  group: ex.com
  scope: Namespaced
  names: {plural: as, singular: a, kind: A, listKind: AList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-validations: [{rule: self.size < 3}], properties: {size: {type: integer}}}
---
apiVersion: ex.com/v1
kind: A
metadata: {name: a, namespace: b}
spec: {size: 3}
"""
_FOLDER: Final = "/work/compile"
"""Folder of the image in which commands are run; it is removed afterwards."""
_CALLS: Final = (
    ("auditor", "version"),
    ("auditor", "audit", "dump.yaml", "--jobs", "1", "--report", "r", "--fail-on", "never", "-o", "html=r.html"),
    ("auditor", "audit", "dump.yaml", "--jobs", "2", "--report", "p", "--fail-on", "never", "-o", "prometheus=p.prom"),
    ("auditor", "summary", "r"),
    ("auditor", "query", "r", "as"),
    ("auditor", "validate", "dump.yaml", "--ignore-missing"),
    ("python3", "-c", "import boto3.session; boto3.session.Session().client('s3', region_name='a')"),
)
"""Commands that are run once in the image, so that Python stores the modules they load in compiled form."""


def copy(source: Path, root: Path) -> None:
    """Copy a file to the same path below a root, and each link on the way to it."""
    target = root / source.relative_to("/")
    if target.is_symlink() or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
        copy(Path(os.path.normpath(source.parent / source.readlink())), root)
    else:
        shutil.copy2(source, target)


def files_below(folder: Path) -> list[Path]:
    """Return the files of a folder of the standard library that the image needs."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if one not in _LEFT_OUT and not one.startswith("config-")]
        not_needed = _NOT_NEEDED if place.endswith("lib-dynload") else ()
        kept = [name for name in names if not name.endswith((".a", ".pyc")) and not name.startswith(not_needed)]
        found += [Path(place) / name for name in kept]
    return found


def linked(files: list[Path]) -> set[Path]:
    """Return the libraries outside of an installation that programs and libraries link, and the loader."""
    query = ["ldd", *map(str, files)]
    output = subprocess.run(query, capture_output=True, text=True, check=False).stdout  # noqa: S603 - a fixed program
    return {Path(one) for one in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", output, re.MULTILINE)}


def opened_by_name(beside: set[Path]) -> set[Path]:
    """Return the libraries that glibc opens by itself, from the folders of the linked ones."""
    folders = {path.parent for path in beside}
    return {folder / name for folder in folders for name in _LOADED_BY_NAME if (folder / name).exists()}


def compile_what_is_loaded(installation: Path, root: Path) -> None:
    """Run commands in the image, so that its modules are compiled: this makes a start three times as fast."""
    folder = root / _FOLDER.lstrip("/")
    folder.mkdir()
    (folder / "dump.yaml").write_text(_DUMP, encoding="utf-8")
    path = f"{installation}/bin:{Path(sys.base_prefix) / 'bin'}"
    for call in _CALLS:
        if (process := os.fork()) == 0:
            with contextlib.suppress(OSError):
                os.chroot(root)
                os.chdir(_FOLDER)
                os.execvpe(call[0], call, {"PATH": path, "HOME": _FOLDER, "LANG": "C.UTF-8"})  # noqa: S606
            os._exit(127)
        if (code := os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])) == 127:
            sys.stderr.write("root: chroot is not allowed here; the image compiles modules at each start\n")
            break
        if code not in {0, 1}:
            sys.exit(f"root: {' '.join(call)} ended with {code} in the image")
    shutil.rmtree(folder)


def owners(files: set[Path]) -> dict[str, str]:
    """Return the packages of Debian that files come from, with their versions."""
    if shutil.which("dpkg-query") is None:
        return {}
    names = {str(path) for path in files} | {str(path).removeprefix("/usr") for path in files}
    names |= {os.path.realpath(path) for path in files}
    query = ["dpkg-query", "-S", *sorted(names)]
    done = subprocess.run(query, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed program
    packages = sorted({line.split(":")[0] for line in done.stdout.splitlines() if not line.startswith("diversion")})
    if not packages:
        return {}
    query = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages]
    listed = subprocess.run(query, capture_output=True, text=True, check=False).stdout  # noqa: S603 - likewise
    return dict(line.split(" ", 1) for line in listed.splitlines())


def add_to_bill(folder: Path, packages: dict[str, str]) -> None:
    """List Python and the packages of Debian in the bill of materials, and add the texts of their licences."""
    bill = json.loads((folder / "sbom.cdx.json").read_text(encoding="utf-8"))
    added = [("python", platform.python_version(), f"pkg:generic/python@{platform.python_version()}", "PSF-2.0")]
    for name, version in packages.items():
        added.append((name, version, f"pkg:deb/debian/{quote(name)}@{quote(version)}", "see LICENCES.txt"))
    for name, version, purl, licence in added:
        part = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
        bill["components"].append({**part, "licenses": [{"license": {"name": licence}}]})
    (folder / "sbom.cdx.json").write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    texts = [(name, version, Path(f"/usr/share/doc/{name}/copyright")) for name, version in packages.items()]
    own = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    with (folder / "LICENCES.txt").open("a", encoding="utf-8") as out:
        for name, version, path in [("python", platform.python_version(), own), *texts]:
            text = path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""
            out.write(f"\n{'=' * 72}\n{name} {version}\n\n{text or 'see the package'}\n")


def main(installation: Path, root: Path) -> None:
    """Copy Python, the libraries it links, certificates, time zones and the installation."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    interpreter = Path(sys.base_prefix) / "bin" / f"python{sysconfig.get_python_version()}"
    library = files_below(stdlib)
    binaries = [interpreter, *(path for path in library if path.suffix == ".so")]
    binaries += [path for path in installation.rglob("*.so*") if path.is_file() and not path.is_symlink()]
    needed = {path for path in linked(binaries) if not path.is_relative_to(installation)}
    needed |= opened_by_name(needed)
    for path in [interpreter, interpreter.with_name("python3"), *library, *needed]:
        copy(path, root)
    if bundle := next((one for one in map(Path, _CERTIFICATES) if one.exists()), None):
        (root / "etc/ssl/certs").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(bundle, root / _CERTIFICATES[0].lstrip("/"))
    if _ZONES.is_dir():
        shutil.copytree(
            _ZONES, root / "usr/share/zoneinfo", symlinks=True, ignore=shutil.ignore_patterns("right", "posix")
        )
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/passwd").write_text(
        f"root:x:0:0:root:/:/sbin/nologin\nauditor:x:{_USER}:{_USER}::/tmp:/sbin/nologin\n"
    )
    (root / "etc/group").write_text(f"root:x:0:\nauditor:x:{_USER}:\n")
    (root / "etc/nsswitch.conf").write_text("hosts: files dns\n")
    if (release := Path("/etc/os-release")).exists():  # vulnerability scanners read it
        shutil.copyfile(release, root / "etc/os-release")
    (root / "tmp").mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for name in ("dev", "proc", "sys", "work"):
        (root / name).mkdir(exist_ok=True)
    os.chown(root / "work", _USER, _USER)
    from_packages = {path for path in (interpreter, stdlib / "os.py", *needed) if not path.is_relative_to("/usr/local")}
    add_to_bill(installation, owners(from_packages))
    unneeded = shutil.ignore_patterns("__pycache__", "activate*", "Activate*")
    shutil.copytree(installation, root / installation.relative_to("/"), symlinks=True, ignore=unneeded)
    compile_what_is_loaded(installation, root)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
