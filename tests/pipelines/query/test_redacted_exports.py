"""What `query` prints is a dump, too: Secrets that it redacted are read, and a note says that their values are not known."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.documents import export_of
from tests.pipelines.nights.support import definition, loaf

if TYPE_CHECKING:
    from pathlib import Path


def _secret(name: str, type_: str = "Opaque", **data: str) -> dict[str, Any]:
    encoded = {key.replace("_", "."): base64.b64encode(value.encode()).decode() for key, value in data.items()}
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": type_, "data": encoded}


NOTE = "the export redacted 2 Secrets, whose values are not known\n"
OBJECTS = (
    definition(),
    loaf("a", flour="rye", note="(redacted)"),
    _secret("password", word="hunter2"),
    _secret("tls", "kubernetes.io/tls", tls_crt="-----BEGIN", tls_key="x"),
    _secret("empty"),
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}, "data": {"a": "(redacted)"}},
)  # fmt: skip


@pytest.fixture(params=["ndjson", "json", "yaml"])
def export(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    export_of(tmp_path / "dump.json", *OBJECTS)
    path = tmp_path / f"export.{request.param}"
    path.write_text(auditor("query", tmp_path / "dump.json", "*", "-o", request.param).stdout)
    return path


def test_redacted_secrets_are_read(export: Path) -> None:
    done = auditor("query", export, "secrets", "-o", "name")
    assert (done.code, done.stdout.split()) == (0, ["secret/empty", "secret/password", "secret/tls"])
    assert done.stderr.endswith(NOTE)
    assert done.stderr.count("\n") == 1
    for more in ((), ("--show-secrets",)):
        items = json.loads(auditor("query", export, "secrets", "-o", "json", *more).stdout)["items"]
        assert [item.get("data") for item in items][1:] == [
            {"word": "(redacted)"},
            {"tls.crt": "(redacted)", "tls.key": "(redacted)"},
        ]
    assert auditor("query", export, "configmaps", "-o", "jsonpath={.items[0].data.a}").stdout == "(redacted)"
    assert auditor("kinds", export).code == 0


def test_an_audit_finds_nothing_and_notes_it(export: Path, tmp_path: Path) -> None:
    done = auditor("audit", export, "--report", tmp_path / "report", "--fail-on", "unreadable")
    assert done.code == 0
    assert NOTE in done.stdout
    assert auditor("query", tmp_path / "report", "secrets").stderr.endswith(NOTE)


def test_a_redacted_certificate_is_not_readable(export: Path) -> None:
    pytest.importorskip("cryptography")
    done = auditor("query", export, "--certificates")
    assert done.code == 3
    assert "not readable: the export redacted it" in done.stdout


def test_a_folder_of_exports_is_read_the_same_way(export: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    export.rename(folder / export.name)
    assert auditor("query", folder, "secrets", "-o", "name").stderr.endswith(NOTE)


def test_values_that_are_not_redacted_stay_where_they_are(tmp_path: Path) -> None:
    export_of(tmp_path / "dump.json", *OBJECTS)
    text = auditor("query", tmp_path / "dump.json", "secrets", "-o", "ndjson", "--show-secrets").stdout
    (tmp_path / "export.ndjson").write_text(text)
    done = auditor("query", tmp_path / "export.ndjson", "secrets", "-o", "ndjson", "--show-secrets")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == text
