"""Changes of objects of built-in kinds, beside the answers of kubectl and a real server (`record_builtin_updates`)."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.command import auditor
from tests.updates.record_builtin_updates import ANSWERS, OTHER_UID

if TYPE_CHECKING:
    from pathlib import Path

PAIRS: list[dict[str, Any]] = json.loads(ANSWERS.read_text())
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}


def audited(folder: Path, old: list[Any], new: list[Any], how: str) -> dict[tuple[str, str], tuple[str, list[Any]]]:
    """Return for each new object what is said of it, and its findings, by kind and name."""
    for name, items in (("old", old), ("new", new)):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        (folder / f"{name}.json").write_text(text)
    way = "merge" if how == "apply" else how
    ended = auditor(
        "audit", "--old", "old.json", "new.json", "--report", "out", "--force", "--apply", way, "--jobs", 1, cwd=folder
    )
    rows = pq.read_table(folder / "out/objects").to_pylist()
    findings: dict[tuple[str, str], list[Any]] = {}
    for row in pq.read_table(folder / "out/findings").to_pylist():
        findings.setdefault((row["kind"], row["name"]), []).append(row)
    out = {}
    for row in rows:
        found = findings.get((row["kind"], row["name"]), [])
        is_known = row["impact"] != "unknown" and row["status"] != "orphaned"
        out[row["kind"], row["name"]] = ("refused" if found else "accepted" if is_known else "unknown"), found
    words = {word for word, _ in out.values()}
    assert ended.code == (3 if "unknown" in words else 1 if "refused" in words else 0), ended.output
    assert ("nothing to do" in ended.output) <= (words == {"accepted"})
    return out


def is_said(finding: dict[str, Any], said: str) -> bool:
    """Return whether a server said what a finding says; it may print a value that the finding leaves out."""
    if finding["type"] == "BadRequest" and "strict decoding" not in said and "patch: Invalid value" in said:
        return True  # a patch is decoded in other words than a whole object
    if finding["check"] == "request":
        return finding["detail"].split("Precondition")[0] in said and finding["detail"].split("failed:")[-1] in said
    return finding["message"] in said or (f"{finding['field']}: " in said and finding["detail"] in said)


@pytest.mark.parametrize("how", ["apply", "replace"])
def test_changes_are_answered_as_a_server_answered_them(tmp_path: Path, how: str) -> None:
    pairs = [pair for pair in PAIRS if pair["how"] == how]
    answers = audited(tmp_path, [NAMESPACE, *(pair["old"] for pair in pairs)], [pair["new"] for pair in pairs], how)
    counts: Counter[tuple[bool, str]] = Counter()
    for pair in pairs:
        new = pair["new"]
        word, findings = answers[new["kind"], new["metadata"]["name"]]
        counts[pair["accepted"], word] += 1
        assert word in ("unknown", "accepted" if pair["accepted"] else "refused"), pair
        for finding in findings:
            assert is_said(finding, "\n".join(pair["said"])), (finding, pair["said"])
    assert counts[True, "accepted"] > counts[True, "unknown"] // 2
    assert counts[False, "refused"] > counts[False, "unknown"]


def _map(name: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": "u", "resourceVersion": "7", **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def _sent(obj: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**obj, "metadata": {"name": obj["metadata"]["name"], "namespace": "default", **metadata}}


@pytest.mark.parametrize(
    ("how", "new", "text"),
    [
        ("apply", _sent(_map("a", immutable=True, data={"x": "2"})), "data: Forbidden: field is immutable when"),
        ("replace", _sent(_map("a", data={"x": "1"})), "immutable: Forbidden: field is immutable when"),
        ("apply", _sent(_map("b"), resourceVersion="6"), "the object has been modified"),
        ("replace", _sent(_map("b"), resourceVersion="6"), "the object has been modified"),
        ("apply", _sent(_map("b"), uid=OTHER_UID), "metadata.uid: Invalid value"),
        ("replace", _sent(_map("b"), uid=OTHER_UID), f"Precondition failed: UID in precondition: {OTHER_UID}"),
        (
            "apply",
            _sent(_map("b"), deletionGracePeriodSeconds=5),
            "metadata.deletionGracePeriodSeconds: Invalid value: 5",
        ),
        ("replace", _sent(_map("absent")), 'configmaps "absent" not found'),
        ("apply", _sent(_map("c"), namespace="nowhere"), 'namespaces "nowhere" not found'),
        ("apply", _sent(_map("c"), namespace="ending"), "because it is being terminated"),
        ("apply", {**_sent(_map("c")), "apiVersion": "v2"}, 'no matches for kind "ConfigMap" in version "v2"'),
        ("apply", {**_sent(_map("c")), "data": {"a b": ""}}, "a valid config key must consist of"),
    ],
)
def test_a_refused_manifest_has_the_reason(tmp_path: Path, how: str, new: dict[str, Any], text: str) -> None:
    ending = {**NAMESPACE, "metadata": {"name": "ending", "deletionTimestamp": "2026-01-02T03:04:05Z"}}
    old = [NAMESPACE, ending, _map("a", immutable=True, data={"x": "1"}), _map("b")]
    ((word, findings),) = audited(tmp_path, old, [new], how).values()
    assert word == "refused"
    assert text in findings[0]["message"]


def test_a_replace_creates_an_object_of_some_kinds(tmp_path: Path) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": []}
    ((word, _),) = audited(tmp_path, [NAMESPACE], [role], "replace").values()
    assert word == "accepted"
    ((_, found),) = audited(
        tmp_path, [NAMESPACE], [{**role, "metadata": {"name": "r", "uid": "5"}}], "replace"
    ).values()
    assert found[0]["message"].endswith("UID in precondition: 5, UID in object meta: ")


def test_a_namespace_counts_from_its_place_among_the_manifests(tmp_path: Path) -> None:
    made = {**NAMESPACE, "metadata": {"name": "made"}}
    new = [_sent(_map("early"), namespace="made"), made, _sent(_map("late"), namespace="made")]
    answers = audited(tmp_path, [NAMESPACE], new, "apply")
    assert {name: word for (_, name), (word, _) in answers.items()} == {
        "early": "refused",
        "made": "accepted",
        "late": "accepted",
    }


def test_an_old_state_without_namespaces_does_not_say_that_one_is_missing(tmp_path: Path) -> None:
    elsewhere = _map("x", metadata={"namespace": "known"})
    new = [_sent(_map("a"), namespace="nowhere"), _sent(_map("b"), namespace="known")]
    answers = audited(tmp_path, [elsewhere], new, "apply")
    assert {name: word for (_, name), (word, _) in answers.items()} == {"a": "unknown", "b": "accepted"}


def test_what_is_not_known_is_named_and_not_judged(tmp_path: Path) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "ClusterIP"}}
    (tmp_path / "old.json").write_text(json.dumps(service))
    (tmp_path / "new.json").write_text(json.dumps({**service, "spec": {"type": "NodePort"}}))
    ended = auditor("audit", "--old", "old.json", "new.json", "--report", "out", "--jobs", 1, cwd=tmp_path)
    assert ended.code == 3
    assert "JUDGED 0 objects" in ended.stdout
    assert "NOT KNOWN  Service /s: it changes spec.type, which is not validated" in ended.stdout


def test_a_custom_resource_of_no_served_version_is_refused(tmp_path: Path) -> None:
    names = {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.x.example.com"},
        "spec": {"group": "x.example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    foo = {"apiVersion": "x.example.com/v9", "kind": "Foo", "metadata": {"name": "a"}}
    new = [foo, {**foo, "apiVersion": "x.example.com/v1", "metadata": {"name": "b", "namespace": "nowhere"}}]
    answers = audited(tmp_path, [definition, NAMESPACE], new, "apply")
    assert {name: found[0]["message"] for (_, name), (_, found) in answers.items()} == {
        "a": 'no matches for kind "Foo" in version "x.example.com/v9"',
        "b": 'namespaces "nowhere" not found',
    }
