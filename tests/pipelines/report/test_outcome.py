"""Three nights of a cluster: what its reports say, and the exit code of each; accepted findings and severities."""

import base64
import datetime
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from auditor.base.errors import PlanError
from auditor.causes.accepting import read_accepted
from auditor.causes.exit_code import parse_most_new
from auditor.causes.model import FindingsModel
from auditor.causes.severity import parse_rules
from auditor.output.views.cluster_lines import cluster_rows
from auditor.output.views.summary import summary_lines
from auditor.plan.options import AuditOptions
from pipelines.run.fleet import run_anywhere
from pipelines.run.report.accept import run_accept
from tests.causes.reports import definition, widget
from tests.command import auditor

LOOSE = definition({"size": {"type": "integer"}, "tier": {"type": "string"}})
TIGHT = definition({"size": {"type": "integer", "maximum": 5}, "tier": {"type": "string"}}, required=["tier"])
ROOT_RULE = "!has(self.spec.size) || self.spec.size != 3"
TIGHT["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": ROOT_RULE}]


def etcd(path, revision, crd, *objects, torn=()):
    """Write what `etcdctl get -w json` prints: a definition, objects, and keys whose values are cut short."""

    def entry(key, value):
        parts = {"key": key.encode(), "value": value}
        return {
            **{name: base64.b64encode(part).decode() for name, part in parts.items()},
            "create_revision": 1,
            "mod_revision": revision,
            "version": 1,
        }

    kvs = [entry(f"/registry/apiextensions.k8s.io/customresourcedefinitions/{crd['metadata']['name']}", stored(crd))]
    for one in objects:
        meta = one["metadata"]
        kvs.append(entry(f"/registry/example.com/widgets/{meta['namespace']}/{meta['name']}", stored(one)))
    kvs += [entry(f"/registry/example.com/widgets/{name}", b'{"apiVersion":') for name in torn]
    kvs.sort(key=lambda one: base64.b64decode(one["key"]))
    path.write_text(json.dumps({"header": {"revision": revision}, "kvs": kvs, "count": len(kvs)}))
    return path


def stored(value):
    return json.dumps(value).encode()


def audit(report, dump, **options):
    asked = {"fail_on": "invalid", **options}
    return run_anywhere(
        AuditOptions(dumps=(str(dump),), report=str(report), jobs=1, engine="inline", force=True, **asked)
    )


