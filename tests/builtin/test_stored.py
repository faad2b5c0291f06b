"""Which stored values of built-in kinds decode: 10,000 damaged ones, compared with the server's own codec."""

import json
from base64 import b64decode
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from auditor.builtin.judge import judge_exported, judge_stored, target_at
from auditor.builtin.quick import Prover
from auditor.builtin.quick_json import JsonProver
from auditor.builtin.scheme import target_of
from auditor.builtin.stored import UndecodableError, read_stored
from tests.reference.builtins import make
from tests.reference.builtins.mutations import applied, cases

HERE = Path(make.__file__).parent


@cache
def seeds():
    return json.loads((HERE / "seeds.json").read_text())


@cache
def recorded():
    content = json.loads((HERE / "answers.json").read_text())
    return [(into, value_of(at, splices), content["answers"][number]) for into, at, splices, number in content["cases"]]


def value_of(at, splices):
    return applied(b64decode(seeds()[at]["value"]), splices)


def read(into, value):
    group, _, kind = into.rpartition("/")
    try:
        found = read_stored(target_of(group, kind), value)
    except UndecodableError as error:
        return {"error": str(error)}
    return {name: text for name, text in (("name", found.name), ("namespace", found.namespace)) if text}


def test_damaged_values_are_answered_as_the_server_does():
    answered = Counter()
    wrong = []
    for into, value, wanted in recorded():
        answered["error" in wanted] += 1
        found = read(into, value)
        if found != wanted:
            wrong.append((into, value[:200], found, wanted))
    assert not wrong, (len(wrong), wrong[:3])
    assert answered[True] > 3000
    assert answered[False] > 2000


@pytest.mark.slow
def test_what_is_proven_the_exact_reader_says_as_well():
    of_protobuf, of_json = Prover(), JsonProver()
    proven = Counter()
    for into, value, wanted in recorded():
        group, _, kind = into.rpartition("/")
        prover = of_protobuf if value.startswith(b"k8s\0") else of_json
        found = prover.prove(target_of(group, kind), value) if value[:1] in (b"k", b"{") else None
        if found is not None:
            assert "error" not in wanted, (into, value, wanted)
            assert found[1:] == ("namespace" in wanted, "name" in wanted)
            assert found[0] == read_stored(target_of(group, kind), value).version
        proven[value[:1], found is not None] += 1
    assert proven[b"k", True] > 1000
    assert proven[b"{", True] > 1000


def test_nearly_all_undamaged_protobuf_is_proven():
    prover = Prover()
    stored = [seed for seed in seeds() if seed["form"] == "protobuf"]
    found = [prover.prove(target_of(*seed["into"].rpartition("/")[::2]), b64decode(seed["value"])) for seed in stored]
    assert sum(one is not None for one in found) > 0.9 * len(stored)


@pytest.mark.slow
def test_the_program_says_what_is_recorded():
    program = HERE / "bin" / "builtins"
    if not program.exists():
        pytest.skip("make reference-builtins builds it")
    assert make.scheme_text(program)[0] == make.SCHEME.read_text()
    from random import Random

    drawn = cases(Random(1_000_003), seeds(), 5000)
    values = [(into, value_of(at, splices)) for into, at, splices in drawn]
    answers = make.answers(program, values)
    wrong = [(value, answer) for value, answer in zip(values, answers, strict=True) if read(*value) != answer]
    assert not wrong, (len(wrong), wrong[:3])


@pytest.mark.parametrize(
    ("version", "kind", "is_read"),
    [
        ("batch/v1beta1", "CronJob", True),
        ("policy/v1beta1", "PodDisruptionBudget", True),
        ("discovery.k8s.io/v1beta1", "EndpointSlice", True),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", False),
        ("autoscaling/v2beta1", "HorizontalPodAutoscaler", False),
        ("resource.k8s.io/v1alpha2", "ResourceClaim", False),
        ("v7", "Service", False),
    ],
)
def test_versions_decode_as_the_release_has_them(version, kind, is_read):
    group = version.rpartition("/")[0]
    judged = judge_exported(group, kind, json.dumps({"apiVersion": version, "kind": kind}).encode())
    assert judged.status == ("builtin" if is_read else "unreadable")
    assert judged.version == version.rpartition("/")[2]
    if not is_read:
        assert f'no kind "{kind}" is registered for version "{version}"' in judged.reason
        assert judged.impacts == ("breaks-list",)


@pytest.mark.parametrize(
    ("group", "plural", "namespaced", "metadata", "reason"),
    [
        ("", "configmaps", True, {"name": "a", "namespace": "b"}, None),
        ("", "configmaps", True, {"name": "a"}, "couldn't compute key: Namespace parameter required."),
        ("", "configmaps", True, {"namespace": "b"}, "couldn't compute key: Name parameter required."),
        ("", "nodes", False, {}, "couldn't compute key: Name parameter required."),
        ("", "nodes", False, {"name": "a"}, None),
        ("", "events", True, {}, None),
    ],
)
def test_a_value_without_a_name_stops_the_watch_cache(group, plural, namespaced, metadata, reason):
    target = target_at(group, plural)
    value = json.dumps({"apiVersion": "v1", "kind": target.kind, "metadata": metadata}).encode()
    judged = judge_stored(target, plural, value, namespaced=namespaced)
    assert (judged.status, judged.reason) == ("builtin", reason)
    assert judged.impact == ("none" if reason is None else "breaks-watch")


def test_deeply_nested_json_is_no_error_of_ours():
    text = '{"apiVersion":"v1","kind":"Pod","x":' + "[" * 5000 + "]" * 5000 + "}"
    assert judge_exported("", "Pod", text.encode()).status == "builtin"
    text = text.replace("[" * 5000, "[" * 10_001)
    assert judge_exported("", "Pod", text.encode()).status == "unreadable"
