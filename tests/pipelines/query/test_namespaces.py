"""A namespace that the dump does not have: every command that takes -n says so in one note."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = (
    (0, "query", "DUMP", "loafs"),
    (0, "query", "DUMP", "loafs", "-o", "json"),
    (0, "query", "DUMP", "loafs", "--count"),
    (1, "query", "DUMP", "loafs", "a"),
    (0, "kinds", "DUMP"),
    (0, "kinds", "DUMP", "--deleting"),
    (0, "events", "DUMP"),
    (0, "refs", "DUMP", "--dangling"),
    (0, "explain", "DUMP", "loafs", "--values"),
    (1, "show", "DUMP", "loafs/a"),
)


def _namespace(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@pytest.fixture
def store() -> Store:
    made = Store(definition(), loaf("a"))
    for name in ("default", "north"):
        made.put(_namespace(name), f"/registry/namespaces/{name}")
    return made


@pytest.mark.parametrize("form", ["etcdctl", "export", "report"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_namespace_that_is_not_there_is_noted_once(
    command: tuple[int | str, ...], form: str, store: Store, tmp_path: Path
) -> None:
    dump = store.write(tmp_path / "dump.json", "export" if form == "export" else "etcdctl")
    if form == "report":
        auditor("audit", dump, "--report", tmp_path / "report", "--fail-on", "never")
        dump = str(tmp_path / "report")
    code, *words = command
    words = [dump if word == "DUMP" else word for word in words]
    done = auditor(*words, "-n", "defualt")
    assert (done.code, done.stderr.count(f"note: {dump} has no Namespace defualt (did you mean default?)\n")) == (
        code,
        1,
    )
    for namespace in ("default", "north"):
        assert "no Namespace" not in auditor(*words, "-n", namespace).stderr


def test_an_index_alone_knows_the_namespaces_of_its_report(store: Store, tmp_path: Path) -> None:
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    auditor("audit", dump, "--report", tmp_path / "report", "--fail-on", "never")
    (tmp_path / "dump.json").unlink()
    assert (
        "has no Namespace nroth (did you mean north?)"
        in auditor("query", tmp_path / "report", "loafs", "-n", "nroth").stderr
    )


@pytest.mark.parametrize("namespace", ["x", ""])
def test_nothing_is_noted_where_it_is_not_known_or_not_asked(namespace: str, tmp_path: Path) -> None:
    dump = Store(definition(), loaf("a")).write(tmp_path / "dump.json", "etcdctl")
    assert "no Namespace" not in auditor("query", dump, "loafs", "-n", namespace).stderr


def test_each_dump_of_a_comparison_and_a_history_have_their_note(store: Store, tmp_path: Path) -> None:
    old = store.write(tmp_path / "old.json", "etcdctl")
    store.put(_namespace("new"), "/registry/namespaces/new")
    new = store.write(tmp_path / "new.json", "etcdctl")
    done = auditor("diff", old, new, "-n", "new")
    assert (done.stderr.count("has no Namespace"), f"note: {old} has no Namespace new" in done.stderr) == (1, True)
