"""The files of past months become one: no run is lost or counted twice, whichever process ends in between."""

from __future__ import annotations

import datetime
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import DamagedDump
from auditor.history.files import MONTH_FILE, RUN_FILE, read_runs, run_file_name, write_month, write_run
from auditor.history.months import Merge, by_month, merges, runs_in
from auditor.history.runs import History, read_history
from auditor.output.views.trend import trend_rows
from auditor.sources.stores import store_folder
from pipelines.run.report.history import folder_of, history_at, tidy_history
from tests.history.test_trend import START, cause

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAY = datetime.timedelta(days=1)


def add_run(folder: Path, night: int, rows: list[dict[str, Any]], which: str = "") -> str:
    """Write the file of a run, and return its name."""
    started = START + night * DAY
    name = run_file_name({"inputs": [{"name": "a.db", "sha256": f"{night}{which}"}]}, started)
    write_run(rows, started, folder / name)
    return name


def drawn_rows(rng: random.Random) -> list[dict[str, Any]]:
    numbers = rng.sample(range(6), rng.randint(0, 4))
    more = {"severity": rng.choice(["low", "high"]), "cluster": rng.choice([None, "east"])}
    return [cause(number, rng.randint(1, 9), **more, accepted_objects=rng.randint(0, 1)) for number in numbers]


def drawn(folder: Path, nights: int, seed: int = 1) -> Path:
    folder.mkdir(exist_ok=True)
    rng = random.Random(seed)
    for night in range(nights):
        add_run(folder, night, drawn_rows(rng))
        if rng.random() < 0.1:
            add_run(folder, night, drawn_rows(rng), "other")  # two runs that begin in the same second
    return folder


def content(history: History) -> Any:
    return (
        history.times,
        {place: {name: row[name] for name in sorted(row)} for place, row in history.causes.items()},
        {place: counts.tolist() for place, counts in history.objects.items()},
    )


def tidy(folder: Path, night: int, keep: int, work: Path) -> None:
    work.mkdir(exist_ok=True)
    tidy_history(folder_of(str(folder)), work, START + night * DAY, keep)


def names_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(5))
def test_a_merged_history_says_the_same(seed: int, tmp_path: Path) -> None:
    folder = drawn(tmp_path / "history", 100, seed)
    (folder / "notes.txt").write_text("mine")
    before = content(read_history(folder))
    runs = runs_in(names_of(folder))
    tidy(folder, 99, 1000, tmp_path / "work")
    names = names_of(folder)
    assert content(read_history(folder)) == before
    assert runs_in(names) == runs == len(before[0])
    assert "notes.txt" in names
    assert sum(MONTH_FILE.fullmatch(name) is not None for name in names) == 3  # January to March
    assert sum(RUN_FILE.fullmatch(name) is not None for name in names) < 15
    tidy(folder, 99, 1000, tmp_path / "work")
    assert names_of(folder) == names


