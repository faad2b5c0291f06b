"""Every update vector through the public API: what is reported, what would be without ratcheting, and as a create.

Updates of definitions have their own tests; here they are left out.
"""

import json
from collections import Counter

import pytest

import auditor
from tests.shared import second_check, shared_lines

pytestmark = second_check("vectors", by="tests/reference/test_vectors.py")

FILES = {"conformance-update.jsonl": 34, "conformance-versions.jsonl": 20, "real-update.jsonl.gz": 1018}


def ours(findings):
    return Counter((f.field, f.type, f.message) for f in findings)


def theirs(errors):
    return Counter((e["field"], e["type"], e["message"]) for e in errors or ())


def differences(got, expect):
    """Return what differs from the server's answer, empty if nothing does."""
    if bool(expect.get("readError")) != (got.unreadable is not None):
        return f"readable or not: {got.unreadable} / {expect.get('readError')}"
    if got.unreadable is not None:
        return "" if got.unreadable.reason[:4] == expect["readError"][:4] else got.unreadable.reason
    for name, findings in (("errors", got.findings), ("unratcheted", got.unratcheted), ("createErrors", got.create)):
        if ours(findings) != theirs(expect[name]):
            return f"{name}: ours {ours(findings) - theirs(expect[name])}, server's {theirs(expect[name]) - ours(findings)}"
    return ""


@pytest.mark.parametrize("name", FILES)
def test_updates_equal_the_servers(name, catalogs):
    wrong, run = {}, 0
    for case in shared_lines(f"vectors/{name}"):
        if "old" not in case or not ("crd" in case or "ref" in case):
            continue
        old, new = (json.dumps(case[which]).encode() for which in ("old", "new"))
        catalog = catalogs(case)
        got = auditor.check_update(catalog, old, new, resource=case.get("resource"), version=case.get("version"))
        run += 1
        difference = differences(got, case["expect"])
        if difference:
            wrong[case["name"]] = difference
    assert run == FILES[name]
    assert wrong == {}


def test_decoded_objects_are_judged_as_their_bytes_and_stay_as_they_are(catalogs):
    run = 0
    for case in shared_lines("vectors/conformance-update.jsonl"):
        before = json.dumps(case)
        place = {"resource": case.get("resource"), "version": case.get("version")}
        texts = [json.dumps(case[which]).encode() for which in ("old", "new")]
        by_bytes = auditor.check_update(catalogs(case), *texts, **place)
        assert auditor.check_update(catalogs(case), case["old"], case["new"], **place) == by_bytes, case["name"]
        assert json.dumps(case) == before
        run += 1
    assert run == FILES["conformance-update.jsonl"]
