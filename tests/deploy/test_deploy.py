"""Deployment artefacts: each is run by its own tool if that is installed, and only parsed otherwise."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from auditor.base.release import VERSION
from auditor.output.formats.prometheus import METRICS
from auditor.plan.options import FAIL_ON, SEVERITIES, AuditOptions
from tests.command import auditor
from tests.documents import named_definition
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

DEPLOY = ROOT / "deploy"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


def needs(tool: str) -> str:
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    return found


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return an executable `auditor`, as an installation has it."""
    path = tmp_path / "bin" / "auditor"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m pipelines "$@"\n')
    path.chmod(0o755)
    return path


# ---- manifests


def manifests(documents: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(documents) if one]


def check_job(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Check a job: one at a time, restricted, with its exit codes mapped; return its pod."""
    (job,) = [one for one in documents if one["kind"] == "CronJob"]
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    inner = job["spec"]["jobTemplate"]["spec"]
    (codes,) = [rule["onExitCodes"] for rule in inner["podFailurePolicy"]["rules"] if "onExitCodes" in rule]
    assert (codes["operator"], codes["values"]) == ("In", [1, 2, 3, 5])
    pod = inner["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["restartPolicy"] == "Never"
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    return pod


def test_the_kustomize_base_is_taken_strictly(tmp_path: Path) -> None:
    kustomization = yaml.safe_load((DEPLOY / "kustomize" / "kustomization.yaml").read_text())
    files = [DEPLOY / "kustomize" / name for name in kustomization["resources"]]
    done = auditor("validate", *files)
    assert done.code == 0, done.output
    check_job([one for path in files for one in manifests(path.read_text())])


def test_kustomize_builds_the_base(tmp_path: Path) -> None:
    base = DEPLOY / "kustomize"
    program = shutil.which("kustomize")
    command = [program, "build"] if program else [needs("kubectl"), "kustomize"]
    done = subprocess.run([*command, str(base)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "base.yaml").write_text(done.stdout)
    assert auditor("validate", tmp_path / "base.yaml").code == 0
    documents = manifests(done.stdout)
    check_ways_out(documents, check_job(documents))


def check_ways_out(documents: list[dict[str, Any]], pod: dict[str, Any]) -> None:
    """Check that the pod of the metrics reads what the job writes, on its node, and that its Service finds it."""
    (audit,) = [one for one in pod["containers"] if one["name"] == "audit"]
    assert "--output=prometheus=/reports/metrics/auditor.prom" in audit["args"]
    assert "AUDITOR_AUDIT_NOTIFY" in [one["name"] for one in audit["env"]]
    (server,) = [one for one in documents if one["kind"] == "Deployment"]
    (service,) = [one for one in documents if one["kind"] == "Service"]
    (term,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    labels = server["spec"]["template"]["metadata"]["labels"]
    for wanted in (
        service["spec"]["selector"],
        server["spec"]["selector"]["matchLabels"],
        term["labelSelector"]["matchLabels"],
    ):
        assert wanted.items() <= labels.items()
    assert not service["spec"]["selector"].items() <= pod_labels(documents).items()
    volumes = [one for one in server["spec"]["template"]["spec"]["volumes"] if one["name"] == "reports"]
    assert volumes == [one for one in pod["volumes"] if one["name"] == "reports"]


def pod_labels(documents: list[dict[str, Any]]) -> dict[str, str]:
    (job,) = [one for one in documents if one["kind"] == "CronJob"]
    labels: dict[str, str] = job["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
    return labels


CHART_VALUES: dict[str, tuple[str, ...]] = {
    "claim": ("--set", "snapshots.existingClaim=etcd"),
    "store": (
        *("--set", "dumps={s3://backups/prod.db}"),
        *("--set", "reportRoot=s3://reports/prod", "--set", "environmentSecret=store", "--set", "keepReports=90d"),
    ),
    "snapshot": (
        *("--set", "takeSnapshot.enabled=true", "--set", "takeSnapshot.image=etcd:3.6"),
        *("--set", "takeSnapshot.tlsSecret=etcd", "--set", "encryptionConfigSecret=enc"),
    ),
    "host": (
        "--set",
        "snapshots.hostPath=/var/backups",
        "--set",
        "reports.existingClaim=mine",
        "--set",
        "timeZone=UTC",
    ),
    "metrics": (
        *("--set", "dumps={s3://backups/prod.db}", "--set", "metrics.exporterImage=node-exporter"),
        *("--set", "notify.secret=n", "--set", "env[0].name=A", "--set", "env[0].value=b"),
    ),
    "node": ("--set", "snapshots.hostPath=/var/backups", "--set", "metrics.hostPath=/var/lib/node_exporter"),
    "fleet": (
        *("--set", "fleet=clusters: [{name: a\\, dump: s3://backups/a.db}]"),
        *("--set", "accept=accepted: []", "--set", "history.keep=0"),
    ),
}
REFUSED_VALUES = {
    "no volume has it": (),
    "is neither a URL nor a path below /snapshots": ("dumps={backup.db}", "snapshots.hostPath=/b"),
    "what is audited": ("dumps=null",),
    "give either dumps or fleet": ("fleet=clusters: [{}]", "dumps={s3://a/b.db}"),
    "fleet lists no clusters": ("fleet=dumps: []",),
    "/snapshots/b.db": ("fleet=clusters: [{name: b\\, dump: /snapshots/b.db}]",),
    "give either metrics.hostPath or metrics.exporterImage": (
        "snapshots.hostPath=/b",
        "metrics.hostPath=/a",
        "metrics.exporterImage=b",
    ),
    "/failOn": ("snapshots.hostPath=/b", "failOn=bogus"),
}
"""Values by what the chart says of them."""


def rendered_chart(*options: str, check: bool) -> subprocess.CompletedProcess[str]:
    """Return what `helm template` makes of the chart with options."""
    helm = os.environ.get("HELM") or needs("helm")
    command = [helm, "template", "night", str(DEPLOY / "chart"), "--kube-version", "1.37.2"]
    command += ["--set", "image.repository=auditor", *options]
    return subprocess.run(command, capture_output=True, text=True, check=check)


@pytest.mark.parametrize("values", CHART_VALUES)
def test_the_chart_is_taken_strictly(tmp_path: Path, values: str) -> None:
    text = rendered_chart(*CHART_VALUES[values], check=True).stdout
    (tmp_path / "chart.yaml").write_text(text)
    done = auditor("validate", tmp_path / "chart.yaml")
    assert done.code == 0, done.output
    documents = manifests(text)
    pod = check_job(documents)
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    has_claim = any(one["kind"] == "PersistentVolumeClaim" for one in documents)
    assert has_claim == (values not in ("store", "host"))
    if values == "metrics":
        check_ways_out(documents, pod)
    (audit,) = [container for container in pod["containers"] if container["name"] == "audit"]
    for option, case in {"--accept=": "fleet", "--fleet=": "fleet", "--output=prometheus=/metrics": "node"}.items():
        assert any(word.startswith(option) for word in audit["args"]) == (values == case)
    assert any(word.startswith("--history=") for word in audit["args"]) == (values != "fleet")


@pytest.mark.parametrize("said", REFUSED_VALUES)
def test_the_chart_refuses_to_be_installed_without_a_source(said: str) -> None:
    words = [word for value in REFUSED_VALUES[said] for word in ("--set", value)]
    done = rendered_chart(*words, check=False)
    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.parametrize("wrong", ["schedule=", "keepReports=0", "reportRoot=/etc", "nonsense=1", "image.repository="])
def test_the_chart_refuses_wrong_values(wrong: str) -> None:
    words = ("--set", "snapshots.hostPath=/b")
    assert rendered_chart(*words, check=False).returncode == 0
    assert rendered_chart(*words, "--set", wrong, check=False).returncode != 0


def test_the_schema_of_the_chart_has_every_value() -> None:
    values = yaml.safe_load((DEPLOY / "chart" / "values.yaml").read_text())
    schema = json.loads((DEPLOY / "chart" / "values.schema.json").read_text())["properties"]
    assert set(values) == set(schema) - {"global"}
    for name, below in values.items():
        if isinstance(below, dict) and "properties" in schema[name]:
            assert set(below) == set(schema[name]["properties"])
    chart = yaml.safe_load((DEPLOY / "chart" / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == VERSION


def test_one_default_of_fail_on_everywhere() -> None:
    values = yaml.safe_load((DEPLOY / "chart" / "values.yaml").read_text())
    schema = json.loads((DEPLOY / "chart" / "values.schema.json").read_text())["properties"]
    assert values["failOn"] == AuditOptions.__dataclass_fields__["fail_on"].default
    assert schema["failOn"]["enum"] == [*FAIL_ON, *SEVERITIES]
    for folder in ("kustomize", "systemd"):
        for path in (DEPLOY / folder).iterdir():
            assert "fail-on" not in re.sub("(?m)^#.*", "", path.read_text()).replace("--fail-on was", "")


def test_options_in_jobs_exist() -> None:
    """Each long option that a job passes is one of the command that it runs."""
    texts = [
        path.read_text() for folder in ("chart", "kustomize", "systemd") for path in (DEPLOY / folder).rglob("*.*")
    ]
    given = {one for text in texts for one in re.findall(r"(--[a-z][a-z-]+)(?==| auto| \$)", text)}
    given -= {"--endpoints", "--cacert", "--cert", "--key", "--from"}  # of etcdctl and kubectl
    known = set(re.findall(r"--[a-z][a-z-]+", auditor("audit", "--help").stdout))
    assert {"--report-root", "--diff", "--keep-reports"} <= given <= known


# ---- systemd


def test_the_unit_is_hardened() -> None:
    analyze = needs("systemd-analyze")
    command = [analyze, "security", "--offline=true", "--no-pager", str(DEPLOY / "systemd" / "auditor.service")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"exposure level for auditor\.service: ([\d.]+)", done.stdout)
    if found is None:
        pytest.skip(f"systemd-analyze cannot judge a unit offline: {done.stderr.strip()}")
    assert float(found[1]) <= 2.0


UNIT = (DEPLOY / "systemd" / "auditor.service").read_text()


def test_the_units_are_verified_without_a_warning() -> None:
    units = [str(DEPLOY / "systemd" / name) for name in ("auditor.service", "auditor.timer")]
    done = subprocess.run([needs("systemd-analyze"), "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_command_of_the_unit_runs_without_a_warning(tmp_path: Path) -> None:
    (line,) = re.findall(r"^ExecStart=/usr/bin/env auditor (.*)$", UNIT, re.MULTILINE)
    given = re.findall(r"^#?([A-Z_]+)=(.*)$", (DEPLOY / "systemd" / "auditor.env").read_text(), re.MULTILINE)
    env = {name: value for name, value in given if name not in ("PATH", "AUDITOR_AUDIT_NOTIFY")}
    (unset,) = re.findall(r"^Environment=(AUDIT_ARGS=.*)$", UNIT, re.MULTILINE)
    assert {word.partition("=")[0] for word in unset.split()} == {"AUDIT_ARGS", "METRICS_FOLDER"} <= set(env)
    line = line.replace("${STATE_DIRECTORY}", "state").replace("/tmp/snapshot.db", str(SAMPLE))
    ended = auditor(*line.replace("$AUDIT_ARGS", env["AUDIT_ARGS"]).split(), cwd=tmp_path, env=env)
    assert (ended.code, ended.stderr) == (1, "")
    assert "AUDITOR_AUDIT_NOTIFY" in dict(given)
    assert (tmp_path / "state" / "last-run.json").exists()
    assert "auditor_run_exit_code 1" in (tmp_path / "state" / "auditor.prom").read_text()


@pytest.mark.parametrize("case", ["copied", "not asked for", "no folder", "no metrics yet", "links"])
def test_metrics_leave_the_unit(tmp_path: Path, case: str) -> None:
    (line,) = re.findall(r"^ExecStopPost=\+/bin/sh -c '(.*)'$", UNIT, re.MULTILINE)
    state, folder, secret = tmp_path / "auditor", tmp_path / "textfile", tmp_path / "secret"
    state.mkdir()
    secret.write_text("secret")
    if case == "links":
        (state / "auditor.prom").symlink_to(secret)
    elif case != "no metrics yet":
        (state / "auditor.prom").write_text("auditor_run_success 1\n")
        (state / "auditor.prom").chmod(0o600)
    if case != "no folder":
        folder.mkdir()
    env = {"PATH": os.environ["PATH"], "METRICS_FOLDER": "" if case == "not asked for" else str(folder)}
    script = line.replace("$$", "$").replace("%S", str(tmp_path))
    done = subprocess.run(["/bin/sh", "-c", script], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if case == "links" else 0)
    assert ("METRICS_FOLDER" in done.stdout) == (case == "no folder")
    written = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} if folder.exists() else {}
    assert written == ({"auditor.prom": 0o644} if case == "copied" else {})
    assert secret.read_text() == "secret"


# ---- metrics


def test_rules_and_dashboard_use_metrics_that_exist() -> None:
    texts = (DEPLOY / "monitoring" / "alerts.yaml").read_text() + (DEPLOY / "monitoring" / "grafana.json").read_text()
    used = set(re.findall(r"\bauditor_[a-z_]+", texts))
    assert len(used) > 6
    assert used <= set(METRICS)


def test_promtool_takes_rules_and_metrics(tmp_path: Path) -> None:
    promtool = needs("promtool")
    folder = DEPLOY / "monitoring"
    subprocess.run([promtool, "check", "rules", str(folder / "alerts.yaml")], check=True, capture_output=True)
    subprocess.run([promtool, "test", "rules", str(folder / "alerts_test.yaml")], check=True, capture_output=True)
    auditor("audit", SAMPLE, "--report", tmp_path / "r", "-o", f"prometheus={tmp_path / 'm.prom'}")
    text = (tmp_path / "m.prom").read_text()
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_each_alert_is_seen_firing_with_its_labels() -> None:
    (group,) = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())["groups"]
    assert not [rule for rule in group["rules"] if re.search(r"\b(sum|max|min|count)\b", rule["expr"])]
    tests = yaml.safe_load((DEPLOY / "monitoring" / "alerts_test.yaml").read_text())["tests"]
    checks = [check for test in tests for check in test["alert_rule_test"]]
    fired = {check["alertname"] for check in checks if check["exp_alerts"]}
    assert fired == {rule["alert"] for rule in group["rules"]}


def test_metrics_of_many_reports_have_no_series_twice(tmp_path: Path) -> None:
    """The collector refuses a series that two files have; see the recipe in docs/guide/fleets.md."""
    (tmp_path / "damaged.db").write_bytes(b"no dump")
    series: list[str] = []
    for dump, name in ((SAMPLE, "prod"), (SAMPLE, "edge"), (tmp_path / "damaged.db", "edge")):
        words = ("--cluster-name", name, "--report", tmp_path / name, "--force", "--jobs", 1)
        auditor("audit", dump, *words, "-o", f"prometheus={tmp_path / name}.prom")
    for name in ("prod", "edge"):
        lines = (tmp_path / f"{name}.prom").read_text().splitlines()
        series += [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]
    assert len(series) == len(set(series))
    assert 'auditor_run_success{cluster="edge"} 0' in (tmp_path / "edge.prom").read_text()
    assert 'auditor_last_success_timestamp_seconds{cluster="edge"} 0' not in (tmp_path / "edge.prom").read_text()


# ---- CI


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
DEFINITION = named_definition("as.ex.com", "A", {"type": "object"})


@pytest.fixture
def act(tmp_path: Path, program: Path) -> Callable[..., Any]:
    """Return a function that runs the action's script; it returns exit code, summary, output and SARIF results."""
    needs("bash")

    def run(command: str, paths: str, **given: str) -> tuple[int, str, dict[str, str], list[Any]]:
        summary, output = tmp_path / "summary.md", tmp_path / "output"
        summary.write_text("")
        output.write_text("")
        inputs = {
            f"INPUT_{name.upper()}": value for name, value in {"command": command, "paths": paths, **given}.items()
        }
        env = {
            **ENVIRONMENT,
            **inputs,
            "ACTION_SOURCE": str(ROOT),
            "ACTION_PROGRAM": str(program),
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_OUTPUT": str(output),
        }
        script = ["bash", str(DEPLOY / "ci" / "action")]
        done = subprocess.run(script, capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        found = json.loads(Path(outputs["sarif"]).read_text())["runs"][0]["results"] if "sarif" in outputs else []
        return done.returncode, summary.read_text(), outputs, found

    return run


def test_the_action_validates(tmp_path: Path, act: Any) -> None:
    (tmp_path / "good.yaml").write_text(yaml.safe_dump(CONFIG_MAP))
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump({**CONFIG_MAP, "surprise": 1}))
    code, summary, outputs, found = act("validate", "good.yaml")
    assert (code, outputs["exit-code"], found) == (0, "0", [])
    assert summary.startswith("### auditor validate: exit code 0")
    code, summary, outputs, found = act("validate", "good.yaml bad.yaml")
    assert (code, outputs["exit-code"], len(found)) == (1, "1", 1)
    place = found[0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("bad.yaml", 5)
    assert "| ConfigMap |" in summary
    assert "1 of 2 objects would be refused" in summary


def test_the_action_reads_each_line_and_pattern(tmp_path: Path, act: Any) -> None:
    (tmp_path / "good.yaml").write_text(yaml.safe_dump(CONFIG_MAP))
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "bad.yaml").write_text(yaml.safe_dump({**CONFIG_MAP, "metadata": {"name": "{{ .x }}"}}))
    for crd in ("a", "b"):
        definition = named_definition(f"{crd}s.ex.com", crd.upper(), {"type": "object"})
        (tmp_path / f"{crd}.json").write_text(json.dumps(definition))
    code, summary, _, found = act("validate", "good.yaml\nbelow/bad.yaml\n", arguments="-n\ndefault\n")
    assert (code, len(found)) == (1, 1)
    assert "Paths that were given: 2." in summary
    assert "**2 files**" in summary
    assert act("validate", "**/*.yaml")[0] == 1
    objects = [{"apiVersion": "ex.com/v1", "kind": kind, "metadata": {"name": "x"}} for kind in "AB"]
    (tmp_path / "good.yaml").write_text(yaml.safe_dump_all(objects))
    assert act("validate", "g*.yaml", crds="a.json\nb.json\n")[0] == 0
    for nothing in ("", " \n", "none*.yaml", "good.yaml\nmissing.yaml"):
        assert act("validate", nothing)[0] == 2
    (tmp_path / "package.json").write_text('{"name": "x"}')
    code, summary, outputs, _ = act("validate", "package.json", arguments="--skip-others")
    assert (code, outputs["exit-code"], "exit code 2" in summary) == (2, "2", True)  # not one object was checked
    assert "**INCOMPLETE** **0 files**" in summary
    assert "No object is refused" not in summary
    assert act("validate", "package.json\r\ngood.yaml\r\n", arguments="--skip-others")[0] == 2  # no definition of A, B


def test_the_action_reads_nothing_twice(tmp_path: Path, act: Any) -> None:
    (tmp_path / "all" / "below").mkdir(parents=True)
    (tmp_path / "all" / "below" / "bad.yaml").write_text(yaml.safe_dump({**CONFIG_MAP, "metadata": {}}))
    code, summary, _, found = act("validate", "all/**")
    assert (code, len(found)) == (1, 1)
    assert "Paths that were given: 1." in summary
    assert act("validate", "all/*")[0] == 1  # a folder that a single star matches is read


@pytest.mark.slow
def test_the_action_checks_definitions(tmp_path: Path, act: Any) -> None:
    (tmp_path / "good.yaml").write_text(yaml.safe_dump(DEFINITION))
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump({**DEFINITION, "metadata": {"name": "wrong"}}))
    code, summary, _, found = act("crds check", "good.yaml")
    assert (code, found) == (0, [])
    code, summary, _, found = act("crds check", "bad.yaml")
    assert (code, len(found)) == (1, 1)
    assert "metadata.name" in found[0]["message"]["text"]
    assert "metadata.name: Invalid value" in summary
    code, summary, outputs, found = act("crds check", "bad.yaml", arguments="--old bad.yaml")
    assert "sarif" not in outputs  # an update tolerates what a create does not


