"""What field selectors see of an object: paths as the server evaluates them, values as Go prints them."""

import pytest

from auditor.base.errors import SelectorError
from auditor.crds.definition import CrdVersion
from auditor.selectors.selectable_fields import selectable, selectable_values


def version(*paths):
    return CrdVersion("v1", served=True, storage=True, schema=None, structural=None, selectable_fields=paths)


def see(path, obj):
    return selectable(version(path), obj, False)[path.removeprefix(".")]


@pytest.mark.parametrize(
    ("value", "text", "typed"),
    [
        ("x", "x", "x"),
        ("", "", ""),
        (-1, "-1", -1),
        (True, "true", True),
        (None, "", None),
        (1000000, "1000000", 1000000),
        (1000000.0, "1e+06", 1000000),
        (5.0, "5", 5),
        (0.5, "0.5", None),
        (1e21, "1e+21", None),
        ({"b": 1, "a": "x"}, "map[a:x b:1]", None),
        ([1, "x"], "[1 x]", None),
    ],
)
def test_values_print_as_in_go_and_keep_their_type(value, text, typed):
    obj = {"spec": {"v": value}}
    assert see(".spec.v", obj) == text
    found = selectable_values(version(".spec.v"), obj)["spec.v"]
    assert found == typed
    assert type(found) is type(typed)


def test_names_come_first_and_the_namespace_only_where_there_is_one():
    obj = {"metadata": {"name": "x", "namespace": "d"}, "spec": {"c": "blue"}}
    assert list(selectable(version(".spec.c"), obj, True).items()) == [
        ("metadata.name", "x"),
        ("metadata.namespace", "d"),
        ("spec.c", "blue"),
    ]
    assert selectable(version(), obj, False) == {"metadata.name": "x"}
    assert selectable(version(), {"metadata": {}}, True) == {"metadata.name": "", "metadata.namespace": ""}
    assert selectable(version(), {}, False) == {"metadata.name": ""}


OBJ = {
    "spec": {
        "a": "A",
        "a-b": "dash",
        "0": "zero",
        "é": "accent",
        "d.e": "dotted",
        "l": [{"x": 1}],
        "one": {"k": "only"},
        "two": {"k": 1, "l": 2},
        "n": None,
        "s": "Z",
    }
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".spec.a", "A"),
        (".spec.a-b", "dash"),
        (".spec.0", "zero"),
        (".spec.é", "accent"),
        (".spec.d\\.e", "dotted"),
        (".spec.missing", ""),
        (".spec.a.b", ""),
        (".spec.n.b", ""),
        (".spec.l.x", ""),
        (".missing.b.c", ""),
        (".spec.one.*", "only"),
        (".spec.missing.*", ""),
        (".spec.s.*", "90"),
        (".spec.a$", "A"),
        (".spec.a@5", "5"),
        (".spec.a$true", "true"),
        (".spec.a 1.5", "1.5"),
        (".spec.a 99999999999999999999", "1e+20"),
        (".spec.a '\\t'", "\t"),
        (".spec.a '\\\\\\'x'", "\\'x"),
        (".spec.missing}x", ""),
        ("..k.missing", ""),
        ("..a-b", "dash"),
    ],
)
def test_paths_are_evaluated_by_their_own_syntax(path, text):
    assert see(path, OBJ) == text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".spec.a b", "unexpected error finding value with jsonPath: unrecognized identifier b"),
        (".spec.a@x", "unexpected error finding value with jsonPath: unrecognized identifier x"),
        (".missing.a x", "unexpected error finding value with jsonPath: unrecognized identifier x"),
        (".spec.a,b", "unexpected error parsing jsonPath: unrecognized character in action: U+002C ','"),
        (".spec.a\\", "unexpected error parsing jsonPath: unclosed action"),
        (".spec.a\n", "unexpected error parsing jsonPath: unclosed action"),
        (".spec..", "unexpectedly received more than one JSON path result"),
        (".spec....a", "unexpected error parsing jsonPath: invalid multiple recursive descent"),
        (".spec.a$-", "unexpected error parsing jsonPath: cannot parse number -"),
        (f".spec.a {'1' * 400}", f"unexpected error parsing jsonPath: cannot parse number {'1' * 400}"),
        (".spec.a '\\q'", "unexpected error parsing jsonPath: unquote string '\\q' error invalid syntax"),
        (".spec.a}x", "unexpectedly received more than one JSON path result"),
        (".spec.a$1\u0663", "unexpected error parsing jsonPath: cannot parse number 1\u0663"),
        (
            ".spec.a$\U0001f6dc",
            "unexpected error parsing jsonPath: unrecognized character in action: U+1F6DC '\U0001f6dc'",
        ),
        (".spec.two.*", "unexpectedly received more than one JSON path result"),
        ("..k", "unexpectedly received more than one JSON path result"),
    ],
)
def test_paths_that_fail_do_so_in_the_servers_words(path, text):
    with pytest.raises(SelectorError) as caught:
        selectable(version(".spec.a", path), OBJ, True)
    assert caught.value.found == text
