"""The first bytes of encrypted values."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from auditor.sources.storage_value import EncryptedPrefix, envelope
from tests.shared import shared


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"k8s:enc:aescbc:v1:key1:\0:\1", EncryptedPrefix("aescbc", "v1", "key1", 23)),
        (b"k8s:enc:kms:v2:plug-in:x", EncryptedPrefix("kms", "v2", "plug-in", 23)),
        (b"k8s:enc:secretbox:v1::", EncryptedPrefix("secretbox", "v1", "", 22)),
        (b"k8s:enc:aesgcm:v1:key1", None),
        (b"k8s:enc:", None),
        (b"k8s\0", None),
    ],
)
def test_the_prefix_of_an_encrypted_value_names_provider_and_key(data: bytes, expected: EncryptedPrefix | None) -> None:
    assert envelope(data) == expected
    if expected is not None:
        assert data[: expected.start].endswith(b":")


def values(name: str) -> dict[str, bytes]:
    document: dict[str, Any] = json.loads(gzip.decompress(shared(name).read_bytes()))
    return {
        base64.b64decode(row["key"]).decode("utf-8", "backslashreplace"): base64.b64decode(row.get("value", ""))
        for row in document["kvs"]
    }


def test_encrypted_values_of_a_cluster_name_their_keys() -> None:
    stored = values("golden/encrypted/aescbc/etcdctl-get.json.gz")
    names = {found.key for data in stored.values() if (found := envelope(data)) is not None}
    assert {"aescbc-new", "aescbc-old"} <= names
