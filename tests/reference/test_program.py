"""The program around the real libraries: it builds, it repeats what is recorded, and it agrees with us live."""

import json
import shutil
import subprocess
from random import Random

import pytest

import auditor
from tests.properties.drawing import Drawer
from tests.reference import make
from tests.vectors.test_audits import causes, plain


@pytest.fixture(scope="module")
def program():
    if make.is_go_missing():
        pytest.skip("Go is missing: the program around the real libraries cannot be built")
    return make.build()


def run(program, *words, lines=()):
    """Return what the program says to lines, a value each."""
    given = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        [program, *words], input=given, check=True, capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_the_libraries_say_what_is_recorded(program, capsys, monkeypatch, tmp_path):
    copy = tmp_path / "vectors"
    shutil.copytree(make.VECTORS, copy)
    monkeypatch.setattr(make, "VECTORS", copy)
    code = make.main([])
    said = capsys.readouterr().out
    assert code == 0, said
    assert said.count("none changed") == len(list(make.VECTORS.glob("*.json"))) >= 5
    for path in make.VECTORS.glob("*.json"):
        assert path.read_bytes() == (make.HERE / "vectors" / path.name).read_bytes()


@pytest.mark.slow
def test_a_changed_answer_is_named_and_recorded(program, capsys, monkeypatch, tmp_path):
    suite = json.loads((make.VECTORS / "bakery.json").read_text())
    right = suite["cases"][0]["expect"]
    suite["cases"] = suite["cases"][:2]
    suite["cases"][0]["expect"] = {"findings": []}
    path = tmp_path / "bakery.json"
    path.write_text(json.dumps(suite))
    monkeypatch.setattr(make, "VECTORS", tmp_path)
    assert make.main([]) == 1
    said = capsys.readouterr().out
    assert "vectors/bakery.json: 2 cases, 1 changed" in said
    assert suite["cases"][0]["name"] in said
    assert json.loads(path.read_text())["cases"][0]["expect"] == right


@pytest.mark.slow
def test_drawn_objects_are_judged_alike(program, tmp_path):
    compared = 0
    for number in range(60):
        drawer = Drawer(Random(7_000_003 + number))
        definition = drawer.definition()
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(definition))
        texts = [drawer.object_text(definition).strip().replace("\n", " ") for _ in range(6)]
        catalog = auditor.CrdCatalog.from_documents([definition])
        resource = definition["metadata"]["name"]
        answers = run(program, "audit", "-crds", path, "-resource", resource, lines=texts)
        for text, answer in zip(texts, answers, strict=True):
            expect = json.loads(answer)
            got = auditor.audit_object(catalog, text.encode(), resource=resource)
            assert bool(got.unreadable) == bool(expect.get("unreadable")), text
            if got.unreadable:
                continue
            compared += 1
            found = [{"field": each.field, "type": each.type, "message": each.message} for each in got.findings]
            assert causes(found) == causes(expect["findings"]), text
            assert plain(got.object) == plain(expect["object"]), text
            assert sorted(got.defaulted) == sorted(expect.get("defaulted", [])), text
    assert compared > 150


@pytest.mark.slow
def test_a_benchmark_times_each_phase(program, tmp_path):
    suite = json.loads((make.VECTORS / "bakery.json").read_text())
    (tmp_path / "crds").mkdir()
    for number, definition in enumerate(suite["definitions"]):
        (tmp_path / f"crds/{number}.json").write_text(json.dumps(definition))
    objects = [case["object"] for case in suite["cases"] if "object" in case and not case["expect"].get("unreadable")]
    (tmp_path / "in.ndjson").write_text("\n".join(objects))
    words = ["bench", "-crds", tmp_path / "crds", "-in", tmp_path / "in.ndjson", "-passes", "2"]
    for flags in ([], ["-whole"]):
        head, *passes = run(program, *words, *flags)
        assert head.startswith(f"objects={len(objects)} ")
        assert "workers=1 gomaxprocs=1" in head
        assert len(passes) == 2
        assert all(
            f" {phase}=" in line for line in passes for phase in ("decode", "read", "validate", "rules", "objects/s")
        )


def test_where_go_is_missing_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert make.main([]) == 0
    assert capsys.readouterr().out.startswith("skipped: Go is missing")
