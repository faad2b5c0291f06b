"""CustomResourceDefinition: one definition as a server serves it, parsed from its v1 or v1beta1 document.

Servers accept v1 and store v1beta1, so both are common. A document is decoded as by the server's typed decoder,
defaulted, and brought to the form of v1, in which every version has its own schema.

Source: apiextensions-apiserver pkg/apis/apiextensions/{v1,v1beta1}/{types,defaults,conversion}.go,
pkg/apiserver/customresource_handler.go (getOrCreateServingInfoFor).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from auditor.base.errors import NotStructural, SchemaError
from auditor.cel.cel_errors import PANIC
from auditor.crds.outline import conditions_of
from auditor.schema.defaulting import prune_defaults
from auditor.schema.objectmeta import OBJECT_META
from auditor.schema.parse import build_schema, check_convertible, schema_type
from auditor.schema.quick_check import is_decodable
from auditor.schema.typed import (
    BOOL,
    BYTES,
    INT32,
    INT64,
    STRING,
    GoType,
    GoTypeError,
    decode_typed,
    list_of,
    named_string,
    struct,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.base.records import JsonObject
    from auditor.schema.structural import StructuralSchema


GROUP: Final = "apiextensions.k8s.io"
KIND: Final = "CustomResourceDefinition"
UNSERVABLE: Final = "the server could not properly serve the CR schema"


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale subresource: raw JSON paths as the definition gives them, leading dot included."""

    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CrdVersion:
    """One version of a definition.

    Attributes:
        schema: The schema for validation, or None if the version has none.
        structural: The schema for pruning, defaulting, list types and rules, with pruned defaults. If it is None, a
            read prunes everything but apiVersion, kind and metadata (unless preserve_unknown_fields).
        selectable_fields: Raw JSON paths, leading dot included.
        printer_columns: In the form of v1 (``jsonPath``).
        unserved_reason: Why a server cannot serve the version, e.g. not structural; empty if it can.
    """

    name: str
    served: bool
    storage: bool
    schema: StructuralSchema | None
    structural: StructuralSchema | None
    has_status: bool = False
    scale: Scale | None = None
    selectable_fields: tuple[str, ...] = ()
    printer_columns: tuple[JsonObject, ...] = ()
    unserved_reason: str = ""


class Converter(Protocol):
    """Replaces the webhook of a definition."""

    def convert(self, obj: JsonObject, definition: CustomResourceDefinition, version: str) -> None:
        """Convert an object to a version of its definition, in place.

        Raises:
            ConversionError: The message is the server's, or begins with `NEEDS_WEBHOOK`.
        """


@dataclass(frozen=True, slots=True, eq=False)
class CustomResourceDefinition:
    """One definition. Its names are those that the server uses: the accepted names of a status that counts.

    Attributes:
        conversion: Strategy, ``None`` or ``Webhook``.
        stored_versions: ``status.storedVersions``, or the storage version.
        established: Whether a server answers requests for its objects.
        terminating: Whether it is being deleted: a server refuses creates, and deletes its objects.
        document: The decoded document.
        webhook: Converts objects if the strategy is Webhook; None if nothing replaces the webhook.
    """

    name: str
    group: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool
    versions: dict[str, CrdVersion]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    conversion: str = "None"
    preserve_unknown_fields: bool = False
    stored_versions: tuple[str, ...] = ()
    established: bool = True
    terminating: bool = False
    document: JsonObject = field(default_factory=dict)
    webhook: Converter | None = field(default=None, compare=False, repr=False)

    @property
    def resource(self) -> str:
        """plural.group, the name of a definition."""
        return f"{self.plural}.{self.group}"

    @property
    def storage_version(self) -> CrdVersion | None:
        """The version at which new writes are stored."""
        return next((version for version in self.versions.values() if version.storage), None)

    @property
    def served_versions(self) -> tuple[CrdVersion, ...]:
        """The versions that clients can request, in the order of the definition."""
        return tuple(version for version in self.versions.values() if version.served)


