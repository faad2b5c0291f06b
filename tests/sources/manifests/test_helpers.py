"""A folder of many files that other processes read in part: the same plan as of one that this process read alone."""

from __future__ import annotations

import json
import pickle
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from auditor.sources.files.helpers import Helpers
from auditor.sources.manifests import export_table, manifest_table
from auditor.sources.manifests.manifest_table import open_directory
from auditor.sources.source_plan import DamageLog
from pipelines.engines import helping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.sources import SourcePlan


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with objects of several kinds, files that are damaged in part, and ones without objects."""
    made = tmp_path / "folder"
    (made / "below").mkdir(parents=True)
    for number in range(40):
        name = f"n{number * 7 % 40}"
        value = {
            "apiVersion": f"g{number % 3}.example.com/v1",
            "kind": f"Kind{number % 5}",
            "metadata": {"name": name, "namespace": f"ns{number % 4}"},
        }
        text = json.dumps(value)
        if number % 6 == 1:
            text = f"kind: Kind{number % 5}\napiVersion: a.example.com/v1\nmetadata:\n  name: {name}\n---\nb: [\n"
        elif number % 6 == 2:
            text = f'{{"kind": "List", "apiVersion": "v1", "items": [{text}, {text}, 5]}}'
        elif number % 6 == 3:
            text = f'{{"kind": "Secret", "apiVersion": "v1", "metadata": {{"name": "{name}"}}, "data": {{"a": "(redacted)"}}}}'
        (made / ("below" if number % 2 else "") / f"{number:02}.{'yaml' if number % 6 == 1 else 'json'}").write_text(
            text
        )
    (made / "empty.yaml").write_text("")
    (made / "end.json").write_text('{"kind": ')
    (made / "others.txt").write_text("")
    return made


def opened(folder: Path, work: Path, helpers: Helpers | None = None) -> tuple[SourcePlan, list[Any], list[bytes]]:
    """Return the plan without its paths, the rows of its live table, and its values."""
    work.mkdir()
    plan = open_directory(folder, number=2, workdir=work, **({} if helpers is None else {"helpers": helpers}))
    with pa.memory_map(plan.live) as stream:
        rows = pa.ipc.open_file(stream).read_all().to_pylist()
    data = Path(plan.mapped).read_bytes()
    values = [data[row["offset"] : row["offset"] + row["length"]] for row in rows]
    assert sorted(path.name for path in work.iterdir()) == ["live-2.arrow", "objects-2.ndjson"]
    return replace(plan, mapped="", live=""), rows, values


def elsewhere(number: int) -> Helpers:
    """Return helpers whose calls and results pass through pickles."""

    @contextmanager
    def start(work: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
        result = pickle.dumps(pickle.loads(pickle.dumps(work))())
        yield lambda: pickle.loads(result)

    return Helpers(number, start)


@pytest.mark.parametrize("few", [export_table.FEW, 5], ids=["few", "many"])
@pytest.mark.parametrize("helpers", [1, 2, 7, 60])
def test_what_helpers_read_is_in_the_plan_as_if_it_was_read_here(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, helpers: int, few: int
) -> None:
    monkeypatch.setattr(manifest_table, "_WORTH_HELPERS", 1)
    monkeypatch.setattr(export_table, "FEW", few)
    monkeypatch.setattr(export_table, "NAMES", few + 2)
    assert opened(folder, tmp_path / "apart", elsewhere(helpers)) == opened(folder, tmp_path / "alone")


def test_few_files_are_read_here(tmp_path: Path, folder: Path) -> None:
    asked: list[object] = []

    @contextmanager
    def start(work: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
        asked.append(work)
        yield work

    opened(folder, tmp_path / "work", Helpers(3, start))
    assert asked == []


def test_helpers_are_processes(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_table, "_WORTH_HELPERS", 1)
    assert opened(folder, tmp_path / "apart", helping(2)) == opened(folder, tmp_path / "alone")


def test_damage_that_is_only_counted_stays_counted() -> None:
    whole, first, second = DamageLog(), DamageLog(), DamageLog()
    for number in range(3 * DamageLog.LIMIT):
        (first if number < DamageLog.LIMIT // 2 else second).add(str(number), "x")
        whole.add(str(number), "x")
    first.extend(second)
    assert first.records() == whole.records()
