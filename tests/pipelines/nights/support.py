"""Small dumps that change from one day to the next."""

import base64
import copy
import json
from dataclasses import replace

from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit

FORMS = ("etcdctl", "export")
DELETING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/wait"]}


def definition(kind="Loaf", *, group="bakery.example.com", most=100, rules=(), versions=("v1",), scope="Namespaced"):
    plural = kind.lower() + "s"
    spec = {
        "type": "object",
        "properties": {
            "grams": {"type": "integer", "maximum": most},
            "flour": {"type": "string", "enum": ["wheat", "rye"]},
            "shape": {"type": "string", "default": "round"},
        },
    }
    if rules:
        spec["x-kubernetes-validations"] = [{"rule": rule} for rule in rules]
    root = {"type": "object", "properties": {"spec": spec}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List"}
    accepted = [
        {"type": name, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for name in ("NamesAccepted", "Established")
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "resourceVersion": "1"},
        "spec": {
            "group": group, "scope": scope, "names": names,
            "versions": [
                {"name": name, "served": True, "storage": name == versions[0], "schema": {"openAPIV3Schema": root},
                 "selectableFields": [{"jsonPath": ".spec.flour"}]}
                for name in versions
            ],
        },
        "status": {"acceptedNames": names, "conditions": accepted, "storedVersions": [versions[0]]},
    }  # fmt: skip


def loaf(name, *, namespace="north", kind="Loaf", version="v1", group="bakery.example.com", metadata=None, **spec):
    return {
        "apiVersion": f"{group}/{version}",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", **(metadata or {})},
        "spec": {"grams": 5, "flour": "rye", **spec},
    }


class Store:
    """What an etcd holds: key to (value, revision); it can be written as `etcdctl get -w json` or as an export."""

    def __init__(self, *objects):
        self.revision = 0
        self.kvs = {}
        for one in objects:
            self.put(one)

    def put(self, value, key=None):
        self.revision += 1
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.kvs[key or self.key(value)] = (data, self.revision)

    @staticmethod
    def key(value):
        if value["kind"] == "CustomResourceDefinition":
            return f"/registry/apiextensions.k8s.io/customresourcedefinitions/{value['metadata']['name']}"
        metadata = value["metadata"]
        place = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
        return f"/registry/{value['apiVersion'].partition('/')[0]}/{value['kind'].lower()}s/{place}"

    def copy(self):
        return copy.deepcopy(self)

    def write(self, path, form):
        if form == "etcdctl":
            kvs = [
                {"key": base64.b64encode(key.encode()).decode(), "create_revision": 1, "mod_revision": revision,
                 "version": 1, "value": base64.b64encode(data).decode()}
                for key, (data, revision) in sorted(self.kvs.items())
            ]  # fmt: skip
            path.write_text(json.dumps({"header": {"revision": self.revision}, "kvs": kvs, "count": len(kvs)}))
        else:
            path.write_bytes(b"".join(data + b"\n" for data, _ in self.kvs.values()))
        return str(path)


def bakery(*more):
    return Store(
        definition(),
        *(loaf(f"loaf-{number:02}") for number in range(8)),
        loaf("heavy", grams=900),
        loaf("odd", flour="sand", extra=1),
        loaf("south", namespace="south"),
        loaf("stuck", grams=900, flour="sand", metadata={**DELETING, "generation": -1}),
        {"apiVersion": "gone.example.com/v1", "kind": "Ghost", "metadata": {"name": "g", "namespace": "north"}},
        *more,
    )


def day(store, tmp_path, form, number):
    return store.write(tmp_path / f"day-{number}.{'json' if form == 'etcdctl' else 'ndjson'}", form)


def two_days(tmp_path, form, first, second):
    return day(first, tmp_path, form, 1), day(second, tmp_path, form, 2)


class Nights:
    """Audits of one place, night after night."""

    def __init__(self, folder):
        self.folder = folder
        self.number = 0

    def audit(self, dumps, **options):
        self.number += 1
        report = self.folder / f"report-{self.number}"
        dumps = (dumps,) if isinstance(dumps, str) else tuple(dumps)
        code, manifest = run_audit(replace(AuditOptions(dumps=dumps, report=str(report), fail_on="never"), **options))
        return report, manifest, code
