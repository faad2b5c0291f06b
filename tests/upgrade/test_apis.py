"""Removed and deprecated versions of kinds in an upgrade scan: what is stored breaks, what clients wrote is a note."""

import base64
import gzip
import json

import pytest

from auditor.plan.options import AuditOptions, RunScope
from auditor.releases import RELEASES
from auditor.releases.release import Release
from auditor.shards.upgrade.scan_plan import UpgradeOptions
from auditor.sources.storage_value import CBOR_TAG
from pipelines.run.upgrade import run_upgrade
from tests.upgrade.support import GROUP, crd, encoded, managed, summary_of, thing, version, write_crds

DEFINITION = crd(version({"type": "object"}), stored=["v1"])
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SECRET = "c2VjcmV0LXZhbHVl"


def of(api_version, kind, name, namespace="default", **more):
    metadata = {
        "name": name,
        "uid": f"u-{name}",
        "creationTimestamp": "2026-01-02T00:00:00Z",
        **more.pop("metadata", {}),
    }
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def write(folder, values):
    values = {
        "/registry/apiextensions.k8s.io/customresourcedefinitions/things.example.com": DEFINITION,
        "/registry/example.com/things/default/a": thing("a", {}),
        "/registry/services/specs/default/kubernetes": of("v1", "Service", "kubernetes"),
        **values,
    }
    kvs = [
        {"key": encoded(key.encode()), "create_revision": at, "mod_revision": at, "version": 1,
         "value": encoded(value if isinstance(value, bytes) else json.dumps(value).encode())}
        for at, (key, value) in enumerate(sorted(values.items()), 2)
    ]  # fmt: skip
    path = folder / "dump.json"
    path.write_text(json.dumps({"header": {"revision": len(kvs) + 1}, "kvs": kvs, "count": len(kvs)}))
    return path


def upgraded(folder, values, to="1.38", **options):
    helm = options.pop("helm", False)
    new_crds = options.pop("new_crds", ())
    report = str(folder / "report")
    dump = options.pop("dump", None) or write(folder, values)
    asked = AuditOptions(dumps=(str(dump),), report=report, jobs=1, force=True, engine="inline", **options)
    code, manifest = run_upgrade(
        asked, UpgradeOptions(new_crds, to_kubernetes=to, helm_releases=helm, today=options.get("kubernetes", ""))
    )
    shown = summary_of(report).rstrip("\n")
    return code, manifest["upgrade"], shown


HPA = "/registry/horizontalpodautoscalers/default/web"
PDB = "/registry/poddisruptionbudgets/default/web"


def test_a_dump_without_any_use_is_safe(tmp_path):
    code, section, shown = upgraded(tmp_path, {})
    assert (code, section["decision"]) == (0, "safe")
    assert shown.startswith("safe\n")
    assert "removed and deprecated" not in shown
    assert shown.endswith("Next: upgrade the API server.")


def test_what_the_new_server_does_not_decode_blocks(tmp_path, monkeypatch):
    known = tuple(Release(one.minor, one.version, one.is_final, one.minor >= 35) for one in RELEASES)
    monkeypatch.setattr("auditor.releases.release.RELEASES", known)
    value = of("autoscaling/v2beta2", "HorizontalPodAutoscaler", "web", spec={"maxReplicas": 3})
    code, section, shown = upgraded(tmp_path, {HPA: value}, to="1.36", kubernetes="1.35")
    (stored,) = section["apis"]["stored"]
    assert (stored["state"], stored["decoded_until"], stored["removed"]) == ("undecodable", "1.35", "1.26")
    assert code == 1
    assert section["sentence"].startswith(
        "blocks, because of HorizontalPodAutoscaler at autoscaling/v2beta2 (1 object is stored at it, and Kubernetes 1.36 "
        "does not decode it: no LIST of the kind works)"
    )
    stored = "1 object at autoscaling/v2beta2, removed in 1.26; use autoscaling/v2: not decoded since 1.36"
    assert f"{stored}: no LIST of the kind works" in shown
    assert HPA in shown


