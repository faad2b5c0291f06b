"""JSON as the server's decoder reads it, and as its encoder writes it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.golang import jsontext
from auditor.golang.go_text import display, float_json, float_v, quote
from auditor.golang.jsontext import (
    GoJsonError,
    decode,
    decode_exactly,
    decode_object,
    encode,
    encode_exactly,
    proven_text,
)
from auditor.printing.jsonprint import to_json, to_json_exactly
from tests.cases import of_each
from tests.golang.recorded_answers import recorded, shown

RECORDED = recorded("json")
DECODERS = pytest.mark.parametrize("read", [decode, decode_exactly], ids=["quick", "exact"])


def typed(value):
    kind = type(value)
    if kind is str:
        return "s" + value
    if kind is int:
        return f"i{value}"
    if kind is float:
        return f"f{float_v(value)} {float_json(value)}"
    if kind is list:
        return [typed(item) for item in value]
    if kind is dict:
        return {key: typed(item) for key, item in value.items()}
    return value


@DECODERS
@of_each("data, answer", RECORDED, ids=shown)
def test_reads_and_refuses_what_the_server_does(read, data, answer):
    try:
        value = read(data)
    except GoJsonError as error:
        assert {"err": str(error)} == answer  # noqa: PT017
    else:
        assert [typed(value), display(value), quote(display(value)), encode(value)] == answer


@DECODERS
@pytest.mark.parametrize("before", ["", "a", "\\n", "\\u0041", "\\n" * 40])
@pytest.mark.parametrize(("escape", "found"), [("\\u", '"'), ("\\u12", '"'), ("\\u12g4", "g"), ("\\u\\n", "\\\\")])
def test_half_an_escape_is_none(read, before, escape, found):
    for around in ("%s", "[%s]", '{%s:1,"a":"b"}', '{"a":%s,"b":["c"]}'):
        with pytest.raises(GoJsonError) as caught:
            read((around % f'"{before}{escape}"').encode())
        assert str(caught.value) == f"invalid character '{found}' in \\u hexadecimal character escape"


NUMBERS = [
    (b"9223372036854775807", 9223372036854775807),
    (b"9223372036854775808", 9.223372036854775807e18),
    (b"18446744073709551615", 1.8446744073709552e19),
    (b"18446744073709551616", 1.8446744073709552e19),
    (b"-9223372036854775808", -9223372036854775808),
    (b"-9223372036854775809", -9.223372036854775809e18),
    (b"-0", 0),
    (b"-0.0", -0.0),
    (b"1.0", 1.0),
    (b"1e3", 1000.0),
    (b"1E-400", 0.0),
]


@DECODERS
@pytest.mark.parametrize("around", [b"%s", b"[%s]", b'{"a":[{"b":%s}]}', b'["%s", %%s]' % (b"1" * 19)])
@pytest.mark.parametrize(("text", "number"), NUMBERS, ids=[case[0].decode() for case in NUMBERS])
def test_integers_beyond_int64_are_floats_wherever_they_are(read, around, text, number):
    value = read(around % text)
    while type(value) in (list, dict):
        value = value[-1] if type(value) is list else next(iter(value.values()))
    assert (type(value), repr(value)) == (type(number), repr(number))


@DECODERS
@pytest.mark.parametrize("offset", range(7))
def test_wide_integers_are_found_at_every_offset(read, offset):
    data = b" " * offset + b'{"a":"x","b":9999999999999999999}'
    assert read(data)["b"] == 1e19
    assert type(read(data)["b"]) is float


@DECODERS
def test_of_equal_keys_the_last_counts_whole(read):
    assert read(b'{"a":{"x":1},"a":{"y":2}}') == {"a": {"y": 2}}
    assert read(b'{"\xff":1,"\xfe":2}') == {"\ufffd": 2}


@DECODERS
def test_depth_ends_at_ten_thousand(read):
    value = read(b"[" * 10_000 + b"]" * 10_000)
    depth = 0
    while value:
        value = value[0]
        depth += 1
    assert depth == 9_999
    with pytest.raises(GoJsonError, match=r"^invalid character '\[' exceeded max depth$"):
        read(b"[" * 10_001 + b"]" * 10_001)
    with pytest.raises(GoJsonError, match=r"^invalid character '{' exceeded max depth$"):
        read(b'{"a":' * 10_001 + b"1" + b"}" * 10_001)


@DECODERS
def test_deep_values_with_wide_integers_are_read(read):
    value = read(b"[" * 5_000 + b"9999999999999999999" + b"]" * 5_000)
    while type(value) is list:
        value = value[0]
    assert value == 1e19


NO_OBJECTS = [
    (b"[]", "array"),
    (b'"a"', "string"),
    (b"1", "number"),
    (b"1.5", "number"),
    (b"true", "bool"),
]


@pytest.mark.parametrize(("data", "kind"), NO_OBJECTS)
def test_what_is_no_object_is_named(data, kind):
    with pytest.raises(GoJsonError) as caught:
        decode_object(data)
    assert str(caught.value) == f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def test_null_is_an_object_without_keys():
    assert decode_object(b"null") == {}
    assert decode_object(b'{"a":1}') == {"a": 1}


def test_a_syntax_error_comes_before_a_number_out_of_range():
    with pytest.raises(GoJsonError, match="unexpected end of JSON input"):
        decode(b"[1E400, ")
    with pytest.raises(GoJsonError, match="cannot unmarshal number 1E400 into Go value of type float64"):
        decode(b"[1E400, 2E400]")


ENCODED = [
    ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
    ("<a href='x'>&", "\"\\u003ca href='x'\\u003e\\u0026\""),
    ('\u2028\u2029\x00\x1f\x7f\b\f\n\r\t"\\/', '"\\u2028\\u2029\\u0000\\u001f\x7f\\b\\f\\n\\r\\t\\"\\\\/"'),
    ({"<": []}, '{"\\u003c":[]}'),
    ([1.0, 1e6, 1e21, 1e-7, -0.0, 100], "[1,1000000,1e+21,1e-7,-0,100]"),
    ("é😀\ud800", '"é😀\\ufffd"'),
    ({"é": {}, "z": {}, "\U00010000": {}, "\uffff": {}}, '{"z":{},"é":{},"\uffff":{},"\U00010000":{}}'),
]


@pytest.mark.parametrize(("value", "text"), ENCODED, ids=[case[1] for case in ENCODED])
def test_encodes_as_go_does(value, text):
    assert encode(value) == text


def test_encoding_does_not_recurse():
    value = []
    for _ in range(20_000):
        value = [value]
    assert encode(value) == "[" * 20_001 + "]" * 20_001


def test_only_json_values_are_encoded():
    with pytest.raises(TypeError, match="no JSON value: set"):
        encode({"a": set()})


INTEGERS = st.integers(-(2**63), 2**63 - 1)
SCALARS = (
    st.none()
    | st.booleans()
    | INTEGERS
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=4).filter(lambda key: key.isprintable()), inner, max_size=4)
    ),
)


EDGES = [*map(chr, range(0x21)), *'<>&"\\/\x7f\x80\u2027\u2028\u2029\u202a\ud800\ufffd😀']
PRINTED = st.recursive(
    SCALARS | st.sampled_from(EDGES) | st.integers(2**63, 2**64),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2) | st.sampled_from(EDGES), inner, max_size=4)
    ),
)


@given(PRINTED)
@settings(deadline=None)
def test_what_orjson_writes_is_what_the_exact_encoder_writes(value):
    assert encode([value]) == encode_exactly([value])
    assert to_json({"a": value}) == to_json_exactly({"a": value})


def test_usual_objects_are_written_by_orjson():
    value = {"b": [1, True, None, {}], "a": "".join(set(EDGES) - {"\ud800"})}
    assert proven_text(value) == encode_exactly(value)
    assert [proven_text([each]) for each in EDGES].count(None) == 1
    assert proven_text([1.5]) is proven_text([{"a": 1.0}]) is None


@pytest.mark.parametrize("end", [1.5, 2**64, "\ud800", "a", {"<": ["\u2028"]}])
def test_each_level_is_asked_once(end, monkeypatch):
    value = end
    for level in range(240):
        value = {"next": value, "z": {"own": level}}
    asked = []

    def counting(value, option=0):
        asked.append(len(str(value)))
        return proven_text(value, option)

    monkeypatch.setattr(jsontext, "proven_text", counting)
    assert to_json(value) == to_json_exactly(value)
    assert sum(asked) <= 2 * len(str(value))


def test_deep_values_are_printed():
    value = {"a": 1}
    for _ in range(400):
        value = {"b": value}
    assert to_json(value) == to_json_exactly(value)


@given(JSON)
@settings(deadline=None)
def test_both_decoders_read_back_what_is_encoded(value):
    data = encode(value).encode()
    assert typed(decode(data)) == typed(decode_exactly(data))
    again = decode(data)
    # A whole float is written without point, so it comes back as an integer where int64 holds it.
    expected = json.loads(encode(value), parse_int=lambda digits: int64_or_float(int(digits), digits))
    assert json.dumps(again, sort_keys=True) == json.dumps(expected, sort_keys=True)


def int64_or_float(number, digits):
    return number if -(2**63) <= number < 2**63 else float(digits)


TOKENS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"a"',
    b'"\\u',
    b"d800",
    b'"',
    b"\\",
    b"1",
    b"-",
    b"0",
    b".",
    b"e",
    b"+",
    b"9" * 19,
    b"1e999",
    b"true",
    b"nul",
    b" ",
    b"\n",
    b"\xff",
    b"\xe2\x82",
    b"\xc3\xa9",
    b"\x00",
]


@given(st.lists(st.sampled_from(TOKENS), max_size=14).map(b"".join))
@settings(max_examples=1000, deadline=None)
def test_the_quick_decoder_never_differs_from_the_exact_one(data):
    def outcome(read):
        try:
            return typed(read(data))
        except GoJsonError as error:
            return error.args

    assert outcome(decode) == outcome(decode_exactly)


@given(st.binary(max_size=40))
@settings(deadline=None)
def test_bytes_are_read_or_refused_and_nothing_else(data):
    try:
        jsontext.decode(data)
    except GoJsonError as error:
        assert str(error)  # noqa: PT017
