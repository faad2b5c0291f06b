from __future__ import annotations

import builtins
import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard

from auditor.base.errors import DamagedDump, UnknownDump
from auditor.base.tables import LIVE_KEYS
from auditor.golang import jsontext
from auditor.sources import SourcePlan, open_source
from auditor.sources.files import folders
from auditor.sources.manifests import manifest_walk
from auditor.sources.manifests.export_table import ManifestRows
from auditor.sources.manifests.manifest_files import looks_like_manifests
from auditor.sources.manifests.manifest_table import _bytes_of, open_directory, open_manifests
from auditor.sources.manifests.manifest_walk import PIECEWISE_FROM
from auditor.sources.manifests.sinks import Spans
from tests.counting import bytes_of, calls_of


def thing(
    name: str, kind: str = "Widget", namespace: str = "", group: str = "example.com", **more: Any
) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": metadata, **more}


def values(plan) -> list[bytes]:
    with pa.memory_map(plan.live) as stream:
        table = pa.ipc.open_file(stream).read_all()
    data = Path(plan.mapped).read_bytes()
    return [
        data[at : at + size] for at, size in zip(table["offset"].to_pylist(), table["length"].to_pylist(), strict=True)
    ]


def objects(plan) -> list[Any]:
    return [json.loads(value) for value in values(plan)]


def names(plan) -> list[str]:
    return [one["metadata"]["name"] for one in objects(plan)]


