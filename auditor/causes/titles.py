"""What a cause is called, in one line, and what to do about it, in the words of docs/guide/findings.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from auditor.base.statuses import Impact
from auditor.builtin.builtin_kinds import BUILTIN_KINDS
from auditor.causes.severity import UPGRADE
from auditor.crddiff.change import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.causes.keys import CauseKey


_LOST_SERVICE: Final = re.compile(r'conversion webhook for .*https://([^/.]+)\.([^/.]+)\.svc:.*service "\1" not found')
IMPACT_TITLES: Final = {
    "crashes-server": "ends the API server process when it is read",
    "breaks-list": "cannot be listed or watched",
    "breaks-watch": "breaks watches and controllers",
    "is-deleted": "is deleted as soon as a server runs",
    "blocks-delete": "cannot be deleted",
    "blocks-apply": "fails each server-side apply (Flux, Argo CD)",
    "loses-data": "loses data at the next write",
    "loses-namespace": "is being deleted, with the objects in it",
    "lacks-namespace": "does not exist, but objects are in it",
    "unreadable": "was not read",
    "needs-webhook": "can only be listed by its webhook (--convert-with)",
    "needs-conversion": "can only be read by a conversion webhook",
    "unserved": "is not served",
    "orphaned": "has no definition",
    "sealed": "is encrypted, and there was no key for it",
}
_READ_AT_START: Final = {(kind.group, kind.kind): kind for kind in BUILTIN_KINDS if kind.keeps_from_ready}
TYPE_TITLES: Final = {
    "FieldValueRequired": "Required value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid type",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTooFew": "Too few",
    "FieldValueNotFound": "Not found",
    "UnknownField": "Unknown field",
    "DuplicateField": "Duplicate field",
    **EFFECTS,
}


REMEDIES_OF_IMPACT: Final = {
    "crashes-server": "repair the value; delete the key in etcd if nothing else helps",
    "breaks-list": "repair the value, its definition, webhook or encryption key; delete the key in etcd if nothing "
    "else helps",
    "breaks-watch": "write it anew with `metadata.name` and `metadata.namespace` as in its key, or delete the key in "
    "etcd",
    "is-deleted": "save it before a server runs over the data; apply the definition anew afterwards",
    "needs-webhook": "keep the webhook running; pass `--convert-with` to judge it",
    "blocks-delete": "repair the fields in its findings, then remove the finalizers",
    "blocks-apply": "repair the values that the server names by PUT or merge patch (`kubectl replace`, `kubectl patch "
    "--type merge`)",
    "loses-data": "add the fields to the schema, or accept the loss",
    "unreadable": "see its `reason`: where it was not audited, give `--memory` or `--time` and keep it; else "
    "restore or repair the value",
    "sealed": "pass `--encryption-config` or `--kms-decryptor`",
    "needs-conversion": "pass `--convert-with`, or audit with `--at stored`",
    "unserved": "serve its version again, or delete it; delete or rename the other definition (`reason` has the "
    "server's words)",
    "orphaned": "pass the definition with `--crds`, or delete the key",
    "lacks-namespace": "create the namespace, or delete the objects",
    "loses-namespace": "save the objects before their namespace is gone",
}
"""By impact or status."""
REMEDIES_OF_TYPE: Final = {
    "FieldValueRequired": "set it",
    "FieldValueInvalid": "change it as the message says",
    "FieldValueTypeInvalid": "write it in the type of the schema",
    "FieldValueNotSupported": "use one that the message lists",
    "FieldValueDuplicate": "remove one",
    "FieldValueForbidden": "remove it, or restore the old value",
    **dict.fromkeys(("FieldValueTooLong", "FieldValueTooMany"), "shorten it"),
    "NotFound": "create what is missing first",
    "Conflict": "leave out `resourceVersion` and `uid`, or take those of the stored object",
    "Forbidden": "create the namespace anew when it is gone",
    **dict.fromkeys(EFFECTS, "keep what clients use, or add a version that has the change"),
}
"""By the server's cause of a finding."""
_OTHER: Final = "repair the fields in its findings"
_PATTERN: Final = re.compile(r"(?<=should match )'.*'", re.DOTALL)
_STANDARD: Final = re.compile(r"\bRFC (?:N|[0-9]+)")
_NUMBER: Final = re.compile(r"(?<![A-Za-z_])N(?=(?:[mnu]?s|[mhdk]|[KMGT]i?)?(?![A-Za-z_]))")


def kind_name(group: str, kind: str) -> str:
    """Return a kind with its group."""
    return f"{kind}.{group}" if group else kind


def _impact_title(key: CauseKey) -> str:
    title = IMPACT_TITLES.get(key.impact, key.impact)
    kind = _READ_AT_START.get((key.group, key.kind))
    if key.impact == "crashes-server" and (kind is not None or not key.group):  # a core group has no custom resources
        return "ends the API server process a minute after its start"
    return f"{title}; /readyz fails" if kind is not None and key.impact in ("breaks-list", "breaks-watch") else title


def lost_service_of(message: str) -> str:
    """Return namespace/name of the Service that a conversion webhook lacks (`auditor.plan.run_plan`); empty if none."""
    match = _LOST_SERVICE.search(message)
    return f"{match[2]}/{match[1]}" if match else ""


def remedy_of(impact: str, type_: str, messages: Iterable[str] = ()) -> str:
    """Return what to do about a cause; empty for what an upgrade does, which its answer says."""
    services = set(map(lost_service_of, messages)) if impact == Impact.BREAKS_LIST else set()
    if len(services) == 1 and all(services):
        return f"restore the Service {services.pop()} of the conversion webhook; delete no object for that"
    return REMEDIES_OF_IMPACT.get(impact, "").replace("`", "") if impact else REMEDIES_OF_TYPE.get(type_, _OTHER)


def title_of(key: CauseKey, message: str = "") -> str:
    """Return a line about a cause, without its kind: what the impact is, or the field, what is wrong and a detail.

    Args:
        key: What identifies the cause.
        message: A message of one of its findings, which has a pattern as the definition has it.
    """
    if key.impact == UPGRADE:
        return f"{key.type} {key.form}".rstrip()  # a report has the line itself
    if key.impact:
        return f"{key.form} {_impact_title(key)}".lstrip()
    field = "the object" if key.field == "<nil>" else key.field
    problem = TYPE_TITLES.get(key.type, key.type)
    detail = f"rule {_short(key.rule)}" if key.rule else _short(_detail_of(key.form, problem, message))
    return f"{field}: {problem}: {detail}".removesuffix(": ")


def _detail_of(form: str, problem: str, message: str) -> str:
    """Return what the form of a message says beyond the problem, for people; empty if it says no more.

    `in body should match "^a$"` begins as validators of schemas do. A form has no values (`form_of`): quotes without
    one are shown as an ellipsis, numbers as `<n>`; what it took from patterns, standards and types is put back.
    """
    detail = form.removeprefix("in body ").replace('""', "…").removesuffix(": …")
    detail = detail.replace("float6N", "float64").replace("int6N", "int64")
    begin = message.rfind("should match '")
    pattern = _PATTERN.search(message, begin) if begin >= 0 else None
    standards = _STANDARD.findall(message)
    if standards:
        detail = _STANDARD.sub(standards[-1], detail)
    parts = _PATTERN.split(detail)
    detail = (pattern[0] if pattern else "…").join(_NUMBER.sub("<n>", part) for part in parts)
    return "" if detail.lower().startswith(problem.lower()) else detail


def _short(text: str, longest: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