@lru_cache(maxsize=2)
def definition_type(package: str) -> GoType:
    """Return the Go type of a definition in one version of the API (``v1`` or ``v1beta1``).

    Over 80 lines: it lists the fields of the Go type in their order.
    """
    beta = package == "v1beta1"

    def record(name: str, /, **fields: GoType) -> GoType:
        return struct(f"{package}.{name}", fields)

    validation = record("CustomResourceValidation", openAPIV3Schema=schema_type(package))
    subresources = record(
        "CustomResourceSubresources",
        status=record("CustomResourceSubresourceStatus"),
        scale=record(
            "CustomResourceSubresourceScale",
            specReplicasPath=STRING,
            statusReplicasPath=STRING,
            labelSelectorPath=STRING,
        ),
    )
    column = record(
        "CustomResourceColumnDefinition",
        **dict.fromkeys(("name", "type", "format", "description", "JSONPath" if beta else "jsonPath"), STRING),
        priority=INT32,
    )
    selectable = list_of(record("SelectableField", jsonPath=STRING))
    client = record(
        "WebhookClientConfig",
        url=STRING,
        service=record("ServiceReference", namespace=STRING, name=STRING, path=STRING, port=INT32),
        caBundle=BYTES,
    )
    webhook = {"conversionReviewVersions": list_of(STRING)}
    conversion = record("CustomResourceConversion", strategy=named_string(f"{package}.ConversionStrategyType"))
    if beta:
        conversion.fields.update(webhookClientConfig=client, **webhook)
    else:
        conversion.fields["webhook"] = record("WebhookConversion", clientConfig=client, **webhook)
    shared = {
        "subresources": subresources,
        "additionalPrinterColumns": list_of(column),
        "selectableFields": selectable,
    }
    version = record(
        "CustomResourceDefinitionVersion",
        name=STRING,
        deprecationWarning=STRING,
        **dict.fromkeys(("served", "storage", "deprecated"), BOOL),
        schema=validation,
        **shared,
    )
    names = record(
        "CustomResourceDefinitionNames",
        **dict.fromkeys(("plural", "singular", "kind", "listKind"), STRING),
        **dict.fromkeys(("shortNames", "categories"), list_of(STRING)),
    )
    spec = record(
        "CustomResourceDefinitionSpec",
        group=STRING,
        names=names,
        scope=named_string(f"{package}.ResourceScope"),
        versions=list_of(version),
        conversion=conversion,
        preserveUnknownFields=BOOL,
    )
    if beta:
        spec.fields.update(version=STRING, validation=validation, **shared)
    condition = record(
        "CustomResourceDefinitionCondition",
        type=named_string(f"{package}.CustomResourceDefinitionConditionType"),
        status=named_string(f"{package}.ConditionStatus"),
        lastTransitionTime=OBJECT_META.fields["creationTimestamp"],
        reason=STRING,
        message=STRING,
        observedGeneration=INT64,
    )
    status = record(
        "CustomResourceDefinitionStatus",
        conditions=list_of(condition),
        acceptedNames=names,
        storedVersions=list_of(STRING),
        observedGeneration=INT64,
    )
    return record(KIND, kind=STRING, apiVersion=STRING, metadata=OBJECT_META, spec=spec, status=status)


