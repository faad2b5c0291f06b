"""Example manifests of real projects, out of their Go modules, and our answers to them.

Nothing of these projects is kept here: real_examples.json has the modules with their hashes, and of each document a
hash and a digest of the answer, which `record_real_examples` found equal to that of a real server.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from auditor.base.statuses import Status
from auditor.sources.crd_files import definitions_in
from auditor.sources.manifests.placed import objects_in, placed_documents, repeated_keys
from auditor.sources.yaml import YamlError, yaml_chunks, yaml_to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.updates.create import CreateAnswer, CreateJudge

RECORDED = Path(__file__).with_name("real_examples.json")
ACCEPTED = {Status.VALID, Status.BUILTIN, Status.DEFINITION}
_NO_EXAMPLES = re.compile(r"(^|/)(vendor|node_modules|\.github)/")
_TESTS = re.compile(r"test|example|hack")
_LARGEST = 1_000_000


class Module(NamedTuple):
    """A module of the Go proxy."""

    path: str
    version: str
    sum: str


class Example(NamedTuple):
    """A document: hash of its text, and the text."""

    digest: str
    text: bytes
    suffix: str


def folder_of(module: Module, workdir: Path) -> Path:
    """Return the folder that holds the files of a module, from the module cache or the proxy.

    Raises:
        OSError: The module is not available, or its hash is another one.
    """
    (workdir / "go.mod").write_text("module examples\n")
    words = ["go", "mod", "download", "-json", f"{module.path}@{module.version}"]
    done = subprocess.run(words, cwd=workdir, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout or "{}")
    if found.get("Sum") != module.sum or "Dir" not in found:
        raise OSError(found.get("Error") or done.stderr or f"{module.path}: another hash: {found.get('Sum')}")
    return Path(found["Dir"])


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in (".yaml", ".yml", ".json") and not _NO_EXAMPLES.search(name) and path.is_file():
            data = path.read_bytes()
            if len(data) <= _LARGEST and b"kind" in data:
                yield name, data


def _pieces(name: str, data: bytes) -> list[bytes]:
    if name.endswith(".json"):
        return [data]
    try:
        return [chunk.text for chunk in yaml_chunks(data)]
    except YamlError:
        return [data]


def definitions(folders: list[Path]) -> list[dict[str, Any]]:
    """Return the definitions of modules: of several of one name that of the first module, and no test's if possible."""
    found: dict[str, tuple[tuple[bool, int], dict[str, Any]]] = {}
    for folder in folders:
        own: dict[str, tuple[tuple[bool, int], dict[str, Any]]] = {}
        for name, data in _files(folder):
            if b"openAPIV3Schema" not in data:
                continue
            for text in _pieces(name, data):
                try:
                    document = yaml_to_json(text)
                except YamlError:
                    continue
                for one in definitions_in(document):
                    rank = (not _TESTS.search(name), len(text))
                    key = str((one.get("metadata") or {}).get("name"))
                    is_served = one["apiVersion"].endswith("/v1") and "{{" not in json.dumps(one.get("metadata"))
                    if is_served and (key not in own or rank > own[key][0]):
                        own[key] = rank, one
        found = {**own, **found}
    return [document for _, document in found.values()]


def examples(folder: Path) -> Iterator[Example]:
    """Yield the documents of a module that are no definitions, each once."""
    seen = set()
    for name, data in _files(folder):
        for text in _pieces(name, data):
            digest = hashlib.sha256(text.strip()).hexdigest()[:20]
            is_object = b"apiVersion" in text and b"CustomResourceDefinition" not in text
            if is_object and digest not in seen:
                seen.add(digest)
                yield Example(digest, text, ".json" if name.endswith(".json") else ".yaml")


_OURS = re.compile(r"; [0-9]+ more lines? (?:was|were) not read$")
"""What we add to the words of a server: it stops there, too, and does not say so."""


def answers(judge: CreateJudge, text: bytes) -> list[CreateAnswer | str]:
    """Return what we say to a document: an answer for each object, or why it cannot be read."""
    out: list[CreateAnswer | str] = []
    for document in placed_documents(text):
        if document.error:
            out.append(_OURS.sub("", document.error))
            continue
        for places, value in objects_in(document.value):
            repeated = repeated_keys(document, places)
            out.append(judge.judge(value, repeated))
    return out


def is_accepted(found: list[CreateAnswer | str]) -> bool:
    """Whether all of a document is accepted."""
    return bool(found) and all(not isinstance(one, str) and one.status in ACCEPTED for one in found)


def causes(found: list[CreateAnswer | str]) -> list[str]:
    """Return the causes, without what a server does not say."""
    out = []
    for one in found:
        if isinstance(one, str):
            out.append(one)
        else:
            out += [*(finding.message for finding in one.findings), *([one.reason] if one.reason else [])]
    return [re.sub(r" \((?:served: |a template|not a mapping).*\)$", "", str(text)) for text in out]


def digest_of(found: list[CreateAnswer | str]) -> str:
    """Return what is recorded of an answer: ``ok``, or a hash of the causes."""
    if is_accepted(found):
        return "ok"
    return hashlib.sha256("\n".join(sorted(causes(found))).encode()).hexdigest()[:12]