@pytest.mark.sampled(2)
@pytest.mark.parametrize("keep", [1, 2, 20, 45])
def test_the_newest_runs_are_kept_night_after_night(keep: int, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    for night in range(50):
        add_run(folder, night, [cause(1, night + 1)])
        if night % 7 != 3:  # a night whose process ended before it tidied
            tidy(folder, night, keep, tmp_path / "work")
        history = read_history(folder)
        if night % 7 != 3:
            newest = [START + day * DAY for day in range(max(0, night + 1 - keep), night + 1)]
            assert history.times == newest
            (counts,) = history.objects.values()
            assert counts.tolist() == [(when - START).days + 1 for when in newest]
    assert (folder / "notes.txt").exists()


@pytest.fixture(scope="module")
def seventy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Return a history of seventy nights, to be copied, and its content."""
    folder = drawn(tmp_path_factory.mktemp("seventy") / "history", 70)
    return folder, content(read_history(folder))


class Ends(Exception):
    """The process ends here."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("calls", range(8))
def test_a_process_that_ends_in_between_loses_nothing(calls: int, seventy: tuple[Path, Any], tmp_path: Path) -> None:
    """It ends before the n-th file that it adds or removes."""
    drawn_once, before = seventy
    folder = shutil.copytree(drawn_once, tmp_path / "history")
    left = calls

    class Ending:
        def __init__(self) -> None:
            self._folder = folder_of(str(folder))

        def __getattr__(self, name: str) -> Any:
            return getattr(self._folder, name)

        def step(self) -> None:
            nonlocal left
            if not left:
                raise Ends
            left -= 1

        def add(self, path: Path) -> None:
            self.step()
            self._folder.add(path)

        def remove(self, names: Any) -> None:
            for name in names:
                self.step()
                self._folder.remove([name])

    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(Ends):
        tidy_history(Ending(), work, START + 69 * DAY, 1000)
    assert content(read_history(folder)) == before
    tidy(folder, 69, 1000, work)
    assert content(read_history(folder)) == before
    assert runs_in(names_of(folder)) == len(before[0])


def test_names_say_what_is_merged() -> None:
    def run(day: str, digest: str = "0" * 8) -> str:
        return f"run-{day}T020000Z-{digest}.parquet"

    now = datetime.datetime(2026, 3, 20, 2, tzinfo=datetime.UTC)
    march = [run(f"202603{day:02}") for day in range(1, 21)]
    assert merges(march[:14] + march[19:], now) == []
    assert merges(march[:15] + march[19:], now) == [Merge("202603", tuple(march[:15]))]
    february = ["month-202602-0027-00000000.parquet", run("20260228")]
    assert merges([*february, "notes.txt"], now) == [Merge("202602", tuple(february))]
    assert merges(february[:1], now) == merges(february[1:], now) == []
    assert runs_in([*february, *march, "notes.txt", "month-x.parquet"]) == 48
    assert list(by_month([*march, *february])) == ["202602", "202603"]


def test_the_file_of_a_month_that_names_no_run_is_damaged(tmp_path: Path) -> None:
    name = add_run(tmp_path, 0, [cause(1, 5)])
    runs = read_runs([tmp_path / name])
    forged = type(runs)(["other.parquet"], runs.rows, runs.run)
    path = write_month(forged, "202601", tmp_path)
    with pytest.raises(DamagedDump):
        read_runs([path])


# ---- an object store, each request to which takes a while


class CountedStore:
    """A folder behind slow:// URLs that counts requests."""

    def __init__(self, folder: Path) -> None:
        import pyarrow.fs

        self._files = pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem())
        self.requests = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._files, name)
        if not callable(found):
            return found

        def ask(*words: Any, **named: Any) -> Any:
            self.requests += 1
            return found(*words, **named)

        return ask


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CountedStore]:
    (tmp_path / "store" / "history").mkdir(parents=True)
    store = CountedStore(tmp_path / "store")
    monkeypatch.setattr(store_folder, "store_of", lambda url: (store, url.partition("://")[2]))
    return store


def test_a_year_is_read_from_a_store_with_few_requests(slow: CountedStore, tmp_path: Path) -> None:
    folder = tmp_path / "store" / "history"
    for night in range(365):
        add_run(folder, night, [cause(number, 5 + night % 2) for number in range(20)])
    before = content(read_history(folder))
    tidy(folder, 364, 365, tmp_path / "work")
    slow.requests = 0
    history = history_at("slow://history")
    data = trend_rows(history)
    assert slow.requests <= 45
    assert (len(data["runs"]), len(data["causes"])) == (365, 20)
    assert content(history) == before


def test_a_history_in_a_store_is_merged_and_bounded_there(slow: CountedStore, tmp_path: Path) -> None:
    folder = drawn(tmp_path / "store" / "history", 70)
    before = content(read_history(folder))
    work = tmp_path / "work"
    work.mkdir()
    tidy_history(folder_of("slow://history"), work, START + 69 * DAY, 1000)
    assert content(history_at("slow://history")) == before
    assert len(names_of(folder)) < 20
    tidy_history(folder_of("slow://history"), work, START + 69 * DAY, 40)
    assert history_at("slow://history").times == before[0][-40:]
    shutil.rmtree(folder)
