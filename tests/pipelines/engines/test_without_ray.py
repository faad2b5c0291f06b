"""Where Ray is not installed, the engine `ray` says what to install; no other engine imports it."""

import os
import subprocess
import sys

import pytest

from tests.shared import ROOT

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


@pytest.fixture
def no_ray(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "ray.py").write_text("raise ImportError('there is no Ray here')\n")
    return {**os.environ, "PYTHONPATH": f"{tmp_path / 'lib'}{os.pathsep}{ROOT}"}


def audit(env, cwd, *words):
    command = [sys.executable, "-m", "pipelines", "audit", SAMPLE, "--report", "r", "--fail-on", "never", *words]
    return subprocess.run(map(str, command), capture_output=True, text=True, env=env, cwd=cwd, check=False)


def test_the_error_names_the_extra_and_nothing_is_written(no_ray, tmp_path):
    done = audit(no_ray, tmp_path, "--engine", "ray")
    assert done.returncode == 2
    assert "--engine ray: Ray is not installed here; run pip install '.[ray]' in a clone of the project" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["lib"]


@pytest.mark.parametrize("engine", ["processes", "inline"])
def test_the_other_engines_need_no_ray(no_ray, tmp_path, engine):
    done = audit(no_ray, tmp_path, "--engine", engine)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_address_without_the_engine_is_refused(no_ray, tmp_path):
    done = audit(no_ray, tmp_path, "--ray-address", "auto")
    assert done.returncode == 2
    assert "--ray-address needs --engine ray" in done.stderr


def test_an_unknown_engine_is_refused(no_ray, tmp_path):
    done = audit(no_ray, tmp_path, "--engine", "dask")
    assert done.returncode == 2
    assert "'dask' is not one of" in done.stderr
