"""How commands take a kind and a name, and what they say of one that does not exist: each in the same way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.command import auditor
from tests.documents import export_of
from tests.pipelines.nights.support import Store, definition, loaf
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = {
    "query": ("query", "DUMP"),
    "show": ("show", "DUMP"),
    "history": ("history", "DUMP"),
    "refs": ("refs", "DUMP"),
    "diff": ("diff", "DUMP", "DUMP"),
}


@pytest.fixture
def dump(tmp_path: Path) -> str:
    history = History()
    for obj in (definition(), loaf("a"), loaf("b")):
        history.put(Store.key(obj).encode(), json.dumps(obj).encode())
    path = tmp_path / "dump.db"
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    return str(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_kind_and_name_are_one_word_or_two(command: str, dump: str) -> None:
    words = [dump if word == "DUMP" else word for word in COMMANDS[command]]
    one, two = auditor(*words, "loafs/a"), auditor(*words, "loaf", "a")
    assert one.code == two.code == 0, two.output
    assert one.output == two.output


@pytest.mark.parametrize("command", [*COMMANDS, "explain"])
def test_an_unknown_kind_is_not_found(command: str, dump: str) -> None:
    words = [dump if word == "DUMP" else word for word in COMMANDS.get(command, ("explain", "DUMP"))]
    done = auditor(*words, "loafz" if command == "explain" else "loafz/a")
    assert (done.code, done.stdout) == (1, "")
    assert "loafz" in done.stderr
    assert "did you mean loafs.bakery.example.com?" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_errors_in_arguments_name_the_command(command: str, dump: str) -> None:
    words = [dump if word == "DUMP" else word for word in COMMANDS[command]]
    done = auditor(*words, "loafs", "loafs/a")
    assert (done.code, done.stdout) == (2, "")
    assert f"'auditor {command} DUMP resource/<resource_name>'" in done.stderr
    assert "kubectl" not in done.stderr


@pytest.mark.parametrize("command", ["history", "refs", "diff"])
def test_one_object_at_most_is_taken(command: str, dump: str) -> None:
    words = [dump if word == "DUMP" else word for word in COMMANDS[command]]
    done = auditor(*words, "loafs", "a", "b")
    assert (done.code, done.stdout, "give one KIND/NAME" in done.stderr) == (2, "", True)


def test_all_kinds_in_a_namespace_are_those_that_have_one(tmp_path: Path) -> None:
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("north", "bare")]
    export_of(tmp_path / "dump.json", definition(), *spaces, loaf("a"), loaf("b", namespace="south"))
    done = auditor("query", tmp_path / "dump.json", "*", "-n", "north", "-o", "name")
    assert (done.code, done.output) == (0, "loaf.bakery.example.com/a\n")
    done = auditor("query", tmp_path / "dump.json", "*", "-n", "bare")
    assert (done.code, done.output) == (0, "No resources found in bare namespace.\n")
    assert "namespace/north" in auditor("query", tmp_path / "dump.json", "*", "-o", "name").stdout


def test_the_counts_of_all_kinds_are_those_that_are_not_zero_and_their_sum(tmp_path: Path) -> None:
    export_of(tmp_path / "dump.json", definition(), definition("Roll"), loaf("a"), loaf("b"), loaf("c", kind="Roll"))
    names = {"loafs.bakery.example.com 2", "rolls.bakery.example.com 1", "total 5"}
    done = auditor("query", tmp_path / "dump.json", "*", "--count")
    assert names <= set(done.stdout.splitlines())
    for name, printed in (("a", "loafs.bakery.example.com 1\n"), ("z", "total 0\n")):
        done = auditor("query", tmp_path / "dump.json", "*", "--count", "--where", f"metadata.name == '{name}'")
        assert (done.code, done.output) == (0, printed)
    done = auditor("query", tmp_path / "dump.json", "loafs,rolls", "--count", "--where", "metadata.name == 'a'")
    assert done.stdout == "loafs.bakery.example.com 1\nrolls.bakery.example.com 0\n"


@pytest.mark.parametrize("form", ["name", "json", "yaml"])
def test_an_object_of_a_kind_without_definition_is_named_and_left_out(tmp_path: Path, form: str) -> None:
    store = Store(definition(), loaf("a"))
    store.put(loaf("odd", kind="Teacup"), "/registry/bakery.example.com/loafs/north/odd")
    done = auditor("query", store.write(tmp_path / "dump.json", "etcdctl"), "loafs", "-o", form)
    assert (done.code, "odd" in done.stdout) == (3, False)
    assert done.stderr == (
        "error: /registry/bakery.example.com/loafs/north/odd is left out: "
        'no matches for kind "Teacup" in version "bakery.example.com/v1"\n'
    )


@pytest.mark.parametrize("form", ["etcdctl", "export"])
def test_values_without_a_definition_are_named_where_they_are(tmp_path: Path, form: str) -> None:
    ghosts = [loaf(name, kind="Ghost", group="gone.example.com") for name in "ab"]
    dump = Store(definition(), loaf("a"), *ghosts, loaf("c", kind="Elf")).write(tmp_path / "dump", form)
    is_export = form == "export"
    place = "Ghost.gone.example.com" if is_export else "/registry/gone.example.com/ghosts/"
    for command in ("query", "refs", "diff"):
        words = [dump if word == "DUMP" else word for word in COMMANDS[command]]
        for name in ("ghosts", "Ghost", "ghosts.gone.example.com"):
            done = auditor(*words, f"{name}/a")
            assert done.code == 1, command
            assert done.stderr.endswith(f"\n2 values at {place} have no definition\n"), command
    elves = "Elf.bakery.example.com" if is_export else "/registry/bakery.example.com/elfs/"
    note = auditor("kinds", dump).stderr
    assert f"3 values of no kind that its definitions name, not counted; 2 at {place}, 1 at {elves}" in note


def test_a_name_that_only_ends_like_a_short_name_has_no_advice(dump: str) -> None:
    for name, advice in (
        ("ghosts", ""),
        ("dep", "did you mean deployments.apps?\n"),
        ("deploymnet", "did you mean deployments.apps?\n"),
    ):
        done = auditor("query", dump, name)
        assert done.stderr == f'error: the server doesn\'t have a resource type "{name}"\n{advice}'
