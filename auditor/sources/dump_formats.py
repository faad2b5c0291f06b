"""The formats that can be read: how each is detected, and what it needs. `auditor sources` prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """One format.

    Attributes:
        name: Its name for --source and in the manifest of a report.
        title: A description.
        told_by: How it is detected.
        needs: What is needed to read all of it; empty if the file is enough.
        form: Its name in the table of readers; empty for an archive or folder.
    """

    name: str
    title: str
    told_by: str
    needs: str = ""
    form: str = ""


_ALL: Final = (
    SourceFormat(
        "etcd-snapshot",
        "snapshot of etcd 3.x, or a copied database (member/snap/db)",
        "a bolt meta page at byte 0 or behind the first page; the bucket `key`",
        "--encryption-config where values are encrypted; --salvage for a damaged one",
        "bolt",
    ),
    SourceFormat(
        "etcd-data-dir",
        "data directory of an etcd member, also below k3s' server/db/etcd; packed or not",
        "the folder above `member`, `member` or `snap`, with snap/db in it",
        "wal/ beside snap/, to say which writes are newer than the database",
    ),
    SourceFormat(
        "kine-sqlite",
        "state.db of k3s or RKE2 without etcd",
        'a file that begins with "SQLite format 3", with a table `kine`; a folder with db/state.db',
        "state.db-wal beside it, where the server was running",
        "sqlite",
    ),
    SourceFormat(
        "kine-csv",
        "the table of kine from PostgreSQL or MySQL: CSV, tab-separated, or COPY in a plain pg_dump",
        "a first line with the columns id, name, deleted, value; or COPY kine (...) FROM stdin",
        "values in hex (bytea, --binary-as-hex, HEX(value)), or they may be cut at a zero byte",
        "kine-text",
    ),
    SourceFormat(
        "etcdctl-json",
        "`etcdctl get /registry --prefix -w json`",
        "a JSON object that begins with header, kvs or count",
        "values too, not --keys-only",
        "etcdctl",
    ),
    SourceFormat(
        "manifests",
        "Kubernetes objects as JSON, NDJSON, List or YAML; a folder of these",
        "a JSON object or array, or YAML with apiVersion, kind or items; in folders by file names",
        "",
        "manifests",
    ),
    SourceFormat(
        "velero",
        "backup of Velero, formats 1 and 1.1.0: tar.gz or unpacked",
        "paths resources/<resource>/(cluster|namespaces/<ns>)/<name>.json",
        "definitions with --crds where the backup has no cluster resources",
    ),
    SourceFormat(
        "rancher",
        "backup of Rancher's backup operator: tar.gz, .tar.gz.enc or unpacked",
        "paths <resource>.<group>#<version>/[<ns>/]<name>.json",
        "--encryption-config for an encrypted one",
    ),
    SourceFormat(
        "must-gather",
        "must-gather of OpenShift, `oc adm inspect`: folder or archive",
        "paths cluster-scoped-resources/..., namespaces/<ns>/<group>/...",
        "definitions with --crds where they were not collected",
    ),
    SourceFormat(
        "cluster-info",
        "`kubectl cluster-info dump`: folder, archive or one stream",
        "nodes.json and <ns>/pods.json",
        "it holds built-in kinds alone",
    ),
    SourceFormat(
        "archive",
        "tar or zip of any of the others, also of k3s' and RKE2's zipped snapshots",
        "a header of tar, in any compression; PK at byte 0",
    ),
)

FORMATS: Final = {entry.name: entry for entry in _ALL}
"""Formats by name, in the order in which they are tried."""
HAS_HISTORY: Final = ("etcd-snapshot", "etcd-data-dir")
"""Formats that have older revisions of keys."""
