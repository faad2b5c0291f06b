"""A name that kinds of two groups have: the first one answers, as in kubectl, and the other one is named if it has objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "zoo.example.com"
STORE = Store(definition(), definition(group=OTHER), *map(loaf, "ab"), *(loaf(name, group=OTHER) for name in "cde"))


def _note(name: str) -> str:
    return f'note: "{name}" is loafs.bakery.example.com here; loafs.{OTHER} has 3 objects\n'


@pytest.mark.parametrize("name", ["loafs", "loaf", "Loaf"])
def test_the_other_kind_is_noted(tmp_path: Path, name: str) -> None:
    dump = STORE.write(tmp_path / "dump.json", "etcdctl")
    for command in (
        ("query", dump, name, "--count"),
        ("query", dump, name, "a", "-o", "name"),
        ("refs", dump, f"{name}/a"),
    ):
        done = auditor(*command)
        assert (done.code, done.stderr.count(_note(name))) == (0, 1), command
    assert _note("loafs") in auditor("explain", dump, "loafs.spec").stderr


def test_reports_indexes_and_fleets_note_it(tmp_path: Path) -> None:
    dumps = [STORE.write(tmp_path / f"{name}.json", "etcdctl") for name in ("one", "two")]
    report, fleet = tmp_path / "report", tmp_path / "fleet"
    assert auditor("audit", dumps[0], "--report", report, "--fail-on", "never").code == 0
    assert auditor("audit", *dumps, "--cluster-name", "{name}", "--report", fleet, "--fail-on", "never").code == 0
    assert _note("loafs") in auditor("query", report, "loafs", "--count").stderr
    assert _note("loafs").replace("3", "6") in auditor("query", fleet, "loafs", "--count").stderr
    (tmp_path / "one.json").unlink()
    assert _note("loafs") in auditor("query", report, "loafs", "--count").stderr


@pytest.mark.parametrize("name", [f"loafs.{OTHER}", "loafs.bakery.example.com", "loafs.v1.bakery.example.com", "*"])
def test_a_name_with_its_group_has_no_note(tmp_path: Path, name: str) -> None:
    done = auditor("query", STORE.write(tmp_path / "dump.json", "etcdctl"), name, "--count")
    assert (done.code, done.stderr) == (0, "")


def test_a_kind_without_objects_is_not_noted(tmp_path: Path) -> None:
    dump = Store(definition(), definition(group=OTHER), loaf("a")).write(tmp_path / "dump.json", "etcdctl")
    assert auditor("query", dump, "loafs", "--count").stderr == ""
