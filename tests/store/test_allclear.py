"""The last sentence of a summary is an all-clear only if every key was read and judged, and one at least was."""

import ast
import copy
from pathlib import Path

import pytest

from auditor.base.statuses import Impact, Status
from auditor.causes.row_causes import IMPACTS, OF_NAMESPACES
from auditor.causes.severity import OF_IMPACT
from auditor.causes.titles import IMPACT_TITLES
from auditor.sources.archives import layouts
from auditor.store.allclear import judged_rows, not_judged
from tests.output.summaries import summary_of_manifest

ROOT = Path(__file__).parents[2]
CLEAR = {
    "counts": {"keys": 3, "rows": 3, "out_of_scope": 0, "internal": 1, "statuses": {"valid": 2, "other": 1}},
    "kinds": [
        {"group": "demo.io", "kind": "Widget", "objects": 2, "statuses": {"valid": 2}, "impacts": {"none": 2},
         "breaking": None, "stuck": None},
        {"group": "", "kind": "", "objects": 1, "statuses": {"other": 1}, "impacts": {"none": 1},
         "breaking": None, "stuck": None},
    ],
    "findings": [], "stored_versions": [], "not_evaluated": [], "encryption": [], "lost": [],
    "inputs": [{"name": "a.db", "format": "etcd-snapshot", "revision": 7, "damage": [], "notes": ["a compaction was begun"],
                "keys": 3}],
    "tool": {"version": "1.0"}, "kubernetes_release": "v1.37.2", "started": "2026-11-25T02:00:00+00:00", "seconds": 1.5,
    "exit_code": 0,
    "options": {"etcd_prefix": "/registry", "skip": [], "scope": {"namespace": "", "include": [], "exclude": []}},
}  # fmt: skip


def _status(status, impact="none"):
    def change(manifest):
        manifest["counts"]["statuses"][status] = 1
        manifest["kinds"][0]["statuses"][status] = 1
        manifest["kinds"][0]["impacts"][impact] = 1

    return change


def _set(*path):
    *parents, last, value = path

    def change(manifest):
        for name in parents:
            manifest = manifest[name]
        manifest[last] = value

    return change


def _nothing(manifest):
    manifest["counts"]["statuses"] = {}
    manifest["kinds"] = []


DAMAGE = [{"where": "page 3", "reason": "torn"}]
INPUT = CLEAR["inputs"][0]
COUNTS = {"new": 0, "same": 0, "fixed": 0}
DIFF = {"report": "a", "findings": COUNTS, "distinct": COUNTS, "not_judged": 2, "not_rechecked": {"sealed": 2},
        "worse": {}, "first_new": [], "first_fixed": [], "first_worse": [], "notes": []}  # fmt: skip
FINDING = {"group": "", "kind": "Widget", "check": "rule", "field": "spec", "type": "FieldValueInvalid", "count": 1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_nothing, "nothing was judged"),
        (_status("sealed"), "1 key sealed (encrypted, and no key was given)"),
        (_status("orphaned"), "1 key without a definition"),
        (_status("unserved"), "1 key whose definition is not served"),
        (_status("needs-conversion", "needs-webhook"), "1 key that only a conversion webhook can list (--convert-with asks one)"),
        (_status("invalid", "needs-webhook"), "1 object that only a conversion webhook can list (--convert-with asks one)"),
        (_status("a-new-status"), "1 key with status a-new-status"),
        (_status("invalid"), "read the findings"),
        (_status("unreadable"), "read the findings"),
        (_status("valid", "loses-data"), "read the findings"),
        (_status("valid", "blocks-metadata"), "read the objects"),
        (_status("valid", "a-new-impact"), "read the objects"),
        (_set("findings", [FINDING]), "read the findings"),
        (_set("counts", "internal", 0), "1 key that belongs to no object below /registry"),
        (_set("counts", "out_of_scope", 5), "5 keys out of scope"),
        (_set("options", "skip", ["rules"]), "skipped checks (--skip rules)"),
        (_set("not_evaluated", [{"crd": "w", "version": "v1", "objects": 7}]), "validation rules of 7 objects"),
        (_set("lost", ["shard 1: worker lost"]), "keys given up: see 1 line of LOST"),
        (_set("inputs", [{**INPUT, "name": "b.db", "damage": DAMAGE, "notes": []}]), "1 part of dumps that could not be read"),
        (_set("inputs", [{**INPUT, "name": "b", "notes": ["2 files were not read"]}]), "the parts of b that were not read"),
        (_set("missing", [{"name": "west"}]), "1 cluster without a dump (west)"),
        (_set("stale", [{"source": "b.db", "why": "older"}]), "1 stale dump (b.db)"),
        (_set("diff", DIFF), "2 earlier findings that could not be checked again"),
    ],
)  # fmt: skip
def test_there_is_no_all_clear_if_anything_was_not_judged(change, said):
    manifest = copy.deepcopy(CLEAR)
    assert summary_of_manifest(manifest).endswith("Next: nothing to do.")
    change(manifest)
    text = summary_of_manifest(manifest)
    assert "nothing to do" not in text
    assert said in text


