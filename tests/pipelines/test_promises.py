"""What the command line promises beyond the road itself: configuration, environment, scope, help, names, encodings."""

import gzip
import json
import os
import re

import pytest
import zstandard

from pipelines.cli import main as cli
from tests.command import auditor
from tests.shared import ROOT

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


def commands(group, path=()):
    for name, command in group.commands.items():
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize("path", [path for path, _ in commands(cli.cli)], ids=" ".join)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help_with_an_example(path, flag):
    done = auditor(*path, flag)
    assert done.code == 0, done.output
    assert re.search(rf"Examples?:\n.*auditor {' '.join(path[:1])}", done.output, re.DOTALL), done.output


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path):
    (tmp_path / "own.yaml").write_text("audit:\n  fail-on: never\n  jobs: 1\n  include: [Oven]\n")
    words = ("--config", "own.yaml", "audit", SAMPLE, "--report", "r", "--force")
    assert auditor(*words, cwd=tmp_path).code == 0
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["options"]["scope"]["include"] == ["Oven"]
    env = {"AUDITOR_AUDIT_FAIL_ON": "invalid"}
    assert auditor(*words, cwd=tmp_path, env=env).code == 1
    assert auditor(*words, "--fail-on", "never", cwd=tmp_path, env=env).code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("audit:\n  fail_onn: never\n", "fail_onn: there is no such option"),
        ("audti:\n  jobs: 1\n", "audti: there is no such command; expected one of accept"),
        ("audit: 5\n", "expected a mapping of options"),
        ("audit: {jobs: [1, 2]}\n", "own.yaml: audit: jobs: expected one value"),
        ("audit: {selector: {app: web}}\n", "own.yaml: audit: selector: expected one value"),
        ("audit: {include: [[Oven]]}\n", "own.yaml: audit: include: expected one value or a list of them"),
        (
            "audit: {jobs: 1}\n---\naudit: {jobs: 2}\n",
            "own.yaml: expected a mapping of command to options, in one document",
        ),
        ("[1]\n", "expected a mapping of command to options"),
        ("[1\n", "did not find expected"),
        ("audit:\n  fail-on: sometimes\n", "'sometimes' is not one of"),
        ("crds:\n  check:\n    cost: true\n", "cost: there is no such option"),
    ],
)
def test_a_configuration_that_means_nothing_is_refused(tmp_path, text, said):
    (tmp_path / "own.yaml").write_text(text)
    done = auditor("--config", "own.yaml", "audit", SAMPLE, "--report", "r", "--force", cwd=tmp_path)
    assert done.code == 2
    assert said in done.stderr
    assert not (tmp_path / "r").exists()


def test_what_can_be_given_several_times_may_be_one_value_in_the_file(tmp_path):
    (tmp_path / "own.yaml").write_text("# a comment\n---\naudit: {include: Oven, report: r, fail-on: never}\n")
    assert auditor("--config", "own.yaml", "audit", SAMPLE, cwd=tmp_path).code == 0
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["options"]["scope"]["include"] == ["Oven"]


def test_options_of_the_file_may_have_the_names_of_flags_or_of_variables(tmp_path):
    (tmp_path / "own.yaml").write_text("audit:\n  cluster-name: north\n  fail_on: never\n  selector: app=none\n")
    done = auditor("--config", "own.yaml", "audit", SAMPLE, "--report", "r", "--jobs", 1, cwd=tmp_path)
    assert done.code == 0, done.stderr
    options = json.loads((tmp_path / "r" / "manifest.json").read_text())["options"]
    assert (options["cluster"], options["scope"]["labels"]) == ("north", "app=none")


@pytest.mark.parametrize(
    ("flags", "rows"),
    [
        (["-n", "north"], 20), (["-n", "north", "-A"], 46), (["--include", "Loaf"], 32), (["--include", "loaves"], 32),
        (["--include", "loaves.bakery.example.com", "--include", "Oven"], 36), (["--exclude", "Loaf.bakery.example.com"], 14),
        (["--field-selector", "metadata.name=oven-a", "--include", "Oven"], 1), (["-l", "no-such-label", "--include", "Loaf"], 0),
    ],
)  # fmt: skip
def test_scope_flags_leave_out_and_count(tmp_path, flags, rows):
    done = auditor("audit", SAMPLE, "--report", "r", "--jobs", 1, "--fail-on", "never", *flags, cwd=tmp_path)
    assert done.code == 0, done.stderr
    counts = json.loads((tmp_path / "r" / "manifest.json").read_text())["counts"]
    assert counts["rows"] == rows
    assert counts["rows"] + counts["out_of_scope"] == counts["keys"] == 46
    assert ("NOTE  no key of the dump is in scope" in done.stdout) == (rows == 0)


