"""`auditor query --where` on objects for which its evaluation fails: they are counted and named, never just left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path


def _pod(name: str, **status: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "team-a",
        "uid": name,
        "creationTimestamp": f"2026-0{len(name)}-01T00:00:00Z",
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}, "status": status}


READY = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-01T00:00:00Z"}]
PODS = (_pod("a", conditions=READY), _pod("bb", phase="Pending"), _pod("ccc", conditions=[]))


@pytest.fixture
def pods(tmp_path: Path) -> Path:
    path = tmp_path / "pods.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(PODS)}))
    return path


def test_what_fails_is_counted_and_named_and_the_exit_code_is_3(pods: Path) -> None:
    done = auditor(
        "query", pods, "pods", "-A", "--where", "!status.conditions.exists(c, c.type == 'Ready')", "-o", "name"
    )
    assert (done.code, done.stdout) == (3, "pod/ccc\n")
    assert done.stderr == "pods: evaluation failed for 1 of 3 objects: no such key: conditions; first team-a/bb\n"


def test_what_fails_for_all_ends_with_1(pods: Path) -> None:
    done = auditor("query", pods, "pods", "-A", "--where", "status.startTime == 'x'", "--count", "--explain")
    assert (done.code, done.stdout) == (1, "0\n")
    assert "evaluation failed for 3 of 3 objects: no such key: startTime; first team-a/a\n" in done.stderr
    assert "3 match, evaluation failed for 3, 0 returned" in done.stderr


def test_a_field_that_a_builtin_kind_does_not_have_is_refused(pods: Path) -> None:
    done = auditor("query", pods, "pods", "-A", "--where", "status.fase == 'Pending'")
    assert done.code == 2
    assert "there is no field status.fase in Pod; did you mean status.phase?" in done.stderr


@pytest.mark.parametrize(
    ("predicate", "names"),
    [
        ("metadata.creationTimestamp > timestamp('2026-01-15T00:00:00Z')", ["bb", "ccc"]),
        ("timestamp('2026-02-01T00:00:00Z') == metadata.creationTimestamp", ["bb"]),
        ("timestamp('2026-04-01T00:00:00Z') - metadata.creationTimestamp > duration('1000h')", ["a", "bb"]),
        ("metadata.creationTimestamp - timestamp('2026-01-01T00:00:00Z') > duration('1000h')", ["ccc"]),
        ("metadata['creationTimestamp'] < timestamp('2026-01-15T00:00:00Z')", ["a"]),
        ("has(status.conditions) && status.conditions.exists(c, c.lastTransitionTime > timestamp('2026-02-01T00:00:00Z'))", ["a"]),
        ("metadata.creationTimestamp.startsWith('2026-02')", ["bb"]),
    ],
)  # fmt: skip
def test_fields_compare_with_timestamps(pods: Path, predicate: str, names: list[str]) -> None:
    done = auditor("query", pods, "pods", "-A", "--where", predicate, "-o", "name")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.split() == [f"pod/{name}" for name in names]


def test_dump_report_and_index_alone_say_the_same(tmp_path: Path) -> None:
    """The index of a report decides; the first object that fails is read for its error, which an index alone lacks."""
    store = Store(definition(), loaf("dark"), loaf("light", flour="wheat"))
    for name in ("bare", "empty"):
        bare = loaf(name)
        del bare["spec"]["flour"]
        store.put(bare)
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    report = tmp_path / "report"
    assert auditor("audit", dump, "--report", report, "--fail-on", "never").code == 0
    said = "loafs.bakery.example.com: evaluation failed for 2 of 4 objects: "

    def asked(*words: object) -> None:
        done = auditor("query", *words, "loafs", "-A", "--where", "spec.flour == 'rye'", "-o", "name")
        assert (done.code, done.stdout) == (3, "loaf.bakery.example.com/dark\n"), words
        assert said in done.stderr
        assert done.stderr.rstrip().endswith("/bare")

    said += "no such key: flour; first "
    asked(dump)
    asked(report, "--dump", dump)
    (tmp_path / "dump.json").rename(tmp_path / "away.json")
    said = said.replace("no such key: flour", "the index has no value of that type for a field")
    asked(report)


def test_kinds_that_fail_for_the_same_reason_have_one_note(tmp_path: Path) -> None:
    store = Store(definition(), definition("Roll"), loaf("a"), loaf("b"), loaf("c", kind="Roll"), *PODS[:1])
    for kind in ("Loaf", "Roll"):
        bare = loaf("bare", kind=kind)
        del bare["spec"]["flour"]
        store.put(bare)
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    done = auditor("query", dump, "*", "--where", "spec.flour == 'rye'", "-o", "name")
    assert (done.code, len(done.stdout.split())) == (3, 3)
    *_, note = done.stderr.splitlines()
    assert note == (
        "2 kinds: evaluation failed for 2 of 5 objects: no such key: flour; first loafs.bakery.example.com north/bare"
    )
    assert done.stderr.count("evaluation failed") == 1


def test_other_reasons_are_other_notes(tmp_path: Path) -> None:
    store = Store(definition(), definition("Roll"), loaf("a"), loaf("c", kind="Roll", grams="x"))
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    done = auditor("query", dump, "loafs,rolls", "--where", "spec.grams.size() > 3", "-o", "name")
    assert (done.code, done.stdout) == (3, "")
    assert done.stderr.startswith("loafs.bakery.example.com: evaluation failed for 1 of 1 object: ")
