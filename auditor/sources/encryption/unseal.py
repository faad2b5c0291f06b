"""Decrypts stored values: tries the providers of a resource in order, as the server does.

Source: apiserver pkg/storage/value/transformer.go (prefixTransformers), apimachinery pkg/util/errors (Aggregate).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.sources.encryption import ciphers
from auditor.sources.encryption.ciphers import NotDecrypted, open_cbc, open_gcm, open_secretbox, open_seeded_gcm
from auditor.sources.encryption.config import EncryptionConfig, Key, Provider, load_config
from auditor.sources.encryption.kms import HelperSilent, KmsCommand, decode_v1, decode_v2
from auditor.sources.storage_value import ENCRYPTED_PREFIX, envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.sources.encryption.kms import KmsDecryptor
    from auditor.sources.registry_key import KeyParts


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
_KMS: Final = frozenset({"v1", "v2"})


class Sealed(NamedTuple):
    """The result of decrypting a value.

    Attributes:
        data: The plain value; None means there is none.
        reason: Why there is no plain value.
        lacks_key: Whether there was no key for its provider; the value may be intact.
        error: Why the command of --kms-decryptor gave none; empty if it was not asked, or answered.
    """

    data: bytes | None
    reason: str = ""
    lacks_key: bool = False
    error: str = ""


class _LacksKey(NotDecrypted):
    """A value without a key for it.

    Args:
        reason: Why.
        error: As in `Sealed`.
    """

    def __init__(self, reason: str, error: str = "") -> None:
        super().__init__(reason)
        self.error = error


class SealedCount(NamedTuple):
    """The grouping key for counts of encrypted values.

    Attributes:
        provider: aescbc, aesgcm, secretbox, ``kms v1``, ``kms v2``, or another text from the prefix.
        name: The name of the key, or of the KMS plugin.
        key_id: KMS v2: the plugin's key.
        opened: Whether the value was decrypted.
        lacks_key: Whether there was no key for its provider.
        error: As in `Sealed`.
    """

    provider: str
    name: str
    key_id: str
    opened: bool
    lacks_key: bool = False
    error: str = ""


def resource_of(place: KeyParts) -> tuple[str, str] | None:
    """Return the group and resource by which the server encrypts a key, or None if it is not a key of an object."""
    if place.plural is None:
        return None
    return place.group or "", place.plural


class Unsealer:
    """Decrypts values; one for each process.

    Args:
        config: The configuration; None means no provider but identity, and KMS where `kms` is given.
        kms: Unwraps the keys of KMS providers; None if their values are not decrypted.

    Attributes:
        counts: Numbers of encrypted values so far.
    """

    def __init__(self, config: EncryptionConfig | None = None, kms: KmsDecryptor | None = None) -> None:
        self.config = config
        self.kms = kms
        self.counts: Counter[SealedCount] = Counter()
        if config is not None or kms is not None:
            ciphers.require_packages("decryption", "cryptography", "nacl")

    def open(self, key: bytes, resource: tuple[str, str] | None, data: bytes) -> Sealed:
        """Return the plain value of a key.

        Args:
            key: The full etcd key, prefix included.
            resource: Group and plural resource; None if it is not an object, as others are never encrypted.
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
        except _LacksKey as lacks:
            opened = Sealed(None, str(lacks), lacks_key=True, error=lacks.error)
        except NotDecrypted as refused:
            opened = Sealed(None, str(refused))
        if encrypted:
            self.counts[sealed_count(data, opened)] += 1
        return opened

    def _first(self, providers: Iterable[Provider], key: bytes, data: bytes, *, ruled: bool) -> bytes:
        """Decrypt a value with the first provider that can; if one fails, the next is tried."""
        reasons: list[str] = []
        lacking: _LacksKey | None = None
        for provider in providers:
            prefix = provider.prefix
            if not prefix:
                if not data.startswith(ENCRYPTED_PREFIX):
                    return data
                if not ruled:
                    raise self._refused_by_identity(data)
            elif data.startswith(prefix):
                try:
                    return self._provider(provider, key, data[len(prefix) :])
                except _LacksKey as lacks:
                    lacking = lacks
                except NotDecrypted as refused:
                    reasons.extend(refused.args)
        if lacking is not None:
            raise lacking
        raise NotDecrypted(*(reasons or [_NO_PREFIX]))

    def _refused_by_identity(self, data: bytes) -> NotDecrypted:
        """Return the error for a value without a provider; without a configuration: that no key was given."""
        sealed = None if self.config is not None else envelope(data)
        if sealed is None:
            return NotDecrypted(_IDENTITY_REFUSES)
        if sealed.provider == "kms" and sealed.version in _KMS:
            return _no_decryptor(sealed.version, sealed.key, data[sealed.start :])
        return _LacksKey(f'sealed by {sealed.provider}, key "{sealed.key}"; no key was given (--encryption-config)')

    def _provider(self, provider: Provider, key: bytes, data: bytes) -> bytes:
        if provider.kind == "kms":
            return self._kms(provider.version, provider.name, key, data)
        reasons: list[str] = []
        for known in provider.keys:
            prefix = known.name.encode() + b":"
            if data.startswith(prefix):
                try:
                    return _OPEN[provider.kind](known, data[len(prefix) :], key)
                except NotDecrypted as refused:
                    reasons.extend(refused.args)
        raise NotDecrypted(*(reasons or [_NO_KEY[provider.kind]]))

    def _any_kms(self, data: bytes, key: bytes) -> bytes:
        sealed = envelope(data)
        if sealed is None or sealed.provider != "kms" or sealed.version not in _KMS:
            raise self._refused_by_identity(data)
        return self._kms(sealed.version, sealed.key, key, data[sealed.start :])

    def _kms(self, version: str, plugin: str, key: bytes, data: bytes) -> bytes:
        if self.kms is None:
            raise _no_decryptor(version, plugin, data)
        parts = decode_v1(data) if version == "v1" else decode_v2(data)
        try:
            plain = self.kms.unwrap(version, plugin, parts)
        except HelperSilent as silent:
            raise _LacksKey(str(silent), silent.error) from None
        if version == "v2":
            opener = open_seeded_gcm if parts.seeded else open_gcm
            return opener(plain, parts.data, key)
        reasons: list[str] = []
        try:
            return open_gcm(plain, parts.data, key)
        except NotDecrypted as refused:
            reasons.extend(refused.args)
        try:
            return open_cbc(plain, parts.data)
        except NotDecrypted as refused:
            reasons.extend(refused.args)
        raise NotDecrypted(*reasons)