@pytest.mark.parametrize(
    ("at", "versions"),
    [
        ("storage", {"v1"}),
        ("stored", {"v1", "v1alpha1"}),
        ("served", {"v1", "v1alpha1"}),
        ("v1alpha1", {"v1", "v1alpha1"}),
    ],
)
def test_every_form_of_at_is_understood(tmp_path, at, versions):
    done = auditor("audit", SAMPLE, "--report", "r", "--jobs", 1, "--fail-on", "never", "--at", at, cwd=tmp_path)
    assert done.code == 0, done.stderr
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert {entry["version"] for entry in manifest["programs"]} == versions
    assert manifest["counts"]["rows"] == (46 + 32 if at == "served" else 46)


def test_a_version_that_no_definition_has_is_refused(tmp_path):
    done = auditor("audit", SAMPLE, "--report", "r", "--at", "v7", cwd=tmp_path)
    assert done.code == 2
    assert "no definition has the version v7; expected stored, storage, served, or one of v1, v1alpha1" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["plain", "gz", "zst", "stdin", "folder", "member"])
def test_every_way_to_give_a_snapshot_gives_the_same_rows(tmp_path, form):
    plain = gzip.decompress(SAMPLE.read_bytes())
    dump, given = tmp_path / "dump.db", b""
    if form == "gz":
        dump.write_bytes(gzip.compress(plain))
    elif form == "zst":
        dump.write_bytes(zstandard.compress(plain))
    elif form == "stdin":
        dump, given = "-", plain
    elif form == "folder":
        dump = tmp_path / "dumps"
        dump.mkdir()
        (dump / "a.db").write_bytes(plain)
    elif form == "member":
        dump = tmp_path / "data"
        (dump / "member" / "snap").mkdir(parents=True)
        (dump / "member" / "snap" / "db").write_bytes(plain)
    else:
        dump.write_bytes(plain)
    words = ("audit", dump, "--report", "r", "--jobs", 1, "--fail-on", "never")
    done = auditor(*words, cwd=tmp_path, stdin=given)
    assert done.code == 0, done.stderr
    counts = json.loads((tmp_path / "r" / "manifest.json").read_text())["counts"]
    assert counts["statuses"] == {
        "builtin": 1, "definition": 3, "invalid": 5, "orphaned": 1, "other": 1, "unreadable": 1, "valid": 34
    }  # fmt: skip


def test_a_manifest_that_is_no_object_is_unreadable_and_breaks_nothing(tmp_path):
    (tmp_path / "m.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\nkind: 5\nmetadata: {name: d}\n"
    )
    done = auditor("audit", "m.yaml", "--report", "r", "--jobs", 1, cwd=tmp_path)
    assert done.code == 1, done.stderr
    assert "BROKEN" not in done.stdout
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["counts"]["statuses"] == {"builtin": 1, "unreadable": 1}
    assert all(kind["breaking"] is None for kind in manifest["kinds"])


def xs():
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "xs.x.example.com"},
        "spec": {
            "group": "x.example.com",
            "scope": "Namespaced",
            "names": {"plural": "xs", "kind": "Xx"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"size": {"type": "integer", "maximum": 5}}}}}
            ],
        },
    }  # fmt: skip