FULLY_JUDGED = ("valid", "definition", "builtin")
NOTHING_FOUND = ("none", "drifts", "unknown")
"""A value is unknown where it is sealed, or where its rules were not evaluated: reasons of their own."""


@pytest.mark.parametrize("status", Status)
def test_every_status_but_judged_and_fine_is_a_cause_or_not_judged(status):
    manifest = copy.deepcopy(CLEAR)
    _status(status)(manifest)
    if status == "other":
        manifest["counts"]["internal"] = 0  # keys of other programs that a cluster has are no others
    is_said = bool(not_judged(manifest)) or status in OF_IMPACT or status == "invalid"  # the last has findings
    assert is_said == (status not in FULLY_JUDGED)
    assert ("nothing to do" in summary_of_manifest(manifest)) != is_said


@pytest.mark.parametrize("impact", Impact)
def test_every_impact_but_none_is_a_cause_or_not_judged(impact):
    manifest = copy.deepcopy(CLEAR)
    _status("valid", impact)(manifest)
    assert ("nothing to do" in summary_of_manifest(manifest)) == (impact in NOTHING_FOUND)
    has_findings = impact.blocks or impact == "tolerated-while-unchanged"
    assert has_findings or (impact in IMPACTS) == (impact not in NOTHING_FOUND)


@pytest.mark.parametrize("state", OF_NAMESPACES)
def test_every_state_of_a_namespace_with_objects_prevents_an_all_clear(state):
    manifest = copy.deepcopy(CLEAR)
    manifest["namespaces"] = [{"cluster": None, "name": "a", "is": state, "since": None, "objects": {"Widget": 1}}]
    assert "Next: save what is in 1 namespace (a)" in summary_of_manifest(manifest)


def test_every_impact_that_is_a_cause_has_a_severity_and_a_title():
    statuses = {status for status in Status if status in OF_IMPACT}
    assert set(OF_IMPACT) == set(IMPACT_TITLES) == {*IMPACTS, *OF_NAMESPACES.values(), *statuses}


@pytest.mark.parametrize("section", [{"long": None}, {"long": 2}, {"unread": 1}])
def test_what_is_not_known_of_a_deletion_is_said(section):
    manifest = copy.deepcopy(CLEAR)
    known = {"objects": 3, "long": 0, "days": 7, "unread": 0, "finalizers": {}}
    assert "DELETING" not in summary_of_manifest({**manifest, "deleting": known})
    assert "DELETING" in summary_of_manifest({**manifest, "deleting": {**known, **section}})


def test_a_webhook_without_its_service_is_to_be_restored_and_no_key_deleted():
    why = 'conversion webhook for g/v1, Kind=A failed: Post "https://own.space.svc:443/": service "own" not found'
    advice = _broken("g", "A", breaking={**BREAKING, "reason": why})
    assert advice.startswith("restore the Service space/own of the conversion webhook")
    assert "repair or delete" not in advice


def test_json_without_a_kind_is_no_object():
    manifest = copy.deepcopy(CLEAR)
    manifest["kinds"] = [{"group": "", "kind": "", "statuses": {"unreadable": 1}, "impacts": {}}]
    assert judged_rows(manifest) == 0
    assert not_judged(manifest)[0] == "no object was judged"


BREAKING = {"key": "/registry/secrets/a/b", "reason": "cipher: message authentication failed", "impact": "breaks-list"}


def _broken(group, kind, breaking=BREAKING, **more):
    manifest = copy.deepcopy(CLEAR) | more
    manifest["kinds"].append({"group": group, "kind": kind, "objects": 1, "statuses": {"unreadable": 1},
                              "impacts": {"breaks-list": 1}, "breaking": breaking, "stuck": None})  # fmt: skip
    return summary_of_manifest(manifest).partition("Next: ")[2]


def test_nothing_is_to_be_deleted_that_does_not_open_with_the_keys_given():
    assert "repair or delete" in _broken("", "Secret")
    closed = [{"provider": "aesgcm", "name": "key1", "key_id": None, "opened": False, "values": 3}]
    advice = _broken("", "Secret", encryption=closed)
    assert advice.startswith(
        "check that the given keys are those of the server: they do not decrypt 3 encrypted values"
    )
    assert "or delete the keys" not in advice