def text_of(report):
    return "\n".join(line.text for line in summary_lines(FindingsModel.open(report), 120))


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Reports and exit codes of three nights, the last two compared with the one before.

    Night 1: all is well. Night 2: the definition is tightened, a key is torn, a deletion is stuck. Night 3: one object
    is repaired, nothing else changes.
    """
    folder = tmp_path_factory.mktemp("nights")
    many = [widget(f"w{number}", {"size": 1}, namespace=f"team-{number % 3}") for number in range(30)]
    good = [widget(f"g{number}", {"size": 1, "tier": "gold"}) for number in range(5)]
    stuck = widget(
        "stuck",
        {"size": 3, "tier": "gold"},
        deletionTimestamp="2026-11-20T00:00:00Z",
        deletionGracePeriodSeconds=0,
        finalizers=["example.com/wait"],
    )
    repaired = [widget("w0", {"size": 1, "tier": "gold"}, namespace="team-0"), *many[1:]]
    dumps = [
        etcd(folder / "1.json", 100, LOOSE, *many, *good),
        etcd(folder / "2.json", 200, TIGHT, *many, *good, stuck, torn=["team-0/torn"]),
        etcd(folder / "3.json", 300, TIGHT, *repaired, *good, stuck, torn=["team-0/torn"]),
    ]
    out = []
    for number, dump in enumerate(dumps, 1):
        earlier = {"diff": str(folder / f"report-{number - 1}"), "only_new": True} if number > 1 else {}
        code, manifest = audit(folder / f"report-{number}", dump, **earlier)
        out.append((folder / f"report-{number}", code, manifest))
    return folder, dumps, out


@pytest.mark.parametrize(
    ("night", "code", "word", "texts"),
    [
        (1, 0, "not-compared", ["CLEAN  ", "Next: nothing to do."]),
        (
            2,
            1,
            "worse",
            [
                "BROKEN  ",
                " · +4 new, 0 fixed since ",
                "CRITICAL 2 causes (2 new)",
                "team-0/torn  cannot be listed or watched",
                "cannot be deleted",
                "unexpected end of JSON input; to do: repair the value, its definition,",
                "NEW 2 causes",
                "spec.tier: Required value",
                "definition changed: required: + spec.tier",
                "team-0/w0 +29",
                "Exit code 1: 2 critical, 1 high, 1 medium causes that are new at or above --fail-on invalid;",
            ],
        ),
        (
            3,
            1,
            "better",
            [
                "BROKEN  ",
                "1 object fixed",
                "CRITICAL 2 causes",
                "STANDING 2 causes (1 high, 1 medium)",
                "team-0/w12 +28",
            ],
        ),
    ],
)
def test_each_night_says_what_changed(nights, night, code, word, texts):
    _, _, reports = nights
    report, found, manifest = reports[night - 1]
    model = FindingsModel.open(report)
    text = text_of(report)
    assert (found, manifest["exit_code"], model.run.exit_code) == (code, code, code)
    assert model.verdict.word == word
    for one in texts:
        assert one in text, text


@pytest.mark.parametrize(
    ("night", "code", "word", "causes"),
    [
        (1, 0, "not-compared", []),
        (
            2,
            1,
            "worse",
            [
                ("critical", "new", "cannot be deleted", 1, 1),
                ("critical", "new", "cannot be listed or watched", 1, 1),
                ("medium", "new", "spec.tier: Required value", 30, 30),
                ("high", "new", "the object: Invalid value: rule !has(self.spec.size) || self.spec.size != 3", 1, 1),
            ],
        ),
        (
            3,
            1,
            "better",
            [
                ("critical", "same", "cannot be deleted", 1, 0),
                ("critical", "same", "cannot be listed or watched", 1, 0),
                ("medium", "same", "spec.tier: Required value", 29, 0),
                ("high", "same", "the object: Invalid value: rule !has(self.spec.size) || self.spec.size != 3", 1, 0),
            ],
        ),
    ],
)
def test_the_json_of_each_night(nights, night, code, word, causes):
    _, _, reports = nights
    asked = auditor("summary", reports[night - 1][0], "-o", "json")
    answer = json.loads(asked.stdout)
    assert (answer["verdict"]["word"], answer["run"]["exit_code"]) == (word, code)
    found = [
        (one["severity"], one["change"], one["title"], one["objects"], one["new_objects"]) for one in answer["causes"]
    ]
    assert sorted(found) == sorted(causes)
    assert (answer["missing"], answer["stale"], answer["damage"], answer["not_judged"]) == ([], [], [], [])


def test_causes_name_what_changed_in_the_definition(nights):
    _, _, reports = nights
    findings = [one for one in FindingsModel.open(reports[1][0]).causes if one.findings]
    assert [one.schema_changes for one in findings] == [(f"rule: + {ROOT_RULE}",), ("required: + spec.tier",)]
    assert (findings[1].objects, findings[1].new_objects, findings[1].change) == (30, 30, "new")


def test_first_seen_is_carried_from_night_to_night(nights):
    _, _, reports = nights
    second, third = (FindingsModel.open(report) for report, _, _ in reports[1:])
    before = {one.digest: one for one in second.causes}
    for cause in third.causes:
        assert cause.change == "same"
        assert cause.first_seen == before[cause.digest].first_seen == second.run.started


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, 1),
        ({"fail_on_standing": False}, 0),
        ({"fail_on": "never"}, 0),
        ({"fail_on": "critical", "fail_on_standing": False}, 0),
        ({"fail_on": "critical", "fail_on_standing": False, "only_new": False}, 1),
    ],
)
def test_what_is_still_broken_sets_the_exit_code(nights, tmp_path, options, code):
    folder, dumps, _ = nights
    asked = {"diff": str(folder / "report-2"), "only_new": True, **options}
    found, manifest = audit(tmp_path / "report", dumps[2], **asked)
    assert found == code
    assert bool(manifest["exit_reasons"]) == (code == 1)


@pytest.mark.parametrize(
    ("level", "why"),
    [("invalid", "2 critical, 1 high, 1 medium causes at or above --fail-on invalid"), ("never", None)],
)
def test_a_level_of_fail_on_that_is_reached_is_named(nights, tmp_path, level, why):
    _, dumps, _ = nights
    code, manifest = audit(tmp_path / "report", dumps[1], fail_on=level)
    assert (code, manifest["exit_reasons"]) == (int(bool(why)), [why] if why else [])
    assert (f"Exit code 1: {why}." in text_of(tmp_path / "report")) == bool(why)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"fail_on": "critical"}, 1),
        ({"fail_on": "never", "most_new": (("low", 0),)}, 0),
        ({"fail_on": "critical", "severity": ("low kind=Widget.example.com",)}, 0),
        ({"fail_on": "medium", "severity": ("low kind=Widget namespace=team-*",)}, 1),
        ({"fail_on": "low", "severity": ("low kind=Widget",)}, 1),
        ({"fail_on": "unreadable"}, 1),
    ],
)
def test_severities_decide_the_exit_code(nights, tmp_path, options, code):
    folder, dumps, _ = nights
    found, _ = audit(tmp_path / "report", dumps[1], diff=str(folder / "report-1"), **options)
    assert found == code


@pytest.mark.parametrize(("most", "code"), [(33, 0), (32, 1), (0, 1)])
def test_more_new_objects_than_allowed_set_the_exit_code(nights, tmp_path, most, code):
    folder, dumps, _ = nights
    options = {"fail_on": "critical", "severity": ("medium kind=*",), "most_new": parse_most_new([f"medium={most}"])}
    options |= {"diff": str(folder / "report-1"), "only_new": True, "fail_on_standing": False}
    found, _ = audit(tmp_path / "report", dumps[1], **options)
    assert found == code


@pytest.mark.parametrize("text", ["medium", "medium=", "medium=-1", "awful=3", "=3"])
def test_limits_of_another_form_are_refused(text):
    with pytest.raises(PlanError, match="--max-new"):
        parse_most_new([text])


@pytest.mark.parametrize("text", ["", "awful kind=x", "low", "low color=red", "low kind=", "low kind='"])
def test_severity_rules_of_another_form_are_refused(text):
    with pytest.raises(PlanError, match="--severity"):
        parse_rules([text])


# -- accepted findings -------------------------------------------------------------------------------------------------

LATER = "2999-12-31"
TODAY = datetime.date(2026, 11, 25)


def accepting(path, *entries):
    path.write_text("".join(f"- {json.dumps(one)}\n" for one in entries))
    return str(path)


def test_accepted_findings_set_no_exit_code_and_are_counted(nights, tmp_path):
    folder, dumps, reports = nights
    model = FindingsModel.open(reports[1][0])
    file = accepting(
        tmp_path / "accept.yaml",
        {"kind": "Widget.example.com", "reason": "migration", "expires": LATER, "allowCritical": True},
        {"namespace": "nowhere", "reason": "typing error", "expires": LATER},
        {"cause": model.causes[-1].id, "reason": "old", "expires": "2020-01-01"},
    )
    code, manifest = audit(tmp_path / "report", dumps[1], diff=str(folder / "report-1"), accept=file)
    assert code == 0
    section = manifest["accepted"]
    assert [one["state"] for one in section["entries"]] == ["active", "unmatched", "expired"]
    assert (section["expired"], section["unmatched"]) == (1, 1)
    found = FindingsModel.open(tmp_path / "report")
    assert all(one.accepted_objects == one.objects for one in found.causes)
    assert found.verdict.word == "same"
    text = text_of(tmp_path / "report")
    assert "ACCEPTED 33" in text
    assert "EXPIRED 1" in text
    assert all(one["accepted"] for one in [*found.findings(), *found.objects()])


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"kind": "Widget"}, 1),  # critical causes need more
        ({"kind": "Widget", "allowCritical": True}, 0),
        ({"kind": "Widget", "allowCritical": True, "expires": "2020-01-01"}, 1),
        ({"namespace": "team-1", "allowCritical": True}, 1),
        ({"field": "spec.tier", "allowCritical": True}, 1),
        ({"kind": "Gadget", "allowCritical": True}, 1),
    ],
)
def test_only_what_an_entry_matches_is_accepted(nights, tmp_path, entry, code):
    _, dumps, _ = nights
    file = accepting(tmp_path / "accept.yaml", {"reason": "x", "expires": LATER, **entry})
    assert audit(tmp_path / "report", dumps[1], accept=file)[0] == code


@pytest.mark.parametrize(
    "entry",
    [
        {"reason": "x", "expires": LATER},
        {"kind": "A", "expires": LATER},
        {"kind": "A", "reason": " ", "expires": LATER},
        {"kind": "A", "reason": "x"},
        {"kind": "A", "reason": "x", "expires": "soon"},
        {"kind": "A", "reason": "x", "expires": LATER, "allowCritical": "perhaps"},
        {"kinds": "A", "reason": "x", "expires": LATER},
        {"cause": "*", "reason": "x", "expires": LATER},
        "text",
    ],
)
def test_incomplete_entries_are_refused(tmp_path, entry):
    with pytest.raises(PlanError, match="--accept"):
        read_accepted(accepting(tmp_path / "accept.yaml", entry))


def test_accept_writes_an_entry_that_is_read_back(nights, tmp_path):
    _, _, reports = nights
    report = str(reports[1][0])
    cause = next(one for one in FindingsModel.open(report).causes if one.findings)
    file, today = tmp_path / "accept.yaml", TODAY
    values = {"reason": 'say "why"\n- cause: x', "expires": LATER, "owner": "team"}
    said = run_accept(cause.id[:6], values, file=str(file), report=report, today=today)
    assert f": accepts {cause.id} (" in said
    assert f" object{'s' if cause.objects > 1 else ''}) until {LATER}" in said
    written = file.read_bytes()
    again = run_accept(cause.id, values, file=str(file), report=report, today=today)
    assert again == said.replace("accepts", "accepts already")
    assert file.read_bytes() == written
    with pytest.raises(PlanError, match="has no cause 0123abcd"):
        run_accept("0123abcd", values, file=str(file), report=report, today=today)
    said = run_accept("0123abcd", {"reason": "y", "expires": LATER}, file=str(file), report="", today=today)
    assert said.endswith(
        f": accepts 0123abcd until {LATER} (not looked up: give --report, and nothing if it is critical)"
    )
    first, second = read_accepted(str(file))
    assert (first.cause, first.owner, first.last_day.year) == (cause.id, "team", 2999)
    assert (second.cause, second.reason) == ("0123abcd", "y")
    critical = next(one for one in FindingsModel.open(report).causes if one.severity == "critical")
    with pytest.raises(PlanError, match="is a critical cause: this would accept nothing of it"):
        run_accept(critical.id, values, file=str(file), report=report, today=today)
    with pytest.raises(PlanError, match="in the past"):
        run_accept(cause.id, {**values, "expires": "2020-01-01"}, file=str(file), report=report, today=today)
    assert len(read_accepted(str(file))) == 2


def test_a_file_is_replaced_behind_its_link_and_keeps_its_permissions(tmp_path):
    (tmp_path / "shared").mkdir()
    file, link = tmp_path / "shared" / "accept.yaml", tmp_path / "accept.yaml"
    file.write_text("")
    file.chmod(0o640)
    link.symlink_to("shared/accept.yaml")
    run_accept("0123abcd", {"reason": "y", "expires": LATER}, file=str(link), report="", today=TODAY)
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert len(read_accepted(str(file))) == 1


def test_runs_at_the_same_time_lose_no_entry(tmp_path):
    file = tmp_path / "accept.yaml"

    def add(number):
        run_accept(f"{number:08x}", {"reason": "y", "expires": LATER}, file=str(file), report="", today=TODAY)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(24)))
    assert sorted(entry.cause for entry in read_accepted(str(file))) == [f"{number:08x}" for number in range(24)]


def test_a_file_that_cannot_take_an_entry_stays_as_it_is(tmp_path):
    file = tmp_path / "accept.yaml"
    text = 'accept: [{kind: A, reason: x, expires: "2999-12-31"}]\n'
    file.write_text(text)
    with pytest.raises(PlanError, match="cannot take an entry"):
        run_accept("0123abcd", {"reason": "y", "expires": LATER}, file=str(file), report="", today=TODAY)
    assert file.read_text() == text
    assert list(tmp_path.iterdir()) == [file]


# -- a fleet -----------------------------------------------------------------------------------------------------------


def test_a_missing_dump_is_worse_than_what_was_in_it(tmp_path):
    """East is tightened on the second night; on the third, west has no dump."""
    for night, (crd, names) in enumerate(((LOOSE, ("east", "west")), (TIGHT, ("east", "west")), (TIGHT, ("east",)))):
        folder = tmp_path / f"dumps-{night}"
        folder.mkdir()
        for name in names:
            own = crd if name == "east" else LOOSE
            etcd(folder / f"{name}.json", 100 * (night + 1), own, widget("a", {"size": 1}))
    found = []
    for night in range(3):
        options = {"cluster": "{name}", "fail_on": "invalid"}
        if night:
            options |= {"diff": str(tmp_path / f"report-{night - 1}"), "only_new": True}
        code, _ = audit(tmp_path / f"report-{night}", tmp_path / f"dumps-{night}" / "*.json", **options)
        model = FindingsModel.open(tmp_path / f"report-{night}")
        rows = [(row["cluster"], row["verdict"], row["new"]) for row in cluster_rows(model)]
        found.append((code, model.verdict.word, rows))
    assert found == [
        (0, "not-compared", [("east", "not-compared", None), ("west", "not-compared", None)]),
        (1, "worse", [("east", "worse", 1), ("west", "same", 0)]),
        (3, "incomplete", [("west", "missing", None), ("east", "same", 0)]),
    ]
    text = text_of(tmp_path / "report-2")
    assert text.startswith("INCOMPLETE  east · ")
    assert "1 cluster without a dump" in text
    assert "MISSING  west: this run has no dump of it" in text
    assert re.search(r"CLUSTER +VERDICT +CRITICAL +HIGH +NEW OBJECTS +FIXED OBJECTS +SNAPSHOT AGE", text)
    assert re.search(r"west +MISSING +- +- +- +- +-", text)
    assert "nothing to do" not in text


def test_a_definition_that_was_tightened_overnight_makes_one_cause_of_thousands_of_findings(tmp_path):
    """1,385 objects lack a field that became required; rules are not checked then, which each of them reports too."""
    fields = {"size": {"type": "integer"}, "tier": {"type": "string"}}
    loose, tight = definition(fields), definition(fields, required=["tier"])
    for one in (loose, tight):
        schema = one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["x-kubernetes-validations"] = [{"rule": "self.spec.size > 0"}]
    many = [widget(f"w{at:04}", {"size": 1}, namespace=f"team-{at % 212}") for at in range(1385)]
    audit(tmp_path / "one", etcd(tmp_path / "1.json", 100, loose, *many))
    code, _ = audit(
        tmp_path / "two", etcd(tmp_path / "2.json", 200, tight, *many), diff=str(tmp_path / "one"), only_new=True
    )
    model = FindingsModel.open(tmp_path / "two")
    assert code == 1
    assert sum(cause.new_findings for cause in model.causes) >= 2 * 1385
    [first] = model.causes
    assert first.schema_changes == ("required: + spec.tier",)
    assert (first.objects, first.namespaces) == (1385, 212)
    text = text_of(tmp_path / "two")
    assert "definition changed: required: + spec.tier" in text
    assert " +1,384 " in text
    assert len(text.splitlines()) <= 25


def test_an_object_that_fails_each_apply_is_one_new_object(tmp_path):
    found = []
    for night, size in enumerate((1, "large", 1)):
        folder = tmp_path / f"dumps-{night}"
        folder.mkdir()
        for name in ("east", "west"):
            own = widget("a", {"size": size if name == "east" else 1, "tier": "b"})
            etcd(folder / f"{name}.json", 100 * (night + 1), LOOSE, own)
        options = {"diff": str(tmp_path / f"report-{night - 1}"), "only_new": True} if night else {}
        audit(tmp_path / f"report-{night}", folder / "*.json", cluster="{name}", **options)
        model = FindingsModel.open(tmp_path / f"report-{night}")
        causes = sum(cause.change == "new" for cause in model.causes)
        found.append((causes, [(row["cluster"], row["new"], row["fixed"]) for row in cluster_rows(model)]))
    assert found[1:] == [(2, [("east", 1, 0), ("west", 0, 0)]), (0, [("west", 0, 0), ("east", 0, 1)])]
