"""What the real kubectl printed of the reference cluster, printed again from its snapshot: the same bytes."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from auditor.golang import jsontext
from auditor.printing.get.command import get
from auditor.printing.get.options import GetOptions
from auditor.printing.get.server_errors import StatusError
from auditor.server.object_reader import ReadMode
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from tests.shared import at_least, shared, shared_lines

if TYPE_CHECKING:
    from pathlib import Path


def _recorded(name: str) -> str:
    return gzip.decompress(shared(f"golden/upgrade/{name}").read_bytes()).decode()


def _kinds() -> list[str]:
    """Return the kinds of the recorded run in its order, as KIND.version.group."""
    found: dict[str, None] = {}
    for item in json.loads(_recorded("kubectl-get-all.json.gz"))["items"]:
        group, _, version = item["apiVersion"].rpartition("/")
        found[f"{item['kind']}.{version}.{group}"] = None
    return list(found)


def _printed(snapshot: Path, *args: str, watch_cache: bool = True, **options: Any) -> str:
    out: list[str] = []
    with open_store(QueryOptions(str(snapshot), mode=ReadMode(watch_cache=watch_cache)), lambda _: None) as store:
        asked = GetOptions(args=args, namespace="", all_namespaces=True, **options)
        assert get(store, asked, out.append, out.append) == 0
    return "".join(out)


def test_every_object_prints_as_the_same_json(snapshot: Path) -> None:
    recorded = _recorded("kubectl-get-all.json.gz")  # of a server that answered from etcd: by key
    assert _printed(snapshot, ",".join(_kinds()), output="json", watch_cache=False) == recorded


def test_every_object_prints_as_the_same_yaml(snapshot: Path) -> None:
    # the watch cache answered, which orders an object that says another namespace than its key by the object
    assert _printed(snapshot, ",".join(_kinds()), output="yaml") == _recorded("kubectl-get-all.yaml.gz")


def test_managed_fields_print_when_asked_for(snapshot: Path) -> None:
    wanted = _recorded("kubectl-get-one-managedfields.json.gz")
    first = json.loads(wanted)["items"][0]
    group, _, version = first["apiVersion"].rpartition("/")
    kind = f"{first['kind']}.{version}.{group}"
    assert "managedFields" in first["metadata"]
    assert _printed(snapshot, kind, output="json", show_managed_fields=True) == wanted


def test_every_get_is_answered_as_the_server_did(snapshot: Path) -> None:
    wrong = []
    answers = dict.fromkeys((200, 500), 0)
    with open_store(QueryOptions(str(snapshot), mode=ReadMode(as_server=True)), lambda _: None) as store:
        for line in shared_lines("golden/upgrade/expected.ndjson.gz"):
            plural, _, group = line["crd"].partition(".")
            for version, wanted in line.get("get", {}).items():
                resource = store.discovery.resolve(f"{plural}.{version}.{group}")
                answers[wanted["code"]] += 1
                try:
                    obj = store.get_object(resource, line.get("namespace") or "", line["name"])
                    answer = (200, json.loads(jsontext.encode(obj)))
                except StatusError as error:
                    answer = (error.code, error.message)
                body = wanted["body"]
                reported = body if wanted["code"] == 200 else body["message"]
                if answer[0] != 200 and "conversion webhook" in str(reported):
                    reported, answer = reported.partition("webhook")[0], (answer[0], answer[1].partition("webhook")[0])
                if answer != (wanted["code"], reported):
                    wrong.append((line["key"], version, answer, reported))
    assert not wrong, (len(wrong), wrong[:3])
    assert answers[200] > 1000
    assert answers[500] > at_least("golden", 50, 30)
