"""A folder with every file that the commands of the documents name, made of sample-data/."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import sys
import tarfile
from contextlib import closing
from pathlib import Path

from tests.shared import ROOT

__all__ = ["environment_of", "make_sandbox", "placed"]

_PROGRAMS = {
    "helm": "exec cat {folder}/new-crds/crds.yaml",
    "kustomize": "exec cat {folder}/manifests/loaf.yaml",
    "unwrap": "exit 1",
}
"""Programs of others: what they print here."""

_PLACES = {
    "/var/lib/etcd": "etcd",
    "/var/lib/rancher/k3s/server/db": "k3s",
    "s3://reports/": "file://{folder}/reports/",
    "s3://crds/": "file://{folder}/crds/",
    "s3://backups/": "file://{folder}/buckets/",
    " /backups/": " backups/",
    "'/backups/": "'backups/",
    "head:6379": "auto",
    "--ray-address auto": "",
}
"""Places that a page names, and where they are in the sandbox."""

_LOAF = """apiVersion: bakery.example.com/v1
kind: Loaf
metadata: {name: loaf-02, namespace: north}
spec: {flour: wheat, grams: 500}
"""
_KEYS = """apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers: [{aescbc: {keys: [{name: one, secret: MDEyMzQ1Njc4OWFiY2RlZg==}]}}, {identity: {}}]
"""


def placed(command: str, folder: Path) -> str:
    """Return a command with places of the sandbox instead of those of other machines."""
    for place, here in _PLACES.items():
        command = command.replace(place, here.format(folder=folder))
    return command


def environment_of(folder: Path) -> dict[str, str]:
    """Return the environment of commands in a sandbox: this auditor, no configuration, one process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AUDITOR_")}
    paths = (str(folder / "bin"), str(Path(sys.executable).parent), kept["PATH"])
    return {
        **kept,
        "PATH": os.pathsep.join(paths),
        "HOME": str(folder),
        "AUDITOR_AUDIT_JOBS": "1",
    }


def _definitions() -> list[dict[str, object]]:
    sys.path.insert(0, str(ROOT / "sample-data"))
    try:
        import bakery
    finally:
        sys.path.pop(0)
    return list(bakery.DEFINITIONS)


def _kine(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE kine (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, created INTEGER, deleted INTEGER,"
            " create_revision INTEGER, prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB)"
        )
        for number, document in enumerate(_definitions(), 1):
            key = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{document['metadata']['name']}"  # type: ignore[index]
            connection.execute(
                "INSERT INTO kine VALUES (?, ?, 1, 0, 0, 0, 0, ?, NULL)", (number, key, json.dumps(document).encode())
            )
        connection.commit()


def make_sandbox(folder: Path) -> None:
    """Fill a folder with all that the commands of the documents read, except reports, which commands write."""
    shutil.copytree(ROOT / "sample-data", folder / "sample-data")
    snapshot = gzip.decompress((ROOT / "sample-data" / "cluster.db.gz").read_bytes())
    for name in (
        *(f"{name}.db" for name in ("snapshot", "monday", "tuesday", "tonight", "broken")),
        *(f"backups/{name}.db" for name in ("east", "west", "huge")),
        *(f"buckets/{name}/2026-11-20.db" for name in ("east", "west")),
        "etcd/member/snap/db",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(snapshot)
    (folder / "snapshot.db.gz").write_bytes(gzip.compress(snapshot))
    for name in ("crds", "new-crds", "manifests", "k3s", "bin", "reports"):
        (folder / name).mkdir()
    (folder / "crds" / "crds.json").write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": _definitions()})
    )
    shutil.copyfile(ROOT / "sample-data" / "next-crds.yaml", folder / "new-crds" / "crds.yaml")
    (folder / "manifests" / "loaf.yaml").write_text(_LOAF)
    (folder / "export.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [{
        "apiVersion": "bakery.example.com/v1", "kind": "Loaf", "metadata": {"name": "loaf-00", "namespace": "north"},
        "spec": {"flour": "spelt"}}]}))  # fmt: skip
    (folder / "config.yaml").write_text(_KEYS)
    (folder / "enc").mkdir()
    for name in ("east", "west", "huge"):
        (folder / "enc" / f"{name}.yaml").write_text(_KEYS)
    (folder / "fleet.yaml").write_text(
        "clusters:\n- {name: prod, dump: backups/west.db, encryptionConfig: enc/west.yaml, crds: [crds]}\n"
        "- {name: staging, dump: backups/east.db}\n"
    )
    (folder / "auditor.yaml.example").write_text("audit:\n  fail-on: blocked\n")
    _kine(folder / "k3s" / "state.db")
    with tarfile.open(folder / "backup.tar.gz", "w:gz") as archive:
        archive.add(folder / "export.json", "resources/loaves.bakery.example.com/namespaces/north/loaf-00.json")
        archive.add(folder / "crds" / "crds.json", "crds.json")
    for name, text in _PROGRAMS.items():
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{text.format(folder=folder)}\n")
        program.chmod(0o755)
    shutil.copy2(folder / "bin" / "unwrap", folder / "unwrap")
