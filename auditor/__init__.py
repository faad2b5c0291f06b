"""The auditor: what a Kubernetes API server makes of every object in a dump, without a server.

These names are the public API; everything else may move. Importing this package loads none of the heavy libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditor.crds.catalog import CrdCatalog
    from auditor.crds.check import CheckedDefinition, check_crd, check_crd_update
    from auditor.errors import AuditorError
    from auditor.model import AuditedObject, Finding, Unreadable
    from auditor.program.request import audit_object, check_update, try_update
    from auditor.program.update_program import CheckedUpdate, TriedUpdate
    from auditor.selectors.query import open_index
    from pipelines.batches import audit_batches, batch_schema

__version__ = "0.1.0"
KUBERNETES_RELEASE = "v1.37.2"
"""The release whose behaviour is reproduced."""

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
    "try_update",
]

_HOME = {
    "AuditedObject": "auditor.model",
    "AuditorError": "auditor.errors",
    "CheckedDefinition": "auditor.crds.check",
    "CheckedUpdate": "auditor.program.update_program",
    "CrdCatalog": "auditor.crds.catalog",
    "Finding": "auditor.model",
    "TriedUpdate": "auditor.program.update_program",
    "Unreadable": "auditor.model",
    "audit_batches": "pipelines.batches",
    "audit_object": "auditor.program.request",
    "batch_schema": "pipelines.batches",
    "check_crd": "auditor.crds.check",
    "check_crd_update": "auditor.crds.check",
    "check_update": "auditor.program.request",
    "open_index": "auditor.selectors.query",
    "try_update": "auditor.program.request",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'auditor' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - keeps start-up light

    return getattr(import_module(_HOME[name]), name)
