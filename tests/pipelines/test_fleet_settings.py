"""Clusters of a fleet with keys, definitions and gates of their own."""

from __future__ import annotations

import base64
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import PlanError
from auditor.plan.options import AuditOptions
from pipelines.run.fleet import clusters_of
from pipelines.run.fleet_settings import ClusterSettings, read_fleet
from tests.command import auditor
from tests.pipelines.job.conftest import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path


def config(secret: bytes) -> str:
    key = base64.b64encode(secret.ljust(32, b"\0")).decode()
    providers = [{"aescbc": {"keys": [{"name": "k", "secret": key}]}}, {"identity": {}}]
    return json.dumps(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "EncryptionConfiguration",
            "resources": [{"resources": ["secrets"], "providers": providers}],
        }
    )


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        shutil.copy(SAMPLE, tmp_path / name / "tonight.db.gz")
    (tmp_path / "enc").mkdir()
    for name in ("a", "b"):
        (tmp_path / "enc" / f"{name}.yaml").write_text(config(name.encode()))
    return tmp_path


def test_placeholders_are_those_of_each_dump(fleet: Path) -> None:
    options = AuditOptions(
        dumps=(f"{fleet}/*/tonight.db.gz",), encryption_config="enc/{1}.yaml", crds=("crds/{parent}",), cluster="{1}"
    )
    found = {one.name: one.settings for one in clusters_of(options)}
    assert found == {
        name: ClusterSettings(encryption_config=f"enc/{name}.yaml", crds=(f"crds/{name}",)) for name in ("a", "b", "c")
    }
    plain = clusters_of(AuditOptions(dumps=(f"{fleet}/*/tonight.db.gz",), encryption_config="enc/all.yaml"))
    assert all(one.settings.is_empty for one in plain)


def test_a_cluster_without_its_keys_costs_no_other(fleet: Path) -> None:
    words = ("--jobs", 1, "--report", "r", "--encryption-config", "enc/{1}.yaml")
    done = auditor("audit", f"{fleet}/*/tonight.db.gz", *words, cwd=fleet)
    assert done.code == 3
    manifest = json.loads((fleet / "r" / "manifest.json").read_text())
    assert [one["name"] for one in manifest["clusters"]] == ["a", "b"]
    assert "enc/c.yaml" in done.stdout


def test_a_file_of_a_fleet(fleet: Path) -> None:
    (fleet / "fleet.yaml").write_text(
        "clusters:\n- {name: one, dump: a/tonight.db.gz, encryptionConfig: enc/a.yaml}\n"
        "- {name: two, dump: b/tonight.db.gz, featureGates: CRDValidationRatcheting=false}\n"
        "- {name: gone, dump: gone.db}\n"
    )
    done = auditor("audit", "--fleet", fleet / "fleet.yaml", "--report", "r", "--jobs", 1, cwd=fleet)
    assert done.code == 3, done.stderr
    manifest = json.loads((fleet / "r" / "manifest.json").read_text())
    assert [one["name"] for one in manifest["clusters"]] == ["one", "two"]
    assert [one["cluster"] for one in manifest["inputs"] if one["damage"]] == ["gone"]
    assert manifest["options"]["ratcheting"] is None
    assert [one["options"]["ratcheting"] for one in manifest["clusters"]] == [True, False]
    shown = auditor("summary", "r", "--lines", 0, cwd=fleet).stdout
    assert "NOTE two: judged with CRDValidationRatcheting=false, as servers before 1.33 can be" in " ".join(
        shown.split()
    )
    assert "one: judged with" not in shown
    (one, two, _) = read_fleet(str(fleet / "fleet.yaml"))
    assert one[2] == ClusterSettings(encryption_config=str(fleet / "enc" / "a.yaml"))
    assert two[2] == ClusterSettings(ratcheting=False)


def test_findings_that_a_gate_of_one_cluster_changes_are_not_fixed(fleet: Path) -> None:
    def run(gate: str, *more: str) -> dict[str, Any]:
        (fleet / "fleet.yaml").write_text(
            f"clusters:\n- {{name: one, dump: a/tonight.db.gz}}\n- {{name: two, dump: b/tonight.db.gz{gate}}}\n"
        )
        done = auditor("audit", "--fleet", "fleet.yaml", "--fail-on", "never", *more, "--jobs", 1, cwd=fleet)
        assert done.code == 0, done.stderr
        return json.loads((fleet / more[1] / "manifest.json").read_text())

    run(", featureGates: CRDValidationRatcheting=false", "--report", "old")
    diff = run("", "--report", "new", "--diff", "old")["diff"]
    (note,) = diff["notes"]
    assert note == (
        "old was made with another CRDValidationRatcheting for the cluster two: findings of updates that are gone are not "
        "counted as fixed"
    )
    assert diff["findings"]["fixed"] == 0
    assert diff["not_rechecked"] == {"other options": diff["not_judged"]}
    assert diff["not_judged"] > 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[]", "lists no clusters"),
        ("clusters: []", "lists no clusters"),
        ("clusters: [{name: a}]", "has no name and dump"),
        ("clusters: [{name: a, dump: b, kmsDecryptor: rm}]", "unknown key 'kmsDecryptor'"),
        ("clusters: [{name: a, dump: 1}]", "dump is 1"),
        ("clusters: [{name: a, dump: b, crds: c}]", "crds is 'c'"),
        ("clusters: [{name: a, dump: b}, {name: a, dump: c}]", "lists the cluster a twice"),
        ("clusters: [{name: a, dump: b, featureGates: X=true}]", "X=true"),
        ("a: [", "fleet.yaml"),
    ],
)
def test_what_is_no_file_of_a_fleet_is_refused(tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "fleet.yaml").write_text(text)
    with pytest.raises(PlanError) as error:
        read_fleet(str(tmp_path / "fleet.yaml"))
    assert found in str(error.value)


def test_dumps_and_a_fleet_exclude_each_other(tmp_path: Path) -> None:
    done = auditor("audit", SAMPLE, "--report", "r", "--fleet", "fleet.yaml", cwd=tmp_path)
    assert done.code == 2
    assert "give either dumps or --fleet FILE" in done.stderr
