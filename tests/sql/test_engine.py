"""What a statement reads, in which thread, and how it ends."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from auditor.base.errors import SqlError
from auditor.sql import View, Views, run_statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("spec", pa.struct([("size", pa.int64()), ("tags", pa.list_(pa.string()))])),
        ("data", pa.map_(pa.string(), pa.string())),
    ]
)
ROWS = [
    {"key": f"k{number:03}", "spec": {"size": number, "tags": ["a"] * (number % 3)}, "data": [("x", str(number))]}
    for number in range(100)
]


class Recorded:
    """A view that notes what is read of it."""

    def __init__(self, fails_after: int = 100) -> None:
        self.columns: list[list[str]] = []
        self.threads: set[int] = set()
        self.batches = 0
        self.fails_after = fails_after
        self.views = Views(
            [
                View("widgets", "Widget", lambda: SCHEMA, self.read, ("widgets.example.com",)),
                View("others", "Other", lambda: SCHEMA, self.read),
            ],
            {"findings": "it is a table of a report"},
        )

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        self.columns.append(list(columns))
        for begin in range(0, 100, 10):
            self.threads.add(threading.get_ident())
            self.batches += 1
            if begin >= self.fails_after:
                raise KeyError("the reader failed")
            yield pa.RecordBatch.from_pylist(ROWS[begin : begin + 10], SCHEMA).select(list(columns))

    def rows(self, statement: str) -> list[dict[str, object]]:
        return run_statement(self.views, statement).table().to_pylist()


@pytest.mark.parametrize(
    ("statement", "rows", "columns"),
    [
        ("SELECT count(*) AS n FROM widgets", [{"n": 100}], [["key"]]),
        ("SELECT key FROM widgets WHERE spec.size = 7", [{"key": "k007"}], [["key", "spec"]]),
        ("SELECT spec.size FROM widgets WHERE key = 'k009'", [{"size": 9}], [["key", "spec"]]),
        ("SELECT max(data['x']::INT) AS n FROM widgets", [{"n": 99}], [["data"]]),
        ('SELECT count(*) AS n FROM "widgets.example.com" WHERE key IS NULL', [{"n": 0}], [["key"]]),
        ("SELECT count(*) AS n FROM WIDGETS WHERE len(spec.tags) = 2", [{"n": 33}], [["spec"]]),
        ("SELECT count(*) AS n FROM widgets a JOIN others b USING (key)", [{"n": 100}], [["key"], ["key"]]),
        ("SELECT 1 AS n", [{"n": 1}], []),
        ("SELECT count(*) AS n FROM widgets WHERE key IN ('k001', 'k002', 'k003')", [{"n": 3}], [["key"]]),
        ("SELECT count(*) AS n FROM widgets WHERE key LIKE 'k00%' OR spec.size > 98", [{"n": 11}], [["key", "spec"]]),
    ],
)
def test_only_the_views_and_columns_that_are_named_are_read(statement, rows, columns):
    recorded = Recorded()
    assert recorded.rows(statement) == rows
    assert recorded.columns == columns


def test_views_are_read_in_the_thread_of_the_caller():
    recorded = Recorded()
    recorded.rows("SELECT a.key FROM widgets a JOIN others b USING (key) ORDER BY ALL")
    assert recorded.threads == {threading.get_ident()}


def endless(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    batch = pa.RecordBatch.from_pylist(ROWS * 50, SCHEMA).select(list(columns))
    while True:
        yield batch


ENDLESS = Views([View("widgets", "Widget", lambda: SCHEMA, endless)])


def test_no_more_is_read_than_is_asked_for():
    assert run_statement(ENDLESS, "SELECT key FROM widgets LIMIT 3").table().num_rows == 3
    answer = run_statement(ENDLESS, "SELECT key FROM widgets")
    next(iter(answer))
    del answer
    assert not [thread for thread in threading.enumerate() if thread.name == "duckdb"]


def test_an_error_of_a_reader_is_raised_as_it_is():
    recorded = Recorded(fails_after=20)
    with pytest.raises(KeyError, match="the reader failed"):
        recorded.rows("SELECT * FROM widgets")
    assert recorded.rows("SELECT key FROM widgets LIMIT 1")  # the next statement is not concerned


def test_an_interrupt_ends_a_statement(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("auditor.sql.engine._Scan.next", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_statement(ENDLESS, "SELECT count(*) FROM widgets").table()
    assert not [thread for thread in threading.enumerate() if thread.name == "duckdb"]


def test_a_statement_that_needs_too_much_memory_is_an_error(monkeypatch):
    monkeypatch.setattr("auditor.sql.statements._MEMORY", 64 << 20)
    with pytest.raises(SqlError) as error:
        run_statement(ENDLESS, "SELECT key, data FROM widgets ORDER BY key").table()
    assert "Out of Memory Error" in str(error.value)
    assert "SET " not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT * FROM wigets", 'there is no kind or table "wigets"; did you mean widgets?'),
        ("SELECT * FROM nothing_like_it", r'there is no kind or table "nothing_like_it"; `\d` lists what there is'),
        ("SELECT * FROM findings", 'there is no table "findings" here: it is a table of a report'),
        ("SELECT colour FROM widgets", 'Referenced column "colour" not found'),
        ("SELEC 1", 'Parser Error: syntax error at or near "SELEC"\nLINE 1: SELEC 1\n        ^'),
        ("SELECT key::INT FROM widgets", "Conversion Error: Could not convert string 'k0"),
    ],
)
def test_errors_have_the_words_of_duckdb_or_name_what_there_is(statement, words):
    with pytest.raises(SqlError) as error:
        Recorded().rows(statement)
    assert words in str(error.value)
    assert "\n\n" not in str(error.value)


def test_columns_of_one_name_get_numbers():
    recorded = Recorded()
    answer = run_statement(recorded.views, "SELECT key, key, key AS key_2 FROM widgets LIMIT 1")
    assert answer.table().column_names == ["key", "key_2", "key_2_2"]


def test_show_tables_lists_what_can_be_named():
    assert Recorded().rows("show tables") == [
        {"name": "widgets", "about": "Widget"},
        {"name": "others", "about": "Other"},
    ]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads of the process are counted there")
def test_no_statement_leaves_threads_behind_even_if_its_error_is_kept():
    kept = []

    def threads():
        return len(list(Path("/proc/self/task").iterdir()))

    recorded = Recorded()
    recorded.rows("SELECT key FROM widgets")
    before = threads()
    for statement in (
        "SELECT count(*) FROM widgets",
        "SELECT nosuch FROM widgets",
        "SELEC",
        "SELECT key::INT FROM widgets",
    ):
        try:
            kept.append(recorded.rows(statement))
        except SqlError as error:
            kept.append(error)
    assert len(kept) == 4
    assert threads() <= before
