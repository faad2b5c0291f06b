"""Three nights of a fleet as one table: the summary, its JSON, the table of clusters and the exit code of each night."""

import json

import pytest

from auditor.causes.model import FindingsModel
from auditor.output.views.summary import summary_lines
from tests.causes.reports import widget
from tests.command import auditor
from tests.pipelines.report.test_outcome import LOOSE, ROOT_RULE, TIGHT, audit, etcd

MANY = [widget(f"w{number}", {"size": 1}, namespace=f"team-{number % 3}") for number in range(30)]
STUCK = widget(
    "stuck",
    {"size": 3, "tier": "gold"},
    deletionTimestamp="2026-11-20T00:00:00Z",
    deletionGracePeriodSeconds=0,
    finalizers=["example.com/wait"],
)
MENDED = [widget("w0", {"size": 1, "tier": "gold"}, namespace="team-0"), *MANY[1:]]
TORN = ("team-0/torn",)
DUMPS = (
    {"east": (LOOSE, MANY, ()), "west": (LOOSE, MANY[:2], ())},
    {"east": (TIGHT, [*MANY, STUCK], TORN), "west": (LOOSE, MANY[:2], ())},
    {"east": (TIGHT, [*MENDED, STUCK], TORN)},
)
"""For each night the definition, the objects and the torn keys of each cluster.

Night 1: all is well. Night 2: in east the definition is tightened, a key is torn, a deletion is stuck. Night 3: one
object is repaired, and west has no dump.
"""
STUCK_RULE = f"the object: Invalid value: rule {ROOT_RULE}"
TABLE = (
    {
        "code": 0,
        "word": "not-compared",
        "reasons": [],
        "causes": [],
        "clusters": [("east", "not-compared", None, None), ("west", "not-compared", None, None)],
        "missing": 0,
        "text": ["CLEAN  east, west · no causes", "JUDGED 34 objects · NOT JUDGED 0", "Next: nothing to do."],
        "absent": ["CRITICAL 1", "MISSING", "FIXED 0"],
    },
    {
        "code": 1,
        "word": "worse",
        "reasons": ["4 new causes"],
        "causes": [
            ("critical", "new", "cannot be deleted", 1, 1),
            ("critical", "new", "cannot be listed or watched", 1, 1),
            ("high", "new", STUCK_RULE, 1, 1),
            ("medium", "new", "spec.tier: Required value", 30, 30),
        ],
        "clusters": [("east", "worse", 33, 0), ("west", "same", 0, 0)],
        "missing": 0,
        "text": [
            "BROKEN  east, west · 2 critical, 1 high, 1 medium causes · +4 new, 0 fixed since ",
            "CRITICAL 2 causes (2 new)",
            "unexpected end of JSON input; to do: repair the value, its definition,",
            "NEW 2 causes",
            "definition changed: required: + spec.tier",
            "team-0/w0 +29",
            "Next: repair or delete the keys that break lists first;",
        ],
        "absent": ["MISSING", "nothing to do"],
    },
    {
        "code": 3,
        "word": "incomplete",
        "reasons": ["1 cluster without a dump", "1 object fixed"],
        "causes": [
            ("critical", "same", "cannot be deleted", 1, 0),
            ("critical", "same", "cannot be listed or watched", 1, 0),
            ("high", "same", STUCK_RULE, 1, 0),
            ("medium", "same", "spec.tier: Required value", 29, 0),
        ],
        "clusters": [("east", "better", 0, 1), ("west", "missing", None, None)],
        "missing": 1,
        "text": [
            "BROKEN  east · at least 2 critical, 1 high, 1 medium causes",
            "1 cluster without a dump",
            "MISSING  west: this run has no dump of",
            "CRITICAL 2 causes",
            "STANDING 2 causes (1 high, 1 medium)",
            "team-0/w12 +28",
            "1 object fixed",
            "NOT JUDGED  1 cluster without a dump (west)",
        ],
        "absent": ["nothing to do", "NEW 2 causes"],
    },
)


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Reports and exit codes of the nights, each compared with the one before."""
    folder = tmp_path_factory.mktemp("nights")
    out = []
    for night, clusters in enumerate(DUMPS):
        dumps = folder / f"dumps-{night}"
        dumps.mkdir()
        for name, (crd, objects, torn) in clusters.items():
            etcd(dumps / f"{name}.json", 100 * (night + 1), crd, *objects, torn=torn)
        more = {"diff": str(folder / f"report-{night - 1}"), "only_new": True} if night else {}
        code, manifest = audit(folder / f"report-{night}", dumps / "*.json", cluster="{name}", **more)
        assert manifest["exit_code"] == code
        out.append((folder / f"report-{night}", code))
    return out


@pytest.mark.parametrize("night", range(3), ids=["all is well", "worse", "repaired, and a dump is missing"])
def test_each_night_says_what_is_true(nights, night):
    (report, code), expected = nights[night], TABLE[night]
    lines = [line.text for line in summary_lines(FindingsModel.open(report), 120)]
    text = "\n".join(lines)
    said = json.loads(auditor("summary", report, "-o", "json").stdout)
    assert {
        "code": (code, said["run"]["exit_code"]),
        "word": said["verdict"]["word"],
        "reasons": said["verdict"]["reasons"],
        "causes": sorted(
            (one["severity"], one["change"], one["title"], one["objects"], one["new_objects"]) for one in said["causes"]
        ),
        "clusters": [(one["cluster"], one["verdict"], one["new"], one["fixed"]) for one in said["clusters"]],
        "missing": len(said["missing"]),
        "text": [one for one in expected["text"] if one in text],
        "absent": [one for one in expected["absent"] if one not in text],
    } == {**expected, "code": (expected["code"],) * 2}, text
    assert len(lines) <= 25
