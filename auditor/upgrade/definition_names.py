"""Names of definitions that the server does not accept, because another definition of the group has them.

A new definition whose names are taken is never served; one that is served already goes on under the names it had.

Source: apiextensions-apiserver pkg/controller/status/naming_controller.go (calculateNamesAndConditions).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from auditor.base.records import JsonObject


def conflicts(document: JsonObject, others: Iterable[JsonObject]) -> tuple[str, ...]:
    """Return what the server says to the names of a definition; nothing if it accepts all.

    Args:
        document: The definition to come.
        others: The other definitions, with the names that they have been granted.
    """
    spec = _mapping(document.get("spec"))
    wanted = _names(spec.get("names"))
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        if _mapping(other.get("spec")).get("group") == spec.get("group"):
            names = _names(
                _mapping(other.get("status")).get("acceptedNames") or _mapping(other.get("spec")).get("names")
            )
            resources |= {names["plural"], names["singular"], *names["shortNames"]} - {""}
            kinds |= {names["kind"], names["listKind"]} - {""}
    taken = [name for name in [wanted["plural"], wanted["singular"], *wanted["shortNames"]] if name in resources]
    taken += [wanted[key] for key in ("kind", "listKind") if wanted[key] in kinds]
    return tuple(f"{json.dumps(name, ensure_ascii=False)} is already in use" for name in dict.fromkeys(taken))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if type(value) is dict else {}


def _names(value: Any) -> dict[str, Any]:
    given = _mapping(value)
    kind = given.get("kind") if type(given.get("kind")) is str else ""
    text = {key: given[key] if type(given.get(key)) is str else "" for key in ("plural", "singular", "listKind")}
    short = given.get("shortNames")
    return {
        "plural": text["plural"],
        "singular": text["singular"] or str(kind).lower(),
        "shortNames": [name for name in short if type(name) is str] if type(short) is list else [],
        "kind": kind,
        "listKind": text["listKind"] or (f"{kind}List" if kind else ""),
    }
