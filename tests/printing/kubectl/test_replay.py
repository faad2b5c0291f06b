"""`auditor query` prints what kubectl printed, byte for byte."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from auditor.printing.get.command import get
from auditor.server.clock import newest_time
from auditor.server.dump import DumpStore
from pipelines.run import query
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from tests.printing.kubectl.replay import HERE, answers, ask, auditor, snapshot, without_left_out_formats

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = answers()
MORE_WORDS = {
    "widgets.v3.things.example.com -A": "did you mean widgets.things.example.com?\n",
}
"""Commands to whose error the auditor adds advice."""
HIDDEN = ("widgets -A --sort-by=.spec.nothing", "widgets -A --sort-by={.spec[0")
"""Commands for which kubectl prints that there are no objects, though only their order fails."""


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return snapshot(HERE, tmp_path_factory.mktemp("kubectl"))


def _name(recorded: Any) -> str:
    return " ".join([*([] if recorded["verb"] == "get" else [recorded["verb"]]), *recorded["args"]])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("recorded", ANSWERS, ids=_name)
def test_standard_output_is_that_of_kubectl(recorded: Any, dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if _name(recorded) in HIDDEN:
        monkeypatch.setattr(query, "get", lambda store, asked, *to: get(store, replace(asked, hints=False), *to))
    code, out, err = ask(dump, recorded)
    assert out == recorded["out"]
    assert (code == 0) is (recorded["code"] == 0)
    wanted = recorded["err"].replace("\t", "    ") + MORE_WORDS.get(_name(recorded), "")  # as messages have tabs
    err = re.sub(r"(?m)^(hint: |there is no field |note: .* has no Namespace ).*\n", "", err)
    wanted = wanted.replace("'kubectl get", "'auditor query DUMP")
    if "allowed formats are" in err:
        for name in ("csv,", "markdown,", "ndjson,parquet,"):  # formats that kubectl does not have
            err = err.replace(name, "", 1)
        wanted = without_left_out_formats(wanted)
    if "option can only be used" not in err:  # a usage error has the command's usage
        assert err == wanted


@pytest.mark.parametrize("words", HIDDEN)
def test_a_table_that_cannot_be_sorted_is_an_error_and_not_empty(words: str, dump: Path) -> None:
    code, out, err = auditor("query", str(dump), *words.split())
    assert (code, out) == (1, "")
    assert err == auditor("query", str(dump), *words.split(), "-o", "json")[2]
    assert err.startswith("error: ")


def test_the_commands_are_many() -> None:
    assert len(ANSWERS) > 200


def test_ages_are_those_at_the_newest_time_of_a_snapshot(dump: Path) -> None:
    with open_store(QueryOptions(str(dump)), lambda _: None) as store:
        assert isinstance(store, DumpStore)
        newest = newest_time(store)
    assert newest is not None
    last = max(one["now"] for one in ANSWERS)
    assert last - 15 < newest < last + 15  # a server renews its Lease every ten seconds
    _, out, _ = auditor("query", str(dump), "wd", "-A")
    _, same, _ = auditor("query", str(dump), "wd", "-A", "--now", str(newest))
    assert out == same
    _, out, _ = auditor("query", str(dump), "wd", "-A", "--now", "2036-11-25T02:14:09Z")
    assert "10y" in out


def test_options_that_ask_for_something_else_say_where_it_is(dump: Path) -> None:
    for option in ("--watch", "-w", "--watch-only"):
        code, out, err = auditor("query", str(dump), "pods", option)
        assert (code, out) == (2, "")
        assert "auditor history DUMP KIND" in err
    code, _, err = auditor("query", str(dump), "--raw", "/api/v1/pods")
    assert code == 2
    assert "auditor show" in err
