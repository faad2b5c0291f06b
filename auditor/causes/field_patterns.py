"""Paths of findings without indexes and without the keys of maps, as the schema of the definition tells them apart.

A message writes ``spec.env.HOME`` for a map just as for an object, so the path alone does not show that ``HOME`` is a
key that a user chose. The definitions are those that the report keeps; only those of kinds with findings are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.crds.definitions_file import DefinitionsFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


_INDEX: Final = re.compile(r"\[[^\]]*\]")
_ANY: Final = "*"


def generic_field(field: str, schema: Any) -> str:
    """Return a path with ``[*]`` for indexes and ``*`` for the keys of maps.

    Args:
        field: As a finding has it; ``<nil>`` is the object.
        schema: The openAPIV3Schema of the version; None if it is not known.
    """
    if field == "<nil>":
        return field
    plain = _INDEX.sub("[*]", field) if "[" in field else field
    if not isinstance(schema, dict):
        return plain
    return ".".join(_generic(plain.split("."), schema))


def _generic(names: list[str], schema: Any) -> list[str]:
    """Return the names of a path below a schema, keys of maps replaced."""
    out: list[str] = []
    for position, name in enumerate(names):
        if not isinstance(schema, dict):
            return out + names[position:]
        bare, _, _ = name.partition("[")
        properties = schema.get("properties")
        if isinstance(properties, dict) and bare in properties:
            out.append(name)
            schema = _items(properties[bare], name.count("[*]"))
            continue
        values = schema.get("additionalProperties")
        if not isinstance(values, dict):
            is_free = values is True or schema.get("x-kubernetes-preserve-unknown-fields") is True
            has_map = is_free and not isinstance(properties, dict)
            return [*out, _ANY] if has_map and out else out + names[position:]
        return [*out, *_below_key(names[position:], values)]
    return out


def _below_key(names: list[str], values: dict[str, Any]) -> list[str]:
    """Return the names of a path that begins with the key of a map; a key may have dots."""
    for length in range(1, len(names)):
        following, schema = names[length], _items(values, names[length - 1].count("[*]"))
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if isinstance(properties, dict) and following.partition("[")[0] in properties:
            return [_ANY + "[*]" * names[length - 1].count("[*]"), *_generic(names[length:], schema)]
    return [_ANY + "[*]" * names[-1].count("[*]")]


def _items(schema: Any, levels: int) -> Any:
    for _ in range(levels):
        if not isinstance(schema, dict):
            return None
        schema = schema.get("items", schema.get("additionalProperties"))
    return schema


class Definitions:
    """The definitions that a report was made with, by cluster, group and kind; read when they are asked for.

    Args:
        report: Folder of the report.
        manifest: Its manifest.
    """

    def __init__(self, report: Path, manifest: dict[str, Any]) -> None:
        self._file = DefinitionsFile(report)
        self._offsets: list[int] = []
        self._of_cluster = {
            cluster["name"]: cluster["definitions"]
            for cluster in manifest.get("clusters") or ()
            if "definitions" in cluster
        }
        self._found: dict[tuple[str, str, str], dict[str, Any] | None] = {}
        self._schemas: dict[tuple[str, str, str, str], Any] = {}
        self._fields: dict[tuple[str, str, str, str, str], str] = {}

    def generic(self, cluster: str, group: str, kind: str, version: str, field: str) -> str:
        """Return a path of a finding without indexes and keys of maps."""
        place = (cluster, group, kind, version, field)
        known = self._fields.get(place)
        if known is None:
            schema = self.schema(cluster, group, kind, version) if "." in field else None
            known = self._fields[place] = generic_field(field, schema)
        return known

    def schema(self, cluster: str, group: str, kind: str, version: str) -> Any:
        """Return the schema of a version of a kind; None if the report has none."""
        place = (cluster, group, kind, version)
        if place not in self._schemas:
            self._schemas[place] = _schema_of(self.document(cluster, group, kind), version)
        return self._schemas[place]

    def document(self, cluster: str, group: str, kind: str) -> dict[str, Any] | None:
        """Return the definition of a kind; None if the report has none."""
        place = (cluster, group, kind)
        if place not in self._found:
            self._found[place] = self._search(cluster, group, kind)
        return self._found[place]

    def _search(self, cluster: str, group: str, kind: str) -> dict[str, Any] | None:
        self._offsets = self._offsets or self._file.offsets()
        count = len(self._offsets) - 1
        named = orjson.dumps(kind)
        numbers: Iterable[int] = self._of_cluster.get(cluster, range(count))
        spans = [(self._offsets[number], self._offsets[number + 1]) for number in numbers if 0 <= number < count]
        for line in self._file.between(spans):
            if named not in line or group.encode() not in line:
                continue
            try:
                document = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            spec = document.get("spec") if isinstance(document, dict) else None
            spec = spec if isinstance(spec, dict) else {}
            names = spec.get("names")
            if isinstance(names, dict) and (spec.get("group"), names.get("kind")) == (group, kind):
                return dict(document)
        return None


def _schema_of(document: dict[str, Any] | None, version: str) -> Any:
    spec = (document or {}).get("spec")
    if not isinstance(spec, dict):
        return None
    versions = spec.get("versions")
    for entry in versions if isinstance(versions, list) else ():
        if isinstance(entry, dict) and entry.get("name") == version and isinstance(entry.get("schema"), dict):
            return entry["schema"].get("openAPIV3Schema")
    validation = spec.get("validation")
    return validation.get("openAPIV3Schema") if isinstance(validation, dict) else None
