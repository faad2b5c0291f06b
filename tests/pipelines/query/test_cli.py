"""The commands over the sample data: what they print, what they say when something is wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.command import auditor
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query") / "report"
    done = auditor("audit", SAMPLE, "--report", folder, "--jobs", 1, "--fail-on", "never")
    assert done.code == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report of the unpacked dump, which is beside it."""
    dump = tmp_path_factory.mktemp("unpacked") / "cluster.db"
    dump.write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    assert auditor("audit", dump, "--report", dump.parent / "report", "--jobs", 1, "--fail-on", "never").code == 0
    return dump.parent / "report"


@pytest.fixture(scope="module", params=["dump", "report"])
def target(request: pytest.FixtureRequest, report: Path) -> Path:
    return SAMPLE if request.param == "dump" else report


# -- what they print ---------------------------------------------------------------------------------------------------


def test_a_dump_and_its_report_answer_alike(report: Path) -> None:
    for words in (
        ["loaves", "-o", "wide"],
        ["loaves.v1alpha1.bakery.example.com", "-n", "north", "--show-labels"],
        ["loaf,oven", "-o", "yaml"],
        ["ovens", "--field-selector", "spec.fuel=gas", "-o", "json"],
        ["loaves", "--field-selector", "spec.flour!=rye,metadata.namespace=south", "--sort-by", ".metadata.name"],
        ["loaves", "too-heavy", "-n", "south", "-o", "jsonpath={.spec.flour}"],
        ["loaves", "-o", "custom-columns=N:.metadata.name,F:.spec.flour", "--no-headers"],
        ["loaves", "--count", "-l", "!none"],
        ["configmaps", "-o", "name"],
        ["loaves", "--as", "stored", "-o", "json", "--limit", "4"],
        ["loaves", "--where", 'spec.flour == "rye" && metadata.name.startsWith("loaf")', "-o", "name"],
        ["loaves", "--where", "has(spec.grams) && spec.grams > 500", "-o", "csv"],
    ):
        first, second = auditor("query", SAMPLE, *words), auditor("query", report, *words)
        assert (first.code, second.code) == (0, 0), (words, first.stderr, second.stderr)
        assert first.stdout == second.stdout, words
        assert len(first.stdout.splitlines()) >= 1, words


def test_objects_print_as_read_or_as_stored(target: Path) -> None:
    read = auditor("query", target, "loaves", "shapeless", "-n", "south", "-o", "json")
    stored = auditor("query", target, "loaves", "shapeless", "-n", "south", "-o", "json", "--as", "stored")
    assert json.loads(read.stdout)["spec"].keys() > json.loads(stored.stdout)["spec"].keys()


def test_a_broken_kind_still_answers_and_says_what_a_server_would(target: Path) -> None:
    done = auditor("query", target, "orders", "-o", "name")
    assert done.code == 3
    assert "order.bakery.example.com/" in done.stdout
    assert "500: corrupt object /registry/bakery.example.com/orders/north/order-torn" in done.stderr
    served = auditor("query", target, "orders", "--as-server", "-o", "json")
    assert served.code == 1
    assert json.loads(served.stdout)["items"] == []  # as kubectl prints; the exit code and the error say more
    assert served.stderr.startswith("Error from server (StorageReadError): failed to read one or more orders")


@pytest.mark.parametrize("words", [["--chunk-size", "0"], ["--sort-by", ".metadata.name"], ["-l", "!a"]])
def test_a_list_that_only_the_watch_cache_answers_fails_in_its_words(target: Path, words: list[str]) -> None:
    """kubectl sorts whole lists, so that it sends no limit; etcd answers no selector."""
    served = auditor("query", target, "orders", "--as-server", "-o", "json", *words)
    assert (served.code, json.loads(served.stdout)["items"]) == (1, [])
    assert served.stderr.startswith("Error from server (TooManyRequests): storage is (re)initializing")
    stored = auditor("query", target, "orders", "--as-server", "--no-watch-cache", "-o", "json", *words)
    assert "Error from server (StorageReadError)" in stored.stderr


