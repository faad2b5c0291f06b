"""What a client meets, key by key: try_update over the golden snapshot beside the answers of the real server.

The unchanged PUT, the PATCH that adds a label and the unchanged PUT of /status, at each served version: the code and
the set of causes must be the server's. Keys that differ are listed in upgrade-updates.json with the reason; the test
fails when one of them starts to agree, or a new one appears.
"""

import json
from pathlib import Path

import pytest

import auditor
from tests.golden.test_upgrade_verdicts import FOLDER, catalog, values  # noqa: F401 - fixtures
from tests.shared import shared_lines

KNOWN = Path(__file__).parent / "upgrade-updates.json"
REQUESTS = {"put": "put", "patch": "label", "putStatus": "status"}


def causes(answer):
    """Return the causes of a refusal; other failures have some that are no findings."""
    if answer["code"] != 422:
        return set()
    details = answer.get("body", {}).get("details", {})
    return {(c.get("field", ""), c["reason"], c["message"]) for c in details.get("causes", ())}


def is_rule(cause):
    """Whether a validation rule may have said it (a rule may give its own reason, but then with a text)."""
    return " in body " not in cause[2] and cause[2] != "Required value"


def compare(catalog, values):  # noqa: F811
    for row in shared_lines(f"{FOLDER}/expected.ndjson.gz"):
        for asked, request in REQUESTS.items():
            for version, answer in (row.get(asked) or {}).items():
                got = auditor.try_update(
                    catalog,
                    values[row["key"]],
                    key=row["key"],
                    revision=row["modRevision"],
                    version=version,
                    request=request,
                )
                found = {(f.field, f.type, f.message.removeprefix(f"{f.field}: ")) for f in got.findings}
                yield f"{row['key']} {version} {request}", got, found, answer["code"], causes(answer)


def test_answers_equal_the_servers(catalog, values):  # noqa: F811
    known = json.loads(KNOWN.read_text())
    different, compared, codes = {}, 0, set()
    for name, got, ours, code, theirs in compare(catalog, values):
        compared += 1
        codes.add((name.rpartition(" ")[2], code))
        if got.unevaluated_rules and not ours - theirs and all(is_rule(cause) for cause in theirs - ours):
            continue
        if (got.code, ours) != (code, theirs):
            different[name] = {
                "code": [got.code, code], "ours": sorted(ours - theirs), "server": sorted(theirs - ours), "message": got.message,
            }  # fmt: skip
    assert compared > 2800
    assert len(codes) >= 11
    assert {name: value for name, value in different.items() if name not in known} == {}
    assert sorted(set(known) - set(different)) == [], "these agree now: take them out of the file"
    assert all(reason for reason in known.values())


@pytest.mark.parametrize("request_", ["put", "label", "status", "remove-finalizer"])
def test_a_key_that_no_definition_owns_is_not_found(catalog, request_):  # noqa: F811
    got = auditor.try_update(catalog, b"{}", key="/registry/gone.example.com/ghosts/a/b", revision=1, request=request_)
    assert (got.code, got.findings) == (404, ())
