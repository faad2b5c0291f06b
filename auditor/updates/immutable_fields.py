"""Fields of built-in kinds that must not change after a create, and fields whose new values need no validation.

The answers of kube-apiserver 1.37.2 to updates of each kind, by kubectl (tests/updates/record_builtin_updates.py).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from auditor.validation.field_errors import FORBIDDEN, INVALID

IMMUTABLE: Final = "field is immutable"
_NOT_CHANGED: Final = "may not be changed in an update."
_POD_UPDATE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_CLAIM_UPDATE: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_VOLUME_UPDATE: Final = "spec.persistentvolumesource is immutable after creation"


class ImmutableField(NamedTuple):
    """A field that must not change.

    Attributes:
        path: The field, with dots.
        shown: The value in the server's message: ``new``, ``null``, or ``omitted`` where it is the server's own form of
            the value, which the auditor does not print.
        detail: The text after the value.
        type: The server's cause.
        field: The field that the message names, if it is another one.
        once_set: Whether a value may be set where there is none.
    """

    path: str
    shown: str = "new"
    detail: str = IMMUTABLE
    type: str = INVALID
    field: str = ""
    once_set: bool = False


_SELECTOR: Final = ImmutableField("spec.selector")
_ROLE: Final = ImmutableField("roleRef", "capitals")
IMMUTABLE_FIELDS: Final[dict[str, tuple[ImmutableField, ...]]] = {
    "/Node": (
        ImmutableField(
            "spec.podCIDR",
            detail='node updates may not change podCIDR except from "" to valid',
            type=FORBIDDEN,
            field="spec.podCIDRs",
            once_set=True,
        ),
        ImmutableField("spec.providerID", "null", "field cannot be modified once set", once_set=True),
    ),
    "/PersistentVolume": (
        ImmutableField("spec.volumeMode", field="volumeMode"),
        ImmutableField(
            "spec.nodeAffinity",
            "omitted",
            "field is immutable, except for updating from beta label to GA",
            field="nodeAffinity",
            once_set=True,
        ),
    ),
    "/ResourceQuota": (ImmutableField("spec.scopes"),),
    "/Secret": (ImmutableField("type"),),
    "apps/DaemonSet": (_SELECTOR,),
    "apps/Deployment": (_SELECTOR,),
    "apps/ReplicaSet": (_SELECTOR,),
    "apps/StatefulSet": (
        *(_SELECTOR, ImmutableField("spec.serviceName"), ImmutableField("spec.podManagementPolicy")),
        ImmutableField("spec.volumeClaimTemplates", "omitted"),
    ),
    "batch/Job": (
        *(ImmutableField("spec.completionMode"), ImmutableField("spec.managedBy"), _SELECTOR),
        ImmutableField("spec.podFailurePolicy", "omitted"),
    ),
    "discovery.k8s.io/EndpointSlice": (ImmutableField("addressType", "null"),),
    "networking.k8s.io/IPAddress": (ImmutableField("spec.parentRef", "null"),),
    "networking.k8s.io/IngressClass": (ImmutableField("spec.controller"),),
    "node.k8s.io/RuntimeClass": (ImmutableField("handler", "null"),),
    "rbac.authorization.k8s.io/ClusterRoleBinding": (_ROLE,),
    "rbac.authorization.k8s.io/RoleBinding": (_ROLE,),
    "resource.k8s.io/ResourceClaim": (ImmutableField("spec", "null"),),
    "resource.k8s.io/ResourceClaimTemplate": (ImmutableField("spec", "omitted"),),
    "resource.k8s.io/ResourceSlice": (
        *(ImmutableField("spec.driver"), ImmutableField("spec.nodeName"), ImmutableField("spec.pool.name")),
    ),
    "scheduling.k8s.io/PriorityClass": (
        *(ImmutableField("value", detail=_NOT_CHANGED, type=FORBIDDEN), ImmutableField("preemptionPolicy")),
    ),
    "storage.k8s.io/CSIDriver": (
        ImmutableField("spec.attachRequired", field="spec.attachedRequired"),
        ImmutableField("spec.volumeLifecycleModes"),
    ),
    "storage.k8s.io/CSIStorageCapacity": (ImmutableField("nodeTopology"), ImmutableField("storageClassName")),
    "storage.k8s.io/StorageClass": tuple(
        ImmutableField(name, "null") for name in ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")
    ),
    "storage.k8s.io/VolumeAttachment": (ImmutableField("spec", "null"),),
    "storage.k8s.io/VolumeAttributesClass": tuple(
        ImmutableField(name, detail=f"updates to {name} are forbidden.", type=FORBIDDEN)
        for name in ("driverName", "parameters")
    ),
}
POD_SPEC: Final = ImmutableField("spec", detail=_POD_UPDATE, type=FORBIDDEN)
POD_CONTAINERS: Final = ImmutableField(
    "spec.containers", detail="pod updates may not add or remove containers", type=FORBIDDEN
)
CLAIM_SPEC: Final = ImmutableField("spec", detail=_CLAIM_UPDATE, type=FORBIDDEN)
VOLUME_SOURCE: Final = ImmutableField("spec.persistentvolumesource", detail=_VOLUME_UPDATE, type=FORBIDDEN)

_TEMPLATE: Final = {
    "metadata.annotations": "metadata",
    "spec.containers[].image": "image",
    "spec.initContainers[].image": "image",
    "spec.containers[].env[].value": "any",
    "spec.initContainers[].env[].value": "any",
}


def _with_template(path: str, **fields: str) -> dict[str, str]:
    return {f"{path}.{name}": check for name, check in _TEMPLATE.items()} | {
        f"spec.{name}": check for name, check in fields.items()
    }


_PODS: Final = "spec.template"
CHECKED_FIELDS: Final[dict[str, dict[str, str]]] = {
    "/ConfigMap": {"data": "data", "binaryData": "data", "immutable": "any"},
    "/Namespace": {},
    "/Node": {"spec.unschedulable": "any"},
    "/Pod": {"spec.containers[].image": "image", "spec.initContainers[].image": "image"},
    "/ReplicationController": {"spec.replicas": "count"},
    "/Secret": {"data": "data", "immutable": "any", "type": "data"},
    "/ServiceAccount": {"automountServiceAccountToken": "any", "secrets": "any", "imagePullSecrets": "any"},
    "/Service": {"spec.selector": "labels"},
    "apps/ControllerRevision": {"revision": "count"},
    "apps/DaemonSet": _with_template(_PODS, revisionHistoryLimit="count", minReadySeconds="count"),
    "apps/Deployment": _with_template(_PODS, replicas="count", revisionHistoryLimit="count", paused="any"),
    "apps/ReplicaSet": _with_template(_PODS, replicas="count", minReadySeconds="count"),
    "apps/StatefulSet": _with_template(_PODS, replicas="count", revisionHistoryLimit="count", minReadySeconds="count"),
    "batch/CronJob": _with_template(
        "spec.jobTemplate.spec.template",
        suspend="any",
        successfulJobsHistoryLimit="count",
        failedJobsHistoryLimit="count",
    ),
    "batch/Job": {
        **dict.fromkeys(("spec.parallelism", "spec.backoffLimit", "spec.activeDeadlineSeconds"), "count"),
        "spec.ttlSecondsAfterFinished": "count",
        "spec.suspend": "any",
    },
    "rbac.authorization.k8s.io/ClusterRole": {"rules": "rules"},
    "rbac.authorization.k8s.io/ClusterRoleBinding": {"subjects": "subjects"},
    "rbac.authorization.k8s.io/Role": {"rules": "rules"},
    "rbac.authorization.k8s.io/RoleBinding": {"subjects": "subjects"},
    "scheduling.k8s.io/PriorityClass": {"description": "any"},
    "storage.k8s.io/CSIDriver": {"spec.podInfoOnMount": "any", "spec.storageCapacity": "any"},
    "storage.k8s.io/StorageClass": {"allowVolumeExpansion": "any"},
}
"""By kind the fields whose new values are checked here: ``any`` value that decodes, a ``count`` from 0, the name of an
``image``, ``labels``, labels or annotations of a template (``metadata``), ``rules`` and ``subjects`` of roles, or the
``data`` of a ConfigMap or Secret. Other fields of a kind are not validated."""

_SECONDS: Final = 300
_TOLERATED: Final = [
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
    for name in ("not-ready", "unreachable")
]
DEFAULTS: Final[dict[str, tuple[Any, ...]]] = {
    "allocateLoadBalancerNodePorts": (True,),
    "apiVersion": ("v1",),
    "attachRequired": (True,),
    "backoffLimit": (6,),
    "completionMode": ("NonIndexed",),
    "completions": (1,),
    "concurrencyPolicy": ("Allow",),
    "count": (1,),
    "allocationMode": ("ExactCount",),
    "defaultMode": (420,),
    "dnsPolicy": ("ClusterFirst",),
    "enableServiceLinks": (True,),
    "externalTrafficPolicy": ("Cluster",),
    "failedJobsHistoryLimit": (1,),
    "failurePolicy": ("Fail",),
    "failureThreshold": (3,),
    "finalizers": (["kubernetes"],),
    "imagePullPolicy": ("Always", "IfNotPresent"),
    "internalTrafficPolicy": ("Cluster",),
    "kind": ("PersistentVolumeClaim",),
    "lendablePercent": (0,),
    "matchPolicy": ("Equivalent",),
    "minReplicas": (1,),
    "parallelism": (1,),
    "periodSeconds": (10,),
    "persistentVolumeClaimRetentionPolicy": ({"whenDeleted": "Retain", "whenScaled": "Retain"},),
    "podManagementPolicy": ("OrderedReady",),
    "podReplacementPolicy": ("TerminatingOrFailed",),
    "port": (443,),
    "preemptionPolicy": ("PreemptLowerPriority",),
    "preventPodSchedulingIfMissing": (False,),
    "priority": (0,),
    "progressDeadlineSeconds": (600,),
    "protocol": ("TCP",),
    "reclaimPolicy": ("Delete",),
    "replicas": (1,),
    "requiresRepublish": (False,),
    "restartPolicy": ("Always",),
    "revisionHistoryLimit": (10,),
    "schedulerName": ("default-scheduler",),
    "scheme": ("HTTP",),
    "seLinuxMount": (False,),
    "sessionAffinity": ("None",),
    "storageCapacity": (False,),
    "strategy": ({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},),
    "successThreshold": (1,),
    "successfulJobsHistoryLimit": (3,),
    "status": ({"phase": "Pending"},),
    "terminationGracePeriodSeconds": (30,),
    "terminationMessagePath": ("/dev/termination-log",),
    "terminationMessagePolicy": ("File",),
    "timeoutSeconds": (1, 10),
    "spec": ({"finalizers": ["kubernetes"]},),
    "tolerations": (_TOLERATED,),
    "type": ("Opaque", "ClusterIP"),
    "updateStrategy": (
        {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "partition": 0}},
        {"type": "RollingUpdate"},
    ),
    "volumeBindingMode": ("Immediate",),
    "volumeLifecycleModes": (["Persistent"],),
    "volumeMode": ("Filesystem",),
}
"""By the name of a field the values that the server gives it where a manifest leaves it out."""

MERGE_KEYS: Final = {
    **dict.fromkeys(("containers", "initContainers", "ephemeralContainers", "volumes", "env"), "name"),
    **dict.fromkeys(("imagePullSecrets", "secrets", "webhooks", "schedulingGates", "resourceClaims"), "name"),
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "hostAliases": "ip",
    "ownerReferences": "uid",
    "topologySpreadConstraints": "topologyKey",
}
"""By the name of a list the key by which `kubectl apply` merges its items; other lists are replaced."""