def test_a_refused_label_is_reported_as_kubectl_does(target: Path) -> None:
    done = auditor("query", target, "loaves", "--field-selector", "spec.shape=long", "-o", "json")
    assert done.code == 1
    assert json.loads(done.stdout)["items"] == []
    assert 'Unable to find "bakery.example.com/v1, Resource=loaves" that match label selector ""' in done.stderr
    lifted = auditor("query", target, "loaves", "--field-selector", "spec.shape=round", "--any-field", "-o", "name")
    assert lifted.code == 0
    assert "loaf.bakery.example.com/" in lifted.stdout


def test_csv_ndjson_and_parquet_hold_the_same_objects(target: Path, tmp_path: Path) -> None:
    words = ["loaves", "-n", "north"]
    names = [
        json.loads(line)["metadata"]["name"]
        for line in auditor("query", target, *words, "-o", "ndjson").stdout.splitlines()
    ]
    rows = list(csv.DictReader(io.StringIO(auditor("query", target, *words, "-o", "csv").stdout)))
    assert [row["name"] for row in rows] == names
    path = tmp_path / "loaves.parquet"
    assert auditor("query", target, *words, "-o", f"parquet={path}").code == 0
    table = pq.read_table(path)
    assert table["name"].to_pylist() == names
    assert table["field:spec.flour"].to_pylist() == [row["spec.flour"] for row in rows]


def test_explain_says_what_was_done_where(report: Path) -> None:
    text = 'spec.flour == "rye" && metadata.labels.all(k, k != "x") && spec.grams > 1'
    done = auditor("query", report, "loaves", "--where", text, "--explain", "-o", "name")
    lines = done.stderr.splitlines()
    assert any(line.startswith("loaves.bakery.example.com v1: from the index of 20") for line in lines)
    assert '  index: spec.flour == "rye"' in lines
    assert any(line.startswith("  object: metadata.labels.") for line in lines)
    assert "bytes an object" in done.stderr
    assert " returned" in lines[-1]
    scanned = auditor("query", SAMPLE, "loaves", "--where", text, "--explain", "-o", "name")
    assert "every object is read" in scanned.stderr
    assert done.stdout == scanned.stdout


def test_a_scan_beyond_the_limit_is_refused_with_the_plan(target: Path) -> None:
    done = auditor("query", target, "loaves", "--where", 'spec.flour == "rye"', "--max-scan", 3)
    assert done.code == 2
    assert "rows of loaves.bakery.example.com would be scanned, --max-scan allows 3" in done.stderr
    assert 'spec.flour == "rye"' in done.stderr
    assert auditor("query", target, "loaves", "--max-scan", 10_000, "-o", "name").code == 0


def test_save_index_keeps_what_it_built(tmp_path: Path) -> None:
    first = auditor("query", SAMPLE, "ovens", "--save-index", tmp_path / "kept", "-o", "name")
    assert first.code == 0, first.stderr
    assert "bytes an object" in first.stderr
    again = auditor("query", tmp_path / "kept", "ovens", "-o", "name")
    assert again.stdout == first.stdout
    assert "oven.bakery.example.com/" in again.stdout


# -- what they say -----------------------------------------------------------------------------------------------------


def test_a_wrong_kind_says_what_comes_nearest(target: Path) -> None:
    done = auditor("query", target, "loafs")
    assert done.code == 1
    assert done.stderr == (
        'error: the server doesn\'t have a resource type "loafs"\ndid you mean loaves.bakery.example.com?\n'
    )


def test_an_ambiguous_short_name_is_reported_and_the_first_one_taken(tmp_path: Path) -> None:
    def definition(group: str, kind: str) -> dict[str, object]:
        plural = f"{kind.lower()}s"
        names = {
            "plural": plural,
            "singular": kind.lower(),
            "kind": kind,
            "listKind": f"{kind}List",
            "shortNames": ["x"],
        }
        schema = {"openAPIV3Schema": {"type": "object"}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
        }

    path = tmp_path / "two.json"
    one = {"apiVersion": "a.org/v1", "kind": "Apple", "metadata": {"name": "one", "namespace": "n"}}
    items = [definition("a.org", "Apple"), definition("b.org", "Bean"), one]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    done = auditor("query", path, "x", "-o", "name")
    assert (done.code, done.stdout) == (0, "apple.a.org/one\n")
    assert done.stderr == 'Warning: short name "x" could also match lower priority resource beans.b.org\n'


