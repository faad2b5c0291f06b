"""Encrypted values through the command line: rows, counts, hints, and no plain value anywhere in the report."""

from __future__ import annotations

import base64
import json
import re
import struct
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.command import auditor
from tests.sources.bolt_writer import bolt_file, key_value, revision
from tests.sources.encryption.vectors import COMMAND, VECTORS

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


def audit(dump: Path, *options: str, code: int = 0) -> tuple[str, dict[str, Any], list[dict[str, Any]], bytes]:
    report = dump.parent / "report"
    reported = auditor("audit", dump, "--report", report, "--force", "--fail-on", "never", *options)
    assert reported.code == code, reported.output
    rows = [row for part in (report / "objects").glob("*.parquet") for row in pq.read_table(part).to_pylist()]
    every = b"".join(path.read_bytes() for path in report.rglob("*") if path.is_file())
    return reported.output, json.loads((report / "manifest.json").read_bytes()), rows, every + repr(rows).encode()


def test_a_plugin_whose_key_is_unwrapped_opens_its_values(dump: Path) -> None:
    output, manifest, rows, every = audit(dump, "--kms-decryptor", COMMAND)
    assert [(row["key"], row["status"], row["reason"]) for row in rows] == [
        (KEY.decode(), "builtin", "couldn't compute key: Namespace parameter required.")
    ]
    assert manifest["encryption"] == [
        {"provider": "kms v2", "name": "plug", "key_id": "key-7", "opened": True, "values": 1}
    ]
    assert "not opened" not in output
    assert PLAIN not in every


def test_without_it_the_summary_says_which_plugin_and_key_are_needed(dump: Path) -> None:
    output, manifest, rows, _ = audit(dump)
    assert [(row["status"], row["impact"], row["impacts"]) for row in rows] == [("sealed", "unknown", [])]
    assert rows[0]["reason"] == (
        'sealed by the KMS v2 plugin "plug", key id "key-7"; its key is unwrapped by --kms-decryptor'
    )
    assert manifest["counts"]["statuses"] == {"sealed": 1}
    assert manifest["encryption"] == [
        {"provider": "kms v2", "name": "plug", "key_id": "key-7", "opened": False, "values": 1, "sealed": True}
    ]
    assert (
        "SEALED 1 value is sealed by kms v2 (plugin name plug with key id key-7), no key was given "
        "(--kms-decryptor), not judged "
    ) in " ".join(output.split())
    assert "1 key: 1 sealed\n" in output
    assert not any(word in output for word in ("CRITICAL", "delete", "nothing to do", "do not open"))


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--fail-on-sealed",), 1), (("--fail-on", "never"), 0)])
def test_sealed_values_end_a_run_with_1_only_where_their_own_flag_asks_for_it(
    dump: Path, options: tuple[str, ...], code: int
) -> None:
    reported = auditor("audit", dump, "--report", dump.parent / "r", *options)
    assert reported.code == code, reported.output


def test_a_key_that_was_given_and_fails_is_broken_still(dump: Path) -> None:
    output, manifest, rows, _ = audit(dump, "--kms-decryptor", "echo another key")
    assert [(row["status"], row["impacts"]) for row in rows] == [("unreadable", ["breaks-list"])]
    assert "sealed" not in manifest["encryption"][0]
    assert re.search(r"Secret  \S+  cannot be listed or watched; /readyz fails  [0-9a-f]{8}\n", output)
    assert "SEALED" not in output


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("false", "the KMS command ended with 1"),
        ("true", "the KMS command gave 0 bytes"),
        ("exit 1", "the KMS command cannot be run: No such file or directory"),
    ],
)
def test_a_command_that_gives_no_key_leaves_its_values_not_judged(dump: Path, command: str, error: str) -> None:
    output, manifest, rows, _ = audit(dump, "--kms-decryptor", command, code=3)
    assert manifest["exit_code"] == 3
    assert [row["status"] for row in rows] == ["sealed"]
    assert manifest["encryption"][0]["error"] == error
    assert f"1 key sealed: {error} (--kms-decryptor)" in " ".join(output.split())
    assert "do not decrypt" not in output


def test_objects_of_a_sealed_definition_are_sealed_and_not_orphaned(tmp_path: Path) -> None:
    values = {
        b"/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.demo.io": b"k8s:enc:aescbc:v1:one:abc",
        b"/registry/demo.io/gadgets/shop/a": b"{}",
        b"/registry/demo.io/widgets/shop/a": b"{}",
    }
    rows = {
        revision(number): key_value(key, number, number, 1, value)
        for number, (key, value) in enumerate(values.items(), 2)
    }
    path = tmp_path / "dump.db"
    path.write_bytes(bolt_file({b"key": rows, b"meta": {b"consistent_index": struct.pack(">Q", 9)}}))
    _, _, found, _ = audit(path)
    assert [(row["name"], row["status"], row["impact"], row["reason"]) for row in found] == [
        (
            *("widgets.demo.io", "sealed", "unknown"),
            'sealed by aescbc, key "one"; no key was given (--encryption-config)',
        ),
        ("a", "orphaned", "none", "no definition owns gadgets.demo.io"),
        ("a", "sealed", "unknown", "its definition widgets.demo.io is sealed, so that it cannot be judged"),
    ]


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
    reported = auditor("audit", dump, "--report", dump.parent / "r", "--encryption-config", path)
    assert reported.code != 0
    assert "expected one of [16 24 32]" in reported.stderr
    assert "c2hvcnQ" not in reported.output
    assert not (dump.parent / "r").exists()