@pytest.mark.slow
def test_the_action_compares_definitions(tmp_path: Path, act: Any) -> None:
    (tmp_path / "old.yaml").write_text(yaml.safe_dump(DEFINITION))
    (tmp_path / "new.yaml").write_text(
        yaml.safe_dump({**DEFINITION, "spec": {**DEFINITION["spec"], "scope": "Cluster"}})
    )
    assert act("crds diff", "old.yaml", crds="old.yaml")[0] == 0
    code, summary, outputs, found = act("crds diff", "new.yaml", crds="old.yaml")
    assert (code, outputs["exit-code"], len(found)) == (1, "1", 1)
    assert "field is immutable" in found[0]["message"]["text"]
    assert "the server refuses the update" in summary
    assert act("crds diff", "new.yaml")[0] == 2


@pytest.mark.slow
def test_the_action_scans_an_upgrade(tmp_path: Path, act: Any) -> None:
    shutil.copy(SAMPLE, tmp_path / "dump.db.gz")
    shutil.copy(ROOT / "sample-data" / "next-crds.yaml", tmp_path / "next.yaml")
    for _ in range(2):  # the second replaces the report of the first
        code, summary, outputs, found = act("upgrade", "dump.db.gz", crds="next.yaml")
        assert (code, outputs["exit-code"]) == (1, "1")
        assert len(found) > 2
        assert "Loaf" in summary