def test_no_results_are_no_error(target: Path) -> None:
    done = auditor("query", target, "loaves", "-n", "nowhere")
    assert (done.code, done.stdout, done.stderr) == (0, "", "No resources found in nowhere namespace.\n")
    done = auditor("query", target, "loaves", "--field-selector", "spec.flour=none")
    assert (done.code, done.stdout, done.stderr) == (0, "", "No resources found\n")
    assert json.loads(auditor("query", target, "loaves", "-n", "nowhere", "-o", "json").stdout)["items"] == []


def test_what_is_not_there_is_not_found(target: Path) -> None:
    done = auditor("query", target, "loaves", "nope", "-n", "north")
    assert done.code == 1
    assert done.stderr == 'Error from server (NotFound): loaves.bakery.example.com "nope" not found\n'


def test_an_unreadable_or_missing_file_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "none.db", tmp_path):
        done = auditor("query", path, "pods")
        assert done.code == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith("error: ")
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"\0\1\2garbage" * 100)
    done = auditor("query", garbage, "pods")
    assert (done.code, "Traceback" in done.stderr) == (2, False)


def test_a_predicate_that_does_not_compile_shows_where(target: Path) -> None:
    done = auditor("query", target, "loaves", "--where", "spec.grams >")
    assert done.code == 2
    assert "Syntax error" in done.stderr
    assert "Traceback" not in done.stderr
    done = auditor("query", target, "loaves", "--where", "spec.gram > 3")
    assert "there is no field spec.gram in Loaf; did you mean spec.grams?" in done.stderr


def test_an_index_of_another_dump_is_refused(report: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}')
    done = auditor("query", report, "loaves", "--dump", other)
    assert done.code == 2
    assert "is not the dump that the report was made from" in done.stderr


def test_without_its_dump_a_report_shows_what_its_index_holds(tmp_path: Path) -> None:
    (tmp_path / "copy.db.gz").write_bytes(SAMPLE.read_bytes())
    done = auditor("audit", "copy.db.gz", "--report", "r", "--jobs", 1, "--fail-on", "never", cwd=tmp_path)
    assert done.code == 0, done.stderr
    whole = auditor("query", "r", "loaves", "-o", "name", cwd=tmp_path)
    (tmp_path / "copy.db.gz").unlink()
    done = auditor("query", "r", "loaves", "-n", "north", "--field-selector", "spec.flour=rye", cwd=tmp_path)
    assert done.code == 0
    assert "copy.db.gz is not here: showing what the index holds" in done.stderr
    assert "SPEC.FLOUR" in done.stdout
    assert auditor("query", "r", "loaves", "-o", "name", cwd=tmp_path).stdout == whole.stdout
    back = auditor("query", "r", "loaves", "-o", "name", "--dump", SAMPLE, cwd=tmp_path)
    assert (back.stdout, "is not here" in back.stderr) == (whole.stdout, False)


@pytest.mark.parametrize(
    ("pattern", "command", "what"),
    [
        ("objects/*.parquet", "show", "/objects/part-00000.parquet: is damaged: "),
        ("findings/*.parquet", "show", "/findings/part-00000.parquet: is damaged: "),
        ("objects/*.parquet", "query", "/objects/part-00000.parquet: is damaged: "),
        ("index/**/kind=Loaf/*.parquet", "query", "/part-00000.parquet: is damaged: "),
        ("versions.parquet", "query", "/versions.parquet: is damaged: "),
        ("definitions.ndjson", "query", "/definitions.ndjson: is damaged; expected the definitions"),
        ("manifest.json", "query", ": is not a report (its manifest.json is damaged)"),
    ],
)
@pytest.mark.parametrize("size", [10, 300])
def test_a_report_that_is_cut_short_is_reported_by_file(
    unpacked: Path, tmp_path: Path, pattern: str, command: str, what: str, size: int
) -> None:
    folder = tmp_path / "cut"
    shutil.copytree(unpacked, folder)
    for path in folder.glob(pattern):
        os.truncate(path, size)
    asked = "loaves" if command == "query" else "/registry/bakery.example.com/loaves/north/loaf-00"
    done = auditor(command, folder, asked)
    assert done.code == 2, done.stderr
    assert done.stderr.startswith(f"error: {folder}")
    assert what in done.stderr


@pytest.mark.parametrize("command", ["query", "show", "explain"])
def test_a_report_without_its_manifest_is_no_folder_of_manifests(report: Path, tmp_path: Path, command: str) -> None:
    folder = tmp_path / "report"
    shutil.copytree(report, folder)
    (folder / "manifest.json").unlink()
    done = auditor(command, folder, "loaves")
    assert done.code == 2, done.stderr
    assert "is not a report (it has no manifest.json)" in done.stderr