def test_validate_judges_manifests_and_tells_what_it_skips(tmp_path):
    (tmp_path / "crd.json").write_text(json.dumps(xs()))
    head = "apiVersion: x.example.com/v1\nkind: Xx\nmetadata: {namespace: d, name: "
    text = f"{head}a}}\nsize: 3\n---\n{head}b}}\nsize: 9\n---\napiVersion: other.io/v1\nkind: Other\nmetadata: {{name: c}}\n"
    (tmp_path / "m.yaml").write_text(text)
    done = auditor("validate", "--crds", "crd.json", "m.yaml", "-o", "ndjson", cwd=tmp_path)
    assert done.code == 1
    assert [json.loads(line)["status"] for line in done.stdout.splitlines()] == ["valid", "invalid", "orphaned"]
    shown = auditor("validate", "--crds", "crd.json", "m.yaml", cwd=tmp_path)
    assert "size in body should be less than or equal to 5" in shown.stdout
    assert "no definition for Other.other.io" in shown.stdout
    assert "3 objects: 1 invalid, 1 orphaned, 1 valid" in shown.stderr
    fine = auditor("validate", "--crds", "crd.json", "-", cwd=tmp_path, stdin=text.split("---", maxsplit=1)[0])
    assert fine.code == 0, fine.stderr
    assert auditor("validate", "m.yaml", cwd=tmp_path).code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("validate", "dump"),
        ("validate", "-o", "json", "dump"),
        ("kinds", "dump"),
        ("gates", "list", "dump"),
        ("gates", "simulate", "dump"),
        ("query", "dump", "xs"),
        ("explain", "dump", "xs"),
        ("show", "dump", "d/a"),
    ],
    ids=" ".join,
)
def test_what_could_not_be_read_of_a_dump_is_reported_by_every_command(tmp_path, words):
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / "crd.json").write_text(json.dumps(xs()))
    (dump / "a.yaml").write_text("apiVersion: x.example.com/v1\nkind: Xx\nmetadata: {namespace: d, name: a}\nsize: 3\n")
    (dump / "torn.json.gz").write_bytes(b"\x1f\x8b\x08")
    done = auditor(*words, cwd=tmp_path)
    assert done.code == 3
    assert "DAMAGED  dump: torn.json.gz: " in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("audit", SAMPLE, "--report", "r", "--crds", "none.yaml"),
        ("audit", SAMPLE, "--report", "r", "--crds", "none.yaml", "--jobs", 1, "--engine", "inline"),
        ("upgrade", SAMPLE, "--report", "r", "--old-crds", "none.yaml", "--new-crds", "crd.json"),
        ("upgrade", SAMPLE, "--report", "r", "--old-crds", "crd.json", "--new-crds", "none.yaml"),
        ("query", SAMPLE, "loaves", "--crds", "none.yaml"),
        ("kinds", SAMPLE, "--crds", "none.yaml"),
        ("gates", "list", SAMPLE, "--crds", "none.yaml"),
        ("validate", "crd.json", "--crds", "none.yaml"),
    ],
    ids=lambda words: words[0],
)
def test_files_without_a_definition_are_not_ignored(tmp_path, words):
    (tmp_path / "none.yaml").write_text("# kind: CustomResourceDefinition\n")
    (tmp_path / "crd.json").write_text(json.dumps(xs()))
    done = auditor(*words, cwd=tmp_path)
    assert done.code == 2
    assert "error: none.yaml: no definition found; expected " in done.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("dump", ["there", "gone"])
def test_a_report_of_a_dump_in_parts_unreadable_says_so(tmp_path, dump):
    data = bytearray(gzip.decompress(SAMPLE.read_bytes()))
    data[6 * 4096 : 6 * 4096 + 16] = b"\xff" * 16
    (tmp_path / "dump.db").write_bytes(data)
    assert auditor("audit", "dump.db", "--report", "r", cwd=tmp_path).code == 3
    if dump == "gone":
        (tmp_path / "dump.db").unlink()
    for words in (("query", "r", "loaves"), ("explain", "r", "loaves", "--values"), ("show", "r", "/registry/x")):
        done = auditor(*words, cwd=tmp_path)
        assert "DAMAGED  dump.db: page 6 " in done.stderr
        assert done.code == 3
        assert ("what could be read of it has no key /registry/x" in done.stderr) == (words[0] == "show")


def test_names_that_are_no_utf8_are_shown_or_refused(tmp_path):
    odd, folder = os.fsdecode(b"b\xffd"), tmp_path / "folder"
    folder.mkdir()
    text = json.dumps({"apiVersion": "a.io/v1", "kind": "A", "metadata": {"name": "x"}})
    for path in (folder / f"{odd}.json", tmp_path / f"{odd}.json"):
        path.write_text(text)
    (folder / f"{odd}.txt").write_text("")
    assert auditor("audit", "folder", "--report", "r", cwd=tmp_path).code == 0
    (note,) = json.loads((tmp_path / "r" / "manifest.json").read_bytes())["inputs"][0]["notes"]
    assert note.endswith(r"b\xffd.txt")
    for words in (
        (f"{odd}.json", "--report", "r2"),
        ("folder", "--report", odd),
        ("folder", "-n", odd, "--report", "r2"),
    ):
        done = auditor("audit", *words, cwd=tmp_path)
        assert done.code == 2
        assert r"error: b\xffd" in done.stderr
    assert not (tmp_path / "r2").exists()


