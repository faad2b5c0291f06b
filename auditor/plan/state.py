"""The state of an audit: everything except the object that a verdict depends on.

Two audits with the same state give the same result for the same bytes. A report has its state in the manifest, so that
a later run knows which rows it can reuse.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.given_file import read_given
from auditor.crds.specs import digest_in_use
from auditor.plan.options import Scope

if TYPE_CHECKING:
    from dataclasses import Field

    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.options import AuditOptions, VerdictOptions
    from auditor.plan.plan import Plan

__all__ = ["fingerprint", "gate_options", "report_state"]

_SIZE: Final = 16
_TEXT: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
_ALWAYS: Final = frozenset({
    *("at", "at_of_exports", "etcd_prefix", "skip", "ratcheting", "field_gates", "gate_sidecars"),
    *("encryption_config", "old", "scope"),
})  # fmt: skip
"""Options of the first release: they always enter the hash."""


def report_state(plan: Plan) -> dict[str, Any]:
    """Return hashes of the inputs that verdicts depend on.

    Returns:
        `options`: the options that verdicts depend on. `resources`: the kinds that have a definition, and their
        names. `definitions`: by name, the parts that a server uses: the specification, the names and the conditions.
    """
    names = sorted([one.group, one.plural, one.kind, one.namespaced] for one in plan.entries)
    return {
        "options": fingerprint(plan.options.verdict),
        "resources": _hashed([names, sorted(plan.sealed)] if plan.sealed else names),
        "definitions": _definitions(plan),
    }


def fingerprint(options: VerdictOptions) -> str:
    """Return the hash of all options that verdicts depend on; reports with the same hash judge alike.

    A later option enters the hash only if it differs from its default, which is the behaviour before the option
    existed. So reports from before the option can still be reused.
    """
    counted = {
        one.name: _counted(one, value)
        for one in fields(options)
        if (value := getattr(options, one.name)) != one.metadata.get("unnamed", one.default) or one.name in _ALWAYS
    }
    return _hashed(counted)


def _counted(option: Field[Any], value: Any) -> Any:
    """Return the part of the value of an option that verdicts depend on."""
    counts = option.metadata.get("counts")
    if counts == "given":
        return bool(value)
    if counts == "content":
        return [_content(path) for path in value] if isinstance(value, tuple) else _content(value)
    if isinstance(value, Scope):
        names = (sorted(map(str.lower, each)) for each in (value.include, value.exclude))
        return [value.namespace, value.labels, value.fields, *names]
    return sorted(value) if isinstance(value, tuple) else value


def gate_options(options: AuditOptions) -> list[str]:
    """Return the inputs that decide which field-level gates are on."""
    return [options.field_gates, *(_content(path) for path in options.gate_sidecars)]


def _content(path: str) -> str:
    """Return the hash of a file that an option names; empty if none is named."""
    if not path:
        return ""
    try:
        return hashlib.blake2b(read_given(path), digest_size=_SIZE).hexdigest()
    except OSError:
        return f"cannot be read: {path}"


def _definitions(plan: Plan) -> dict[str, str]:
    found = {entry.name: entry.in_use for entry in plan.entries}
    unknown = [entry for entry in plan.entries if entry.name in plan.from_files or not entry.in_use]
    for entry, line in plan.definitions_file.texts(unknown):
        if entry.name in plan.from_files:
            found[entry.name] = hashlib.blake2b(line, digest_size=_SIZE, person=b"file").hexdigest()
        else:
            found[entry.name] = _digest_in_use(line, entry)
    return found


def _digest_in_use(line: bytes, entry: DefinitionEntry) -> str:
    """Return the hash of the part of a stored definition that servers use; that of all of a malformed one."""
    try:
        return digest_in_use(orjson.loads(line), stored=entry.stored)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):  # malformed, or a number of Go's
        return hashlib.blake2b(line, digest_size=_SIZE).hexdigest()


def _hashed(value: Any) -> str:
    return hashlib.blake2b(orjson.dumps(value, option=_TEXT), digest_size=_SIZE).hexdigest()