def parse_definition(
    document: JsonObject, *, stored: bool = False, with_schemas: bool = True
) -> CustomResourceDefinition:
    """Return the definition that a document describes.

    A definition that cannot be served is returned as well; its versions give the reason.

    Args:
        document: Decoded JSON of a v1 or v1beta1 definition.
        stored: The document comes from a server: its status has the accepted names and says whether it is established.
            Otherwise the status is ignored, and the definition counts as established.
        with_schemas: Whether versions get their schemas, and the faults of these as a reason. Discovery, which needs
            neither, saves most of the time without.
    Raises:
        SchemaError: No server could decode the document.
    Source: apiextensions-apiserver pkg/apis/apiextensions/v1beta1/defaults.go, v1/conversion.go;
        pkg/controller/finalizer/crd_finalizer.go.
    """
    decoded = _decode(document if with_schemas else _without_decodable(document))
    name = decoded.get("metadata", {}).get("name", "")
    spec, status = decoded.get("spec", {}), decoded.get("status", {})
    names = _defaulted_names(spec.get("names", {}))
    listed = _versions(spec)
    reason = ""
    established, terminating = True, False
    if stored:
        conditions = status.get("conditions", ())
        established = _is_true(conditions, "NamesAccepted") or _is_true(conditions, "Established")
        terminating = bool(decoded.get("metadata", {}).get("deletionTimestamp")) or _is_true(conditions, "Terminating")
        accepted = status.get("acceptedNames", {})
        missing = [key for key in ("plural", "singular", "kind", "listKind") if not accepted.get(key)]
        if missing:
            reason = f"{UNSERVABLE}: status.acceptedNames has no {missing[0]}"
        else:
            names = accepted
    preserve = spec.get("preserveUnknownFields", decoded["apiVersion"].endswith("/v1beta1"))
    strategy = spec["conversion"].get("strategy", "") if "conversion" in spec else "None"
    if strategy not in ("None", "Webhook"):
        reason = reason or f"{UNSERVABLE}: unknown conversion strategy {strategy!r}"
    if strategy == "Webhook" and stored:
        reason = reason or _unusable_webhook(spec["conversion"])
    storage = [version.get("name", "") for version in listed if version.get("storage")]
    if stored and not storage:
        reason = reason or f"{UNSERVABLE}: no version is the storage version"
    return CustomResourceDefinition(
        name=name,
        group=spec.get("group", ""),
        plural=names.get("plural", ""),
        singular=names.get("singular", ""),
        kind=names.get("kind", ""),
        list_kind=names.get("listKind", ""),
        namespaced=_scope(decoded) == "Namespaced",
        versions=_crd_versions(listed if with_schemas else list(map(_without_schema, listed)), preserve, reason),
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        conversion=strategy,
        preserve_unknown_fields=preserve,
        stored_versions=tuple(status.get("storedVersions", ()) or storage[:1]),
        established=established,
        terminating=terminating,
        document=document,
    )


def _without_decodable(document: JsonObject) -> JsonObject:
    """Return a document without the schemas of its versions, if it is proven that a server decodes them."""
    spec = document.get("spec") if type(document) is dict else None
    versions = spec.get("versions") if type(spec) is dict else None
    if type(versions) is not list or not all(type(each) is dict for each in versions):
        return document
    given = [each["schema"] for each in versions if "schema" in each]
    if not all(type(each) is dict and is_decodable(each.get("openAPIV3Schema")) for each in given):
        return document
    return {**document, "spec": {**(spec or {}), "versions": list(map(_without_schema, versions))}}


def _decode(document: Any) -> JsonObject:
    if type(document) is not dict:
        raise SchemaError("", "the document is not an object", KIND)
    api_version, kind = document.get("apiVersion"), document.get("kind")
    where = document_name(document)
    if api_version not in (f"{GROUP}/v1", f"{GROUP}/v1beta1") or kind != KIND:
        raise SchemaError(
            where, f"the document is of kind {kind!r} in {api_version!r}", f"{KIND} in {GROUP}/v1 or v1beta1"
        )
    try:
        decoded: JsonObject = decode_typed(document, definition_type(api_version.rpartition("/")[2]))
    except GoTypeError as error:
        raise SchemaError(where, str(error)) from None
    return decoded


def document_name(document: JsonObject) -> str:
    """Return metadata.name of a document that may be malformed; empty if it has none."""
    metadata = document.get("metadata")
    name = metadata.get("name") if type(metadata) is dict else None
    return name if type(name) is str else ""


def _unusable_webhook(conversion: JsonObject) -> str:
    """Return why a server makes no client of a conversion webhook; empty if it makes one.

    Source: apiextensions-apiserver pkg/apiserver/conversion/webhook_converter.go; apiserver pkg/util/webhook/client.go.
    """
    client = conversion.get("webhook", {}).get("clientConfig", conversion.get("webhookClientConfig"))
    if client is None:
        text = "runtime error: invalid memory address or nil pointer dereference"
        return f"{PANIC}{text} (the conversion has no clientConfig)"
    is_empty = "service" not in client and not client.get("url")
    return f"{UNSERVABLE}: webhook configuration must have either service or URL" if is_empty else ""


