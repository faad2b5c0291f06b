from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.sources import json_stream
from auditor.sources.json_stream import JsonSyntaxError, UnexpectedEnd, check_value, layout, skip_space, value_end
from tests.counting import calls_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(["items", "kind"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(VALUES, st.booleans(), st.sampled_from(["", " ", "\n", ",", "]", "}", " {"]), st.none() | st.integers(0, 3))
def test_the_end_of_a_value_is_found_by_both_scanners(value, ascii_only, after, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    data = b"  " + text + after.encode()
    if not isinstance(value, int | float) or after:
        assert value_end(data, 2) == 2 + len(text)
    assert check_value(data, 0) == 2 + len(text)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.lists(VALUES, max_size=5), st.none() | st.integers(0, 4))
def test_the_layout_of_a_list_has_the_spans_of_its_items(others, items, indent):
    value = {**{key: one for key, one in others.items() if key != "items"}, "kind": "List", "items": items}
    data = json.dumps(value, indent=indent).encode() + b"\n"
    parts = layout(data, 0)
    assert (parts.broken, parts.end) == ("", len(data) - 1)
    spans = list(parts.items or [])
    assert [json.loads(data[start:end]) for start, end in zip(spans[::2], spans[1::2], strict=True)] == items
    start, end = parts.spans[b"kind"]
    assert data[start:end] == b'"List"'


@given(st.lists(VALUES, min_size=1, max_size=5), st.integers(1, 40))
def test_a_list_cut_short_keeps_the_items_before_the_cut(items, cut):
    data = json.dumps({"items": items, "kind": "List"}).encode()[:-cut]
    parts = layout(data, 0)
    assert parts.broken
    spans = list(parts.items or [])
    # A number that the cut went through still ends somewhere; all others are whole.
    found = [data[start:end] for start, end in zip(spans[::2], spans[1::2], strict=True)]
    assert [json.loads(one) for one in found[:-1]] == items[: max(len(found) - 1, 0)]


def test_the_last_of_equal_keys_counts():
    data = b'{"items":[1],"kind":"A","items":[2,3],"kind":"List"}'
    parts = layout(data, 0)
    assert [data[at : at + 1] for at in list(parts.items or [])[::2]] == [b"2", b"3"]
    assert data[slice(*parts.spans[b"kind"])] == b'"List"'
    assert layout(b'{"items":[1],"items":null}', 0).items is None


WRONG = [
    (b'{"a":]}', "invalid character ']' looking for beginning of value", 6),
    (b'{"a" 1}', "invalid character '1' after object key", 6),
    (b"{a:1}", "invalid character 'a' looking for beginning of object key string", 2),
    (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair", 8),
    (b"[1 2]", "invalid character '2' after array element", 4),
    (b"[1,]", "invalid character ']' looking for beginning of value", 4),
    (b"tru ", "invalid character ' ' in literal true (expecting 'e')", 4),
    (b"-x", "invalid character 'x' in numeric literal", 2),
    (b"1.x", "invalid character 'x' after decimal point in numeric literal", 3),
    (b"1ex", "invalid character 'x' in exponent of numeric literal", 3),
    (b"1e+x", "invalid character 'x' in exponent of numeric literal", 4),
    (b'"\x01"', "invalid character '\\x01' in string literal", 2),
    (b'"\\q"', "invalid character 'q' in string escape code", 3),
    (b'"\\n\\u"', "invalid character '\"' in \\u hexadecimal character escape", 6),
    (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape", 6),
    (b"[" * 10001, "exceeded max depth", 10001),
]


@pytest.mark.parametrize(("data", "text", "offset"), WRONG, ids=[text for _, text, _ in WRONG])
def test_what_is_wrong_is_said_in_gos_words_with_its_offset(data, text, offset):
    with pytest.raises(JsonSyntaxError) as caught:
        check_value(b"  " + data, 2, 2)
    assert (str(caught.value), caught.value.offset) == (text, offset)


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"a"', b'{"a":', b"[1", b"[1,", b'"x', b'"\\', b'"\\u1', b"tr", b"-", b"1e"]
)
def test_bytes_that_end_early_are_no_syntax_error(data):
    with pytest.raises(UnexpectedEnd):
        check_value(data, 0)
    assert data[:1] in b"-1t" or value_end(data, 0) == -1


def test_white_space_is_that_of_json():
    assert skip_space(b" \t\r\n\x0bx", 0) == 4


@pytest.mark.parametrize("tail", [b"", b'"open'], ids=["between", "in a string"])
def test_bytes_that_end_inside_a_long_list_are_looked_at_once(monkeypatch, tail):
    starts = []

    class Structure:
        """Searches as the pattern does: from each following byte again until it fits."""

        def finditer(self, data, at):
            while at <= len(data):
                starts.append(at)
                match = pattern.match(data, at)
                if match:
                    yield match
                at = max(at + 1, match.end()) if match else at + 1

    pattern = json_stream._STRUCTURE
    monkeypatch.setattr(json_stream, "_STRUCTURE", Structure())
    data = b'{"items":[' + b'"0123456789",' * 1000 + tail
    assert value_end(data, 0) == -1
    assert starts == [0, 1, 10]


def test_the_work_for_a_value_grows_with_its_brackets():
    short, long = (b'{"items":[' + b'{"a":[1]},' * count + b'"open' for count in (100, 800))
    assert calls_of(lambda: value_end(long, 0)) < 12 * calls_of(lambda: value_end(short, 0))
