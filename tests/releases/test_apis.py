"""The table of removed versions is what the libraries say: made of their recorded answers, asked anew where Go is."""

import json
import shutil

import pytest

from auditor.builtin.scheme import target_of, type_named
from auditor.releases import DEFAULT, RELEASES
from auditor.releases.apis import apis, find_api, newest_known
from tests.reference.lifecycle import make

ANSWERS = json.loads(make.ANSWERS.read_text())


def test_the_table_is_made_of_the_recorded_answers():
    assert make.TABLE.read_text() == make.text_of(make.table(ANSWERS))


def test_each_record_is_what_the_newest_libraries_that_have_the_type_say():
    newest_first = sorted(ANSWERS["lifecycle"], key=make.minor, reverse=True)
    for one in apis():
        label = f"{one.group}/{one.version}/{one.kind}"
        row = next(ANSWERS["lifecycle"][name][label] for name in newest_first if label in ANSWERS["lifecycle"][name])
        assert [make.minor(text) for text in row[:3]] == [one.introduced, one.deprecated, one.removed], label


def test_what_the_default_release_decodes_is_what_its_schemes_know():
    assert newest_known() == DEFAULT.minor
    for one in apis():
        if one.introduced > DEFAULT.minor:
            continue
        label = f"{one.group}/{one.version}/{one.kind}"
        assert one.is_decoded(DEFAULT.minor) == (type_named(label) is not None), label
        target = target_of(one.group, one.kind)
        if target is not None and label in target.versions:
            assert one.is_decoded(DEFAULT.minor), label


@pytest.mark.parametrize(
    ("api_version", "kind", "removed", "decoded"),
    [
        ("extensions/v1beta1", "Ingress", 22, 37),
        ("extensions/v1beta1", "Deployment", 16, 37),
        ("policy/v1beta1", "PodSecurityPolicy", 25, 0),
        ("policy/v1beta1", "PodDisruptionBudget", 25, 37),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", 26, 35),
        ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", 32, 37),
        ("batch/v1beta1", "CronJob", 25, 37),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 22, 37),
        ("apiregistration.k8s.io/v1beta1", "APIService", 22, 37),
        ("resource.k8s.io/v1beta1", "ResourceClaim", 38, 37),
        ("v1", "Endpoints", 0, 37),
    ],
)
def test_well_known_removals(api_version, kind, removed, decoded):
    found = find_api(api_version, kind)
    assert (found.removed, found.decoded) == (removed, decoded)
    assert found.is_gone(removed) == (removed > 0)
    assert not found.is_gone(removed - 1) or not found.is_decoded(max(removed - 1, 32))


def test_a_version_that_is_neither_deprecated_nor_removed_is_not_in_the_table():
    assert find_api("apps/v1", "Deployment") is None
    assert find_api("example.com/v1", "Deployment") is None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="Go is missing: the recorded answers were checked")
def test_the_libraries_of_the_default_release_answer_as_recorded():
    version = f"v0{DEFAULT.version[2:]}"
    assert make.asked(version) == ANSWERS["lifecycle"][version]
    assert {one.minor for one in RELEASES if one.is_final} == set(map(make.minor, ANSWERS["registered"]))