def _no_decryptor(version: str, plugin: str, data: bytes) -> _LacksKey:
    key_id = _key_id(version, data)
    of = f', key id "{key_id}"' if key_id else ""
    return _LacksKey(f'sealed by the KMS {version} plugin "{plugin}"{of}; its key is unwrapped by --kms-decryptor')


def _key_id(version: str, data: bytes) -> str:
    """Return the id of the plugin's key in an envelope; empty if it has none, or does not decode."""
    if version != "v2":
        return ""
    try:
        return decode_v2(data).key_id
    except NotDecrypted:
        return ""


def sealed_count(data: bytes, opened: Sealed) -> SealedCount:
    """Return what an encrypted value, and what came of opening it, is counted by."""
    sealed, outcome = envelope(data), (opened.data is not None, opened.lacks_key, opened.error)
    if sealed is None:
        return SealedCount("unknown", "", "", *outcome)
    if sealed.provider != "kms":
        return SealedCount(sealed.provider, sealed.key, "", *outcome)
    key_id = _key_id(sealed.version, data[sealed.start :])
    return SealedCount(f"kms {sealed.version}", sealed.key, key_id, *outcome)


def make_unsealer(config: str = "", kms_command: str = "") -> Unsealer:
    """Make an unsealer from options of the user.

    Args:
        config: Path of an EncryptionConfiguration; empty if there is none.
        kms_command: Command that unwraps keys of KMS providers; empty if there is none.

    Raises:
        SourceError: The configuration cannot be used, or the ciphers are not installed.
        PlanError: The command cannot be used.
    """
    return Unsealer(load_config(config) if config else None, KmsCommand(kms_command) if kms_command else None)
