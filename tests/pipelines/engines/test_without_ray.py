"""Where Ray is not installed, the engine `ray` says what to install; no other engine imports it."""

import sys

import pytest

from tests.command import auditor
from tests.shared import ROOT

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


@pytest.fixture(autouse=True)
def _no_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)


def audit(folder, *words):
    return auditor("audit", SAMPLE, "--report", "r", "--fail-on", "never", *words, cwd=folder)


def test_the_error_names_the_extra_and_nothing_is_written(tmp_path):
    done = audit(tmp_path, "--engine", "ray")
    assert done.code == 2
    assert "--engine ray: Ray is not installed here; run pip install '.[ray]' in a clone of the project" in done.stderr
    assert done.files() == []


def test_the_engine_inline_needs_no_ray(tmp_path):
    done = audit(tmp_path, "--engine", "inline")
    assert (done.code, done.stderr) == (0, "")


def test_an_address_without_the_engine_is_refused(tmp_path):
    done = audit(tmp_path, "--ray-address", "auto")
    assert done.code == 2
    assert "--ray-address needs --engine ray" in done.stderr


def test_an_unknown_engine_is_refused(tmp_path):
    done = audit(tmp_path, "--engine", "dask")
    assert done.code == 2
    assert "'dask' is not one of" in done.stderr
