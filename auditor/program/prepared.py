"""What a process has made of definitions, kept for the next cluster of a fleet: clusters mostly have the same ones.

Definitions are the same if they say the same: name, spec, and of the status what a server goes by. Their uid, managed
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

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.program.program import AuditProgram

__all__ = ["PREPARED", "Prepared"]

_MOST_BYTES: Final = 8 << 20
"""JSON of the definitions that are kept; programs take some ten times as much memory."""
_OWN: Final = ("uid", "resourceVersion", "selfLink")
"""Texts in the metadata of a definition that differ in each cluster."""
_TIME: Final = re.compile(r"[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)


class Prepared:
    """Parsed definitions and their programs, by content; those that were not used for the longest time go first.

    Args:
        most: Bytes of JSON of the definitions that are kept.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most = most
        self._size = 0
        self._known: OrderedDict[bytes, tuple[CustomResourceDefinition, int]] = OrderedDict()
        self._programs: dict[int, dict[tuple[str, bool, Release], AuditProgram]] = {}

    def definition(self, document: JsonObject, *, stored: bool) -> CustomResourceDefinition:
        """Return the definition of a document, as `parse_definition`, which may have been read from an equal one.

        Raises:
            SchemaError: As `parse_definition`.
        """
        text = _content(document)
        if text is None:
            return parse_definition(document, stored=stored)
        key = hashlib.sha256(b"%d" % stored + text).digest()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = parse_definition(document, stored=stored), len(text)
            self._programs[id(found[0])] = {}
            self._size += len(text)
            while self._size > self._most and len(self._known) > 1:
                _, (gone, size) = self._known.popitem(last=False)
                self._size -= size
                del self._programs[id(gone)]
        else:
            self._known.move_to_end(key)
        return found[0]

    def program(self, definition: CustomResourceDefinition, version: str, *, rules: bool) -> AuditProgram | None:
        """Return the program that was kept for a version of a definition of `definition`; its counts begin anew."""
        found = self._programs.get(id(definition), {}).get((version, rules, active()))
        if found is None or not found.compiled:
            return None
        found.count_anew()
        return found

    def keep(self, program: AuditProgram, *, rules: bool) -> None:
        """Keep the program of a version of a definition of `definition`."""
        programs = self._programs.get(id(program.definition))
        if programs is not None:
            programs[program.version.name, rules, active()] = program


def _content(document: JsonObject) -> bytes | None:
    """Return as JSON what a document says of its kind; None if it has something that only a server could tell.

    What differs from cluster to cluster is left out where it is well formed: then it plays no part.
    """
    metadata, status = document.get("metadata"), document.get("status", {})
    if type(metadata) is not dict or type(status) is not dict:
        return None
    conditions = status.get("conditions", [])
    if type(conditions) is not list or not all(type(one) is dict for one in conditions):
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
    except (TypeError, ValueError):  # a number or a string that only Go's own decoder makes
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
    """Return whether a value is a time that every decoder takes; days that not every month has do not count."""
    return type(value) is str and _TIME.fullmatch(value) is not None


def _are_managers(managers: Any) -> bool:
    return type(managers) is list and all(
        type(one) is dict and all(_is_of_manager(name, value) for name, value in one.items()) for one in managers
    )


def _is_of_manager(name: str, value: Any) -> bool:
    if name == "fieldsV1":
        return type(value) is dict
    return _is_time(value) if name == "time" else type(value) is str


PREPARED: Final = Prepared()
"""That of this process."""