def test_dumps_whose_names_are_no_utf8_are_read_among_others(tmp_path):
    odd, folder = os.fsdecode(b"b\xffd"), tmp_path / "folder"
    folder.mkdir()
    for name in ("a.db", f"{odd}.db"):
        (folder / name).write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    for name in (f"{odd}.txt", f"{odd}.json"):
        (folder / name).write_text("neither")
    (folder / f"{odd}.db.part").write_text("")
    done = auditor("audit", "folder", "--report", "r", "--fail-on", "never", cwd=tmp_path)
    assert done.code == 0, done.stderr
    inputs = json.loads((tmp_path / "r" / "manifest.json").read_bytes())["inputs"]
    assert [one["name"] for one in inputs] == ["folder/a.db", r"folder/b\xffd.db"]
    assert r"b\xffd.txt" in inputs[0]["notes"][0]


def test_no_server_could_use_a_definition_without_versions(tmp_path):
    (tmp_path / "none.json").write_text(json.dumps({**xs(), "spec": {**xs()["spec"], "versions": []}}))
    document = {"apiVersion": "x.example.com/v1", "kind": "Xx", "metadata": {"name": "a", "namespace": "d"}}
    (tmp_path / "x.json").write_text(json.dumps(document))
    done = auditor("validate", "x.json", "--crds", "none.json", cwd=tmp_path)
    assert done.code == 1, done.stderr
    assert "xs.x.example.com: spec.versions: no version; expected at least one" in done.stdout
    for at in ("storage", "served"):
        done = auditor("audit", "x.json", "--crds", "none.json", "--report", at, "--at", at, cwd=tmp_path)
        assert done.code == 0, done.stdout
        assert json.loads((tmp_path / at / "manifest.json").read_text())["counts"]["statuses"] == {"unserved": 1}


def test_validate_refuses_what_is_no_manifest_but_a_dump(tmp_path):
    done = auditor("validate", SAMPLE, cwd=tmp_path)
    assert (done.code, done.stdout) == (2, "")
    said = f"error: {SAMPLE}: holds stored keys (etcd-snapshot); expected manifests; see `auditor audit`\n"
    assert done.stderr == said


def test_validate_prints_names_that_are_no_utf8(tmp_path):
    odd = os.fsdecode(b"b\xffd.yaml")
    (tmp_path / odd).write_text(json.dumps({"apiVersion": "a.io/v1", "kind": "A", "metadata": {"name": "x"}}))
    (tmp_path / "xs.json").write_text(json.dumps(xs()))
    for output in ("table", "json", "ndjson"):
        done = auditor("validate", odd, "--crds", "xs.json", "-o", output, cwd=tmp_path)
        assert done.code == 1, done.stderr
        assert r"b\xffd.yaml" in done.stdout.replace("\\\\", "\\")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1:strict", "utf-16"])
def test_output_is_utf8_whatever_the_locale_says(tmp_path, encoding):
    (tmp_path / "xs.json").write_text(json.dumps(xs()))
    document = {"apiVersion": "x.example.com/v1", "kind": "Xx", "metadata": {"name": "мука", "namespace": "d"}}
    (tmp_path / "x.json").write_text(json.dumps(document))
    env = {"PYTHONIOENCODING": encoding}
    for words in (
        ("validate", "x.json"),
        ("validate", "x.json", "-o", "json"),
        ("query", "x.json", "xs", "-o", "yaml"),
    ):
        done = auditor(*words, "--crds", "xs.json", cwd=tmp_path, env=env)
        assert done.code in {0, 1}, done.stderr
        assert "мука" in done.stdout
    done = auditor("audit", os.fsdecode(b"\xff.json"), "--report", "r", cwd=tmp_path, env=env)
    assert r"error: \xff.json: is not UTF-8" in done.stderr
    done = auditor("query", os.fsdecode(b"\xff.json"), "xs", cwd=tmp_path, env=env)
    assert done.code == 2
    assert "there is no such file" in done.stderr
