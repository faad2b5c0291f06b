"""Documents of manifest files with their lines, and the lines of fields."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from auditor.sources.manifests import placed
from auditor.sources.manifests.placed import TEMPLATE, field_line, objects_in, placed_documents, repeated_keys
from tests.counting import bytes_of, calls_of

LIST = b"""# two
---

apiVersion: v1
kind: List
items:
- kind: A
  spec:
    ports:
    - name: x
      app.io/y: {z: 1}
- kind: B
  spec: &s
    a: 1
    a: 2
  more: *s
---
foo: {{ x }}
---
# nothing
---
{"kind": "C",
 "b": 1, "b": 2}
"""


def read(data: bytes) -> list[tuple[int, object, str]]:
    return [(one.line, one.value, one.error) for one in placed_documents(data)]


def test_documents_have_lines_and_one_that_cannot_be_read_ends_nothing() -> None:
    found = read(LIST)
    assert [line for line, _, _ in found] == [4, 18, 22]
    assert found[1][2].startswith("error converting YAML to JSON: yaml: invalid map key")
    assert found[1][2].endswith(TEMPLATE)
    assert found[2][1] == {"kind": "C", "b": 2}
    ((_, _, error),) = read(b"{{- if .Values.a }}\na: 1\n")
    assert error == "json: offset 2: invalid character '{' looking for beginning of object key string" + TEMPLATE


@pytest.mark.parametrize(
    ("items", "path", "line"),
    [
        ((), "kind", 5),
        ((), "", 4),
        ((0,), "", 7),
        ((0,), "spec.ports[0].name", 10),
        ((0,), "spec.ports[0].app.io/y.z", 11),
        ((0,), "spec.ports[0].missing", 10),
        ((0,), "spec.ports[7]", 9),
        ((0,), ".spec.ports", 9),
        ((0,), "spec[ports]", 9),
        ((0,), "<nil>", 7),
        ((1,), "spec.a", 15),
        ((1,), "more.a", 15),
        ((9,), "spec", 6),
    ],
)
def test_a_field_has_the_line_of_its_key_or_of_what_it_is_missing_in(
    items: tuple[int, ...], path: str, line: int
) -> None:
    document = next(iter(placed_documents(LIST)))
    assert field_line(document, path, items) == line


def test_a_text_at_fault_has_the_line_of_the_key_or_value_that_it_is() -> None:
    document = next(
        iter(placed_documents(b"metadata:\n  labels:\n    a: b\n    c: x y\n  finalizers:\n  - a\n  - b c\n"))
    )
    assert field_line(document, "metadata.labels", (), "x y") == 4
    assert field_line(document, "metadata.labels", (), "a") == 3
    assert field_line(document, "metadata.labels", (), "nothing") == 2
    assert field_line(document, "metadata.finalizers", (), "b c") == 7


def test_repeated_keys_are_those_of_one_object() -> None:
    first, _, third = placed_documents(LIST)
    assert first.root is not None
    assert third.root is not None
    assert repeated_keys(first) == ["items[1].spec.a"]
    assert repeated_keys(first, (1,)) == ["spec.a"]
    assert repeated_keys(first, (0,)) == []
    assert repeated_keys(third) == ["b"]
    assert field_line(third, "b") == 23


def test_json_values_are_one_after_another_with_numbers_as_kubectl_sends_them() -> None:
    assert read(b'\xef\xbb\xbf{"a": 1.0}\n{"b":\n2.5} {"c":') == [
        (1, {"a": 1}, ""),
        (2, {"b": 2.5}, ""),
        (3, None, "unexpected EOF"),
    ]


def test_many_json_lines_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (b'{"a": 1}\n' * count for count in (100, 800))
    assert [one.line for one in placed_documents(many)] == list(range(1, 801))

    def values(data: bytes) -> list[placed.PlacedDocument]:
        return list(placed._json(data))

    assert calls_of(lambda: read(many)) < 12 * calls_of(lambda: read(few))
    monkeypatch.setattr(placed, "_tree", lambda _: None)  # its parser takes no bytes of another class
    assert bytes_of(values, many) < 12 * bytes_of(values, few)


def test_json_may_be_followed_by_yaml_and_yaml_may_begin_with_a_brace() -> None:
    assert read(b'{"a": 1}\n---\nb: 2\n') == [(1, {"a": 1}, ""), (3, {"b": 2}, "")]
    assert read(b"{a: 1}\n---\nb: 2\n") == [(1, {"a": 1}, ""), (3, {"b": 2}, "")]


def test_other_encodings_line_ends_and_tabs() -> None:
    text = "a: 1\r\n---\r\nb: 2\r\n"
    assert read(text.encode("utf-16")) == [(1, {"a": 1}, ""), (3, {"b": 2}, "")]
    ((line, _, error),) = read(b"a:\n\tb: 1\n")
    assert line == 2
    assert "found character that cannot start any token" in error
    document = next(iter(placed_documents(b'{\n\t"a": {\n\t\t"b": 1}}')))
    assert field_line(document, "a.b") == 3


def test_a_bad_separator_ends_the_file_there() -> None:
    ((_, first, _), (line, _, error)) = read(b"a: 1\n---\nb: 2\n--- c\nd: 1\n")
    assert first == {"a": 1}
    assert line >= 2
    assert "invalid Yaml document separator: c" in error


def test_items_of_lists_are_objects_and_inherit_the_type_of_a_typed_list() -> None:
    value = {
        "apiVersion": "v1",
        "kind": "PodList",
        "items": [{"metadata": {}}, {"kind": "List", "apiVersion": "v1", "items": [{"kind": "A"}]}],
    }
    assert list(objects_in(value)) == [
        ((0,), {"metadata": {}, "kind": "Pod", "apiVersion": "v1"}),
        ((1,), value["items"][1]),
    ]
    assert list(objects_in({"kind": "A", "items": 5})) == [((), {"kind": "A", "items": 5})]
    assert list(objects_in("a")) == [((), "a")]


def test_a_path_with_many_ways_costs_little() -> None:
    deep = "{a: 1}"
    for _ in range(40):
        deep = f"{{a: {deep}, a.a: {deep if len(deep) < 200 else 1}}}"
    document = next(iter(placed_documents(deep.encode())))
    assert field_line(document, ".".join(["a"] * 60)) == 1


def test_lines_after_a_broken_json_document_are_counted() -> None:
    assert [error for _, _, error in read(b'{"a": 1}\nnonsense\n{"a": 2}\n\n{"a": 3}\n')][1].endswith(
        "; 2 more lines were not read"
    )
    assert read(b'{"a": 1}\nnonsense\n{"a": 2}\n')[1][2].endswith("; 1 more line was not read")
    assert read(b'{"a": 1}\nnonsense\n')[1][2].endswith("(expecting 'u')")


def test_the_tree_of_json_is_composed_for_findings_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    composed = []
    compose = placed.compose
    monkeypatch.setattr(placed, "compose", lambda text: composed.append(text) or compose(text))
    (document,) = placed_documents(b'{"kind": "A",\n "spec": {"a": 1,\n  "b": [{"c": 1}, {"c": 1}]}}\n')
    assert repeated_keys(document) == []
    assert field_line(document, "") == 1
    assert not composed
    assert field_line(document, "spec.b") == 3
    assert len(composed) == 1


def test_equal_keys_in_json_are_found_however_they_are_escaped() -> None:
    (document,) = placed_documents(b'{"spec": {"a": {"x": 1}, "\\u0061": 2}}')
    assert repeated_keys(document) == ["spec.a"]


def repeats(text: str) -> bool:
    """Return whether an object in a JSON text has a key twice."""

    def refuse(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            raise ValueError

    try:
        json.loads(text, object_pairs_hook=refuse)
    except ValueError:
        return True
    return False


_WORDS = st.sampled_from(['"a"', '"\\u0061"', '"b\\""', '"b\\u0022"', '""', '"\\\\u0022"'])
_VALUES = st.recursive(
    st.sampled_from(["1", "2.5", "null", "18446744073709551616"]) | _WORDS,
    lambda below: (
        st.lists(below, max_size=2).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(_WORDS, below), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        )
    ),
    max_leaves=6,
)


@given(_VALUES)
@example('{"a": "\\"", "a": "\\u0022"}')
def test_an_object_without_equal_keys_is_one_whose_text_has_as_many_quotes(value: str) -> None:
    text = f'{{"spec": {value}}}'
    for document in placed_documents(text.encode()):
        is_once = placed._is_once(document.text, document.value)
        assert not (is_once and repeats(text))
        assert is_once or repeats(text) or "u0022" in text
        assert bool(repeated_keys(document)) == repeats(text)


@pytest.mark.parametrize(
    "text",
    [
        LIST,
        b"# first\n\na: 1\nb:\n- c: 2\n  d: x # y\n- c: 3\n",
        b"  # deeper\na: 1.0\nb: {}\n",
        b"---\na: |\n  text\nb: 0x10\n---\n# nothing\n---\n\nc: 'x'\nd: \"y\"\n",
        b"a: 1\nb: 2\na: 3\n",
        b"a:\n  b: 1\n  b: 2\n",
        b'"a": 1\na: 2\n',
    ],
)
def test_what_is_read_quickly_has_the_lines_and_keys_of_its_tree(text: bytes) -> None:
    def said() -> list[object]:
        return [
            (json.dumps(one.value), one.error, repeated_keys(one), [field_line(one, path) for path in ("", "a", "b.c")])
            for one in placed_documents(text)
        ]

    with mock.patch.object(placed, "quick_value", return_value=None):
        exact = said()
    assert said() == exact


def test_the_tree_of_yaml_that_programs_write_is_composed_for_findings_alone() -> None:
    with mock.patch.object(placed, "compose", side_effect=AssertionError):
        (document,) = placed_documents(b"---\n# Source: a.yaml\nkind: A\nspec:\n  a: 1\n")
        assert (document.line, document.value, repeated_keys(document)) == (3, {"kind": "A", "spec": {"a": 1}}, [])
    assert field_line(document, "spec.a") == 5
