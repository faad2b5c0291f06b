"""One damaged object beside good ones: which lists still answer, with the watch cache and without it."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from auditor.printing.get.errors import StatusError
from auditor.server.reader import ReadMode
from pipelines.run.query import QueryOptions, open_store
from tests.shared import shared
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.printing.discovery import Resource
    from pipelines.run.query import AnyStore

PREFIX = "/registry/rough.example.com/quirks/orchard-south"


def _cases() -> list[Any]:
    try:
        return json.loads(shared("golden/upgrade/unlistable.json").read_text())
    except pytest.skip.Exception:
        return []


@cache
def _definition() -> bytes:
    with gzip.open(shared("golden/upgrade/crds/server-rev2.json.gz")) as stream:
        items = json.load(stream)["items"]
    found = next(item for item in items if item["metadata"]["name"] == "quirks.rough.example.com")
    return json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **found}).encode()


def _dump(folder: Path, value: str) -> Path:
    history = History()
    history.put(b"/registry/apiextensions.k8s.io/customresourcedefinitions/quirks.rough.example.com", _definition())
    for at in range(4):
        fine = {
            "apiVersion": "rough.example.com/v1",
            "kind": "Quirk",
            "metadata": {"name": f"fine-{at}", "namespace": "orchard-south"},
            "spec": {"size": at},
        }
        history.put(f"{PREFIX}/fine-{at}".encode(), json.dumps(fine).encode())
    history.put(f"{PREFIX}/damaged".encode(), value.encode())
    path = folder / "made.db"
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    return path


def _shown(name: Any) -> str:
    return "None" if name is None else str(name)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["case"]) for case in _cases()])
@pytest.mark.parametrize("cached", [True, False], ids=["watch-cache", "etcd"])
def test_lists_answer_as_the_server_did(tmp_path: Path, case: Any, cached: bool) -> None:
    recorded = case["watchCache" if cached else "noWatchCache"]
    questions = {
        "list": ("orchard-south", ""),
        "listAll": ("", ""),
        "listField": ("orchard-south", "metadata.name=damaged"),
        "listFineField": ("orchard-south", "metadata.name=fine-1"),
    }
    with open_store(QueryOptions(str(_dump(tmp_path, case["value"]))), lambda _: None) as store:
        store.reader.mode = ReadMode(as_server=True, watch_cache=cached)
        resource = store.discovery.resolve("quirks.v1.rough.example.com")
        for question, (namespace, fields) in questions.items():
            wanted = recorded[question]
            told = wanted.get("items", wanted.get("message"))
            assert _answer(store, resource, namespace, fields) == (wanted["code"], _normal(told)), question


def _answer(store: AnyStore, resource: Resource, namespace: str, fields: str) -> tuple[int, Any]:
    try:
        found = list(store.list_objects(resource, namespace, "", fields))
    except StatusError as error:
        return error.code, _normal(error.message)
    names = [f"{_shown(o['metadata'].get('namespace'))}/{_shown(o['metadata'].get('name'))}" for o in found]
    return 200, _normal(names)


def _normal(told: Any) -> Any:
    """Return names sorted, and words without revisions, which are those of another history."""
    return sorted(told) if isinstance(told, list) else re.sub(r"revision=\d+", "revision=N", told)
