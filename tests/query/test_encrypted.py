"""A cluster whose values are encrypted at rest: the same answers with its keys, plain words without."""

from __future__ import annotations

import base64
import json
from typing import Any

from auditor.builtin.protobuf import decode_stored
from auditor.printing.get import StatusError
from pipelines.dump_store import ReadMode
from pipelines.query import QueryOptions, open_store
from tests.shared import shared, shared_lines


def _options(*, keys: bool) -> QueryOptions:
    folder = shared("golden/encrypted/aescbc")
    config = str(folder / "encryption-config.json") if keys else ""
    options = QueryOptions(str(folder / "snapshot.db.gz"), encryption_config=config)
    options.mode = ReadMode(show_secrets=True)
    return options


def test_every_value_is_answered_as_the_server_did_with_its_keys() -> None:
    checked: dict[Any, int] = {}
    with open_store(_options(keys=True), lambda _: None) as store:
        for line in shared_lines("golden/encrypted/aescbc/expected.ndjson.gz"):
            *_, namespace, name = line["key"].split("/")
            if "object" in line:
                resource = store.discovery.resolve("secrets")
                found = store.get_object(resource, namespace, name)
                plain = decode_stored(base64.b64decode(line["protobuf"]))
                assert found["data"] == plain["data"] == line["object"]["data"]
                checked["secret"] = checked.get("secret", 0) + 1
                continue
            asked = line["get"]
            group, plural = line["key"].split("/")[2:4]
            version = asked["body"]["apiVersion"].rpartition("/")[2] if asked["code"] == 200 else ""
            resource = store.discovery.resolve(f"{plural}.{version}.{group}" if version else f"{plural}.{group}")
            try:
                code, answer = 200, store.get_object(resource, namespace, name)
            except StatusError as error:
                code, answer = error.code, error.message
            wanted = asked["body"] if asked["code"] == 200 else asked["body"]["message"]
            assert (code, answer) == (asked["code"], wanted), line["key"]
            checked[code] = checked.get(code, 0) + 1
    assert checked["secret"] > 5
    assert checked[200] > 20


def test_without_the_keys_what_is_in_the_clear_is_shown_and_the_rest_told() -> None:
    told: list[str] = []
    with open_store(_options(keys=False), told.append) as store:
        names = [one["metadata"]["name"] for one in store.list_objects(store.discovery.resolve("secrets"), "", "", "")]
    assert len(names) == 3
    assert any("identity transformer tried to read encrypted data" in line for line in told)
    assert json.dumps(told).count("500: corrupt object /registry/secrets/") > 3
