"""Decodes stored built-in objects: an envelope, and a protobuf message that tables of fields turn into JSON.

Fields with the zero value are left out if Go's encoder leaves them out, so that the result equals the answer of an API
server (without the defaults that it adds). Unknown field numbers are ignored, the last of repeated scalars counts, and
the order of fields does not matter.

Source: apimachinery pkg/runtime/generated.proto (Unknown), pkg/apis/meta/v1, pkg/api/resource, pkg/util/intstr
generated.proto; encoding/json for omitted fields.
"""

from __future__ import annotations

import base64
import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.golang import jsontext
from auditor.golang.go_text import quote
from auditor.golang.times import GoTime, format_duration, format_rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.base.records import JsonObject


MAGIC: Final = b"k8s\0"
_MOST: Final = (1 << 63) - 1


class WireError(ValueError):
    """Bytes that are not a valid message."""


class _Field(NamedTuple):
    """One field: its JSON name, type, the condition under which it is left out, and its name in Go.

    A field without a JSON name adds its members to the message that contains it.
    """

    name: str
    type: str
    omit: str
    go_name: str


@functools.cache
def _tables() -> tuple[dict[str, str], dict[str, str]]:
    content = json.loads((Path(__file__).parent / "messages.json").read_bytes())
    return content["kinds"], content["messages"]


@functools.cache
def _message(name: str) -> dict[int, _Field]:
    fields = {}
    for text in _tables()[1][name].split():
        number, json_name, kind, omit, *go_name = text.split(":")
        fields[int(number)] = _Field(
            json_name, kind, omit, go_name[0] if go_name else json_name[:1].upper() + json_name[1:]
        )
    return fields


def message_of_kind(label: str) -> str | None:
    """Return the name of the message of a kind by ``group/version/Kind``, or None if it has none."""
    return _tables()[0].get(label)


def fields_of_message(name: str) -> list[tuple[int, str]]:
    """Return number and type of each field of a message."""
    return [(number, field.type) for number, field in _message(name).items()]


# -- wire --------------------------------------------------------------------------------------------------------------

