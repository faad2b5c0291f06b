"""A cache of parsed definitions and programs for the next cluster of a fleet, as clusters mostly share definitions.

Two definitions are the same if their name, their spec and the used parts of their status are equal. Their uid, managed
fields and times differ from cluster to cluster.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.crds.definition import parse_definition
from auditor.releases import Release, active
from auditor.validation.rules import servable

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.program.program import AuditProgram


_MOST_BYTES: Final = 8 << 20
"""Most bytes of JSON of the cached definitions; programs take about ten times as much memory."""
_OWN: Final = ("uid", "resourceVersion", "selfLink")
"""Texts in the metadata of a definition that differ in each cluster."""
_TIME: Final = re.compile(r"[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)


class Prepared:
    """Parsed definitions and their programs, by content; the least recently used ones are removed first.

    Args:
        most: Most bytes of JSON of the cached definitions.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most = most
        self._size = 0
        self._known: OrderedDict[bytes, tuple[CustomResourceDefinition, int]] = OrderedDict()
        self._programs: dict[int, dict[tuple[str, bool, Release], AuditProgram]] = {}

    def definition(self, document: JsonObject, *, stored: bool) -> CustomResourceDefinition:
        """Return the definition of a document, as `parse_definition`; it may have been parsed from an equal document.

        Raises:
            SchemaError: As `parse_definition`.
        """
        text = _content(document)
        if text is None:
            return servable(parse_definition(document, stored=stored))
        key = hashlib.sha256(b"%s %d " % (active().name.encode(), stored) + text).digest()
        definition = self._known.get(key)
        if definition is None:
            definition = self._known[key] = servable(parse_definition(document, stored=stored)), len(text)
            self._programs[id(definition[0])] = {}
            self._size += len(text)
            while self._size > self._most and len(self._known) > 1:
                _, (gone, size) = self._known.popitem(last=False)
                self._size -= size
                del self._programs[id(gone)]
        else:
            self._known.move_to_end(key)
        return definition[0]

    def program(self, definition: CustomResourceDefinition, version: str, *, rules: bool) -> AuditProgram | None:
        """Return the cached program for a version of a definition from `definition`, with its counts reset."""
        program = self._programs.get(id(definition), {}).get((version, rules, active()))
        if program is None or not program.compiled:
            return None
        program.count_anew()
        return program

    def keep(self, program: AuditProgram, *, rules: bool) -> None:
        """Cache the program for a version of a definition from `definition`."""
        programs = self._programs.get(id(program.definition))
        if programs is not None:
            programs[program.version.name, rules, active()] = program


def _content(document: JsonObject) -> bytes | None:
    """Return the JSON of the parts of a document that describe its kind; None if only Go could decode it.

    Well-formed metadata that differ from cluster to cluster are left out: they have no effect.
    """
    metadata, status = document.get("metadata"), document.get("status", {})
    if type(metadata) is not dict or type(status) is not dict:
        return None
    conditions = status.get("conditions", [])
    if type(conditions) is not list or not all(type(condition) is dict for condition in conditions):
        return None
    kept: dict[str, Any] = dict(metadata)
    for name in _OWN:
        if type(kept.get(name)) is str:
            del kept[name]
    if type(generation := kept.get("generation")) is int and 0 < generation < 1 << 63:
        del kept["generation"]
    if _is_time(kept.get("creationTimestamp")):
        del kept["creationTimestamp"]
    if (managers := kept.get("managedFields")) is not None and _are_managers(managers):
        del kept["managedFields"]
    whole = {
        **document,
        "metadata": kept,
        "status": {**status, "conditions": list(map(_condition, conditions))},
    }
    try:
        return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):  # a number or a string that only Go decodes
        return None


def _condition(condition: dict[str, Any]) -> dict[str, Any]:
    kept = dict(condition)
    for name in ("reason", "message"):
        if type(kept.get(name)) is str:
            del kept[name]
    if _is_time(kept.get("lastTransitionTime")):
        del kept["lastTransitionTime"]
    return kept


def _is_time(value: Any) -> bool:
    """Return whether a value is a time that every decoder accepts; days above 28 are not accepted here."""
    return type(value) is str and _TIME.fullmatch(value) is not None


def _are_managers(managers: Any) -> bool:
    return type(managers) is list and all(
        type(manager) is dict and all(_is_of_manager(name, value) for name, value in manager.items())
        for manager in managers
    )


def _is_of_manager(name: str, value: Any) -> bool:
    if name == "fieldsV1":
        return type(value) is dict
    return _is_time(value) if name == "time" else type(value) is str


PREPARED: Final = Prepared()
"""The cache of this process."""
