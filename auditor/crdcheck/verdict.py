"""The server's answer to creating or updating a definition: preparation, all checks of the strategy, warnings.

Source: apiextensions-apiserver pkg/registry/customresourcedefinition/strategy.go;
pkg/apis/apiextensions/validation/validation.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import SchemaError
from auditor.base.records import Unreadable
from auditor.crdcheck.internal import Internal, internal_form
from auditor.crdcheck.nested_schemas import ServerPanic, everywhere, item_schema
from auditor.crdcheck.parts import check_names
from auditor.crdcheck.relaxed import Demands, demands_of_update
from auditor.crdcheck.spec import check_spec
from auditor.golang.go_text import quote
from auditor.golang.url import UrlError, parse_request_uri
from auditor.releases import changes
from auditor.validation.field_errors import (
    invalid,
    required,
    shown_text,
    shown_texts,
    unique,
)
from auditor.validation.name_checks import subdomain_name
from auditor.validation.objectmeta import check_metadata, check_metadata_update
from auditor.validation.string_formats import applicable

if TYPE_CHECKING:
    from auditor.base.records import Finding, JsonObject


def unknown_formats(form: Internal) -> list[str]:
    """Return the formats that the server does not know, once for each position."""
    return [given for schema in form.schemas() for node in everywhere(schema) if (given := _unknown(node))]


def _unknown(props: JsonObject) -> str:
    given: str = props.get("format", "")
    if not given or not changes.FORMATS_WARN.holds:
        return ""
    type_ = props.get("type", "")
    if type_ != "string" and not changes.NUMBER_FORMATS.holds:
        return ""
    return "" if applicable(given, (type_,) if type_ else ()) else given


def _sets(form: Internal) -> list[str]:
    if not changes.SETS_OF_OBJECTS.holds:
        return []
    kinds = set()
    for schema in form.schemas():
        for node in everywhere(schema):
            items = item_schema(node)
            if node.get("x-kubernetes-list-type") == "set" and items is not None:
                kinds.add(items.get("type", ""))
    return [
        f'x-kubernetes-list-type: set for items of type "{kind}" is not supported by server-side apply or CEL '
        "validation rules"
        for kind in ("array", "object")
        if kind in kinds
    ]


def create_warnings(form: Internal) -> tuple[str, ...]:
    """Return the warnings of a create."""
    return (*(f"unrecognized format {quote(name)}" for name in unknown_formats(form)), *_sets(form))


def update_warnings(form: Internal, old: Internal) -> tuple[str, ...]:
    """Return the warnings of an update: those that the old definition did not have."""
    known = set(unknown_formats(old))
    formats = [f"unrecognized format {quote(name)}" for name in unknown_formats(form) if name not in known]
    before = _sets(old)
    return (*formats, *(text for text in _sets(form) if text not in before))


_APPROVAL: Final = "api-approved.kubernetes.io"
_TOO_DEEP: Final = "the schema is nested too deeply"
_IMMUTABLE: Final = "field is immutable"
_PROTECTED: Final = ("k8s.io", "kubernetes.io")


@dataclass(frozen=True, slots=True)
class CheckedDefinition:
    """The server's answer.

    Attributes:
        findings: Sorted by field, type, message.
        warnings: Those of the API server's strategy.
        unreadable: Why the server cannot decode the document, or the panic that it ends with; all else is then empty.
        unknown_fields: Paths that it would drop, with a warning if the client asks for it.
        stored_versions: ``status.storedVersions`` after the request.
        api_version: API version of the document: v1, or v1beta1, which no server serves any more.
        create: For an update: the answer to the new definition as a create.
        costs: Path and estimated cost of every expression of validation rules that was compiled; one that costs more
            than 10,000,000 is refused, and so is a schema whose expressions cost more than 100,000,000.
    """

    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    unreadable: Unreadable | None = None
    unknown_fields: tuple[str, ...] = ()
    stored_versions: tuple[str, ...] = ()
    api_version: str = "v1"
    create: tuple[Finding, ...] = ()
    costs: tuple[tuple[str, int], ...] = ()

    @property
    def is_served(self) -> bool:
        """Whether a server serves this version of the API."""
        return self.api_version == "v1"


def check_crd(document: Any) -> CheckedDefinition:
    """Return the server's answer to creating a definition.

    A document in v1beta1, which is no longer served, is checked as well.

    Args:
        document: Decoded JSON or YAML.
    """
    try:
        form = internal_form(document)
        answer, costs = _create(form)
        return CheckedDefinition(
            findings=_sorted(answer),
            warnings=create_warnings(form),
            unknown_fields=form.unknown,
            stored_versions=tuple(form.stored_versions),
            api_version=form.api_version,
            costs=tuple(costs),
        )
    except SchemaError as error:
        return CheckedDefinition(unreadable=Unreadable(error.found))
    except ServerPanic as panic:
        return CheckedDefinition(unreadable=Unreadable(str(panic)))
    except RecursionError:
        return CheckedDefinition(unreadable=Unreadable(_TOO_DEEP))


def check_crd_update(old: Any, new: Any) -> CheckedDefinition:
    """Return the server's answer to updating a definition.

    Args:
        old: The stored definition with its status; v1 or v1beta1.
        new: The definition as sent; its status is ignored.
    """
    forms: list[Internal] = []
    for name, document in (("old", old), ("new", new)):
        try:
            forms.append(internal_form(document))
        except SchemaError as error:
            return CheckedDefinition(unreadable=Unreadable(f"{name}: {error.found}"))
        except RecursionError:
            return CheckedDefinition(unreadable=Unreadable(f"{name}: {_TOO_DEEP}"))
    before, after = forms
    try:
        create, _ = _create(internal_form(new))
        answer, costs = _update(after, before)
    except ServerPanic as panic:
        return CheckedDefinition(unreadable=Unreadable(str(panic)))
    except RecursionError:
        return CheckedDefinition(unreadable=Unreadable(f"new: {_TOO_DEEP}"))
    return CheckedDefinition(
        findings=_sorted(answer),
        warnings=update_warnings(after, before),
        unknown_fields=after.unknown,
        stored_versions=tuple(after.stored_versions),
        api_version=after.api_version,
        create=_sorted(create),
        costs=tuple(costs),
    )


def _sorted(found: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda one: one.sort_key()))


def _create(form: Internal) -> tuple[list[Finding], list[tuple[str, int]]]:
    form.status = {}
    form.stored_versions = []
    form.metadata["generation"] = 1
    _store(form)

    def named(name: str, prefix: bool) -> tuple[str, ...]:
        texts = subdomain_name(name, prefix)
        wanted = f"{form.names.get('plural', '')}.{form.group}"
        return texts if name == wanted else (*texts, 'must be spec.names.plural+"."+spec.group')

    findings = unique(check_metadata(form.metadata, namespaced=False, name_rule=named))
    rest, costs = _rest(form, None, Demands())
    return findings + rest, costs


def _update(form: Internal, old: Internal) -> tuple[list[Finding], list[tuple[str, int]]]:
    form.status = old.status
    form.stored_versions = list(old.stored_versions) or _storage_of(old)
    old.stored_versions = list(form.stored_versions)
    if form.differs(old):
        form.metadata["generation"] = old.metadata.get("generation", 0) + 1
    _store(form)
    findings = unique(check_metadata_update(form.metadata, old.metadata))
    findings += _immutable(form, old)
    rest, costs = _rest(form, old, demands_of_update(form, old))
    return findings + rest, costs


def _storage_of(form: Internal) -> list[str]:
    """Return the stored versions that the server assumes for a definition that names none."""
    return [version.get("name", "") for version in form.versions if version.get("storage")][:1]


def _store(form: Internal) -> None:
    """Add the storage version to the stored versions."""
    form.stored_versions += [name for name in _storage_of(form) if name not in form.stored_versions]


def _immutable(form: Internal, old: Internal) -> list[Finding]:
    pairs = [("spec.group", form.group, old.group)]
    pairs.append(("spec.names.plural", form.names.get("plural", ""), old.names.get("plural", "")))
    if old.is_established():
        pairs.append(("spec.scope", form.scope, old.scope))
        pairs.append(("spec.names.kind", form.names.get("kind", ""), old.names.get("kind", "")))
    return [
        invalid("schema", where, new, _IMMUTABLE, shown_text(new) if where == "spec.scope" else None)
        for where, new, was in pairs
        if new != was
    ]


def _rest(form: Internal, old: Internal | None, demands: Demands) -> tuple[list[Finding], list[tuple[str, int]]]:
    findings, costs = check_spec(form, demands)
    findings += check_names(form.status.get("acceptedNames", {}), "status.acceptedNames")
    findings += _stored_versions(form)
    findings += _approval(form, old)
    if form.preserve and not (old is not None and old.preserve):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        findings.append(invalid("schema", "spec.preserveUnknownFields", value=True, detail=detail))
    return findings, costs


def _stored_versions(form: Internal) -> list[Finding]:
    stored, path = form.stored_versions, "status.storedVersions"
    if not stored:
        given: list[str] | None = [] if "storedVersions" in form.status else None
        return [invalid("schema", path, given, "must have at least one stored version", shown_texts(given))]
    names = [version.get("name", "") for version in form.versions]
    left = {name: index for index, name in enumerate(stored)}
    findings: list[Finding] = []
    for name, version in zip(names, form.versions, strict=True):
        # A repeated name is looked up only once.
        if name not in left and version.get("storage"):
            detail = f"must have the storage version {name}"
            findings.append(invalid("schema", path, list(stored), detail, shown_texts(list(stored))))
        left.pop(name, None)
    for name, index in left.items():
        detail = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} from "
            "status.storedVersions"
            if changes.STORED_VERSIONS.holds
            else "must appear in spec.versions"
        )
        findings.append(invalid("schema", f"{path}[{index}]", name, detail))
    return findings


def _approval(form: Internal, old: Internal | None) -> list[Finding]:
    """Check that a group of the Kubernetes community has an approval, unless that did not change."""
    if not any(form.group == group or form.group.endswith(f".{group}") for group in _PROTECTED):
        return []
    annotation: str = (form.metadata.get("annotations") or {}).get(_APPROVAL, "")
    state = _approval_state(annotation)
    if old is not None and _approval_state((old.metadata.get("annotations") or {}).get(_APPROVAL, "")) == state:
        return []
    where = f"metadata.annotations[{_APPROVAL}]"
    text = f"protected groups must have approval annotation {quote(_APPROVAL)}"
    see = ", see https://github.com/kubernetes/enhancements/pull/1111"
    if state == "missing":
        return [required("object-meta", where, text + see)]
    if state == "invalid":
        detail = f'{text} with either a URL or a reason starting with "unapproved"{see}'
        return [invalid("object-meta", where, annotation, detail)]
    return []


def _approval_state(annotation: str) -> str:
    if not annotation:
        return "missing"
    if annotation.startswith("unapproved"):
        return "bypassed"
    try:
        url = parse_request_uri(annotation)
    except UrlError:
        return "invalid"
    return "approved" if url.host and url.scheme else "invalid"
