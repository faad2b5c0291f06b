"""LISTs of kinds with one damaged object, as kubectl and as controllers send them: the answers of a real server."""

from __future__ import annotations

import gzip
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
from tests.golden.server.live_lists import BUILTINS, Case, definition
from tests.pipelines.query.test_lists import _by_webhook
from tests.shared import recorded
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path

ROWS = json.loads(gzip.decompress(recorded("golden/upgrade/live-lists.json.gz").read_bytes()))
CRDS = "/registry/apiextensions.k8s.io/customresourcedefinitions"


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a snapshot of the recorded cluster."""
    history = History()
    for row in ROWS:
        case = Case(row["case"])
        if row["case"] not in BUILTINS:
            document = definition(row["case"])
            conditions = [{"type": each, "status": "True"} for each in ("NamesAccepted", "Established")]
            names = document["spec"]["names"]
            document["status"] = {"acceptedNames": names, "conditions": conditions, "storedVersions": ["v1"]}
            history.put(f"{CRDS}/{document['metadata']['name']}".encode(), json.dumps(document).encode())
        for _, body in case.good():
            metadata = body["metadata"]
            key = "/".join(filter(None, ("/registry", case.prefix, metadata.get("namespace"), metadata["name"])))
            history.put(key.encode(), json.dumps(body).encode())
        history.put(row["key"].encode(), row["value"].encode())
    path = tmp_path_factory.mktemp("damaged") / "made.db"
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    return path


UNSEEN = {row["case"] for row in ROWS if row["running"] != row["start"]}
"""Cases of objects that a running server passes over, and that break the kind once a server starts over them."""


@pytest.mark.parametrize("row", [pytest.param(row, id=row["case"]) for row in ROWS])
def test_each_list_is_answered_as_by_a_server_that_starts(dump: Path, row: Any) -> None:
    case = Case(row["case"])
    group, _, version = case.api_version.rpartition("/")
    with open_store(QueryOptions(str(dump)), lambda _: None) as store:
        resource = store.discovery.resolve(f"{row['plural']}.{version}.{group}" if group else row["plural"])
        for question, answer in row["start"].items():
            client, namespace, _, *selector = question.split()
            store.reader.mode = ReadMode(as_server=True, limit=500 if client == "kubectl" else 0)
            labels = "!absent" if selector == ["labelSelector"] else ""
            fields = "metadata.name!=x" if selector == ["fieldSelector"] else ""
            try:
                listed = list(store.list_objects(resource, "" if namespace == "all" else namespace, labels, fields))
            except StatusError as error:
                answered = (error.code, error.reason, _words(error.message))
                assert answered == (answer["code"], answer.get("reason"), _words(answer.get("message", ""))), question
            else:
                assert (200, [_named(each) for each in listed]) == (answer["code"], answer.get("items")), question


def _words(message: str) -> str:
    return _by_webhook(re.sub(r"revision=\d+", "revision=N", message))


def _named(listed: Any) -> str:
    metadata = listed.get("metadata") or {}
    return f"{metadata.get('namespace')}/{metadata.get('name')}"


def test_what_a_running_server_passes_over_is_what_breaks_watches(impacts: dict[str, Any]) -> None:
    """Except for one: an object of the form of a list ends the watch at once."""
    breaking = {row["case"] for row in ROWS if impacts[row["key"]][:1] == ["breaks-watch"]}
    assert breaking == UNSEEN | {"list-kind"}


def test_an_audit_names_what_each_damage_breaks(impacts: dict[str, Any]) -> None:
    wanted, broken = {}, {}
    for row in ROWS:
        codes = [row["start"][f"{client} all resourceVersion=unset"]["code"] for client in ("kubectl", "informer")]
        wanted[row["case"]] = "breaks-list" if codes[0] != 200 else "breaks-watch" if codes[1] != 200 else None
        broken[row["case"]] = next((each for each in impacts[row["key"]] if each.startswith("breaks-")), None)
    unknown = {"sealed": None, "webhook": None}  # no key was given; and the webhook may answer
    assert broken == wanted | unknown


@pytest.fixture(scope="module")
def impacts(dump: Path) -> dict[str, Any]:
    """Audit the dump, and return the impacts by key."""
    report = dump.parent / "report"
    auditor("audit", dump, "--report", report, "--jobs", "1")
    return {row["key"]: row["impacts"] for row in pq.read_table(report / "objects").to_pylist()}
