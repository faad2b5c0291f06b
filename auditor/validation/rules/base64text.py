"""Decodes base64 as Go does, for values of format `byte` in rules.

Source: Go encoding/base64 (StdEncoding, URLEncoding); kube-openapi pkg/validation/strfmt (Base64.UnmarshalText).
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable


_BOTH: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_STANDARD: Final = frozenset(_BOTH + b"+/")
_FOR_URLS: Final = frozenset(_BOTH + b"-_")
_BREAKS = frozenset(b"\r\n")
_PADDING = ord("=")
_QUANTUM = 4


class Base64Error(ValueError):
    """The error for a text that is not base64, in Go's words."""

    def __init__(self, at: int) -> None:
        super().__init__(f"illegal base64 data at input byte {at}")


def bytes_decoder() -> Callable[[str], bytes]:
    """Return the decoder of values of format `byte` in the reproduced release."""
    return decode_base64 if changes.BYTES_ARE_STANDARD_BASE64.holds else decode_base64url


def decode_base64(text: str) -> bytes:
    """Return the bytes of a text in the standard alphabet; see `decode_base64url`."""
    return base64.standard_b64decode(_padded(text, _STANDARD))


def decode_base64url(text: str) -> bytes:
    """Return the bytes of a text in the alphabet for URLs; line breaks are ignored, padding is required.

    Raises:
        Base64Error: The text is invalid; the error has the byte at which Go stops.
    """
    return base64.urlsafe_b64decode(_padded(text, _FOR_URLS))


def _padded(text: str, alphabet: frozenset[int]) -> bytes:
    """Return the letters of a text without line breaks, with the padding that Python requires."""
    data = text.encode("utf-8", "surrogatepass")
    letters = bytearray()
    position = 0
    while position < len(data):
        byte = data[position]
        if byte == _PADDING:
            _check_padding(data, position, len(letters) % _QUANTUM)
            break
        if byte in alphabet:
            letters.append(byte)
        elif byte not in _BREAKS:
            raise Base64Error(position)
        position += 1
    else:
        if len(letters) % _QUANTUM:
            raise Base64Error(len(data) - len(letters) % _QUANTUM)
    return bytes(letters) + b"=" * (-len(letters) % _QUANTUM)


def _check_padding(data: bytes, at: int, letters: int) -> None:
    """Check the padding, after so many letters of the last four."""
    if letters < 2:
        raise Base64Error(at)
    end = _past_breaks(data, at + 1)
    if letters == 2:
        if end == len(data):
            raise Base64Error(end)
        if data[end] != _PADDING:
            raise Base64Error(end - 1)
        end = _past_breaks(data, end + 1)
    if end < len(data):
        raise Base64Error(end)


def _past_breaks(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in _BREAKS:
        at += 1
    return at
