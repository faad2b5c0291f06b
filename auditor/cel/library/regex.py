"""Functions that return matches of regular expressions: ``s.find(re)``, ``s.findAll(re)``.

Source: k8s.io/apiserver pkg/cel/library/regex.go.
"""

from __future__ import annotations

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import INT, STRING, list_of
from auditor.cel.emit.functions import parts_extent, same_extent
from auditor.cel.function import Code, Function, Overload
from auditor.cel.library.prices import SEARCH_ALL
from auditor.golang.regex.compiled import GoRegexError, Pattern, compile_pattern


def _pattern(source: str) -> Pattern:
    try:
        return compile_pattern(source)
    except GoRegexError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    return _pattern(pattern).find(text) or ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return _pattern(pattern).find_all(text, limit)


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    texts, two = list_of(STRING), (STRING, STRING)
    find = (Overload("string_find_string", two, STRING, _find),)
    find_all = (
        Overload("string_find_all_string", two, texts, _find_all),
        Overload("string_find_all_string_int", (*two, INT), texts, _find_all),
    )
    return (
        Function("find", True, find, regex_argument=1, costs=SEARCH_ALL, code=Code(extent=same_extent)),
        Function("findAll", True, find_all, regex_argument=1, costs=SEARCH_ALL, code=Code(extent=parts_extent)),
    )