_END: Final = "unexpected EOF"
_NEGATIVE: Final = "proto: negative length found during unmarshaling"


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if shift > 63:
            raise WireError("proto: integer overflow")
        if at >= len(data):
            raise WireError(_END)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def _signed(value: int, bits: int) -> int:
    """Return a number as a signed integer of a width in bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _chunk(data: bytes, at: int) -> tuple[int, int]:
    """Return start and end of the bytes that follow a length."""
    length, at = _varint(data, at)
    if at + length > _MOST:
        raise WireError(_NEGATIVE)
    if at + length > len(data):
        raise WireError(_END)
    return at, at + length


def _skip(data: bytes, at: int, stop: int) -> int:
    """Return the end of an unknown field; a group ends with its end tag, whose field number is not compared."""
    depth = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            _, at = _varint(data, at)
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        elif wire == 2:
            length, at = _varint(data, at)
            if at + length > _MOST:
                raise WireError(_NEGATIVE)
            at += length
        elif wire == 3:
            depth += 1
        elif wire == 4:
            if not depth:
                raise WireError("proto: unexpected end of group")
            depth -= 1
        else:
            raise WireError(f"proto: illegal wireType {wire}")
        if not depth:
            if at > stop:
                raise WireError(_END)
            return at
    raise WireError(_END)


def _fields(name: str, table: dict[int, _Field], data: bytes) -> Iterator[tuple[int, _Field, Any]]:
    """Yield (number, field, value) of a message: value is an integer, bytes, or for a map (key, decoded value)."""
    position = 0
    while position < len(data):
        start = position
        tag, position = _varint(data, position)
        number, wire = _signed(tag >> 3, 32), tag & 7
        if wire == 4:
            raise WireError(f"proto: {name}: wiretype end group for non-group")
        if number <= 0:
            raise WireError(f"proto: {name}: illegal tag {number} (wire type {tag})")
        field = table.get(number)
        if field is None:
            position = _skip(data, start, len(data))
            continue
        is_number = field.type.removeprefix("[]") in _BITS
        if wire == 0 and is_number:
            value, position = _varint(data, position)
            yield number, field, value
        elif wire == 2 and is_number and field.type.startswith("[]"):
            position, stop = _chunk(data, position)
            while position < stop:
                value, position = _varint(data, position)
                yield number, field, value
        elif wire != 2 or is_number:
            raise WireError(f"proto: wrong wireType = {wire} for field {field.go_name}")
        else:
            start, position = _chunk(data, position)
            kind = field.type
            yield (
                number,
                field,
                _entry(data, start, position, kind[2:]) if kind.startswith("{}") else data[start:position],
            )


def _entry(data: bytes, at: int, stop: int, kind: str) -> tuple[bytes, Any]:
    """Return key and value of one map entry; they may extend beyond the entry, and their wire types are ignored.

    Each of several values is decoded, as a server does, so an invalid value before a valid one is an error.
    """
    key, value = b"", _zero_item(kind)
    while at < stop:
        start = at
        tag, at = _varint(data, at)
        number = _signed(tag >> 3, 32)
        if number in (1, 2):
            start, at = _chunk(data, at)
            if number == 1:
                key = data[start:at]
            else:
                value = _one(kind, data[start:at])
        else:
            at = _skip(data, start, stop)
    return key, value


_UNKNOWN: Final = {
    1: _Field("typeMeta", "TypeMeta", "", "TypeMeta"),
    2: _Field("raw", "y", "", "Raw"),
    3: _Field("contentEncoding", "s", "", "ContentEncoding"),
    4: _Field("contentType", "s", "", "ContentType"),
}
_TYPE_META: Final = {1: _Field("apiVersion", "s", "", "APIVersion"), 2: _Field("kind", "s", "", "Kind")}


def decode_unknown(data: bytes) -> tuple[str, str, bytes]:
    """Return apiVersion, kind and message of a stored value; bytes that are not UTF-8 use "surrogateescape".

    Raises:
        WireError: It is not an envelope.
    """
    if not data.startswith(MAGIC):
        raise WireError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    if len(data) == len(MAGIC):
        raise WireError("empty body")
    seen = {1: "", 2: ""}
    raw = b""
    for number, _, value in _fields("Unknown", _UNKNOWN, data[len(MAGIC) :]):
        if number == 1:
            seen |= {
                inner: text.decode("utf-8", "surrogateescape")
                for inner, _, text in _fields("TypeMeta", _TYPE_META, value)
            }
        elif number == 2:
            raw = value
    return seen[1], seen[2], raw


def decode_stored(data: bytes) -> JsonObject:
    """Decode a stored value of a built-in kind, protobuf or JSON.

    Raises:
        WireError: It cannot be decoded; the text says why.
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
    for missing, part in (("Kind", kind), ("apiVersion", api_version)):
        if not part:
            raise WireError(missing_text(missing, api_version, kind))
    group, _, version = api_version.rpartition("/")
    read = decode_message(f"{group}/{version}/{kind}", raw)
    if read is None:
        raise WireError(f'no kind "{kind}" is registered for version "{api_version}"')
    read["apiVersion"] = api_version
    read["kind"] = kind
    return read


def missing_text(missing: str, api_version: str, kind: str) -> str:
    """Return the server's error for a value without ``Kind`` or ``apiVersion``."""
    return f"Object '{missing}' is missing in 'runtime.TypeMeta{{APIVersion:{quote(api_version)}, Kind:{quote(kind)}}}'"


_DELETION: Final = b"\x4a\x08\x08"
"""The beginning of each deletionTimestamp from 1978 to 3058, to the second as a server writes it."""
_CONTROLLER: Final = b"\x30\x01"
"""`controller: true` of an owner."""
_OWNER: Final = 0x6A
_PLAIN_TAGS: Final = 0x80
"""Tags below take one byte: in metadata all before managedFields."""