def test_a_definition_is_to_be_repaired_and_not_deleted():
    assert "Repair definitions rather than delete" in _broken("apiextensions.k8s.io", "CustomResourceDefinition")


def test_the_keys_that_no_object_has_can_be_found():
    manifest = copy.deepcopy(CLEAR)
    manifest["counts"]["internal"] = 0
    assert "'r/objects/*.parquet' where status = 'other'" in summary_of_manifest(manifest)


def test_an_exported_object_without_a_definition_is_not_to_be_deleted():
    manifest = copy.deepcopy(CLEAR)
    _status("orphaned")(manifest)
    assert "etcdctl" in summary_of_manifest(manifest)
    manifest["inputs"][0]["is_export"] = True
    advice = summary_of_manifest(manifest).partition("Next: ")[2]
    assert "--crds" in advice
    assert "delete" not in advice


def test_a_cluster_without_an_object_prevents_an_all_clear():
    manifest = copy.deepcopy(CLEAR)
    fine = {"name": "east", "kinds": manifest["kinds"]}
    manifest["clusters"] = [fine, {"name": "south", "kinds": manifest["kinds"]}]
    assert summary_of_manifest(manifest).endswith("Next: nothing to do.")
    manifest["clusters"] = [fine, {"name": "south", "kinds": []}]
    assert "NOT JUDGED  all of south (no object was judged)" in summary_of_manifest(manifest)


@pytest.mark.parametrize(("is_export", "is_clear"), [(False, False), (True, True)])
def test_a_database_without_a_key_prevents_an_all_clear_and_an_empty_list_of_a_kind_does_not(is_export, is_clear):
    manifest = copy.deepcopy(CLEAR)
    manifest["inputs"].append({**INPUT, "name": "b.db", "damage": [], "notes": [], "is_export": is_export, "keys": 0})
    assert summary_of_manifest(manifest).endswith("Next: nothing to do.") == is_clear


def texts_of_notes():
    """Return every text of the sources that becomes a note, with 1 in place of each value."""
    out = {note: layouts.__file__ for layout in layouts.LAYOUTS.values() for note in layout.notes}
    for path in sorted((ROOT / "auditor" / "sources").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            values = []
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("append", "extend"):
                values = node.args if "notes" in ast.unparse(node.func) else []
            elif isinstance(node, ast.AugAssign | ast.Assign | ast.keyword):
                target = getattr(node, "target", None) or getattr(node, "targets", [None])[0]
                name = node.arg if isinstance(node, ast.keyword) else ast.unparse(target)
                values = [node.value] if name and name.endswith("notes") else []
            elif isinstance(node, ast.FunctionDef) and ("note" in node.name or node.name in ("_left_out", "_beside")):
                values = [one.value for one in ast.walk(node) if isinstance(one, ast.Yield | ast.Return) and one.value]
            for value in values:
                for text in texts_in(value):
                    out[text] = path
    return out


def texts_in(node):
    if isinstance(node, ast.JoinedStr):
        yield "".join(one.value if isinstance(one, ast.Constant) else "1" for one in node.values)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str) and " " in node.value:
            yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from texts_in(child)


HARMLESS = (
    "is damaged (1); the other one is used",
    "a compaction at revision 1 was started and not finished",
    "no key1 is below 1",  # then no object is judged
    "no keys: nothing matched when it was saved",
    "no key in the table",
    "no object in this file",
    "it shows no single moment",
    "the database is in use: its state at revision 1 was read",
    "the write-ahead log beside the database was read too",
    "the write-ahead log ends in a record that was being written",
    "UTF-16 text, read as UTF-8",
    "1 of them may belong to a transaction that was not finished",  # what was saved is not certain, says another
    "in several files; the first one was read",
    "its objects came through an API",
    "it holds no custom resources and no definitions",
    "sha256 at the end does not match",  # which is damage as well
)
"""Notes of dumps that were read whole."""


def test_each_note_of_a_source_is_known_to_be_harmless_or_prevents_an_all_clear():
    texts = texts_of_notes()
    assert len(texts) > 25
    unsaid = []
    for text in texts:
        manifest = copy.deepcopy(CLEAR)
        manifest["inputs"][0]["notes"] = [text]
        if summary_of_manifest(manifest).endswith("Next: nothing to do.") != any(one in text for one in HARMLESS):
            unsaid.append(text)
    assert not unsaid
