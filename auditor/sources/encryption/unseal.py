"""Opening stored values: the providers of a resource in their order, as the server tries them.

Source: apiserver pkg/storage/value/transformer.go (prefixTransformers), apimachinery pkg/util/errors (Aggregate).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.sources.encryption import ciphers
from auditor.sources.encryption.ciphers import Refused, open_cbc, open_gcm, open_secretbox, open_seeded_gcm
from auditor.sources.encryption.config import EncryptionConfig, Key, Provider, load_config
from auditor.sources.encryption.kms import KmsCommand, decode_v1, decode_v2
from auditor.sources.storage_value import ENCRYPTED_PREFIX, envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.sources.encryption.kms import KmsDecryptor
    from auditor.sources.registry_key import Place

__all__ = ["Sealed", "SealedCount", "Unsealer", "make_unsealer", "resource_of"]

_IDENTITY_REFUSES: Final = "identity transformer tried to read encrypted data"
_NO_PREFIX: Final = "no matching prefix found"
_NO_KEY: Final = {
    "aescbc": "no matching key was found for the provided AES transformer",
    "aesgcm": "no matching key was found for the provided AES transformer",
    "secretbox": "no matching key was found for the provided Secretbox transformer",
}
_OPEN: Final[dict[str, Callable[[Key, bytes, bytes], bytes]]] = {
    "aescbc": lambda key, data, _: open_cbc(key.secret, data),
    "aesgcm": lambda key, data, place: open_gcm(key.secret, data, place),
    "secretbox": lambda key, data, _: open_secretbox(key.secret, data),
}
_IDENTITY: Final = (Provider("identity"),)


class Sealed(NamedTuple):
    """What opening a value came to: the plain value, or why there is none."""

    data: bytes | None
    reason: str = ""


class SealedCount(NamedTuple):
    """What encrypted values are counted by.

    Attributes:
        provider: aescbc, aesgcm, secretbox, ``kms v1``, ``kms v2``, or what stands in its place.
        name: Of the key, or of the KMS plugin.
        key_id: KMS v2: the plugin's key.
        opened: Whether the plain value was had.
    """

    provider: str
    name: str
    key_id: str
    opened: bool


def resource_of(place: Place) -> tuple[str, str] | None:
    """Return the group and resource that the server encrypts a key as; None: it is no key of the server's objects."""
    if place.plural is None:
        return None
    return place.group or "", place.plural


class Unsealer:
    """Opens values; one for each process.

    Args:
        config: The configuration; None: no provider but identity, and KMS where `kms` is given.
        kms: Unwraps the keys of KMS providers; None: their values stay closed.

    Attributes:
        counts: Encrypted values met so far.
    """

    def __init__(self, config: EncryptionConfig | None = None, kms: KmsDecryptor | None = None) -> None:
        self.config = config
        self.kms = kms
        self.counts: Counter[SealedCount] = Counter()
        if config is not None or kms is not None:
            ciphers.require_ciphers()

    def open(self, key: bytes, resource: tuple[str, str] | None, data: bytes) -> Sealed:
        """Return the plain value of a key.

        Args:
            key: The full etcd key, prefix included.
            resource: Group and plural resource; None: something that is no object, which is never encrypted.
            data: The value as stored.
        """
        encrypted = data.startswith(ENCRYPTED_PREFIX)
        if not encrypted and self.config is None:
            return Sealed(data)
        providers = self.config.of(*resource) if self.config is not None and resource is not None else None
        try:
            if providers is None and encrypted and self.config is None and self.kms is not None:
                opened = Sealed(self._any_kms(data, key))
            else:
                opened = Sealed(self._first(providers or _IDENTITY, key, data, ruled=providers is not None))
        except Refused as refused:
            opened = Sealed(None, str(refused))
        if encrypted:
            self.counts[_count(data, opened=opened.data is not None)] += 1
        return opened

    def _first(self, providers: Iterable[Provider], key: bytes, data: bytes, *, ruled: bool) -> bytes:
        """Open a value with the first provider that can; a failure of one does not keep the next from trying."""
        reasons: list[str] = []
        for provider in providers:
            prefix = provider.prefix
            if not prefix:
                if not data.startswith(ENCRYPTED_PREFIX):
                    return data
                if not ruled:
                    raise Refused(_IDENTITY_REFUSES)
            elif data.startswith(prefix):
                try:
                    return self._provider(provider, key, data[len(prefix) :])
                except Refused as refused:
                    reasons.extend(refused.args)
        raise Refused(*(reasons or [_NO_PREFIX]))

    def _provider(self, provider: Provider, key: bytes, data: bytes) -> bytes:
        if provider.kind == "kms":
            return self._kms(provider.version, provider.name, key, data)
        reasons: list[str] = []
        for known in provider.keys:
            prefix = known.name.encode() + b":"
            if data.startswith(prefix):
                try:
                    return _OPEN[provider.kind](known, data[len(prefix) :], key)
                except Refused as refused:
                    reasons.extend(refused.args)
        raise Refused(*(reasons or [_NO_KEY[provider.kind]]))

    def _any_kms(self, data: bytes, key: bytes) -> bytes:
        found = envelope(data)
        if found is None or found.provider != "kms" or found.version not in {"v1", "v2"}:
            raise Refused(_IDENTITY_REFUSES)
        return self._kms(found.version, found.key, key, data[found.start :])

    def _kms(self, version: str, plugin: str, key: bytes, data: bytes) -> bytes:
        parts = decode_v1(data) if version == "v1" else decode_v2(data)
        if self.kms is None:
            of = f', key id "{parts.key_id}"' if parts.key_id else ""
            raise Refused(f'sealed by the KMS {version} plugin "{plugin}"{of}; its key is unwrapped by --kms-decryptor')
        plain = self.kms.unwrap(version, plugin, parts)
        if version == "v2":
            opener = open_seeded_gcm if parts.seeded else open_gcm
            return opener(plain, parts.data, key)
        reasons: list[str] = []
        try:
            return open_gcm(plain, parts.data, key)
        except Refused as refused:
            reasons.extend(refused.args)
        try:
            return open_cbc(plain, parts.data)
        except Refused as refused:
            reasons.extend(refused.args)
        raise Refused(*reasons)


def _count(data: bytes, *, opened: bool) -> SealedCount:
    found = envelope(data)
    if found is None:
        return SealedCount("unknown", "", "", opened)
    if found.provider != "kms":
        return SealedCount(found.provider, found.key, "", opened)
    key_id = ""
    if found.version == "v2":
        try:
            key_id = decode_v2(data[found.start :]).key_id
        except Refused:
            key_id = ""
    return SealedCount(f"kms {found.version}", found.key, key_id, opened)


def make_unsealer(config: str = "", kms_command: str = "") -> Unsealer:
    """Make an unsealer from what a user gives.

    Args:
        config: Path of an EncryptionConfiguration; empty: none.
        kms_command: Command that unwraps keys of KMS providers; empty: none.

    Raises:
        SourceError: The configuration cannot be used, or the ciphers are not installed.
        PlanError: The command cannot be.
    """
    return Unsealer(load_config(config) if config else None, KmsCommand(kms_command) if kms_command else None)
