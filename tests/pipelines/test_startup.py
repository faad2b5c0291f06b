"""What a run loads before it does anything: not what it will not need."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from auditor.plan.plan import read_definitions
from tests.environment import without_pandas

ROOT = Path(__file__).resolve().parent.parent.parent

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ovens.bakery.example.com
spec:
  group: bakery.example.com
  names:
    kind: Oven
    plural: ovens
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              size:
                type: integer
            type: object
        type: object
    served: true
    storage: true
"""

PARSERS = {"yaml", "auditor.sources.yaml.compose"}
RULES = {"auditor.cel.check.checker", "auditor.cel.run.interpreter", "auditor.cel.library", "auditor.cel.emit.emitter"}
READERS = {"sqlite3", "auditor.sources.etcd.snapshot", "auditor.sources.kine.sqlite", "auditor.sources.archives"}
WORKERS = {"multiprocess", "multiprocessing.connection"}
FUNCTIONS = {"pyarrow.compute", "numpy.ma", "pyarrow.parquet", "pyarrow.fs", "ssl"}
JUDGES = {"auditor.shards.audit", "auditor.crds.definition", "auditor.program", "auditor.schema", "auditor.validation"}
COMMANDS = {"auditor.cel", "auditor.upgrade", "auditor.printing", "auditor.crdcheck"}


def loaded(folder: Path, *arguments: str) -> set[str]:
    """Run the command line in a process of its own; return the modules that it had loaded at its end."""
    code = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        "from pipelines.cli.main import main\n"
        "sys.argv[0] = 'auditor'\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    (tmp_path / "crd.yaml").write_text(DEFINITION)
    oven: dict[str, Any] = {"apiVersion": "bakery.example.com/v1", "kind": "Oven", "spec": {"size": 1}}
    oven["metadata"] = {"name": "a", "namespace": "north"}
    (tmp_path / "oven.json").write_text(json.dumps(oven))
    return tmp_path


def test_an_audit_of_an_export_loads_no_parser_no_rules_no_other_reader_and_no_workers(manifests: Path) -> None:
    modules = loaded(manifests, "audit", "oven.json", "--crds", "crd.yaml", "--report", "out", "--jobs", "1")
    assert not modules & (PARSERS | RULES | READERS | WORKERS | {"auditor.gates"})


def test_a_process_that_only_distributes_shards_does_not_load_what_checks_objects(manifests: Path) -> None:
    oven = json.loads((manifests / "oven.json").read_text())
    lines = [json.dumps({**oven, "metadata": {"name": f"a{number}", "namespace": "n"}}) for number in range(12_000)]
    (manifests / "ovens.ndjson").write_text("\n".join(lines) + "\n")
    arguments = ("audit", "ovens.ndjson", "--crds", "crd.yaml", "--report", "out", "--jobs")
    assert loaded(manifests, *arguments, "1") >= JUDGES
    modules = loaded(manifests, *arguments, "2", "--force")
    assert "multiprocess" in modules
    assert not modules & JUDGES


def test_who_keeps_rows_of_an_earlier_report_does_not_load_that_either(manifests: Path) -> None:
    oven = json.loads((manifests / "oven.json").read_text())
    metadata = [{"name": f"a{number}", "namespace": "n", "annotations": {"a": "x" * 400}} for number in range(12_000)]
    lines = [json.dumps({**oven, "metadata": one}) for one in metadata]
    (manifests / "ovens.ndjson").write_text("\n".join(lines) + "\n")  # more than is audited without workers
    loaded(manifests, "audit", "oven.json", "--crds", "crd.yaml", "--report", "yesterday", "--jobs", "1")
    arguments = ("audit", "ovens.ndjson", "--crds", "crd.yaml", "--report", "out", "--jobs", "2")
    modules = loaded(manifests, *arguments, "--since", "yesterday")
    assert {"pipelines.reuse.assembly", "pipelines.reuse.groups", "multiprocess"} <= modules
    assert not modules & JUDGES


@without_pandas
def test_a_validation_of_a_manifest_loads_no_functions_of_arrow(manifests: Path) -> None:
    modules = loaded(manifests, "validate", "oven.json", "--crds", "crd.yaml")
    assert (modules & (FUNCTIONS | RULES | READERS | WORKERS)) == set()  # the lines of fields need the parser of YAML


def test_help_loads_nothing_but_the_command_line(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "--help")
    assert not modules & {"pyarrow", "numpy", "orjson", *PARSERS, *RULES, *READERS, *WORKERS, *COMMANDS}


def test_rules_are_still_loaded_where_there_is_one(manifests: Path) -> None:
    rule = "            type: object\n            x-kubernetes-validations:\n            - rule: self.size > 0\n"
    (manifests / "crd.yaml").write_text(DEFINITION.replace("            type: object\n", rule, 1))
    modules = loaded(manifests, "audit", "oven.json", "--crds", "crd.yaml", "--report", "out", "--jobs", "1")
    assert {"auditor.cel.check.checker", "auditor.cel.run.interpreter"} <= modules


@pytest.mark.parametrize(
    ("size", "jobs", "since", "expected"),
    [(2 << 20, 2, "", True), (2 << 20, 1, "", False), (2 << 20, 2, "report", False), (1 << 10, 2, "", False)],
)
def test_workers_are_made_ready_before_anything_heavy_is_loaded(
    tmp_path: Path, size: int, jobs: int, since: str, expected: bool
) -> None:
    (tmp_path / "dump").write_bytes(bytes(size))
    code = (
        "import sys\n"
        "from pipelines.workers import expect_workers\n"
        f"expect_workers(['dump'], engine='processes', jobs={jobs}, since={since!r})\n"
        "forkserver = sys.modules.get('multiprocess.forkserver')\n"
        "print(bool(forkserver and forkserver._forkserver._forkserver_pid), *sys.modules)\n"
    )
    env = {"PYTHONPATH": str(ROOT), "PATH": ""}
    command = [sys.executable, "-c", code]
    started, *modules = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True).stdout.split()
    assert started.decode() == str(expected)
    assert not {name.decode() for name in modules} & {"pyarrow", "numpy", "orjson", "msgspec", "auditor.shards.audit"}


def test_a_command_starts_no_threads_for_algebra_unless_they_are_asked_for(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from pipelines.cli.main import main\n"
        "sys.argv = ['auditor', 'version']\n"
        "try:\n    main()\n"
        "finally:\n    print(os.environ['OPENBLAS_NUM_THREADS'])\n"
    )
    for given, expected in ((), "1"), ((("OPENBLAS_NUM_THREADS", "3"),), "3"):
        env = {"PYTHONPATH": str(ROOT), "PATH": "", **dict(given)}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == expected


def test_the_collector_looks_at_no_documents_of_definitions(tmp_path: Path) -> None:
    """They are gone when it may look again."""
    for number in range(200):
        (tmp_path / f"{number}.yaml").write_text(DEFINITION.replace("ovens", f"ovens{number}"))
    before, looks = gc.get_threshold(), []
    gc.set_threshold(2000, 1000, 1000)
    gc.collect()
    gc.callbacks.append(lambda phase, info: looks.append(phase))
    try:
        assert len(read_definitions([str(tmp_path)]).by_name) == 200
    finally:
        gc.callbacks.pop()
        gc.set_threshold(*before)
    assert not looks
