"""Definitions from files, given with ``--crds``.

Input: files, folders, ``-``. Output: the CustomResourceDefinition documents in them, as JSON values with the numbers
that a server would decode. Other kinds in the files are ignored; unreadable documents are errors that name file and
line, because a missing definition would change every verdict.
"""

from __future__ import annotations

import codecs
import gc
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import DamagedDump, SourceError
from auditor.golang import jsontext
from auditor.sources.files.folders import not_a_file
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.json_stream import JsonSyntaxError, UnexpectedEnd, check_value, skip_space, value_end
from auditor.sources.manifests.manifest_files import manifest_files, read_packed
from auditor.sources.manifests.yaml_lists import absolute_lines
from auditor.sources.stores.locations import is_remote
from auditor.sources.stores.patterns import fetched
from auditor.sources.yaml import YamlError, yaml_chunks, yaml_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.base.records import JsonObject


GROUP: Final = "apiextensions.k8s.io"
KIND: Final = "CustomResourceDefinition"
MAX_NESTED_LISTS: Final = 8


def definitions_in(document: Any, _depth: int = 0) -> Iterator[JsonObject]:
    """Yield the definitions in a document: itself, or the items of a List; nothing for other documents.

    Items of a CustomResourceDefinitionList that leave out kind and apiVersion get those of the list.
    """
    if type(document) is list and not _depth:
        for item in document:
            yield from definitions_in(item, 1)
    if type(document) is not dict:
        return
    kind, api_version, items = document.get("kind"), document.get("apiVersion"), document.get("items")
    if type(kind) is not str:
        return
    if kind.endswith("List") and type(items) is list and _depth < MAX_NESTED_LISTS:
        inherited = {"apiVersion": api_version, "kind": KIND} if kind == KIND + "List" else {}
        for item in items:
            if type(item) is dict:
                # Empty texts count as missing.
                own = {key: value for key, value in item.items() if value or key not in inherited}
                yield from definitions_in({**inherited, **own}, _depth + 1)
    elif kind == KIND and type(api_version) is str and api_version.partition("/")[0] == GROUP:
        yield document


def may_define(data: bytes) -> bool:
    """Return False if no document of a JSON or YAML text can be a definition.

    The kind of one is in the text, except where letters are escaped, lines are joined, or base64 is tagged as binary,
    and except in UTF-16.
    """
    if KIND.encode() in data or b"\0" in data or _MAY_SPELL.search(data):
        return True
    return b"!" in data and (b"binary" in data or b"%" in data)


_MAY_SPELL: Final = re.compile(rb"\\[uxU\r\n]")


def _as_utf8(data: bytes) -> bytes:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.removeprefix(codecs.BOM_UTF8)


def _broken_json(name: str, data: bytes, at: int, text: str) -> DamagedDump:
    place = at
    try:
        check_value(data, at)
    except JsonSyntaxError as error:
        place = error.offset
    except UnexpectedEnd:
        place = len(data)
    line = data.count(b"\n", 0, place) + 1
    return DamagedDump(name, f"line {line}: {text}", "JSON or YAML")


def _yaml_documents(name: str, data: bytes, start: int = 0) -> Iterator[Any]:
    above = data.count(b"\n", 0, start)
    try:
        for chunk in yaml_chunks(data[start:]):
            line = chunk.line + above
            try:
                yield yaml_to_json(chunk.text)
            except YamlError as error:
                text = absolute_lines(error.found.removeprefix("error converting YAML to JSON: "), line)
                where = "" if "line " in text else f"document at line {line + 1}: "
                raise YamlError(where + text, name, "JSON or YAML") from None
    except YamlError as error:
        raise error if error.where else error.at(name) from None


def documents_of(name: str, data: bytes) -> Iterator[Any]:
    """Yield the documents of one file: JSON values one after another; YAML from the start, or after a separator."""
    data = _as_utf8(data)
    first = position = skip_space(data, 0)
    while position < len(data) and data[position] in b"{[":
        end = value_end(data, position)
        end = len(data) if end < 0 else end
        try:
            document = jsontext.decode(data[position:end])
        except jsontext.GoJsonError as error:
            wrong = _broken_json(name, data, position, str(error))
            if position > first:
                raise wrong from None
            try:
                yield from list(_yaml_documents(name, data))
            except YamlError:
                raise wrong from None
            return
        yield document
        position = skip_space(data, end)
    if position == first or data.startswith((b"---", b"#"), position):
        yield from _yaml_documents(name, data, position if position > first else 0)  # the first line may be indented
    elif position < len(data):
        raise _broken_json(name, data, position, "neither JSON nor a separator of YAML documents")


def _refuse(error: OSError) -> None:
    raise SourceError(str(error.filename), str(error.strerror)) from error


def _files(paths: Iterable[str]) -> Iterator[Path]:
    """Yield the files that are read."""
    for given in paths:
        path = Path(given)
        if path.is_dir():
            for file in manifest_files(path, _refuse)[0]:
                if odd := not_a_file(file):
                    raise SourceError(str(file), odd)
                yield file
        elif path.exists():
            yield path
        else:
            raise SourceError(given, "no such file or folder", "files of definitions")


@contextmanager
def no_collector() -> Iterator[None]:
    """Disable the garbage collector: documents have no cycles, and it would traverse them many times.

    If they still exist at the end of the block, it traverses them once then.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


@no_collector()
def read_crd_documents(paths: Iterable[str]) -> list[JsonObject]:
    """Return the definitions in files and folders, in the given order, folders sorted by name.

    Args:
        paths: Files of any name; folders, whose files named .json .yaml .yml .ndjson .jsonl (also with .gz,
            .zst, .xz or .bz2) count, at any depth; URLs of either and patterns of URLs; ``-`` for standard input.

    Raises:
        SourceError: A path does not exist or cannot be opened.
        DamagedDump: A file is neither JSON nor YAML; the text names the file and the line.
    """
    out: list[JsonObject] = []
    for given in paths:
        if given == "-":
            for document in documents_of("standard input", sys.stdin.buffer.read()):
                out.extend(definitions_in(document))
            continue
        if is_remote(given):
            out.extend(_behind(given))
            continue
        for path in _files([given]):
            for document in documents_of(str(path), read_packed(path)):
                out.extend(definitions_in(document))
    return out


def _behind(url: str) -> Iterator[JsonObject]:
    """Yield the definitions at a URL or a pattern of URLs; errors name the URL."""
    with temporary_folder("crds") as folder:
        for shown, local in fetched(url, folder):
            for path in _files([str(local)]):
                for document in documents_of(shown + str(path)[len(str(local)) :], read_packed(path)):
                    yield from definitions_in(document)
