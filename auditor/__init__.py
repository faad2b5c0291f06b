"""The auditor: what a Kubernetes API server makes of every object in a dump, without a server.

These names are the public API; everything else may move. Importing this package loads none of the heavy libraries.

`open` and `open_index` open dumps and reports as commands do. That is in `pipelines`, which nothing else here knows.
`__init__.pyi` has the types of all names.
"""

from __future__ import annotations

from typing import Any

from auditor.base.release import KUBERNETES_RELEASE
from auditor.base.release import VERSION as __version__  # noqa: N811 - the name that tools look for

__all__ = [
    "KUBERNETES_RELEASE",
    "AuditedObject",
    "AuditorError",
    "CheckedDefinition",
    "CheckedUpdate",
    "CrdCatalog",
    "Finding",
    "OpenedDump",
    "OpenedReport",
    "OpenedTables",
    "StoredObject",
    "TriedUpdate",
    "Unreadable",
    "__version__",
    "audit_batches",
    "audit_object",
    "batch_schema",
    "check_crd",
    "check_crd_update",
    "check_update",
    "open",
    "open_index",
    "running_as",
    "try_update",
]

_OPENING = "pipelines.run.python_api"
_HOME = {
    "AuditedObject": "auditor.base.records",
    "AuditorError": "auditor.base.errors",
    "CheckedDefinition": "auditor.crdcheck",
    "CheckedUpdate": "auditor.updates.update",
    "CrdCatalog": "auditor.crds.catalog",
    "Finding": "auditor.base.records",
    "OpenedDump": _OPENING,
    "OpenedReport": _OPENING,
    "OpenedTables": _OPENING,
    "StoredObject": _OPENING,
    "TriedUpdate": "auditor.updates.update",
    "Unreadable": "auditor.base.records",
    "audit_batches": "auditor.shards.batches",
    "audit_object": "auditor.updates.request",
    "batch_schema": "auditor.shards.batches",
    "check_crd": "auditor.crdcheck",
    "check_crd_update": "auditor.crdcheck",
    "check_update": "auditor.updates.request",
    "open": _OPENING,
    "open_index": _OPENING,
    "running_as": "auditor.releases",
    "try_update": "auditor.updates.request",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'auditor' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - keeps start-up light

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
