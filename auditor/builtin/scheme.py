"""The schemes of the release: the built-in kinds that it stores, the versions that decode to them, their Go types.

scheme.json is generated from the API server's schemes (tests/reference/builtins): `into` has the internal form of each
stored kind and the versions that convert to it, `kinds` the type of every registered kind and version, `served` the
kinds that a server serves by default, `types` the Go types as encoding/json sees them, by number.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from auditor.schema.structural import StructuralSchema

_OTHER_RESOURCES: Final = {
    (None, "ranges"): "/RangeAllocation",
    (None, "masterleases"): "/Endpoints",
    (None, "peerserverleases"): "/Endpoints",
}
"""Resources that a server stores and that no request lists."""


_NO_DESCRIPTION: Final = "(built-in kinds have no descriptions here)"
_SHARED: Final = {"events.k8s.io/Event": "/Event"}
"""Kinds that are stored in the form of another group."""


class Target(NamedTuple):
    """The form into which a server decodes the values of one resource.

    Attributes:
        group: Its group.
        kind: Its kind.
        type: Number of its Go type.
        versions: ``group/version/Kind`` of every version that converts to it.
    """

    group: str
    kind: str
    type: int
    versions: frozenset[str]


@functools.cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = orjson.loads((Path(__file__).parent / "scheme.json").read_bytes())
    return content


@functools.cache
def types() -> list[list[Any]]:
    """Return the Go types: [shape, name, details]."""
    types_: list[list[Any]] = _content()["types"]
    return types_


@functools.cache
def _targets() -> dict[str, Target]:
    targets = {}
    for label, target in _content()["into"].items():
        group, _, kind = label.rpartition("/")
        targets[label] = Target(group, kind, target["type"], frozenset(target["versions"]))
    return targets


@functools.cache
def _resources() -> dict[tuple[str | None, str], str]:
    labels: dict[tuple[str | None, str], str] = {
        (label.rpartition("/")[0], target["plural"]): label for label, target in _content()["into"].items()
    }
    return labels | _OTHER_RESOURCES


def target_of(group: str, kind: str) -> Target | None:
    """Return the storage form of a kind, or None if this release does not store it."""
    label = f"{group}/{kind}"
    return _targets().get(_SHARED.get(label, label))


def groups_of(group: str, kind: str) -> set[str]:
    """Return the groups whose objects of a kind a server decodes to its storage form; none if it does not store it."""
    target = target_of(group, kind)
    labels = () if target is None else (label.rsplit("/", 2) for label in target.versions)
    return {own for own, _, name in labels if name == kind}


def kind_of_resource(group: str | None, plural: str) -> Target | None:
    """Return the storage form of a resource, or None if this release has none."""
    label = _resources().get((group, plural))
    return None if label is None else _targets()[label]


def plural_of(group: str, kind: str) -> str:
    """Return the plural of a built-in kind; empty if this release does not store it."""
    label = f"{group}/{kind}"
    plural: str = _content()["into"].get(_SHARED.get(label, label), {}).get("plural", "")
    return plural


def type_named(label: str) -> int | str | None:
    """Return the type of a registered kind by ``group/version/Kind``; its name if the type is not stored."""
    kind: int | str | None = _content()["kinds"].get(label)
    return kind


@functools.cache
def schema_of_kind(group: str, version: str, kind: str) -> StructuralSchema | None:
    """Return the fields of a registered kind as a schema, without types of values; None if the kind is not known."""
    number = type_named(f"{group}/{version}/{kind}")
    return _schema_of(number, ()) if isinstance(number, int) else None


def _schema_of(number: int, around: tuple[int, ...]) -> StructuralSchema:
    shape, _, *more = types()[number]
    if number in around or shape not in ("struct", "list", "map"):
        return StructuralSchema(preserve_unknown_fields=True)
    if shape != "struct":
        below = _schema_of(more[0], (*around, number))
        return StructuralSchema(items=below) if shape == "list" else StructuralSchema(additional_properties=below)
    names = (path.rpartition(".")[2] for path in more[0][::2])
    below_of = (_schema_of(field, (*around, number)) for field in more[0][1::2])
    return StructuralSchema(properties=dict(zip(names, below_of, strict=True)))


_JSON_TYPES: Final = {"int": "integer", "bool": "boolean", "bytes": "string", "float": "number", "any": "any"}


def described_fields(group: str, version: str, kind: str) -> dict[str, Any] | None:
    """Return the fields of a registered kind as an OpenAPI schema, with the names of Go types as types of objects.

    Returns:
        None if the kind is not known. A type within itself has no fields the second time.
    """
    number = type_named(f"{group}/{version}/{kind}")
    return _described(number, ()) if isinstance(number, int) else None


def _described(number: int, around: tuple[int, ...]) -> dict[str, Any]:
    shape, name, *more = types()[number]
    if shape in ("list", "map"):
        return {"items" if shape == "list" else "additionalProperties": _described(more[0], around)}
    short = "string" if shape == "string" else name.rpartition(".")[2]
    schema = {"type": _JSON_TYPES.get(shape, short), "description": _NO_DESCRIPTION}
    if shape == "struct" and number not in around:
        names = (path.rpartition(".")[2] for path in more[0][::2])
        below = (_described(field, (*around, number)) for field in more[0][1::2])
        schema["properties"] = dict(zip(names, below, strict=True))
    return schema


class ServedKind(NamedTuple):
    """A kind that a server of this release serves unless it is configured otherwise.

    Attributes:
        type: Number of its Go type.
        namespaced: Whether its objects have a namespace.
        creatable: Whether objects of it can be created.
    """

    type: int
    namespaced: bool
    creatable: bool


def served_kind(group: str, version: str, kind: str) -> ServedKind | None:
    """Return a kind that this release serves, or None if it does not."""
    served = _content()["served"].get(f"{group}/{version}/{kind}")
    return None if served is None else ServedKind(*served)


def served_versions(group: str, kind: str) -> list[str]:
    """Return the versions at which this release serves a kind."""
    labels = (label.split("/") for label in _content()["served"])
    return sorted(version for own, version, name in labels if (own, name) == (group, kind))


def scheme_name(group: str) -> str:
    """Return the name of a group's scheme in errors."""
    schemes = _content()["schemes"]
    name: str = schemes.get(group, schemes[""])
    return name


def scheme_owner(group: str) -> str:
    """Return the group whose scheme registers the kinds of a group; empty for the scheme of nearly all groups."""
    return group if group in _content()["schemes"] else ""
