"""`auditor query --as stored`: --where is about the objects that are printed, labels and fields about those of a read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path

LOAVES = ("-A", "--as", "stored", "-o", "name")


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """Return two loaves at v1 and one at v2, one of them with a field that a read drops; a read adds spec.shape."""
    store = Store(
        definition(versions=("v1", "v2")), loaf("a", shape="oval"), loaf("b", version="v2"), loaf("c", bogus="x")
    )
    return store.write(tmp_path / "dump.json", "etcdctl")


@pytest.mark.parametrize(
    ("predicate", "names"),
    [
        ("apiVersion.endsWith('/v2')", ["b"]),
        ("self.apiVersion.endsWith('/v1')", ["a", "c"]),
        ("!has(spec.shape)", ["b", "c"]),
        ("has(spec.bogus)", ["c"]),
    ],
)
def test_the_predicate_is_about_the_object_as_stored(
    dump: str, tmp_path: Path, predicate: str, names: list[str]
) -> None:
    report = tmp_path / "report"
    assert auditor("audit", dump, "--report", report, "--fail-on", "never").code == 0
    for target in ((dump,), (report, "--dump", dump), (dump, "--as-server")):
        done = auditor("query", target[0], "loafs", *LOAVES, *target[1:], "--where", predicate)
        assert (done.code, done.stderr) == (0, ""), target
        assert done.stdout.split() == [f"loaf.bakery.example.com/{name}" for name in names], target


def test_field_selectors_are_about_the_object_as_read(dump: str) -> None:
    """They are the server's, which has no other."""
    done = auditor(
        "query", dump, "loafs.v2.bakery.example.com", *LOAVES, "--any-field", "--field-selector", "spec.shape=round"
    )
    assert done.stdout.split() == ["loaf.bakery.example.com/b", "loaf.bakery.example.com/c"]


def test_an_index_alone_has_no_stored_objects(dump: str, tmp_path: Path) -> None:
    report = tmp_path / "report"
    assert auditor("audit", dump, "--report", report, "--fail-on", "never").code == 0
    (tmp_path / "dump.json").unlink()
    done = auditor("query", report, "loafs", *LOAVES, "--where", "has(spec.shape)")
    assert (done.code, done.stdout) == (2, "")
    assert "an index has no whole objects; name its dump with --dump" in done.stderr
