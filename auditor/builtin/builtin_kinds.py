"""The built-in kinds of a 1.37 server that have stored objects: names, scope, key prefixes, ranks of their groups.

Source: kubernetes pkg/registry/*/storage (names, categories), pkg/controlplane/apiserver (group priorities),
pkg/kubeapiserver/default_storage_factory_builder.go (keys).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class BuiltinKind:
    """One kind at the version that clients request by default.

    Attributes:
        prefix: First segments of its keys below the prefix of the server.
        keeps_from_ready: /readyz of a server fails as long as the server cannot list the kind.
        ends_server: A server that cannot list the kind ends a minute after its start.
    """

    group: str
    version: str
    kind: str
    plural: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool = True
    prefix: str = ""
    keeps_from_ready: bool = False
    ends_server: bool = False

    @property
    def singular(self) -> str:
        """The kind in lower case, as for all built-in kinds."""
        return self.kind.lower()


# group, version: Kind plural[=key prefix] [short,short] [*: category all] [+: api-extensions] [-: cluster-scoped]
# [!: /readyz fails without it] [^: a server ends without it]
_TABLE: Final = """
 v1
  ConfigMap configmaps cm
  Endpoints endpoints=services/endpoints ep
  Event events ev
  LimitRange limitranges limits !
  Namespace namespaces ns - !
  Node nodes=minions no - !
  PersistentVolume persistentvolumes pv - !
  PersistentVolumeClaim persistentvolumeclaims pvc
  Pod pods po * !
  PodTemplate podtemplates
  ReplicationController replicationcontrollers=controllers rc *
  ResourceQuota resourcequotas quota !
  Secret secrets !
  Service services=services/specs svc * ! ^
  ServiceAccount serviceaccounts sa !
apiregistration.k8s.io v1
  APIService apiservices=apiregistration.k8s.io/apiservices - + !
apps v1
  ControllerRevision controllerrevisions
  DaemonSet daemonsets ds *
  Deployment deployments deploy *
  ReplicaSet replicasets rs *
  StatefulSet statefulsets sts *
events.k8s.io v1
  Event events ev
autoscaling v2
  HorizontalPodAutoscaler horizontalpodautoscalers hpa *
autoscaling v1
  HorizontalPodAutoscaler horizontalpodautoscalers hpa *
batch v1
  CronJob cronjobs cj *
  Job jobs *
certificates.k8s.io v1
  CertificateSigningRequest certificatesigningrequests csr -
  ClusterTrustBundle clustertrustbundles -
  PodCertificateRequest podcertificaterequests !
networking.k8s.io v1
  IPAddress ipaddresses ip - ! ^
  Ingress ingresses=ingress ing
  IngressClass ingressclasses - !
  NetworkPolicy networkpolicies netpol
  ServiceCIDR servicecidrs - ! ^
policy v1
  PodDisruptionBudget poddisruptionbudgets pdb
rbac.authorization.k8s.io v1
  ClusterRole clusterroles - !
  ClusterRoleBinding clusterrolebindings - !
  Role roles !
  RoleBinding rolebindings !
storage.k8s.io v1
  CSIDriver csidrivers -
  CSINode csinodes -
  CSIStorageCapacity csistoragecapacities
  StorageClass storageclasses sc - !
  VolumeAttachment volumeattachments - !
  VolumeAttributesClass volumeattributesclasses vac -
admissionregistration.k8s.io v1
  MutatingAdmissionPolicy mutatingadmissionpolicies - + !
  MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings - + !
  MutatingWebhookConfiguration mutatingwebhookconfigurations - + !
  ValidatingAdmissionPolicy validatingadmissionpolicies - + !
  ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings - + !
  ValidatingWebhookConfiguration validatingwebhookconfigurations - + !
apiextensions.k8s.io v1
  CustomResourceDefinition customresourcedefinitions=apiextensions.k8s.io/customresourcedefinitions crd,crds - + !
scheduling.k8s.io v1
  PriorityClass priorityclasses pc - !
scheduling.k8s.io v1beta1
  PodGroup podgroups
  Workload workloads
coordination.k8s.io v1
  Lease leases
coordination.k8s.io v1beta1
  LeaseCandidate leasecandidates
node.k8s.io v1
  RuntimeClass runtimeclasses - !
discovery.k8s.io v1
  EndpointSlice endpointslices !
flowcontrol.apiserver.k8s.io v1
  FlowSchema flowschemas - !
  PriorityLevelConfiguration prioritylevelconfigurations - !
internal.apiserver.k8s.io v1alpha1
  StorageVersion storageversions -
resource.k8s.io v1
  DeviceClass deviceclasses - !
  ResourceClaim resourceclaims !
  ResourceClaimTemplate resourceclaimtemplates
  ResourceSlice resourceslices - !
  DeviceTaintRule devicetaintrules -
storagemigration.k8s.io v1
  StorageVersionMigration storageversionmigrations -
"""


def _kinds() -> tuple[BuiltinKind, ...]:
    out = []
    group = version = ""
    for line in _TABLE.strip("\n").splitlines():
        if not line.startswith("  "):
            group, _, version = line.rpartition(" ")
            continue
        kind, plural, *rest = line.split()
        name, _, prefix = plural.partition("=")
        shorts = [word for word in rest if word not in ("*", "+", "-", "!", "^")]
        out.append(
            BuiltinKind(
                group=group,
                version=version,
                kind=kind,
                plural=name,
                short_names=tuple(shorts[0].split(",")) if shorts else (),
                categories=tuple(name for mark, name in (("*", "all"), ("+", "api-extensions")) if mark in rest),
                namespaced="-" not in rest,
                prefix=prefix or name,
                keeps_from_ready="!" in rest,
                ends_server="^" in rest,
            )
        )
    return tuple(out)


BUILTIN_KINDS: Final = _kinds()
"""In discovery order of groups."""

REQUEST_KINDS: Final = (
    BuiltinKind("", "v1", "Binding", "bindings"),
    BuiltinKind("", "v1", "ComponentStatus", "componentstatuses", ("cs",), namespaced=False),
    BuiltinKind("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False),
    BuiltinKind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False),
    BuiltinKind("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews"),
    BuiltinKind("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False),
    BuiltinKind("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False),
    BuiltinKind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False),
)
"""Kinds without stored objects: a server answers requests for them and stores nothing."""

_BY_RESOURCE: Final = {(kind.group, kind.version, kind.plural): kind for kind in BUILTIN_KINDS}
_GROUPS: Final = [*dict.fromkeys(kind.group for kind in BUILTIN_KINDS)]
_AFTER_EVENTS: Final = _GROUPS.index("events.k8s.io") + 1
_GROUPS[_AFTER_EVENTS:_AFTER_EVENTS] = ["authentication.k8s.io", "authorization.k8s.io"]
_RANK: Final = {group: rank for rank, group in enumerate(_GROUPS)}


def builtin_kind(group: str, version: str, plural: str) -> BuiltinKind | None:
    """Return a built-in kind by its resource, or None."""
    return _BY_RESOURCE.get((group, version, plural))


def group_rank(group: str) -> int:
    """Return the rank of a group in discovery: built-in groups in their order, groups of definitions after them."""
    return _RANK.get(group, len(_RANK))
