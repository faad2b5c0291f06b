from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import sys
from types import SimpleNamespace

import pytest
import yaml

from auditor.base.errors import AuditorError, DamagedDump, SourceError
from auditor.sources.crd_files import definitions_in, read_crd_documents
from tests.corpus import real_definitions


def definition(name: str, **more):
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        **more,
    }


def names(documents):
    return [document["metadata"]["name"] for document in documents]


def test_a_definition_is_one():
    assert names(definitions_in(definition("a"))) == ["a"]
    assert names(definitions_in({**definition("a"), "apiVersion": "apiextensions.k8s.io/v1beta1"})) == ["a"]


@pytest.mark.parametrize(
    "document",
    [None, 1, "x", {}, {"kind": "CustomResourceDefinition"}, {**definition("a"), "apiVersion": "example.com/v1"},
     {**definition("a"), "kind": "Widget"}, {"kind": 3}, {"kind": "List"}, {"kind": "List", "items": [1, None]}],
)  # fmt: skip
def test_anything_else_is_ignored(document):
    assert list(definitions_in(document)) == []


def test_lists_are_opened_and_typed_items_inherit():
    bare = {"metadata": {"name": "b"}}
    typed = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinitionList",
        "items": [bare, definition("c")],
    }
    document = {"apiVersion": "v1", "kind": "List", "items": [definition("a"), typed, {"kind": "Widget"}]}
    assert list(definitions_in(document)) == [definition("a"), definition("b"), definition("c")]


def test_files_and_folders_are_read_in_order(tmp_path):
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "b.yaml").write_text(
        f"---\n{json.dumps(definition('b1'))}\n---\nkind: Widget\n---\n{json.dumps(definition('b2'))}\n"
    )
    (tmp_path / "z" / "a.json").write_text(json.dumps(definition("a1")) + json.dumps(definition("a2")))
    (tmp_path / "z" / "c.yml.gz").write_bytes(gzip.compress(json.dumps(definition("c")).encode()))
    (tmp_path / "z" / "c.yml.xz").write_bytes(lzma.compress(json.dumps(definition("x")).encode()))
    (tmp_path / "z" / "d.txt").write_text("apiVersion: [")
    (tmp_path / "odd-name").write_text(
        "\ufeff" + json.dumps({"apiVersion": "v1", "kind": "List", "items": [definition("o")]})
    )
    found = read_crd_documents([str(tmp_path / "odd-name"), str(tmp_path / "z")])
    assert names(found) == ["o", "a1", "a2", "b1", "b2", "c", "x"]


def test_a_torn_file_of_definitions_is_refused(tmp_path):
    path = tmp_path / "c.json.gz"
    path.write_bytes(gzip.compress(json.dumps(definition("c")).encode())[:-8])
    with pytest.raises(DamagedDump, match=r"c\.json\.gz: gzip stream ends early"):
        read_crd_documents([str(path)])


def test_standard_input_is_a_dash(monkeypatch):
    data = json.dumps(definition("a")).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert names(read_crd_documents(["-"])) == ["a"]


def test_numbers_and_words_follow_go(tmp_path):
    (tmp_path / "a.yaml").write_text(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n"
        "spec: {y: 1.0, n: 1e3, f: 1.5, at: 2001-01-01}\n"
    )
    (tmp_path / "b.json").write_text(json.dumps(definition("b")).replace('"b"', '"b", "x": 1.0'))
    yaml_one, json_one = read_crd_documents([str(tmp_path)])
    assert yaml_one["spec"] == {"true": 1, "false": 1000, "f": 1.5, "at": "2001-01-01"}
    assert type(yaml_one["spec"]["true"]) is int
    assert type(json_one["metadata"]["x"]) is float


BROKEN = [
    ("a.yaml", "kind: A\n---\nkind: B\nx: [\n", "line 4: did not find expected node content"),
    ("a.yaml", "kind: A\n--- x\n", "invalid Yaml document separator: x"),
    ("a.yaml", "kind: A\n---\nx: *y\n", "document at line 3: yaml: unknown anchor 'y' referenced"),
    ("a.json", '{"kind":"A"}\n{"kind":\n ]}', "line 3: invalid character ']' looking for beginning of value"),
    ("a.json", '{"kind":"A"}\nx: 1\n', "line 2: neither JSON nor a separator"),
    ("a.json", '{"kind":"A"}\n---\nx: 1\ny: [\n', "line 4: did not find expected node content"),
    ("a.yaml", "\tkind: A\n", "document at line 1: yaml: found character that cannot start any token"),
    ("a.json", '{"kind":"A"', "line 1: unexpected end of JSON input"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "found"), BROKEN)
def test_a_file_that_does_not_parse_is_an_error_with_file_and_line(tmp_path, name, text, found):
    (tmp_path / name).write_text(text)
    with pytest.raises(DamagedDump) as caught:
        read_crd_documents([str(tmp_path)])
    assert caught.value.where == str(tmp_path / name)
    assert found in str(caught.value)
    assert isinstance(caught.value, AuditorError)


def test_yaml_may_be_indented_from_its_first_line_on(tmp_path):
    text = "".join(f"  {line}\n" for line in yaml.safe_dump(definition("a")).splitlines())
    for start in ("", "\n \n", "# about it\n"):
        (tmp_path / "a.yaml").write_text(start + text)
        assert names(read_crd_documents([str(tmp_path)])) == ["a"]


def test_a_missing_path_is_an_error(tmp_path):
    with pytest.raises(SourceError, match="no such file"):
        read_crd_documents([str(tmp_path / "none")])


def test_json_that_is_yaml_is_read(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(definition("a"))[:-1] + ",}")
    assert names(read_crd_documents([str(tmp_path)])) == ["a"]


def test_yaml_may_follow_json(tmp_path):
    text = f"{json.dumps(definition('a'))}\n---\n# c\n{json.dumps(definition('b'), indent=1)}\n---\n"
    (tmp_path / "a.json").write_text(text)
    assert names(read_crd_documents([str(tmp_path)])) == ["a", "b"]


def test_every_definition_of_the_corpus_is_found():
    folder = real_definitions()
    files = [path for path in folder.rglob("*.yaml") if "\nkind: CustomResourceDefinition\n" in "\n" + path.read_text()]
    found = read_crd_documents([str(folder)])
    assert len(set(names(found))) == len(found)
    assert len(found) >= len(files) > 0
    assert all(document["spec"]["versions"] for document in found)


@pytest.mark.usefixtures("shut")
def test_a_folder_that_may_not_be_read_is_an_error(tmp_path):
    (tmp_path / "shut").mkdir()
    (tmp_path / "a.json").write_text(json.dumps(definition("a")))
    with pytest.raises(SourceError, match=r"/shut: Permission denied$"):
        read_crd_documents([str(tmp_path)])


def test_definitions_in_a_folder_behind_a_link_are_read(tmp_path):
    shared, crds = tmp_path / "shared", tmp_path / "crds"
    shared.mkdir()
    crds.mkdir()
    (shared / "a.json").write_text(json.dumps(definition("a")))
    (crds / "link").symlink_to(shared)
    assert [one["metadata"]["name"] for one in read_crd_documents([str(crds)])] == ["a"]


def test_a_pipe_in_a_folder_of_definitions_is_an_error(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(SourceError, match=r"pipe.yaml: neither a file nor a folder; it was not read$"):
        read_crd_documents([str(tmp_path)])
