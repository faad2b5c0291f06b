"""The answer to an update of an object of a built-in kind, apart from its metadata.

It is refused for a field that must not change, accepted if all that changes is validated here, and else not known.

Source: kubernetes pkg/apis/*/validation (ValidateUpdate of each kind), pkg/registry (strategies); the answers of
kube-apiserver 1.37.2 (tests/updates/record_builtin_updates.py).
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.base.records import Finding
from auditor.builtin.scheme import plural_of
from auditor.golang.jsontext import encode
from auditor.updates.differences import EMPTY, Difference, differences
from auditor.updates.immutable_fields import (
    CHECKED_FIELDS,
    CLAIM_SPEC,
    IMMUTABLE,
    IMMUTABLE_FIELDS,
    POD_CONTAINERS,
    POD_SPEC,
    VOLUME_SOURCE,
    ImmutableField,
)
from auditor.validation.field_errors import FORBIDDEN, INVALID, finding, invalid, required
from auditor.validation.name_checks import dns_subdomain, path_segment
from auditor.validation.objectmeta import check_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.base.records import JsonObject

_CHECK: Final = "schema"
_MOST_NAMED: Final = 3
_FROZEN: Final = "field is immutable when `immutable` is set"
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_CONFIG_KEY_DETAIL: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_LONGEST_KEY: Final = 253
_MOST_BYTES: Final = 1 << 20
_MOST_COUNT: Final = 100_000
"""Most pods that an indexed Job runs at once; no count that is smaller is too large for a kind."""
_VOLUME_FIELDS: Final = frozenset(
    {
        *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy"),
        *("storageClassName", "volumeAttributesClassName", "volumeMode"),
    }
)
"""Fields of the spec of a PersistentVolume that are no source."""
_TEMPLATE: Final = ImmutableField("spec.template", "omitted")
_GATED: Final = ("spec.nodeSelector", "spec.affinity", "spec.schedulingGates", "spec.tolerations")
_POD_OPEN: Final = frozenset({"spec.activeDeadlineSeconds", "spec.tolerations"})
"""Fields of a pod that may change, some only in one direction."""
_POD_IMAGES: Final = re.compile(r"spec\.(initContainers|containers|ephemeralContainers)\[\]\.image")


class ChangeAnswer(NamedTuple):
    """The answer to a change.

    Attributes:
        code: HTTP status; None if it is not known.
        findings: Why it is refused.
        reason: Why the answer is not known; empty if it is.
    """

    code: int | None
    findings: tuple[Finding, ...] = ()
    reason: str = ""


def refused(code: int, type_: str, message: str) -> ChangeAnswer:
    """Return the answer of a server that refuses an object as a whole.

    Args:
        code: HTTP status.
        type_: The reason of the status, e.g. ``Conflict``.
        message: The server's message.
    """
    return ChangeAnswer(code, (Finding("<nil>", type_, None, message, message, "request"),))


def resource_name(group: str, kind: str) -> str:
    """Return the plural of a built-in kind with its group, as it is in messages."""
    return ".".join(part for part in (plural_of(group, kind), group) if part)


def _has_null_item(value: Any) -> bool:
    if type(value) is dict:
        return any(map(_has_null_item, value.values()))
    return type(value) is list and any(item is None or _has_null_item(item) for item in value)


def _at(obj: Any, path: str) -> Any:
    for step in path.split("."):
        obj = obj.get(step) if type(obj) is dict else None
    return obj


# -- fields that must not change ---------------------------------------------------------------------------------------


class _Update:
    """One update while it is judged; `left` are the differences that nothing has explained yet."""

    def __init__(self, label: str, new: JsonObject, old: JsonObject) -> None:
        self.label = label
        self.new = new
        self.old = old
        self.left = [
            each
            for name in sorted({*new, *old} - {"apiVersion", "kind", "metadata", "status"})
            for each in differences(new.get(name), old.get(name), name)
        ]
        self.found: list[Finding] = []

    def below(self, path: str) -> list[Difference]:
        """Return the differences at a path or below it."""
        return [each for each in self.left if re.match(rf"{re.escape(path)}(?![^.\[])", each.path)]

    def settle(self, settled: Iterable[Difference]) -> None:
        """Remove differences that are explained."""
        gone = list(settled)
        self.left = [each for each in self.left if each not in gone]

    def refuse(self, field: ImmutableField, value: Any = None) -> None:
        """Report a field that must not change."""
        where = field.field or field.path
        if field.type == FORBIDDEN:
            self.found.append(finding(_CHECK, where, FORBIDDEN, None, field.detail))
            return
        bad = None if field.shown == "null" else value
        if field.shown == "capitals":
            bad = {"APIGroup": "", "Kind": "", "Name": ""}
            bad |= {name[0].upper() + name[1:].replace("piGroup", "PIGroup"): text for name, text in value.items()}
        shown = encode(bad) if field.shown == "capitals" else None
        is_omitted = field.shown == "omitted"
        self.found.append(finding(_CHECK, where, INVALID, bad, field.detail, shown, omitted=is_omitted))

    def compare(self, field: ImmutableField) -> None:
        """Refuse the update if it changes a field for certain."""
        below = self.below(field.path)
        old, new = _at(self.old, field.path), _at(self.new, field.path)
        if not below or (field.once_set and old in EMPTY):
            return
        if any(each.is_certain for each in below) or (new in EMPTY and old not in EMPTY and not field.once_set):
            self.settle(below)
            self.refuse(field, new)


def _frozen(update: _Update) -> None:
    if update.old.get("immutable") is not True:
        return
    fields = ("immutable", "data") if update.label == "/Secret" else ("immutable", "data", "binaryData")
    for name in fields:
        if below := update.below(name):
            update.settle(below)
            update.refuse(ImmutableField(name, detail=_FROZEN, type=FORBIDDEN))


def _pod(update: _Update) -> None:
    names = [[item.get("name") for item in _at(obj, "spec.containers") or ()] for obj in (update.new, update.old)]
    if len(names[0]) != len(names[1]):
        update.left = []
        update.refuse(POD_CONTAINERS)
        return
    is_gated = bool(_at(update.old, "spec.schedulingGates"))
    open_fields = {*_POD_OPEN, *(_GATED if is_gated else ())}
    below = [
        each
        for each in update.below("spec")
        if not _POD_IMAGES.fullmatch(each.path)
        and not any(each.path.startswith(name) for name in open_fields)
        and not (each.path == "spec.terminationGracePeriodSeconds" and (each.old or 0) < 0)
    ]
    node = _at(update.old, "spec.nodeName") and not _at(update.new, "spec.nodeName")
    if node or any(each.is_certain for each in below):
        update.settle(below)
        update.refuse(POD_SPEC)


def _claim(update: _Update) -> None:
    is_bound = _at(update.old, "status.phase") == "Bound"
    below = [
        each
        for each in update.below("spec")
        if not (each.path in ("spec.volumeName", "spec.storageClassName") and each.old in EMPTY)
        and not (is_bound and each.path.startswith(("spec.resources.requests", "spec.volumeAttributesClassName")))
    ]
    if any(each.is_certain or (each.path.count(".") == 1 and each.old not in EMPTY) for each in below):
        update.settle(below)
        update.refuse(CLAIM_SPEC)


def _volume(update: _Update) -> None:
    below = [
        each
        for each in update.below("spec")
        if each.path.split(".")[1].removesuffix("[]") not in _VOLUME_FIELDS
        and not each.path.startswith("spec.csi.controllerExpandSecretRef")
    ]
    if any(each.is_certain for each in below):
        update.settle(below)
        update.refuse(VOLUME_SOURCE)


def _service(update: _Update) -> None:
    new, old = update.new.get("spec") or {}, update.old.get("spec") or {}
    types = [spec.get("type") or "ClusterIP" for spec in (new, old)]
    completed = (
        "spec.clusterIP",
        "spec.clusterIPs",
        "spec.ipFamilies",
        "spec.ipFamilyPolicy",
        "spec.ports[].targetPort",
    )
    update.settle(each for each in update.left if each.path in completed and each.new is None)
    address = new.get("clusterIP")
    if "ExternalName" not in types and address and old.get("clusterIP") and address != old["clusterIP"]:
        update.settle([*update.below("spec.clusterIP"), *update.below("spec.clusterIPs")])
        field = ImmutableField("spec.clusterIPs[0]", detail="may not change once set")
        update.refuse(field, [address])
    if types == ["LoadBalancer", "LoadBalancer"] and update.below("spec.loadBalancerClass"):
        update.settle(update.below("spec.loadBalancerClass"))
        field = ImmutableField("spec.loadBalancerClass", detail="may not change once set")
        update.refuse(field, new.get("loadBalancerClass") or None)


def _job(update: _Update) -> None:
    is_indexed = _at(update.old, "spec.completionMode") == "Indexed"
    completions = _at(update.new, "spec.completions")
    if below := [each for each in update.below("spec.completions") if each.is_certain or each.new is None]:
        together = is_indexed and completions == _at(update.new, "spec.parallelism")
        detail = "can only be modified in tandem with spec.parallelism" if is_indexed else IMMUTABLE
        update.settle(below)
        if not together:
            update.refuse(ImmutableField("spec.completions", detail=detail), completions)
    if _at(update.old, "spec.selector") and not _at(update.new, "spec.selector"):
        labels = _at(update.new, "spec.template.metadata.labels")
        update.found.append(required(_CHECK, "spec.selector", ""))
        update.found.append(_mismatch(labels))
        if _at(update.old, "spec.suspend") is not True:
            update.settle(update.below("spec.template"))
            update.refuse(_TEMPLATE)
    if _at(update.old, "spec.suspend") is not True:  # while it is suspended, directives for the scheduler may change
        update.compare(_TEMPLATE)


def _mismatch(labels: Any) -> Finding:
    detail = "`selector` does not match template `labels`"
    return invalid(_CHECK, "spec.template.metadata.labels", labels or None, detail)


def _selected(update: _Update) -> None:
    """Check that the selector of a workload selects the pods of its template."""
    selector, labels = _at(update.new, "spec.selector") or {}, _at(update.new, "spec.template.metadata.labels") or {}
    below = update.below("spec.template.metadata.labels")
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(name) != value for name, value in wanted.items()):
        update.settle(below)
        update.found.append(_mismatch(labels))
    elif below and not selector.get("matchExpressions") and not _bad_metadata({"labels": labels}):
        update.settle(below)


def _ranges(update: _Update) -> None:
    new, old = _at(update.new, "spec.cidrs"), _at(update.old, "spec.cidrs")
    if type(new) is list and type(old) is list and len(new) == len(old):
        update.settle(update.below("spec.cidrs"))
        for index, (ours, theirs) in enumerate(zip(new, old, strict=True)):
            if ours != theirs:
                update.refuse(ImmutableField(f"spec.cidrs[{index}]"), ours)


def _revision(update: _Update) -> None:
    new, old = update.new.get("data"), update.old.get("data")
    if new != old:  # any JSON, in which null is a value
        update.settle(update.below("data"))
        update.refuse(ImmutableField("data"), new)


def _drivers(update: _Update) -> None:
    new, old = (
        {item.get("name"): {**item, "allocatable": None} for item in _at(obj, "spec.drivers") or ()}
        for obj in (update.new, update.old)
    )
    for name, driver in new.items():
        if any(each.is_certain for each in differences(driver, old.get(name, driver))):
            update.settle(update.below("spec.drivers"))
            update.refuse(ImmutableField("spec.drivers", "omitted"))


_RULES: Final = {
    "/ConfigMap": _frozen,
    "/PersistentVolume": _volume,
    "/PersistentVolumeClaim": _claim,
    "/Pod": _pod,
    "/Secret": _frozen,
    "/Service": _service,
    **dict.fromkeys(("apps/DaemonSet", "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet"), _selected),
    "apps/ControllerRevision": _revision,
    "batch/Job": _job,
    "networking.k8s.io/ServiceCIDR": _ranges,
    "storage.k8s.io/CSINode": _drivers,
}


# -- new values --------------------------------------------------------------------------------------------------------


def _bad_metadata(metadata: JsonObject) -> bool:
    return bool(check_metadata({"name": "x", **metadata}, namespaced=False, name_rule=path_segment))


def _is_checked(update: _Update, each: Difference) -> bool:
    """Return whether the new value of a field is valid for certain."""
    for name, check in CHECKED_FIELDS.get(update.label, {}).items():
        is_below = each.path == name or each.path.startswith(f"{name}.") or each.path.startswith(f"{name}[")
        if not is_below:
            continue
        if check == "count":
            return type(each.new) is int and 0 <= each.new <= _MOST_COUNT
        if check == "image":
            return type(each.new) is str and bool(each.new) and each.new == each.new.strip()
        if check == "metadata":
            place, _, field = name.rpartition(".")
            return not _bad_metadata({field: _at(update.new, f"{place}.{field}") or {}})
        if check == "labels":
            return not _bad_metadata({"labels": _at(update.new, name) or {}})
        if check == "rules":
            return all(_is_rule(rule, update.label) for rule in update.new.get("rules") or ())
        if check == "subjects":
            return all(map(_is_subject, update.new.get("subjects") or ()))
        if check == "any":
            return not name.endswith("value") or (type(each.new) is str and type(each.old) is str)
        return True  # data, which are validated as a whole
    return False


def _is_rule(rule: Any, label: str) -> bool:
    """Return whether a rule of a role is valid for certain."""
    groups, resources, urls = (bool(rule.get(name)) for name in ("apiGroups", "resources", "nonResourceURLs"))
    if urls:
        return bool(rule.get("verbs")) and not (groups or resources) and label.endswith("ClusterRole")
    return bool(rule.get("verbs")) and groups and resources


def _is_subject(subject: Any) -> bool:
    """Return whether a subject of a role binding is valid for certain."""
    name, group = subject.get("name"), subject.get("apiGroup") or ""
    if subject.get("kind") == "ServiceAccount":
        is_named = bool(name) and not dns_subdomain(name) and bool(subject.get("namespace"))
        return is_named and not group
    return bool(name) and subject.get("kind") in ("User", "Group") and group in ("", "rbac.authorization.k8s.io")


def _data_faults(label: str, obj: JsonObject) -> Iterator[Finding]:
    """Yield the faults in the data of a ConfigMap or Secret."""
    data, binary = (obj.get(name) or {} for name in ("data", "binaryData"))
    for field, values in (("data", data), ("binaryData", binary)):
        for key in sorted(values):
            for detail in _key_faults(key):
                yield invalid(_CHECK, f"{field}[{key}]", key, detail)
            if field == "data" and key in binary:
                yield invalid(_CHECK, f"data[{key}]", key, "duplicate of key present in binaryData")
    if label == "/Secret" and obj.get("type") == "kubernetes.io/tls":
        yield from (required(_CHECK, f"data[{key}]", "") for key in ("tls.crt", "tls.key") if key not in data)


def _key_faults(key: str) -> Iterator[str]:
    if len(key) > _LONGEST_KEY:
        yield f"must be no more than {_LONGEST_KEY} characters"
    if not _CONFIG_KEY.fullmatch(key):
        yield _CONFIG_KEY_DETAIL
    if key in (".", ".."):
        yield f"must not be '{key}'"
    elif key.startswith(".."):
        yield "must not start with '..'"


def _unchecked_data(label: str, obj: JsonObject) -> str:
    """Return why the data of a ConfigMap or Secret may be invalid; empty if they are not."""
    values = [*(obj.get("data") or {}).values(), *(obj.get("binaryData") or {}).values()]
    if not all(type(value) is str for value in values):
        return "values of its data are no texts"
    if sum(len(value.encode("utf-8", "surrogatepass")) for value in values) > _MOST_BYTES:
        return "its data may be larger than a server accepts"
    kind = obj.get("type") or "Opaque"
    if label == "/Secret" and "kubernetes.io/" in kind and kind != "kubernetes.io/tls":
        return f"data of a Secret of type {kind} are not validated"
    return ""


def with_string_data(obj: JsonObject) -> JsonObject:
    """Return a Secret with its stringData in its data, as a server stores it."""
    texts = obj.get("stringData")
    if type(texts) is not dict:
        return obj
    data = {name: base64.b64encode(str(text).encode()).decode() for name, text in texts.items()}
    return {**obj, "stringData": None, "data": {**(obj.get("data") or {}), **data}}


def judge_values(group: str, kind: str, new: JsonObject, old: JsonObject | None) -> ChangeAnswer:
    """Return the answer to a change of an object, apart from its metadata.

    Args:
        group: API group.
        kind: Kind.
        new: The object as the server gets it; it decodes.
        old: The stored object, at the same version; None for a create.
    """
    label = f"{group}/{kind}"
    if _has_null_item([new, old or {}]):
        return ChangeAnswer(None, (), "null in a list")
    update = _Update(label, new, old or {})
    if old is not None:
        if label in _RULES:
            _RULES[label](update)
        for field in IMMUTABLE_FIELDS.get(label, ()):
            update.compare(field)
    is_data = label in ("/ConfigMap", "/Secret")
    if is_data and (update.left or update.found):
        update.found += _data_faults(label, new)
    if update.found:
        return ChangeAnswer(422, tuple(sorted(update.found, key=Finding.sort_key)))
    left = list(dict.fromkeys(each.path for each in update.left if not _is_checked(update, each)))
    if is_data and update.left and (why := _unchecked_data(label, new)):
        return ChangeAnswer(None, (), why)
    if left:
        more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        what = "changes" if old is not None else "has"
        reason = f"it {what} {', '.join(left[:_MOST_NAMED])}{more}, which is not validated for this kind"
        return ChangeAnswer(None, (), reason)
    return ChangeAnswer(200 if old is not None else 201)
