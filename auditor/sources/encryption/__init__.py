"""Encryption at rest: the step of the API server between the bytes in etcd and the decoder.

Input: a stored value, its full etcd key (which is authenticated data for some providers) and its resource. Output: the
plain value, or the server's error. The EncryptionConfiguration lists the providers in the order in which they are tried
(config.py); without one, every resource has the identity provider, which refuses encrypted values. Keys stay in this
package: no error, note or count contains one.

Only ciphers.py imports ciphers; kms.py reads envelopes with keys wrapped by a KMS plugin, and runs a command of the
user to unwrap them.
Source: apiserver pkg/server/options/encryptionconfig, pkg/storage/value.
"""

from auditor.sources.encryption.ciphers import require_packages
from auditor.sources.encryption.config import EncryptionConfig, Key, Provider, load_config
from auditor.sources.encryption.kms import KmsCommand
from auditor.sources.encryption.unseal import Sealed, SealedCount, Unsealer, make_unsealer, resource_of, sealed_count

__all__ = [
    "EncryptionConfig",
    "Key",
    "KmsCommand",
    "Provider",
    "Sealed",
    "SealedCount",
    "Unsealer",
    "load_config",
    "make_unsealer",
    "require_packages",
    "resource_of",
    "sealed_count",
]
