"""Brings a definition to v1, the only version that servers accept; etcd holds it as v1beta1.

Source: apiextensions-apiserver pkg/apis/apiextensions/v1/conversion.go, v1beta1/{conversion,defaults}.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from auditor.base.records import JsonObject


_V1: Final = "apiextensions.k8s.io/v1"
_V1BETA1: Final = "apiextensions.k8s.io/v1beta1"
_OF_VERSIONS: Final = ("additionalPrinterColumns", "selectableFields", "subresources")
_OF_SERVERS: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def as_v1(document: JsonObject) -> JsonObject:
    """Return a definition in v1; documents in v1 and documents that are no definition are returned unchanged."""
    if document.get("apiVersion") != _V1BETA1 or type(document.get("spec")) is not dict:
        return document
    return {**document, "apiVersion": _V1, "spec": _spec(document["spec"])}


def as_manifest(document: JsonObject) -> JsonObject:
    """Return a definition in v1 without the fields that only a server writes, so that another server accepts it."""
    made = {key: value for key, value in as_v1(document).items() if key != "status"}
    metadata = made.get("metadata")
    if type(metadata) is dict:
        kept = {key: value for key, value in metadata.items() if key not in _OF_SERVERS}
        notes = kept.get("annotations")
        if type(notes) is dict:
            kept["annotations"] = {key: value for key, value in notes.items() if key != _APPLIED}
            if not kept["annotations"]:
                del kept["annotations"]
        made["metadata"] = kept
    return made


def _spec(given: JsonObject) -> JsonObject:
    spec: JsonObject = {key: given[key] for key in ("group", "names", "scope") if key in given}
    spec.setdefault("scope", "Namespaced")
    spec["names"] = _names(spec.get("names"))
    spec["versions"] = [_version(version, given) for version in _versions(given)]
    spec["conversion"] = _conversion(given.get("conversion"))
    if given.get("preserveUnknownFields", True) is not False:
        spec["preserveUnknownFields"] = True
    return spec


def _names(given: Any) -> Any:
    if type(given) is not dict:
        return given
    kind = given.get("kind")
    filled = {"singular": kind.lower(), "listKind": f"{kind}List"} if type(kind) is str and kind else {}
    return {**filled, **given}


def _versions(given: JsonObject) -> list[Any]:
    listed = given.get("versions")
    if type(listed) is list and listed:
        return listed
    return [{"name": given["version"], "served": True, "storage": True}] if given.get("version") else []


def _version(given: Any, spec: JsonObject) -> Any:
    if type(given) is not dict:
        return given
    version = {key: value for key, value in given.items() if key not in ("schema", *_OF_VERSIONS)}
    schema = given.get("schema") or spec.get("validation")
    if schema:
        version["schema"] = schema
    for key in _OF_VERSIONS:
        value = given.get(key) or spec.get(key)
        if value or key in given or (key in spec and key == "subresources"):
            version[key] = [_column(item) for item in value] if key == _OF_VERSIONS[0] and value else value
    return {key: value for key, value in version.items() if value is not None}


def _column(given: Any) -> Any:
    if type(given) is not dict or "JSONPath" not in given:
        return given
    return {("jsonPath" if key == "JSONPath" else key): value for key, value in given.items()}


def _conversion(given: Any) -> JsonObject:
    if type(given) is not dict:
        return {"strategy": "None"}
    made: JsonObject = {"strategy": given.get("strategy", "None")}
    webhook = {}
    if "webhookClientConfig" in given:
        webhook["clientConfig"] = given["webhookClientConfig"]
    if made["strategy"] == "Webhook":
        webhook["conversionReviewVersions"] = given.get("conversionReviewVersions") or ["v1beta1"]
    return {**made, "webhook": webhook} if webhook else made
