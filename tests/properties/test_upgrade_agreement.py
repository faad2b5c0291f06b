"""First line, exit code, rows of objects/ and `show` of an upgrade agree, whatever the definitions and objects are."""

import json
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.command import auditor
from tests.upgrade.support import crd, thing, version, write_crds, write_dump

FIELDS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "maxLength": 1},
        {"type": "string", "enum": ["x"]},
        {"type": "string", "pattern": "^x"},
        {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
        {"type": "integer"},
        {"type": "integer", "default": 3},
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        {"x-kubernetes-preserve-unknown-fields": True},
    ]
)
VALUES = st.sampled_from(["x", "xyz", 1, None, ["a", "a"], ["a"], {"deep": 1}])
SCHEMAS = st.builds(
    lambda properties, required: {
        "type": "object",
        "properties": properties,
        **({"required": [name for name in required if name in properties]} if required else {}),
    },
    st.dictionaries(st.sampled_from(["a", "b"]), FIELDS, max_size=2),
    st.lists(st.sampled_from(["a", "b"]), max_size=1),
)
ROOTS = st.sampled_from([{}, {"x-kubernetes-validations": [{"rule": "has(self.spec)"}]}])
OBJECTS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3), min_size=1, max_size=3)


@st.composite
def definitions(draw, *, stored):
    """Return a definition of one or two versions."""
    names = draw(st.sampled_from([("v1",), ("v0", "v1"), ("v1", "v2")]))
    storage = draw(st.sampled_from(names))
    versions = []
    for name in names:
        served = name == storage or draw(st.booleans())
        more = {"subresources": {"status": {}}} if draw(st.booleans()) else {}
        one = version(draw(SCHEMAS), name, served=served, storage=name == storage, **more)
        one["schema"]["openAPIV3Schema"] |= draw(ROOTS)
        versions.append(one)
    listed = sorted({storage, *draw(st.lists(st.sampled_from(names), max_size=1))})
    return crd(*versions, stored=listed if stored else None)


DRAWN = given(old=definitions(stored=True), new=definitions(stored=False), objects=OBJECTS, data=st.data())


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@DRAWN
def test_all_parts_of_an_answer_agree(old, new, objects, data):
    agree(old, new, objects, data)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@DRAWN
def test_all_parts_of_many_answers_agree(old, new, objects, data):
    agree(old, new, objects, data)


def agree(old, new, objects, data):
    stored = old["status"]["storedVersions"]
    made = [thing(f"t{at}", one, data.draw(st.sampled_from(stored))) for at, one in enumerate(objects)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dump, crds = write_dump(folder / "d.json", [old], made), write_crds(folder / "n.json", new)
        words = ["upgrade", dump, "--new-crds", crds, "--report", folder / "r", "--jobs", 1, "--plan", folder / "plan"]
        done = auditor(*words)
        assert done.code in (0, 1), done.output
        check(folder, done)


def check(folder, done):
    manifest = json.loads((folder / "r" / "manifest.json").read_text())
    section = manifest["upgrade"]
    [one] = section["definitions"]
    word = section["decision"]
    start = {"safe": "safe", "safe-after": "safe after", "attention": "attention: ", "blocks": "blocks, because"}[word]
    assert done.output.startswith(start)
    assert len(done.output.rstrip("\n").split("\n")) <= 40
    assert done.code == manifest["exit_code"] == (0 if word == "safe" else 1)
    assert one["decision"] == word
    assert bool(one["refusals"]) <= (word == "blocks")
    rows = [row for part in (folder / "r" / "objects").glob("*.parquet") for row in pq.read_table(part).to_pylist()]
    changes = [row for part in (folder / "r" / "changes").glob("*.parquet") for row in pq.read_table(part).to_pylist()]
    worse = {
        row["key"] for row in changes if row["change"] == "verdict" and row["path"] is None and row["old"] == '"valid"'
    }
    lost = {row["key"] for row in changes if row["change"] == "pruned" and row["new"] is None}
    things = {row["key"]: row for row in rows if row["kind"] == "Thing"}
    if word == "safe":
        assert not worse
        assert not lost
    at_own = {
        row["key"]
        for row in changes
        if row["change"] == "verdict" and row["path"] is None and row["old"] == '"valid"'
        if row["audited_version"] == things[row["key"]]["audited_version"]
    }
    bad = ("unreadable", "invalid", "needs-conversion")
    assert {key for key in at_own if things[key]["status"] not in bad} == set()
    breaking = {key for key, row in things.items() if "breaks-list" in (row["impacts"] or ())}
    assert not (breaking & worse) or word == "blocks"
    for key in sorted(worse | lost)[:1]:
        shown = auditor("show", folder / "r", key, "-o", "json")
        reported, _ = json.JSONDecoder().raw_decode(shown.stdout)  # what the dump has of it follows
        assert reported["report"]["changes"]
    plan = json.loads((folder / "plan.json").read_text())
    script = (folder / "plan.sh").read_text()
    if '"storedVersions"' in script.split("END_OF_DEFINITION")[0]:
        steps = [step["do"] for entry in plan["definitions"] for step in entry["steps"]]
        gone = [name for name in one["stored_versions_to_migrate"] if one["objects_stored"].get(name)]
        assert not gone or "rewrite" in steps
