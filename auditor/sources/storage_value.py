"""One stored value: its type by the first bytes, and the prefix of an encrypted one.

The server decrypts first, then decodes. Custom resources are decoded as CBOR if the value has CBOR's self-described
tag, otherwise as JSON: for a custom resource stored as protobuf, the error is that of invalid JSON. Built-in kinds are
protobuf by default.
Source: apiserver pkg/server/options/encryptionconfig/config.go, pkg/storage/value/encrypt/identity/identity.go;
apimachinery pkg/runtime/serializer/{protobuf,cbor,json}.
"""

from __future__ import annotations

from typing import Final, NamedTuple

ENCRYPTED_PREFIX: Final = b"k8s:enc:"
PROTOBUF_MAGIC: Final = b"k8s\0"
CBOR_TAG: Final = b"\xd9\xd9\xf7"

_MAX_NAME: Final = 1024


class EncryptedPrefix(NamedTuple):
    """The prefix of an encrypted value.

    Attributes:
        provider: aescbc, aesgcm, secretbox, kms, or one that is not known.
        version: v1 or v2.
        key: Name of the key or of the KMS plugin.
        start: Where the ciphertext begins.
    """

    provider: str
    version: str
    key: str
    start: int


def envelope(data: bytes) -> EncryptedPrefix | None:
    """Parse the prefix ``k8s:enc:<provider>:<version>:<key>:`` of an encrypted value; None if it is incomplete."""
    if not data.startswith(ENCRYPTED_PREFIX):
        return None
    parts = data[: len(ENCRYPTED_PREFIX) + _MAX_NAME].split(b":", 5)
    if len(parts) < 6:
        return None
    provider, version, key = (part.decode("utf-8", "backslashreplace") for part in parts[2:5])
    return EncryptedPrefix(provider, version, key, sum(len(part) + 1 for part in parts[:5]))
