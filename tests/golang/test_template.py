"""Templates that Go's text/template was asked: drawn from a grammar, a quarter of them damaged; same text, same error.

`go_templates.json.gz` has the answers of a Go program with kubectl's two functions; `e` begins with P for an error of
the parser and X for one of the execution.
"""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from auditor.golang import jsontext
from auditor.golang.printf import sprintf, syntax
from auditor.golang.template import TemplateError, compile_go_template

RECORDED = Path(__file__).parent / "go_templates.json.gz"


@cache
def _recorded() -> Any:
    return json.loads(gzip.decompress(RECORDED.read_bytes()))


def _answer(template: str, data: Any, *, strict: bool) -> tuple[bytes, str]:
    try:
        text, error = compile_go_template(template).execute(data, allow_missing=not strict)
    except TemplateError as refused:
        return b"", f"P {refused}"
    return text.encode("utf-8", "surrogateescape"), "" if error is None else f"X {error}"


def test_every_recorded_template_gives_what_go_gave() -> None:
    data = jsontext.decode(json.dumps(_recorded()["data"]).encode())
    wrong, stages = [], dict.fromkeys(("", "P", "X"), 0)
    for case in _recorded()["cases"]:
        wanted = base64.b64decode(case["o"]), base64.b64decode(case["e"]).decode()
        stages[wanted[1][:1]] += 1
        if _answer(case["template"], data, strict=case["strict"]) != wanted:
            wrong.append((case["template"], wanted))
    assert not wrong, (len(wrong), wrong[:2])
    assert min(stages.values()) > 200


@pytest.mark.parametrize(
    ("text", "args", "wanted"),
    [
        ("%5.1f|%-6s|%+d", [3.14159, "ab", 7], "  3.1|ab    |+7"),
        ("%d %s", ["x"], "%!d(string=x) %!s(MISSING)"),
        ("%v", [{"b": [1, None], "a": True}], "map[a:true b:[1 <nil>]]"),
        ("%", [], "%!(NOVERB)"),
        ("a", [1], "a%!(EXTRA int64=1)"),
        ("%[2]v %[1]v", [1, 2], "2 1"),
        ("%x %q", ["hi", 'a"b'], '6869 "a\\"b"'),
    ],
)
def test_directives_are_those_of_fmt(text: str, args: list[Any], wanted: str) -> None:
    assert sprintf(text, args) == wanted


def test_syntax_names_the_types_that_hold_json() -> None:
    value = {"a": [1, None, "x"], "b": {}}
    assert syntax(value) == (
        'map[string]interface {}{"a":[]interface {}{1, interface {}(nil), "x"}, "b":map[string]interface {}{}}'
    )


def test_a_template_that_includes_itself_ends() -> None:
    text, error = compile_go_template('{{define "t"}}{{template "t" .}}{{end}}{{template "t" .}}').execute({})
    assert text == ""
    assert "exceeded maximum template depth" in str(error)