def test_what_was_undecodable_before_is_no_harm_of_the_upgrade(tmp_path):
    value = of("autoscaling/v2beta2", "HorizontalPodAutoscaler", "web", spec={"maxReplicas": 3})
    _code, section, shown = upgraded(tmp_path, {HPA: value})
    assert section["apis"]["stored"][0]["state"] == "undecodable-before"
    assert "no LIST of the kind works, before or after" in shown
    assert section["decision"] != "blocks"


def test_a_removed_version_that_is_decoded_breaks_nothing(tmp_path):
    value = of("policy/v1beta1", "PodDisruptionBudget", "web", spec={"minAvailable": 1})
    code, section, shown = upgraded(tmp_path, {PDB: value})
    assert section["apis"]["stored"][0]["state"] == "decoded"
    assert "decoded as before; the next write stores another version" in shown
    # what 1.38 decodes is known of no server yet
    assert section["decision"] == "unknown"
    assert "whether Kubernetes 1.38 still decodes PodDisruptionBudget at policy/v1beta1" in section["sentence"]
    assert code == 0


def test_stored_protobuf_is_known_by_its_envelope(tmp_path):
    meta = b"\n\x0fpolicy/v1beta1\x12\x13PodDisruptionBudget"
    meta = b"\n" + bytes([14]) + b"policy/v1beta1" + b"\x12" + bytes([19]) + b"PodDisruptionBudget"
    body = b"\n\x14\n\x03web\x12\x00\x1a\x07default\x22\x00*\x00"
    body = b"\n" + bytes([len(b"\n\x03web\x1a\x07default")]) + b"\n\x03web\x1a\x07default"
    value = b"k8s\0\n" + bytes([len(meta)]) + meta + b"\x12" + bytes([len(body)]) + body
    _, section, _ = upgraded(tmp_path, {PDB: value})
    (stored,) = section["apis"]["stored"]
    assert (stored["api_version"], stored["kind"], stored["objects"]) == ("policy/v1beta1", "PodDisruptionBudget", 1)


def test_what_no_server_keeps_is_left_over(tmp_path):
    value = of("policy/v1beta1", "PodSecurityPolicy", "restricted", namespace="")
    _, section, shown = upgraded(tmp_path, {"/registry/podsecuritypolicy/restricted": value})
    assert section["apis"]["stored"][0]["state"] == "left-over"
    assert "no server keeps objects at these keys" in shown


def entry(manager, api_version, time="2026-03-01T00:00:00Z"):
    return {"manager": manager, "operation": "Update", "apiVersion": api_version, "time": time, "fieldsType": "FieldsV1",
            "fieldsV1": {}}  # fmt: skip


def claim(*entries, applied=""):
    metadata = {"managedFields": list(entries)}
    if applied:
        metadata["annotations"] = {LAST_APPLIED: json.dumps({"apiVersion": applied, "kind": "ResourceClaim"})}
    return of("resource.k8s.io/v1", "ResourceClaim", "gpu", metadata=metadata, spec={})


CLAIM = "/registry/resourceclaims/default/gpu"


def test_clients_of_a_version_that_this_upgrade_removes_need_attention_and_break_nothing(tmp_path):
    code, section, shown = upgraded(tmp_path, {CLAIM: claim(entry("driver", "resource.k8s.io/v1beta1"))})
    assert (code, section["decision"], section["levels"]) == (0, "attention", [])
    assert section["sentence"] == (
        "attention: ResourceClaim at resource.k8s.io/v1beta1 (Kubernetes 1.38 does not serve it, and clients wrote at it: "
        "driver (1 object))"
    )
    (use,) = section["apis"]["clients"]
    assert (use["state"], use["manager"], use["last_write"]) == ("removed-by-upgrade", "driver", "2026-03-01T00:00:00Z")
    assert "resource.k8s.io/v1beta1, removed in 1.38: driver wrote 1 object at it once, last 2026-03-01" in shown


