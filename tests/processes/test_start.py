"""What a process loads at its start: not what it will not need."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from auditor.plan.run_plan import read_definitions
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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
WORKERS = {"multiprocess", "multiprocessing"}
FUNCTIONS = {"pyarrow.compute", "numpy.ma", "pyarrow.parquet", "pyarrow.fs", "ssl"}
JUDGES = {
    "auditor.shards.shard_audit",
    "auditor.crds.definition",
    "auditor.program",
    "auditor.schema",
    "auditor.validation",
}
COMMANDS = {"auditor.cel", "auditor.upgrade", "auditor.printing.get", "auditor.printing.discovery", "auditor.crdcheck"}


def loaded(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> set[str]:
    """Run the command line in a process of its own; return the modules that it had loaded at its end, and a variable."""
    code = (
        "import atexit, json, os, sys\n"
        "atexit.register(lambda: print(json.dumps([*sys.modules, 'OPENBLAS_NUM_THREADS=' + os.environ"
        "['OPENBLAS_NUM_THREADS']]), file=sys.stderr))\n"
        "from pipelines.cli.main import main\n"
        "sys.argv[0] = 'auditor'\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "", **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manifests")
    (folder / "crd.yaml").write_text(DEFINITION)
    rule = "            type: object\n            x-kubernetes-validations:\n            - rule: self.size > 0\n"
    (folder / "ruled.yaml").write_text(DEFINITION.replace("            type: object\n", rule, 1))
    oven: dict[str, Any] = {"apiVersion": "bakery.example.com/v1", "kind": "Oven", "spec": {"size": 1}}
    (folder / "oven.json").write_text(json.dumps({**oven, "metadata": {"name": "a", "namespace": "north"}}))
    metadata = [{"name": f"a{number}", "namespace": "n", "annotations": {"a": "x" * 400}} for number in range(12_000)]
    lines = [json.dumps({**oven, "metadata": one}) for one in metadata]
    (folder / "ovens.ndjson").write_text("\n".join(lines) + "\n")  # more than is audited without workers
    return folder


@pytest.fixture(scope="module")
def of_an_audit(manifests: Path) -> set[str]:
    """The modules of an audit by one process; its report is kept."""
    return loaded(manifests, "audit", "oven.json", "--crds", "crd.yaml", "--report", "yesterday", "--jobs", "1")


def test_an_audit_of_an_export_loads_no_parser_no_rules_no_other_reader_and_no_workers(of_an_audit: set[str]) -> None:
    assert not of_an_audit & (PARSERS | RULES | READERS | WORKERS | {"auditor.gates"})
    assert of_an_audit >= JUDGES


def test_a_process_that_only_distributes_shards_does_not_load_what_checks_objects(manifests: Path) -> None:
    modules = loaded(manifests, "audit", "ovens.ndjson", "--crds", "crd.yaml", "--report", "out", "--jobs", "2")
    assert "multiprocess" in modules
    assert not modules & JUDGES


def test_a_validation_of_a_manifest_loads_nothing_of_arrow(manifests: Path) -> None:
    modules = loaded(manifests, "validate", "oven.json", "--crds", "crd.yaml")
    assert (
        modules & (FUNCTIONS | RULES | READERS | WORKERS | {"pyarrow", "numpy"})
    ) == set()  # the lines of fields need the parser of YAML


@pytest.fixture(scope="module")
def pandas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pandas that cannot be imported."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "pandas").mkdir()
    (folder / "pandas" / "__init__.py").write_text("raise RuntimeError('pandas is imported')\n")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        f"query {ROOT}/sample-data/cluster.db.gz loaves",
        f"events {ROOT}/sample-data/cluster.db.gz",
        "audit ovens.ndjson --crds crd.yaml --report one --jobs 1",
        "audit ovens.ndjson --crds crd.yaml --report two --jobs 2",
    ],
)
def test_no_command_loads_pandas_where_it_is_installed(manifests: Path, pandas: Path, words: str) -> None:
    path = {"PYTHONPATH": f"{pandas}:{ROOT}", "PYTHONWARNINGS": "error"}
    assert "pyarrow" in loaded(manifests, *words.split(), env=path)


def test_help_loads_nothing_but_the_command_line(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "--help")
    assert not modules & {"pyarrow", "numpy", "orjson", *PARSERS, *RULES, *READERS, *WORKERS, *COMMANDS}
    assert "OPENBLAS_NUM_THREADS=1" in modules, "a command starts no threads for algebra"


def test_rules_are_still_loaded_where_there_is_one(manifests: Path) -> None:
    words = ("audit", "oven.json", "--crds", "ruled.yaml", "--report", "ruled", "--jobs", "1")
    modules = loaded(manifests, *words, env={"OPENBLAS_NUM_THREADS": "3"})
    assert {"auditor.cel.check.checker", "auditor.cel.run.interpreter"} <= modules
    assert "OPENBLAS_NUM_THREADS=3" in modules, "unless they are asked for"


@pytest.mark.usefixtures("of_an_audit")
@pytest.mark.parametrize(
    ("words", "most"), [("comp", 90), (f"query {ROOT}/sample-data/cluster.db.gz lo", 180), ("query yesterday ov", 190)]
)
def test_an_answer_to_a_shell_loads_little(manifests: Path, words: str, most: int) -> None:
    env = {
        "_AUDITOR_COMPLETE": "bash_complete",
        "COMP_WORDS": f"auditor {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    modules = loaded(manifests, env={**env, "AUDITOR_PROG_NAME": "auditor", "XDG_CACHE_HOME": str(manifests / "cache")})
    assert not modules & (PARSERS | RULES | WORKERS | JUDGES | COMMANDS)
    own = {name for name in modules if name.startswith(("auditor", "pipelines"))}
    assert 20 < len(own) < most


@pytest.mark.parametrize(
    ("files", "jobs", "expected"),
    [
        ({"dump": 2 << 20}, 2, True),
        ({"dump": 2 << 20}, 1, False),
        ({"dump": 1 << 10}, 2, False),
        ({"dump/a/x.json": 1 << 19, "dump/a/y.json": 1 << 19}, 2, True),
        ({"dump/x.json": 1 << 19, "dump/.git/pack": 2 << 20}, 2, False),
    ],
)
def test_workers_are_made_ready_before_anything_heavy_is_loaded(
    tmp_path: Path, files: dict[str, int], jobs: int, expected: bool
) -> None:
    for name, size in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    code = (
        "import sys\n"
        "from pipelines.engines import expect_workers\n"
        f"expect_workers(['dump'], engine='processes', jobs={jobs})\n"
        "print('multiprocess.forkserver' in sys.modules, *sys.modules)\n"
    )
    env = {"PYTHONPATH": str(ROOT), "PATH": ""}
    command = [sys.executable, "-c", code]
    started, *modules = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True).stdout.split()
    assert started.decode() == str(expected)
    assert not {name.decode() for name in modules} & {
        "pyarrow",
        "numpy",
        "orjson",
        "msgspec",
        "auditor.shards.shard_audit",
    }


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
