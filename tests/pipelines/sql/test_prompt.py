"""The prompt of `auditor sql`: statements over several lines, commands, errors and interrupts."""

from __future__ import annotations

import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.sql.answer import answer_to
from pipelines.run.sql.asked import open_views
from pipelines.run.sql.prompt import ask_for_statements
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.run.sql.asked import Asked

SAMPLE = str(ROOT / "sample-data" / "cluster.db.gz")


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    with open_views(QueryOptions(SAMPLE), [SAMPLE], print) as opened:
        yield opened


def typed(asked: Asked, *lines: str | type[BaseException]) -> list[str]:
    """Ask what is typed, and return the prompts that were shown."""
    prompts, todo = [], iter(lines)

    def read(prompt: str) -> str:
        prompts.append(prompt)
        line = next(todo, EOFError)
        if isinstance(line, str):
            return line
        raise line

    ask_for_statements(asked, partial(answer_to, asked, output="csv"), read)
    return prompts


def test_a_statement_goes_on_until_a_semicolon(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = typed(asked, "SELECT count(*) AS n", "", "FROM loaves;", "\\q")
    shown = capsys.readouterr()
    assert prompts == ["sql> ", "...> ", "...> ", "sql> "]
    assert shown.out == "n\n32\n"
    assert shown.err == "A statement ends with ; - \\d lists tables, \\d NAME columns, \\q ends.\n"


def test_an_error_does_not_end_it(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    typed(asked, "SELEC;", "SELECT * FROM loafs;", "\\d nosuch", "\\x", "SELECT 1 AS a;")
    shown = capsys.readouterr()
    assert shown.out == "a\n1\n\n"  # the end of input ends the line of the prompt
    errors = [line for line in shown.err.splitlines() if line.startswith("error: ")]
    assert [line.partition(";")[0] for line in errors] == [
        'error: Parser Error: syntax error at or near "SELEC"',
        'error: there is no kind or table "loafs"',
        'error: there is no kind or table "nosuch"',
        "error: there is no command \\x",
    ]


def test_an_interrupt_drops_what_was_typed(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    prompts = typed(asked, "SELECT nonsense", KeyboardInterrupt, "", "SELECT 2 AS b;", "\\q;")
    assert prompts == ["sql> ", "...> ", "sql> ", "sql> ", "sql> "]
    assert capsys.readouterr().out == "\nb\n2\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_commands_describe_tables(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    typed(asked, "\\d loaves.spec", "\\q")
    assert capsys.readouterr().out.splitlines()[:2] == ["column,type", "flour,VARCHAR"]


def test_a_note_is_printed_once(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    typed(asked, *["SELECT count(*) FROM orders;"] * 2)
    assert capsys.readouterr().err.count("1 object of orders.bakery.example.com is not readable") == 1
    assert asked.is_incomplete()