@pytest.mark.parametrize(
    ("value", "state"),
    [
        (claim(applied="resource.k8s.io/v1beta1"), "removed-by-upgrade"),
        (claim(entry("kubectl", "resource.k8s.io/v1beta2")), "deprecated"),
    ],
)
def test_a_last_applied_annotation_and_a_deprecated_version_are_notes(tmp_path, value, state):
    code, section, _ = upgraded(tmp_path, {CLAIM: value})
    assert (code, section["decision"]) == (0, "safe")
    assert [one["state"] for one in section["apis"]["clients"]] == [state]


def test_a_version_that_no_server_of_today_serves_has_no_clients_of_today(tmp_path):
    metadata = {"managedFields": [entry("helm", "extensions/v1beta1")]}
    value = of("apps/v1", "Deployment", "web", metadata=metadata)
    code, section, shown = upgraded(tmp_path, {"/registry/deployments/default/web": value})
    assert (code, section["decision"]) == (0, "safe")
    assert [one["state"] for one in section["apis"]["clients"]] == ["removed-before"]
    assert "removed in 1.16" in shown


def helm(status="deployed", manifest=None, *, kind="Secret", raw=None, labels=True):
    manifest = manifest or (
        f"---\n# Source: a\napiVersion: resource.k8s.io/v1beta1\nkind: DeviceClass\nmetadata:\n  name: x\n---\n"
        f"apiVersion: v1\nkind: Secret\ndata:\n  a: {SECRET}\n"
    )
    document = {"name": "web", "version": 3, "info": {"status": status}, "manifest": manifest}
    packed = raw if raw is not None else base64.b64encode(gzip.compress(json.dumps(document).encode()))
    data = base64.b64encode(packed) if kind == "Secret" else packed
    own = {"labels": {"owner": "helm", "status": status}} if labels else {}
    return of("v1", kind, "sh.helm.release.v1.web.v3", metadata=own, data={"release": data.decode()})


RELEASE = "/registry/secrets/default/sh.helm.release.v1.web.v3"


@pytest.mark.parametrize(("kind", "labels"), [("Secret", True), ("Secret", False), ("ConfigMap", True)])
def test_helm_releases_with_removed_versions_by_a_flag(tmp_path, kind, labels):
    key = RELEASE if kind == "Secret" else RELEASE.replace("secrets", "configmaps")
    value = helm(kind=kind, labels=labels)
    code, section, shown = upgraded(tmp_path, {key: value}, helm=True)
    assert code == 1
    assert section["sentence"] == (
        "attention: DeviceClass at resource.k8s.io/v1beta1 (Kubernetes 1.38 does not serve it, and the next upgrade by Helm "
        "fails of default/web)"
    )
    assert "default/web revision 3: its manifest has resource.k8s.io/v1beta1 DeviceClass, removed in 1.38" in shown
    assert SECRET not in json.dumps(section) + shown
    code, section, _ = upgraded(tmp_path, {key: value})
    assert (code, section["decision"], section["apis"]["helm"]) == (0, "safe", None)


def field(number, value):
    text = value.encode() if isinstance(value, str) else value
    size = [len(text)] if len(text) < 128 else [len(text) & 127 | 128, len(text) >> 7]
    return bytes([number << 3 | 2, *size]) + text


def in_etcd(value):
    """Return a Secret or ConfigMap of one label and one entry in the form in which a server stores it."""
    metadata, (entry,) = value["metadata"], value["data"].items()
    label = field(11, field(1, "status") + field(2, metadata["labels"]["status"]))
    is_secret = value["kind"] == "Secret"
    text = base64.b64decode(entry[1]) if is_secret else entry[1]
    message = field(1, field(1, metadata["name"]) + field(3, metadata["namespace"]) + label)
    message += field(2, field(1, entry[0]) + field(2, text))
    return b"k8s\0" + field(1, field(1, "v1") + field(2, value["kind"])) + field(2, message)


