"""`query` says what to type next: `get` as kubectl calls it, --where for refused selectors, --show-secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from auditor.selectors.grammar import FieldRequirement
from auditor.selectors.where import compile_where, expression_of
from tests.command import auditor
from tests.documents import export_of
from tests.pipelines.nights.support import definition, loaf

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


@pytest.mark.parametrize(
    ("kind", "path", "said"),
    [
        ("pods", ".spec.nodname", "there is no field spec.nodname in Pod; did you mean spec.nodeName"),
        ("pods", ".metadata.naem", "there is no field metadata.naem in Pod; did you mean metadata.name?"),
        ("pods", ".spec.containers.image", "spec.containers is a list in Pod; did you mean spec.containers[*].image?"),
        ("pods", ".spec.containers[*].imag", "there is no field spec.containers[*].imag in Pod; did you mean spec.containers[*].image?"),
        ("loafs", "{.spec.flower}", "there is no field spec.flower in Loaf; did you mean spec.flour?"),
        ("'*'", "{", "unexpected path string"),
    ],
)  # fmt: skip
def test_a_count_by_a_field_that_no_object_can_have_is_refused(tmp_path: Path, kind: str, path: str, said: str) -> None:
    export_of(tmp_path / "dump.json", *OBJECTS, definition(), loaf("a"))
    done = auditor("query", tmp_path / "dump.json", kind.strip("'"), "--count-by", path)
    assert (done.code, done.stdout) == (2, "")
    assert f"error: --count-by: {said}" in done.stderr


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("pods", ".spec.containers[0].image"),
        ("pods", ".metadata.labels.app"),
        ("pods", "..image"),
        ("pods", ".spec.volumes[?(@.name=='a')].configMap.name"),
        ("configmaps", ".data.x"),
        ("loafs", ".kind"),
        ("loafs", "['spec'].flour"),
    ],
)
def test_a_count_by_a_field_that_an_object_could_have_is_not(tmp_path: Path, kind: str, path: str) -> None:
    export_of(tmp_path / "dump.json", *OBJECTS, definition(), loaf("a"))
    assert auditor("query", tmp_path / "dump.json", kind, "--count-by", path).code == 0


def test_all_kinds_are_counted_by_a_field_that_some_have(tmp_path: Path) -> None:
    export_of(tmp_path / "dump.json", *OBJECTS, definition(), loaf("a"))
    done = auditor("query", tmp_path / "dump.json", "*", "--count-by", ".spec.flour", "-o", "csv")
    assert (done.code, done.stdout) == (0, "objects,value\n1,rye\n")
    assert done.stderr.endswith("not searched, as they have no such field: ConfigMap, Pod, Secret and 1 more kind\n")


@pytest.mark.parametrize(
    ("kind", "selector", "hint"),
    [
        ("pods", "spec.nodname=x", "there is no field spec.nodname; did you mean spec.nodeName"),
        ("pods", "spec.containers.image=x", "spec.containers is a list; use spec.containers.exists(item, ...)"),
        ("pods", "spec.containers=x", "--where takes any field, as CEL"),
        ("namespaces", "metadata.finalizers=a", """use --where 'has(metadata.finalizers) && "a" in metadata.finalizers'"""),
        ("namespaces", "metadata.finalizers!=3", """use --where '!has(metadata.finalizers) || !(metadata.finalizers.exists(item, string(item) == "3"))'"""),
    ],
)  # fmt: skip
def test_the_hint_knows_lists_and_misspelt_fields(tmp_path: Path, kind: str, selector: str, hint: str) -> None:
    names = {"a": ["a"], "b": ["b", "3"], "c": None}
    spaces = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "finalizers": of} if of else {"name": name},
        }
        for name, of in names.items()
    ]
    export_of(tmp_path / "dump.json", *OBJECTS, *spaces)
    done = auditor("query", tmp_path / "dump.json", kind, "--field-selector", selector)
    assert done.code == 1
    assert f"\nhint: {hint}" in done.stderr
    if kind == "namespaces":
        done = auditor("query", tmp_path / "dump.json", kind, "--where", hint.split("'")[1], "-o", "name")
        assert done.stdout.split() == [f"namespace/{name}" for name in ("a" if selector.endswith("=a") else "ac")]


def test_explain_names_the_first_field_that_does_not_exist(dump: Path) -> None:
    for more in ((), ("--values",)):
        done = auditor("explain", dump, "pods.spec.contaners.image", *more)
        assert done.code == 1
        assert done.stderr.startswith(  # the first line is kubectl's
            'error: field "image" does not exist\nthere is no field spec.contaners; did you mean spec.containers'
        )


def test_the_help_of_history_names_the_dumps_that_have_none(dump: Path) -> None:
    assert "Exports have none, and those in a database of kine (k3s) are not" in auditor("history", "--help").stdout
    done = auditor("history", dump)
    assert done.code == 2
    assert "past revisions are not read from the form" in done.stderr