@pytest.fixture
def opened(tmp_path):
    def open_text(text: str | bytes, name: str = "dump"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        workdir = tmp_path / "work"
        workdir.mkdir(exist_ok=True)
        return open_manifests(str(path), path, number=3, workdir=workdir)

    return open_text


def lines(*objects: Any) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def listed(*items: Any, kind: str = "List", api_version: str = "v1") -> dict[str, Any]:
    return {"apiVersion": api_version, "items": list(items), "kind": kind, "metadata": {"resourceVersion": ""}}


PAIR = (thing("b"), thing("a"))

FORMS = {
    "lines": (lines(*PAIR), "ndjson"),
    "lines with CRLF": (lines(*PAIR).replace("\n", "\r\n"), "ndjson"),
    "lines without last line end": (lines(*PAIR)[:-1], "ndjson"),
    "blank lines between": ("\n\n" + lines(*PAIR).replace("\n", "\n\n"), "ndjson"),
    "nothing between": ("".join(json.dumps(one) for one in PAIR), "json"),
    "printed one after another": ("\n".join(json.dumps(one, indent=2) for one in PAIR), "json"),
    "separated as YAML": ("\n---\n".join(json.dumps(one, indent=2) for one in PAIR), "json"),
    "compact list": (json.dumps(listed(*PAIR)), "list-json"),
    "printed list": (json.dumps(listed(*PAIR), indent=4), "list-json"),
    "nested list": (json.dumps(listed(listed(PAIR[0]), listed(listed(PAIR[1])))), "list-json"),
    "lists one after another": (lines(listed(PAIR[0]), listed(PAIR[1])), "list-json"),
    "typed list, complete items": (json.dumps(listed(*PAIR, kind="WidgetList", api_version="example.com/v1")), "list-json"),
    "bare array": (json.dumps(PAIR, indent=1), "list-json"),
    "byte order mark": ("\ufeff" + lines(*PAIR), "ndjson"),
    "YAML documents": ("---\n" + "---\n".join(json.dumps(one, indent=1) + "\n" for one in PAIR), "yaml"),
    "YAML list": ("kind: List\napiVersion: v1\nitems:\n" + "".join(f"- {json.dumps(one)}\n" for one in PAIR), "yaml"),
    "YAML sequence": ("".join(f"- {json.dumps(one)}\n" for one in PAIR), "yaml"),
    "YAML that begins with a brace": ("".join(f"---\n{json.dumps(one)}\n" for one in PAIR)[4:].replace('"kind"', "kind", 1), "yaml"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "form"), FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_objects_in_order(opened, text, form):
    plan = opened(text)
    assert objects(plan) == [thing("a"), thing("b")]
    assert (plan.rows, plan.format, plan.damage, plan.is_export) == (2, form, (), True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_what_powershell_writes_is_read(opened, encoding):
    mark = {"utf-16": b"", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}[encoding]
    text = json.dumps(listed(thing("a", note="é\N{GRINNING FACE}")), indent=4, ensure_ascii=False).replace("\n", "\r\n")
    plan = opened(mark + text.encode(encoding))
    assert objects(plan) == [thing("a", note="é\N{GRINNING FACE}")]
    assert "UTF-16" in plan.notes[0]


def test_rows_are_as_the_live_table_says(opened):
    plan = opened(lines(*PAIR))
    with pa.memory_map(plan.live) as stream:
        table = pa.ipc.open_file(stream).read_all()
    assert table.schema == LIVE_KEYS
    assert table["source"].to_pylist() == [3, 3]
    assert table["encoding"].to_pylist() == [0, 0]
    for name in ("key", "create_revision", "mod_revision", "key_version"):
        assert table[name].null_count == 2


def test_values_are_cut_out_of_the_users_file(opened, tmp_path):
    text = json.dumps(listed(*PAIR), indent=4)
    plan = opened(text)
    assert plan.mapped == str(tmp_path / "dump")
    assert all(value.decode() in text for value in values(plan))


def test_the_digest_is_that_of_the_file(tmp_path):
    path = tmp_path / "dump"
    path.write_text(lines(*PAIR))
    plan = open_source(str(path), number=0, workdir=tmp_path)
    assert plan.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_order_is_group_kind_namespace_name_position(opened):
    given = [
        thing("b", "Widget", "ns2"),
        thing("a", "Widget", "ns2", mark=1),
        thing("c", "Widget", "ns1"),
        thing("a", "Gadget", "zz"),
        thing("z", "Secret", group=""),
        thing("a", "Widget", "ns2", mark=2),
        thing("B", "Widget", "ns2"),
        thing("é", "Widget", "ns2"),
        thing("n"),
    ]
    wanted = [given[index] for index in (4, 3, 8, 2, 6, 1, 5, 0, 7)]
    assert objects(opened(lines(*given))) == wanted
    assert objects(opened(json.dumps(listed(*given)))) == wanted


def test_more_rows_than_one_batch_stay_sorted(opened):
    text = "".join(f'{{"kind":"A","metadata":{{"name":"n{(number * 7919) % 70001:05}"}}}}\n' for number in range(70001))
    plan = opened(text)
    assert names(plan) == [f"n{number:05}" for number in range(70001)]


BROKEN = {
    "a line cut short": (lines(thing("b")) + '{"bad":\n' + lines(thing("a")), [b'{"bad":']),
    "a first line cut short": ('{"bad":"x\n' + lines(*PAIR), [b'{"bad":"x']),
    "a last line cut short": (lines(*PAIR) + '{"apiVersion":"v1","ki', [b'{"apiVersion":"v1","ki']),
    "a brace too many": (lines(thing("b")) + '{"a":1}}\n' + lines(thing("a")), [b"}"]),
    "text between": (lines(thing("b")) + "error: connection lost\n" + lines(thing("a")), [b"error: connection lost"]),
    "a warning first": ("Warning: v1 is deprecated\n" + lines(*PAIR), [b"Warning: v1 is deprecated"]),
    "scalars": (lines(thing("b"), 1, "x", thing("a")), [b"1", b'"x"']),
    "trailing comma in a line": (lines(thing("b")) + '{"a":1,}\n' + lines(thing("a")), [b'{"a":1,}']),
    "printed object without end": (
        json.dumps(thing("b"), indent=1) + '\n{\n "spec": {\n  "x": 1\n }\n' + json.dumps(thing("a"), indent=1),
        [b'{\n "spec": {\n  "x": 1\n }'],
    ),
    "items that are no objects": (json.dumps(listed(thing("b"), None, 3, thing("a"))), [b"null", b"3"]),
    "an item that is no JSON": (json.dumps(listed(thing("b"), "@", thing("a"))).replace('"@"', '{"a":@}'), [b'{"a":@}']),
}  # fmt: skip


@pytest.mark.parametrize(("text", "bad"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_decoded_stays_a_row_behind_all_others(opened, text, bad):
    found = values(opened(text))
    assert found[-len(bad) :] == bad
    good = [json.loads(value) for value in found[: -len(bad)]]
    assert [one for one in good if "metadata" in one] == [thing("a"), thing("b")]


def test_many_objects_without_end_do_not_cost_many_scans(opened):
    text = '{\n "a": {\n' * 3000
    assert opened(text).rows == 3000


def test_broken_utf8_stays_as_it_is(opened):
    plan = opened(b'{"a":"\xff"}\n' + lines(thing("a")).encode())
    assert values(plan)[0] == b'{"a":"\xff"}'
    assert plan.rows == 2


@pytest.mark.parametrize(("cut", "items"), [(-30, 3), (-120, 2), (110, 0)])
def test_a_list_cut_short_is_damage_and_what_came_before_is_read(opened, cut, items):
    text = json.dumps(listed(*[thing(name, spec={"x": [1, 2]}) for name in "abc"]), indent=4)[:cut]
    if not items:
        with pytest.raises(DamagedDump, match="the bytes end"):
            opened(text)
        return
    plan = opened(text)
    assert names(plan) == list("abc")[:items]
    assert len(plan.damage) == 1
    assert "the bytes end" in plan.damage[0].reason
    assert f"{items} items" in plan.damage[0].reason


def test_items_of_a_typed_list_inherit_their_type(opened, tmp_path):
    items = [{"metadata": {"name": "b"}, "spec": {"x": 1.0}}, {}, {"kind": "Other", "metadata": {"name": "a"}}]
    plan = opened(json.dumps(listed(*items, kind="WidgetList", api_version="example.com/v1")))
    assert objects(plan) == [
        {"apiVersion": "example.com/v1", "kind": "Other", "metadata": {"name": "a"}},
        {"apiVersion": "example.com/v1", "kind": "Widget"},
        {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "b"}, "spec": {"x": 1.0}},
    ]
    assert b"1.0" in values(plan)[2]
    assert plan.mapped != str(tmp_path / "dump")


ODD_ITEMS = [
    ('{"kind":null,"metadata":{"name":"a"}}', ["Widget"]),
    ('{"apiVersion":"","kind":1,"metadata":{"name":"a"}}', ["Widget"]),
    ("{ }", ["Widget"]),
    ('{"kind":"WidgetList","items":[{"metadata":{"name":"a"}},{"kind":"Gadget"}]}', ["Gadget", "Widget"]),
]


@pytest.mark.parametrize(("item", "kinds"), ODD_ITEMS)
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_odd_items_of_a_typed_list_are_the_same_in_json_and_yaml(opened, item, kinds, form):
    text = f'{{"apiVersion":"example.com/v1","kind":"WidgetList","items":[{item}]}}'
    found = objects(opened(text if form == "json" else "# yaml\n" + text))
    assert [(one["kind"], one["apiVersion"]) for one in found] == [(kind, "example.com/v1") for kind in kinds]


def test_items_of_a_plain_list_do_not_inherit(opened):
    assert objects(opened(json.dumps(listed({"metadata": {"name": "a"}})))) == [{"metadata": {"name": "a"}}]


def test_a_yaml_list_inherits_too(opened):
    plan = opened(
        "kind: WidgetList\napiVersion: example.com/v1\nitems:\n- metadata: {name: b}\n- metadata: {name: a}\n"
    )
    assert objects(plan) == [thing("a"), thing("b")]


def test_an_object_with_items_and_a_name_is_no_list(opened):
    play = thing("x", kind="PlayList", items=[1])
    assert objects(opened(json.dumps(play, indent=1))) == [play]
    assert objects(opened(json.dumps(play))) == [play]
    assert objects(opened("# yaml\n" + json.dumps(play))) == [play]


@pytest.mark.parametrize(
    "text", ['{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}', "kind: Table\napiVersion: meta.k8s.io/v1\n"]
)
def test_printed_tables_are_refused_with_the_reason(opened, text):
    with pytest.raises(UnknownDump, match="-o json"):
        opened(text)


def test_a_table_among_objects_is_damage(opened):
    plan = opened(lines(thing("a"), {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}))
    assert names(plan) == ["a"]
    assert "kind: Table" in plan.damage[0].reason


def test_numbers_of_yaml_follow_go(opened):
    plan = opened("kind: A\nx: 1.0\ne: 1e3\nz: 1.5\nw: 0o17\nu: 18446744073709551615\n---\nkind: B\non: yes\n")
    first, second = (jsontext.decode(value) for value in values(plan))
    assert first == {"kind": "A", "u": 18446744073709551615.0, "w": 15, "x": 1, "e": 1000, "z": 1.5}
    assert {key: type(value) for key, value in first.items()} == {
        "kind": str, "u": float, "w": int, "x": int, "e": int, "z": float,
    }  # fmt: skip
    assert second == {"kind": "B", "true": True}


def test_numbers_of_json_stay_as_they_are_spelled(opened):
    assert values(opened('{"kind":"A","x":1.0,"x":1e3}\n')) == [b'{"kind":"A","x":1.0,"x":1e3}']


def test_a_broken_yaml_document_is_damage_with_its_line_in_the_file(opened):
    plan = opened("kind: A\nx: 1\n---\nkind: B\ny: [\n---\nkind: C\n")
    assert [one["kind"] for one in objects(plan)] == ["A", "C"]
    assert plan.damage[0].where == "document 2 (line 4)"
    assert plan.damage[0].reason == "yaml: line 5: did not find expected node content"


def test_of_very_much_damage_the_first_is_listed(opened):
    plan = opened("kind: A\n" + "---\nx: [\n" * 1100)
    assert plan.rows == 1
    assert len(plan.damage) == 1001
    assert "100 more" in plan.damage[-1].reason


def test_reading_ends_at_a_bad_separator_and_says_so(opened):
    plan = opened("kind: A\n---\nkind: B\n--- oops\nkind: C\n")
    assert [one["kind"] for one in objects(plan)] == ["A"]
    assert "invalid Yaml document separator: oops" in plan.damage[0].reason


def long_yaml_list(items: int, **more: str) -> str:
    out = ["apiVersion: v1\nitems:\n"]
    for number in range(items):
        out.append(f"- apiVersion: example.com/v1\n  kind: Widget\n  metadata:\n    name: n{number:05}\n")
        out.append(more.get(f"item{number}", '  spec:\n    text: "a - b"\n    list:\n    - 1\n    - |\n      - x\n'))
    out.append(more.get("end", 'kind: List\nmetadata:\n  resourceVersion: ""\n'))
    return "".join(out)


def test_a_long_yaml_list_is_cut_into_its_items(opened):
    text = long_yaml_list(3000)
    assert len(text) > PIECEWISE_FROM
    plan = opened(text)
    assert names(plan) == [f"n{number:05}" for number in range(3000)]
    assert objects(plan)[7]["spec"] == {"text": "a - b", "list": [1, "- x\n"]}


def test_a_broken_item_of_a_long_yaml_list_takes_no_other_with_it(opened):
    plan = opened(long_yaml_list(3000, item2="  spec: [\n"))
    assert plan.rows == 2999
    assert plan.damage[0].where == "item 3 of document 1 (line 23)"
    assert "line 27" in plan.damage[0].reason


def test_a_long_yaml_list_with_aliases_is_read_as_a_whole(opened):
    plan = opened(long_yaml_list(3000, item0="  spec: &x {a: 1}\n", item1="  spec: *x\n"))
    assert objects(plan)[1]["spec"] == {"a": 1}
    assert plan.rows == 3000


def test_yaml_that_only_json_can_read_is_read(opened):
    assert objects(opened('# c\n{"kind":"A","x":"a\\/b"}\n')) == [{"kind": "A", "x": "a/b"}]


def test_a_file_without_objects_has_no_rows_and_says_so(opened):
    for text in ("", "\n", "# nothing\n", "---\n---\n", json.dumps(listed())):
        plan = opened(text)
        assert plan.rows == 0
        assert values(plan) == []
        assert plan.notes == ("no object in this file",)


HEADS = [
    (b'{"kind":"List"', "json"),
    (b'\xef\xbb\xbf {\n  "items"', "json"),
    (b'[\n {"kind"', "json"),
    (b"apiVersion: v1\n", "yaml"),
    (b"# Source: x\n---\nkind: A\n", "yaml"),
    (b"{kind: A}", "yaml"),
    (b"---\nfoo: bar\n", "yaml"),
    ("kind: A\n".encode("utf-16"), "yaml"),
    ('{"kind":"A"}'.encode("utf-16"), "json"),
    (b'Warning: v1 is deprecated\n{"kind":"A"}\n', "json"),
    (b"", None),
    (b"hello\n", None),
    (b"<html>\n<p>kind: A</p>\n", None),
    (b"\0\0\0\0kind: A\n", None),
]


@pytest.mark.parametrize(("head", "form"), HEADS)
def test_manifests_are_detected_by_their_head(head, form):
    assert looks_like_manifests(head) == form


def test_a_folder_is_one_source_with_all_its_files(tmp_path):
    folder = tmp_path / "dump"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "a.yaml").write_text(f"---\n{json.dumps(thing('y'))}\n---\nkind: Z\nx: 1.0\n")
    (folder / "deep" / "b.json").write_text(json.dumps(listed(thing("l"))))
    (folder / "deep" / "er" / "c.ndjson.gz").write_bytes(gzip.compress(lines(thing("g")).encode()))
    (folder / "deep" / "er" / "d.JSON.zst").write_bytes(zstandard.compress(json.dumps(thing("s")).encode()))
    (folder / "u.yml").write_bytes("kind: U\n".encode("utf-16"))
    (folder / "broken.yml").write_text("a: [\n")
    (folder / "e.yaml.xz").write_bytes(lzma.compress(json.dumps(thing("x")).encode()))
    (folder / "f.json.bz2").write_bytes(bz2.compress(json.dumps(thing("b")).encode()))
    (folder / "torn.json.gz").write_bytes(gzip.compress(lines(thing("t")).encode())[:-8])  # its checksum is missing
    (folder / "README.md").write_text("kind: A\n")
    workdir = tmp_path / "work"
    workdir.mkdir()
    plan = open_directory(folder, number=0, workdir=workdir)
    assert [one.get("metadata", {}).get("name") for one in objects(plan)] == [None, None, *"bglstxy"]
    assert [damage.where for damage in plan.damage] == ["broken.yml: document 1 (line 1)", "torn.json.gz"]
    assert plan.damage[1].reason == "gzip stream ends early"
    assert plan.format == "yaml"
    assert plan.notes == ("1 files were not read, being no manifests by their names: README.md",)
    (folder / "README.md").write_text("changed")
    assert open_directory(folder, number=0, workdir=workdir).sha256 == plan.sha256
    (folder / "u.yml").write_text("kind: V\n")
    assert open_directory(folder, number=0, workdir=workdir).sha256 != plan.sha256


def test_a_folder_without_manifests_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(UnknownDump, match="no manifest"):
        open_directory(tmp_path, number=0, workdir=tmp_path)


@pytest.mark.usefixtures("shut")
def test_a_folder_that_may_not_be_read_is_damage(tmp_path):
    folder = tmp_path / "dump"
    (folder / "a" / "shut").mkdir(parents=True)
    (folder / "b.json").write_text(json.dumps(thing("b")))
    (folder / "a" / "shut" / "c.json").write_text(json.dumps(thing("c")))
    plan = open_directory(folder, number=0, workdir=tmp_path)
    assert names(plan) == ["b"]
    assert [(one.where, one.reason) for one in plan.damage] == [("a/shut", "Permission denied")]
    with pytest.raises(PermissionError):
        open_directory(folder / "a", number=0, workdir=tmp_path)


def test_an_item_of_a_long_yaml_list_may_begin_below_its_hyphen(opened) -> None:
    text = f"apiVersion: v1\nkind: List\nitems:\n- {{kind: A, metadata: {{name: a}}, pad: {'x' * PIECEWISE_FROM}}}\n"
    plan = opened(text + "-\n  kind: B\n  metadata: {name: b}\n-\n- kind: C\n  metadata: {name: c}\n")
    found = objects(plan)
    assert {one["metadata"]["name"] for one in found if one} == {"a", "b", "c"}
    assert (len(found), plan.damage) == (4, ())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("kind: A\n...\nkind: B\n", 3),
        ("---\nkind: A\n...\n# c\nkind: B\n", 5),
        ("kind: C\n---\n{kind: A}\n{kind: B}\n---\nkind: D\n", 4),
        ('---\n{"kind": "A"}\n{"kind": "B"}\n', 3),
        ("  kind: A\nkind: B\n", 2),
        ("kind: A\r---\rkind: B\r", 2),
        ("kind: A\x85---\x85kind: B\x85", 2),
        (f"kind: List\nitems:\n- {{kind: A, pad: {'x' * PIECEWISE_FROM}}}\n...\n- kind: B\n", 5),
    ],
    ids=["end mark", "end mark, comment", "flow", "objects", "indented", "CR", "NEL", "long list"],
)
def test_what_follows_a_yaml_document_is_reported(opened, text: str, line: int) -> None:
    plan = opened(text)
    assert "B" not in {one["kind"] for one in objects(plan)}
    assert [one.reason for one in plan.damage] == [f"it ends before line {line}; the rest was not read"]


@pytest.mark.parametrize("text", ["kind: A\n...\n", "kind: A\n...\n# c\n", '"kind": A\n\n', "{kind: A} # c\n"])
def test_a_yaml_document_may_have_an_end_mark_and_comments_after_it(opened, text: str) -> None:
    plan = opened(text)
    assert (objects(plan), plan.damage) == ([{"kind": "A"}], ())


def test_items_that_are_twice_in_a_long_yaml_list_count_as_the_last_of_them(opened) -> None:
    text = f'kind: List\nitems:\n- {{kind: A, pad: {"x" * PIECEWISE_FROM}}}\n"items":\n- kind: B\n'
    assert [one["kind"] for one in objects(opened(text))] == ["B"]


def test_lines_behind_a_comment_are_all_read(opened) -> None:
    plan = opened("# exported\n\n# by hand\n" + lines(*PAIR))
    assert (names(plan), plan.damage, plan.format) == (["a", "b"], (), "ndjson")


def test_an_object_on_the_line_of_a_separator_is_read(opened) -> None:
    plan = opened(lines(thing("a")) + "--- " + lines(thing("b")) + "--- # c\n" + lines(thing("c")))
    assert (names(plan), plan.damage) == (["a", "b", "c"], ())


def test_yaml_behind_json_may_begin_with_a_comment_or_a_list(opened) -> None:
    for text in ("# c\n\nkind: Z\nspec: {a: 1}\n", "- kind: Z\n  spec: {a: 1}\n", "{kind: Z, spec: {a: 1}}\n"):
        plan = opened(lines(thing("a")) + "---\n" + text)
        assert {"kind": "Z", "spec": {"a": 1}} in objects(plan)
        assert (plan.rows, plan.damage) == (2, ())


@pytest.fixture
def looked_at(monkeypatch):
    """Return a function that walks some bytes and returns how many it copied, searched or decoded."""
    total = 0

    def count_all(name, span):
        function = getattr(manifest_walk, name)

        def counted(*given, **options):
            nonlocal total
            result = function(*given, **options)
            total += span(result, *given)
            return result

        monkeypatch.setattr(manifest_walk, name, counted)

    count_all("fast_header", lambda _, data: len(data))
    count_all("read_header", lambda _, data: len(data))
    count_all("value_end", lambda end, data, start: (len(data) if end < 0 else end) - start)
    count_all("layout", lambda parts, data, start: (len(data) if parts.broken else parts.end) - start)

    def walk_through(text):
        nonlocal total
        total, rows = 0, ManifestRows(3)
        return bytes_of(manifest_walk.ManifestWalk(Spans(rows)).walk, text.encode()) + total

    return walk_through


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (lambda count: '{"kind":"A"} ' * count, 500),
        (lambda count: '{"kind":"A","a":{\n' * count + "}" * 2 * count, 200),
        (lambda count: '{"kind":"A","a":[' + '\n{"b":[' * count + "]}" * count + "]}", 700),
    ],
    ids=["objects on one line", "objects that swallow the others", "nested too deep"],
)
def test_no_arrangement_of_objects_takes_long(opened, looked_at, monkeypatch, text, count) -> None:
    """Each value was looked for in all that follows."""

    def read(text):
        plans.append(opened(text))

    monkeypatch.setattr(jsontext, "MAX_DEPTH", 200)
    sys.setrecursionlimit(1000)  # what is deeper is left to the decoder that counts levels
    plans = []
    few, many = text(count), text(8 * count)
    assert looked_at(many) < 12 * looked_at(few)
    assert calls_of(lambda: read(many)) < 12 * calls_of(lambda: read(few))
    assert plans[0].rows >= 8 * count