def without_kind(value):
    return {name: part for name, part in value.items() if name not in ("kind", "apiVersion")}


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
@pytest.mark.parametrize("form", [in_etcd, without_kind])
def test_helm_releases_are_read_in_each_form_that_a_server_reads(tmp_path, kind, form):
    key = RELEASE if kind == "Secret" else RELEASE.replace("secrets", "configmaps")
    _, section, _ = upgraded(tmp_path, {key: form(helm(kind=kind))}, helm=True)
    found = section["apis"]["helm"]
    assert (found["read"], found["unread"]) == (1, [])
    assert [one["release"] for one in found["releases"]] == ["web"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (in_etcd(helm())[:-9], "its value cannot be decoded"),
        (b"k8s:enc:aescbc:v1:k:" + b"x" * 64, "it is encrypted, and no key opens it"),
    ],
)
def test_a_helm_release_whose_secret_is_not_read_is_counted(tmp_path, value, reason):
    _, section, _ = upgraded(tmp_path, {RELEASE: value}, helm=True)
    assert section["apis"]["helm"]["unread"] == [{"reason": reason, "count": 1}]
    assert section["decision"] != "safe"


def test_older_revisions_of_helm_releases_do_not_count(tmp_path):
    code, section, shown = upgraded(tmp_path, {RELEASE: helm("superseded", labels=False)}, helm=True)
    assert (code, section["apis"]["helm"]) == (0, {"read": 0, "older": 1, "more": 0, "unread": [], "releases": []})
    assert "1 older revision not read: a rollback to one may need more" in shown


BOMB = base64.b64encode(gzip.compress(b"[" + b"0," * (20 << 20) + b"0]", 1, mtime=0))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\xff", "it is no release of Helm 3"),
        (b"AAA", "it is no base64"),
        (base64.b64encode(b"\x1f\x8bno"), "it is no gzip"),
        (base64.b64encode(gzip.compress(b"{}", mtime=0)[:-6]), "it is larger than 16 MiB, or cut off"),
        (BOMB, "it is larger than 16 MiB, or cut off"),
        (base64.b64encode(gzip.compress(b"[" * 10_000_000, mtime=0)), "it is no release of Helm 3"),
        (base64.b64encode(gzip.compress(b"{}", mtime=0)), "it is no release of Helm 3"),
    ],
    ids=["no-json", "no-base64", "no-gzip", "cut-off", "bomb", "too-deep", "empty"],
)
def test_hostile_helm_releases_are_counted(tmp_path, raw, reason):
    _code, section, shown = upgraded(tmp_path, {RELEASE: helm(raw=raw)}, helm=True)
    assert section["apis"]["helm"]["unread"] == [{"reason": reason, "count": 1}]
    assert f"1 release could not be read: {reason}" in shown
    assert section["decision"] != "safe"


def test_services_that_are_not_there(tmp_path):
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {
        "service": {"namespace": "hooks", "name": "gone"}, "caBundle": "Cg=="}}}  # fmt: skip
    definition = crd(version({"type": "object"}), stored=["v1"], conversion=conversion, plural="others", kind="Other")
    values = {
        "/registry/apiregistration.k8s.io/apiservices/v1beta1.metrics.k8s.io": of(
            "apiregistration.k8s.io/v1", "APIService", "v1beta1.metrics.k8s.io", "",
            spec={"service": {"namespace": "kube-system", "name": "metrics-server"}},
        ),
        "/registry/apiregistration.k8s.io/apiservices/v1.apps": of(
            "apiregistration.k8s.io/v1", "APIService", "v1.apps", "", spec={"group": "apps", "version": "v1"}
        ),
        "/registry/apiextensions.k8s.io/customresourcedefinitions/others.example.com": definition,
    }  # fmt: skip
    code, section, _shown = upgraded(tmp_path, values)
    assert section["apis"]["api_services"] == [
        {"name": "v1beta1.metrics.k8s.io", "service": "kube-system/metrics-server"}
    ]
    assert section["apis"]["webhooks"] == [{"definition": "others.example.com", "service": "hooks/gone"}]
    assert code == 0
    values["/registry/services/specs/kube-system/metrics-server"] = of("v1", "Service", "metrics-server", "kube-system")
    values["/registry/services/specs/hooks/gone"] = of("v1", "Service", "gone", "hooks")
    _, section, _ = upgraded(tmp_path, values)
    assert section["apis"]["api_services"] == section["apis"]["webhooks"] == []


