"""A report lists what its dump lists: in the order of keys, and what no read gives is reported."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from auditor.plan.options import AuditOptions, RunScope
from auditor.server.object_reader import ReadMode
from pipelines.run.audit import run_audit
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import run_query
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot
from tests.upgrade.support import GROUP, crd, spec, string, thing, version, write_crds

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

DEFINITIONS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
THINGS = f"/registry/{GROUP}/things/"
WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://conversion.example.com/"}},
}


def placed(namespace: str, name: str, at: str = "v1") -> dict[str, Any]:
    one: dict[str, Any] = thing(name, {"color": "red"}, at)
    one["metadata"]["namespace"] = namespace
    return one


def written(path: Path, definition: dict[str, Any], objects: dict[str, Any]) -> Path:
    """Write a snapshot of a definition and of objects by what follows the prefix of their kind."""
    history = History()
    history.put(f"{DEFINITIONS}{definition['metadata']['name']}".encode(), json.dumps(definition).encode())
    for name, one in objects.items():
        history.put(f"{THINGS}{name}".encode(), json.dumps(one).encode())
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    return path


def asked(capsys: pytest.CaptureFixture[str], target: Path, *args: str, **more: Any) -> tuple[int, str, list[str]]:
    """Return exit code, standard output, and the lines of standard error."""
    get = more.pop("get", None)
    options = QueryOptions(str(target), args=args, **more)
    for name, value in (get or {}).items():
        setattr(options.get, name, value)
    code = run_query(options)
    reported = capsys.readouterr()
    return code, reported.out, reported.err.splitlines()


def audited(dump: Path, **options: Any) -> Path:
    report = dump.parent / "report"
    run_audit(AuditOptions(dumps=(str(dump),), report=str(report), fail_on="never", **options))
    return report


def two_versions(**more: Any) -> dict[str, Any]:
    schema = spec(color=string())
    definition: dict[str, Any] = crd(
        version(schema), version(schema, "v1beta1", storage=False), stored=["v1beta1", "v1"], **more
    )
    return definition


def test_what_only_a_webhook_can_convert_is_shown_as_stored_over_a_report_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = {"a/old": placed("a", "old", "v1beta1"), "a/new": placed("a", "new")}
    dump = written(tmp_path / "dump.db", two_versions(conversion=WEBHOOK), objects)
    report = audited(dump)
    versions = {"output": "jsonpath={range .items[*]}{.metadata.name} {.apiVersion} {end}"}
    note = (
        f"note: 1 object of things.{GROUP} is shown as stored: only the conversion webhook can read it at v1 "
        "(--convert-with CMD)"
    )
    shown = f"new {GROUP}/v1 old {GROUP}/v1beta1 "
    for target in (dump, report):
        assert asked(capsys, target, "things", **versions) == (0, shown, [note])
        assert asked(capsys, target, "things", **versions, shown_as="stored") == (0, shown, [])
        at_v1beta1 = asked(capsys, target, f"things.v1beta1.{GROUP}", **versions)
        assert at_v1beta1 == (0, shown, [note.replace("at v1 ", "at v1beta1 ")])
        one = asked(capsys, target, "things", "old", namespace="a", output="jsonpath={.apiVersion}")
        assert one == (0, f"{GROUP}/v1beta1", [note])
        as_server = asked(capsys, target, "things", **versions, mode=ReadMode(as_server=True))
        assert as_server[0] == 1
        assert "conversion webhook needed: from " in as_server[2][-1]
    dump.unlink()
    code, out, reported = asked(capsys, report, "things", output="name")
    assert (code, out, reported[1:]) == (
        *(0, f"thing.{GROUP}/new\n"),
        [(f"note: 1 object of things.{GROUP} is not in the index at v1, where only the conversion webhook can read them; "
         "the dump has them as stored")],
    )  # fmt: skip


PLACES = ("prod-eu/a", "prod-eu/b", "prod/a", "prod/b", "qa/a")
"""As keys are sorted; by namespace, prod comes before prod-eu."""


def test_a_report_lists_in_the_order_of_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = {place: placed(*place.split("/")) for place in PLACES}
    dump = written(tmp_path / "dump.db", two_versions(), objects)
    report = audited(dump)
    where = {"output": "jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}"}
    for more in ({}, {"get": {"limit": 3}}, {"fields": "metadata.name=b"}, {"where": "metadata.name == 'a'"}):
        over_the_dump = asked(capsys, dump, "things", **where, **more)
        assert asked(capsys, report, "things", **where, **more) == over_the_dump
    assert asked(capsys, report, "things", **where)[1].split() == list(PLACES)
    names = asked(capsys, dump, "things", output="name", get={"limit": 3})
    assert asked(capsys, report, "things", output="name", get={"limit": 3}) == names
    dump.unlink()
    assert asked(capsys, report, "things", **where)[1].split() == list(PLACES)


def test_what_is_not_established_is_not_served_over_a_report_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pending = two_versions()
    pending["status"]["conditions"] = [{**one, "status": "False"} for one in pending["status"]["conditions"]]
    dump = tmp_path / "dump.db.gz"
    dump.write_bytes(gzip.compress(written(tmp_path / "dump.db", pending, {"a/x": placed("a", "x")}).read_bytes()))
    crds = write_crds(tmp_path / "crds.json", crd(version(spec()), plural="others", kind="Other"))
    report = audited(dump, crds=(str(crds),))
    over_the_dump = asked(capsys, dump, "things", crds=(str(crds),))
    assert (over_the_dump[0], over_the_dump[2][0]) == (1, 'error: the server doesn\'t have a resource type "things"')
    assert asked(capsys, report, "things") == over_the_dump
    assert asked(capsys, report, "others") == asked(capsys, dump, "others", crds=(str(crds),))


def test_a_report_of_some_objects_does_not_hide_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = {place: placed(*place.split("/")) for place in PLACES}
    dump = written(tmp_path / "dump.db", two_versions(), objects)
    over_the_dump = asked(capsys, dump, "things", output="name")
    report = audited(dump, scope=RunScope(namespace="prod"))
    assert asked(capsys, report, "things", output="name") == over_the_dump
    dump.unlink()
    code, out, reported = asked(capsys, report, "things", output="name")
    assert (code, out.split()) == (0, [f"thing.{GROUP}/a", f"thing.{GROUP}/b"])
    assert reported[1] == "the report has only the objects in its scope: namespace prod"


def test_an_object_is_found_by_its_key_whatever_name_it_gives_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    homeless = placed("a", "one")
    del homeless["metadata"]["namespace"]
    objects = {
        "a/one": homeless,
        "b/one": placed("b", "one"),
        "b/two": placed("b", "three"),
        "c/four": placed("c", "4"),
    }
    dump = written(tmp_path / "dump.db", two_versions(), objects)
    report = audited(dump)
    for names in (["one"], ["two"], ["three"], ["4", "four"]):
        for namespace in ("", "a", "b"):
            over_the_dump = asked(capsys, dump, "things", *names, namespace=namespace, output="json")
            assert asked(capsys, report, "things", *names, namespace=namespace, output="json") == over_the_dump


def test_of_an_export_a_report_lists_in_the_same_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = tmp_path / "dump.ndjson"
    stored = [two_versions(), *(placed(*place.split("/")) for place in PLACES)]
    dump.write_text("".join(json.dumps(one) + "\n" for one in stored))
    report = audited(dump)
    for names in ((), ("a",), ("b", "a")):
        over_the_dump = asked(capsys, dump, "things", *names, output="json")
        assert asked(capsys, report, "things", *names, output="json") == over_the_dump