@pytest.mark.parametrize("text", ["[]", "{}", "null", '{"inputs": null}'])
def test_a_manifest_that_no_audit_wrote_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    done = auditor("query", tmp_path, "loaves")
    assert done.code == 2
    assert "is not a report (its manifest.json is damaged)" in done.stderr


def test_tables_are_plain_without_a_terminal(target: Path) -> None:
    assert "\x1b" not in auditor("query", target, "loaves").stdout


def test_help_is_there_for_each_command_with_examples() -> None:
    for command in ("query", "explain", "show", "history"):
        done = auditor(command, "-h")
        assert done.code == 0
        assert "Examples:" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "reported"),
    [
        (["loaf/old-rye", "loaf/loaf-02"], 0, ""),
        (["loaves,loaf", "-l", "!none"], 0, ""),
        (["nonsense"], 1, 'error: the server doesn\'t have a resource type "nonsense"\n'),
        (["loaves,nonsense"], 1, 'error: the server doesn\'t have a resource type "nonsense"\n'),
    ],
)
def test_each_kind_that_is_named_is_shown_at_the_version_asked_for(
    target: Path, words: list[str], code: int, reported: str
) -> None:
    done = auditor("query", target, *words, "--as", "v1alpha1", "-o", "jsonpath={.items[*].apiVersion}")
    assert done.code == code, done.stderr
    assert done.stderr.startswith(reported)
    assert set(done.stdout.split()) == ({"bakery.example.com/v1alpha1"} if code == 0 else set())


def test_an_error_of_a_jsonpath_quotes_the_template_as_go_does(target: Path) -> None:
    done = auditor("query", target, "loaves", "-o", 'jsonpath={.items[0].kind[?(@.b=="x")]}')
    # as kubectl 1.37.2 prints it
    assert done.stderr.startswith(
        'error: error executing jsonpath "{.items[0].kind[?(@.b==\\"x\\")]}": Error executing'
    )


def test_without_a_kind_the_answer_names_our_command(target: Path) -> None:
    done = auditor("query", target)
    assert done.code != 0
    assert "error: name a kind; `auditor kinds DUMP` prints them" in done.stderr


def test_all_kinds_are_asked_at_once(target: Path, tmp_path: Path) -> None:
    every = auditor("query", target, "*", "--where", "metadata.namespace == 'north'", "-o", "name").stdout.split()
    for kind in ("loaves", "configmaps", "orders"):
        one = auditor("query", target, kind, "-n", "north", "-o", "name").stdout.split()
        assert one
        assert set(one) <= set(every)
    rye = auditor("query", target, "*", "--where", "has(spec.flour) && spec.flour == 'rye'", "--count")
    assert re.fullmatch(r"loaves\.bakery\.example\.com \d+\n|\d+\n", rye.stdout)
    assert re.search(r"note: not searched, as they have no such field: ", rye.stderr)
    nothing = auditor("query", target, "*", "--where", "nope.nope == 1")
    assert nothing.code == 2
    assert "undeclared reference to 'nope'" in nothing.stderr
    empty = tmp_path / "empty.json"
    empty.write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    assert auditor("query", empty, "*").stderr == "No resources found\n"


def test_values_at_a_path_are_counted(tmp_path: Path) -> None:
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "n"},
         "spec": {"containers": [{"name": str(number), "image": image} for number, image in enumerate(images)]}}
        for name, images in {"a": ["x", "x"], "b": ["x", "y"], "c": []}.items()
    ]  # fmt: skip
    dump = tmp_path / "pods.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    words = ("query", dump, "pods", "-A", "--count-by", ".spec.containers[*].image")
    assert [line.split() for line in auditor(*words).stdout.splitlines()] == [
        ["OBJECTS", "VALUE"], ["2", "x"], ["1", "<none>"], ["1", "y"],
    ]  # fmt: skip
    assert json.loads(auditor(*words, "-o", "json").stdout)[0] == {"objects": 2, "value": "x"}
    done = auditor(*words[:-1], ".metadata.name[*]")
    assert (done.code, [line.split() for line in done.stdout.splitlines()[1:]]) == (0, [["3", "<another", "type>"]])
