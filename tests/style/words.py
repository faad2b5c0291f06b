"""The words of sources, tests and documents: they use the terms of Kubernetes, etcd, Arrow and Python."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from tests.style.files import FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.style.files import Project

__all__ = ["documents_use_plain_words", "names_use_plain_words", "texts_use_plain_words"]

FORBIDDEN: Final = {
    r"\btold\b": "reported, printed, detected",
    r"\b(stands?|stood)\b(?! (in )?for\b)": "is, is listed, is written",
    r"\b(comes?|came|coming) to\b": "results in",
    r"\bof (which|whom|whose)\b": "two sentences",
    r"\bmend(s|ed|ing)?\b": "repair",
    r"\bwho(m|se)?ever\b": "name the person or the process",
    r"\b(room|rooms|house|houses|hall|lane|lanes|keystone)\b": "space, or the name of the class",
    r"\bheard\b": "read, received",
    r"(^|[.:;!?]\s)Of\b": "begin the sentence with its subject",
    r"\b(nobody|somebody|anybody)\b": "name the client, user or process",
    r"\b(to|can|could|cannot) (not )?be had\b": "available",
    r"\A(Returns?|Yields?) [^.]*; None: ": "Return ..., or None if ...",
    r"\bblotted\b": "redacted",
    r"\bvouch(es|ed)?\b": "verify",
    r"\bmade of it\b": "say what the server answers",
    r"\bpassed over\b": "ignored",
    r"\bhand(s|ed|ing)? (over|out)\b": "pass, return, yield",
    r"\bof (its|their) own accord\b": "by itself",
    r"(?-i:\b(None|[Ee]mpty)): (it|there|the|no|nothing|none|all|any|every|they|not)\b": "None if ..., empty for ...",
    r"(?-i:\b(None|[Ee]mpty)) where\b": "None if ...",
    r"\b(goes|go|gone) round\b": "repeat",
    r"\blight on purpose\b": "say what it does not import, and why",
    r"\bsays? nothing\b": "does not show, proves nothing",
    r"\ball the same\b": "nevertheless, still, as well",
    r"\bwhat (becomes|became) of\b": "the result of, the changes of",
    r"\bbehind (it|them)\b": "after",
    r"\bmoods?\b": "mode",
    r"\bbut for\b": "except",
    r"\bdaily fare\b": "common",
}
"""Phrases that an engineer would have to translate, and what to write instead."""

EXCEPTIONS: Final = {
    ("auditor/upgrade/tally.py", "mended"): "a category in manifests; the summary prints repaired",
    ("auditor/causes/upgrade_causes.py", "mended"): "the same",
    ("auditor/shards/upgrade/sides.py", "mended"): "the same",
    ("sample-data/bakery.py", "Nobody"): "a customer in the sample",
    ("tests/upgrade/test_records.py", "mended"): "that category of manifests",
    ("tests/upgrade/test_releases.py", "mended"): "that category of manifests",
    ("tests/upgrade/test_scan.py", "mended"): "that category of manifests",
    (
        "tests/updates/create_cases.py",
        "nobody.example.com",
    ): "a group without definitions; kubectl's answer is recorded",
    ("tests/updates/record_real_examples.py", "nobody.example.com"): "the same",
    ("tests/upgrade/server/pairs.py", "nobody"): "a default, for which a server's answers are recorded",
}
"""Texts that may hold a phrase, as (path, part of the text), and why: messages of the API server, or names of columns."""


_THIS: Final = "tests/style/words.py"
_WITH_PHRASES: Final = (_THIS, "tests/style/test_style.py")
"""Modules that list the phrases, or hold them as examples."""
_PATTERNS: Final = [
    (re.compile(pattern, re.MULTILINE if pattern.startswith("(^") else re.IGNORECASE), instead)
    for pattern, instead in FORBIDDEN.items()
]


@cache
def _phrases(text: str) -> list[tuple[str, str, str]]:
    """Return (phrase, text around it, what to write instead) for each forbidden phrase of a text."""
    return [
        (match[0].strip(), text[max(0, match.start() - 40) : match.end() + 40], instead)
        for pattern, instead in _PATTERNS
        for match in pattern.finditer(text)
    ]


def texts_use_plain_words(project: Project) -> Iterator[str]:
    """No string, docstring or comment holds a forbidden phrase; each exception is still one."""
    needed = set()
    for module in project.modules:
        if module.name in _WITH_PHRASES:
            continue
        exceptions = [part for name, part in EXCEPTIONS if name == module.name]
        for line, text in (*module.strings(), *module.comments()):
            excepted = [part for part in exceptions if part in text]
            needed |= {(module.name, part) for part in excepted}
            flat = "\n".join(" ".join(one.split()) for one in text.split("\n\n"))
            if not excepted:
                for phrase, around, instead in _phrases(flat):
                    yield f"{module.name}:{line}: {phrase!r} in {around!r}: {instead}"
    for name, part in EXCEPTIONS.keys() - needed:
        yield f"{_THIS}:1: {part!r} is not in {name}: remove the exception"
    for folder in FOLDERS:
        if not project.below(folder):
            yield f"{_THIS}:1: {folder} has no module: name a folder that has"


def names_use_plain_words(project: Project) -> Iterator[str]:
    """No name of a function or class holds a forbidden phrase."""
    for module in project.modules:
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for phrase, _, instead in _phrases(node.name.strip("_").replace("_", " ")):
                    yield f"{module.name}:{node.lineno}: {phrase!r} in the name {node.name}: {instead}"


def documents_use_plain_words(project: Project) -> Iterator[str]:
    """No document holds a forbidden phrase outside its code."""
    for name, text in project.documents.items():
        prose = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
        prose = re.sub(r"`[^`]*`", lambda code: "`code`" + "\n" * code[0].count("\n"), prose)
        for pattern, instead in _PATTERNS:
            for match in pattern.finditer(prose):
                line = prose.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: {match[0].strip()!r}: {instead}"
