"""Built-in kinds of the reference snapshot, from protobuf and from JSON: selected and printed alike."""

from __future__ import annotations

import gzip
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from auditor.builtin.builtin_kinds import BUILTIN_KINDS
from auditor.builtin.scheme import type_named
from auditor.builtin.selectable import builtin_selectable, rules_of
from auditor.printing.get.command import get
from auditor.printing.get.options import GetOptions
from auditor.server.dump import DumpStore
from auditor.server.object_reader import ReadMode
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from tests.command import auditor
from tests.documents import etcdctl_text, export_of
from tests.shared import ROOT, shared
from tests.sources.archives.writing import must_gather, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OTHERS = ("apiextensions.k8s.io", "apiregistration.k8s.io")
KINDS = [one for one in BUILTIN_KINDS if one.group not in OTHERS and one.kind != "Lease"]  # renewed after the export


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DumpStore, DumpStore]]:
    """Yield the store of the snapshot and that of a List of the same objects, as they are after the last renewal."""
    folder = tmp_path_factory.mktemp("builtin")
    with gzip.open(shared("golden/upgrade/snapshot.db.gz")) as packed, (folder / "s.db").open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    with gzip.open(shared("golden/upgrade/builtins.json.gz")) as stream:
        items = [one["object"] for one in json.load(stream) if one["object"]["kind"] != "Lease"]
    (folder / "list.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    with (
        open_store(QueryOptions(str(folder / "s.db")), lambda _: None) as stored,
        open_store(QueryOptions(str(folder / "list.json")), lambda _: None) as exported,
    ):
        assert isinstance(stored, DumpStore)
        assert isinstance(exported, DumpStore)
        yield stored, exported


def _run(store: DumpStore, *args: str, **options: Any) -> tuple[str, str]:
    out: list[str] = []
    err: list[str] = []
    get(store, GetOptions(args=args, all_namespaces=True, now=1_790_000_000.0, **options), out.append, err.append)
    return "".join(out), "".join(err)


@pytest.mark.parametrize("one", KINDS, ids=lambda one: f"{one.plural}.{one.version}.{one.group}")
def test_protobuf_and_json_print_alike(stores: tuple[DumpStore, DumpStore], one: Any) -> None:
    name = f"{one.plural}.{one.version}.{one.group}"
    for output in ("", "wide", "name"):
        stored, exported = (_run(store, name, output=output, show_labels=output != "name") for store in stores)
        assert stored == exported


def test_the_snapshot_holds_a_good_many_kinds(stores: tuple[DumpStore, DumpStore]) -> None:
    out, _ = _run(stores[0], ",".join(f"{one.plural}.{one.version}.{one.group}" for one in KINDS), output="name")
    assert len({line.partition("/")[0] for line in out.splitlines()}) >= 14


@pytest.mark.parametrize("one", KINDS, ids=lambda one: f"{one.plural}.{one.version}.{one.group}")
def test_protobuf_and_json_are_selected_alike(stores: tuple[DumpStore, DumpStore], one: Any) -> None:
    name = f"{one.plural}.{one.version}.{one.group}"
    resource = stores[0].discovery.resolve(name)
    asked = set()
    for obj in stores[1].list_objects(stores[1].discovery.resolve(name), "", "", ""):
        for label, value in builtin_selectable(one.group, one.kind, obj).items():
            asked.add(f"{label}={value}")
            asked.add(f"{label}!={value}")
    for selector in sorted(asked)[:60]:
        stored, exported = (
            [o["metadata"]["name"] for o in store.list_objects(resource, "", "", selector)] for store in stores
        )
        assert stored == exported, selector
        if "!" not in selector:
            assert stored or rules_of(one.group, one.kind).unmatched


def test_values_of_secrets_are_redacted_unless_asked_for(stores: tuple[DumpStore, DumpStore]) -> None:
    for store in stores:
        store.reader.mode = ReadMode()
        hidden, _ = _run(store, "secrets", output="json")
        values = {value for item in json.loads(hidden)["items"] for value in item["data"].values()}
        assert values == {"(redacted)"}
        for output in ("jsonpath={.items[*].data}", "custom-columns=D:.data", "yaml"):
            assert "(redacted)" in _run(store, "secrets", output=output)[0]
        store.reader.mode = ReadMode(show_secrets=True)
        shown, _ = _run(store, "secrets", output="json")
        assert "(redacted)" not in shown
        store.reader.mode = ReadMode(stored=True)
        assert '"(redacted)"' in _run(store, "secrets", output="json")[0]
        store.reader.mode = ReadMode()