@pytest.mark.slow
def test_the_action_evaluates_nothing_of_its_inputs(tmp_path: Path, act: Any) -> None:
    (tmp_path / "good.yaml").write_text(yaml.safe_dump(CONFIG_MAP))
    code, _, outputs, _ = act("remove; touch hacked", "good.yaml")
    assert (code, outputs) == (2, {})
    assert act("validate", "$(touch hacked) good.yaml")[0] != 0
    assert act("validate", "good.yaml", arguments="`touch hacked`")[0] != 0
    assert not (tmp_path / "hacked").exists()


def test_the_action_passes_its_inputs_by_environment() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    names = set(action["inputs"]) - {"python-version", "upload-sarif"}
    script = (DEPLOY / "ci" / "action").read_text()
    assert {f"INPUT_{name.upper()}" for name in names} == set(re.findall(r"INPUT_[A-Z]+", script))


def test_actions_are_pinned_by_hash() -> None:
    texts = [path.read_text() for path in (ROOT / ".github" / "workflows").iterdir()] + [
        (ROOT / "action.yml").read_text()
    ]
    used = [one for text in texts for one in re.findall(r"uses: (\S+)", text)]
    assert len(used) > 5
    assert not [one for one in used if not re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", one)]


def as_a_hook(hook: dict[str, Any], folder: Path, *files: str, args: tuple[str, ...] = ()) -> int:
    """Run a hook as pre-commit does: its entry, the arguments of the user, and the changed files at once."""
    assert (hook["language"], hook["require_serial"]) == ("python", True)
    assert set(hook["types_or"]) == {"yaml", "json"}
    program, *words = hook["entry"].split()
    assert program == "auditor"
    return auditor(*words, *args, *files, cwd=folder).code


def test_hooks_run(tmp_path: Path) -> None:
    hooks = {one["id"]: one for one in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert set(hooks) == {"auditor-validate", "auditor-crds-check", "auditor-crds-diff"}
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(CONFIG_MAP))
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump({**CONFIG_MAP, "surprise": 1}))
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump(DEFINITION))
    (tmp_path / "a.yaml").write_text(
        yaml.safe_dump({"apiVersion": "ex.com/v1", "kind": "A", "metadata": {"name": "a"}})
    )
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump({**DEFINITION, "metadata": {"name": "wrong"}}))
    validate, check = hooks["auditor-validate"], hooks["auditor-crds-check"]
    assert as_a_hook(validate, tmp_path, "m.yaml") == 0
    assert as_a_hook(validate, tmp_path, "m.yaml", "wrong.yaml") == 1
    assert as_a_hook(validate, tmp_path, "a.yaml") == 2  # its definition is not given
    assert as_a_hook(validate, tmp_path, "a.yaml", args=("--crds", "crd.yaml")) == 0
    assert as_a_hook(check, tmp_path, "crd.yaml") == 0
    assert as_a_hook(check, tmp_path, "crd.yaml", "bad.yaml") == 1
    compare = hooks["auditor-crds-diff"]
    assert compare["pass_filenames"] is False
    assert as_a_hook(compare, tmp_path, args=("crd.yaml", "crd.yaml")) == 0
    assert as_a_hook(compare, tmp_path, args=("crd.yaml", "bad.yaml")) == 1


