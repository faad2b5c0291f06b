"""Folders of the index: any name, one folder a definition and version, all of them below the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.selectors.partitions import MOST_BYTES, Folders, IndexFolder, folder_names, recorded_folders

if TYPE_CHECKING:
    from pathlib import Path

ODD = ("", ".", "..", "/", "\\", "a/b", "a\\b", "\0", "a\0b", "CON", "nul", "core", "~", "%2F", "a.", "a ", "A", "a", "é", "É",
       "e\u0301", "K", "\u212a", "\ud800", "\u202e", "🦀", "g" * 251, "g" * 250 + "h", "K" * 300)  # fmt: skip
names = st.one_of(st.sampled_from(ODD), st.text(max_size=300))


@pytest.mark.parametrize(
    ("group", "version", "kind", "expected"),
    [
        ("example.com", "v1", "Widget", "group=example.com/version=v1/kind=Widget"),
        ("a-b.example.com", "v1beta1", "HTTPRoute", "group=a-b.example.com/version=v1beta1/kind=HTTPRoute"),
        ("", "v1", "Widget", "group=core/version=v1/kind=Widget"),
        ("example.com", "v1", "a/b", "group=example.com/version=v1/kind=a%2Fb"),
        ("example.com", "../v1", "..", "group=example.com/version=..%2Fv1/kind=.%2E"),
        ("EXAMPLE.com", "V1", "a\0", "group=%45%58%41%4D%50%4C%45.com/version=%561/kind=a%00"),
    ],
)
def test_ordinary_names_are_as_they_are_and_others_encoded(group: str, version: str, kind: str, expected: str) -> None:
    folder = Folders().folder("ws.example.com", group, version, kind)
    assert folder == expected
    assert folder_names(folder) == IndexFolder("", group, "", version, kind)


def test_definitions_of_one_kind_have_folders_of_their_own() -> None:
    folders = Folders([("vs.ex.com", "ex.com", "W"), ("ws.ex.com", "ex.com", "W"), ("xs.ex.com", "ex.com", "w")])
    found = [folders.folder(f"{name}.ex.com", "ex.com", "v1", kind) for name, kind in (("vs", "W"), ("ws", "W"), ("xs", "w"))]  # fmt: skip
    assert [one.rpartition("/")[2] for one in found] == ["kind=W", "kind=W~ws.ex.com", "kind=w~xs.ex.com"]
    assert [folder_names(one).kind for one in found] == ["W", "W", "w"]


@given(st.lists(st.tuples(names, names, names), max_size=8), names)
def test_folders_of_any_definitions_are_distinct_and_below_the_index(
    definitions: list[tuple[str, str, str]], version: str
) -> None:
    definitions = list(dict.fromkeys(definitions))
    folders = Folders(definitions)
    made = {
        (one, at): folders.folder(one[0], one[1], at, one[2])
        for one in definitions
        for at in dict.fromkeys(("v1", version))
    }
    assert len({folder.casefold() for folder in made.values()}) == len(made)
    for folder in made.values():
        parts = folder.split("/")
        assert [part.partition("=")[0] for part in parts] == ["group", "version", "kind"]
        assert all(len(part.encode("ascii")) <= MOST_BYTES for part in parts)
        assert not any(character in folder for character in '\\:*?"<>| \0')
        assert not any(part.endswith((".", " ")) for part in parts)
    rows = [
        {"folder": folder, "crd": one[0], "group": one[1], "plural": "ws", "version": at, "kind": one[2]}
        for (one, at), folder in made.items()
    ]
    for (one, at), folder in made.items():
        assert recorded_folders({"index": rows}, [folder]) == {folder: IndexFolder(one[0], one[1], "ws", at, one[2])}


@given(names, names, names)
def test_a_folder_can_be_made(tmp_path_factory: pytest.TempPathFactory, group: str, version: str, kind: str) -> None:
    root: Path = tmp_path_factory.mktemp("index")
    folder = root / Folders().folder("ws.ex.com", group, version, kind)
    folder.mkdir(parents=True)
    assert folder.resolve().is_relative_to(root.resolve())


@pytest.mark.parametrize("index", [None, 5, {}, "x"])
def test_a_report_without_the_record_has_names_as_they_are(index: object) -> None:
    folder = "group=core/version=v1/kind=100%25~"
    manifest = {} if index is None else {"index": index}
    assert recorded_folders(manifest, [folder])[folder] == IndexFolder("", "", "", "v1", "100%25~")


@pytest.mark.parametrize("row", [5, {}, {"folder": 7}, {"folder": "group=a/version=v1/kind=B", "crd": []}])
def test_records_that_are_none_are_ignored(row: object) -> None:
    folder = "group=a/version=v1/kind=B"
    assert recorded_folders({"index": [row]}, [folder])[folder] == IndexFolder("", "a", "", "v1", "B")
