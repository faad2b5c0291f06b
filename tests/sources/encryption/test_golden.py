"""A cluster whose keys were changed twice, and values damaged on purpose: what its server says of each."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.crds.definition import parse_definition
from auditor.golang import jsontext
from auditor.plan.options import AuditOptions
from auditor.sources.encryption import load_config, make_unsealer, resource_of
from auditor.sources.registry_key import classify, split_key
from auditor.storage_read.read import read_object
from pipelines.run.audit import run_audit
from tests.shared import SHARED, shared, shared_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDERS = sorted(path.name for path in (SHARED / "golden/encrypted").glob("*") if path.is_dir()) or ["aescbc"]
CRD_PREFIX = "/registry/apiextensions.k8s.io/customresourcedefinitions/"


@pytest.fixture(scope="module", params=FOLDERS)
def folder(request: pytest.FixtureRequest) -> str:
    name = f"golden/encrypted/{request.param}"
    shared(name)
    return name


def stored(folder: str) -> dict[str, bytes]:
    document: dict[str, Any] = json.loads(gzip.decompress(shared(f"{folder}/etcdctl-get.json.gz").read_bytes()))
    return {base64.b64decode(row["key"]).decode(): base64.b64decode(row.get("value", "")) for row in document["kvs"]}


def reports(folder: str, tmp_path: Path, **options: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Audit both exports; yield each manifest with the rows by key."""
    for name in ("snapshot.db.gz", "etcdctl-get.json.gz"):
        report = tmp_path / name
        given = AuditOptions(dumps=(str(shared(f"{folder}/{name}")),), report=str(report), fail_on="never", **options)
        _, manifest = run_audit(given)
        parts = sorted((report / "objects").glob("*.parquet"))
        yield manifest, {row["key"]: row for part in parts for row in pq.read_table(part).to_pylist()}


def test_with_the_configuration_each_key_is_what_its_server_said(folder: str, tmp_path: Path) -> None:
    config = str(shared(f"{folder}/encryption-config.json"))
    expected = {line["key"]: line for line in shared_lines(f"{folder}/expected.ndjson.gz")}
    for manifest, rows in reports(folder, tmp_path, encryption_config=config):
        assert set(expected) <= set(rows)
        for key, line in expected.items():
            row = rows[key]
            if "protobuf" in line:
                assert (row["status"], row["reason"]) == ("builtin", None), key
            elif line["get"]["code"] == 200:
                assert row["status"] in {"valid", "invalid"}, (key, row["reason"])
            else:
                assert row["status"] == "unreadable", key
                assert line["get"]["body"]["message"].endswith(": " + row["reason"]), key
        counted = sum(count["values"] for count in manifest["encryption"])
        assert counted == sum(value.startswith(b"k8s:enc:") for value in stored(folder).values())


def test_without_the_configuration_every_encrypted_key_is_an_unreadable_row(folder: str, tmp_path: Path) -> None:
    values = stored(folder)
    for manifest, rows in reports(folder, tmp_path):
        for key, value in values.items():
            if value.startswith(b"k8s:enc:"):
                found = rows[key]
                assert (found["status"], found["impact"], found["impacts"]) == ("sealed", "unknown", []), key
                assert found["reason"].startswith("sealed by "), key
            elif key in rows:
                assert rows[key]["status"] != "unreadable", key
        assert not any(count["opened"] for count in manifest["encryption"])


def test_with_keys_of_another_user_the_reason_is_the_servers(folder: str, tmp_path: Path) -> None:
    config = json.loads(shared(f"{folder}/encryption-config.json").read_bytes())
    for provider in config["resources"][0]["providers"]:
        for keys in provider.values():
            for key in keys.get("keys", []):
                key["secret"] = base64.b64encode(b"a key of another owner, 32 bytes").decode()
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    reasons: Counter[str] = Counter()
    for _, rows in reports(folder, tmp_path, encryption_config=str(path)):
        for key, value in stored(folder).items():
            if value.startswith(b"k8s:enc:"):
                assert rows[key]["status"] == "unreadable"
                reasons[rows[key]["reason"]] += 1
    assert reasons
    assert not any("another owner" in reason for reason in reasons)


def test_plain_values_and_reads_are_those_of_the_server(folder: str) -> None:
    values = stored(folder)
    unsealer = make_unsealer(str(shared(f"{folder}/encryption-config.json")))
    assert unsealer.config == load_config(str(shared(f"{folder}/encryption-config.json")))
    documents = [jsontext.decode(value) for key, value in values.items() if key.startswith(CRD_PREFIX)]
    definitions = {(d.group, d.plural): d for d in (parse_definition(document, stored=True) for document in documents)}
    places = {key: d.namespaced for key, d in definitions.items()}
    for line in shared_lines(f"{folder}/expected.ndjson.gz"):
        place = classify(split_key(line["key"].encode(), "/registry"), places)
        opened = unsealer.open(line["key"].encode(), resource_of(place), values[line["key"]])
        if "protobuf" in line:
            assert opened.data == base64.b64decode(line["protobuf"])
        elif line["get"]["code"] == 200:
            assert opened.data is not None
            body = line["get"]["body"]
            definition = definitions[(str(place.group), str(place.plural))]
            found = read_object(definition, body["apiVersion"].rpartition("/")[2], opened.data).object
            assert found is not None
            for one in (found, body):
                one["metadata"].pop("resourceVersion", None)
            assert found == body, line["key"]
