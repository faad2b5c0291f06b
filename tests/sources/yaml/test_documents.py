"""What the reference cases leave open; expected texts are those of the Go libraries on the same input."""

from __future__ import annotations

import json
import pickle
import sys

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from auditor.golang import jsontext
from auditor.sources.yaml import (
    YamlError,
    scalars,
    yaml_chunks,
    yaml_to_json,
    yaml_to_json_text,
)
from tests.counting import calls_of
from tests.sources.yaml.go_streams import document_chunks, document_texts, documents

# Where libyaml and Go's parser part ways.
PARTINGS = [
    ("[?c]", '[{"c":null}]'),
    ("{?c: 1}", '{"c":1}'),
    ("[a?b]", "yaml: did not find expected ',' or ']'"),
    ("{a?: 1}", "yaml: did not find expected ',' or '}'"),
    ("[x: a?b]", "yaml: did not find expected ',' or ']'"),
    ("[!!map {a?: 1}]", "yaml: did not find expected ',' or '}'"),
    ("[ http://x/?a=b ]", "yaml: did not find expected ',' or ']'"),
    ("a: b?c", '{"a":"b?c"}'),
    ('["a?"]', '["a?"]'),
    ("{a:}", '{"a:":null}'),
    ("[a:,b]", '["a:","b"]'),
    ("{a: b:}", '{"a":"b:"}'),
    ("[a::,b:]", '["a::","b:"]'),
    ("[a:[b]]", "yaml: did not find expected ',' or ']'"),
    ("[a:?b]", "yaml: did not find expected ',' or ']'"),
    ("[::]", "yaml: did not find expected node content"),
    ("[1:]", '["1:"]'),
    ("a: 1\n\ufeffb: 2\n", '{"a":1,"\ufeffb":2}'),
    ("\ufeff\ufeffa: 1\n", '{"a":1}'),
    ("\ufeff# c\n\ufeffa: 1", '{"\ufeffa":1}'),
    ("a: \ufeffb\n", '{"a":"\ufeffb"}'),
    ("[\ue000a:,\ue001]", '["\ue000a:","\ue001"]'),
    ('"a\\/b"', "yaml: found unknown escape character"),
    ('x: 1\ny: "a\\\\/b"', '{"true":"a\\\\/b","x":1}'),
    ("'\\/'", '"\\\\/"'),
    ('a: "it\\\'s"', '{"a":"it\'s"}'),
    ("x: 'a\\'\nz: {\"b\\'c\\'\": \"\\\\\\'\"}", '{"x":"a\\\\","z":{"b\'c\'":"\\\\\'"}}'),
    ("a: b\\'c", '{"a":"b\\\\\'c"}'),
    ('"\\\'\\/"', "yaml: found unknown escape character"),
    ("[!!str, a]", '["a"]'),
    ("[!!str , a]", '["","a"]'),
    ("{!,a: b}", '{"b":null}'),
    ('[&a !!str, "b\\\'", c:, !foo[1],x d]', '["b\'","c:","d"]'),
    ("[!!str,a]", "yaml: line 1: did not find expected ',' or ']'"),
    ("- !foo[bar],a x\n- !![seq y", '["x","y"]'),
    ("[!<tag:yaml.org,2002:str>, a]", "yaml: did not find expected whitespace or line break"),
    ("0.0: a\n-0.0: b", '{"-0":"b"}'),
    ("{-0.0: 1, 0.0: 2}", '{"0":2}'),
    ("%YAML 1.2\n---\na: 1\n", "yaml: found incompatible YAML document"),
    ("# a\n%YAML 1.2\n---\na: 1\n", "yaml: line 1: found incompatible YAML document"),
    # A client cuts a file at its separators first, so that directives are a document of their own.
    ("%YAML 1.2\n", "yaml: found incompatible YAML document"),
    ("\n%YAML 1.2\n", "yaml: line 1: found incompatible YAML document"),
    ("%YAML 1.2\n%TAG !e! tag:example.com,2000:\n", "yaml: found incompatible YAML document"),
    ("%YAML 1.3\n", "yaml: found incompatible YAML document"),
    ("%YAML 1.1\n", "yaml: line 1: did not find expected <document start>"),
    ("%TAG !e! tag:example.com,2000:\n", "yaml: line 1: did not find expected <document start>"),
]


