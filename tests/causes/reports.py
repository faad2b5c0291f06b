"""Reports for the tests of findings: of the sample, and of clusters that a test draws."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from auditor.plan.options import AuditOptions
from pipelines.run.fleet import run_anywhere
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["audited", "definition", "export", "sample", "widget"]


def sample(folder: Path, **options: Any) -> Path:
    """Audit the sample, and return the report."""
    dump = folder / "sample.db"
    dump.write_bytes(gzip.decompress((ROOT / "sample-data" / "cluster.db.gz").read_bytes()))
    return audited(folder / "report", dump, **options)


def audited(report: Path, *dumps: Path, **options: Any) -> Path:
    """Audit dumps in this process, and return the report."""
    asked = AuditOptions(
        dumps=tuple(map(str, dumps)), report=str(report), jobs=1, engine="inline", force=True, **options
    )
    run_anywhere(asked)
    return report


def definition(spec: dict[str, Any], *, kind: str = "Widget", required: list[str] | None = None) -> dict[str, Any]:
    """Return a definition whose objects have some properties in their spec."""
    plural = f"{kind.lower()}s"
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": spec, **({"required": required} if required else {})}},
    }
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com", "uid": f"uid-{plural}"},
        "status": {
            "conditions": [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")],
            "acceptedNames": names,
            "storedVersions": ["v1"],
        },
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def widget(name: str, spec: dict[str, Any], *, namespace: str = "team", kind: str = "Widget", **metadata: Any) -> Any:
    """Return an object."""
    return {
        "apiVersion": "example.com/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", **metadata},
        "spec": spec,
    }


def export(path: Path, *objects: dict[str, Any]) -> Path:
    """Write an export of objects, and return its path."""
    path.write_text("".join(json.dumps(one) + "\n" for one in objects))
    return path
