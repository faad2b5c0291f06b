"""From text to tree, or to the errors of a text that is no expression.

Source: cel-go parser/parser.go (Parse).
"""

from __future__ import annotations

import sys

from auditor.cel.cel_errors import Issue
from auditor.cel.syntax.ast import ParsedExpression
from auditor.cel.syntax.parser import MAX_DEPTH, Parser, Stop

_MAX_CODE_POINTS = 100_000
_FRAMES = 20_000  # Python's recursion limit, enough for MAX_DEPTH of every rule


def parse(text: str, *, pairs: bool = True) -> tuple[ParsedExpression | None, list[Issue]]:
    """Parse an expression.

    Args:
        text: The source.
        pairs: Whether there are macros with two variables.

    Returns:
        The tree (None if there is none), and the errors. If the text does not fit the grammar, there is one: the first;
        the server's parser goes on after it and may report more. Errors about names, literals and macros are all here.
    """
    if len(text) > _MAX_CODE_POINTS:
        complaint = f"expression code point size exceeds limit: size: {len(text)}, limit {_MAX_CODE_POINTS}"
        return None, [Issue(-1, 0, complaint)]
    if sys.getrecursionlimit() < _FRAMES:
        sys.setrecursionlimit(_FRAMES)
    parser = Parser(text, pairs=pairs)
    try:
        root = parser.start()
    except Stop as stop:
        return None, [_first([stop.issue, *parser.issues])]
    if parser.heights.get(root.id, 0) > MAX_DEPTH:
        return None, [Issue(-1, 0, "max recursion depth exceeded")]
    if parser.skipped:
        return None, [_first(parser.issues)]
    return ParsedExpression(text, root, parser.offsets), parser.issues


def _first(issues: list[Issue]) -> Issue:
    return min(issues, key=lambda issue: (issue.line, issue.column))
