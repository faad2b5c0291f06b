"""The internal form of a definition, which the server validates for every version of the API.

If all versions of a v1 document have the same schema, subresources, columns or selectable fields, these move from the
versions to the top, and errors are reported there. A v1beta1 document is not changed.

Source: apiextensions-apiserver pkg/apis/apiextensions/v1/{defaults,conversion}.go, v1beta1/defaults.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import SchemaError
from auditor.crdcheck import gojson
from auditor.crdcheck.gojson import GoStruct, canonical
from auditor.crds.definition import definition_type, document_name
from auditor.schema.objectmeta import to_json
from auditor.schema.typed import GoTypeError, decode_typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject


_GROUP: Final = "apiextensions.k8s.io"
_KIND: Final = "CustomResourceDefinition"
_HOISTED: Final[tuple[tuple[str, str, Callable[[Any], Any]], ...]] = (
    ("schema", "validation", gojson.validation),
    ("subresources", "subresources", gojson.subresources),
    ("additionalPrinterColumns", "columns", gojson.columns),
    ("selectableFields", "selectable", gojson.selectable),
)
"""Key in a version, attribute at the top, how values are compared."""


@dataclass(slots=True)
class Internal:
    """One definition in the internal form; its parts are decoded JSON with known keys only.

    Attributes:
        version: Name of the first version (v1beta1: what the document says).
        versions: In the form of v1, without the fields that moved to the top.
        validation: The schema of all versions (``{"openAPIV3Schema": ...}``), None if they have their own.
        preserve: ``spec.preserveUnknownFields``.
        conversion: Strategy, client configuration (None if there is none), review versions.
        unknown: Paths of unknown fields.
        has_list: Whether there is a list of versions, even an empty one.
        api_version: v1 or v1beta1.
    """

    metadata: JsonObject
    group: str
    names: JsonObject
    scope: str
    version: str
    versions: list[JsonObject]
    preserve: bool
    strategy: str
    client: JsonObject | None
    review_versions: list[str] | None
    status: JsonObject
    api_version: str
    validation: JsonObject | None = None
    subresources: JsonObject | None = None
    columns: list[JsonObject] | None = None
    selectable: list[JsonObject] | None = None
    unknown: tuple[str, ...] = ()
    has_list: bool = True
    stored_versions: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """metadata.name."""
        name: str = self.metadata.get("name", "")
        return name

    def schemas(self) -> list[JsonObject]:
        """All schemas, first the one at the top."""
        holders = [self.validation, *(version.get("schema") for version in self.versions)]
        return [
            holder["openAPIV3Schema"]
            for holder in holders
            if holder is not None and holder.get("openAPIV3Schema") is not None
        ]

    def is_established(self) -> bool:
        """Whether the condition Established is true; the first of its type counts."""
        for condition in self.status.get("conditions", ()):
            if condition.get("type") == "Established":
                return bool(condition.get("status") == "True")
        return False

    def differs(self, other: Internal) -> bool:
        """Return whether the server considers the spec of another definition different."""
        return bool(canonical(self.spec()) != canonical(other.spec()))

    def spec(self) -> GoStruct:
        """Return the whole spec as its struct."""
        names = self.names
        return GoStruct(
            ("Group", self.group),
            ("Version", self.version),
            *((key, names.get(key, "")) for key in ("plural", "singular", "kind", "listKind")),
            *((key, names.get(key)) for key in ("shortNames", "categories")),
            ("Scope", self.scope),
            ("Validation", gojson.validation(self.validation)),
            ("Subresources", gojson.subresources(self.subresources)),
            ("Versions", [gojson.version(version) for version in self.versions]),
            ("AdditionalPrinterColumns", gojson.columns(self.columns)),
            ("SelectableFields", gojson.selectable(self.selectable)),
            ("Strategy", self.strategy),
            ("Client", None if self.client is None else gojson.Raw(_comparable(self.client))),
            ("ConversionReviewVersions", self.review_versions),
            ("PreserveUnknownFields", self.preserve),
        )


def _comparable(value: Any) -> Any:
    if type(value) is dict:
        return {key: _comparable(item) for key, item in value.items()}
    return value.hex() if type(value) is bytes else value


def internal_form(document: Any) -> Internal:
    """Return the internal form of a document, decoded and defaulted as the server does.

    Raises:
        SchemaError: No server could decode it; `found` is the server's text.
    """
    if type(document) is not dict:
        raise SchemaError("", "the document is not an object", _KIND)
    api_version = document.get("apiVersion")
    where = document_name(document)
    if api_version not in (f"{_GROUP}/v1", f"{_GROUP}/v1beta1") or document.get("kind") != _KIND:
        problem = f"the document is of kind {document.get('kind')!r} in {api_version!r}"
        raise SchemaError(where, problem, f"{_KIND} in {_GROUP}/v1 or v1beta1")
    package = api_version.rpartition("/")[2]
    unknown: list[str] = []
    try:
        decoded: JsonObject = decode_typed(document, definition_type(package), unknown=unknown)
    except GoTypeError as error:
        raise SchemaError(where, str(error)) from None
    form = _form(decoded, package)
    form.unknown = tuple(unknown)
    if package == "v1":
        _hoist(form)
    return form


def _form(decoded: JsonObject, package: str) -> Internal:
    beta = package == "v1beta1"
    spec, status = decoded.get("spec", {}), decoded.get("status", {})
    kind = spec.get("names", {}).get("kind", "")
    names = dict(spec.get("names", {}))
    names["singular"] = names.get("singular") or kind.lower()
    names["listKind"] = names.get("listKind") or (f"{kind}List" if kind else "")
    versions = [dict(version) for version in spec.get("versions", ())]
    if beta and not versions and spec.get("version"):
        versions = [{"name": spec["version"], "served": True, "storage": True}]
    first = versions[0].get("name", "") if versions else ""
    conversion = spec.get("conversion", {"strategy": "None"})
    webhook = conversion if beta else conversion.get("webhook", {})
    client = webhook.get("webhookClientConfig" if beta else "clientConfig")
    reviews = webhook.get("conversionReviewVersions")
    if beta and conversion.get("strategy") == "Webhook" and not reviews:
        reviews = ["v1beta1"]
    if client is not None and "service" in client:
        service = client["service"]
        client = {**client, "service": {**service, "port": service.get("port", 443)}}
    return Internal(
        metadata=to_json(decoded.get("metadata", {})),
        group=spec.get("group", ""),
        names=names,
        scope=spec.get("scope", "") or ("Namespaced" if beta else ""),
        version=(spec.get("version") or first) if beta else first,
        versions=versions,
        preserve=spec.get("preserveUnknownFields", beta),
        strategy=conversion.get("strategy", ""),
        client=client,
        review_versions=reviews,
        status=status,
        api_version=package,
        validation=spec.get("validation") if beta else None,
        subresources=spec.get("subresources") if beta else None,
        columns=spec.get("additionalPrinterColumns") if beta else None,
        selectable=spec.get("selectableFields") if beta else None,
        stored_versions=list(status.get("storedVersions", ())),
        has_list="versions" in spec or bool(versions),
    )


def _hoist(form: Internal) -> None:
    if not form.versions:
        return
    for key, attribute, struct in _HOISTED:
        first = form.versions[0].get(key)
        rest = [version.get(key) for version in form.versions[1:]]
        wanted = canonical(struct(first)) if rest else None
        if all(canonical(struct(given)) == wanted for given in rest):
            setattr(form, attribute, first)
            for version in form.versions:
                version.pop(key, None)