def test_printed_objects_behind_many_broken_ones_are_read(opened) -> None:
    broken = '{\n "kind": "A",\n "a": [\n'
    plan = opened(broken * 30 + "\n".join(json.dumps(one, indent=1) for one in (thing("a"), thing("b"))))
    assert plan.rows == 32
    assert [json.loads(value)["metadata"]["name"] for value in values(plan) if b"Widget" in value] == ["a", "b"]


def test_a_broken_object_on_a_line_of_several_takes_no_other_with_it(opened) -> None:
    plan = opened('{"kind":"A"} {"kind" "B"} {"kind":"C"}{"kind":]}{"kind":"D"}\n{"kind":"E"}\n')
    broken = [b'{"kind" "B"}', b'{"kind":]}']
    assert sorted(values(plan)) == sorted([*broken, *(b'{"kind":"%c"}' % letter for letter in b"ACDE")])
    assert plan.damage == ()


def test_folders_behind_links_are_read_once(tmp_path):
    folder, elsewhere, work = tmp_path / "up" / "folder", tmp_path / "elsewhere", tmp_path / "work"
    for one in (folder, elsewhere / "below", work):
        one.mkdir(parents=True)
    (folder / "a.json").write_text(lines(thing("a")))
    (elsewhere / "below" / "b.json").write_text(lines(thing("b")))
    for name, target in (
        ("link", elsewhere),
        ("same", elsewhere),
        ("within", "."),
        ("around", ".."),
        ("link/back", folder),
    ):
        (folder / name).symlink_to(target)
    plan = open_directory(folder, number=0, workdir=work)
    assert names(plan) == ["a", "b"]
    assert plan.notes == ("1 files were not read, being no manifests by their names: around",)


