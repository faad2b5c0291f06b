"""`auditor kinds`: totals of each kind, and the objects that are being deleted."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.documents import export_of
from tests.pipelines.nights.support import Store, definition, loaf
from tests.shared import shared

if TYPE_CHECKING:
    from pathlib import Path

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
FAR = "south-of-the-very-far-river"
CREATED = {"creationTimestamp": "2026-01-01T00:00:00Z"}
WRITTEN = {"managedFields": [{"manager": "m", "operation": "Update", "time": "2026-01-11T00:00:00Z"}]}
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "l", "namespace": "kube-system", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"renewTime": "2026-01-31T00:00:00.000000Z"},
}
GONE = {"deletionTimestamp": "2026-01-30T23:00:00Z", "finalizers": ["example.com/wait"], **CREATED}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "shop", **CREATED, "deletionTimestamp": "2026-01-31T00:00:10Z"},
}
POD["metadata"]["deletionGracePeriodSeconds"] = 70  # type: ignore[index]
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "shop", "deletionTimestamp": "2026-01-30T00:00:00Z", **CREATED},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {
        "phase": "Terminating",
        "conditions": [
            {"type": "NamespaceContentRemaining", "status": "True", "message": "pods. has 1 resource instances"},
            {"type": "NamespaceDeletionDiscoveryFailure", "status": "False", "message": "fine"},
        ],
    },
}


@pytest.fixture
def store() -> Store:
    made = Store(definition(versions=("v2", "v1")), definition("Oven", scope="Cluster"))
    made.put(loaf("new", version="v2", metadata=CREATED | WRITTEN))
    made.put(loaf("old", namespace=FAR, metadata=CREATED, note="much text, " * 20))
    made.put(loaf("held", metadata=GONE))
    made.put(LEASE, "/registry/leases/kube-system/l")
    made.put(POD, "/registry/pods/shop/p")
    made.put(NAMESPACE, "/registry/namespaces/shop")
    return made


def _rows(*words: object, code: int = 0) -> list[dict[str, Any]]:
    done = auditor("kinds", *words, "-o", "json")
    assert done.code == code, done.output
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def test_each_kind_with_objects_or_a_definition_has_a_row(store: Store, tmp_path: Path) -> None:
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    done = auditor("kinds", dump)
    assert done.code == 0, done.output
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["NAME", "STORED", "OBJECTS", "BYTES", "DELETING"],
        *([*f"{_cut(name)} {numbers} {deleting}".split()] for name, _, numbers, _, deleting, _ in _expected(store)),
    ]
    assert done.stderr == ""
    wide = auditor("kinds", dump, "-o", "wide").stdout.splitlines()[1:]
    rows = [" ".join(map(str, row)).split() for row in _expected(store)]
    assert [line.split()[: len(row)] for line, row in zip(wide, rows, strict=True)] == rows


def _cut(name: str) -> str:
    return name if len(name) <= 27 else name.removesuffix(".apiextensions.k8s.io")


def test_a_table_of_kinds_fits_on_a_terminal(store: Store, tmp_path: Path) -> None:
    for number in range(1000):
        store.put(loaf(f"l{number}", version="v1alpha1", note="x" * 500))
    store.put(b"{", "/registry/bakery.example.com/loafs/north/torn")
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    for words in ((), ("--by", "namespace", "-n", "north"), ("--biggest", "3"), ("--deleting",)):
        lines = auditor("kinds", dump, *words).stdout.splitlines()
        assert max(map(len, lines)) <= 80, words
    assert "loafs.bakery.example.com     not-read=1001 ..." in auditor("kinds", dump).stdout


def test_a_name_in_a_table_is_as_short_as_query_takes_it(tmp_path: Path) -> None:
    kinds = [("gateways", "gateway.networking.k8s.io"), ("gateways", "gateway.networking.k8s.io.example.com")]
    kinds += [("applications", "argoproj.io"), ("clustertriggerauthentications", "keda.sh")]
    definitions = []
    for plural, group in kinds:
        names = {"plural": plural, "kind": plural.title(), "listKind": f"{plural}List", "singular": plural[:-1]}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
        crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
        definitions.append({**crd, "metadata": {"name": f"{plural}.{group}"}})
    path = export_of(tmp_path / "dump.json", *definitions)
    names = [line.split()[0] for line in auditor("kinds", path).stdout.splitlines()[1:]]
    assert names == [
        "applications.argoproj.io",
        "clustertriggerauthentications",
        "customresourcedefinitions",
        "gateways.gateway.networking.k8s.io",
        "gateways.gateway.networking.k8s.io.example.com",
    ]
    counts = auditor("query", path, ",".join(names), "--count").stdout.splitlines()
    assert [line.split()[1] for line in counts] == ["0", "0", "4", "0", "0"]


def test_the_biggest_objects_are_listed(store: Store, tmp_path: Path) -> None:
    store.put(b"{" * 5000, "/registry/bakery.example.com/loafs/north/torn")
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    sizes = sorted((len(value) for value, _ in store.kvs.values()), reverse=True)
    rows = _rows(dump, "--biggest", "4", code=3)
    assert [row["bytes"] for row in rows] == sizes[:4]
    first = {"kind": "Loaf", "group": "bakery.example.com", "namespace": "north", "name": "torn", "bytes": 5000}
    assert rows[0] == first
    assert [(row["name"], row["bytes"]) for row in _rows(dump, "--biggest", "9", "-n", "shop")] == [
        ("p", len(json.dumps(POD)))
    ]
    for words in (("--biggest", "0"), ("--biggest", "1", "--deleting"), ("--biggest", "1", "--by", "namespace")):
        done = auditor("kinds", dump, *words)
        assert (done.code, done.stdout, "--biggest" in done.stderr) == (2, "", True)


def _expected(store: Store) -> list[tuple[Any, ...]]:
    def sizes(prefix: str) -> tuple[int, int]:
        lengths = [len(value) for key, (value, _) in store.kvs.items() if key.startswith(f"/registry/{prefix}/")]
        return sum(lengths), max(lengths)

    crds, most_crds = sizes("apiextensions.k8s.io")
    loafs, most_loafs = sizes("bakery.example.com/loafs")
    lease, pod, namespace = sizes("leases")[0], sizes("pods")[0], sizes("namespaces")[0]
    return [
        (CRDS, "CustomResourceDefinition", f"v1=2 2 {crds}", f"{most_crds} loafs.bakery.example.com", 0, "- -"),
        ("leases.coordination.k8s.io", "Lease", f"v1=1 1 {lease}", f"{lease} kube-system/l", 0, "30d 0s"),
        ("loafs.bakery.example.com", "Loaf", f"v1=2 v2=1 3 {loafs}", f"{most_loafs} {FAR}/old", 1, "30d 60m"),
        ("namespaces", "Namespace", f"v1=1 1 {namespace}", f"{namespace} shop", 1, "30d 24h"),
        ("ovens.bakery.example.com", "Oven", "- 0 0", "-", 0, "- -"),
        ("pods", "Pod", f"v1=1 1 {pod}", f"{pod} shop/p", 1, "30d 60s"),
    ]


def test_a_stored_version_that_no_object_has_is_in_brackets_if_all_objects_are_known(tmp_path: Path) -> None:
    made = definition(versions=("v2", "v1"))
    made["status"]["storedVersions"] = ["v1", "v2"]
    store = Store(made, loaf("a", version="v2"))
    assert "v2=1 [v1] " in auditor("kinds", store.write(tmp_path / "dump.json", "etcdctl")).stdout
    of_namespace = auditor("kinds", tmp_path / "dump.json", "--by", "namespace", "-o", "wide").stdout
    assert ("v2=1 " in of_namespace, "[v1]" in of_namespace) == (True, False)
    exported = auditor("kinds", store.write(tmp_path / "export.json", "export")).stdout
    assert ("v2=1" in exported, "[v1]" in exported) == (False, False)
    store.put(b"{", "/registry/bakery.example.com/loafs/north/torn")
    assert "not-read=1 v2=1 " in auditor("kinds", store.write(tmp_path / "torn.json", "etcdctl")).stdout


def test_rows_are_by_namespace_and_sorted_as_asked(store: Store, tmp_path: Path) -> None:
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    rows = _rows(dump, "--by", "namespace", "--sort-by", "objects")
    assert [(row["kind"], row["namespace"], row["objects"]) for row in rows][:3] == [
        ("CustomResourceDefinition", None, 2),
        ("Loaf", "north", 2),
        ("Lease", "kube-system", 1),
    ]
    assert [row["kind"] for row in _rows(dump, "-n", "shop")] == ["Pod"]
    biggest = [row["bytes"] for row in _rows(dump, "--sort-by", "bytes")]
    assert biggest == sorted(biggest, reverse=True)


def test_wide_has_what_discovery_says(store: Store, tmp_path: Path) -> None:
    wide = auditor("kinds", store.write(tmp_path / "dump.json", "etcdctl"), "-o", "wide").stdout
    [head, *rows] = [line.split() for line in wide.splitlines()]
    assert head[-7:] == ["SHORTNAMES", "APIVERSION", "NAMESPACED", "VERBS", "CATEGORIES", "VERSIONS", "CONVERSION"]
    verbs = "create,delete,deletecollection,get,list,patch,update,watch"
    assert next(row for row in rows if row[1] == "Loaf")[-7:] == [
        "-", "bakery.example.com/v2", "true", verbs, "-", "v2*,v1", "None",
    ]  # fmt: skip
    assert next(row for row in rows if row[1] == "Pod")[-7:] == ["po", "v1", "true", verbs, "all", "-", "-"]
    assert "deletecollection" not in " ".join(next(row for row in rows if row[1] == "Namespace"))


def test_what_is_not_counted_or_not_read_is_said(store: Store, tmp_path: Path) -> None:
    store.put(b"{", "/registry/bakery.example.com/loafs/north/torn")
    store.put({"kind": "RangeAllocation"}, "/registry/ranges/serviceips")
    broken = definition("Broken")
    broken["status"]["conditions"] = []
    store.put(broken)
    done = auditor("kinds", store.write(tmp_path / "dump.json", "etcdctl"), "-o", "csv")
    assert done.code == 3
    assert "not-read=1 v1=2 v2=1" in done.stdout
    assert done.stderr.splitlines() == [
        "500: corrupt object /registry/bakery.example.com/loafs/north/torn: unexpected end of JSON input",
        "note: definition brokens.bakery.example.com is not served: not established",
        "note: 1 value of no kind that its definitions name, not counted; first /registry/ranges/serviceips",
    ]


def test_what_is_being_deleted_is_listed_with_what_it_waits_for(store: Store, tmp_path: Path) -> None:
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    done = auditor("kinds", dump, "--deleting")
    assert (done.code, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["KIND", "NAMESPACE", "NAME", "AGE", "WAITS", "FOR"],
        ["Namespace", "shop", "24h", "kubernetes"],
        ["Pod", "shop", "p", "60s", "-"],
        ["Loaf", "north", "held", "60m", "example.com/wait"],
    ]
    [namespace, _, _] = _rows(dump, "--deleting")
    assert (namespace["messages"], namespace["since"]) == (["pods. has 1 resource instances"], "2026-01-30T00:00:00Z")
    assert "pods. has 1 resource instances" in auditor("kinds", dump, "--deleting", "-o", "wide").stdout
    assert [row["name"] for row in _rows(dump, "--deleting", "-n", "north")] == ["held"]


def test_a_deletion_at_no_time_is_none_as_a_read_drops_it(store: Store, tmp_path: Path) -> None:
    for number, moment in enumerate(("soon", "", 7, None)):
        store.put(loaf(f"kept-{number}", metadata={**CREATED, "deletionTimestamp": moment}))
    dump = tmp_path / str(store.write(tmp_path / "dump.json", "etcdctl"))
    auditor("audit", dump, "--report", tmp_path / "report", "--fail-on", "never")
    for source in (dump, tmp_path / "report"):
        [loaves] = [row for row in _rows(source) if row["kind"] == "Loaf"]
        assert (loaves["objects"], loaves["deleting"]) == (7, 1)
        assert [row["name"] for row in _rows(source, "--deleting")] == ["shop", "p", "held"]
        asked = auditor("query", source, "loafs", "--where", "has(metadata.deletionTimestamp)", "-o", "name")
        assert asked.stdout.split() == ["loaf.bakery.example.com/held"]


def test_nothing_is_being_deleted_is_said_only_of_what_was_read(tmp_path: Path) -> None:
    store = Store(definition(), loaf("a"))
    done = auditor("kinds", store.write(tmp_path / "dump.json", "etcdctl"), "--deleting")
    assert (done.code, done.stdout, done.stderr) == (0, "", "No objects of known kinds are being deleted.\n")
    store.put(b"{", "/registry/bakery.example.com/loafs/north/torn")
    store.put(b"{}", "/registry/gone.example.com/ghosts/north/a")
    done = auditor("kinds", store.write(tmp_path / "torn.json", "etcdctl"), "--deleting")
    assert "note: 1 value of no kind" in done.stderr
    assert (done.code, done.stdout) == (3, "")
    assert done.stderr.endswith("No objects of known kinds are being deleted among those that could be read.\n")


def _map(namespace: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}}


VALUES: dict[str, tuple[bytes, bool]] = {
    "/registry/configmaps/shop/empty": (b"", True),
    "/registry/configmaps/shop/object": (b"{}", True),
    "/registry/configmaps/shop/null": (b"null", True),
    "/registry/configmaps/shop/yaml": (b"metadata:\n  name: yaml\n", True),
    "/registry/configmaps/shop/torn": (b"{", False),
    "/registry/configmaps/shop/list": (b'{"apiVersion":"v1","kind":"ConfigMap","data":[]}', False),
    "/registry/bakery.example.com/loafs/north/empty": (b"", False),
    "/registry/bakery.example.com/loafs/north/object": (b"{}", False),
    "/registry/bakery.example.com/loafs/north/other": (json.dumps(loaf("other", version="v9")).encode(), False),
    "/registry/bakery.example.com/loafs/north/fine": (json.dumps(loaf("fine")).encode(), True),
}
"""Values, and whether a server reads them."""


@pytest.mark.parametrize(("key", "value", "is_read"), [(key, *value) for key, value in VALUES.items()])
def test_what_cannot_be_read_is_so_in_every_command(key: str, value: bytes, is_read: bool, tmp_path: Path) -> None:
    store = Store(definition())
    store.put(value, key)
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    plural = key.split("/")[-3]
    for words in (("query", dump, plural), ("kinds", dump), ("refs", dump, "--dangling"), ("diff", dump, dump)):
        done = auditor(*words)
        assert done.code == (0 if is_read or words[0] == "diff" else 3), done.output
        assert done.stderr.count("500: corrupt object") == int(done.code == 3)
    [row] = [row for row in _rows(dump, code=0 if is_read else 3) if row["plural"] == plural]
    assert (row["objects"], row["notRead"]) == (1, int(not is_read))


def test_objects_are_counted_in_the_namespace_in_which_they_are_listed(tmp_path: Path) -> None:
    store = Store(definition())
    store.put(_map("shop", "own"), "/registry/configmaps/shop/own")
    store.put(_map("shop", "moved"), "/registry/configmaps/lab/moved")
    store.put(_map("lab", "other"), "/registry/configmaps/shop/other")
    store.put(b"{", "/registry/configmaps/lab/torn")
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "shop", "name": "e"}}
    store.put(event, "/registry/events/lab/e")  # Events have no watch cache: etcd lists them by their keys
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    by = [row for row in _rows(dump, "--by", "namespace", code=3) if row["namespace"]]
    assert {(row["kind"], row["namespace"]): row["objects"] - row["notRead"] for row in by} == {
        ("ConfigMap", "lab"): 1,
        ("ConfigMap", "shop"): 2,
        ("Event", "lab"): 1,
    }
    for namespace, code in (("shop", 0), ("lab", 3)):
        rows = {row["plural"]: row for row in _rows(dump, "-n", namespace, code=code)}
        for plural in ("configmaps", "events"):
            listed = auditor("query", dump, plural, "-n", namespace, "-o", "name")
            row = rows.get(plural, {"objects": 0, "notRead": 0})
            assert len(listed.stdout.splitlines()) == row["objects"] - row["notRead"], (plural, namespace)
            assert listed.code == (3 if row["notRead"] else 0)


def test_a_report_answers_by_its_dump(store: Store, tmp_path: Path) -> None:
    dump = tmp_path / str(store.write(tmp_path / "dump.json", "etcdctl"))
    report = tmp_path / "report"
    auditor("audit", dump, "--report", report, "--fail-on", "never")
    assert _rows(report) == _rows(dump)
    dump.unlink()
    done = auditor("kinds", report)
    assert (done.code, done.stdout) == (2, "")
    assert "the dump of this report is not here; --dump names it" in done.stderr


def test_a_removed_command_names_the_one_in_its_place() -> None:
    for words in (("api-resources", "d"), ("crds", "list", "d")):
        done = auditor(*words)
        assert done.code == 2
        name = " ".join(words[:-1])
        assert f"there is no command {name} any more: use `auditor kinds DUMP -o wide`" in done.stderr


def test_kinds_are_counted_by_the_version_they_are_stored_at() -> None:
    rows = _rows(shared("golden/upgrade/snapshot.db.gz"), code=3)
    exact = 0
    for kind in rows:
        assert kind["objects"] == sum(kind["storedVersions"].values()) + kind["notRead"]
        values = _values(f"/registry/{kind['group']}/{kind['plural']}/")
        if values:  # all of them are JSON
            versions = Counter(value["apiVersion"].rpartition("/")[2] for value in values)
            assert kind["storedVersions"] == versions
            exact += len(values)
    assert exact > 4
    assert sum(kind["objects"] for kind in rows) > 600


def _values(prefix: str) -> list[Any] | None:
    """Return what is stored below a key, or None if some of it is damaged."""
    with gzip.open(shared("golden/upgrade/etcdctl-get.json.gz")) as stream:
        rows = json.load(stream)["kvs"]
    try:
        values = [
            json.loads(base64.b64decode(row.get("value", "")))
            for row in rows
            if base64.b64decode(row["key"]).decode().startswith(prefix)
        ]
    except ValueError:
        return None
    return values if all(isinstance(value, dict) and "/" in str(value.get("apiVersion")) for value in values) else None
