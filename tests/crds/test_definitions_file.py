"""The file of definitions: a written document is read by its entry."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.crds.definitions_file import (
    FILE,
    DefinitionsFile,
    definition_entry,
    encode_definition,
    write_definitions,
)

if TYPE_CHECKING:
    from pathlib import Path


def document(plural: str, **more: Any) -> dict[str, Any]:
    """Return a small definition."""
    names = {"plural": plural, "kind": plural.title()}
    return {"metadata": {"name": f"{plural}.a.b"}, "spec": {"group": "a.b", "names": names, "note": "ä\n"}} | more


def test_each_document_is_found_by_its_entry(tmp_path: Path) -> None:
    documents = {plural: document(plural) for plural in ("ones", "twos", "threes")}
    given = [(definition_entry(name, one, False), encode_definition(one)) for name, one in documents.items()]
    entries, sha256 = write_definitions(tmp_path / FILE, given)
    for file in (DefinitionsFile(tmp_path), DefinitionsFile(str(tmp_path / FILE))):
        assert [file.document(entry) for entry in entries] == list(documents.values())
        assert [text for _, text in file.texts(reversed(entries))] == [text for _, text in reversed(given)]
        assert [json.loads(line) for line in file.lines()] == list(documents.values())
    assert hashlib.sha256((tmp_path / FILE).read_bytes()).hexdigest() == sha256
    assert (tmp_path / FILE).read_bytes() == b"".join(text + b"\n" for _, text in given)


def test_a_folder_without_one_has_none(tmp_path: Path) -> None:
    assert not DefinitionsFile(tmp_path).exists()
    assert not DefinitionsFile(tmp_path / "gone").exists()
    with pytest.raises(FileNotFoundError):
        list(DefinitionsFile(tmp_path).lines())


@pytest.mark.parametrize(
    ("made", "stored", "expected"),
    [
        (document("ones"), False, ("a.b", "ones", "Ones", True)),
        (
            document("ones", status={"acceptedNames": {"plural": "olds", "kind": "Old"}}),
            True,
            ("a.b", "olds", "Old", True),
        ),
        (document("ones", status={"acceptedNames": {"plural": "olds"}}), False, ("a.b", "ones", "Ones", True)),
        ({"spec": {"scope": "Cluster", "names": 3, "group": ["x"]}}, False, ("", "", "", False)),
    ],
)
def test_names_of_an_entry(made: dict[str, Any], stored: bool, expected: tuple[Any, ...]) -> None:
    entry = definition_entry("x", made, stored)
    assert (entry.group, entry.plural, entry.kind, entry.namespaced) == expected
