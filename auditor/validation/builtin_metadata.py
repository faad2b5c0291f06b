"""Checks the metadata of objects of built-in kinds as a server does on a create.

The rules of names by kind: those of the server's validation, asked of kube-apiserver 1.37.2 with bad names for each
kind that it serves. A kind that is not listed has the name of a DNS subdomain.

Source: pkg/apis/*/validation/validation.go, pkg/apis/core/validation/events.go, pkg/registry (PrepareForCreate of the
kinds that count generations); kube-aggregator pkg/apis/apiregistration/validation/validation.go;
apiserver pkg/registry/rest/create.go (BeforeCreate).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.golang.go_text import quote
from auditor.golang.net import GoNetError, parse_addr, parse_ip_sloppy
from auditor.releases import changes
from auditor.validation.field_errors import invalid, unique
from auditor.validation.name_checks import (
    NameRule,
    dns_1035_label,
    dns_label,
    dns_subdomain,
    masked,
    path_segment,
    subdomain_name,
)
from auditor.validation.objectmeta import check_metadata, read_metadata

if TYPE_CHECKING:
    from auditor.base.records import Finding, JsonObject


_CHECK: Final = "object-meta"
_ADMISSION: Final = "admissionregistration.k8s.io"
_NOT_STORED: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups of requests, which have no name that a server would check."""
_BINDING: Final = ("", "Binding")
_EVENT: Final = ("", "v1", "Event")
_UNCHECKED: Final = ("policy", "PodDisruptionBudget")
"""The kind whose own validation leaves the metadata to the check that all kinds share, as that of old events does."""
_LABELS: Final = frozenset({("", "Namespace"), ("apps", "StatefulSet")})
_BYTES: Final = frozenset({("", "ReplicationController"), ("resource.k8s.io", "DeviceClass")})
"""Kinds whose generateName is not checked, and whose names are counted in bytes by the words of the message."""
_ANY_FINALIZER: Final = frozenset(
    {("apiregistration.k8s.io", "APIService"), ("coordination.k8s.io", "Lease"), ("node.k8s.io", "RuntimeClass")}
)
"""Kinds for which a finalizer needs no prefix, beside those of admission."""
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_LONGEST_CRON_JOB: Final = 52
_DRAWN: Final = "xxxxx"
"""Placeholder for the name that a server gives to a LimitRange without one."""
_GENERATIONS: Final = {
    "": ("Pod", "PodTemplate", "ReplicationController"),
    "apps": ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "admissionregistration.k8s.io": (
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    ),
    "autoscaling": ("HorizontalPodAutoscaler",),
    "batch": ("CronJob", "Job"),
    "discovery.k8s.io": ("EndpointSlice",),
    "flowcontrol.apiserver.k8s.io": ("FlowSchema", "PriorityLevelConfiguration"),
    "networking.k8s.io": ("Ingress", "IngressClass", "NetworkPolicy"),
    "policy": ("PodDisruptionBudget",),
    "resource.k8s.io": ("DeviceClass", "DeviceTaintRule", "ResourceSlice"),
    "scheduling.k8s.io": ("PriorityClass",),
}
"""Kinds for which a server sets the first generation itself, whatever the manifest says."""


def has_checked_metadata(group: str, kind: str) -> bool:
    """Return whether a server keeps objects of a built-in kind, and so checks their metadata."""
    return group not in _NOT_STORED and (group, kind) != _BINDING


