"""Fast check of stored JSON: proves that a value decodes, with msgspec types generated from the Go types of the scheme.

orjson proves the text, msgspec each value of a known field, also for repeated keys. Values with their own Go decoder
(times, quantities, base64) are proven if they have their usual spelling; all others are left to the exact reader.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import orjson

from auditor.builtin.quick_definition import ProvenSpecs, proven_definition
from auditor.builtin.scheme import type_named, types

if TYPE_CHECKING:
    from auditor.builtin.scheme import Target

__all__ = ["JsonProver"]

_TIME: Final = (
    r"\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
)
_BASE64: Final = r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z"
_CUSTOM: Final[dict[str, Any]] = {
    "v1.Time": Annotated[str, msgspec.Meta(pattern=rf"\A{_TIME}Z\Z")],
    "v1.MicroTime": Annotated[str, msgspec.Meta(pattern=rf"\A{_TIME}\.\d{{6}}Z\Z")],
    "resource.Quantity": Annotated[str, msgspec.Meta(pattern=r"\A\d{1,12}(?:n|u|m|k|[MGTPE]|[KMGTPE]i)?\Z")],
    "intstr.IntOrString": Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)] | str,
    "runtime.RawExtension": msgspec.Raw,
    "v1.FieldsV1": msgspec.Raw,
}
_OTHER_CASE: Final = re.compile(rb"\\u(?:00[4-7]|212|017)|\xe2\x84\xaa|\xc5\xbf")
"""Spellings of `kind` that only a reader which ignores case accepts."""


class _Head(msgspec.Struct):
    apiVersion: str = ""  # noqa: N815 - names of JSON
    kind: str = ""


def _has_other_case(data: bytes) -> bool:
    """Whether there may be a `kind` or an `apiVersion` that only a reader which ignores case accepts."""
    lower = data.lower()
    return (
        lower.count(b'"kind"') != data.count(b'"kind"')
        or lower.count(b'"apiversion"') != data.count(b'"apiVersion"')
        or _OTHER_CASE.search(data) is not None
    )


class JsonProver:
    """Proves values of the kinds of one release; caches its decoders."""

    def __init__(self) -> None:
        self._types: dict[int, Any] = {}
        self._decoders: dict[str, msgspec.json.Decoder[Any] | None] = {}
        self._head = msgspec.json.Decoder(_Head)
        self._specs = ProvenSpecs()

    def prove(self, target: Target, data: bytes) -> tuple[str, bool, bool] | None:
        """Return (stored version, has a namespace, has a name) of a value that decodes; None if this is not proven.

        Args:
            target: The storage form of the kind of its key.
            data: The value.
        """
        try:
            head = self._head.decode(data)
            label = f"{head.apiVersion}/{head.kind}" if "/" in head.apiVersion else f"/{head.apiVersion}/{head.kind}"
            if label not in target.versions:
                return None
            if target.group == "apiextensions.k8s.io":
                return self._definition(label, data)
            if target.group == "apps" and b"deprecated.d" in data:  # annotations that a server reads as numbers
                return None
            if _has_other_case(data):
                return None
            decoder = self._decoder(label)
            if decoder is None:
                return None
            orjson.loads(data)
            metadata = decoder.decode(data).metadata
        except (msgspec.MsgspecError, orjson.JSONDecodeError, UnicodeDecodeError, RecursionError):
            return None
        version = head.apiVersion.rpartition("/")[2]
        if metadata is None:
            return version, False, False
        return version, bool(metadata.namespace), bool(metadata.name)

    def _definition(self, label: str, data: bytes) -> tuple[str, bool, bool] | None:
        rest, digest = self._specs.left_out(label, data)
        found = None if _has_other_case(rest) else proven_definition(label, rest)
        if found is None:
            return None
        if digest is not None:
            self._specs.add(digest)
        metadata = found.get("metadata") or {}
        return label.split("/")[1], bool(metadata.get("namespace")), bool(metadata.get("name"))

    def _decoder(self, label: str) -> msgspec.json.Decoder[Any] | None:
        if label not in self._decoders:
            number = type_named(label)
            self._decoders[label] = msgspec.json.Decoder(self._type(number)) if isinstance(number, int) else None
        return self._decoders[label]

    def _type(self, number: int) -> Any:
        """Return the msgspec type that proves a Go type."""
        found = self._types.get(number)
        if found is None:
            found = self._types[number] = self._made(number, *types()[number])
        return found

    def _or_null(self, number: int) -> Any:
        found = self._type(number)
        return found if found is msgspec.Raw else found | None

    def _made(self, number: int, shape: str, name: str, *more: Any) -> Any:
        if shape == "struct":
            fields, names = [], {}
            for at, (path, kind) in enumerate(zip(more[0][::2], more[0][1::2], strict=True)):
                key = path.rpartition(".")[2]
                own = key if key in ("metadata", "name", "namespace") else f"f{at}"
                names[own] = key
                fields.append((own, self._or_null(kind), None))
            return msgspec.defstruct(f"T{number}", fields, rename=names, gc=False)
        if shape == "list":
            return list[self._or_null(more[0])]  # type: ignore[misc]
        if shape == "map":
            return dict[str, self._or_null(more[0])]  # type: ignore[misc]
        if shape == "int":
            return Annotated[int, msgspec.Meta(ge=-(1 << (more[0] - 1)), le=(1 << (more[0] - 1)) - 1)]
        if shape == "bytes":
            return Annotated[str, msgspec.Meta(pattern=_BASE64)]
        if shape == "custom":
            return _CUSTOM[name]
        return {"string": str, "bool": bool, "any": msgspec.Raw}[shape]
