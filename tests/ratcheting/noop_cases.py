"""Objects at hand for no-op updates: the golden cluster at each version, and every audit vector that can be read."""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import auditor
from auditor.golang import jsontext
from auditor.program.program import AuditProgram
from auditor.sources.crd_files import definitions_in, read_crd_documents
from auditor.updates import request
from auditor.updates.body import RequestName
from tests.shared import shared, shared_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import AuditedObject

FOLDER = "golden/upgrade"
CRDS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"


class Case(NamedTuple):
    name: str
    program: AuditProgram
    audited: AuditedObject
    data: bytes
    place: RequestName
    is_export: bool
    proven: bool = False


@cache
def golden() -> list[Case]:
    return list(_golden())


def _golden() -> Iterator[Case]:
    with gzip.open(shared(f"{FOLDER}/etcdctl-get.json.gz")) as stream:
        rows = json.load(stream)["kvs"]
    values = {base64.b64decode(r["key"]).decode("utf-8", "replace"): base64.b64decode(r.get("value", "")) for r in rows}
    documents = [jsontext.decode(data) for key, data in values.items() if key.startswith(CRDS)]
    catalog = auditor.CrdCatalog.from_documents([d for doc in documents for d in definitions_in(doc)], stored=True)
    programs: dict[tuple[str, str], AuditProgram] = {}
    for row in shared_lines(f"{FOLDER}/expected.ndjson.gz"):
        definition = catalog.crds[row["crd"]]
        for name, version in definition.versions.items():
            program = programs.setdefault((row["crd"], name), AuditProgram(definition, version))
            audited, _, proven = program.judge(values[row["key"]])
            if audited.object is not None and "name" in row:
                place = RequestName(row.get("namespace") or "", row["name"])
                yield Case(
                    f"{row['key']} {name}", program, audited, values[row["key"]], place, is_export=False, proven=proven
                )


@cache
def vectors() -> list[Case]:
    """Return the cases of conformance and those of each third real definition."""
    return list(_vectors(further=False))


@cache
def further_vectors() -> list[Case]:
    """Return all other cases: those at the limit of the cost of rules take seconds each."""
    return list(_vectors(further=True))


def _vectors(*, further: bool) -> Iterator[Case]:
    refs: dict[str, int] = {}
    known: dict[str, Any] = {}
    for name in ("conformance-audit.jsonl", "conformance-versions.jsonl", "real-audit.jsonl.gz"):
        for case in shared_lines(f"vectors/{name}"):
            if not ("object" in case or "objectText" in case):
                continue
            number = refs.setdefault(case["ref"], len(refs)) if "ref" in case else 0
            if (case["name"].startswith("cel-cost/") or number % 3 > 0) != further:
                continue
            key = case.get("ref") or json.dumps(case["crd"])
            if key not in known:
                documents = (
                    [case["crd"]] if "crd" in case else read_crd_documents([str(shared(f"corpus/crds/{case['ref']}"))])
                )
                known[key] = auditor.CrdCatalog.from_documents(documents)
            text = case.get("objectText")
            data = text.encode("utf-8", "surrogatepass") if text is not None else json.dumps(case["object"]).encode()
            resource, version = case.get("resource"), case.get("version")
            got = auditor.audit_object(known[key], data, resource=resource, version=version)
            if got.object is None:
                continue
            api_version, kind = got.object.get("apiVersion", ""), got.object.get("kind")
            definition = (
                known[key].crds[resource] if resource else known[key].by_group_kind(api_version.partition("/")[0], kind)
            )
            if definition is None:
                continue
            program = request._program(definition, got.audited_version)  # with what it has compiled for the audit
            metadata = got.object.get("metadata", {})
            place = RequestName(metadata.get("namespace", ""), metadata.get("name", ""))
            yield Case(f"{name} {case['name']}", program, got, data, place, is_export=True)