OTHERS = {
    "workflow.yaml": "on: push\njobs: {}\n",
    "package.json": '{"name": "x", "version": "1.0.0"}',
    "values.yaml": "image: {tag: v1}\n---\n- a\n- {b: c}\n---\n5\n",
    "compose.yaml": "services: {web: {image: x}}\n",
}
"""Files of a repository that are no objects."""


def test_hooks_pass_over_what_is_no_object_and_count_it(tmp_path: Path) -> None:
    hooks = {one["id"]: one for one in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    for name, text in OTHERS.items():
        (tmp_path / name).write_text(text)
    validate, check = hooks["auditor-validate"], hooks["auditor-crds-check"]
    assert (as_a_hook(validate, tmp_path, *OTHERS), as_a_hook(check, tmp_path, *OTHERS)) == (0, 0)
    done = auditor("validate", "--skip-others", *OTHERS, cwd=tmp_path)
    assert "skipped 6 documents with neither apiVersion nor kind (--skip-others)" in done.stderr
    assert auditor("validate", *OTHERS, cwd=tmp_path).code == 1
    assert "nothing to check" in auditor("crds", "check", *OTHERS, cwd=tmp_path).stderr
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    assert as_a_hook(validate, tmp_path, "empty.yaml") == 0


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "ConfigMap"}',
        '[{"apiVersion": "v1"}]',
        '{"items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "X_Y"}}]}',
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"na',
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n",
        "kind: ConfigMap\n\tapiVersion: v1\n",
    ],
)
def test_hooks_refuse_what_is_half_an_object_or_cannot_be_read(tmp_path: Path, text: str) -> None:
    hooks = {one["id"]: one for one in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    name = "m.json" if text.startswith(("{", "[")) else "m.yaml"
    (tmp_path / name).write_text(text)
    assert as_a_hook(hooks["auditor-validate"], tmp_path, name) == 1


@pytest.mark.parametrize("is_good", [pytest.param(True, marks=pytest.mark.slow), False])
def test_the_gitlab_template_runs(tmp_path: Path, program: Path, is_good: bool) -> None:
    bash = needs("bash")
    template = yaml.safe_load((DEPLOY / "ci" / "gitlab.yml").read_text())
    for name in ("crds", "manifests", "old"):
        (tmp_path / name).mkdir()
    (tmp_path / "old" / "a.yaml").write_text(yaml.safe_dump(DEFINITION))
    name = "as.ex.com" if is_good else "wrong"
    (tmp_path / "crds" / "a.yaml").write_text(yaml.safe_dump({**DEFINITION, "metadata": {"name": name}}))
    manifest = {"apiVersion": "ex.com/v1", "kind": "A", "metadata": {"name": "a"}}
    (tmp_path / "manifests" / "a.yaml").write_text(
        yaml.safe_dump(manifest if is_good else {**manifest, "metadata": {}})
    )
    env = {
        **ENVIRONMENT,
        **template["variables"],
        "CHECK_OLD_CRDS": "old",
        "PATH": f"{program.parent}:{os.environ['PATH']}",
    }
    jobs = {name: job for name, job in template.items() if isinstance(job, dict) and "script" in job}
    assert set(jobs) == {"auditor-validate", "auditor-crds-check", "auditor-crds-diff"}
    for job in jobs.values():
        (line,) = job["script"]
        done = subprocess.run([bash, "-ec", line], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == (0 if is_good else 1), done.stdout + done.stderr
        for path in job.get("artifacts", {}).get("reports", {}).values():
            assert (tmp_path / path).stat().st_size
    found = json.loads((tmp_path / "auditor-codequality.json").read_text())
    assert [one["location"]["path"] for one in found] == ([] if is_good else ["manifests/a.yaml"])


# ---- packages


def test_the_image_installs_locked_versions_with_hashes() -> None:
    lock = (DEPLOY / "image" / "requirements.lock").read_text()
    whole = dict(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    locked = re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.MULTILINE)
    needed = {re.split(r"[<>=!\[ ]", one)[0].lower() for one in _project()["dependencies"]}
    assert needed <= {name for name, _ in locked}
    assert not {"pytest", "moto", "ruff"} & {name for name, _ in locked}
    assert all(whole.get(name) == version or name == "numpy" for name, version in locked)
    assert lock.count("--hash=sha256:") > len(locked)


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def test_the_package_has_its_data_files() -> None:
    folder = resources.files("auditor.output.formats.html")
    assert all(folder.joinpath(name).is_file() for name in ("report.html.j2", "report.css", "report.js"))
    assert set(_project()["optional-dependencies"]) == {"crypto", "ray", "sql", "all"}
    assert _project()["version"] == VERSION


def test_the_bill_of_materials_lists_every_runtime_package(tmp_path: Path) -> None:
    script = DEPLOY / "image" / "bill_of_materials.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    bill = json.loads((tmp_path / "sbom.cdx.json").read_text())
    names = {one["name"].lower().replace("_", "-") for one in bill["components"]}
    needed = {re.split(r"[<>=!\[ ]", one)[0].lower() for one in _project()["dependencies"]}
    assert needed <= names
    assert all(one["licenses"][0]["license"]["name"] for one in bill["components"])
    texts = (tmp_path / "LICENCES.txt").read_text()
    assert all(re.search(rf"(?im)^{re.escape(name)} ", texts) for name in needed)


def test_man_pages_of_all_commands(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(DEPLOY / "man" / "make.py"), str(tmp_path)], env=ENVIRONMENT, check=True)
    pages = {path.stem: path.read_text() for path in tmp_path.iterdir()}
    assert {"auditor", "auditor-audit", "auditor-crds-check"} <= set(pages)
    assert "\\-\\-report\\-root" in pages["auditor-audit"]
    for text in pages.values():
        assert not re.search(r"^\.(?!TH|SH|PP|TP|B |nf|fi)", text, re.MULTILINE)
    if man := shutil.which("man"):
        for path in sorted(tmp_path.iterdir())[:5]:
            done = subprocess.run([man, "--warnings", "-l", str(path)], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def python_of_fresh_image(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Install the project as the image does; return a function that runs its `auditor`."""
    target = tmp_path_factory.mktemp("image") / "auditor"
    env = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(
        ["sh", str(DEPLOY / "image" / "install"), str(ROOT), str(target)],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("no package index")
    assert done.returncode == 0, done.stderr

    def run(*words: Any, cwd: Path) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{target}/bin:/usr/bin:/bin", "HOME": str(cwd), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            ["auditor", *map(str, words)], capture_output=True, text=True, cwd=cwd, env=env, check=False
        )

    run.target = target  # type: ignore[attr-defined]
    return run


@pytest.mark.nightly
def test_what_the_image_installs_runs_without_the_repository(python_of_fresh_image: Any, tmp_path: Path) -> None:
    run = python_of_fresh_image
    assert run("version", cwd=tmp_path).stdout.startswith(f"auditor {VERSION} ")
    done = run("audit", SAMPLE, "--report", "r", "-o", "html=r.html", "-o", "sarif=r.sarif", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert run("query", "r", "loaves", cwd=tmp_path).returncode == 0
    assert run("summary", "r", cwd=tmp_path).returncode == 0
    size = sum(path.stat().st_size for path in run.target.rglob("*") if path.is_file() and not path.is_symlink())
    assert size < 215_000_000, f"{size:,} bytes"  # 260 MB with a base image of 45
    assert json.loads((run.target / "sbom.cdx.json").read_text())["components"]


@pytest.mark.nightly
def test_a_release_is_ready(tmp_path: Path) -> None:
    needs("git")
    env = {**os.environ, "PYTHON": sys.executable}
    command = [str(DEPLOY / "release" / "check"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT, check=False)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("no package index")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is ready in" in done.stdout
    assert sorted(path.suffix for path in (tmp_path / "one").iterdir()) == [".gz", ".whl"]
