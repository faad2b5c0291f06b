"""What a verdict depends on besides the object: two audits of the same state say the same of the same bytes.

A report keeps its state in the manifest, so that a later run can tell which of its rows still hold.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    from auditor.plan.options import AuditOptions
    from auditor.plan.plan import DefinitionEntry, Plan

__all__ = ["gate_options", "report_state"]

_SIZE: Final = 16
_TEXT: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def report_state(plan: Plan) -> dict[str, Any]:
    """Return hashes of what verdicts depend on.

    Returns:
        `options`: the options that a verdict depends on. `resources`: the kinds that have a definition, and their
        names. `definitions`: by name, the parts that a server uses: the specification, the names and the conditions.
    """
    names = sorted([one.group, one.plural, one.kind, one.namespaced] for one in plan.entries)
    return {
        "options": _hashed(_verdict_options(plan.options)),
        "resources": _hashed([names, sorted(plan.sealed)] if plan.sealed else names),
        "definitions": _definitions(plan),
    }


def _verdict_options(options: AuditOptions) -> dict[str, Any]:
    scope = options.scope
    return {
        "at": options.at,
        "at_of_exports": options.at_of_exports,
        "etcd_prefix": options.etcd_prefix,
        "skip": sorted(options.skip),
        "ratcheting": options.ratcheting,
        "field_gates": options.field_gates,
        "gate_sidecars": [_content(path) for path in options.gate_sidecars],
        "encryption_config": _content(options.encryption_config),
        **({"redact": True} if options.redact else {}),
        **({"convert_with": options.convert_with} if options.convert_with else {}),
        "old": bool(options.old),
        "scope": [
            *(scope.namespace, scope.labels, scope.fields),
            *(sorted(map(str.lower, names)) for names in (scope.include, scope.exclude)),
        ],
    }


def gate_options(options: AuditOptions) -> list[str]:
    """Return what decides which field-level gates are on: two runs with the same look for the same fields."""
    return [options.field_gates, *(_content(path) for path in options.gate_sidecars)]


def _content(path: str) -> str:
    """Return the hash of a file that an option names; empty where none is named."""
    if not path:
        return ""
    try:
        return hashlib.blake2b(Path(path).read_bytes(), digest_size=_SIZE).hexdigest()
    except OSError:
        return f"cannot be read: {path}"


def _definitions(plan: Plan) -> dict[str, str]:
    text = Path(plan.definitions).read_bytes()
    found = {}
    for entry in plan.entries:
        line = text[entry.offset : entry.offset + entry.length]
        from_file = entry.name in plan.from_files
        what = line if from_file else _what_counts(line, entry)
        found[entry.name] = hashlib.blake2b(what, digest_size=_SIZE, person=b"file" if from_file else b"").hexdigest()
    return found


def _what_counts(line: bytes, entry: DefinitionEntry) -> bytes:
    """Return the part of a stored definition that servers go by: its metadata and times change every day."""
    try:
        document = orjson.loads(line)
        spec, status = document["spec"], document.get("status") or {}
        conditions = sorted((one.get("type"), one.get("status")) for one in status.get("conditions") or ())
        counts = [entry.stored, document.get("apiVersion"), spec, status.get("acceptedNames"), conditions]
        return orjson.dumps(counts, option=_TEXT)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):  # odd, or a number of Go's: all of it counts
        return line


def _hashed(value: Any) -> str:
    return hashlib.blake2b(orjson.dumps(value, option=_TEXT), digest_size=_SIZE).hexdigest()
