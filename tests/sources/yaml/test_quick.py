"""The quick reader of machine-made YAML: it says what the parser says, or nothing."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from auditor.sources.yaml import YamlError, quick, yaml_chunks, yaml_to_json
from auditor.sources.yaml import document_text as whole_room
from auditor.sources.yaml.quick import quick_value
from tests.corpus import real_definitions
from tests.shared import second_check, shared


def parsed(data: bytes, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what the parser makes of a text; an error is its own value."""
    with monkeypatch.context() as patch:
        patch.setattr(whole_room, "quick_value", lambda _: None)
        try:
            return yaml_to_json(data)
        except YamlError as error:
            return error


def assert_agrees(data: bytes, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether a text was read quickly; it must then say what the parser says, numbers and order included."""
    read = quick_value(data)
    if read is None:
        return False
    exact = parsed(data, monkeypatch)
    assert not isinstance(exact, YamlError), f"{data!r}: {exact}"
    assert json.dumps(read) == json.dumps(exact), data
    return True


SAMPLE = b"""\
---
# made by a machine
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  managedFields:
  - fieldsV1:
      f:metadata:
        f:labels:
          .: {}
          f:app.kubernetes.io/name: {}
      k:{"type":"Ready","ip":"::1"}:
        f:x: -.5
  annotations:
    controller-gen.kubebuilder.io/version: v0.20.0
  name: ovens.bakery.example.com
spec:
  names: {}
  versions:
  - additionalPrinterColumns:
    - jsonPath: .status.conditions[?(@.type=="Ready")].status
      name: Ready
    - description: 'It''s how
        long: a while'
      name: "A\\"ge"
      priority: 1
    name: v1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        description: |-
          Oven bakes.

            - indented

          End.
        properties:
          "-XX":
            default: []
            description: |
              one line
            maximum: 1e3
            minimum: -1.0
            pattern: ^a|b$
          size:
            description: a text that goes
              on and on
        required:
        - size
        - x
  scope:
"""


def test_what_machines_write_is_read_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert assert_agrees(SAMPLE, monkeypatch)


def test_a_large_text_is_read_like_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    small = quick_value(SAMPLE)
    monkeypatch.setattr(quick, "_LARGE", 0)
    assert small is not None
    assert quick_value(SAMPLE) == small


UNUSUAL = [
    "a: 1\n  \nb: 2\n",
    "a:\tb\n", "a: &x b\n", "a: *x\n", "a: !!str 1\n", "a: {b: c}\n", "a: [b]\n", "<<: {}\n", "? a\n", "a: b: c\n",
    "a: b\n c: d\n", "a:\n    b: 1\n  c: 2\n", "- a\n", "a\n", "", "# nothing\n", "a: b\n...\n", "a: b\n---\nc: d\n",
    "%YAML 1.1\n---\na: b\n", "a: >\n  b\n", "a: |2\n   b\n", "a: |\n", "a: |\n\n  b\n", "a: |\n    b\n  c\n",
    "a: |\n  b\n  \n", "a: |\n  b", 'a: "\\/"\n', 'a: "\\x41"\n', 'a: "b\n', "a: 'b'c'\n", 'a: "b\\\n  c"\n', "a: b\n\n  c\n",
    "a: b\n  # c\n  d\n", "a: b\n  c: d\n", "y: 1\n", "1: a\n", "null: a\n", "a: .nan\n", "a: -.inf\n", "a: @b\n", "a: - b\n",
    "a:\n- - b\n", "a:\n-\n  b: c\n", "a:\n - b\n- c\n", "a: b\u2028c\n", "a: b\u2029c\n", "a: b\u0085c\n", "a: b\x7fc\n", "a: \ufffe\n", "a: \uffff\n", "\ufeffa: b\n", "a: b\x00\n", "a: b\r\n",
    "a:  b\n", "a: # b\n", "a b: c\n", "a: |-\n  b\n \n  # c\n", "a: 'b'\n  # c\n", 'a: "b\\ \n  c"\n',
]  # fmt: skip


@pytest.mark.parametrize("text", UNUSUAL)
def test_anything_else_is_left_to_the_parser(text: str) -> None:
    assert quick_value(text.encode()) is None


def test_bytes_that_are_no_text_are_left_to_the_parser() -> None:
    assert quick_value(b"a: \xff\n") is None


@second_check("vectors/yaml.json", by="tests/sources/yaml/test_quick.py")
def test_the_quick_reader_says_what_the_parser_says_of_every_reference_case(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    for case in json.loads(shared("vectors/yaml.json").read_text()):
        data = base64.b64decode(case["yamlBase64"]) if "yamlBase64" in case else case["yaml"].encode()
        read += assert_agrees(data, monkeypatch) + assert_agrees(data + b"\n", monkeypatch)
    assert read > 100


def test_every_definition_of_the_corpus_is_read_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [
        str(path)
        for path in sorted(real_definitions().rglob("*.yaml"))
        for chunk in yaml_chunks(path.read_bytes())
        if chunk.text.strip() and not assert_agrees(chunk.text, monkeypatch)
    ]
    assert not left


WORDS = ["foo", "1", "1.0", "true", "~", "''", '""', "'it''s'", '"a\\n"', '"a\\ ', '"a', "'a", 'a"', "{}", "[]", "|", "|-", ">",
         "&a", "# c", "a # c", "a #", "a: b", "a:", "- a", "-1", "-", "-.5", "-.inf", "?", ":a", "%a", "<<", "0x1F", "1e400", "2001-01-01", "a  ",
         "\u00e9", "\u00a0", "\u2028", "\t", "...", "---", "\\", "a | b", "18446744073709551616"]  # fmt: skip
KEYS = [
    "a",
    "b",
    "f:a",
    'k:{"a":"b"}',
    "k:{",
    'k:{"a: b"}',
    'k:{"a #b"}',
    "x-k",
    '"q"',
    "y",
    "1",
    "<<",
    "key with",
    "a:b",
    "- a",
    "? a",
    "-",
]
INDENTS = st.sampled_from([0, 0, 1, 2, 2, 2, 3, 4, 4, 6]).map(lambda count: " " * count)
DASHES = st.sampled_from(["", "", "", "- ", "- - ", "-  "])
LINES = st.one_of(
    st.tuples(INDENTS, DASHES, st.sampled_from(KEYS), st.just(":")),
    st.tuples(INDENTS, DASHES, st.sampled_from(KEYS), st.sampled_from([": ", ": ", ": ", ":", ":  "]), st.sampled_from(WORDS)),
    st.tuples(INDENTS, DASHES, st.sampled_from(WORDS)),
    st.tuples(INDENTS),
    st.just(()),
).map("".join)  # fmt: skip


@given(
    st.lists(LINES, min_size=1, max_size=8),
    st.sampled_from(["", "root:\n", "---\n"]),
    st.sampled_from(["\n", "\n", ""]),
)
@example(["a: |-", "  b", "  "], "", "\n")
def test_the_quick_reader_says_what_the_parser_says(lines: list[str], head: str, tail: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_agrees((head + "\n".join(lines) + tail).encode(), monkeypatch)


@given(
    st.integers(0, len(SAMPLE) - 1),
    st.integers(0, 3),
    st.sampled_from([*" :-#\"'\\|>{}[]&*!?.a1%@~\n", "  ", "\n\n", "\n  "]),
)
def test_a_change_anywhere_makes_no_difference_to_that(at: int, gone: int, put: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_agrees(SAMPLE[:at] + put.encode() + SAMPLE[at + gone :], monkeypatch)


@pytest.mark.parametrize(
    "scalar",
    [
        *(
            "true   ",
            "False ",
            "Nulls ",
            "abcdef # c",
            "abcdef#c",
            "abcd ef: b",
            "abcd ef:",
            "abcdef:b",
            "abcdef ",
            "abcdé",
        ),
        *(
            "007",
            "10",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551616",
            "1२",
            "1_0",
            "12 ",
            "1 # c",
        ),
    ],
)
def test_a_scalar_without_quotes_is_read_as_by_the_parser(scalar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_plain = ": " not in scalar and not scalar.endswith(":")
    for text in (f"a: {scalar}\nb: {scalar}\n", f"a:\n- {scalar}\n- {scalar}\n"):
        assert assert_agrees(text.encode(), monkeypatch) == is_plain
