"""Definitions of real projects: beside the project, or out of their Go modules, pinned by version and hash.

No file of these projects is committed here. Fetched files stay in the folder for temporary files.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from auditor.sources.yaml import YamlError, yaml_chunks, yaml_to_json
from tests.shared import SHARED
from tests.updates.real_examples import Module, folder_of

MODULES = (
    Module("github.com/cert-manager/cert-manager", "v1.21.2", "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68="),
    Module("sigs.k8s.io/gateway-api", "v1.4.1", "h1:NPxFutNkKNa8UfLd2CMlEuhIPMQgDQ6DXNKG9sHbJU8="),
    Module("github.com/external-secrets/external-secrets", "v1.3.2", "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ="),
    Module("sigs.k8s.io/kueue", "v0.17.0", "h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I="),
    Module(
        "github.com/prometheus-operator/prometheus-operator",
        "v0.85.0",
        "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
    ),
    Module("sigs.k8s.io/cluster-api", "v1.14.2", "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA="),
)
CACHE = Path(tempfile.gettempdir()) / "auditor-test-definitions"


@cache
def real_definitions() -> Path:
    """Return a folder of definitions, or skip the calling test where they cannot be fetched."""
    beside = SHARED / "corpus" / "crds"
    if beside.exists():
        return beside
    folder = CACHE / "-".join(module.version for module in MODULES)
    if folder.exists():
        return folder
    if shutil.which("go") is None:
        pytest.skip("no Go to fetch the definitions of real projects with")
    CACHE.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=CACHE))
    try:
        for module in MODULES:
            _copy(folder_of(module, work), work / module.path.rpartition("/")[2])
    except OSError as error:
        pytest.skip(f"the definitions of real projects cannot be fetched: {error}")
    (work / "go.mod").unlink()
    try:
        work.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(work)
    return folder


def _copy(module: Path, target: Path) -> None:
    """Copy each file that is nothing but definitions, each name once."""
    target.mkdir()
    seen = set()
    for path in sorted(module.rglob("*.yaml")):
        text = path.read_bytes()
        if b"kind: CustomResourceDefinition" not in text or b"openAPIV3Schema" not in text or b"{{" in text:
            continue
        try:
            documents = [yaml_to_json(chunk.text) for chunk in yaml_chunks(text)]
        except YamlError:
            continue
        names = {str(one["metadata"]["name"]) for one in documents if one}
        if names & seen or any(one and one["kind"] != "CustomResourceDefinition" for one in documents):
            continue
        seen |= names
        (target / f"{len(seen):03d}-{path.name}").write_bytes(text)