@pytest.mark.parametrize(("text", "expected"), PARTINGS)
def test_where_libyaml_and_go_part_go_is_followed(text, expected):
    try:
        found = yaml_to_json_text(text.encode())
    except YamlError as error:
        found = str(error)
    assert found == expected


@pytest.mark.parametrize(("text", "expected"), [part for part in PARTINGS if "\ufeff" not in part[0]])
def test_utf_16_parts_from_go_no_more_than_utf_8(text, expected):
    try:
        found = yaml_to_json_text(text.encode("utf-16"))
    except YamlError as error:
        found = str(error)
    assert found == expected


def test_many_colons_that_libyaml_refuses_end_in_its_error():
    assert yaml_to_json(b"[" + b"a:," * 150 + b"]") == ["a:"] * 150
    with pytest.raises(YamlError, match="found unexpected ':'"):
        yaml_to_json(b"[" + b"a:," * 1000 + b"]")


def test_scalars_with_escaped_apostrophes_may_be_many():
    text = "".join(f'k{number}: "it\\\'s {number}"\n' for number in range(400))
    assert yaml_to_json(text.encode()) == {f"k{number}": f"it's {number}" for number in range(400)}


LINES = [
    ("a: 1\nb\n", "yaml: line 3: could not find expected ':'"),
    ("a: [\n", "yaml: line 1: did not find expected node content"),
    ("a:\n\tb: 1\n", "yaml: line 2: found character that cannot start any token"),
    ("- 1\na: 2\n", "yaml: line 1: did not find expected '-' indicator"),
    ("a: b: c\n", "yaml: mapping values are not allowed in this context"),
]


@pytest.mark.parametrize(("text", "expected"), LINES)
def test_lines_are_those_that_go_names(text, expected):
    with pytest.raises(YamlError) as caught:
        yaml_to_json_text(text.encode())
    assert str(caught.value) == expected


KEYS = [
    ("1.0: a\n1e0: b", "key 1 already"),
    ("1000000.0: a\n1e6: b", "key 1e+06 already"),
    ("1e21: a\n1e21: b", "key 1e+21 already"),
    ("-.inf: 1\n-.inf: 2", "key -Inf already"),
    ("100000.5: 1\n100000.5: 1", "key 100000.5 already"),
    ('"a\\n": 1\n"a\\x0a": 1', 'key "a\\n" already'),
]


@pytest.mark.parametrize(("text", "expected"), KEYS)
def test_repeated_keys_are_printed_as_go_syntax(text, expected):
    with pytest.raises(YamlError, match="line 2: ") as caught:
        yaml_to_json_text(text.encode(), strict=True)
    assert expected in str(caught.value)


def test_not_a_number_is_never_a_repeated_key():
    assert yaml_to_json_text(b".nan: a\n.nan: b\n", strict=True) in ('{".nan":"a"}', '{".nan":"b"}')


def test_unsupported_keys_show_their_value_as_go_syntax():
    text = b"? 1\n: {.inf: a, ~: [1,1.5,x,true,18446744073709551615, 1e7, 123456789.0]}"
    with pytest.raises(YamlError) as caught:
        yaml_to_json(text)
    assert str(caught.value).endswith(
        "unsupported map key of type: %!s(<nil>), key: <nil>, value: "
        '[]interface {}{1, 1.5, "x", true, 0xffffffffffffffff, 1e+07, 1.23456789e+08}'
    )


