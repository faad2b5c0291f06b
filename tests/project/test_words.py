"""The words of sources, tests and documents: they use the terms of Kubernetes, etcd, Arrow and Python."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

FORBIDDEN: Final = {
    r"\btold\b": "reported, printed, detected",
    r"\b(stands?|stood)\b(?! (in )?for\b)": "is, is listed, is written",
    r"\b(rows|keys|results) (that )?((is|are|were) )?kept\b": "reused",
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

FOLDERS: Final = ("auditor", "pipelines", "tests", "deploy", "sample-data")
"""Folders whose modules hold none of them."""

EXCEPTIONS: Final = {
    ("auditor/upgrade/tally.py", "mended"): "a category in manifests; the summary prints repaired",
    ("auditor/report/upgrade_terminal.py", "mended"): "the same",
    ("auditor/shards/upgrade/sides.py", "mended"): "the same",
    ("sample-data/make.py", "Nobody"): "a customer in the sample",
    ("auditor/report/releases/records.py", "mended"): "the same",
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


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string constant, docstring and comment."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")


def found_in(source: str) -> list[tuple[int, str, str]]:
    """Return (line, phrase, text around it) for each forbidden phrase of a module."""
    found = []
    for line, text in texts_of(source):
        flat = "\n".join(" ".join(one.split()) for one in text.split("\n\n"))
        for pattern in FORBIDDEN:
            flags = re.MULTILINE if pattern.startswith("(^") else re.IGNORECASE
            found += [
                (line, one[0].strip(), flat[max(0, one.start() - 40) : one.end() + 40])
                for one in re.finditer(pattern, flat, flags)
            ]
    return found


def phrases(text: str) -> list[str]:
    """Return the forbidden phrases of a text."""
    flags = {pattern: re.MULTILINE if pattern.startswith("(^") else re.IGNORECASE for pattern in FORBIDDEN}
    return [one[0].strip() for pattern in FORBIDDEN for one in re.finditer(pattern, text, flags[pattern])]


def names_in(source: str) -> list[str]:
    """Return the names of functions and classes of a module that hold a phrase."""
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and phrases(node.name.strip("_").replace("_", " "))
    ]


def prose(text: str) -> str:
    """Return a Markdown document without its code."""
    return re.sub(r"`[^`]*`", "`code`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


MODULES: Final = sorted(one for folder in FOLDERS for one in (ROOT / folder).rglob("*.py"))
DOCUMENTS: Final = sorted(
    path
    for folder, pattern in (
        (ROOT, "*.md"),
        (ROOT / "docs", "**/*.md"),
        (ROOT / "deploy", "**/*.md"),
        (ROOT / "tests", "**/*.md"),
    )
    for path in folder.glob(pattern)
)


def test_names_of_functions_and_classes_use_plain_words() -> None:
    found = {path.relative_to(ROOT).as_posix(): names_in(path.read_text()) for path in MODULES}
    assert {name: names for name, names in found.items() if names} == {}


def test_documents_use_plain_words() -> None:
    found = {path.relative_to(ROOT).as_posix(): phrases(prose(path.read_text())) for path in DOCUMENTS}
    assert {name: words for name, words in found.items() if words} == {}
    assert len(found) > 20


def test_phrases_of_names_and_documents_are_found() -> None:
    assert names_in("def test_an_error_is_told():\n    pass\n") == ["test_an_error_is_told"]
    assert names_in("def test_an_error_is_reported():\n    pass\n") == []
    assert phrases(prose("Nobody `nobody`\n\n```\nnobody\n```\n")) == ["Nobody"]


@pytest.mark.parametrize(
    "path",
    [one for one in MODULES if one != Path(__file__)],  # this one lists the phrases
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_texts_of_modules_use_plain_words(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    found = [
        f"{name}:{line}: {phrase!r} in {text!r}"
        for line, phrase, text in found_in(path.read_text())
        if not any(name == file and part in text for file, part in EXCEPTIONS)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "planted",
    [
        '"""Return what the reader is told."""\n',
        'MESSAGE = "5 keys kept, 2 checked"\n',
        "x = 1  # nobody reads it\n",
        'HELP = "Of a damaged database, also take its pages."\n',
        '"""Returns a number. Of several the first."""\n',
        'def f():\n    """Return a number; None: there is none."""\n',
        'f"{1} objects, of which {2} are valid"\n',
        '"""The field stands in the manifest."""\n',
    ],
)
def test_a_planted_phrase_is_found(planted: str) -> None:
    assert found_in(planted)


@pytest.mark.parametrize("plain", ['"""A placeholder stands for a name."""\n', '"""The class of the object."""\n'])
def test_plain_words_are_not_reported(plain: str) -> None:
    assert not found_in(plain)


def test_every_folder_and_exception_exists() -> None:
    assert not [name for name in FOLDERS if not (ROOT / name).exists()]
    assert not [
        (name, part) for name, part in EXCEPTIONS if not any(part in t for _, t in texts_of((ROOT / name).read_text()))
    ]
