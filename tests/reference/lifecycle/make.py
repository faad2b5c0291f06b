"""Makes auditor/releases/apis.json out of recorded answers, and asks the libraries anew where Go is.

    python -m tests.reference.lifecycle.make             # the table, from answers.json
    python -m tests.reference.lifecycle.make v0.37.2     # asks these libraries first: needs Go

``answers.json`` has two parts. ``lifecycle``: for each version of the libraries, what the methods
APILifecycleIntroduced, -Deprecated, -Removed and -Replacement of each type answer (main.go); old versions are there for
types that newer ones lack.
``registered``: for each release of k8s.io/kubernetes that the module proxy serves, the versions that the server's
scheme registers (pkg/apis/*/install/install.go), by their folder. A server decodes what it registers, served or not.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.reference.libraries import LIBRARIES

HERE = Path(__file__).resolve().parent
ANSWERS = HERE / "answers.json"
TABLE = HERE.parents[2] / "auditor" / "releases" / "apis.json"
MODULES = ("api", "apimachinery", "client-go", "apiextensions-apiserver", "kube-aggregator")
FOLDERS = {
    "": "core",
    "flowcontrol.apiserver.k8s.io": "flowcontrol",
    "internal.apiserver.k8s.io": "apiserverinternal",
    "rbac.authorization.k8s.io": "rbac",
}
"""Folders of groups that are not called as the group begins."""
ELSEWHERE = ("apiextensions.k8s.io", "apiregistration.k8s.io")
"""Groups that have a scheme of their own; it has registered v1beta1 in every release so far."""
_INSTALLED = re.compile(r'"k8s\.io/kubernetes/pkg/apis/([^"]+/v[^"]+)"')


def asked(version: str, *, aggregator: bool = True) -> dict[str, list[str]]:
    """Return what the libraries of a version say; the module proxy lacks the aggregator of some."""
    known = next((one for one in LIBRARIES.values() if one.version == version), None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(HERE / "main.go", folder)
        if aggregator:
            shutil.copy(HERE / "aggregator.go", folder)
        modules = MODULES if aggregator else MODULES[:-1]
        environment = {**os.environ, **({"GOTOOLCHAIN": known.toolchain} if known and known.toolchain else {})}
        lines = ["module auditor/lifecycle", f"go {(known.toolchain if known else '').removeprefix('go') or '1.23.0'}"]
        lines += [f"require k8s.io/{module} {version}" for module in modules]
        lines += [f"replace {module} => {module} {at}" for module, at in (known.replaced if known else {}).items()]
        (folder / "go.mod").write_text("\n".join(lines) + "\n")
        tidied = subprocess.run(["go", "mod", "tidy"], cwd=folder, env=environment, check=not aggregator)
        if tidied.returncode:
            return asked(version, aggregator=False)
        words = ["go", "run", "-mod=mod", "."]
        done = subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)
    return json.loads(done.stdout)


def registered(version: str) -> list[str]:
    """Return the folders of the versions that a release of k8s.io/kubernetes registers."""
    words = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{version}"]
    folder = Path(json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["Dir"])
    texts = [path.read_text() for path in folder.glob("pkg/apis/*/install/install.go")]
    return sorted({found for text in texts for found in _INSTALLED.findall(text)})


def minor(text: str) -> int:
    """Return 37 of ``1.37``, ``v1.37.2`` or ``v0.37.2``; 0 of nothing."""
    return int(text.split(".")[1]) if text else 0


def table(answers: dict[str, Any]) -> dict[str, Any]:
    """Return the table: [introduced, deprecated, removed, replacement, last release that decodes it] by the API."""
    apis: dict[str, list[Any]] = {}
    for version in sorted(answers["lifecycle"], key=minor):
        for label, row in answers["lifecycle"][version].items():
            apis[label] = [*map(minor, row[:3]), row[3]]
    releases = sorted(answers["registered"], key=minor)
    known = minor(releases[-1])
    types = {minor(name): said for name, said in answers["lifecycle"].items()}
    for label, row in apis.items():
        group, version, _ = label.split("/")
        at = f"{FOLDERS.get(group, group.partition('.')[0])}/{version}"
        decoding = [minor(one) for one in releases if at in answers["registered"][one] and label in types[minor(one)]]
        is_newer = min(minor(name) for name, said in answers["lifecycle"].items() if label in said) > known
        row.append(known if is_newer or group in ELSEWHERE else max(decoding, default=0))
    kept = {label: row for label, row in sorted(apis.items()) if row[1] or row[2] or row[4] < known}
    head = {"known": known, "libraries": sorted(answers["lifecycle"], key=minor), "since": _since(answers, releases)}
    return {**head, "apis": kept}


def _since(answers: dict[str, Any], releases: list[str]) -> dict[str, int]:
    """Return the stable versions that came after the oldest release, with the release that serves them first."""
    groups = {group: FOLDERS.get(group, group.partition(".")[0]) for group in _groups(answers)}
    found = {}
    for group, folder in groups.items():
        for at in sorted({at for one in releases for at in answers["registered"][one]}):
            first = next(one for one in releases if at in answers["registered"][one])
            if re.fullmatch(re.escape(folder) + r"/v\d+", at) and first != releases[0]:
                found[f"{group}/{at.rpartition('/')[2]}"] = minor(first)
    return dict(sorted(found.items()))


def _groups(answers: dict[str, Any]) -> set[str]:
    return {label.partition("/")[0] for said in answers["lifecycle"].values() for label in said}


def text_of(made: dict[str, Any]) -> str:
    """Return the table as it is in its file: a line for each API."""
    rows = ",\n".join(f"  {json.dumps(label)}: {json.dumps(row)}" for label, row in made["apis"].items())
    head = "".join(f"{json.dumps(key)}: {json.dumps(made[key])},\n" for key in ("known", "libraries", "since"))
    return f'{{{head}"apis": {{\n{rows}\n}}}}\n'


def main(versions: list[str]) -> None:
    """Ask libraries anew, and write the table."""
    answers = json.loads(ANSWERS.read_text())
    for version in versions:
        if version.startswith("v1."):
            answers["registered"][version] = registered(version)
        else:
            answers["lifecycle"][version] = asked(version)
    if versions:
        ANSWERS.write_text(json.dumps(answers, indent=0, sort_keys=True) + "\n")
    TABLE.write_text(text_of(table(answers)))


if __name__ == "__main__":
    main(sys.argv[1:])
