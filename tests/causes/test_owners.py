"""Owners: teams of owners.yaml, then deployers by label, then the last field manager; unknown stays unknown."""

import json

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from auditor.base.arrow import may_hold, read_parquet
from auditor.base.errors import PlanError
from auditor.causes.filters import Filters
from auditor.causes.model import FindingsModel
from auditor.causes.owners import ReportOwners, owner_of, read_owner_rules
from tests.causes.reports import audited, definition, export, widget

HELM = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "shop"}


@pytest.mark.parametrize(
    ("labels", "manager", "owner"),
    [
        ({}, None, None),
        ({"app.kubernetes.io/instance": "shop"}, None, None),
        ({}, "kubectl", "manager:kubectl"),
        (HELM, "helm", "helm:shop"),
        ({"argocd.argoproj.io/instance": "app", **HELM}, "argocd", "argocd:app"),
        (
            {"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux"},
            None,
            "flux:flux/infra",
        ),
        ({"helm.toolkit.fluxcd.io/name": "infra"}, None, "flux-helm:/infra"),
    ],
)
def test_owners_by_labels_and_managers(labels, manager, owner):
    assert owner_of(labels, manager) == owner


@pytest.mark.parametrize("given", ["file", "none"])
def test_owners_of_findings(tmp_path, given):
    managed = {
        "manager": "operator", "operation": "Update", "apiVersion": "example.com/v1", "time": "2026-05-01T10:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}}},
    }  # fmt: skip
    objects = [
        widget("a", {"size": 9}, labels=HELM),
        widget("b", {"size": 9}, namespace="shop-1"),
        widget("c", {"size": 9}, managedFields=[managed]),
        widget("d", {"size": 9}),
        widget("e", {"size": 9}, labels={"tier": "gold"}),
    ]
    file = tmp_path / "owners.yaml"
    rules = [{"team": "shop", "namespace": "shop-*"}, {"team": "gold", "kind": "Widget", "labels": {"tier": "g*"}}]
    file.write_text(json.dumps({"owners": rules}))
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    dump = export(tmp_path / "dump.ndjson", crd, *objects)
    report = audited(tmp_path / "report", dump, owners=str(file) if given == "file" else "")
    model = FindingsModel.open(report)
    owners = {one["name"]: one["owner"] for one in model.findings()}
    teams = {"b": "shop", "e": "gold"} if given == "file" else {"b": None, "e": None}
    assert owners == {"a": "helm:shop", "c": "manager:operator", "d": None, **teams}
    [cause] = model.causes
    assert set(cause.owners) == set(filter(None, owners.values()))
    [narrowed] = model.filtered(Filters(owners=("helm:*",)))
    assert narrowed.objects == 1


@pytest.mark.parametrize(
    "content",
    ["text", [{"team": "a"}], [{"namespace": "x"}], [{"team": "a", "names": "x"}], [{"team": "a", "labels": ["x"]}], 3],
)
def test_files_of_another_form_are_refused(tmp_path, content):
    file = tmp_path / "owners.yaml"
    file.write_text(json.dumps(content))
    with pytest.raises(PlanError, match="--owners"):
        read_owner_rules(str(file))


def read_table(report, table):
    return ds.dataset(report / table, format="parquet").to_table().to_pylist()


def ref(api_version, kind, name, **more):
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True, **more}


@pytest.mark.parametrize("warm", [0, 40], ids=["judged one by one", "behind the fast path"])
def test_the_owner_is_the_top_of_the_chain_of_controllers(tmp_path, warm):
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    widgets = [
        *(widget(f"a-{number:03}", {"size": 1}, ownerReferences=[ref("v1", "Node", "n1")]) for number in range(warm)),
        widget("child", {"size": 9}, ownerReferences=[ref("example.com/v1", "Widget", "mid")]),
        widget("elsewhere", {"size": 9}, namespace="other", ownerReferences=[ref("example.com/v1", "Widget", "mid")]),
        widget("helm", {"size": 9}, labels=HELM, ownerReferences=[ref("example.com/v1", "Widget", "mid")]),
        widget("mid", {"size": 1}, ownerReferences=[ref("apps/v1", "Deployment", "web")]),
        widget("nightly", {"size": 9}, ownerReferences=[ref("batch/v1", "Job", "run")]),
        widget("no-controller", {"size": 9}, ownerReferences=[ref("v1", "Node", "n1", controller=False)]),
        widget("round-1", {"size": 9}, ownerReferences=[ref("example.com/v1", "Widget", "round-2")]),
        widget("round-2", {"size": 9}, ownerReferences=[ref("example.com/v1", "Widget", "round-1")]),
    ]
    ghost = {**widget("ghost", {}, ownerReferences=[ref("apps/v1", "Deployment", "web")]), "kind": "Ghost"}
    old = widget("old", {}, ownerReferences=[ref("apps/v1", "Deployment", "web")]) | {"apiVersion": "example.com/v0"}
    job = widget("run", {}, ownerReferences=[ref("batch/v1", "CronJob", "nightly")])
    job |= {"apiVersion": "batch/v1", "kind": "Job"}
    report = audited(tmp_path / "report", export(tmp_path / "dump.ndjson", crd, *widgets, ghost, old, job))
    model = FindingsModel.open(report)
    assert {one["name"]: one["owner"] for one in model.findings()} == {
        "child": "controller:Deployment.apps/web",
        "elsewhere": "controller:Widget.example.com/mid",
        "helm": "helm:shop",
        "nightly": "controller:CronJob.batch/nightly",  # through an object of a built-in kind
        "no-controller": None,
        "round-1": "controller:Widget.example.com/round-2",
        "round-2": "controller:Widget.example.com/round-1",
    }
    owners = {one["name"]: one["owner"] for one in model.objects()}
    assert owners == dict.fromkeys(("ghost", "old"), "controller:Deployment.apps/web")
    rows = read_table(report, "objects")
    assert {row["name"]: row["controller"] for row in rows if row["name"] in ("mid", "no-controller", "old")} == {
        "mid": "Deployment.apps/web",
        "no-controller": None,
        "old": "Deployment.apps/web",
    }
    assert {row["controller"] for row in rows if row["name"].startswith("a-")} == ({"Node/n1"} if warm else set())


