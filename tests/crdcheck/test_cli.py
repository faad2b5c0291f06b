"""`auditor crds`, through the command line."""

from __future__ import annotations

import copy
import gzip
import json
from typing import TYPE_CHECKING, Any

from tests.command import Ended, auditor
from tests.crdcheck.test_examples import TEXT, definition, properties, stored
from tests.shared import shared

if TYPE_CHECKING:
    from pathlib import Path


def run(*words: str, text: str = "") -> Ended:
    return auditor("crds", *words, stdin=text)


def write(path: Path, *documents: Any) -> str:
    path.write_text("\n".join(json.dumps(document) for document in documents))
    return str(path)


def test_what_is_refused_makes_the_exit_code_1(tmp_path: Path) -> None:
    bad = definition(properties(a={"type": "array"}))
    good = run("check", write(tmp_path / "good.json", definition()))
    assert (good.code, good.stdout) == (0, "loaves.bakery.example.com: the server accepts the create\n")
    assert "clients" not in good.stderr
    refused = run("check", write(tmp_path / "bad.json", bad))
    assert refused.code == 1
    assert "refused (1 error)" in refused.stdout
    assert "properties[a].items: Required value: must be specified" in refused.stdout
    assert run("check", "-o", "json", "-", text=json.dumps(bad)).code == 1


def test_v1beta1_is_said_not_to_be_served(tmp_path: Path) -> None:
    document = definition()
    version = document["spec"]["versions"].pop()
    document["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    document["spec"] |= {"version": "v1", "validation": version["schema"], "preserveUnknownFields": False}
    answer = run("check", write(tmp_path / "old.json", document))
    assert answer.code == 1
    assert "v1beta1 is not served" in answer.stdout


def test_an_update_may_keep_what_was_wrong(tmp_path: Path) -> None:
    loose = {"type": "array", "x-kubernetes-list-type": "set", "items": properties(a=TEXT)}
    old = stored(definition(properties(l=loose)))
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "changed"
    paths = write(tmp_path / "old.json", old), write(tmp_path / "new.json", new)
    assert run("check", paths[1]).code == 1
    answer = run("check", "--old", paths[0], "-o", "ndjson", paths[1])
    assert answer.code == 0
    assert json.loads(answer.stdout)["request"] == "update"


def test_a_plain_manifest_updates_a_plain_manifest(tmp_path: Path) -> None:
    new = definition(properties(a=TEXT, b=TEXT))
    paths = write(tmp_path / "old.json", definition(properties(a=TEXT))), write(tmp_path / "new.json", new)
    answer = run("check", "--old", paths[0], paths[1])
    assert (answer.code, answer.stdout) == (0, "loaves.bakery.example.com: the server accepts the update\n")
    assert answer.stderr == (
        "1 definition, 0 refused\n"
        "An update that the server accepts may still break clients: auditor crds diff OLD NEW says which\n"
    )


def test_openapi_says_which_fields_can_be_selected() -> None:
    dump = str(shared("golden/upgrade/snapshot.db.gz"))
    published = json.loads(run("export", dump, "--openapi").stdout)
    with gzip.open(shared("golden/upgrade/crds/server-rev2.json.gz")) as stream:
        definitions = json.load(stream)["items"]
    seen = 0
    for one in definitions:
        group, kind = one["spec"]["group"], one["spec"]["names"]["kind"]
        for version in one["spec"]["versions"]:
            paths = [field["jsonPath"].removeprefix(".") for field in version.get("selectableFields", ())]
            if not paths or not version["served"]:
                continue
            name = ".".join([*reversed(group.split(".")), version["name"], kind])
            schema = published[f"apis/{group}/{version['name']}"]["components"]["schemas"][name]
            assert schema["x-kubernetes-selectable-fields"] == [{"fieldPath": path} for path in paths]
            seen += 1
    assert seen > 1


def test_no_definition_is_an_error_and_nothing_to_check(tmp_path: Path) -> None:
    path = write(tmp_path / "other.json", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    done = run("export", path, "--openapi")
    assert (done.code, done.stdout) == (2, "")
    assert "no definition found" in done.stderr
    done = run("check", path)
    assert (done.code, f"no definition found in {path}: nothing to check" in done.stderr) == (0, True)