BROKEN = [
    b'a: "\xf0\x90\x80"\nb: \xef\xbb\xbf\n',
    b"[a:,b]\n#" + b" " * 100_000 + b"\xc3(\n",
    b"a: \xef\xbb\xbf \xed\xa0\x80",
]


@pytest.mark.parametrize("data", BROKEN)
def test_broken_utf_8_is_an_error_where_characters_stand_in_for_others_too(data):
    with pytest.raises(YamlError, match=r"invalid (trailing UTF-8 octet|Unicode character)"):
        yaml_to_json(data)


def test_a_key_that_loses_to_another_of_its_text_keeps_its_errors():
    for text in (b"-0: {~: a}\n0.0: b\n", b"0.0: {a: [{~: a}]}\n-0: b\n"):
        with pytest.raises(YamlError, match="unsupported map key of type: "):
            yaml_to_json(text)


def test_two_keys_with_one_text_give_the_key_that_is_text():
    assert yaml_to_json(b'1: a\n"1": b\n') == {"1": "b"}
    assert yaml_to_json(b'"1": b\n1: a\n') == {"1": "b"}


DEEP = {
    "flow": (b"[" * 10_000 + b"]" * 10_000, b"[" * 10_001 + b"]" * 10_001),
    "block": (b"- " * 10_000 + b"a", b"- " * 10_001 + b"a"),
}


@pytest.mark.parametrize(("allowed", "refused"), DEEP.values(), ids=DEEP)
def test_ten_thousand_levels_are_read_and_no_more(allowed, refused):
    limit = sys.getrecursionlimit()
    value, levels = yaml_to_json(allowed), 0
    while type(value) is list and value:
        value, levels = value[0], levels + 1
    assert levels >= 9_999
    assert len(yaml_to_json_text(allowed)) >= 20_000
    with pytest.raises(YamlError, match="exceeded max depth of 10000"):
        yaml_to_json(refused)
    assert sys.getrecursionlimit() == limit


def test_aliases_may_nest_deeper_than_the_text():
    text = b"a: &a " + b"[" * 5100 + b"]" * 5100 + b"\nb: &b " + b"[" * 5000 + b"*a" + b"]" * 5000 + b"\n"
    assert yaml_to_json_text(text).count("[") == 5100 + 10100


def bomb(width: int, depth: int) -> bytes:
    lines = ["a0: &a0 [" + ",".join("x" * width) + "]"]
    lines += [f"a{level}: &a{level} [" + ",".join([f"*a{level - 1}"] * width) + "]" for level in range(1, depth)]
    return "\n".join(lines).encode()


@pytest.mark.parametrize(("width", "depth"), [(9, 9), (100, 4), (2, 40)])
def test_alias_bombs_end_soon(width, depth):
    def read(levels):
        with pytest.raises(YamlError, match="document contains excessive aliasing"):
            yaml_to_json(bomb(width, levels))

    calls = calls_of(lambda: read(depth))
    assert calls < 500_000
    assert calls_of(lambda: read(depth + 5)) < 1.5 * calls


def test_moderate_aliasing_is_fine():
    assert len(yaml_to_json(bomb(9, 3))["a2"]) == 9


def test_only_the_first_document_is_looked_at():
    assert yaml_to_json(b"a: 1\n---\n[") == {"a": 1}


def test_merges_share_nothing_with_their_source():
    value = yaml_to_json(b"b: &b {x: 1}\nc: {<<: *b, z: 2}\nd: {<<: [*b, {x: 3, w: 4}]}\n")
    assert value == {"b": {"x": 1}, "c": {"x": 1, "z": 2}, "d": {"x": 1, "w": 4}}


def test_values_taken_through_an_alias_are_their_own():
    value = yaml_to_json(b"a: &a {x: [1.0]}\nb: *a\n")
    value["a"]["x"].append(2)
    assert value["b"] == {"x": [1]}


