"""A kind whose conversion webhook cannot be called: LIST fails if a dump that holds Services lacks its Service."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.command import auditor
from tests.documents import etcdctl_text
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path

WORDS = (
    "conversion webhook for port.example.net/v1alpha1, Kind=Pilot failed: "
    'Post "https://hook.guild.svc:8443/convert?timeout=30s": service "hook" not found'
)
SERVICE = {"service": {"namespace": "guild", "name": "hook", "path": "/convert", "port": 8443}}
REST = {"conversionReviewVersions": ["v1"]}


def crd(client: dict[str, Any], form: str = "v1") -> dict[str, Any]:
    """Return the definition in a form: clients see v1, servers store v1beta1."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": True, "storage": name == "v1beta1", "schema": schema}
        for name in ("v1alpha1", "v1beta1")
    ]
    names = {"plural": "pilots", "singular": "pilot", "kind": "Pilot", "listKind": "PilotList"}
    webhook = {"webhook": {**REST, "clientConfig": client}} if form == "v1" else {**REST, "webhookClientConfig": client}
    conversion = {"strategy": "Webhook", **webhook}
    spec = {"group": "port.example.net", "scope": "Namespaced", "names": names, "conversion": conversion}
    true = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]
    return {
        "apiVersion": f"apiextensions.k8s.io/{form}", "kind": "CustomResourceDefinition",
        "metadata": {"name": "pilots.port.example.net"}, "spec": {**spec, "versions": versions},
        "status": {"acceptedNames": names, "storedVersions": ["v1alpha1", "v1beta1"], "conditions": true},
    }  # fmt: skip


def pilot(version: str) -> dict[str, Any]:
    metadata = {"name": f"of-{version}", "namespace": "harbour", "uid": version}
    return {"apiVersion": f"port.example.net/{version}", "kind": "Pilot", "metadata": metadata}


def service(namespace: str, name: str) -> tuple[str, dict[str, Any]]:
    metadata = {"name": name, "namespace": namespace, "uid": name}
    return f"services/specs/{namespace}/{name}", {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {},
    }


def dump(
    path: Path, client: dict[str, Any], *services: tuple[str, dict[str, Any]], cut: int = 0, form: str = "v1beta1"
) -> Path:
    values = {
        "apiextensions.k8s.io/customresourcedefinitions/pilots.port.example.net": crd(client, form),
        **{f"port.example.net/pilots/harbour/of-{one}": pilot(one) for one in ("v1alpha1", "v1beta1")},
        **dict(services),
    }
    path.write_text(etcdctl_text(values, cut=cut))
    return path


