"""A kind that is unknown in a dump that is not whole: its definition may be in what was not readable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS: Final = (
    ("query", "DUMP", "cakes"),
    ("query", "DUMP", "cakes", "a"),
    ("query", "DUMP", "cakes/a"),
    ("query", "DUMP", "cakes", "--count"),
    ("show", "DUMP", "cakes", "a"),
    ("show", "DUMP", "cakes/a"),
    ("explain", "DUMP", "cakes"),
    ("explain", "DUMP", "cakes", "--values"),
    ("history", "DUMP", "cakes"),
    ("refs", "DUMP", "cakes/a"),
    ("events", "DUMP", "--for", "cakes/a"),
    ("diff", "DUMP", "DUMP", "cakes"),
    ("tables", "DUMP", "out", "cakes"),
)
SQL: Final = ("sql", "DUMP", "FROM cakes")
DAMAGED: Final = "part of the dump could not be read, and the definition of a kind may have been there"
TORN: Final = (
    "1 definition of the dump cannot be read, and the kind may be defined there: /registry/apiextensions.k8s.io/"
)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dumps")
    whole = (ROOT / "sample-data" / "cluster.db.gz").read_bytes()
    (folder / "whole.db.gz").write_bytes(whole)
    (folder / "damaged.db.gz").write_bytes(whole[: len(whole) // 2])
    store = Store(definition(), loaf("a"))
    store.put(b"{torn", "/registry/apiextensions.k8s.io/customresourcedefinitions/cakes.bakery.example.com")
    store.write(folder / "torn.json", "etcdctl")
    assert auditor("audit", "damaged.db.gz", "--report", "report", cwd=folder).code in (2, 3)
    return folder


@pytest.mark.parametrize("words", [*COMMANDS, SQL], ids=" ".join)
@pytest.mark.parametrize(
    ("dump", "code", "said"),
    [("whole.db.gz", 1, ""), ("damaged.db.gz", 3, DAMAGED), ("torn.json", 3, TORN), ("report", 3, DAMAGED)],
    ids=lambda value: str(value)[:20],
)
def test_the_exit_code_says_whether_the_kind_can_exist(
    dumps: Path, words: tuple[str, ...], dump: str, code: int, said: str
) -> None:
    if words[0] in ("history", "diff") and dump in ("torn.json", "report"):
        pytest.skip("it asks for the revisions of a snapshot, or for dumps")
    if words == SQL:
        pytest.importorskip("duckdb")
    done = auditor(*(word.replace("DUMP", dump) for word in words), cwd=dumps)
    assert (done.code, done.stdout) == (2 if words == SQL and code == 1 else code, ""), done.stderr
    is_key = words[0] == "show" and len(words) == 3  # /registry/..., or KIND/NAME
    assert said in done.stderr or (is_key and "what could be read of it has no key cakes/a" in done.stderr)
    assert ("may" in done.stderr or is_key) is bool(said or is_key)


def test_a_torn_object_takes_no_definition(tmp_path: Path) -> None:
    store = Store(definition(), loaf("a"))
    store.put(b"{torn", "/registry/bakery.example.com/loafs/north/b")
    store.write(tmp_path / "dump.json", "etcdctl")
    done = auditor("query", tmp_path / "dump.json", "cakes")
    assert (done.code, "may" in done.stderr) == (1, False)
