"""Texts that attack a terminal, a file system or a generated program, and what output must never hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

__all__ = ["ATTACK", "FORGED", "TEXTS", "drawn_text", "faults_of"]

FORGED = "FORGED: nothing to do."
ATTACK = f"x\x1b]0;owned\x07\x1b[8m\x9b2J\u202e\u2066\u061c\x7f\x85\r\t\n\x1b[2K{FORGED}\u2028{FORGED}\u2029\n{FORGED}"
TEXTS = (
    "", " ", ".", "..", "/", "../" * 12 + "tmp/x", "a/b", "a\0b", "\0", "\n", "\t", 'a"b', "a'b", "a\\b", "a`b", "a$b", "{a}",
    "{0}", "%s", "%", "a=b", "a b", "a\nb", "\ud800", "\ud83d\ude00", "\U0001f600", "\ufeff", "\u0130", "\u00df", "ǅ", "CON", "nul", "aux.txt", "-", "--help",
    "-rf", "~", "~root", "*", "?", "[a]", "a,b", "a:b", "@file", "=1+1", "+1", "None", "null", "true", "0", "-0", "1e999",
    "__class__", "__init__", "import os", "os.system('x')", '"""', "'''", "\\", "\\n", "\\u0000", "#", "# ", "a#b", "x" * 64, "x" * 256,
    "x" * 5000, "é" * 200, "\u202ea", "\x1b[2J", "\x9b2J", "\x7f", ATTACK, "a.b", ".a", "a.", "a..b", "a-b", "A", "a", "b", "spec",
    "metadata", "status", "kind", "apiVersion", "self", "oldSelf", "type", "object", "size", "v1", "storage", "stored", "read",
)  # fmt: skip
"""Names, paths and texts that a program may take for something else."""

_UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def drawn_text(draw: random.Random) -> str:
    """Return one of the texts, two of them joined, or characters of all of Unicode."""
    chance = draw.random()
    if chance < 0.7:
        return draw.choice(TEXTS)
    if chance < 0.85:
        return draw.choice(TEXTS) + draw.choice(TEXTS)
    return "".join(chr(draw.choice((draw.randrange(128), draw.randrange(0x3000), draw.randrange(0x110000)))) for _ in range(draw.randrange(1, 12)))  # fmt: skip


def faults_of(output: bytes, *, forged: str = FORGED) -> list[str]:
    """Return what output for a terminal has that content must not bring there."""
    try:
        text = output.replace(b"\r\n", b"\n").decode()
    except UnicodeDecodeError as error:
        return [f"output is no UTF-8: {error}"]
    faults = [f"{match[0]!r} in {_line_at(text, match.start())!r}" for match in _UNSAFE.finditer(text)][:5]
    faults += [f"a line begins with content: {line!r}" for line in text.split("\n") if line.startswith(forged)][:5]
    return faults


def _line_at(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0][:300]
