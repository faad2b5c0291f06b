"""Definitions of YAML files that an earlier run has read are the same values; what JSON cannot hold is read anew."""

import json

import pytest

from auditor.base.disk_cache import active_cache, using_cache
from auditor.base.errors import SourceError
from auditor.sources.crd_files import read_crd_documents

HEAD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\nspec:\n"


def spelled(documents):
    return [repr(one) for one in documents]


@pytest.mark.parametrize(
    "rest",
    [
        "  a: 1\n  b: 1.0\n  c: -0.0\n  d: 9223372036854775807\n  e: '\\u00e9'\n  f: null\n  g: [true, '1']\n",
        "  a: 1\n---\nkind: Other\n---\n" + HEAD + "  a: 2\n",
        "  z: 1\n  a: 2\n",
    ],
    ids=["values", "documents", "order"],
)
def test_kept_documents_are_those_that_are_read(tmp_path, rest):
    file = tmp_path / "crds.yaml"
    file.write_text(HEAD + rest)
    plain = read_crd_documents([str(file)])
    with using_cache(str(tmp_path / "cache")):
        assert spelled(read_crd_documents([str(file)])) == spelled(plain)
        assert len(list(active_cache().folder.iterdir())) == 1
        assert spelled(read_crd_documents([str(file)])) == spelled(plain)


@pytest.mark.parametrize("value", ["123456789012345678901234567890", "1e999", ".inf"])
def test_what_json_would_change_is_not_kept(tmp_path, value):
    file = tmp_path / "crds.yaml"
    file.write_text(f"{HEAD}  a: {value}\n")

    def read():
        try:
            return spelled(read_crd_documents([str(file)]))
        except SourceError as error:
            return str(error)

    plain = read()
    with using_cache(str(tmp_path / "cache")):
        assert [read(), read()] == [plain, plain]


def test_a_changed_file_is_read_anew_and_json_always(tmp_path):
    file, other = tmp_path / "crds.yaml", tmp_path / "crd.json"
    other.write_text(json.dumps(read_crd_documents([str(write(file, "  a: 1\n"))])[0]))
    with using_cache(str(tmp_path / "cache")):
        assert read_crd_documents([str(file)])[0]["spec"] == {"a": 1}
        assert read_crd_documents([str(write(file, "  a: 2\n"))])[0]["spec"] == {"a": 2}
        before = len(list(active_cache().folder.iterdir()))
        assert read_crd_documents([str(other)])[0]["spec"] == {"a": 1}
        assert len(list(active_cache().folder.iterdir())) == before == 2


def test_what_is_no_yaml_says_so_each_time(tmp_path):
    file = tmp_path / "crds.yaml"
    file.write_text(HEAD + "  a: [1\n")
    with using_cache(str(tmp_path / "cache")):
        for _ in range(2):
            with pytest.raises(SourceError, match=r"crds\.yaml"):
                read_crd_documents([str(file)])
        assert list(active_cache().folder.iterdir()) == []


def write(file, rest):
    file.write_text(HEAD + rest)
    return file
