"""Checks whether a JSON text decodes into a Go type of the scheme, and gives Go's error if it does not.

A wrong type does not stop the decoding; the first one is the error. A type with its own decoder (times, quantities)
stops the decoding at once, and its error replaces the other. If a key is repeated, each of its values is decoded;
unknown keys are ignored.

Source: sigs.k8s.io/json decode.go; apimachinery pkg/apis/meta/v1/{time,micro_time}.go, pkg/api/resource/quantity.go,
pkg/util/intstr/intstr.go; apiextensions-apiserver pkg/apis/apiextensions/v1/marshal.go.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from auditor.builtin.scheme import types
from auditor.golang import jsontext
from auditor.golang.times import GoTimeError, parse_rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable


_INTEGER: Final = re.compile(r"-?[0-9]+\Z")
_LONE: Final = re.compile("[\ud800-\udfff]")
_MICRO: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{6})?")
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_ALPHABET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class GoDecodeError(ValueError):
    """A text that does not decode; the message is Go's.

    Attributes:
        place: The path of the value, if it is known.
    """

    place = ""


class Members(list[tuple[str, Any]]):
    """The members of a JSON object, including repeated keys."""


def _members(pairs: list[tuple[str, Any]]) -> Members:
    return Members((_whole(key), _whole(value) if type(value) is str else value) for key, value in pairs)


def _whole(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates."""
    return text if text.isascii() else _LONE.sub("\ufffd", text)


class _Number(str):
    """A JSON number with its spelling."""

    __slots__ = ()


def parse_members(data: bytes) -> Any:
    """Parse a JSON text and keep every member and the spelling of every number.

    Raises:
        GoDecodeError: It is not JSON.
    """
    try:
        jsontext.decode_exactly(data)
    except jsontext.GoJsonError as error:
        if "into Go value of type float64" not in str(error):  # a number out of range is not a syntax error
            raise GoDecodeError(str(error)) from None
    try:
        return json.loads(
            jsontext.as_text(data),
            object_pairs_hook=_members,
            parse_float=_Number,
            parse_int=_Number,
        )
    except RecursionError:
        return _spelled(jsontext.decode_exactly(data))


def _spelled(value: Any) -> Any:
    """Convert a value of our own decoder, for texts too deep for this one; repeated keys are merged."""
    if type(value) is dict:
        return Members(value.items())
    if type(value) is int or type(value) is float:
        return _Number(repr(value))
    return value


def _word(value: Any) -> str:
    value = _spelled(value)
    if isinstance(value, _Number):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Members):
        return "object"
    return "array" if type(value) is list else "bool"


class Decoding:
    """One decoding, with the first wrong type and its position."""

    __slots__ = ("field", "saved", "struct")

    def __init__(self, struct: str = "", field: tuple[str, ...] = ()) -> None:
        self.struct = struct
        self.field = field
        self.saved: str | None = None

    def wrong(self, word: str, name: str) -> str:
        """Return Go's text for a value of the wrong type at the current position."""
        if self.struct or self.field:
            field = ".".join((self.struct, *self.field))
            return f"json: cannot unmarshal {word} into Go struct field {field} of type {name}"
        return f"json: cannot unmarshal {word} into Go value of type {name}"

    def save(self, word: str, name: str) -> None:
        """Remember a value of the wrong type, if it is the first one."""
        if self.saved is None:
            self.saved = self.wrong(word, name)

    def check(self, value: Any, number: int) -> None:
        """Decode a value into a type.

        Raises:
            GoDecodeError: A type's own decoder fails.
        """
        value = _spelled(value)
        if value is None:
            return
        shape, name, *more = types()[number]
        if shape == "struct":
            if isinstance(value, Members):
                self.members(value, name, more[0])
            else:
                self.save(_word(value), name)
        elif shape == "list":
            if type(value) is list:
                for item in value:
                    self.check(item, more[0])
            else:
                self.save(_word(value), name)
        elif shape == "map":
            if isinstance(value, Members):
                for _, item in value:
                    self.check(item, more[0])
            else:
                self.save(_word(value), name)
        elif shape == "custom":
            _CUSTOM[name](self, value, name)
        elif shape == "string":
            if not isinstance(value, str) or isinstance(value, _Number):
                self.save(_word(value), name)
        elif shape == "bool":
            if type(value) is not bool:
                self.save(_word(value), name)
        elif shape == "bytes":
            self.bytes(value, name)
        elif shape != "any":
            self.number(value, shape, name, more[0])

    def members(self, value: Members, name: str, fields: list[Any]) -> None:
        """Decode the members of an object into the fields of a struct."""
        struct, field = self.struct, self.field
        known = {
            path.rpartition(".")[2]: (path, number) for path, number in zip(fields[::2], fields[1::2], strict=True)
        }
        own = name.rpartition(".")[2]
        for key, item in value:
            known_member = known.get(key)
            if known_member is not None:
                self.struct, self.field = own, (*field, known_member[0])
                self.check(item, known_member[1])
        self.struct, self.field = struct, field

    def number(self, value: Any, shape: str, name: str, bits: int) -> None:
        """Decode a number."""
        if not isinstance(value, _Number):
            self.save(_word(value), name)
            return
        if shape == "float":
            if abs(float(value)) == float("inf"):
                self.save(f"number {value}", name)
            return
        low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if shape == "int" else (0, 1 << bits)
        if not _INTEGER.match(value) or len(value) > 25 or not low <= int(value) < high:
            self.save(f"number {value}", name)

    def bytes(self, value: Any, name: str) -> None:
        """Decode base64, or a list of numbers."""
        if type(value) is list:
            for item in value:
                if item is not None:
                    self.number(item, "uint", "uint8", 8)
        elif type(value) is not str:
            self.save(_word(value), name)
        else:
            wrong = base64_error(value.encode("utf-8", "surrogatepass").decode("latin-1"))
            if wrong and self.saved is None:
                self.saved = wrong

    def apart(self, value: Any, number: int) -> None:
        """Decode as a type's own decoder does: an error stops everything."""
        inner = Decoding(self.struct, self.field)
        inner.check(value, number)
        if inner.saved is not None:
            raise GoDecodeError(inner.saved)


