"""Objects that no change between two releases concerns have the same answers: shown by every recorded answer."""

import json
from itertools import pairwise

import pytest

from auditor.releases import RELEASES
from auditor.releases.changes import CHANGES, between
from auditor.releases.touched import Touched, touched
from auditor.sources.crd_files import read_crd_documents
from tests.reference.libraries import LIBRARIES
from tests.reference.make import recorded_answers
from tests.releases.comparing import BOTH, answered, beside, suite
from tests.shared import SHARED, second_check

REPRODUCED = [one for one in RELEASES if one.is_reproduced]
PAIRS = list(pairwise(REPRODUCED))
OWN, BESIDE = BOTH


def answers(release, name):
    if recorded_answers(release.name):
        return {case["name"]: expect for case, expect in answered(release.name, name)}
    return {case["name"]: case["expect"] for case in (suite(name)["cases"] if name.endswith(".json") else beside(name))}


def text_of(case, name):
    if name.endswith(".json"):
        return json.dumps(suite(name).get("definitions", ()))
    return json.dumps(
        read_crd_documents([str(SHARED / "corpus/crds" / case["ref"])]) if case.get("ref") else case["crd"]
    )


def unexplained(old, new, name):
    cases = {one["name"]: one for one in (suite(name)["cases"] if name.endswith(".json") else beside(name))}
    before, after = answers(old, name), answers(new, name)
    wrong, differing = [], 0
    for case in before.keys() & after.keys():
        if not {"object", "objectText"} & cases[case].keys() or before[case] == after[case]:
            continue
        differing += 1
        reach = touched(between(old, new), text_of(cases[case], name))
        found = after[case].get("findings", after[case].get("errors")) or after[case].get("causes")
        if reach is Touched.NONE or (reach is Touched.FAULTY and not found):
            wrong.append(case)
    return wrong, differing


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda one: one.name)
def test_answers_differ_only_where_a_record_reaches(old, new, name):
    assert unexplained(old, new, name)[0] == []


@second_check("vectors", by="tests/releases/test_touched.py")
@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda one: one.name)
def test_answers_to_the_vectors_beside_the_project_differ_only_where_a_record_reaches(old, new, name):
    assert unexplained(old, new, name)[0] == []


def test_some_answers_differ():
    assert sum(unexplained(old, new, name)[1] for old, new in PAIRS for name in OWN) > 5
    assert set(LIBRARIES) >= {one.name for one in REPRODUCED}


@pytest.mark.parametrize(
    ("names", "text", "reach"),
    [
        (["too-few"], '{"minItems": 1}', Touched.FAULTY),
        (["too-few"], '{"maxItems": 1}', Touched.NONE),
        (["too-few", "standard-base64"], '{"minItems": 1, "format": "byte"}', Touched.ALL),
        (["url-part-sizes", "gates-removed"], '{"rule": "url(self)"}', Touched.NONE),
        (["exact-quantities"], '{"rule": "isQuantity(self) && quantity(self) > x"}', Touched.ALL),
        ([], "{}", Touched.NONE),
    ],
)
def test_a_definition_is_reached_by_what_is_in_it(names, text, reach):
    assert touched([one for one in CHANGES if one.name in names], text) is reach


def test_a_record_without_an_entry_reaches_all():
    class Unknown:
        name = "unheard-of"

    assert touched([Unknown], "{}") is Touched.ALL
