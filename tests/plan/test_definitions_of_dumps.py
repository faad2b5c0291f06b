"""Definitions of a dump are decoded once when a plan is made, however many there are."""

from auditor.golang import jsontext
from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import make_plan
from tests.benchmarks.definitions import synthetic, write_dump


def test_definitions_that_no_webhook_converts_are_decoded_once(tmp_path, monkeypatch):
    definitions = [synthetic(number) for number in range(20)]
    service = {"namespace": "d", "name": "converter"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}
    definitions[7]["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    write_dump(tmp_path / "dump.json", definitions, 20, 20, corpus=False)
    decoded = []
    decode = jsontext.decode
    monkeypatch.setattr(jsontext, "decode", lambda data: decoded.append(decode(data)) or decoded[-1])
    plan = make_plan(AuditOptions(dumps=(str(tmp_path / "dump.json"),)), tmp_path)
    assert len(plan.entries) == 20
    assert sorted(each["spec"]["group"] for each in decoded) == sorted(
        each["spec"]["group"] for each in [*definitions, definitions[7]]
    )
