"""Manifests that are not UTF-8: kubectl replaces what is not by U+FFFD before it parses anything, and so do all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from auditor.sources.crd_files import documents_of
from auditor.sources.manifests.placed import placed_documents
from tests.command import auditor

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = b"\xff\xfe-\xe2\x82-\xed\xa0\x80-\xf0\x9f\x98"
READ = BROKEN.decode("utf-8", "replace")  # as kubectl 1.37.2 sent these bytes
YAML = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  a: " + BROKEN + b"\n  b: |\n    x\xff\n"
JSON = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"a": "' + BROKEN + b'"}}'


@pytest.mark.parametrize("data", [YAML, b"# \xff\n" + YAML, b"{x: 1}\n---\n" + YAML, JSON, JSON + b"\n---\n" + YAML])
def test_bytes_that_are_no_text_are_replaced(data: bytes) -> None:
    documents = list(placed_documents(data))
    assert not [one.error for one in documents if one.error]
    assert documents[-1].value["data"]["a"] == READ


def test_definitions_are_read_so_too() -> None:
    assert next(iter(documents_of("x", YAML)))["data"] == {"a": READ, "b": "x\ufffd\n"}


def test_commands_accept_them(tmp_path: Path) -> None:
    for name, data in {"m.yaml": YAML, "m.json": JSON}.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert auditor("validate", path).code == 0
        report = tmp_path / f"report-{name}"
        assert auditor("audit", path, "--report", report, "--jobs", "1").code == 0
