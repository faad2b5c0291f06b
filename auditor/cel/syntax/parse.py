"""From text to tree, or to the errors of a text that is no expression.

Source: cel-go parser/parser.go (Parse).
"""

from __future__ import annotations

import sys

from auditor.cel.errors import Issue
from auditor.cel.syntax.ast import ParsedExpression
from auditor.cel.syntax.parser import MAX_DEPTH, TOO_DEEP, Parser, Stop

__all__ = ["parse"]

_MAX_CODE_POINTS = 100_000
_FRAMES = 20_000  # Python's recursion limit, enough for MAX_DEPTH of every rule
_MOST_COMPLAINTS = 100


def parse(text: str, *, pairs: bool = True) -> tuple[ParsedExpression | None, list[Issue]]:
    """Parse an expression.

    Args:
        text: The source.
        pairs: Whether there are macros with two variables.

    Returns:
        The tree (None if there is none), and the errors.
    """
    if len(text) > _MAX_CODE_POINTS:
        complaint = f"expression code point size exceeds limit: size: {len(text)}, limit {_MAX_CODE_POINTS}"
        return None, [Issue(-1, 0, complaint)]
    if sys.getrecursionlimit() < _FRAMES:
        sys.setrecursionlimit(_FRAMES)
    parser = Parser(text, pairs=pairs)
    try:
        root = parser.start()
        if parser.heights.get(root.id, 0) > MAX_DEPTH or len(parser.skipped) > _MOST_COMPLAINTS:
            if not parser.issues:
                return None, [Issue(-1, 0, TOO_DEEP)]
            raise Stop  # noqa: TRY301 - what was found may not be all, or too much
    except Stop:
        from auditor.cel.syntax.fragments import Fragments  # noqa: PLC0415 - most expressions have no error

        return None, Fragments(text, pairs=pairs).complaints()
    return ParsedExpression(text, root, parser.offsets), parser.issues