def test_reports_without_the_column_are_read(tmp_path):
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    dump = export(tmp_path / "dump.ndjson", crd, widget("a", {"size": 9}, ownerReferences=[ref("v1", "Node", "n1")]))
    old = audited(tmp_path / "old", dump)
    for path in (old / "objects").glob("*.parquet"):
        pq.write_table(pq.read_table(path).drop_columns(["controller"]), path)
    assert [one["owner"] for one in FindingsModel.open(old).findings()] == [None]
    new = audited(tmp_path / "new", dump, diff=str(old))
    assert [one["owner"] for one in FindingsModel.open(new).findings()] == ["controller:Node/n1"]


def test_a_file_without_labels_of_owners_is_known_by_its_footer(tmp_path):
    labelled = export(
        tmp_path / "a.ndjson", definition({"size": {"type": "integer", "maximum": 5}}),
        widget("a", {"size": 9}, labels=HELM), widget("b", {"size": 9}, labels={"zone": "eu"}),
    )  # fmt: skip
    [file] = (audited(tmp_path / "a", labelled) / "index").rglob("part-*.parquet")
    assert may_hold(file, "labels.key_value.key", ["app.kubernetes.io/instance"])
    assert may_hold(file, "labels.key_value.key", ["aaa", "tier"])  # it lies between two that are there
    assert not may_hold(file, "labels.key_value.key", ["aaa", "zzz"])
    plain = export(
        tmp_path / "b.ndjson", definition({"size": {"type": "integer", "maximum": 5}}), widget("a", {"size": 9})
    )
    [file] = (audited(tmp_path / "b", plain) / "index").rglob("part-*.parquet")
    assert not may_hold(file, "labels.key_value.key", ["app.kubernetes.io/instance"])
    assert may_hold(file, "name", ["a"])


def test_only_parts_with_objects_of_the_kind_of_a_controller_are_read(tmp_path, monkeypatch):
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    widgets = [widget("mid", {}, ownerReferences=[ref("apps/v1", "Deployment", "web")]), widget("free", {})]
    job = widget("run", {}, ownerReferences=[ref("batch/v1", "CronJob", "nightly")])
    job |= {"apiVersion": "batch/v1", "kind": "Job"}
    paths = [
        *audited(tmp_path / "a", export(tmp_path / "a.ndjson", *widgets)).glob("objects/*"),
        *audited(tmp_path / "b", export(tmp_path / "b.ndjson", crd, job)).glob("objects/*"),
    ]
    report = audited(tmp_path / "report", export(tmp_path / "c.ndjson", crd, *widgets, job))
    for number, path in enumerate(paths):
        path.replace(report / "objects" / f"part-{number:05}.parquet")
    read = []

    def noted(path, *columns, **more):
        read.append(path.name)
        return read_parquet(path, *columns, **more)

    monkeypatch.setattr("auditor.causes.owners.read_parquet", noted)
    found = ReportOwners(report, json.loads((report / "manifest.json").read_text()))
    assert found.top_controller("", "team", "Deployment.apps/web") == "Deployment.apps/web"
    assert read == []  # the report has no such object
    assert found.top_controller("", "team", "Job.batch/run") == "CronJob.batch/nightly"
    assert read == ["part-00001.parquet"]
    assert found.top_controller("", "team", "Widget.example.com/mid") == "Deployment.apps/web"
    assert read == ["part-00001.parquet", "part-00000.parquet"]