def test_what_may_never_end_is_not_read_in_a_folder(tmp_path):
    folder, work = tmp_path / "folder", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    (folder / "a.json").write_text(lines(thing("a")))
    (folder / "zero.yaml").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.yaml")
    plan = open_directory(folder, number=0, workdir=work)
    assert names(plan) == ["a"]
    reported = "neither a file nor a folder; it was not read"
    assert [(one.where, one.reason) for one in plan.damage] == [("pipe.yaml", reported), ("zero.yaml", reported)]


@pytest.mark.parametrize(("kept", "times"), [(1 << 20, 1), (0, 2)])
def test_a_file_of_a_folder_is_opened_once_or_if_many_bytes_would_be_kept_twice(tmp_path, monkeypatch, kept, times):
    folder = tmp_path / "manifests"
    folder.mkdir()
    for number in range(20):
        text = json.dumps({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": f"n{number}"}}, indent=number % 3)
        (folder / f"{number}.json").write_text(text)
    opened: dict[str, int] = {}

    def noting(real: Any) -> Any:
        def noted(path: Any, *words: Any, **options: Any) -> Any:
            opened[str(path)] = opened.get(str(path), 0) + 1
            return real(path, *words, **options)

        return noted

    for module in (io, builtins, os):
        monkeypatch.setattr(module, "open", noting(module.open))
    monkeypatch.setattr(folders, "_KEPT", kept)
    work = tmp_path / "work"
    work.mkdir()
    plan = open_source(str(folder), number=0, workdir=work)
    assert isinstance(plan, SourcePlan)
    assert plan.rows == 20
    assert {opened[str(path)] for path in folder.iterdir()} == {times}  # to detect the format, and to read it


def test_a_file_of_unknown_size_is_read_to_its_end():
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("no files without a size")
    data = folders.whole_file(str(status), 10)
    assert data is not None
    assert data.startswith(b"Name:")
    assert len(data) > 500


def test_a_file_with_one_object_is_read_in_one_pass():
    text = json.dumps({"apiVersion": "v1", "kind": "Thing", "spec": {"list": [{"a": 1}] * 1000}}, indent=1).encode()
    walk = manifest_walk.ManifestWalk(Spans(rows := ManifestRows(0)))
    assert calls_of(lambda: walk.walk(text)) < 60  # a scan of its brackets makes one for each
    assert (walk.format, walk.objects, len(rows)) == ("json", 1, 1)


def test_a_small_file_of_a_folder_takes_as_much_memory_as_it_is_large(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"kind": "A"}' + b" " * 5000)
    tracemalloc.start()
    try:
        assert len(_bytes_of(str(tmp_path / "a.json"))) == 5013
        assert tracemalloc.get_traced_memory()[1] < 1 << 17
    finally:
        tracemalloc.stop()
