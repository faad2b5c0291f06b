"""The ciphers of stored values: each decrypts the bytes after a provider's prefix.

Every function raises `NotDecrypted` with the server's message for the same bytes.
Source: apiserver pkg/storage/value/encrypt/{aes,secretbox}.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from auditor.base.errors import SourceError

_BLOCK: Final = 16
_NONCE: Final = 12
_TAG: Final = 16
_SEED_INFO: Final = 32
_BOX_NONCE: Final = 24
_AES_SIZES: Final = (16, 24, 32)
_SHORT: Final = "the stored data was shorter than the required size"


class NotDecrypted(Exception):
    """A value that cannot be decrypted; the arguments are the server's messages."""

    def __str__(self) -> str:
        """Join the messages as the server does: each once, in brackets if there are several."""
        unique = list(dict.fromkeys(self.args))
        return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def require_packages(purpose: str, *names: str) -> None:
    """Name the package to install if one of some optional packages is missing.

    Raises:
        SourceError: It is not installed.
    """
    for name in names:
        try:
            import_module(name)
        except ImportError:
            advice = "run pip install '.[crypto]' in a clone of the project"
            raise SourceError("", f"{purpose} needs the package {name}", "", advice) from None


def _aes_key(key: bytes) -> bytes:
    if len(key) not in _AES_SIZES:
        raise NotDecrypted(f"crypto/aes: invalid key size {len(key)}")
    return key


def open_cbc(key: bytes, data: bytes) -> bytes:
    """Decrypt AES-CBC: IV, then blocks with PKCS#7 padding, which may be longer than a block."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415

    _aes_key(key)
    if len(data) < _BLOCK:
        raise NotDecrypted(_SHORT)
    if len(data) % _BLOCK:
        raise NotDecrypted("the stored data is not a multiple of the block size")
    decryptor = Cipher(algorithms.AES(key), modes.CBC(data[:_BLOCK])).decryptor()
    plain = decryptor.update(data[_BLOCK:]) + decryptor.finalize()
    padding = plain[-1] if plain else 0  # the server has no message for a lone IV: it fails on the empty rest
    if not padding or padding > len(plain):
        raise NotDecrypted("invalid PKCS7 data (empty or not padded)")
    if plain[-padding:] != bytes([padding]) * padding:
        raise NotDecrypted("invalid padding on input")
    return plain[:-padding]


def open_gcm(key: bytes, data: bytes, authenticated: bytes) -> bytes:
    """Decrypt AES-GCM: nonce, ciphertext, tag; `authenticated` is the full etcd key."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    _aes_key(key)
    if len(data) < _NONCE:
        raise NotDecrypted(_SHORT)
    if len(data) < _NONCE + _TAG:
        raise NotDecrypted("cipher: message authentication failed")
    try:
        return AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], authenticated)
    except InvalidTag:
        raise NotDecrypted("cipher: message authentication failed") from None


def open_seeded_gcm(seed: bytes, data: bytes, authenticated: bytes) -> bytes:
    """Decrypt AES-GCM with a key derived from a seed and the first bytes of the data (HKDF-SHA256, expand only)."""
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand  # noqa: PLC0415

    if len(seed) < _SEED_INFO:
        raise NotDecrypted(f"invalid seed length {len(seed)} used for key generation")
    if len(data) < _SEED_INFO:
        raise NotDecrypted(_SHORT)
    key = HKDFExpand(algorithm=SHA256(), length=32, info=data[:_SEED_INFO]).derive(seed)
    return open_gcm(key, data[_SEED_INFO:], authenticated)


def open_secretbox(key: bytes, data: bytes) -> bytes:
    """Decrypt NaCl's secretbox: nonce, tag, ciphertext. For a failure, the server has the message of another cipher."""
    from nacl.exceptions import CryptoError  # noqa: PLC0415
    from nacl.secret import SecretBox  # noqa: PLC0415

    if len(data) < _BOX_NONCE + _TAG:
        raise NotDecrypted(_SHORT)
    try:
        return bytes(SecretBox(key).decrypt(data[_BOX_NONCE:], data[:_BOX_NONCE]))
    except CryptoError:
        raise NotDecrypted("output array was not large enough for encryption") from None
