"""Base64 with the alphabet for URLs, as Go decodes it: values of format `byte` in rules.

Source: Go encoding/base64 (URLEncoding); kube-openapi pkg/validation/strfmt (Base64.UnmarshalText).
"""

from __future__ import annotations

import base64

__all__ = ["Base64Error", "decode_base64url"]

_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_BREAKS = frozenset(b"\r\n")
_PADDING = ord("=")
_QUANTUM = 4


class Base64Error(ValueError):
    """A text that is no base64, in Go's words."""

    def __init__(self, at: int) -> None:
        super().__init__(f"illegal base64 data at input byte {at}")


def decode_base64url(text: str) -> bytes:
    """Return the bytes of a text; line breaks are ignored, padding is required.

    Raises:
        Base64Error: With the byte at which Go gives up.
    """
    data = text.encode("utf-8", "surrogatepass")
    letters = bytearray()
    at = 0
    while at < len(data):
        byte = data[at]
        if byte == _PADDING:
            _check_padding(data, at, len(letters) % _QUANTUM)
            break
        if byte in _LETTERS:
            letters.append(byte)
        elif byte not in _BREAKS:
            raise Base64Error(at)
        at += 1
    else:
        if len(letters) % _QUANTUM:
            raise Base64Error(len(data) - len(letters) % _QUANTUM)
    return base64.urlsafe_b64decode(bytes(letters) + b"=" * (-len(letters) % _QUANTUM))


def _check_padding(data: bytes, at: int, letters: int) -> None:
    """Check what begins with the first sign of padding, after so many letters of the last four."""
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
