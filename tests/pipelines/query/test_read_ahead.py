"""`query --jobs`: workers give the rows, notes, counts and exit codes of one process."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import WorkerLost
from auditor.plan.options import AuditOptions
from auditor.server.object_reader import ReadMode
from pipelines import engines
from pipelines.run.fleet import run_anywhere
from pipelines.run.objects import read_ahead
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_dump
from tests.command import Ended, auditor
from tests.pipelines.nights.support import Store, definition, loaf
from tests.questions.shop import dump_of
from tests.questions.test_questions import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

ASKED = [question for question in QUESTIONS if question.command[0] == "query"]
FORMS = [
    ("-o", "wide"), ("-o", "json"), ("-o", "yaml"), ("-o", "ndjson"), ("-o", "name"), ("-o", "csv"), ("-o", "markdown"), ("--count",),
    ("-o", "jsonpath={.items[*].spec}"), ("-o", "custom-columns=N:.metadata.name,G:.spec.grams"), ("--count-by", ".spec"),
    ("--as", "stored", "-o", "json"), ("--where", "spec.grams > 100", "--explain", "-o", "name"), ("--where", "spec.grams / 0 > 1"),
    ("--where", "size(spec.flour) > 3", "--sort-by", ".spec.grams", "--limit", "3"), ("--limit", "3", "-o", "name"),
    ("-l", "app", "--explain"), ("--field-selector", "metadata.name!=old-wheat", "--explain", "-o", "name"), ("--as-server",),
    ("-n", "north", "-o", "ndjson"), ("--show-labels",),
]  # fmt: skip


class Workers:
    """Runs the work of workers in this process, and gives the answers in another order than the items."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.is_lossy = False

    def run(
        self, setup: Callable[[], Any], items: Iterable[Any], *, on_lost: Callable[[Any, WorkerLost], Any], **_: Any
    ) -> Iterator[Any]:
        work = pickle.loads(pickle.dumps(setup))()
        own = list(items)
        self.items += own
        for number, item in enumerate(reversed(own)):
            given = pickle.loads(pickle.dumps(item))
            lost = self.is_lossy and not number % 2
            yield on_lost(item, WorkerLost("", "it was killed")) if lost else work(given)


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Workers:
    made = Workers()
    monkeypatch.setattr(engines, "run_processes", made.run)
    monkeypatch.setattr(read_ahead, "CHUNK_ROWS", 2)
    return made


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("shop")
    dumps = {form: dump_of(form, folder) for form in ("snapshot.db", "objects.ndjson")}
    auditor("audit", dumps["snapshot.db"], "--report", folder / "report", "--fail-on", "never")
    return {**dumps, "report": folder / "report"}


def both(workers: Workers, *words: object) -> Ended:
    """Return how a query ended that ends alike in one process and with workers."""
    alone = auditor(*words, "--jobs", 1)
    assert not workers.items
    ended = auditor(*words, "--jobs", 2)
    assert (ended.code, ended.stdout, ended.stderr) == (alone.code, alone.stdout, alone.stderr)
    return ended


@pytest.mark.parametrize("form", ["snapshot.db", "objects.ndjson", "report"])
@pytest.mark.parametrize("question", ASKED, ids=lambda question: question.text)
def test_a_question_has_the_same_answer(
    shop: dict[str, Path], workers: Workers, question: Any, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_ahead, "CHUNK_ROWS", 1)
    both(workers, *(str(shop[form]) if word == "DUMP" else word for word in question.command))


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
def test_every_form_of_an_answer_is_the_same(sample: str, workers: Workers, form: tuple[str, ...]) -> None:
    both(workers, "query", sample, "loaves,ovens,orders", *form)
    is_alone = "--as-server" in form or ("--limit" in form and "--sort-by" not in form)
    assert bool(workers.items) is not is_alone


def test_parquet_is_the_same(sample: str, workers: Workers, tmp_path: Path) -> None:
    for jobs in (1, 2):
        auditor("query", sample, "loaves", "-o", f"parquet={tmp_path / str(jobs)}", "--jobs", jobs)
    assert workers.items
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
def test_an_index_gives_the_same(sample: str, workers: Workers, form: tuple[str, ...], tmp_path: Path) -> None:
    auditor("audit", sample, "--report", tmp_path / "report", "--fail-on", "never")
    both(workers, "query", tmp_path / "report", "loaves,ovens", *form)


def test_all_rows_of_lost_workers_are_read_again(sample: str, workers: Workers) -> None:
    workers.is_lossy = True
    assert both(workers, "query", sample, "*", "-o", "json").code == 3


def test_clusters_give_the_same(workers: Workers, tmp_path: Path) -> None:
    east = Store(definition(), *(loaf(f"l{number}") for number in range(7)))
    west = Store(definition(), *(loaf(f"l{number}", grams=number) for number in range(5)))
    west.put(b"{torn", "/registry/bakery.example.com/loafs/north/x")
    for name, store in (("east", east), ("west", west)):
        store.write(tmp_path / f"{name}.json", "etcdctl")
    report = str(tmp_path / "report")
    run_anywhere(AuditOptions(dumps=(f"{tmp_path}/*.json",), cluster="{1}", report=report, fail_on="never"))
    for form in ((), ("-o", "ndjson"), ("--where", "spec.grams > 2", "-o", "name"), ("--count",)):
        assert both(workers, "query", report, "loafs", *form).code == 3
        workers.items.clear()


def test_values_too_deep_for_a_worker_are_read_here(workers: Workers, tmp_path: Path) -> None:
    store = Store(definition(), *(loaf(f"l{number}") for number in range(4)))
    start = b'{"apiVersion":"bakery.example.com/v1","kind":"Loaf","metadata":{"name":"d","namespace":"north"},"x":'
    store.put(start + b'{"a":' * 3000 + b"1" + b"}" * 3001, "/registry/bakery.example.com/loafs/north/d")
    store.write(tmp_path / "dump.json", "etcdctl")
    ended = both(workers, "query", tmp_path / "dump.json", "loafs", "--as", "stored", "-o", "ndjson")
    assert ended.stdout.count('{"a":') == 3000
    assert workers.items


def test_processes_give_the_same(sample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "CHUNK_ROWS", 3)
    alone, ended = (auditor("query", sample, "loaves,ovens", "-o", "json", "--jobs", jobs) for jobs in (1, 2))
    assert ended == alone


def test_workers_are_started_for_many_rows(shop: dict[str, Path], workers: Workers, monkeypatch: Any) -> None:
    monkeypatch.setattr(read_ahead, "processors", lambda: 2)
    auditor("query", shop["snapshot.db"], "pods")
    assert not workers.items
    monkeypatch.setattr(read_ahead, "WORTH_WORKERS", 4)
    auditor("query", shop["snapshot.db"], "pods")
    assert len(workers.items) == 3


def test_few_chunks_wait(shop: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def run(setup: Callable[[], Any], items: Iterator[Any], **_: Any) -> Iterator[Any]:
        work = setup()
        for number, item in enumerate(items):
            made.append(number)
            yield work(item)

    monkeypatch.setattr(engines, "run_processes", run)
    monkeypatch.setattr(read_ahead, "CHUNK_ROWS", 1)
    with open_dump(QueryOptions(str(shop["snapshot.db"]), mode=ReadMode(watch_cache=False)), print) as store:
        read_ahead.read_ahead_by(2, store)
        objects = iter(store.list_objects(store.discovery.resolve("pods"), "", "", ""))
        next(objects)
        assert made == [0]
        next(objects)
        assert made == [0, 1]
