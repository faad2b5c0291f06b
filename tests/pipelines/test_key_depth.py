"""Keys at the wrong depth are judged as LISTs of a real server read them (`tests.server.key_depth` recorded it)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.printing.get.server_errors import StatusError
from auditor.server.object_reader import ReadMode
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from tests.command import auditor
from tests.output.summaries import summary_of
from tests.server.key_depth import BUILTIN, CUSTOM, GROUP, NAMESPACES, RECORDED, definition, keys_of
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = json.loads(RECORDED.read_bytes())
KINDS = {name: (f"{name}s", namespaced, f"/registry/{GROUP}/{name}s/{below}") for name, namespaced, below, _ in CUSTOM}


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    history = History()
    for name, namespaced, _, _ in CUSTOM:
        document = definition(name, namespaced=namespaced)
        document["status"] = {
            "storedVersions": ["v1"],
            "acceptedNames": document["spec"]["names"],
            "conditions": [{"type": one, "status": "True"} for one in ("NamesAccepted", "Established")],
        }
        key = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{document['metadata']['name']}"
        history.put(key.encode(), json.dumps(document).encode())
    for key, value in keys_of().items():
        history.put(key.encode(), value.encode())
    path: Path = tmp_path_factory.mktemp("depth") / "dump.db"
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    return path


def audited(dump: Path, *options: str) -> tuple[int, str, dict[str, Any], dict[str, dict[str, Any]]]:
    report = dump.parent / "report"
    done = auditor("audit", dump, "--report", report, "--force", "--skip", "updates", "--jobs", 1, *options)
    manifest = json.loads((report / "manifest.json").read_bytes())
    return (
        done.code,
        done.output,
        manifest,
        {row["key"]: row for part in (report / "objects").iterdir() for row in pq.read_table(part).to_pylist()},
    )


def _breaks(name: str) -> str | None:
    """Return the impact of a key that breaks its kind: kubectl's LISTs are those of a server without watch cache."""
    cached, stored = (ANSWERS[mode][name][""]["code"] != 200 for mode in ("cache", "no cache"))
    return "breaks-list" if stored else "breaks-watch" if cached else None


def test_what_breaks_every_list_of_a_kind_is_broken_with_the_words_of_the_server(dump: Path) -> None:
    code, _, _, rows = audited(dump, "--fail-on", "unreadable")
    output = f"{summary_of(dump.parent / 'report')}\n"
    assert code == 1
    for name, (_, _, key) in KINDS.items():
        answer = ANSWERS["cache"][name][""]
        row = rows[key]
        assert _breaks(name) == next((each for each in row["impacts"] if each.startswith("breaks-")), None), key
        assert (answer["code"] != 200) == (f"next: auditor show {dump.parent / 'report'} {key}\n" in output), key
        if answer["code"] != 200:
            assert (row["status"], row["impact"]) == ("unreadable", _breaks(name)), key
            assert answer["message"].endswith(": " + row["reason"]), key
        assert (row["group"], row["kind"]) == (GROUP, name.capitalize())


@pytest.fixture(scope="module")
def rows(dump: Path) -> dict[str, dict[str, Any]]:
    return audited(dump)[3]


@pytest.mark.parametrize(("plural", "prefix", "below"), [(one[1], one[4], one[5]) for one in BUILTIN])
def test_a_built_in_key_is_judged_as_every_list_of_its_kind_reads_it(
    rows: dict[str, dict[str, Any]], plural: str, prefix: str, below: str
) -> None:
    answer, row = ANSWERS["cache"][plural][""], rows[f"/registry/{prefix}/{below}"]
    assert _breaks(plural) == next((each for each in row["impacts"] if each.startswith("breaks-")), None)
    if answer["code"] != 200:
        assert row["status"] == ("builtin" if "couldn't compute key" in answer["message"] else "unreadable")
        assert answer["message"].endswith(": " + row["reason"])


def test_what_decodes_and_breaks_every_list_reaches_the_level_unreadable(tmp_path: Path) -> None:
    history = History()
    history.put(b"/registry/configmaps/bare", keys_of()["/registry/configmaps/bare"].encode())
    path = tmp_path / "dump.db"
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    code, output, _, _ = audited(path, "--fail-on", "unreadable")
    assert re.search(r"ConfigMap  \S+  breaks watches and controllers  [0-9a-f]{8}\n", output)
    assert code == 1


@pytest.mark.parametrize(
    "key", ["pods/", "pods//torn", "services/specs/", "apiextensions.k8s.io/customresourcedefinitions/a/b"]
)
def test_other_keys_below_those_of_a_kind_are_judged_too(tmp_path: Path, key: str) -> None:
    history = History()
    history.put(f"/registry/{key}".encode(), b'{"apiVersion":"')
    path = tmp_path / "dump.db"
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    code, output, _, rows = audited(path, "--fail-on", "unreadable")
    assert code == 1
    ends_a_server = ["crashes-server"] if key.startswith("services/") else []
    assert rows[f"/registry/{key}"]["impacts"] == [*ends_a_server, "breaks-list"]
    assert "only `etcdctl del` removes it" in " ".join(output.split())


def test_show_says_what_a_list_reads_at_a_key_of_the_wrong_depth(dump: Path) -> None:
    done = auditor("show", dump, "/registry/demo.io/torns/torn", "-o", "json")
    shown = json.loads(done.stdout)
    assert (shown["kind"], shown["status"], shown["reason"]) == ("Torn", "unreadable", "unexpected end of JSON input")


def test_a_key_that_no_request_reaches_is_removed_from_etcd_alone(dump: Path) -> None:
    audited(dump)
    output = summary_of(dump.parent / "report")
    assert "unexpected end of JSON input (no API request reaches this key: only `etcdctl del` removes it)" in output
    [reachable] = [text for text in re.split(r"\n(?=  \w)", output) if re.match(r"  \w+ +shop/torn ", text)]
    assert "etcdctl" not in reachable


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("mode", ["cache", "no cache"])
def test_query_as_server_answers_each_list_as_the_server_did(dump: Path, name: str, mode: str) -> None:
    plural, namespaced, _ = KINDS[name]
    options = QueryOptions(str(dump), mode=ReadMode(as_server=True, watch_cache=mode == "cache", limit=0))
    with open_store(options, lambda _: None) as store:
        resource = store.discovery.resolve(f"{plural}.{GROUP}")
        for namespace in ("", *(NAMESPACES if namespaced else ())):
            expected = ANSWERS[mode][name][namespace]
            if expected["code"] != 200:
                with pytest.raises(StatusError) as caught:
                    list(store.list_objects(resource, namespace, "", ""))
                assert (caught.value.code, caught.value.reason) == (expected["code"], expected["reason"])
                assert _without_revision(caught.value.message) == _without_revision(expected["message"])
                continue
            metadata = [one["metadata"] for one in store.list_objects(resource, namespace, "", "")]
            names = ["/".join(filter(None, (one.get("namespace"), one.get("name")))) for one in metadata]
            assert sorted(names) == sorted(expected["objects"])


def _without_revision(message: str) -> str:
    head, found, rest = message.partition("revision=")
    return f"{head}{found}{rest.lstrip('0123456789')}"
