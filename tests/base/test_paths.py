"""The text of a key path."""

import pickle

import pytest

from auditor.base.paths import ROOT

CASES = [
    (ROOT, "<nil>"),
    (ROOT.field("spec"), "spec"),
    (ROOT.field("spec").field("m").key("k.x").field("u"), "spec.m[k.x].u"),
    (ROOT.field("l").index(3).field("x"), "l[3].x"),
    (ROOT.key("a"), "[a]"),
    (ROOT.field("m").key(""), "m[]"),
    (ROOT.field("m").key("k.x").index(1), "m[k.x][1]"),
]


@pytest.mark.parametrize(("path", "structured"), CASES, ids=[case[1] for case in CASES])
def test_a_path_prints_as_the_server_does(path, structured):
    assert path.structured() == structured
    assert str(path) == structured


def test_equal_paths_are_equal_and_survive_pickling():
    path = ROOT.field("a").index(0)
    assert path == ROOT.field("a").index(0)
    assert hash(path) == hash(ROOT.field("a").index(0))
    assert path != ROOT.key("a").index(0)
    assert pickle.loads(pickle.dumps(path)) == path
