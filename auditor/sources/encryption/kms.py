"""Envelopes of KMS providers: a data key, wrapped by an external plugin, is stored with the data that it encrypts.

The plugin is not available offline. Instead a command of the user unwraps data keys: it reads the wrapped key from
standard input and writes the plain one to standard output. It runs once for each wrapped key, within the limits of
`helper_command`; its environment describes the key:

    AUDITOR_KMS_VERSION      v1 or v2
    AUDITOR_KMS_PLUGIN       name of the plugin
    AUDITOR_KMS_KEY_ID       v2: the id of the key that wrapped it; v1: empty
    AUDITOR_KMS_ANNOTATIONS  v2: a JSON object of the annotations, values in base64; v1: empty

Source: apiserver pkg/storage/value/encrypt/envelope (v1), pkg/storage/value/encrypt/envelope/kmsv2 (v2).
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from typing import Final, Protocol

from auditor.sources.encryption.ciphers import NotDecrypted
from auditor.sources.helper_command import HelperCommand, HelperFailed

_LONGEST: Final = 1024
_LONGEST_ANNOTATIONS: Final = 32 * 1024
_MALFORMED: Final = "proto: cannot parse invalid wire-format data"
_TIMEOUT: Final = 10.0
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_LABEL: Final = 63
_LONGEST_NAME: Final = 253
_PLAIN_LIMIT: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class KmsEnvelope:
    """A wrapped key and the encrypted data.

    Attributes:
        wrapped: The wrapped data key or seed.
        data: The encrypted data.
        key_id: Key of the plugin (v2).
        seeded: Whether the plain key is a seed (v2).
        annotations: Annotations from the plugin (v2), sorted by name.
    """

    wrapped: bytes
    data: bytes = field(repr=False)
    key_id: str = ""
    seeded: bool = False
    annotations: tuple[tuple[str, bytes], ...] = ()


class HelperSilent(NotDecrypted):
    """The command gave no key: nothing says whether there is one.

    Args:
        reason: As a server words it.
        error: What the command did.
    """

    def __init__(self, reason: str, error: str) -> None:
        super().__init__(reason)
        self.error = error


class KmsDecryptor(Protocol):
    """Unwraps data keys."""

    def unwrap(self, version: str, plugin: str, envelope: KmsEnvelope) -> bytes:
        """Return the plain key, or raise `NotDecrypted`."""


def decode_v1(data: bytes) -> KmsEnvelope:
    """Parse a v1 envelope: length, wrapped key, data."""
    size = int.from_bytes(data[:2], "big")
    if len(data) < 2 or len(data) < 2 + size:
        raise NotDecrypted(
            "invalid data encountered by envelope transformer: failed to read uint16 length prefixed data"
        )
    return KmsEnvelope(data[2 : 2 + size], data[2 + size :])


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number >> 64:
                break
            return number, at
    raise NotDecrypted(_MALFORMED)


def _fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """Return (field, number or bytes) of a protobuf message."""
    out: list[tuple[int, int | bytes]] = []
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise NotDecrypted(_MALFORMED)
        if wire == 0:
            value, position = _varint(data, position)
            out.append((number, value))
            continue
        size = {1: 8, 5: 4}.get(wire, -1)
        if wire == 2:
            size, position = _varint(data, position)
        if size < 0 or position + size > len(data):
            raise NotDecrypted(_MALFORMED)
        if wire == 2:
            out.append((number, data[position : position + size]))
        position += size
    return out


def _text(value: int | bytes) -> str:
    try:
        return value.decode() if isinstance(value, bytes) else ""
    except UnicodeDecodeError:
        raise NotDecrypted(f"{_MALFORMED}: a string is no UTF-8") from None


def decode_v2(data: bytes) -> KmsEnvelope:
    """Parse a v2 envelope (protobuf EncryptedObject) and check it as the server does."""
    sealed = wrapped = b""
    key_id, kind = "", 0
    annotations: dict[str, bytes] = {}
    for number, value in _fields(data):
        if number == 5 and isinstance(value, int):
            kind = (value & 0xFFFFFFFF) - ((value & 0x80000000) << 1)
        elif isinstance(value, int):
            continue
        elif number == 1:
            sealed = value
        elif number == 2:
            key_id = _text(value)
        elif number == 3:
            wrapped = value
        elif number == 4:
            entry = dict(_fields(value))
            content = entry.get(2, b"")
            annotations[_text(entry.get(1, b""))] = content if isinstance(content, bytes) else b""
    if kind not in {0, 1}:
        raise NotDecrypted(f"unknown encryptedDEKSourceType: {kind}")
    if not sealed:
        raise NotDecrypted("encrypted data is empty")
    if not wrapped:
        raise NotDecrypted("failed to validate encrypted DEK source: encrypted DEK source is empty")
    if len(wrapped) > _LONGEST:
        what = f"encrypted DEK source is {len(wrapped)} bytes, which exceeds the max size of {_LONGEST}"
        raise NotDecrypted(f"failed to validate encrypted DEK source: {what}")
    if not key_id:
        raise NotDecrypted("failed to validate key id: keyID is empty")
    if len(key_id.encode()) > _LONGEST:
        what = f"keyID is {len(key_id.encode())} bytes, which exceeds the max size of {_LONGEST}"
        raise NotDecrypted(f"failed to validate key id: {what}")
    _check_annotations(annotations)
    return KmsEnvelope(wrapped, sealed, key_id, kind == 1, tuple(sorted(annotations.items())))


def _check_annotations(annotations: dict[str, bytes]) -> None:
    faults = [f"annotations: {fault.format(name)}" for name in sorted(annotations) if (fault := _domain_fault(name))]
    total = sum(len(name.encode()) + len(value) for name, value in annotations.items())
    if total > _LONGEST_ANNOTATIONS:
        faults.append(f"total size of annotations is {total}, which exceeds the max size of {_LONGEST_ANNOTATIONS}")
    if faults:
        text = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
        raise NotDecrypted(f"failed to validate annotations: {text}")


def _domain_fault(name: str) -> str:
    """Return why a name is not a fully qualified domain name; empty if it is one."""
    if not name:
        return "Required value"
    labels = name.removesuffix(".").split(".")
    if len(name) > _LONGEST_NAME or any(not _LABEL.fullmatch(label) or len(label) > _LONGEST_LABEL for label in labels):
        return 'Invalid value: "{}": no domain name'
    if len(labels) < 2:
        return 'Invalid value: "{}": should be a domain with at least two segments separated by dots'
    return ""


class KmsCommand:
    """Unwraps data keys with a command of the user; see the module's docstring.

    Args:
        command: As in a shell, but no shell runs it.

    Raises:
        PlanError: The command cannot be split into words, or is empty.
    """

    def __init__(self, command: str) -> None:
        self._command = HelperCommand(
            "--kms-decryptor", command, name="the KMS command", seconds=_TIMEOUT, most=_PLAIN_LIMIT
        )
        self._known: dict[tuple[str, str, str, bytes], bytes | str] = {}

    def unwrap(self, version: str, plugin: str, envelope: KmsEnvelope) -> bytes:
        """Return the plain key of an envelope; the command runs once for each wrapped key.

        Raises:
            HelperSilent: The command returned none.
        """
        place = (version, plugin, envelope.key_id, envelope.wrapped)
        answer = self._known.get(place)
        if answer is None:
            answer = self._known[place] = self._ask(version, plugin, envelope)
        if isinstance(answer, str):
            raise HelperSilent(f"failed to decrypt DEK, error: {answer}", answer)
        return answer

    def _ask(self, version: str, plugin: str, envelope: KmsEnvelope) -> bytes | str:
        notes = {name: base64.b64encode(value).decode() for name, value in envelope.annotations}
        environment = {
            "AUDITOR_KMS_VERSION": version,
            "AUDITOR_KMS_PLUGIN": plugin,
            "AUDITOR_KMS_KEY_ID": envelope.key_id,
            "AUDITOR_KMS_ANNOTATIONS": json.dumps(notes, sort_keys=True) if version == "v2" else "",
        }
        try:
            return self._command.ask(envelope.wrapped, environment)
        except HelperFailed as failed:
            return str(failed)
