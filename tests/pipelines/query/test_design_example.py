"""The example of the design of selectable fields: three shirts, by colour and size."""

import json

import pytest

from tests.command import auditor
from tests.documents import named_definition

SHIRTS = {"example1": ("blue", "S"), "example2": ("blue", "M"), "example3": ("green", "M")}
TEXT = {"type": "string"}
DEFINITION = named_definition(
    "shirts.stable.example.com",
    "Shirt",
    {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"color": TEXT, "size": TEXT}}},
    },
    selectableFields=[{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}],
)


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    lines = [DEFINITION]
    for name, (color, size) in SHIRTS.items():
        metadata = {"name": name, "namespace": "default"}
        spec = {"color": color, "size": size}
        lines.append({"apiVersion": "stable.example.com/v1", "kind": "Shirt", "metadata": metadata, "spec": spec})
    path = tmp_path_factory.mktemp("shirts") / "dump.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def report(dump):
    run("audit", dump, "--report", dump.parent / "report", "--jobs", 1)
    return dump.parent / "report"


def run(*words):
    done = auditor(*words)
    assert done.code == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("spec.color=blue", ["example1", "example2"]),
        ("spec.color=green,spec.size=M", ["example3"]),
    ],
)
@pytest.mark.parametrize("of", ["dump", "report"])
def test_shirts_are_selected_by_colour_and_size(request, of, selector, names):
    target = request.getfixturevalue(of)
    answer = run("query", target, "shirts", "-A", "--field-selector", selector, "-o", "name")
    assert answer.split() == [f"shirt.stable.example.com/{name}" for name in names]
