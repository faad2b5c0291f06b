"""A cached definition of an earlier run equals the one parsed now, node by node."""

from dataclasses import fields, is_dataclass
from enum import Enum

import pytest

from auditor.base.disk_cache import active_cache, using_cache
from auditor.base.errors import SchemaError
from auditor.crds import kept
from auditor.crds.definition import parse_definition
from auditor.crds.definitions_file import encode_definition
from auditor.crds.kept import parse_text
from auditor.golang import jsontext
from auditor.releases import running_as
from auditor.sources.crd_files import read_crd_documents
from tests.shared import ROOT, beside

CORPUS = beside("corpus/crds")
GIVEN = [ROOT / "sample-data" / "next-crds.yaml", *(sorted(CORPUS.rglob("*.yaml")) if CORPUS else ())]


def form(value, seen):
    """Return what a parsed definition says, and which of its nodes are the same."""
    if isinstance(value, Enum) or not is_dataclass(value):
        if isinstance(value, dict):
            return [(key, form(one, seen)) for key, one in value.items()]
        if isinstance(value, (tuple, list)):
            return [type(value).__name__, *(form(one, seen) for one in value)]
        return type(value).__name__, repr(value)
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    said = [one.name for one in fields(value) if one.name != "digest"]  # tests/validation/rules/test_kept.py
    return [type(value).__name__, *((name, form(getattr(value, name), seen)) for name in said)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", GIVEN, ids=lambda path: path.name)
def test_kept_definitions_are_those_that_are_parsed(path, tmp_path):
    for text in map(encode_definition, read_crd_documents([str(path)])):
        document = jsontext.decode(text)
        for stored in (False, True):
            plain = form(parse_definition(document, stored=stored), {})
            with using_cache(str(tmp_path / "cache")):
                assert form(parse_text(text, stored=stored), {}) == plain
                assert form(parse_text(text, stored=stored), {}) == plain


def first():
    return read_crd_documents([str(GIVEN[0])])[0]


def parses(monkeypatch):
    """Return the names of the definitions that are parsed from now on."""
    seen = []

    def noted(document, *, stored):
        seen.append(document["metadata"]["name"])
        return parse_definition(document, stored=stored)

    monkeypatch.setattr(kept, "parse_definition", noted)
    return seen


def test_a_definition_is_parsed_once_for_all_runs(tmp_path, monkeypatch):
    document = first()
    seen = parses(monkeypatch)
    with using_cache(str(tmp_path / "cache")):
        for _ in range(2):
            parse_text(encode_definition(document), stored=False)
        assert len(seen) == 1
        parse_text(encode_definition(document), stored=True)  # by its status
        parse_text(encode_definition(document) + b" ", stored=False)
        with running_as("1.38"):
            parse_text(encode_definition(document), stored=False)
        assert len(seen) == 4


def test_a_damaged_file_is_parsed_anew(tmp_path, monkeypatch):
    text = encode_definition(first())
    with using_cache(str(tmp_path / "cache")):
        parse_text(text, stored=False)
        [file] = active_cache().folder.iterdir()
        file.write_bytes(file.read_bytes()[:-3])
        seen = parses(monkeypatch)
        assert parse_text(text, stored=False).name
        assert len(seen) == 1


def test_what_no_server_decodes_is_not_kept(tmp_path):
    text = encode_definition({**first(), "spec": {"versions": 3}})
    with using_cache(str(tmp_path / "cache")):
        for _ in range(2):
            with pytest.raises(SchemaError):
                parse_text(text, stored=False)
        assert list(active_cache().folder.iterdir()) == []


def test_what_is_nested_deeply_is_read_and_not_kept(tmp_path, monkeypatch):
    def refuse(*_):
        raise RecursionError

    monkeypatch.setattr(kept.pickle, "dumps", refuse)
    text = encode_definition(first())
    with using_cache(str(tmp_path / "cache")):
        assert parse_text(text, stored=False).name
        assert list(active_cache().folder.iterdir()) == []
