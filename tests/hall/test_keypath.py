"""Both spellings of a key path."""

import pickle

import pytest

from auditor.keypath import ROOT

CASES = [
    (ROOT, "", "<nil>"),
    (ROOT.property("spec"), "spec", "spec"),
    (ROOT.property("spec").property("m").key("k.x").property("u"), "spec.m.k.x.u", "spec.m[k.x].u"),
    (ROOT.property("l").index(3).property("x"), "l[3].x", "l[3].x"),
    (ROOT.key("a"), ".a", "[a]"),
    (ROOT.property("m").key(""), "m.", "m[]"),
    (ROOT.property("m").key("k.x").index(1), "m.k.x[1]", "m[k.x][1]"),
]


@pytest.mark.parametrize(("path", "dotted", "structured"), CASES, ids=[case[2] for case in CASES])
def test_prints_both_ways(path, dotted, structured):
    assert path.dotted() == dotted
    assert path.structured() == structured
    assert str(path) == structured


def test_equal_paths_are_equal_and_survive_pickling():
    path = ROOT.property("a").index(0)
    assert path == ROOT.property("a").index(0)
    assert hash(path) == hash(ROOT.property("a").index(0))
    assert path != ROOT.key("a").index(0)
    assert pickle.loads(pickle.dumps(path)) == path
