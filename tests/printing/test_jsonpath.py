"""JSONPath where client-go's library has ways of its own; each answer is the library's."""

import pytest

from auditor.printing.jsonpath import JsonPathError, compile_template

OBJECT = {"a": {"b": "x"}, "x.y": "dot", "n": None, "l": [None], "s": "text"}


@pytest.mark.parametrize(("template", "text"), [("{.*.d}", ""), ("{.*.d.*} after", " after"), ("{$.*...i}", "")])
def test_what_has_no_input_has_no_output(template, text):
    assert compile_template(template).execute(5, allow_missing=False) == text


@pytest.mark.parametrize(
    ("template", "stage", "text"),
    [
        ("{.s.d}", "exec", "d is not found"),
        ("{.s.*.d}", "exec", "d is not found"),
        ("{.a.d.*}", "exec", "d is not found"),
        ("{x\\.y}", "exec", "unrecognized identifier x\\"),
        ("{end\\}", "exec", "unrecognized identifier end\\"),
        ("{k\\[?(@.a}", "parse", "unterminated filter"),
        ("{.n[?(@.x)]}", "exec", "<nil> is not array or slice and cannot be filtered"),
        ("{.s[?(@.x)]}", "exec", "text is not array or slice and cannot be filtered"),
        ("{..\u00b2}", "parse", "unrecognized character in action: U+00B2 '\u00b2'"),
        ("{\u0663}", "parse", "cannot parse number \u0663"),
        ("{+1\U00011f50}", "parse", "cannot parse number +1\U00011f50"),
        ("{\U00031350}", "exec", "unrecognized identifier \U00031350"),
        ("{\U0002ebf0}", "parse", "unrecognized character in action: U+2EBF0"),
        ("{\U000323af}", "exec", "unrecognized identifier \U000323af"),
        ("{\U0001f6dc}", "parse", "unrecognized character in action: U+1F6DC '\U0001f6dc'"),
    ],
)
def test_what_goes_wrong_is_said_as_the_library_says_it(template, stage, text):
    with pytest.raises(JsonPathError) as caught:
        compile_template(template).execute(OBJECT, allow_missing=False)
    assert (caught.value.stage, str(caught.value)) == (stage, text)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{'\\U00110000'}", "unquote string '\\U00110000' error invalid syntax"),
        ("{'\\ud800'}", "unquote string '\\ud800' error invalid syntax"),
        ("{'a\\\\'b'}", "unquote string 'a\\\\'b' error invalid syntax"),
        (f"{{{'1' * 400}}}", f"cannot parse number {'1' * 400}"),
        (f"{{{'1' * 5000}}}", f"cannot parse number {'1' * 5000}"),
    ],
)
def test_literals_of_what_cannot_be_held_do_not_parse(template, text):
    with pytest.raises(JsonPathError) as caught:
        compile_template(template)
    assert (caught.value.stage, str(caught.value)) == ("parse", text)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{range .r[*]}{range .r[*]}{.k}{end}{.k}", "121"),
        ("{range .r[*]}{range .r[*]}[{.k}]{end}", ""),
        ("{range .r[*]}{.k}{end}{range .r[*]}{.k}", "12121"),
        ("{range .none}{range .r[*]}{.k}{end}|{.k}", "|1"),
        ("{.r[?(range)]}", ""),
    ],
)
def test_a_range_without_an_end_ends_where_the_last_one_did(template, text):
    assert compile_template(template).execute({"k": 1, "r": [{"k": 1}, {"k": 2}]}) == text
