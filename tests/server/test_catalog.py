"""Discovery needs the names of all definitions, and an answer the schemas of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import auditor.crds.definition
from tests.command import auditor as command
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path

    from pytest import MonkeyPatch  # noqa: PT013 - for its type alone

KINDS = ("Loaf", "Oven", "Order", "Cake", "Tray")


def dump_of(folder: Path, *documents: dict[str, Any]) -> Path:
    objects = [loaf("fine", kind=document["spec"]["names"]["kind"]) for document in documents]
    return Store(*documents, *objects).write(folder / "dump.json", "etcdctl")


def test_a_query_parses_the_schemas_of_its_kind_alone(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    dump = dump_of(tmp_path, *map(definition, KINDS))
    parsed = []
    real = auditor.crds.definition.build_schema

    def counted(decoded: dict[str, Any], **options: Any) -> Any:
        parsed.append(decoded)
        return real(decoded, **options)

    monkeypatch.setattr(auditor.crds.definition, "build_schema", counted)
    for kind, objects in (("loafs", 1), ("ovens,orders", 2), ("namespaces", 0)):
        parsed.clear()
        shown = command("query", dump, kind, "-A", "-o", "name")
        assert (shown.code, len(shown.stdout.splitlines())) == (0, objects)
        assert len(parsed) == objects


def test_a_definition_that_no_server_decodes_has_no_kind(tmp_path: Path) -> None:
    broken = definition("Oven")
    broken["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["maxProperties"] = "many"
    dump = dump_of(tmp_path, definition(), broken)
    assert command("query", dump, "loafs", "-A", "-o", "name").code == 0
    refused = command("query", dump, "ovens", "-A")
    assert refused.code == 1
    assert 'the server doesn\'t have a resource type "ovens"' in refused.stderr
    assert "maxProperties" in command("kinds", dump).stderr


def test_a_definition_with_a_schema_that_is_not_structural_fails_where_its_kind_is_read(tmp_path: Path) -> None:
    unserved = definition("Oven")
    schema = unserved["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["x-kubernetes-preserve-unknown-fields"] = False
    dump = dump_of(tmp_path, definition(), unserved)
    for words in ("-o", "name"), ("-o", "json"), ("--count",):
        assert command("query", dump, "loafs", "-A", *words).code == 0
        read = command("query", dump, "ovens", "-A", *words)
        assert read.code == 3
        assert "unusable CRD ovens.bakery.example.com" in read.stderr
