"""URLs: valid texts, their parts, fragments. Answers are the server's."""

import pytest

from auditor.cel.cel_errors import CelError
from auditor.cel.library.urls import functions, to_url
from auditor.cel.operations.equality import equal_not_null
from tests.cel.library.calling import outcome

LIBRARY = functions()
DOING = "URL parse error during conversion from string: "


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", 'parse "": empty url'),
        ("bad url", 'parse "bad url": invalid URI for request'),
        ("#x", 'parse "#x": invalid URI for request'),
        ("http://a b/", 'parse "http://a b/": invalid character " " in host name'),
        ("https://%zz/", 'parse "https://%zz/": invalid URL escape "%zz"'),
        ("https://h:80port", 'parse "https://h:80port": invalid port ":80port" after host'),
        ("/a\n", 'parse "/a\\n": net/url: invalid control character in URL'),
        ("/#%zz", 'parse "/#%zz": invalid URL escape "%zz"'),
    ],
)
def test_what_is_no_url_is_refused_in_the_servers_words(text, complaint):
    assert outcome(LIBRARY, "string_to_url", text) == CelError(DOING + complaint)
    assert outcome(LIBRARY, "is_url_string", text) is False


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("/?q#%zz", 'parse "/?q#%zz": invalid URL escape "%zz"'),
        ("//a b/", 'parse "//a b/": invalid character " " in host name'),
        ("//h:x/", 'parse "//h:x/": invalid port ":x" after host'),
        ("//[::1/#f", "parse \"//[::1/\": missing ']' in host"),
    ],
)
def test_what_passes_as_a_uri_may_still_be_no_url(text, complaint):
    assert outcome(LIBRARY, "is_url_string", text) is True
    assert outcome(LIBRARY, "string_to_url", text) == CelError(DOING + complaint)


@pytest.mark.parametrize(
    ("text", "scheme", "host", "hostname", "port", "path", "query"),
    [
        ("https://u@h.io:8443/a?x=1&y=2#f", "https", "h.io:8443", "h.io", "8443", "/a", {"x": ["1"], "y": ["2"]}),
        ("HTTP://[::1]:80/", "http", "[::1]:80", "::1", "80", "/", {}),
        ("/rel/%41 b?x&x=2&=3&a=%zz&b;c=1#?y", "", "", "", "", "/rel/A%20b", {"x": ["", "2"], "": ["3"]}),
        ("//h:1/p?q=#f", "", "h:1", "h", "1", "/p", {"q": [""]}),
        ("///p", "", "", "", "", "///p", {}),
        ("mailto:a@b?c=d#e", "mailto", "", "", "", "", {"c": ["d"]}),
        ("http://h/a%2Fb", "http", "h", "h", "", "/a%2Fb", {}),
        ("*", "", "", "", "", "*", {}),
    ],
)
def test_parts_of_a_url(text, scheme, host, hostname, port, path, query):
    url = to_url(text)
    ids = ("scheme", "host", "hostname", "port", "escaped_path", "query")
    found = tuple([outcome(LIBRARY, f"url_get_{part}", url) for part in ids])
    assert found == (scheme, host, hostname, port, path, query)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("http://h/a", "HTTP://h/a", True),
        ("http://h/%61", "http://h/a", False),
        ("/a#x", "/a", False),
        ("/a#", "/a", True),
        ("/?a#b c", "/?a#b%20c", True),
        ('/?a#%41"', "/?a#A%22", True),
        ("/?a#[x]", "/?a#%5Bx%5D", False),
        ("//h/a", "/a", False),
    ],
)
def test_urls_are_equal_as_the_server_writes_them(left, right, same):
    assert equal_not_null(to_url(left), to_url(right)) is same
    assert (to_url(left) == to_url(right)) is same
    assert not same or hash(to_url(left)) == hash(to_url(right))


def test_a_url_equals_no_other_kind_of_value():
    assert equal_not_null(to_url("/a"), "/a") == CelError("no such overload")