def test_deprecated_versions_of_definitions_with_their_objects_and_managers(tmp_path):
    old = version({"type": "object"}, "v1alpha1", storage=False, deprecated=True)
    gone = version({"type": "object"}, "v1alpha2", storage=False, deprecated=True, served=False)
    definition = crd(old, gone, version({"type": "object"}), stored=["v1alpha1", "v1"])
    things = [
        thing("a", {}, metadata={"managedFields": [managed("old-operator", "2026-03-01T00:00:00Z", {}, "v1alpha1")]}),
        thing("b", {}, at="v1alpha1"),
    ]
    values = {f"/registry/{GROUP}/things/default/{one['metadata']['name']}": one for one in things}
    values["/registry/apiextensions.k8s.io/customresourcedefinitions/things.example.com"] = definition
    code, section, shown = upgraded(tmp_path, values)
    (found,) = section["apis"]["deprecated_versions"]
    assert (found["definition"], found["version"], found["objects_stored"]) == ("things.example.com", "v1alpha1", 1)
    assert [(one["manager"], one["objects"]) for one in found["clients"]] == [("old-operator", 1)]
    assert (
        "things.example.com v1alpha1, deprecated, which its definition still serves: 1 object is stored at it; "
        "written by old-operator (1 object)" in shown
    )
    assert code == 0


def test_a_release_that_is_not_reproduced_is_never_called_safe(tmp_path, monkeypatch):
    known = tuple(Release(one.minor, one.version, one.is_final, one.minor >= 37) for one in RELEASES)
    monkeypatch.setattr("auditor.releases.release.RELEASES", known)
    value = of("autoscaling/v2beta2", "HorizontalPodAutoscaler", "web", spec={"maxReplicas": 3})
    code, section, shown = upgraded(tmp_path, {}, to="1.36")
    assert section["decision"] == "unknown"
    assert shown.startswith(
        "not all was judged: no harm found in the rest; not judged: how Kubernetes 1.36 reads, validates and accepts objects "
        "and definitions (that release is not reproduced)\n"
    )
    code, section, _ = upgraded(tmp_path, {HPA: value}, to="1.36")
    assert (code, section["decision"]) == (1, "blocks")


def test_an_older_release_is_not_looked_at(tmp_path):
    _code, section, _ = upgraded(tmp_path, {}, to="1.37", kubernetes="1.38")
    assert section["apis"] is None
    assert section["decision"] == "unknown"
    assert "which kinds and versions Kubernetes 1.37, the older release, lacks" in section["sentence"]


def test_exports_show_clients_and_the_versions_that_were_asked_for(tmp_path):
    value = claim(entry("driver", "resource.k8s.io/v1beta1")) | {"apiVersion": "resource.k8s.io/v1beta1"}
    dump = tmp_path / "export.ndjson"
    dump.write_text("\n".join(map(json.dumps, [DEFINITION, thing("a", {}), value, helm()])))
    _code, section, _ = upgraded(tmp_path, {}, dump=dump, helm=True)
    apis = section["apis"]
    assert [use["state"] for use in apis["stored"]] == ["exported"]
    assert [one["manager"] for one in apis["clients"]] == ["driver"]
    assert [one["release"] for one in apis["helm"]["releases"]] == ["web"]


