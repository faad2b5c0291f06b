"""Small clusters for upgrade scans: definitions, stored objects, and a dump of both as `etcdctl get -w json` prints it."""

import base64
import json
from pathlib import Path

import pyarrow.parquet as pq

from auditor.causes.model import FindingsModel
from auditor.output.views.summary import summary_lines
from auditor.plan.options import AuditOptions
from auditor.shards.upgrade import UpgradeOptions
from pipelines.run.upgrade import run_upgrade

GROUP = "example.com"
NAME = "things.example.com"


def version(spec, name="v1", *, served=True, storage=True, status=None, **more):
    """Return a version whose objects have a spec of this schema."""
    properties = {"spec": spec} if spec is not None else {}
    if status is not None:
        properties["status"] = status
    schema = {"type": "object", "properties": properties}
    return {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema}, **more}


def crd(*versions, stored=None, conversion=None, plural="things", kind="Thing"):
    """Return a definition in v1; with the versions of status.storedVersions as a server has it, else as a manifest."""
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec = {"group": GROUP, "names": names, "scope": "Namespaced", "versions": list(versions)}
    if conversion is not None:
        spec["conversion"] = conversion
    document = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": spec,
    }
    if stored is not None:
        conditions = [
            {"type": name, "status": "True", "reason": "r", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            for name in ("NamesAccepted", "Established")
        ]
        document["metadata"] |= {"uid": "u-crd", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
        document["status"] = {"conditions": conditions, "acceptedNames": names, "storedVersions": stored}
    return document


def thing(name, spec, at="v1", **more):
    metadata = {"name": name, "namespace": "default", "uid": f"u-{name}", "generation": 1,
                "creationTimestamp": "2026-01-02T00:00:00Z", **more.pop("metadata", {})}  # fmt: skip
    return {"apiVersion": f"{GROUP}/{at}", "kind": "Thing", "metadata": metadata, "spec": spec, **more}


def managed(manager, time, fields, at="v1"):
    """Return an entry of managedFields."""
    return {"manager": manager, "operation": "Update", "apiVersion": f"{GROUP}/{at}", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": fields}  # fmt: skip


def write_dump(path, definitions, objects):
    """Write an `etcdctl get -w json` of stored definitions and objects."""
    values = {
        f"/registry/apiextensions.k8s.io/customresourcedefinitions/{one['metadata']['name']}": one
        for one in definitions
    }
    values |= {f"/registry/{GROUP}/things/default/{one['metadata']['name']}": one for one in objects}
    kvs = [
        {"key": encoded(key.encode()), "create_revision": number, "mod_revision": number, "version": 1,
         "value": encoded(json.dumps(value).encode() + b"\n")}
        for number, (key, value) in enumerate(sorted(values.items()), 2)
    ]  # fmt: skip
    path.write_text(json.dumps({"header": {"revision": len(kvs) + 1}, "kvs": kvs, "count": len(kvs)}))
    return path


def encoded(data):
    return base64.b64encode(data).decode()


def write_crds(path, *definitions):
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(definitions)}))
    return path


class Scan:
    """A finished scan: exit code, manifest and rows."""

    def __init__(self, code, manifest, folder):
        self.code = code
        self.manifest = manifest
        self.folder = Path(folder)
        self.section = manifest["upgrade"]

    def rows(self, table):
        return [
            row for part in sorted((self.folder / table).glob("*.parquet")) for row in pq.read_table(part).to_pylist()
        ]

    def changes(self, change=None):
        """Return (name, change, path, old, new) of each row, values decoded."""
        return [
            (
                row["name"],
                row["change"],
                row["path"],
                *(None if row[side] is None else json.loads(row[side]) for side in ("old", "new")),
            )
            for row in self.rows("changes")
            if change in (None, row["change"])
        ]

    @property
    def definition(self):
        [found] = self.section["definitions"]
        return found


def scan(folder, old, new, objects, *, fail_on="invalid", missing="keep", assumptions=None, jobs=1, **options):
    """Scan a small cluster: stored definitions, those to come, stored objects."""
    dump = write_dump(folder / "dump.json", old, objects)
    crds = write_crds(folder / "new.json", *new)
    code, manifest = run_upgrade(
        AuditOptions(dumps=(str(dump),), report=str(folder / "report"), fail_on=fail_on, jobs=jobs, **options),
        UpgradeOptions((str(crds),), missing, assumptions or {}),
    )
    return Scan(code, manifest, folder / "report")


def string(**more):
    return {"type": "string", **more}


def spec(**properties):
    return {"type": "object", "properties": properties}


def summary_of(report):
    """Return the summary of a report with all of its lines, however long they are."""
    return "\n".join(line.text for line in summary_lines(FindingsModel.open(report), 1 << 20, 1 << 20))
