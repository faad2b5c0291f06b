"""Conversion: its changes, and its errors."""

import pytest

from auditor.crds.conversion import ConversionError, convert, parse_group_version
from auditor.crds.definition import parse_definition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("", "")),
        ("/", ("", "")),
        ("v1", ("", "v1")),
        ("g.io/v1", ("g.io", "v1")),
        ("g.io/", ("g.io", "")),
        ("/v1", ("", "v1")),
        ("a/b/c", None),
        ("//", None),
    ],
)
def test_an_api_version_has_a_group_and_a_version(text, expected):
    assert parse_group_version(text) == expected


def definition(strategy="None"):
    return parse_definition(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "foos.g.io"},
            "spec": {
                "group": "g.io",
                "scope": "Namespaced",
                "names": {"plural": "foos", "kind": "Foo"},
                "conversion": {"strategy": strategy},
                "versions": [{"name": "v1", "served": True, "storage": True}, {"name": "v2", "served": False}],
            },
        }
    )


@pytest.mark.parametrize("target", ["v1", "v2"])
def test_without_a_webhook_the_version_alone_changes(target):
    obj = {"apiVersion": "g.io/v1", "kind": "Other", "spec": {"a": 1}}
    convert(obj, definition(), target)
    assert obj == {"apiVersion": f"g.io/{target}", "kind": "Other", "spec": {"a": 1}}


@pytest.mark.parametrize(
    ("api_version", "target", "text"),
    [
        (None, "v1", '/, Kind=Foo is unstructured and is not suitable for converting to "g.io/v1"'),
        ("v1", "v2", '/v1, Kind=Foo is unstructured and is not suitable for converting to "g.io/v2"'),
        ("x.io/v1", "v1", 'x.io/v1, Kind=Foo is unstructured and is not suitable for converting to "g.io/v1"'),
        ("g.io/v9", "v1", "request to convert CR from an invalid group/version: g.io/v9"),
        ("g.io/v9", "v8", "request to convert CR to an invalid group/version: g.io/v8"),
        ("g.io/", "v1", "request to convert CR from an invalid group/version: g.io/"),
    ],
)
@pytest.mark.parametrize("strategy", ["None", "Webhook"])
def test_what_cannot_be_converted_is_refused_in_the_servers_words(api_version, target, text, strategy):
    obj = {"kind": "Foo", "metadata": {}}
    if api_version is not None:
        obj["apiVersion"] = api_version
    with pytest.raises(ConversionError) as caught:
        convert(obj, definition(strategy), target)
    assert str(caught.value) == text


def test_a_webhook_is_needed_where_the_versions_differ():
    obj = {"apiVersion": "g.io/v1", "kind": "Foo", "metadata": {}}
    convert(obj, definition("Webhook"), "v1")
    with pytest.raises(ConversionError, match=r"^conversion webhook needed: from g\.io/v1 to g\.io/v2$"):
        convert(obj, definition("Webhook"), "v2")
    assert obj["apiVersion"] == "g.io/v1"
