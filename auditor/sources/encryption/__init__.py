"""Encryption at rest: what the API server does between the bytes in etcd and the object that it decodes.

In: a stored value, its full etcd key (which is authenticated data for some providers) and the resource that it belongs
to. Out: the plain value, or the server's words for why there is none. Which providers are tried, and in which order,
is what an EncryptionConfiguration says (config.py); without one, every resource has the identity provider, which
refuses whatever is encrypted. Keys stay in this package: no error, note or count holds one.

ciphers.py is the only module that imports a cipher; kms.py knows the envelopes whose keys a KMS plugin wraps, and asks
a command of the user for the plain ones.
Source: apiserver pkg/server/options/encryptionconfig, pkg/storage/value.
"""

from auditor.sources.encryption.config import EncryptionConfig, Key, Provider, load_config
from auditor.sources.encryption.kms import KmsCommand
from auditor.sources.encryption.unseal import Sealed, SealedCount, Unsealer, make_unsealer, resource_of

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
    "resource_of",
]
