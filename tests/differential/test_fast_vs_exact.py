"""The comparison of generated code and reference: what it sees, what it says, and a small run."""

import dataclasses
import json
import multiprocessing
import shutil
from concurrent.futures import ProcessPoolExecutor

import pytest

import auditor
from tests.differential import fast_vs_exact
from tests.documents import named_definition
from tests.shared import shared

DEFINITION = named_definition(
    "foos.example.com",
    "Foo",
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "n": {"type": "number", "maximum": 5},
                    "d": {"type": "string", "default": "x"},
                },
            }
        },
    },
)


def foo(spec):
    metadata = {"name": "a", "namespace": "b", "uid": "c", "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z"}
    return json.dumps({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata, "spec": spec}).encode()


@pytest.fixture
def pair():
    catalog = auditor.CrdCatalog.from_documents([DEFINITION])
    return fast_vs_exact.Pair(catalog.crds["foos.example.com"], "v1")


@pytest.mark.parametrize("updates", [True, False])
@pytest.mark.parametrize("spec", [{}, {"n": 1}, {"n": 1.0}, {"n": 9}, {"n": "x", "zz": 1}, 5])
def test_both_paths_agree(pair, spec, updates):
    assert pair.difference(foo(spec), updates=updates)[0] == ""


@pytest.mark.parametrize(
    ("part", "spec", "changed"),
    [
        ("findings", {"n": 9}, ()),
        ("pruned", {"zz": 1}, ("spec.zzz",)),
        ("defaulted", {}, ()),
        ("selectable", {}, {"metadata.name": "b"}),
        ("object", {"n": 1}, {"spec": {"n": 1.0}}),
        ("unreadable", {}, auditor.Unreadable("torn")),
    ],
)
def test_a_path_that_says_something_else_is_found(pair, part, spec, changed):
    audit = pair.fast.audit
    pair.fast.audit = lambda data: dataclasses.replace(audit(data), **{part: changed})
    assert pair.difference(foo(spec), updates=False)[0].startswith(f"{part}: ")


def test_another_outcome_of_an_update_is_found(pair):
    audit = pair.fast.audit
    pair.fast.audit = lambda data: dataclasses.replace(audit(data))
    pair.verdicts.judge = lambda *_, **__: dataclasses.replace(fast_vs_exact.NOT_ASKED, codes=(422, 200, None))
    assert pair.difference(foo({"n": 1}), updates=True)[0].startswith(
        "update codes (422, 200, None) / (200, 200, None)"
    )


@pytest.mark.slow
def test_a_sample_goes_both_ways_alike(capsys):
    shared("gen")
    if not shutil.which("go"):
        pytest.skip("Go is missing: the generator cannot be built")
    code = fast_vs_exact.main(["--objects", "600", "--seeds", "5", "6", "--jobs", "1", "--updates", "--table"])
    said = capsys.readouterr().out
    assert code == 0, said
    assert "0 differ" in said
    assert " httproutes.gateway.networking.k8s.io v1 " in f" {said.replace(chr(10), ' ')} "


def test_where_the_reference_data_are_missing_it_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(fast_vs_exact, "SHARED", tmp_path / "shared")
    assert fast_vs_exact.main([]) == 0
    assert capsys.readouterr().out.startswith("skipped: ../shared")


def test_a_generator_that_is_not_read_to_its_end_does_not_wait_for_ever(tmp_path):
    """Workers hold its pipe open: here a process that lives as long as the test."""
    endless = tmp_path / "gen"
    endless.write_text("#!/bin/sh\nwhile :; do echo '{}'; done\n")
    endless.chmod(0o755)
    lines = fast_vs_exact.drawn(endless, tmp_path, 1, 1, 0.5)
    assert next(lines) == b"{}\n"
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        assert pool.submit(int, "5").result() == 5
        lines.close()