def check_builtin_metadata(obj: JsonObject, group: str, version: str, kind: str, *, namespaced: bool) -> list[Finding]:
    """Check metadata as on a create.

    Args:
        obj: The object, with the name and the namespace that it would be created with.
        group: Its API group.
        version: Its version.
        kind: Its kind.
        namespaced: Whether objects of the kind have a namespace.

    Returns:
        The findings in the server's order.
    """
    metadata, findings = read_metadata(obj)
    if findings:
        return findings
    key = group, kind
    if kind in _GENERATIONS.get(group, ()):
        metadata = {**metadata, "generation": 1}
    name: str = metadata.get("name", "")
    if key == ("", "Namespace") and name and not metadata.get("generateName"):
        metadata = {**metadata, "labels": {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": name}}
    if key == ("", "LimitRange") and not name:
        metadata = {**metadata, "name": _DRAWN}
    if (group, version, kind) != _EVENT and key != _UNCHECKED:
        findings = check_metadata(metadata, namespaced=namespaced, name_rule=_name_rule(key, obj.get("spec")))
        if group != _ADMISSION and key not in _ANY_FINALIZER:
            findings += _finalizers(metadata)
        if key == ("batch", "CronJob") and len(name) > _LONGEST_CRON_JOB:
            detail = f"must be no more than {_LONGEST_CRON_JOB} characters"
            findings.append(invalid(_CHECK, "metadata.name", name, detail))
    return unique(findings or check_metadata(metadata, namespaced=namespaced, name_rule=path_segment))


def _finalizers(metadata: JsonObject) -> list[Finding]:
    """Check that finalizers without a prefix are those of the server itself."""
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(_CHECK, f"metadata.finalizers[{index}]", text, detail)
        for index, text in enumerate(metadata.get("finalizers") or ())
        if "/" not in text and text not in _STANDARD_FINALIZERS
    ]


def _name_rule(key: tuple[str, str], spec: Any) -> NameRule:
    """Return the rule of the names of a kind; for two kinds it depends on the object's spec."""
    if key == ("certificates.k8s.io", "CertificateSigningRequest"):
        return path_segment
    if key[0] == "rbac.authorization.k8s.io":
        return lambda text, _: path_segment(text, False)
    if key in _LABELS or (key == ("", "Service") and changes.RELAXED_SERVICE_NAMES.holds):
        return _label
    if key == ("", "Service"):
        return _label_1035
    if key == ("networking.k8s.io", "IPAddress"):
        return _address
    spec = spec if type(spec) is dict else {}
    if key == ("apiregistration.k8s.io", "APIService"):
        return lambda text, _: _api_service(text, f"{spec.get('version') or ''}.{spec.get('group') or ''}")
    if key == ("certificates.k8s.io", "ClusterTrustBundle"):
        return lambda text, prefix: _trust_bundle(text, prefix, spec.get("signerName") or "")
    if key in _BYTES:
        return lambda text, prefix: () if prefix else dns_subdomain(text, "bytes")
    return subdomain_name


def _label(text: str, prefix: bool) -> tuple[str, ...]:
    return dns_label(masked(text) if prefix else text)


def _label_1035(text: str, prefix: bool) -> tuple[str, ...]:
    return dns_1035_label(masked(text) if prefix else text)


def _address(text: str, _: bool) -> tuple[str, ...]:
    address = parse_ip_sloppy(text)
    if address is None:
        return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)
    messages: list[str] = []
    try:
        is_mapped = parse_addr(text).is_mapped
    except GoNetError:
        messages.append("must not have leading 0s")
    else:
        if is_mapped:
            messages.append("must not be an IPv4-mapped IPv6 address")
    if text != (shown := str(address)):
        messages.append(f"must be in canonical form ({quote(shown)})")
    return tuple(messages)


def _api_service(text: str, name: str) -> tuple[str, ...]:
    if messages := path_segment(text, False):
        return messages
    return () if text == name else (f'must be `spec.version+"."+spec.group`: {quote(name)}',)


def _trust_bundle(text: str, prefix: bool, signer: str) -> tuple[str, ...]:
    if not signer:
        if ":" in text:
            return ('ClusterTrustBundle without signer name must not have ":" in its name',)
        return subdomain_name(text, prefix)
    start = f"{signer.replace('/', ':')}:"
    if not text.startswith(start):
        return (f"ClusterTrustBundle for signerName {signer} must be named with prefix {start}",)
    return subdomain_name(text.removeprefix(start), prefix)
