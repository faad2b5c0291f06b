"""Proves that a schema decodes as JSONSchemaProps, in a twentieth of the time of `decode_typed`, which makes its props.

The types of msgspec are made of the Go types. They accept less: no null, no other value than a schema in ``items``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Final, ForwardRef

import msgspec

from auditor.schema.parse import schema_type
from auditor.schema.typed import GoKind, GoType

_PLAIN: Final[dict[GoKind, Any]] = {
    GoKind.STRING: str,
    GoKind.BOOL: bool,
    GoKind.FLOAT: float,
    GoKind.RAW: Any,
    GoKind.INT: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)],
}
_SCHEMA: Final = ForwardRef("Props")
_CUSTOM: Final[dict[str, Any]] = {
    "JSONSchemaPropsOrBool": _SCHEMA | bool,
    "JSONSchemaPropsOrArray": _SCHEMA | list[_SCHEMA],  # type: ignore[valid-type]
    "JSONSchemaPropsOrStringArray": _SCHEMA | list[str],
}


def _annotation(go_type: GoType) -> Any:
    """Return the type of msgspec for a Go type."""
    name = go_type.name.rpartition(".")[2]
    if go_type.shape is GoKind.LIST:
        return list[_annotation(go_type.element)]  # type: ignore[arg-type, misc]
    if go_type.shape is GoKind.MAP:
        return dict[str, _annotation(go_type.element)]  # type: ignore[arg-type, misc]
    if go_type.shape is GoKind.STRUCT:
        return _SCHEMA if name == "JSONSchemaProps" else _struct(name, go_type)
    return _CUSTOM[name] if go_type.shape is GoKind.CUSTOM else _PLAIN[go_type.shape]


def _struct(name: str, go_type: GoType) -> type[msgspec.Struct]:
    keys = {f"f{number}": key for number, key in enumerate(go_type.fields)}
    fields = [(field, _annotation(go_type.fields[key]) | None, None) for field, key in keys.items()]
    return msgspec.defstruct(name, fields, rename=keys, module=__name__, gc=False)


@lru_cache(maxsize=1)
def _props() -> type[msgspec.Struct]:
    """Return the type of schemas, which its own parts find by its name in this module."""
    made = globals()["Props"] = _struct("Props", schema_type())
    return made


def is_decodable(props: object) -> bool:
    """Return whether it is proven that a server decodes a schema; False is no answer."""
    try:
        msgspec.convert(props, _props())
    except (msgspec.ValidationError, RecursionError):
        return False
    return True
