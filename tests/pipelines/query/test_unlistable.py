"""One damaged object beside good ones: which lists still answer, with the watch cache and without it."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from auditor.printing.get.server_errors import StatusError
from auditor.server.object_reader import ReadMode
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from tests.command import auditor
from tests.documents import definition_of
from tests.shared import shared
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.printing.discovery import Resource
    from auditor.server.fleet_store import AnyStore


def _cases() -> list[Any]:
    return json.loads(shared("golden/upgrade/unlistable.json").read_text())


@cache
def _definition(name: str) -> dict[str, Any]:
    with gzip.open(shared("golden/upgrade/crds/server-rev2.json.gz")) as stream:
        items = json.load(stream)["items"]
    found = next(item for item in items if item["metadata"]["name"] == name)
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **found}


def _dump(folder: Path, key: str, value: str) -> Path:
    """Write a snapshot with a value at a key, four good objects beside it, and their definition."""
    _, _, group, plural, namespace, _ = key.split("/")
    definition = _definition(f"{plural}.{group}")
    history = History()
    prefix = "/registry/apiextensions.k8s.io/customresourcedefinitions"
    history.put(f"{prefix}/{plural}.{group}".encode(), json.dumps(definition).encode())
    for at in range(4):
        fine = {
            "apiVersion": f"{group}/v1",
            "kind": definition["spec"]["names"]["kind"],
            "metadata": {"name": f"fine-{at}", "namespace": namespace},
            "spec": {},
        }
        history.put(key.replace("/damaged", f"/fine-{at}").encode(), json.dumps(fine).encode())
    history.put(key.encode(), value.encode())
    path = folder / "made.db"
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    return path


def _established(crd: dict[str, Any]) -> dict[str, Any]:
    conditions = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]
    names = {"plural": "xs", "singular": "x", "kind": "X", "listKind": "XList"}
    return {**crd, "status": {"acceptedNames": names, "conditions": conditions}}


def _thing(name: str, **more: Any) -> str:
    metadata = {"name": name, "namespace": "a"}
    return json.dumps({"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata, **more})


def _shown(name: Any) -> str:
    return "None" if name is None else str(name)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["case"]) for case in _cases()])
@pytest.mark.parametrize("cached", [True, False], ids=["watch-cache", "etcd"])
def test_lists_answer_as_the_server_did(tmp_path: Path, case: Any, cached: bool) -> None:
    recorded = case["watchCache" if cached else "noWatchCache"]
    _, _, group, plural, here, name = case["key"].split("/")
    questions = {
        "list": (here, ""),
        "listAll": ("", ""),
        "listField": (here, "metadata.name=damaged"),
        "listFineField": (here, "metadata.name=fine-1"),
    }
    with open_store(QueryOptions(str(_dump(tmp_path, case["key"], case["value"]))), lambda _: None) as store:
        store.reader.mode = ReadMode(as_server=True, watch_cache=cached, limit=0)
        resource = store.discovery.resolve(f"{plural}.v1.{group}")
        for question, (namespace, fields) in questions.items():
            wanted = recorded[question]
            reported = wanted.get("items", wanted.get("message"))
            assert _answer(store, resource, namespace, fields) == (wanted["code"], _normal(reported)), question
        assert _code(store, resource, here, name) == recorded["get"]["code"]


def _code(store: AnyStore, resource: Resource, namespace: str, name: str) -> int:
    try:
        store.get_object(resource, namespace, name)
    except StatusError as error:
        return error.code
    return 200


def _answer(store: AnyStore, resource: Resource, namespace: str, fields: str) -> tuple[int, Any]:
    try:
        found = list(store.list_objects(resource, namespace, "", fields))
    except StatusError as error:
        return error.code, _normal(error.message)
    names = [f"{_shown(o['metadata'].get('namespace'))}/{_shown(o['metadata'].get('name'))}" for o in found]
    return 200, _normal(names)


def _normal(reported: Any) -> Any:
    """Return names sorted, and words without revisions, which are those of another history."""
    return sorted(reported) if isinstance(reported, list) else re.sub(r"revision=\d+", "revision=N", reported)


CRD = "/registry/apiextensions.k8s.io/customresourcedefinitions/xs.x.example.com"
CORRUPT = (
    "StorageError: corrupt object, Code: 7, Key: {}/x.example.com/xs/a/b-torn, ResourceVersion: 0, "
    "AdditionalErrorMsg: object not decodable revision=N: unexpected end of JSON input"
)


@pytest.mark.parametrize(
    ("release", "from_etcd", "get"),
    [
        ("1.36", "unexpected end of JSON input", "unexpected end of JSON input"),
        (
            "1.37",
            f"failed to read one or more xs.x.example.com from the storage: {CORRUPT.format('/registry')} (and 1 more)",
            f"Internal error occurred: {CORRUPT.format('')}",
        ),
    ],
)
def test_corrupt_objects_are_reported_as_by_the_release(tmp_path: Path, release: str, from_etcd: str, get: str) -> None:
    history = History()
    history.put(CRD.encode(), json.dumps(_established(definition_of({"type": "object"}))).encode())
    for name, text in (("a", _thing("a")), ("b-torn", '{"kind":'), ("c-torn", "{}x")):
        history.put(f"/registry/x.example.com/xs/a/{name}".encode(), text.encode())
    path = tmp_path / "made.db"
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    call = ["query", str(path), "xs", "--as-server", "--kubernetes", release]
    cached, direct, one = (auditor(*call, *more) for more in (["--chunk-size", "0"], [], ["-n", "a", "b-torn"]))
    assert {cached.code, direct.code, one.code} == {1}
    words = [" ".join(_normal(each.stderr).split()) for each in (cached, direct, one)]
    assert words[0] == (
        f"Error from server (TooManyRequests): storage is (re)initializing: failed to list <unspecified>: {from_etcd}"
    )
    reason = {"1.36": "", "1.37": " (StorageReadError)"}[release]
    assert words[1] == f"Error from server{reason}: {from_etcd}"
    reason = {"1.36": "", "1.37": " (InternalError)"}[release]
    assert words[2] == f"Error from server{reason}: {get}"


def test_an_object_with_an_array_items_is_listed_and_no_get_answers_with_it(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}}}
    crd = _established(definition_of(schema))
    history = History()
    history.put(CRD.encode(), json.dumps(crd).encode())
    for name, items in (("full", ["a"]), ("none", None)):
        history.put(f"/registry/x.example.com/xs/a/{name}".encode(), _thing(name, items=items).encode())
    path = tmp_path / "made.db"
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    with open_store(QueryOptions(str(path)), lambda _: None) as store:
        xs = store.discovery.resolve("xs")
        assert _answer(store, xs, "a", "") == (200, ["a/full", "a/none"])
        assert [_code(store, xs, "a", name) for name in ("full", "none")] == [500, 200]
