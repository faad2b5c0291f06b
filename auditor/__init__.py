"""The auditor: what a Kubernetes API server makes of every object in a dump, without a server.

These names are the public API; everything else may move. Importing this package loads none of the heavy libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.base.release import KUBERNETES_RELEASE
from auditor.base.release import VERSION as __version__  # noqa: N811 - the name that tools look for

if TYPE_CHECKING:
    from auditor.base.errors import AuditorError
    from auditor.base.records import AuditedObject, Finding, Unreadable
    from auditor.crdcheck import CheckedDefinition, check_crd, check_crd_update
    from auditor.crds.catalog import CrdCatalog
    from auditor.releases import running_as
    from auditor.selectors.index_query import open_index
    from auditor.shards.batches import audit_batches, batch_schema
    from auditor.updates.request import audit_object, check_update, try_update
    from auditor.updates.update import CheckedUpdate, TriedUpdate

__all__ = [
    "KUBERNETES_RELEASE",
    "AuditedObject",
    "AuditorError",
    "CheckedDefinition",
    "CheckedUpdate",
    "CrdCatalog",
    "Finding",
    "TriedUpdate",
    "Unreadable",
    "__version__",
    "audit_batches",
    "audit_object",
    "batch_schema",
    "check_crd",
    "check_crd_update",
    "check_update",
    "open_index",
    "running_as",
    "try_update",
]

_HOME = {
    "AuditedObject": "auditor.base.records",
    "AuditorError": "auditor.base.errors",
    "CheckedDefinition": "auditor.crdcheck",
    "CheckedUpdate": "auditor.updates.update",
    "CrdCatalog": "auditor.crds.catalog",
    "Finding": "auditor.base.records",
    "TriedUpdate": "auditor.updates.update",
    "Unreadable": "auditor.base.records",
    "audit_batches": "auditor.shards.batches",
    "audit_object": "auditor.updates.request",
    "batch_schema": "auditor.shards.batches",
    "check_crd": "auditor.crdcheck",
    "check_crd_update": "auditor.crdcheck",
    "check_update": "auditor.updates.request",
    "open_index": "auditor.selectors.index_query",
    "running_as": "auditor.releases",
    "try_update": "auditor.updates.request",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'auditor' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - keeps start-up light

    return getattr(import_module(_HOME[name]), name)
