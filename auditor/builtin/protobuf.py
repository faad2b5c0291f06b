"""Stored built-in objects: an envelope, and a protobuf message that field tables turn into JSON.

Fields with the zero value are left out where Go's encoder leaves them out, so that what comes out is what an API server
would answer (without the defaults that it adds when reading). Unknown numbers are passed over, the last of repeated
scalars wins, order does not matter.

Source: apimachinery pkg/runtime/generated.proto (Unknown), pkg/apis/meta/v1, pkg/api/resource, pkg/util/intstr
generated.proto; encoding/json for what is left out.
"""

from __future__ import annotations

import base64
import datetime
import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.golang import jsontext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.model import JsonObject

__all__ = ["MAGIC", "WireError", "decode_stored", "decode_unknown", "top_level_fields"]

MAGIC: Final = b"k8s\0"
_ZERO_SECONDS: Final = -62_135_596_800


class WireError(ValueError):
    """Bytes that are no such message."""


class _Field(NamedTuple):
    """One field: its JSON name (empty: its members belong to the message around it), type and when it is left out."""

    name: str
    type: str
    omit: str


@functools.cache
def _tables() -> tuple[dict[str, str], dict[str, str]]:
    content = json.loads((Path(__file__).parent / "messages.json").read_bytes())
    return content["kinds"], content["messages"]


@functools.cache
def _message(name: str) -> dict[int, _Field]:
    fields = {}
    for text in _tables()[1][name].split():
        number, json_name, kind, omit = text.split(":")
        fields[int(number)] = _Field(json_name, kind, omit)
    return fields


def top_level_fields(group: str, version: str, kind: str) -> list[str]:
    """Return the fields that objects of a built-in kind have at the top; empty: the kind is not known."""
    name = _tables()[0].get(f"{group}/{version}/{kind}")
    return [] if name is None else [field.name for field in _message(name).values()]


# -- wire --------------------------------------------------------------------------------------------------------------


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise WireError("proto: unexpected EOF" if at >= len(data) else "proto: integer overflow")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (number, value): integers of wire types 0, 1 and 5, bytes of wire type 2."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise WireError(f"proto: illegal tag 0 (wire type {wire})")
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire in (1, 2, 5):
            length, at = (8, at) if wire == 1 else (4, at) if wire == 5 else _varint(data, at)
            if at + length > len(data):
                raise WireError("proto: unexpected EOF")
            chunk = data[at : at + length]
            at += length
            yield number, chunk if wire == 2 else int.from_bytes(chunk, "little")
        else:
            raise WireError(f"proto: illegal wireType {wire}")


def decode_unknown(data: bytes) -> tuple[str, str, bytes]:
    """Return apiVersion, kind and the message of a stored value.

    Raises:
        WireError: It is none.
    """
    if not data.startswith(MAGIC):
        raise WireError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    api_version = kind = ""
    raw = b""
    for number, value in _fields(data[len(MAGIC) :]):
        if number == 1 and type(value) is bytes:
            for inner, text in _fields(value):
                if inner == 1:
                    api_version = _text(text)
                elif inner == 2:
                    kind = _text(text)
        elif number == 2 and type(value) is bytes:
            raw = value
    return api_version, kind, raw


def decode_stored(data: bytes) -> JsonObject:
    """Return the object in a stored value of a built-in kind, protobuf or JSON.

    Raises:
        WireError: It cannot be read; the text says why.
    """
    if not data.startswith(MAGIC):
        try:
            obj = jsontext.decode(data)
        except jsontext.GoJsonError as error:
            raise WireError(str(error)) from None
        if type(obj) is not dict:
            raise WireError("json: not an object")
        return obj
    api_version, kind, raw = decode_unknown(data)
    group, _, version = api_version.rpartition("/")
    name = _tables()[0].get(f"{group}/{version}/{kind}")
    if name is None:
        raise WireError(f'no kind "{kind}" is registered for version "{api_version}"')
    obj = _read(name, raw)
    obj["apiVersion"] = api_version
    obj["kind"] = kind
    return obj


# -- values ------------------------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if type(value) is not bytes:
        raise WireError("proto: wrong wireType for a text")
    return jsontext.as_text(value)


def _bytes(value: Any) -> bytes:
    if type(value) is not bytes:
        raise WireError("proto: wrong wireType for a message")
    return value