def deletion_and_controllers(data: bytes) -> tuple[bool, list[JsonObject]]:
    """Return whether the object in a stored value that decodes is being deleted, and its owners that control it.

    A value as a server writes it is walked up to the end of its metadata, in a small part of the time of decoding it.
    """
    if _DELETION not in data and _CONTROLLER not in data:
        return False, []
    envelope = data[5] + 6
    message = _varint(data, envelope + 1)[1]
    size, position = _varint(data, message + 1)
    end = position + size
    if (data[4], data[envelope], data[message]) != (0x0A, 0x12, 0x0A) or data[end : end + 1] == b"\x0a":
        metadata = decode_stored(data).get("metadata") or {}
        return metadata.get("deletionTimestamp") is not None, metadata.get("ownerReferences") or []
    is_deleting, owners = False, []
    while position < end and data[position] < _PLAIN_TAGS:
        tag, size = data[position], data[position + 1]
        position += 2
        if size >= 0x80:
            size, position = _varint(data, position - 1)
        if tag & 7 == 0:  # it was the value
            continue
        is_deleting = is_deleting or tag == _DELETION[0]
        if tag == _OWNER and _CONTROLLER in (owner := data[position : position + size]):
            owners.append(_owner(owner))
        position += size
    return is_deleting, owners


@functools.lru_cache(maxsize=1024)
def _owner(data: bytes) -> JsonObject:
    owner: JsonObject = _one("meta/v1.OwnerReference", data)
    return owner


def decode_message(label: str, raw: bytes) -> JsonObject | None:
    """Decode a message of a kind, given by ``group/version/Kind``; None if the kind has no message here.

    Raises:
        WireError: It cannot be decoded.
    """
    name = _tables()[0].get(label)
    return None if name is None else _one(name, raw)


# -- values ------------------------------------------------------------------------------------------------------------


_BITS: Final = {"i": 32, "l": 64, "b": 64}
_PARTS: Final[dict[str, tuple[str, dict[int, _Field]]]] = {
    "T": ("Timestamp", {1: _Field("", "l", "", "Seconds"), 2: _Field("", "i", "", "Nanos")}),
    "Q": ("Quantity", {1: _Field("", "s", "", "String_")}),
    "IS": (
        "IntOrString",
        {1: _Field("", "l", "", "Type"), 2: _Field("", "i", "", "IntVal"), 3: _Field("", "s", "", "StrVal")},
    ),
    "F": ("FieldsV1", {1: _Field("", "y", "", "Raw")}),
    "R": ("RawExtension", {1: _Field("", "y", "", "Raw")}),
    "D": ("Duration", {1: _Field("", "l", "", "Duration")}),
}
"""The messages with their own form in JSON."""
_ITEMS: Final = {1: _Field("", "s", "", "Items")}


def _text(value: bytes) -> str:
    return jsontext.as_text(value)


def _parts(kind: str, data: bytes) -> dict[int, Any]:
    name, table = _PARTS[kind]
    parts = {}
    for number, field, value in _fields(name, table, data):
        parts[number] = _signed(value, _BITS[field.type]) if field.type in _BITS else value
        if kind == "Q":
            _quantity(_text(value))
    return parts


def _quantity(text: str) -> None:
    from auditor.cel.library.quantity import QuantityError, parse_quantity, quantity_kind  # noqa: PLC0415 - loads all of CEL

    try:
        parse_quantity(text, quantity_kind())
    except QuantityError as error:
        raise WireError(str(error)) from None


def _time(data: bytes) -> str | None:
    return _moment(_parts("T", data).get(1, 0)) if data else None


