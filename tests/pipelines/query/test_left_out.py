"""An object that this program fails on is reported by its key and left out; the others are printed; exit code 3."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import auditor.printing.get.printer
import auditor.server.object_reader
import auditor.server.printer
import pipelines.run.objects.history
import pipelines.run.objects.show
import pipelines.run.query_output
from auditor.plan.options import AuditOptions
from auditor.printing.customcolumns import CustomColumns
from auditor.printing.get.options import GetOptions
from auditor.printing.jsonpath import Template
from auditor.program.program import AuditProgram
from auditor.server.dump import DumpStore
from pipelines.run.audit import run_audit
from pipelines.run.objects.explain import run_values
from pipelines.run.objects.history import run_history
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.objects.show import run_show
from pipelines.run.query import run_query
from tests.command import auditor as command
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("fine", "odd", "well")
SNAPSHOT = Path(__file__).parent.parent.parent.parent / "sample-data" / "cluster.db.gz"


def failing(real: Callable[..., Any], word: str = '"odd"') -> Callable[..., Any]:
    """Return a function that fails where one of its arguments holds a word."""

    def run(*args: Any, **named: Any) -> Any:
        held = [value if isinstance(value, (str, bytes)) else json.dumps(value, default=str) for value in args]
        if any(word in str(one) for one in held):
            raise ZeroDivisionError("injected")
        return real(*args, **named)

    return run


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    store = Store(definition(), *(loaf(name, namespace="a", grams=5) for name in NAMES))
    return Path(store.write(tmp_path / "dump.json", "etcdctl"))


PLACES = {
    "table": (auditor.server.printer, "custom_resource_row"),
    "wide": (auditor.server.printer, "custom_resource_row"),
    "yaml": (auditor.printing.get.printer, "to_yaml"),
    "json": (auditor.printing.get.printer, "to_json"),
    "ndjson": (pipelines.run.query_output.jsontext, "encode"),
    "csv": (DumpStore, "fields_of"),
    "parquet": (DumpStore, "fields_of"),
    "custom-columns=A:.metadata.name": (CustomColumns, "render"),
    "jsonpath={range .items[*]}{.metadata.name} {end}": (Template, "execute"),
}


@pytest.mark.parametrize("form", PLACES)
@pytest.mark.parametrize("indexed", [False, True], ids=["dump", "report"])
def test_a_form_of_output_that_fails_on_one_object(
    dump: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    form: str,
    indexed: bool,
) -> None:
    target = dump
    if indexed:
        target = tmp_path / "report"
        run_audit(AuditOptions(dumps=(str(dump),), report=str(target)))
    owner, name = PLACES[form]
    real = getattr(owner, name)
    if owner is CustomColumns:

        def render(self: Any, objects: Any, **named: Any) -> Any:
            objects = list(objects)
            failing(len)(objects)
            return real(self, objects, **named)

        monkeypatch.setattr(owner, name, render)
    else:
        monkeypatch.setattr(owner, name, failing(real))
    path = tmp_path / "out.parquet"
    output = f"parquet={path}" if form == "parquet" else form
    assert run_query(QueryOptions(str(target), args=("loafs",), output=output, get=GetOptions())) == 3
    out, err = capsys.readouterr()
    if form == "parquet":
        out = " ".join(pq.read_table(path)["name"].to_pylist())
    assert "fine" in out
    assert "well" in out
    assert "odd" not in out
    lines = [line for line in err.splitlines() if "ZeroDivisionError" in line]
    assert len(lines) == 1
    assert "/a/odd is left out" in lines[0]
    assert "injected" in lines[0]
    assert out.count("fine") == out.count("well") >= 1


@pytest.mark.parametrize("output", ["table", "name", "json", "csv"])
@pytest.mark.parametrize("args", [("loafs",), ("loafs", *NAMES)], ids=["list", "names"])
def test_a_read_that_fails_on_one_object(
    dump: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    output: str,
    args: tuple[str, ...],
) -> None:
    monkeypatch.setattr(auditor.server.object_reader, "read_object", failing(auditor.server.object_reader.read_object))
    assert run_query(QueryOptions(str(dump), args=args, namespace="a", output=output, get=GetOptions())) == 3
    out, err = capsys.readouterr()
    assert "fine" in out
    assert "well" in out
    assert "odd" not in out
    assert "/a/odd is left out, for this program failed on it: ZeroDivisionError: injected" in err


def test_only_objects_that_fail(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(auditor.printing.get.printer, "visible", failing(auditor.printing.get.printer.visible, "/"))
    assert run_query(QueryOptions(str(dump), args=("loafs",), output="name", get=GetOptions())) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("is left out") == 3


def test_values_are_those_of_the_others(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(DumpStore, "fields_of", failing(DumpStore.fields_of))
    assert run_values(QueryOptions(str(dump)), "loafs", api_version="", limit=9, output="table") == 3
    out, err = capsys.readouterr()
    assert "fine" in out
    assert "odd" not in out
    assert "/a/odd is left out" in err


@pytest.mark.parametrize("output", ["yaml", "json"])
@pytest.mark.parametrize("name", ["document_of", "to_json"])
def test_show_of_an_object_that_fails(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], output: str, name: str
) -> None:
    if name == "to_json" and output == "yaml":
        name = "to_yaml"

    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(pipelines.run.objects.show, name, broken)
    key = "/registry/bakery.example.com/loafs/a/odd"
    assert run_show(QueryOptions(str(dump)), key, output=output) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{key} is left out, for this program failed on it: ZeroDivisionError: injected" in err


@pytest.mark.parametrize(
    ("output", "owner", "name"),
    [
        ("table", pipelines.run.objects.history, "yaml_diff"),
        ("json", pipelines.run.objects.history.jsontext, "encode"),
        ("table", auditor.server.object_reader, "read_object"),
        ("json", auditor.server.object_reader, "read_object"),
    ],
)
def test_history_of_an_object_that_fails(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    output: str,
    owner: Any,
    name: str,
) -> None:
    path = tmp_path / "cluster.db"
    path.write_bytes(gzip.decompress(SNAPSHOT.read_bytes()))
    monkeypatch.setattr(owner, name, failing(getattr(owner, name), '"shapeless"'))
    monkeypatch.setattr(AuditProgram, "proven_object", lambda *_: None)  # it is read exactly
    asked = QueryOptions(str(path), args=("loaves",))
    assert run_history(asked, begin=None, end=None, output=output, as_diff=owner is pipelines.run.objects.history) == 3
    out, err = capsys.readouterr()
    assert "too-heavy" in out
    assert "shapeless" not in out
    assert "/shapeless is left out, for this program failed on it: ZeroDivisionError: injected" in err


def test_an_error_of_the_command_still_ends_it(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(auditor.printing.get.printer, "to_json", refused)
    with pytest.raises(MemoryError):
        run_query(QueryOptions(str(dump), args=("loafs",), output="json", get=GetOptions()))


def test_each_command_that_lists_ends_with_3_where_an_object_is_corrupt(tmp_path: Path) -> None:
    """Also where it prints values or a number, from a dump and from an index, and where nothing else is there."""
    store = Store(definition(), loaf("fine"))
    store.put(b"{torn", "/registry/bakery.example.com/loafs/north/torn")
    store.put(b"{torn", "/registry/events/north/torn")
    dump, report = store.write(tmp_path / "dump.json", "etcdctl"), tmp_path / "report"
    assert command("audit", dump, "--report", report, "--fail-on", "never").code == 0
    for target in (dump, report):
        for words in (
            ("query", "loafs", "--count"),
            ("explain", "loafs", "--values"),
            ("show", "loafs"),
            ("events",),
        ):
            done = command(words[0], target, *words[1:])
            assert done.code == 3, (target, words)
            assert "/torn: " in done.stderr, (target, words)


@pytest.mark.parametrize("indexed", [False, True], ids=["dump", "report"])
def test_corrupt_objects_of_all_kinds_are_named_three_and_counted_after_the_answer(
    tmp_path: Path, indexed: bool
) -> None:
    store = Store(definition(), loaf("fine"))
    for number in range(4):
        store.put(b"{torn", f"/registry/bakery.example.com/loafs/north/torn-{number}")
        store.put(b"{torn", f"/registry/configmaps/north/torn-{number}")
    target = Path(store.write(tmp_path / "dump.json", "etcdctl"))
    if indexed:
        assert command("audit", target, "--report", tmp_path / "report", "--fail-on", "never").code == 0
        target = tmp_path / "report"
    done = command("query", target, "configmaps,loafs", "-A")
    lines = done.stderr.splitlines()
    assert [line.startswith("500: corrupt object /registry/configmaps/north/torn-") for line in lines[:3]] == [True] * 3
    more, unlisted = lines[3:]
    assert more == "500: and 5 more corrupt objects; auditor kinds DUMP counts them, auditor audit DUMP names them"
    assert unlisted.startswith("a live server answers no LIST of configmaps, loafs.bakery.example.com that reads")
    assert done.code == 3