def test_new_definitions_alone_look_for_no_removed_versions(tmp_path):
    path = write_crds(tmp_path / "new.yaml", crd(version({"type": "object"})))
    _, section, shown = upgraded(
        tmp_path, {CLAIM: claim(entry("driver", "resource.k8s.io/v1beta1"))}, to="", new_crds=(str(path),)
    )
    assert section["apis"] is None
    assert section["not_compared"] == []
    assert shown.startswith("safe")


def cbor(value):
    """Return a value of maps, lists and short texts in CBOR, texts as byte strings, as the server writes them."""

    def head(major, size):
        return bytes([major << 5 | size]) if size < 24 else bytes([major << 5 | 24, size])

    if isinstance(value, dict):
        return head(5, len(value)) + b"".join(cbor(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    return head(2, len(value)) + value.encode()


def test_values_in_cbor_are_searched_as_well(tmp_path):
    value = claim(entry("driver", "resource.k8s.io/v1beta1"))
    _, section, _ = upgraded(tmp_path, {CLAIM: CBOR_TAG + cbor(value)})
    assert [one["manager"] for one in section["apis"]["clients"]] == ["driver"]


def test_more_helm_entries_than_are_named_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("auditor.shards.upgrade.apis._MOST", 1)
    keys = [RELEASE.replace("default", namespace) for namespace in ("a", "b", "c")]
    values = {key: {**helm(), "metadata": {**helm()["metadata"], "namespace": key.split("/")[3]}} for key in keys}
    _, section, shown = upgraded(tmp_path, values, helm=True)
    assert (len(section["apis"]["helm"]["releases"]), section["apis"]["helm"]["more"]) == (1, 2)
    assert "2 more versions that are gone, in manifests of deployed releases" in shown


def test_a_filter_leaves_removed_versions_out_and_the_first_line_says_so(tmp_path):
    value = claim(entry("driver", "resource.k8s.io/v1beta1"))
    _, section, shown = upgraded(tmp_path, {CLAIM: value}, scope=RunScope(include=("things.example.com",)))
    assert section["apis"] is None
    left_out = "removed and deprecated versions of kinds, which are looked for in whole dumps alone"
    assert shown.startswith(f"safe (of the objects in scope; not of {left_out})\n")
    assert section["not_compared"] == [left_out]


def test_endpoints_are_no_sign_of_a_client(tmp_path):
    value = of("v1", "Endpoints", "web", metadata={"managedFields": [entry("kube-controller-manager", "v1")]})
    _, section, _ = upgraded(tmp_path, {"/registry/services/endpoints/default/web": value})
    assert section["apis"]["clients"] == []


def test_items_of_an_export_at_versions_that_the_new_server_does_not_serve_are_named(tmp_path):
    budget = of("policy/v1beta1", "PodDisruptionBudget", "a", spec={})
    flow = of("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", "b", "", spec={})
    served = of("policy/v1", "PodDisruptionBudget", "c", spec={})
    dump = tmp_path / "export.ndjson"
    dump.write_text("\n".join(map(json.dumps, [budget, budget, flow, served])))
    code, section, shown = upgraded(tmp_path, {}, dump=dump, to="1.34", kubernetes="1.32")
    assert (code, section["decision"]) == (1, "attention")
    named = {(use["api_version"], use["kind"]): (use["state"], use["objects"]) for use in section["apis"]["stored"]}
    assert named == {
        ("policy/v1beta1", "PodDisruptionBudget"): ("exported", 2),
        ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"): ("exported", 1),
    }
    assert "2 objects of the export cannot be restored at it" in json.dumps(section["apis"]["decisions"])
    assert shown.startswith(
        "attention: FlowSchema at flowcontrol.apiserver.k8s.io/v1beta3 (Kubernetes 1.34 does not serve"
    )
