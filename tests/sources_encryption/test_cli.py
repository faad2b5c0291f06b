"""Encrypted values through the command line: rows, counts, hints, and no plain value anywhere in the report."""

from __future__ import annotations

import base64
import json
import struct
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from pipelines.cli import cli
from tests.sources.bolt_writer import bolt_file, key_value, revision
from tests.sources_encryption.vectors import COMMAND, VECTORS

if TYPE_CHECKING:
    from pathlib import Path

KEY = b"/registry/secrets/default/a"
PLAIN = b"Yg=="


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A database with one secret, sealed by a KMS plugin."""
    (case,) = (case for case in VECTORS["kms"] if case["name"] == "v2 seed")
    value = base64.b64decode(case["value"])
    rows = {revision(2): key_value(KEY, 2, 2, 1, value)}
    path = tmp_path / "dump.db"
    path.write_bytes(bolt_file({b"key": rows, b"meta": {b"consistent_index": struct.pack(">Q", 3)}}))
    assert case["key"].encode() == KEY
    assert PLAIN in base64.b64decode(case["plain"])
    return path


def audit(dump: Path, *options: str) -> tuple[str, dict[str, Any], list[dict[str, Any]], bytes]:
    report = dump.parent / "report"
    told = CliRunner().invoke(
        cli, ["audit", str(dump), "--report", str(report), "--force", "--fail-on", "never", *options]
    )
    assert told.exit_code == 0, told.output
    rows = [row for part in (report / "objects").glob("*.parquet") for row in pq.read_table(part).to_pylist()]
    every = b"".join(path.read_bytes() for path in report.rglob("*") if path.is_file())
    return told.output, json.loads((report / "manifest.json").read_bytes()), rows, every + repr(rows).encode()


def test_a_plugin_whose_key_is_unwrapped_opens_its_values(dump: Path) -> None:
    output, manifest, rows, every = audit(dump, "--kms-decryptor", COMMAND)
    assert [(row["key"], row["status"], row["reason"]) for row in rows] == [(KEY.decode(), "builtin", None)]
    assert manifest["encryption"] == [
        {"provider": "kms v2", "name": "plug", "key_id": "key-7", "opened": True, "values": 1}
    ]
    assert "not opened" not in output
    assert PLAIN not in every


def test_without_it_the_summary_says_which_plugin_and_key_are_needed(dump: Path) -> None:
    output, manifest, rows, _ = audit(dump)
    assert [row["status"] for row in rows] == ["unreadable"]
    assert rows[0]["reason"] == "identity transformer tried to read encrypted data"
    assert manifest["encryption"][0]["opened"] is False
    assert "1 sealed by kms v2 plug, key id key-7" in output
    assert "give --encryption-config, and --kms-decryptor for kms" in output


def test_a_configuration_that_no_server_takes_ends_the_run_without_its_secret(dump: Path) -> None:
    path = dump.parent / "config.json"
    config = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [
            {"resources": ["secrets"], "providers": [{"aescbc": {"keys": [{"name": "a", "secret": "c2hvcnQ="}]}}]}
        ],
    }
    path.write_text(json.dumps(config))
    told = CliRunner().invoke(
        cli, ["audit", str(dump), "--report", str(dump.parent / "r"), "--encryption-config", str(path)]
    )
    assert told.exit_code != 0
    assert "expected one of [16 24 32]" in str(told.exception)
    assert "c2hvcnQ" not in str(told.exception) + told.output
    assert not (dump.parent / "r").exists()
