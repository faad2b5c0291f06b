"""Escapes field names into identifiers of an expression, for properties whose name is not an identifier.

Source: k8s.io/apiserver pkg/cel/escaping.go.
"""

from __future__ import annotations

import re
from functools import lru_cache

RESERVED = frozenset({
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
    "loop", "package", "namespace", "return", "var", "void", "while",
})  # fmt: skip
"""Reserved words; a name that equals one of them is escaped as a whole."""
_SIGNS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAMES = {sign.strip("_"): meaning for meaning, sign in _SIGNS.items()}
_ACCESSIBLE = re.compile(r"[A-Za-z0-9_./-]+")
_SIGN = re.compile(r"__|[./-]")
_ESCAPED = re.compile(r"__[^_]+__")


@lru_cache(maxsize=65_536)
def escape(name: str) -> str | None:
    """Return the identifier of a property, or None if it cannot be written in an expression."""
    if not name or "0" <= name[0] <= "9":
        return None
    if name in RESERVED:
        return f"__{name}__"
    if _ACCESSIBLE.fullmatch(name) is None:
        return None
    return _SIGN.sub(lambda found: _SIGNS[found[0]], name)


@lru_cache(maxsize=65_536)
def unescape(identifier: str) -> str | None:
    """Return the property of an identifier, or None if no property has it."""
    if "__" not in identifier:
        return identifier
    wrong = False

    def replace(found: re.Match[str]) -> str:
        nonlocal wrong
        inner = found[0][2:-2]
        if inner in RESERVED and found[0] == identifier:
            return inner
        if inner not in _NAMES:
            wrong = True
            return ""
        return _NAMES[inner]

    plain = _ESCAPED.sub(replace, identifier)
    return None if wrong else plain
