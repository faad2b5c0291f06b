"""The past of a snapshot: states as of a revision or time, and the writes that led there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import PlanError
from auditor.printing.get.options import GetOptions
from auditor.server.dump import DumpStore
from auditor.server.history import key_revisions, writes
from pipelines.run.objects.explain import run_explain, run_values
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.objects.show import run_show
from pipelines.run.query import open_store, run_query
from tests.shared import recorded
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets
from tests.sources.bolt_writer import snapshot as snapshot_bytes

if TYPE_CHECKING:
    from pathlib import Path

STATE = json.loads(recorded("golden/upgrade/summary.json").read_bytes())["etcdutlStatus"]
LATEST = STATE["revision"]
COMPACTED = LATEST - 40
SPOILT = "/registry/bakery.example.com/loaves/market"


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
        ("loaves", ""),
        ("loaves.v1.bakery.example.com", "spec.flour=rye"),
        ("loaves", "metadata.namespace!=north"),
        ("pods", "spec.nodeName!=node-apple"),
        ("ovens", ""),
        ("recipes.v2.kitchen.example.org", "spec.code!="),
    ],
)
def test_replaying_a_watch_gives_the_list_at_each_revision(bakery: Path, kind: str, fields: str) -> None:
    with open_store(QueryOptions(str(bakery)), lambda _: None) as store:
        assert isinstance(store, DumpStore)
        resource = store.discovery.resolve(kind)
        crds = key_revisions(store.plan.sources[0], b"/registry/apiextensions.k8s.io/")
        defined = max(one.revision for one in crds) if store.catalog.definition(resource) is not None else 0
        revisions = sorted(
            {
                one
                for one in (LATEST // 2, LATEST * 3 // 4, defined, (defined + LATEST) // 2, LATEST)
                if one >= max(defined, 1)
            }
        )
        found = list(writes(store, [resource], fields=fields))
    state: dict[bytes, tuple[str, str]] = {}
    at = 0
    for revision in revisions:
        while at < len(found) and found[at].revision.revision <= revision:
            change = found[at]
            at += 1
            if change.object is None:
                continue
            assert change.object["metadata"]["resourceVersion"] == str(change.revision.revision)
            if change.type == "DELETED":
                del state[change.revision.key]
            else:
                assert (change.type == "MODIFIED") is (change.revision.key in state)
                state[change.revision.key] = (_name(change.object), str(change.revision.revision))
        assert dict(sorted(state.values())) == _names(bakery, kind, fields, revision)
    assert at == len(found) > 0


def test_writes_begin_and_end_at_revisions(bakery: Path) -> None:
    with open_store(QueryOptions(str(bakery)), lambda _: None) as store:
        assert isinstance(store, DumpStore)
        resource = store.discovery.resolve("ovens")
        every = list(writes(store, [resource]))
        first, last = (every[number].revision.revision for number in (9, 20))
        some = list(writes(store, [resource], spans=[(first, last)]))
    assert some == every[9:21]
    assert {one.type for one in some} <= {"ADDED", "MODIFIED", "DELETED", "ERROR"}


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
            found = writes(store, [resource], **selectors)
            return [(one.type, one.revision.revision, one.object["spec"]["nodeName"]) for one in found if one.object]

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


def test_compacted_and_future_revisions_are_refused_in_etcds_words(compacted: Path, bakery: Path) -> None:
    for path, revision, words in (
        (compacted, 100, "etcdserver: mvcc: required revision has been compacted"),
        (bakery, 99_999, "etcdserver: mvcc: required revision is a future revision"),
    ):
        with pytest.raises(PlanError, match=words), open_store(QueryOptions(str(path), as_of=revision), print):
            pass


def test_the_newest_state_as_of_is_the_state(bakery: Path, compacted: Path) -> None:
    for kind in ("ovens", "pods", "crd"):
        with open_store(QueryOptions(str(bakery)), lambda _: None) as store:
            found = store.list_objects(store.discovery.resolve(kind), "", "", "")
            now = {_name(one): one["metadata"]["resourceVersion"] for one in found}
        assert _names(bakery, kind, "", LATEST) == now == _names(compacted, kind, "", LATEST)


def test_definitions_are_those_of_the_time(bakery: Path) -> None:
    with open_store(QueryOptions(str(bakery)), lambda _: None) as store:
        late = {one.api_version for one in store.discovery.resources if one.plural == "recipes"}
        first = next(iter(key_revisions(store.plan.sources[0], b"/registry/kitchen.example.org/"))).revision
    with open_store(QueryOptions(str(bakery), as_of=first), lambda _: None) as store:
        early = {one.api_version for one in store.discovery.resources if one.plural == "recipes"}
    assert early == {"kitchen.example.org/v1"}
    assert late == {"kitchen.example.org/v1", "kitchen.example.org/v2"}


def test_an_export_has_no_past(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}')
    with (
        pytest.raises(PlanError, match="past revisions are not read"),
        open_store(QueryOptions(str(path), as_of=1), print),
    ):
        pass


# -- the commands ------------------------------------------------------------------------------------------------------


def test_query_as_of_counts_what_there_was(bakery: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = QueryOptions(str(bakery), args=("ovens",), as_of=LATEST // 2, get=GetOptions(count=True))
    assert run_query(options) == 0
    assert capsys.readouterr().out == f"{len(_names(bakery, 'ovens', '', LATEST // 2))}\n"


def test_show_tells_all_of_a_key(bakery: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = f"/registry/bakery.example.com/ovens/{min(_names(bakery, 'ovens', '', LATEST)).removeprefix('/')}"
    assert run_show(QueryOptions(str(bakery)), key, output="json") == 0
    found = json.loads(capsys.readouterr().out)
    with open_store(QueryOptions(str(bakery)), lambda _: None) as store:
        assert isinstance(store, DumpStore)
        wanted = [one.revision for one in key_revisions(store.plan.sources[0], key.encode(), exact=True)]
    assert [one["revision"] for one in found["revisions"]] == wanted
    assert found["stored"]["metadata"]["name"] == found["read"]["metadata"]["name"] == key.rpartition("/")[2]
    assert found["status"] in ("valid", "invalid")
    assert run_show(QueryOptions(str(bakery)), key, output="yaml") == 0
    assert capsys.readouterr().out.startswith(f"key: {key}\n")


def test_show_of_a_broken_a_secret_and_an_unknown_key(bakery: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = QueryOptions(str(bakery))
    assert run_show(options, f"{SPOILT}/raw-array", output="json") == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["status"] == "unreadable"
    assert f"500: corrupt object {SPOILT}/raw-array: " in err
    assert run_show(options, "/registry/secrets/north/key-0", output="json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["read"]["data"] == found["stored"]["data"] == {"token": "(redacted)"}
    with pytest.raises(PlanError, match="there is no key /registry/none"):
        run_show(options, "/registry/none", output="yaml")


def test_explain_lists_what_selectors_of_each_version_take(bakery: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_explain(QueryOptions(str(bakery)), "loaves", api_version="", recursive=False, most_levels=0) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["bakery.example.com/v1", "spec.grams", "integer"] in rows
    assert ["bakery.example.com/v1", "spec.flour", "string"] in rows
    assert not any(row[:2] == ["bakery.example.com/v1alpha1", "spec.flour"] for row in rows)


def test_values_are_counted_as_selectors_see_them(bakery: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = QueryOptions(str(bakery))
    assert run_values(options, "recipes", api_version="kitchen.example.org/v2", limit=9, output="json") == 0
    for row in json.loads(capsys.readouterr().out):
        asked = QueryOptions(
            str(bakery),
            args=("recipes.v2.kitchen.example.org",),
            fields=f"{row['field']}={row['value']}",
            get=GetOptions(count=True),
        )
        if row["field"] != "metadata.name":
            assert run_query(asked) == 0
            assert capsys.readouterr().out == f"{row['objects']}\n", row
