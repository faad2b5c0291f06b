"""The past of a snapshot: states as of a revision, and what a watch would have sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import PlanError
from auditor.printing.get.options import GetOptions
from auditor.server.dump import DumpStore
from auditor.server.history import changes, key_revisions
from pipelines.run.fields import run_fields
from pipelines.run.query import QueryOptions, open_store, run_query
from pipelines.run.show import run_show
from pipelines.run.watch import run_watch
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets
from tests.sources.bolt_writer import snapshot as snapshot_bytes

if TYPE_CHECKING:
    from pathlib import Path

LATEST = 2363


def _names(path: Path, kind: str, fields: str, as_of: int) -> dict[str, str]:
    """Return name to resourceVersion of a list as of a revision."""
    with open_store(QueryOptions(str(path), as_of=as_of), lambda _: None) as store:
        resource = store.discovery.resolve(kind)
        found = store.list_objects(resource, "", "", fields)
        return {_name(one): one["metadata"]["resourceVersion"] for one in found}


def _name(obj: Any) -> str:
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("leases", ""),
        ("leases", "metadata.name=node-pear"),
        ("pods", "spec.nodeName!=node-plum"),
        ("shipmanifests", ""),
        ("shipmanifests", "spec.consignee!="),
        ("pickplans.v1.harvest.example.org", "spec.grade=A"),
        ("sensors", "metadata.namespace!=packing"),
    ],
)
def test_replaying_a_watch_gives_the_list_at_each_revision(snapshot: Path, kind: str, fields: str) -> None:
    with open_store(QueryOptions(str(snapshot)), lambda _: None) as store:
        assert isinstance(store, DumpStore)
        resource = store.discovery.resolve(kind)
        crds = key_revisions(store.plan.sources[0], b"/registry/apiextensions.k8s.io/")
        defined = max(one.revision for one in crds) if store.catalog.definition(resource) is not None else 0
        revisions = sorted(
            {one for one in (1900, 2200, defined, (defined + LATEST) // 2, LATEST) if one >= max(defined, 1)}
        )
        found = list(changes(store, resource, namespace="", labels="", fields=fields, after=None))
    state: dict[bytes, tuple[str, str]] = {}
    at = 0
    for revision in revisions:
        while at < len(found) and found[at].revision <= revision:
            change = found[at]
            at += 1
            if change.object is None:
                continue
            assert change.object["metadata"]["resourceVersion"] == str(change.revision)
            if change.type == "DELETED":
                del state[change.key]
            else:
                assert (change.type == "MODIFIED") is (change.key in state)
                state[change.key] = (_name(change.object), str(change.revision))
        assert dict(sorted(state.values())) == _names(snapshot, kind, fields, revision)
    assert at == len(found) > 0


def test_a_watch_begins_after_a_revision(snapshot: Path) -> None:
    with open_store(QueryOptions(str(snapshot)), lambda _: None) as store:
        assert isinstance(store, DumpStore)
        resource = store.discovery.resolve("leases")
        every = list(changes(store, resource, namespace="", labels="", fields="", after=None))
        some = list(changes(store, resource, namespace="", labels="", fields="", after=every[9].revision))
    assert some == [one for one in every if one.revision > every[9].revision]
    assert {one.type for one in some} <= {"ADDED", "MODIFIED", "DELETED"}


def _pod(name: str, node: str, **labels: str) -> bytes:
    metadata = {"name": name, "namespace": "x", "labels": labels}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}, "status": {}}
    ).encode()


def _dump(folder: Path, history: History) -> Path:
    path = folder / "made.db"
    path.write_bytes(snapshot_bytes(bolt_file(etcd_buckets(history.rows))))
    return path


def test_what_begins_and_ceases_to_fit_is_added_and_deleted_as_it_was(tmp_path: Path) -> None:
    history = History()
    a, b = b"/registry/pods/x/a", b"/registry/pods/x/b"
    history.put(a, _pod("a", ""))  # 2: does not fit yet
    history.put(a, _pod("a", "n1"))  # 3: begins to fit
    history.put(b, _pod("b", "n2"))  # 4: never fits
    history.put(a, _pod("a", "n1", app="web"))  # 5: still fits
    history.put(a, _pod("a", "n2"))  # 6: ceases to fit
    history.delete(a)  # 7: did not fit any more
    history.put(a, _pod("a", "n1"))  # 8: another a
    history.delete(a)  # 9: goes while it fits
    history.delete(b)
    path = _dump(tmp_path, history)
    with open_store(QueryOptions(str(path)), lambda _: None) as store:
        assert isinstance(store, DumpStore)
        resource = store.discovery.resolve("pods")

        def seen(**selectors: str) -> list[tuple[str, int, str]]:
            asked = {"namespace": "", "labels": "", "fields": "", **selectors}
            found = changes(store, resource, after=None, **asked)
            return [(one.type, one.revision, one.object["spec"]["nodeName"]) for one in found if one.object]

        assert seen(fields="spec.nodeName=n1") == [
            ("ADDED", 3, "n1"),
            ("MODIFIED", 5, "n1"),
            ("DELETED", 6, "n1"),
            ("ADDED", 8, "n1"),
            ("DELETED", 9, "n1"),
        ]
        assert seen(labels="app=web") == [("ADDED", 5, "n1"), ("DELETED", 6, "n1")]
        assert seen(namespace="y") == []
        assert [one[0] for one in seen(fields="metadata.name=b")] == ["ADDED", "DELETED"]


def test_compacted_and_future_revisions_are_refused_in_etcds_words(compacted: Path, snapshot: Path) -> None:
    for path, revision, words in (
        (compacted, 100, "etcdserver: mvcc: required revision has been compacted"),
        (snapshot, 99_999, "etcdserver: mvcc: required revision is a future revision"),
    ):
        with pytest.raises(PlanError, match=words), open_store(QueryOptions(str(path), as_of=revision), print):
            pass
    with open_store(QueryOptions(str(compacted)), lambda _: None) as store:
        assert isinstance(store, DumpStore)
        resource = store.discovery.resolve("leases")
        with pytest.raises(PlanError, match=r"too old resource version: 5 \(2323\)"):
            list(changes(store, resource, namespace="", labels="", fields="", after=5))
        known = list(changes(store, resource, namespace="", labels="", fields="", after=None))
    assert all(one.revision > 2323 for one in known)


def test_the_newest_state_as_of_is_the_state(snapshot: Path, compacted: Path) -> None:
    for kind in ("pickplans", "pods", "crd"):
        with open_store(QueryOptions(str(snapshot)), lambda _: None) as store:
            found = store.list_objects(store.discovery.resolve(kind), "", "", "")
            now = {_name(one): one["metadata"]["resourceVersion"] for one in found}
        assert _names(snapshot, kind, "", LATEST) == now == _names(compacted, kind, "", LATEST)


def test_definitions_are_those_of_the_time(snapshot: Path) -> None:
    with open_store(QueryOptions(str(snapshot), as_of=20), lambda _: None) as store:
        early = {one.api_version for one in store.discovery.resources if one.plural == "pickplans"}
    with open_store(QueryOptions(str(snapshot)), lambda _: None) as store:
        late = {one.api_version for one in store.discovery.resources if one.plural == "pickplans"}
    assert "harvest.example.org/v1" in early
    assert late > early


def test_an_export_has_no_past(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}')
    with pytest.raises(PlanError, match="knows only the present"), open_store(QueryOptions(str(path), as_of=1), print):
        pass


# -- the commands ------------------------------------------------------------------------------------------------------


def test_query_as_of_counts_what_there_was(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = QueryOptions(str(snapshot), args=("pickplans",), as_of=1000, get=GetOptions(count=True))
    assert run_query(options) == 0
    assert capsys.readouterr().out == f"{len(_names(snapshot, 'pickplans', '', 1000))}\n"


def test_watch_prints_a_table_or_events(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = QueryOptions(str(snapshot), fields="metadata.name=amber-02")
    assert run_watch(options, "coldstores", after=None, output="table") == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "REVISION   EVENT     NAME       SPEC.SITE",
        "93         ADDED     amber-02   quayside",
        "828        DELETED   amber-02   quayside",
    ]
    assert run_watch(options, "coldstores", after=93, output="json") == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["type"] for one in events][:2] == ["DELETED", "ADDED"]
    assert events[0]["object"]["metadata"]["resourceVersion"] == "828"


def test_watch_says_why_it_cannot(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_watch(QueryOptions(str(snapshot), fields="spec.x=1"), "coldstores", after=None, output="table") == 2
    assert "field label not supported: spec.x" in capsys.readouterr().err
    assert run_watch(QueryOptions(str(snapshot)), "coldstorez", after=None, output="table") == 2
    assert "did you mean coldstores.orchard.example.com?" in capsys.readouterr().err


def test_watch_of_a_damaged_object_is_an_error_event(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_watch(QueryOptions(str(snapshot)), "oddities", after=2300, output="json") == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    errors = [one["object"]["message"] for one in events if one["type"] == "ERROR"]
    assert any("corrupt object /registry/rough.example.com/oddities/orchard-north/raw-empty" in one for one in errors)


def test_show_tells_all_of_a_key(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = "/registry/harvest.example.org/pickplans/orchard-north/cobalt-06"
    assert run_show(QueryOptions(str(snapshot)), key, output="json") == 0
    found = json.loads(capsys.readouterr().out)
    with open_store(QueryOptions(str(snapshot)), lambda _: None) as store:
        assert isinstance(store, DumpStore)
        wanted = [one.revision for one in key_revisions(store.plan.sources[0], key.encode(), exact=True)]
    assert [one["revision"] for one in found["revisions"]] == wanted
    assert found["stored"]["metadata"]["name"] == found["read"]["metadata"]["name"] == "cobalt-06"
    assert found["status"] in ("valid", "invalid")
    assert run_show(QueryOptions(str(snapshot)), key, output="yaml") == 0
    assert capsys.readouterr().out.startswith(f"key: {key}\n")


def test_show_of_a_broken_a_secret_and_an_unknown_key(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = QueryOptions(str(snapshot))
    assert run_show(options, "/registry/rough.example.com/oddities/orchard-north/raw-array", output="json") == 0
    assert json.loads(capsys.readouterr().out)["status"] == "unreadable"
    assert run_show(options, "/registry/secrets/orchard-north/apple-secret-0", output="json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["read"]["data"] == found["stored"]["data"] == {"token": "***"}
    with pytest.raises(PlanError, match="there is no key /registry/none"):
        run_show(options, "/registry/none", output="yaml")


def test_fields_lists_what_each_version_takes(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_fields(QueryOptions(str(snapshot)), "pickplans", values=False, limit=9, output="table") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["harvest.example.org/v2", "spec.priority", "integer"] in rows
    assert ["harvest.example.org/v1", "spec.grade", "string"] in rows
    assert not any(row[:2] == ["harvest.example.org/v2", "spec.grade"] for row in rows)


def test_fields_counts_values_as_selectors_see_them(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = QueryOptions(str(snapshot))
    assert run_fields(options, "pickplans.v1.harvest.example.org", values=True, limit=9, output="json") == 0
    for one in json.loads(capsys.readouterr().out):
        for value in one["values"]:
            asked = QueryOptions(
                str(snapshot),
                args=("pickplans.v1.harvest.example.org",),
                fields=f"{one['field']}={value['value']}",
                get=GetOptions(count=True),
            )
            if one["field"] != "metadata.name":
                assert run_query(asked) == 0
                assert capsys.readouterr().out == f"{value['count']}\n", (one["field"], value)