def _int(value: Any) -> int:
    if type(value) is not int:
        raise WireError("proto: wrong wireType for a number")
    return value - (1 << 64) if value >= 1 << 63 else value


def _numbers(data: Any) -> dict[int, Any]:
    return dict(_fields(_bytes(data)))


def _time(data: Any) -> str | None:
    fields = _numbers(data)
    if not fields:
        return None
    return _moment(_int(fields.get(1, 0)), "")


def _micro_time(data: Any) -> str | None:
    fields = _numbers(data)
    if not fields:
        return None
    return _moment(_int(fields.get(1, 0)), f".{_int(fields.get(2, 0)) // 1000:06d}")


def _moment(seconds: int, fraction: str) -> str | None:
    if seconds == _ZERO_SECONDS:
        return None
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)  # noqa: DTZ001 - UTC throughout
    except OverflowError:
        raise WireError("a time beyond the calendar") from None
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}{fraction}Z"


def _int_or_string(data: Any) -> int | str:
    fields = _numbers(data)
    return _text(fields.get(3, b"")) if fields.get(1) else _int(fields.get(2, 0))


def _raw_json(data: Any) -> Any:
    raw = _bytes(_numbers(data).get(1, b""))
    if not raw:
        return None
    try:
        return jsontext.decode(raw)
    except jsontext.GoJsonError:
        return jsontext.as_text(raw)


_SCALARS: Final[dict[str, Callable[[Any], Any]]] = {
    "s": _text,
    "i": _int,
    "b": lambda value: bool(_int(value)),
    "y": lambda value: base64.b64encode(_bytes(value)).decode(),
    "T": _time,
    "U": _micro_time,
    "Q": lambda value: _text(_numbers(value).get(1, b"")) or "0",
    "IS": _int_or_string,
    "F": _raw_json,
    "R": _raw_json,
    "D": lambda value: _duration(_int(_numbers(value).get(1, 0))),
}
_ZEROS: Final[dict[str, Any]] = {"s": "", "i": 0, "b": False, "y": None, "T": None, "U": None, "Q": "0", "IS": 0}


def _duration(nanoseconds: int) -> str:
    from auditor.golang.times import format_duration  # noqa: PLC0415 - rare

    return format_duration(nanoseconds)


def _one(kind: str, value: Any) -> Any:
    convert = _SCALARS.get(kind)
    if convert is not None:
        return convert(value)
    if kind.endswith("!"):  # a list in a message of its own
        return [_one(kind[2:-1], item) for number, item in _fields(_bytes(value)) if number == 1]
    return _read(kind, _bytes(value))


def _zero(kind: str) -> Any:
    if kind in _ZEROS:
        return _ZEROS[kind]
    if kind.startswith(("[]", "{}")) or kind in _SCALARS:
        return None
    return _read(kind, b"")


def _entry(kind: str, value: Any) -> tuple[str, Any]:
    fields = _numbers(value)
    return _text(fields.get(1, b"")), _one(kind, fields[2]) if 2 in fields else _zero(kind)


def _read(name: str, data: bytes) -> JsonObject:
    """Return one message as JSON."""
    table = _message(name)
    seen: dict[int, Any] = {}
    for number, wire in _fields(data):
        field = table.get(number)
        if field is None:
            continue
        kind = field.type
        if kind.startswith("[]") and not kind.endswith("!"):
            seen.setdefault(number, []).append(_one(kind[2:], wire))
        elif kind.startswith("{}"):
            key, item = _entry(kind[2:], wire)
            seen.setdefault(number, {})[key] = item
        else:
            seen[number] = _one(kind, wire)
    out: JsonObject = {}
    for number, field in table.items():
        present = number in seen
        value: Any = seen.get(number)
        if field.omit == "i":
            out.update(value if present else _zero(field.type))
        elif "p" in field.omit or "[" in field.type or "{" in field.type:
            if present:
                out[field.name] = value
            elif not field.omit.startswith(("e", "z")):
                out[field.name] = None
        else:
            value = value if present else _zero(field.type)
            if not _left_out(field, value):
                out[field.name] = value
    return out


def _left_out(field: _Field, value: Any) -> bool:
    """Whether Go's encoder leaves a value out that is no pointer, list or map."""
    if field.omit == "e":
        return field.type in ("s", "i", "b", "y") and not value
    return field.omit == "z" and value is None