def _scope(decoded: JsonObject) -> str:
    scope: str = decoded.get("spec", {}).get("scope", "")
    if not scope and decoded["apiVersion"].endswith("/v1beta1"):
        return "Namespaced"
    return scope


def _defaulted_names(names: JsonObject) -> JsonObject:
    kind = names.get("kind", "")
    return {
        **names,
        "singular": names.get("singular") or kind.lower(),
        "listKind": names.get("listKind") or (f"{kind}List" if kind else ""),
    }


def why_not_served(definition: CustomResourceDefinition) -> str:
    """Return why a server answers 404 for all objects of a definition that is not established."""
    said = [condition for condition in conditions_of(definition.document) if condition.get("type") == "NamesAccepted"][
        :1
    ]
    texts = [
        ": ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key)) for condition in said
    ]
    until = f" until its names are accepted ({texts[0]})" if texts and texts[0] else ""
    return f"{definition.name} is not established: the server answers 404{until}"


def _is_true(conditions: Iterable[JsonObject], kind: str) -> bool:
    """Return whether a condition is true; the first one of a type counts, as in the server."""
    return next((given.get("status") == "True" for given in conditions if given.get("type") == kind), False)


def _versions(spec: JsonObject) -> list[JsonObject]:
    """Return the versions in the form of v1: what all versions share in v1beta1 is copied to each."""
    listed: list[JsonObject] = spec.get("versions", [])
    if not listed and spec.get("version"):
        listed = [{"name": spec["version"], "served": True, "storage": True}]
    hoisted = {
        own: spec[top]
        for top, own in (
            ("validation", "schema"),
            ("subresources", "subresources"),
            ("additionalPrinterColumns", "additionalPrinterColumns"),
            ("selectableFields", "selectableFields"),
        )
        if top in spec
    }
    return [{**version, **hoisted} for version in listed] if hoisted else listed


def _without_schema(version: JsonObject) -> JsonObject:
    return {key: value for key, value in version.items() if key != "schema"}


def _crd_versions(listed: list[JsonObject], preserve: bool, reason: str) -> dict[str, CrdVersion]:
    trees: dict[int, tuple[StructuralSchema | None, StructuralSchema | None]] = {}
    known: dict[Any, StructuralSchema] = {}
    for version in listed:
        props = version.get("schema", {}).get("openAPIV3Schema")
        if id(props) in trees:  # one schema for all versions: one tree
            continue
        tree = structural = None if props is None else build_schema(props, known=known)
        if props is not None and tree is not None:
            try:
                check_convertible(props)
                structural = tree if preserve else prune_defaults(tree)
            except NotStructural as error:
                structural = None
                if not preserve:  # one bad schema leaves the whole definition unserved
                    text = f"{error.where}: {error.found}" if error.where else error.found
                    reason = reason or f"{UNSERVABLE}: version {version.get('name', '')}: {text}"
        trees[id(props)] = (tree, structural)
    made: dict[str, CrdVersion] = {}
    for version in listed:
        tree, structural = trees[id(version.get("schema", {}).get("openAPIV3Schema"))]
        crd_version = _crd_version(version, tree, structural, reason)
        made.setdefault(crd_version.name, crd_version)  # the server uses the first of two versions of the same name
    return made


def _crd_version(
    version: JsonObject, tree: StructuralSchema | None, structural: StructuralSchema | None, reason: str
) -> CrdVersion:
    subresources = version.get("subresources", {})
    scale = subresources.get("scale")
    return CrdVersion(
        name=version.get("name", ""),
        served=version.get("served", False),
        storage=version.get("storage", False),
        schema=tree,
        structural=structural,
        has_status="status" in subresources,
        scale=None
        if scale is None
        else Scale(
            scale.get("specReplicasPath", ""), scale.get("statusReplicasPath", ""), scale.get("labelSelectorPath", "")
        ),
        selectable_fields=tuple(field.get("jsonPath", "") for field in version.get("selectableFields", ())),
        printer_columns=tuple(_column(column) for column in version.get("additionalPrinterColumns", ())),
        unserved_reason=reason,
    )


def _column(column: JsonObject) -> JsonObject:
    return {"jsonPath" if key == "JSONPath" else key: value for key, value in column.items()}
