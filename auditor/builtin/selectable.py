"""Field selectors of built-in objects: their values, and the labels that a server refuses, with its message.

Source: kubernetes v1.37.2 pkg/apis/{core,batch,events,certificates,resource}/*/conversion.go, pkg/registry/core/*/
strategy.go; apimachinery pkg/runtime/conversion.go (DefaultMetaV1FieldSelectorConversion).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from auditor.base.errors import SelectorError
from auditor.builtin.loose_values import event_at, text, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject


def _at(path: str, default: str = "") -> Callable[[JsonObject], str]:
    return lambda obj: text(obj, path) or default


def _number(path: str) -> Callable[[JsonObject], str]:
    return lambda obj: str(walk(obj, path) or 0)


def _boolean(path: str) -> Callable[[JsonObject], str]:
    return lambda obj: "true" if walk(obj, path) is True else "false"


def _pod_ip(obj: JsonObject) -> str:
    ip, ips = walk(obj, "status.podIP"), walk(obj, "status.podIPs")
    if not ip and type(ips) is list and ips and type(ips[0]) is dict:
        ip = ips[0].get("ip")
    return ip if type(ip) is str else ""


def _event_source(obj: JsonObject) -> str:
    return str(walk(obj, "source.component") or walk(obj, "reportingComponent") or "")


def _service_account(obj: JsonObject) -> str:
    return str(walk(obj, "spec.serviceAccountName") or walk(obj, "spec.serviceAccount") or "")


def _paths(*paths: str) -> dict[str, Callable[[JsonObject], str]]:
    return {path: _at(path) for path in paths}


_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


@dataclass(frozen=True, slots=True)
class Rules:
    """The field selectors of one kind.

    Attributes:
        values: Label to the function that reads its text from the object; without the labels of metadata.
        aliases: Label to the label that it means.
        unmatched: Labels that are accepted and whose value is always empty.
        metadata_namespace: Whether the label metadata.namespace is accepted.
        refusal: The server's message for any other label.
    """

    values: dict[str, Callable[[JsonObject], str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    unmatched: tuple[str, ...] = ()
    metadata_namespace: bool = True
    refusal: str = "field label not supported: {label}"

    def resolve(self, label: str) -> str:
        """Return the label that a label of a selector means.

        Raises:
            SelectorError: It is refused.
        """
        if label == "metadata.name" or (label == "metadata.namespace" and self.metadata_namespace):
            return label
        if label in self.aliases:
            return self.aliases[label]
        if label in self.values or label in self.unmatched:
            return label
        raise SelectorError("", self.refusal.format(label=label))


_DEFAULT: Final = Rules(refusal='"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"')
_RULES: Final[dict[tuple[str, str], Rules]] = {
    ("", "Pod"): Rules(
        values={
            **_paths(
                "spec.nodeName",
                "status.phase",
                "status.nominatedNodeName",
            ),
            "spec.restartPolicy": _at("spec.restartPolicy", "Always"),
            "spec.schedulerName": _at("spec.schedulerName", "default-scheduler"),
            "spec.serviceAccountName": _service_account,
            "spec.hostNetwork": _boolean("spec.hostNetwork"),
            "status.podIP": _pod_ip,
        },
        aliases={"spec.host": "spec.nodeName"},
        unmatched=("status.podIPs",),
    ),
    ("", "Node"): Rules({"spec.unschedulable": _boolean("spec.unschedulable")}, metadata_namespace=False),
    ("", "Namespace"): Rules({"status.phase": _at("status.phase", "Active")}, metadata_namespace=False),
    ("", "Secret"): Rules({"type": _at("type", "Opaque")}),
    ("", "Service"): Rules({**_paths("spec.clusterIP"), "spec.type": _at("spec.type", "ClusterIP")}),
    ("", "ReplicationController"): Rules({"status.replicas": _number("status.replicas")}),
    ("batch", "Job"): Rules(
        {"status.successful": _number("status.succeeded")}, refusal='field label "{label}" not supported for Job'
    ),
    ("", "Event"): Rules(
        {
            **_paths(*(f"involvedObject.{name}" for name in _INVOLVED), "reason", "type", "reportingComponent"),
            "source": _event_source,
        }
    ),
    ("events.k8s.io", "Event"): Rules(
        {
            **_paths(*(f"regarding.{name}" for name in _INVOLVED), "reason", "type", "reportingController"),
        }
    ),
    ("certificates.k8s.io", "CertificateSigningRequest"): Rules(_paths("spec.signerName"), metadata_namespace=False),
    ("certificates.k8s.io", "ClusterTrustBundle"): Rules(_paths("spec.signerName"), metadata_namespace=False),
    ("certificates.k8s.io", "PodCertificateRequest"): Rules(
        _paths("spec.signerName", "spec.podName", "spec.nodeName"), metadata_namespace=False
    ),
    ("resource.k8s.io", "ResourceSlice"): Rules(
        _paths("spec.nodeName", "spec.driver", "spec.pool.name"),
        metadata_namespace=False,
        refusal="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}",
    ),
}


def rules_of(group: str, kind: str) -> Rules:
    """Return the rules of a kind; kinds without their own accept only name and namespace."""
    return _RULES.get((group, kind), _DEFAULT)


def builtin_selectable(group: str, kind: str, obj: JsonObject) -> dict[str, str]:
    """Return label to text for one object: metadata, the kind's own labels, and the labels that are always empty."""
    rules = rules_of(group, kind)
    obj = event_at(obj, group)
    seen = {"metadata.name": _at("metadata.name")(obj)}
    if rules.metadata_namespace:
        seen["metadata.namespace"] = _at("metadata.namespace")(obj)
    seen |= {label: read(obj) for label, read in rules.values.items()}
    return seen | dict.fromkeys(rules.unmatched, "")