def _micro_time(data: bytes) -> str | None:
    if not data:
        return None
    fields = _parts("T", data)
    nanos = fields.get(2, 0)
    seconds, micros = divmod((abs(nanos) // 1000) * (-1 if nanos < 0 else 1), 1_000_000)
    moment = _moment(fields.get(1, 0) + seconds, zero=not micros)
    return None if moment is None else f"{moment[:-1]}.{micros:06d}Z"


def _moment(seconds: int, *, zero: bool = True) -> str | None:
    moment = GoTime(seconds)
    return None if zero and moment.is_zero else format_rfc3339(moment)


def _int_or_string(fields: dict[int, Any]) -> int | str:
    return _text(fields.get(3, b"")) if fields.get(1) else fields.get(2, 0)


def _raw_json(fields: dict[int, Any]) -> Any:
    raw = fields.get(1)
    if not raw:
        return None
    try:
        return jsontext.decode(raw)
    except jsontext.GoJsonError:
        return jsontext.as_text(raw)


_SCALARS: Final[dict[str, Callable[[Any], Any]]] = {
    "s": _text,
    "i": lambda value: _signed(value, 32),
    "l": lambda value: _signed(value, 64),
    "b": bool,
    "y": lambda value: base64.b64encode(value).decode(),
    "T": _time,
    "U": _micro_time,
}
_FORMS: Final[dict[str, Callable[[dict[int, Any]], Any]]] = {
    "Q": lambda fields: _text(fields.get(1, b"0")),
    "IS": _int_or_string,
    "F": _raw_json,
    "R": _raw_json,
    "D": lambda fields: format_duration(fields.get(1, 0)),
}
_ZEROS: Final[dict[str, Any]] = {
    "s": "",
    "i": 0,
    "l": 0,
    "b": False,
    "y": None,
    "T": None,
    "U": None,
    "Q": "0",
    "IS": 0,
}


def _one(kind: str, value: Any) -> Any:
    convert = _SCALARS.get(kind)
    if convert is not None:
        return convert(value)
    if kind.endswith("!"):  # a list in its own message
        return [_text(item) for _, _, item in _fields("ExtraValue", _ITEMS, value)]
    seen: dict[int, Any] = {}
    _gather(kind, value, seen)
    return _shown(kind, seen)


def _zero_item(kind: str) -> Any:
    """Return the default value for a map entry without a value."""
    return "" if kind == "y" else [] if kind.endswith("!") else _zero(kind)


def _zero(kind: str) -> Any:
    if kind in _ZEROS:
        return _ZEROS[kind]
    if kind.startswith(("[]", "{}")) or kind in _FORMS:
        return None
    return _shown(kind, {})


def _gather(name: str, data: bytes, seen: dict[int, Any]) -> None:
    """Merge a message, or a part of one, into the fields gathered so far."""
    if name in _PARTS:
        seen |= _parts(name, data)
        return
    for number, field, wire in _fields(name.rpartition(".")[2], _message(name), data):
        kind = field.type
        if kind.startswith("[]"):
            seen.setdefault(number, []).append(_one(kind[2:], wire))
        elif kind.startswith("{}"):
            key, value = wire
            seen.setdefault(number, {})[_text(key)] = value
        elif kind in _SCALARS:
            seen[number] = _SCALARS[kind](wire)
        else:
            _gather(kind, wire, seen.setdefault(number, {}))


def _shown(name: str, seen: dict[int, Any]) -> Any:
    """Return the JSON of a message whose fields are gathered."""
    form = _FORMS.get(name)
    if form is not None:
        return form(seen)
    out: JsonObject = {}
    for number, field in _message(name).items():
        kind, present = field.type, number in seen
        is_plain = kind in _SCALARS or kind.startswith(("[]", "{}"))
        value: Any = _shown(kind, seen[number]) if present and not is_plain else seen.get(number)
        if field.omit == "i":
            out.update(value if present else _zero(kind))
        elif "p" in field.omit or "[" in kind or "{" in kind:
            if present:
                out[field.name] = value
            elif not field.omit.startswith(("e", "z")):
                out[field.name] = None
        else:
            value = value if present else _zero(kind)
            if not _left_out(field, value):
                out[field.name] = value
    return out


def _left_out(field: _Field, value: Any) -> bool:
    """Whether Go's encoder omits a value that is not a pointer, list or map."""
    if field.omit == "e":
        return field.type in ("s", "i", "l", "b", "y") and not value
    return field.omit == "z" and value is None
