"""Owners: teams of owners.yaml, then deployers by label, then the last field manager; unknown stays unknown."""

import json

import pytest

from auditor.base.arrow import may_hold
from auditor.base.errors import PlanError
from auditor.report.findings.filters import Filters
from auditor.report.findings.model import FindingsModel
from auditor.report.findings.owners import owner_of, read_owner_rules
from tests.report.findings.reports import audited, definition, export, widget

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