def base64_error(text: str) -> str | None:
    """Return Go's error for a text that is not base64, or None if it is.

    Args:
        text: One character for each byte (Latin-1).
    """
    group = 0
    position, count = 0, len(text)
    while position < count:
        letter = text[position]
        position += 1
        if letter in _ALPHABET:
            group = (group + 1) % 4
        elif letter in "\r\n":
            continue
        elif letter == "=":
            return _padding_error(text, position - 1, group)
        else:
            return f"illegal base64 data at input byte {position - 1}"
    return f"illegal base64 data at input byte {count - group}" if group else None


def _padding_error(text: str, at: int, group: int) -> str | None:
    if group < 2:
        return f"illegal base64 data at input byte {at}"
    rest = at + 1
    while rest < len(text) and text[rest] in "\r\n":
        rest += 1
    if group == 2:
        if rest == len(text):
            return f"illegal base64 data at input byte {len(text)}"
        if text[rest] != "=":
            return f"illegal base64 data at input byte {rest}"
        rest += 1
    while rest < len(text) and text[rest] in "\r\n":
        rest += 1
    return None if rest == len(text) else f"illegal base64 data at input byte {rest}"


# -- types with their own decoder --------------------------------------------------------------------------------------


def _text_of(decoding: Decoding, value: Any) -> str:
    if not isinstance(value, str) or isinstance(value, _Number):
        raise GoDecodeError(decoding.wrong(_word(value), "string"))
    return value


def _time(decoding: Decoding, value: Any, _name: str) -> None:
    try:
        parse_rfc3339(_text_of(decoding, value))
    except GoTimeError as error:
        raise GoDecodeError(str(error)) from None


def _micro_time(decoding: Decoding, value: Any, _name: str) -> None:
    text = _text_of(decoding, value)
    match = _MICRO.match(text)
    shown = json.dumps(text, ensure_ascii=False)
    if match is not None:
        fraction, rest = match[2], text[match.end() :]
        plain = match[1] + (rest if fraction else "Z")
    else:
        fraction, rest, plain = "", "", text
    wrong = json.dumps(rest, ensure_ascii=False)
    no_fraction = f'parsing time {shown} as "{_MICRO_LAYOUT}": cannot parse {wrong} as ".000000"'
    try:
        parse_rfc3339(plain)
    except GoTimeError as error:
        said = str(error).replace(f'"{_LAYOUT}"', f'"{_MICRO_LAYOUT}"')
        if match is not None and not fraction and said.endswith("day out of range"):  # checked last
            said = no_fraction
        raise GoDecodeError(said.replace(json.dumps(plain, ensure_ascii=False), shown, 1)) from None
    if match is not None and not fraction:
        raise GoDecodeError(no_fraction)
    if fraction and rest[:1] not in ("Z", "+", "-"):
        raise GoDecodeError(f'parsing time {shown} as "{_MICRO_LAYOUT}": cannot parse {wrong} as "Z07:00"')


def _quantity(_decoding: Decoding, value: Any, _name: str) -> None:
    text = value if isinstance(value, str) else "{}"
    if isinstance(value, str) and not isinstance(value, _Number):
        text = text.strip()
    from auditor.cel.library.quantity import QuantityError, parse_quantity, quantity_kind  # noqa: PLC0415 - loads all of CEL

    try:
        parse_quantity(text, quantity_kind())
    except QuantityError as error:
        raise GoDecodeError(str(error)) from None