def test_a_refused_label_is_reported_in_the_servers_words(stores: tuple[DumpStore, DumpStore]) -> None:
    _, err = _run(stores[0], "namespaces", fields="name=default")
    wanted = (
        'Error from server (BadRequest): Unable to find "/v1, Resource=namespaces" that match label selector "", '
        'field selector "name=default": field label not supported: name\n'
    )
    assert err == wanted


def test_the_alias_of_a_label_selects(stores: tuple[DumpStore, DumpStore]) -> None:
    by_alias = _run(stores[0], "pods", fields="spec.host=node-apple", output="name")
    assert by_alias == _run(stores[0], "pods", fields="spec.nodeName=node-apple", output="name")
    assert by_alias[0].count("pod/") == 3


def test_definitions_are_listed_like_any_kind(stores: tuple[DumpStore, DumpStore]) -> None:
    out, _ = _run(stores[0], "crd", output="name")
    with gzip.open(shared("golden/upgrade/crds/server-rev2.json.gz")) as stream:
        names = [one["metadata"]["name"] for one in json.load(stream)["items"]]
    assert out.splitlines() == [f"customresourcedefinition.apiextensions.k8s.io/{name}" for name in sorted(names)]


def test_an_object_that_is_stored_as_it_is_read_is_shown_once() -> None:
    words = ("show", ROOT / "sample-data" / "cluster.db.gz", "configmaps/notes", "-n", "north")
    assert auditor(*words, "-o", "yaml").stdout.count("kind: ConfigMap") == 2  # its own line, and the object
    assert json.loads(auditor(*words, "-o", "json").stdout)["stored"]["kind"] == "ConfigMap"


def test_a_component_status_is_no_orphan(tmp_path: Path) -> None:
    status = {"apiVersion": "v1", "kind": "ComponentStatus", "metadata": {"name": "etcd-0"}, "conditions": []}
    (tmp_path / "dump.json").write_text(json.dumps(status))
    done = auditor("audit", tmp_path / "dump.json", "--report", tmp_path / "report")
    assert (done.code, "CLEAN" in done.stdout) == (0, True)
    assert json.loads((tmp_path / "report" / "manifest.json").read_text())["counts"]["statuses"] == {"builtin": 1}


def test_an_export_has_the_objects_of_a_kind_at_each_group_that_a_server_decodes(tmp_path: Path) -> None:
    versions = ("extensions/v1beta1", "apps/v1beta2", "apps/v1", "networking.k8s.io/v1", "v1", "gone.example.com/v1")
    kinds = ("Deployment", "DaemonSet", "ReplicaSet", "Ingress", "NetworkPolicy", "ReplicationController")
    objects = [
        {"apiVersion": version, "kind": kind, "metadata": {"name": f"n{number}", "namespace": "shop"}}
        for number, version in enumerate(versions)
        for kind in kinds
        if type_named(f"{version if '/' in version else f'/{version}'}/{kind}") is not None or number == 5
    ]
    places = {"Ingress": "ingress", "NetworkPolicy": "networkpolicies", "ReplicationController": "controllers"}
    keys = {
        f"{places.get(kind, f'{kind.lower()}s')}/shop/n{number}": one
        for one in objects
        if (number := versions.index(one["apiVersion"])) < 5 and (kind := one["kind"])
    }
    (tmp_path / "etcd.json").write_text(etcdctl_text(keys))
    asked = ",".join(kinds).lower()
    for words in (("query", asked, "-A", "-o", "name"), ("query", "*", "--count")):
        exported = auditor(words[0], export_of(tmp_path / "export.json", *objects), *words[1:])
        assert exported.stdout == auditor(words[0], tmp_path / "etcd.json", *words[1:]).stdout
    assert len(keys) == 14
    assert exported.stdout.endswith("total 14\n")
    assert f"note: {len(kinds)} values of no kind" in exported.stderr
    shown = auditor("show", tmp_path / "export.json", "ingresses", "n0", "-n", "shop").stdout
    assert "orphaned\n" in shown
    assert "no server of this release stores Ingress.extensions\n" in shown  # what an audit says of it


def test_ages_in_a_backup_are_those_of_its_newest_time(tmp_path: Path) -> None:
    times = {"older": "2025-01-01T00:00:00Z", "newer": "2025-01-04T00:00:00Z"}
    pods: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "a", "creationTimestamp": time}}
        for name, time in times.items()
    ]
    unpack(must_gather(pods), tmp_path / "gathered")
    done = auditor("query", tmp_path / "gathered", "pods", "-A")
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["AGE", "0s", "3d"]
