"""`query` says what to type next: `get` as kubectl calls it, --where for refused selectors, --show-secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from auditor.selectors.grammar import FieldRequirement
from auditor.selectors.where import compile_where, expression_of
from tests.command import auditor
from tests.documents import export_of

if TYPE_CHECKING:
    from pathlib import Path

OBJECTS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "n"}, "data": {"key": "VkFMVUU="}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}, "data": {"a": "(redacted)"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": {"priority": 3}},
]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.json"
    export_of(path, *OBJECTS)
    return path


def test_get_is_query(dump: Path) -> None:
    assert auditor("get", dump, "pods", "-o", "name").stdout == "pod/p\n"
    assert "\n  get" not in auditor("--help").stdout
    assert auditor("get", "--help").stdout == auditor("query", "--help").stdout


def test_a_refused_field_selector_is_followed_by_the_predicate_that_means_the_same(dump: Path) -> None:
    done = auditor("query", dump, "pods", "--field-selector", "spec.priority=3")
    assert done.code == 1
    *_, hint = done.stderr.splitlines()
    assert hint == """hint: use --where 'has(spec.priority) && string(spec.priority) == "3"'"""
    where = hint.partition("'")[2].removesuffix("'")
    assert auditor("query", dump, "pods", "--where", where, "-o", "name").stdout == "pod/p\n"
    done = auditor("query", dump, "pods,configmaps", "--field-selector", "metadata.labels.a/b=c")
    assert done.stderr.count("hint: ") == 1
    assert done.stderr.endswith("hint: --where takes any field, as CEL\n")


@pytest.mark.parametrize(("spec", "text"), [({}, ""), ({"a": "x"}, "x"), ({"a": 3}, "3"), ({"a": ""}, "")])
@pytest.mark.parametrize("value", ["", "x", "3"])
@pytest.mark.parametrize("negated", [False, True])
def test_the_predicate_selects_as_the_selector_would(
    spec: dict[str, Any], text: str, value: str, *, negated: bool
) -> None:
    requirement = FieldRequirement("spec.a", value, negated)
    assert compile_where(expression_of(requirement)).test({"spec": spec}) is requirement.matches({"spec.a": text})


@pytest.mark.parametrize("form", ["jsonpath={.items[*].data}", "custom-columns=A:.data.key"])
def test_a_redacted_value_in_a_template_has_one_note(dump: Path, form: str) -> None:
    done = auditor("query", dump, "secrets", "-o", form)
    assert "(redacted)" in done.stdout
    assert done.stderr == "note: (redacted) replaces values of Secrets, which --show-secrets prints\n"
    assert auditor("query", dump, "secrets", "-o", form, "--show-secrets").stderr == ""
    assert auditor("query", dump, "configmaps", "-o", form).stderr == ""
    assert auditor("query", dump, "secrets", "-o", "jsonpath={.items[*].metadata.name}").stderr == ""


def test_errors_name_the_help_of_this_program(dump: Path) -> None:
    for words in ((), ("pods", "pod/p")):
        done = auditor("query", dump, *words)
        assert done.code == 2
        assert "kubectl" not in done.stderr
    assert "`auditor query -h`" in auditor("query", dump).stderr


@pytest.mark.parametrize("kinds", ["*", "pods,configmaps"])
def test_a_table_of_several_kinds_that_cannot_be_sorted_says_what_can(dump: Path, kinds: str) -> None:
    done = auditor("query", dump, kinds, "--sort-by", ".metadata.name")
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr == (
        'error: couldn\'t find any field with path "{.metadata.name}" in the list of objects\n'
        "hint: a table of several kinds has no order; name one kind, or add -o name or -o json\n"
    )
    for words in (("pods",), (kinds, "-o", "name"), (kinds, "-o", "json")):
        assert auditor("query", dump, *words, "--sort-by", ".metadata.name").code == 0