def _int_or_string(decoding: Decoding, value: Any, _name: str) -> None:
    if isinstance(value, str) and not isinstance(value, _Number):
        return
    inner = Decoding(decoding.struct, decoding.field)
    inner.number(value, "int", "int32", 32)
    if inner.saved is not None:
        raise GoDecodeError(inner.saved)


def _anything(_decoding: Decoding, _value: Any, _name: str) -> None:
    """Accept any value."""


def _schema_or_bool(decoding: Decoding, value: Any, name: str) -> None:
    if isinstance(value, Members):
        _schema(decoding, value, name)
    elif type(value) is not bool:
        raise GoDecodeError("boolean or JSON schema expected")


def _schema_or_list(decoding: Decoding, value: Any, name: str) -> None:
    for schema in value if type(value) is list else [value]:
        if isinstance(schema, Members):
            _schema(decoding, schema, name)
        elif type(value) is list and schema is not None:
            raise GoDecodeError(decoding.wrong(_word(schema), name.partition(".")[0] + ".JSONSchemaProps"))


def _schema_or_texts(decoding: Decoding, value: Any, name: str) -> None:
    if isinstance(value, Members):
        _schema(decoding, value, name)
    elif type(value) is list:
        for item in value:
            if item is not None and (not isinstance(item, str) or isinstance(item, _Number)):
                raise GoDecodeError(decoding.wrong(_word(item), "string"))


def _schema(decoding: Decoding, value: Any, name: str) -> None:
    wanted = name.partition(".")[0] + ".JSONSchemaProps"
    number = next(position for position, entry in enumerate(types()) if entry[0] == "struct" and entry[1] == wanted)
    decoding.apart(value, number)


_CUSTOM: Final[dict[str, Callable[[Decoding, Any, str], None]]] = {
    "v1.Time": _time,
    "v1.MicroTime": _micro_time,
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "runtime.RawExtension": _anything,
    "v1.FieldsV1": _anything,
    "apiextensions.JSON": _anything,
    **{f"{version}.JSON": _anything for version in ("v1", "v1beta1")},
    **{f"{version}.JSONSchemaPropsOrBool": _schema_or_bool for version in ("v1", "v1beta1")},
    **{f"{version}.JSONSchemaPropsOrArray": _schema_or_list for version in ("v1", "v1beta1")},
    **{f"{version}.JSONSchemaPropsOrStringArray": _schema_or_texts for version in ("v1", "v1beta1")},
}


# -- whole objects -----------------------------------------------------------------------------------------------------


def type_meta(data: bytes) -> tuple[str, str, Any]:
    """Return apiVersion and kind of a JSON text, and the parsed text.

    Raises:
        GoDecodeError: It has none.
    """
    try:
        parsed = parse_members(data)
    except GoDecodeError as error:
        raise GoDecodeError(f"couldn't get version/kind; json parse error: {error}") from None
    meta = {"apiversion": "", "kind": ""}
    saved = ""
    if parsed is not None and not isinstance(parsed, Members):
        of = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        saved = f"json: cannot unmarshal {_word(parsed)} into Go value of type {of}"
        parsed = Members()
    for key, value in parsed or ():
        name = key.lower()  # this reader ignores the case of keys
        if name not in meta or value is None:
            continue
        if isinstance(value, str) and not isinstance(value, _Number):
            meta[name] = value
        elif not saved:
            field = "apiVersion" if name == "apiversion" else "kind"
            saved = f"json: cannot unmarshal {_word(value)} into Go struct field .{field} of type string"
    if saved:
        raise GoDecodeError(f"couldn't get version/kind; json parse error: {saved}")
    return meta["apiversion"], meta["kind"], parsed


def check_typed(parsed: Any, number: int) -> None:
    """Decode the result of `type_meta` into a type.

    Raises:
        GoDecodeError: It does not decode.
    """
    decoding = Decoding()
    decoding.check(parsed, number)
    if decoding.saved is not None:
        raise GoDecodeError(decoding.saved)


def metadata_of(parsed: Any, *, is_internal: bool) -> dict[str, Any]:
    """Return the members of the metadata in the result of `type_meta`, with the annotations as a dict.

    Args:
        parsed: The object.
        is_internal: Whether it has the internal form, in which metadata are members of the object itself.
    """
    holders = [parsed]
    if not is_internal:
        holders = [value for key, value in parsed or () if key == "metadata"]
    metadata: dict[str, Any] = {}
    for holder in holders:
        for key, value in holder if isinstance(holder, Members) else ():
            if key == "annotations" and isinstance(value, Members):
                metadata.setdefault(key, {}).update(value)
            elif value is not None:
                metadata[key] = value
    return metadata
