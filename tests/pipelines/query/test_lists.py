"""Every LIST that the reference server was asked, asked again of its snapshot: same names, same words."""

from __future__ import annotations

import gzip
import shutil
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from auditor.printing.get.server_errors import StatusError
from auditor.server.object_reader import ReadMode, UndecodedObject
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from tests.shared import shared, shared_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from auditor.server.dump_rows import StoredRow
    from auditor.server.object_reader import ObjectReader

PREFIX = "conversion webhook"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DumpStore]:
    path = tmp_path_factory.mktemp("lists") / "snapshot.db"
    with gzip.open(shared("golden/upgrade/snapshot.db.gz")) as packed, path.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    with open_store(QueryOptions(str(path)), lambda _: None) as opened:
        _read_once(opened.reader)
        yield opened


def _read_once(reader: ObjectReader) -> None:
    """Let an object be read once at each version, as 1,308 lists read it again and again."""
    known: dict[tuple[Any, ...], JsonObject | UndecodedObject] = {}
    read = reader.read

    def remembered(resource: Resource, row: StoredRow) -> JsonObject:
        place = (resource.group, resource.plural, resource.version, row.key, reader.mode.as_server)
        if place not in known:
            try:
                known[place] = read(resource, row)
            except UndecodedObject as error:
                known[place] = error
        found = known[place]
        if isinstance(found, UndecodedObject):
            raise found
        return found

    reader.read = remembered  # type: ignore[method-assign]


def _ask(store: DumpStore, case: dict[str, Any]) -> tuple[int, Any]:
    store.reader.mode = ReadMode(as_server=True, watch_cache=case.get("watchCache") is not False, limit=0)
    plural, _, group = case["crd"].partition(".")
    resource = store.discovery.resolve(f"{plural}.{case['version']}.{group}")
    assert resource.version == case["version"]
    try:
        found = list(
            store.list_objects(
                resource, case["namespace"] or "", case.get("labelSelector") or "", case.get("fieldSelector") or ""
            )
        )
    except StatusError as error:
        return error.code, error.status()
    names = []
    for one in found:
        namespace = one["metadata"].get("namespace")
        names.append(f"{namespace}/{one['metadata']['name']}" if namespace else one["metadata"]["name"])
    return 200, names


@cache
def _lists() -> list[dict[str, Any]]:
    return shared_lines("golden/upgrade/lists.ndjson.gz")


def _by_webhook(text: str) -> str:
    """Cut the words of a webhook that does not answer; nothing calls one here."""
    head, found, _ = text.partition(PREFIX)
    more = text.rpartition(" (and ")[2] if text.endswith(" more)") else ""
    return f"{head}{found} (and {more}" if found else text


def _normal(body: dict[str, Any]) -> dict[str, Any]:
    body = {**body, "message": _by_webhook(body["message"])}
    details = body.get("details")
    if details and "retryAfterSeconds" in details:  # it grows while the watch cache cannot begin
        details = body["details"] = {**details, "retryAfterSeconds": 1}
    if details and "causes" in details:
        causes = [{**cause, "message": _by_webhook(cause["message"])} for cause in details["causes"]]
        body["details"] = {**details, "causes": causes}
    return body


def test_every_list_is_answered_as_the_server_did(store: DumpStore) -> None:
    wrong = []
    codes = dict.fromkeys((200, 400, 429, 500), 0)
    for case in _lists():
        code, answer = _ask(store, case)
        wanted = case["items"] if case["code"] == 200 else _normal(case["body"])
        if code != case["code"] or (answer if code == 200 else _normal(answer)) != wanted:
            wrong.append((case, code, answer))
        codes[case["code"]] += 1
    assert not wrong, (len(wrong), wrong[:2])
    assert min(codes.values()) > 5


def test_a_list_goes_by_key_order(store: DumpStore) -> None:
    store.reader.mode = ReadMode()
    most = max((case for case in _lists() if case["code"] == 200), key=lambda case: len(case["items"]))
    resource = store.discovery.resolve(most["crd"])
    keys = [
        f"{o['metadata'].get('namespace', '')}/{o['metadata']['name']}"
        for o in store.list_objects(resource, "", "", "")
    ]
    assert keys == sorted(keys)
    assert len(keys) > 50
