"""Two snapshots of a whole API server with values that it cannot decode, compared with its answers.

golden/kube/README.md: LISTs of the kinds below fail on the server; what is stored at older versions is still served.
"""

import json

import pyarrow.parquet as pq
import pytest

from tests.command import auditor
from tests.shared import recorded, shared

FAILING = {
    "tornb.db.gz": {
        "pods/shop/web-torn": "unexpected EOF",
        "configmaps/shop/torn": "couldn't get version/kind; json parse error: unexpected end of JSON input",
        "deployments/shop/badtype": "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas",
        "services/specs/shop/unk": 'no kind "Service" is registered for version "v7"',
    },
    "oldapis.db.gz": {
        "horizontalpodautoscalers/shop/old": 'no kind "HorizontalPodAutoscaler" is registered for version "autoscaling/',
        "resourceclaims/shop/old": 'no kind "ResourceClaim" is registered for version "resource.k8s.io/v1alpha2"',
    },
}
ENDING = {"services/specs/shop/unk"}
"""The server ends a minute after it starts: it cannot list the services, whose addresses it checks."""
SERVED = {
    "cronjobs/shop/old": "v1beta1",
    "poddisruptionbudgets/shop/old": "v1beta1",
    "ingress/shop/old": "v1beta1",
    "endpointslices/shop/old": "v1beta1",
}
KINDS = (
    *("Pod", "ConfigMap", "Deployment.apps", "Service", "CronJob.batch", "PodDisruptionBudget.policy"),
    *("Ingress.networking.k8s.io", "EndpointSlice.discovery.k8s.io", "HorizontalPodAutoscaler.autoscaling"),
    *("ResourceClaim.resource.k8s.io", "Secret", "Node", "Namespace"),
)


def audited(snapshot, report):
    """Audit the kinds of a snapshot, and return the rows by key."""
    included = [word for kind in KINDS for word in ("--include", kind)]
    done = auditor("audit", snapshot, "--report", report, "--jobs", "1", *included)
    assert done.code == 1, done.output
    return {row["key"].removeprefix("/registry/"): row for row in pq.read_table(report / "objects").to_pylist()}


@pytest.mark.parametrize("name", FAILING)
def test_snapshots_are_judged_as_the_server_answered(name, tmp_path):
    report = tmp_path / "out"
    rows = audited(shared(f"golden/kube/{name}"), report)
    broken = {key: row for key, row in rows.items() if row["status"] == "unreadable"}
    assert broken.keys() >= FAILING[name].keys()
    summary = auditor("summary", report, "--lines", "0").output
    for key, row in broken.items():
        assert row["impact"] == ("crashes-server" if key in ENDING else "breaks-list")
        assert f" {'/'.join(key.split('/')[-2:])} " in summary
        assert row["reason"].startswith(FAILING[name].get(key, "")), key
        assert key.partition("/")[2].startswith(("shop/", "specs/shop/"))
    if name == "oldapis.db.gz":
        assert broken.keys() == FAILING[name].keys()
        for key, version in SERVED.items():
            assert (rows[key]["status"], rows[key]["stored_version"], rows[key]["impact"]) == (
                "builtin",
                version,
                "none",
            )
    assert sum(row["status"] == "builtin" for row in rows.values()) > 20


@pytest.mark.parametrize("name", FAILING)
def test_reasons_are_those_of_the_failing_lists(name, tmp_path):
    rows = audited(recorded(f"golden/kube/{name}"), tmp_path / "out")
    for key, answer in json.loads(recorded("golden/kube/lists.json").read_text())[name].items():
        row = rows[key]
        assert (row["status"] == "builtin") == (answer["code"] == 200), key
        assert answer["code"] == 200 or row["reason"] in answer["message"]