NUMBERS = [
    ("1.0", 1), ("1e3", 1000), ("-0.0", 0), ("9223372036854775807", 9223372036854775807),
    ("9223372036854775808", 9223372036854775808.0), ("1e18", 10**18), ("1e19", 1e19), ("1e22", 1e22),
    ("0x7fffffffffffffff", 9223372036854775807), ("1.5", 1.5), ("9007199254740993.0", 9007199254740992),
    ("1234567890123456789.0", 1234567890123456800), ("-9223372036854775808", -(2**63)), ("1e-7", 1e-7),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_a_number_is_what_decoding_its_json_text_gives(text, expected):
    value = yaml_to_json(text.encode())
    assert (type(value), value) == (type(expected), expected)
    assert repr(value) == repr(jsontext.decode(yaml_to_json_text(text.encode()).encode()))


def test_digits_without_end_are_cheap(monkeypatch):
    longest = 0

    def noted(text, *base):
        nonlocal longest
        longest = max(longest, len(text))
        return int(text, *base)

    monkeypatch.setattr(scalars, "int", noted, raising=False)
    assert type(yaml_to_json(b"9" * 300)) is float
    assert yaml_to_json(b"9" * 100_000) == "9" * 100_000
    assert longest <= 300


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON_VALUES, st.booleans())
def test_json_is_yaml(value, compact):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else None)
    assert yaml_to_json(text.encode()) == value


@given(JSON_VALUES)
def test_quoted_scalars_with_tags_come_back(value):
    assert yaml_to_json(yaml.safe_dump(value, default_style='"', allow_unicode=True).encode()) == value


def outcome(read, data):
    """Return the value, or the error, whose text must not be empty."""
    try:
        return read(data)
    except YamlError as error:
        return error.found or pytest.fail("an error without text")


@given(st.text(st.sampled_from("ab:-,[]{}?#&*!|>'\"%@ \n\t01.e<=~\ufeff/\\"), max_size=30))
def test_any_text_gives_json_that_is_yaml_again_or_an_error(text):
    found = outcome(yaml_to_json_text, text.encode())
    if not found.startswith(("yaml: ", "json: ", "unsupported ")):
        assert yaml_to_json_text(found.encode()) == found


@given(st.binary(max_size=40))
def test_any_bytes_give_as_many_values_as_texts_or_the_same_error(data):
    values = outcome(lambda one: len(list(documents(one))), data)
    assert values == outcome(lambda one: len(list(document_texts(one))), data)


@given(st.binary(max_size=40), st.integers(0, 40))
def test_chunks_are_cut_out_of_the_stream(data, cut):
    data = data[:cut] + b"\n---\n" + data[cut:]
    for chunk in document_chunks(data):
        assert data.startswith(chunk.text, chunk.offset)
        assert chunk.line == data.count(b"\n", 0, chunk.offset)


def test_chunks_know_where_they_are():
    data = b"# a\n---\nb: 1\r\n---\n---\nc: 1"
    found = [(chunk.text, chunk.offset, chunk.line) for chunk in yaml_chunks(data)]
    assert found == [(b"# a\n", 0, 0), (b"b: 1\n", 8, 2), (b"---\nc: 1\n", 18, 4)]


def test_the_older_cutter_refuses_long_pieces():
    limit = 5 * 1024 * 1024
    assert len(list(document_chunks(b"a" * (limit - 1)))) == 1
    assert [len(chunk.text) for chunk in document_chunks(b"a" * (limit - 5) + b"\n---\nb")] == [limit - 5, 1]
    for data in (b"a" * limit, b"a" * (limit - 4) + b"\n---\nb"):
        with pytest.raises(YamlError, match="token too long"):
            list(document_chunks(data))


def test_errors_travel_between_processes():
    error = YamlError("yaml: x", "file", "JSON", "try")
    assert pickle.loads(pickle.dumps(error)) == error
    assert str(error.at("other")) == "other: yaml: x; expected JSON; try"
