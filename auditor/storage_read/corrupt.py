"""The words of a server for a value that it cannot decode or decrypt.

Source: apiserver pkg/features/kube_features.go (AllowUnsafeMalformedObjectDeletion, on since 1.37),
pkg/storage/etcd3/{store,corrupt_obj_deleter}.go, pkg/storage/errors/storage.go.
"""

from __future__ import annotations

from typing import NamedTuple

from auditor.golang.text import quote
from auditor.releases import changes

__all__ = ["CorruptValue", "answer_to_one", "described", "first_of_list"]

_INTERNAL = "InternalError"


class CorruptValue(NamedTuple):
    """A value that a server cannot read.

    Attributes:
        key: Its key, as the message names it.
        revision: Its revision.
        reason: What is wrong with it.
        is_closed: Whether it cannot even be decrypted.
    """

    key: str
    revision: int
    reason: str
    is_closed: bool = False


def described(value: CorruptValue) -> str:
    """Return the words since `changes.CORRUPT_OBJECTS`."""
    where = f"StorageError: corrupt object, Code: 7, Key: {value.key}, ResourceVersion: 0, AdditionalErrorMsg: "
    if value.is_closed:
        return f"{where}data from the storage is not transformable revision=0: {value.reason}"
    return f"{where}object not decodable revision={value.revision}: {value.reason}"


def answer_to_one(value: CorruptValue) -> tuple[str, str]:
    """Return reason and message of the answer, code 500, to a GET or an update of the object."""
    if changes.CORRUPT_OBJECTS.holds:
        return _INTERNAL, f"Internal error occurred: {described(value)}"
    return (_INTERNAL, f"Internal error occurred: {value.reason}") if value.is_closed else ("", value.reason)


def first_of_list(value: CorruptValue) -> tuple[str, str]:
    """Return reason and message of a LIST's answer before `changes.CORRUPT_OBJECTS`: it stops at the first value."""
    if not value.is_closed:
        return "", value.reason
    return _INTERNAL, f"unable to transform key {quote(value.key)}: {value.reason}"