def audited(folder: Path, path: Path, *words: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Return exit code and output of an audit, and the causes of its report."""
    ended = auditor("audit", path, "--report", folder / "r", "--jobs", 1, *words)
    causes = json.loads(auditor("findings", folder / "r", "-o", "json").stdout)["causes"]
    return ended.code, " ".join(ended.stdout.split()), causes


@pytest.mark.parametrize("form", ["v1", "v1beta1"])
def test_without_its_service_the_kind_cannot_be_listed(tmp_path: Path, form: str) -> None:
    path = dump(tmp_path / "d.json", SERVICE, service("default", "kubernetes"), form=form)
    code, shown, [cause] = audited(tmp_path, path)
    assert "Next: restore the Service guild/hook of the conversion webhook" in shown
    assert "repair or delete" not in shown
    assert (code, cause["severity"], cause["impact"], cause["objects"]) == (1, "critical", "breaks-list", 1)
    assert WORDS in json.dumps(cause).replace('\\"', '"')
    shown = " ".join(auditor("findings", tmp_path / "r", cause["cause"]).stdout.split())
    assert "what to do: restore the Service guild/hook of the conversion webhook; delete no object for that" in shown
    asked = auditor("query", path, "pilots", "-A", "--as-server")
    assert asked.code != 0
    assert WORDS in asked.stderr
    shown = " ".join(auditor("show", path, "/registry/port.example.net/pilots/harbour/of-v1alpha1").stdout.split())
    assert "Impact: breaks-list" in shown
    assert f"Status: unreadable Reason: {WORDS}" in shown


@pytest.mark.parametrize("target", ["d.json", "r"])
def test_without_its_service_the_objects_are_shown_as_they_are_stored(tmp_path: Path, target: str) -> None:
    audited(tmp_path, dump(tmp_path / "d.json", SERVICE, service("default", "kubernetes")))
    source = tmp_path / target
    note = "pilots.port.example.net is shown as stored: only the conversion webhook can read it at v1beta1 "
    for words in (("query", source, "pilots", "-A"), ("query", source, "pilots", "of-v1alpha1", "-n", "harbour")):
        asked = auditor(*words, "-o", "jsonpath={..apiVersion}")
        assert (asked.code, asked.stderr.count("\n")) == (0, 1), asked.stderr
        assert note in asked.stderr
        assert "port.example.net/v1alpha1" in asked.stdout
    counted = auditor("kinds", source, "-o", "json")
    [pilots] = [kind for kind in json.loads(counted.stdout) if kind["kind"] == "Pilot"]
    assert (counted.code, pilots["notRead"], pilots["storedVersions"]) == (0, 0, {"v1alpha1": 1, "v1beta1": 1})
    auditor("tables", source, tmp_path / "tables", "pilots")
    [table] = [pq.read_table(path) for path in (tmp_path / "tables").rglob("*.parquet")]
    assert sorted(table["audit_status"].to_pylist(), key=str) in (["unreadable", "valid"], [None, "unreadable"])


@pytest.mark.parametrize(
    ("client", "services", "cut"),
    [
        (SERVICE, [service("guild", "hook"), service("guild", "hook-2")], 0),
        (SERVICE, [], 0),  # a dump of some kinds
        (SERVICE, [service("default", "kubernetes")], 1),  # its Service may be what is missing
        ({"url": "https://hooks.example.net/convert"}, [service("default", "kubernetes")], 0),
    ],
)
def test_a_webhook_that_may_answer_leaves_the_kind_unjudged(
    tmp_path: Path, client: dict[str, Any], services: list[Any], cut: int
) -> None:
    code, shown, [cause] = audited(tmp_path, dump(tmp_path / "d.json", client, *services, cut=cut))
    assert (code, cause["severity"], cause["impact"]) == (3 if cut else 0, "medium", "needs-webhook")
    [row] = [each for each in pq.read_table(tmp_path / "r/objects").to_pylist() if each["impact"] == "needs-webhook"]
    assert (row["status"], row["reason"]) == ("needs-conversion", None)  # judged at its own version
    assert "1 key that only a conversion webhook can list (--convert-with asks one)" in shown
    assert ("Next: give --convert-with" in shown) == (not cut)
    assert ("Next: make the dump of" in shown) == bool(cut)


def test_a_service_of_a_name_that_begins_alike_is_another(tmp_path: Path) -> None:
    path = dump(tmp_path / "d.json", SERVICE, service("guild", "hook-2"), service("guild", "hoo"))
    assert audited(tmp_path, path)[2][0]["severity"] == "critical"


@pytest.mark.parametrize("is_torn", [False, True])
def test_a_snapshot_counts_only_with_its_digest(tmp_path: Path, is_torn: bool) -> None:
    history = History()
    for entry in json.loads(dump(tmp_path / "d.json", SERVICE, service("default", "kubernetes")).read_text())["kvs"]:
        history.put(*(base64.b64decode(entry[part]) for part in ("key", "value")))
    whole = snapshot(bolt_file(etcd_buckets(history.rows), inline=False))
    path = tmp_path / "d.db"
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ is_torn]))
    code, _, [cause] = audited(tmp_path, path)
    assert (code, cause["impact"]) == ((3, "needs-webhook") if is_torn else (1, "breaks-list"))


def test_an_export_does_not_show_which_services_there_are(tmp_path: Path) -> None:
    path = tmp_path / "export.ndjson"
    objects = [crd(SERVICE), pilot("v1alpha1"), pilot("v1beta1"), service("default", "kubernetes")[1]]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    code, shown, causes = audited(tmp_path, path)
    assert (code, causes) == (0, []), shown  # clients could read each object at its version


def test_a_command_in_its_place_is_asked(tmp_path: Path) -> None:
    path = dump(tmp_path / "d.json", SERVICE, service("default", "kubernetes"))
    program = "import json, sys; r = json.load(sys.stdin); q = r['request'];"
    program += "o = [{**x, 'apiVersion': q['desiredAPIVersion']} for x in q['objects']];"
    program += "r['response'] = {'uid': q['uid'], 'result': {'status': 'Success'}, 'convertedObjects': o};"
    program += "print(json.dumps(r))"
    code, shown, causes = audited(tmp_path, path, "--convert-with", f'python3 -c "{program}"')
    assert (code, causes) == (0, [])
    assert "NOT JUDGED 0" in shown


@pytest.mark.parametrize("at", ["storage", "stored", "v1alpha1"])
@pytest.mark.parametrize("storage", ["v1alpha1", "v1beta1"])
def test_objects_at_an_unserved_version_are_not_valid_if_reads_need_a_webhook(
    tmp_path: Path, storage: str, at: str
) -> None:
    client = {"url": "https://hook.example.net/convert"}
    for is_served in (True, False):
        document = crd(client)
        for version in document["spec"]["versions"]:
            version |= {"storage": version["name"] == storage, "served": version["name"] != "v1alpha1" or is_served}
        objects = {}
        for number in range(20):
            stored = pilot("v1alpha1")
            stored["metadata"] |= {"name": f"p{number}", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
            objects[f"port.example.net/pilots/harbour/p{number}"] = stored
        path = tmp_path / "d.json"
        path.write_text(
            etcdctl_text(
                {"apiextensions.k8s.io/customresourcedefinitions/pilots.port.example.net": document, **objects}
            )
        )
        report = tmp_path / f"{is_served}"
        done = auditor("audit", path, "--report", report, "--jobs", 1, "--at", at)
        rows = pq.ParquetDataset(report / "objects").read().to_pylist()
        found = {(row["status"], "needs-webhook" in row["impacts"]) for row in rows if row["kind"] == "Pilot"}
        is_valid = is_served and (storage == "v1alpha1" or at != "storage")
        assert found == {("valid", False) if is_valid else ("needs-conversion", True)}
        assert done.code == (at == "v1alpha1" and not is_valid)


def test_a_lost_webhook_fails_lists_of_a_kind_whose_storage_version_is_not_served(tmp_path: Path) -> None:
    document = crd(SERVICE)
    for version in document["spec"]["versions"]:
        version |= {"storage": version["name"] == "v1alpha1", "served": version["name"] == "v1beta1"}
    path = tmp_path / "d.json"
    values = {"apiextensions.k8s.io/customresourcedefinitions/pilots.port.example.net": document}
    values |= {
        "port.example.net/pilots/harbour/of-v1alpha1": pilot("v1alpha1"),
        **dict([service("default", "kubernetes")]),
    }
    path.write_text(etcdctl_text(values))
    code, _, causes = audited(tmp_path, path)
    assert (code, {cause["impact"] for cause in causes}) == (1, {"breaks-list"})
