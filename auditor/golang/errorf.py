"""What fmt makes of a text that is taken for a format although it has no operands.

Source: Go fmt/print.go (doPrintf).
"""

from __future__ import annotations

import re

__all__ = ["as_format"]

_VERB = re.compile(r"%[#0+\- ]*(?P<width>\*|[0-9]*)(?:\.(?P<precision>\*|[0-9]*))?(?P<verb>.?)", re.DOTALL)


def as_format(text: str) -> str:
    """Return the text that `fmt.Errorf(text)` makes: each verb is one whose operand is missing."""
    return _VERB.sub(_missing, text)


def _missing(found: re.Match[str]) -> str:
    verb = found["verb"]
    stars = ("%!(BADWIDTH)" if found["width"] == "*" else "") + ("%!(BADPREC)" if found["precision"] == "*" else "")
    if not verb:
        return f"{stars}%!(NOVERB)"
    return f"{stars}%" if verb == "%" else f"{stars}%!{verb}(MISSING)"
