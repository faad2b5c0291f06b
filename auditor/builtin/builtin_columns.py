"""Headers and cells of `kubectl get` for built-in kinds.

Every function takes an object and returns the cells after NAME (for events: all of them). Absent fields print as the
server's defaults.

Source: kubernetes v1.37.2 pkg/printers/internalversion/printers.go; apiserver pkg/registry/rest/table.go (kinds without
columns of their own); apiextensions-apiserver pkg/registry/customresourcedefinition/tableconvertor; kube-aggregator
pkg/registry/apiservice/etcd.

Over 500 lines: a table of the columns of each built-in kind, one function after another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.builtin.loose_values import (
    NONE,
    SPACE,
    Printer,
    age,
    condition,
    containers_text,
    entry,
    event_at,
    first_of,
    given,
    label_selector,
    labels_text,
    listed_text,
    load_balancer,
    lowered,
    many,
    mapping,
    number,
    text,
    texts,
    utc,
    walk,
)
from auditor.builtin.other_columns import OTHER_PRINTERS, job_cells, pod_cells
from auditor.printing.tables import ColumnHeader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.printer_columns import Cell


def _workload(obj: JsonObject, now: float) -> list[Cell]:
    return [
        number(obj, "spec.replicas", 1),
        number(obj, "status.replicas"),
        number(obj, "status.readyReplicas"),
        age(obj, now),
        *containers_text(walk(obj, "spec.template.spec")),
        label_selector(walk(obj, "spec.selector")),
    ]


def _controller(obj: JsonObject, now: float) -> list[Cell]:
    selector = walk(obj, "spec.selector") or walk(obj, "spec.template.metadata.labels")
    return [*_workload(obj, now)[:-1], labels_text(selector)]


def _deployment(obj: JsonObject, now: float) -> list[Cell]:
    ready = f"{number(obj, 'status.readyReplicas')}/{number(obj, 'spec.replicas', 1)}"
    selector = label_selector(walk(obj, "spec.selector"))
    return [
        ready,
        number(obj, "status.updatedReplicas"),
        number(obj, "status.availableReplicas"),
        age(obj, now),
        *containers_text(walk(obj, "spec.template.spec")),
        "" if selector == NONE else selector,
    ]


def _stateful_set(obj: JsonObject, now: float) -> list[Cell]:
    ready = f"{number(obj, 'status.readyReplicas')}/{number(obj, 'spec.replicas', 1)}"
    return [ready, age(obj, now), *containers_text(walk(obj, "spec.template.spec"))]


def _daemon_set(obj: JsonObject, now: float) -> list[Cell]:
    counts = [
        number(obj, f"status.{name}")
        for name in (
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        )
    ]
    return [
        *counts,
        labels_text(walk(obj, "spec.template.spec.nodeSelector")),
        age(obj, now),
        *containers_text(walk(obj, "spec.template.spec")),
        label_selector(walk(obj, "spec.selector")),
    ]


def _cron_job(obj: JsonObject, now: float) -> list[Cell]:
    return [
        text(obj, "spec.schedule"),
        given(obj, "spec.timeZone", NONE),
        str(bool(walk(obj, "spec.suspend"))),
        len(many(obj, "status.active")),
        first_of(age(obj, now, "status.lastScheduleTime") if walk(obj, "status.lastScheduleTime") else "", NONE),
        age(obj, now),
        *containers_text(walk(obj, "spec.jobTemplate.spec.template.spec")),
        label_selector(walk(obj, "spec.jobTemplate.spec.selector")),
    ]


def _service(obj: JsonObject, now: float) -> list[Cell]:
    kind = text(obj, "spec.type") or "ClusterIP"
    ips = texts(obj, "spec.clusterIPs")
    ports = []
    for port in many(obj, "spec.ports"):
        node = number(port, "nodePort")
        port_text = f"{number(port, 'port')}" + (f":{node}" if node > 0 else "")
        ports.append(f"{port_text}/{text(port, 'protocol') or 'TCP'}")
    cluster_ip = ips[0] if ips else text(obj, "spec.clusterIP") or NONE
    selector = labels_text(walk(obj, "spec.selector"))
    return [kind, cluster_ip, _external_ip(obj, kind), ",".join(ports) or NONE, age(obj, now), selector]


def _external_ip(obj: JsonObject, kind: str) -> str:
    external = texts(obj, "spec.externalIPs")
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(external) if external else NONE
    if kind == "LoadBalancer":
        balancer = load_balancer(obj)
        places = ([balancer] if balancer else []) + external
        return ",".join(places) if places else "<pending>"
    return text(obj, "spec.externalName") if kind == "ExternalName" else "<unknown>"


def _endpoints(obj: JsonObject, now: float) -> list[Cell]:
    subsets = many(obj, "subsets")
    if not subsets:
        return [NONE, age(obj, now)]
    addresses = []
    for subset in subsets:
        ips = [text(address, "ip") for address in many(subset, "addresses")]
        ports = many(subset, "ports")
        addresses += [_host_port(ip, number(port, "port")) for port in ports for ip in ips] if ports else ips
    return [listed_text(addresses), age(obj, now)]


def _host_port(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def _endpoint_slice(obj: JsonObject, now: float) -> list[Cell]:
    ports = [str(port["port"]) if port.get("port") is not None else text(port, "name") for port in many(obj, "ports")]
    addresses = [address for endpoint in many(obj, "endpoints") for address in texts(endpoint, "addresses")]
    return [
        text(obj, "addressType"),
        listed_text(ports) or "<unset>",
        listed_text(addresses) or "<unset>",
        age(obj, now),
    ]


def _config_map(obj: JsonObject, now: float) -> list[Cell]:
    return [len(mapping(obj, "data")) + len(mapping(obj, "binaryData")), age(obj, now)]


def _secret(obj: JsonObject, now: float) -> list[Cell]:
    names = {*mapping(obj, "data"), *mapping(obj, "stringData")}
    return [text(obj, "type") or "Opaque", len(names), age(obj, now)]


def _node(obj: JsonObject, now: float) -> list[Cell]:
    ready = {text(condition, "type"): condition for condition in many(obj, "status.conditions")}.get("Ready")
    status = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    if walk(obj, "spec.unschedulable"):
        status += ",SchedulingDisabled"
    roles = set()
    for key, value in mapping(obj, "metadata.labels").items():
        if key.startswith("node-role.kubernetes.io/") and key != "node-role.kubernetes.io/":
            roles.add(key.removeprefix("node-role.kubernetes.io/"))
        elif key == "kubernetes.io/role" and value:
            roles.add(str(value))
    version = text(obj, "status.nodeInfo.kubeletVersion")
    return [status, ",".join(sorted(roles)) or NONE, age(obj, now), version, *_node_details(obj)]


def _node_details(obj: JsonObject) -> list[Cell]:
    """Return the wide columns of a Node."""
    addresses = many(obj, "status.addresses")
    ips = [
        next((text(address, "address") for address in addresses if address.get("type") == kind), NONE)
        for kind in ("InternalIP", "ExternalIP")
    ]
    system, kernel, runtime = (
        text(obj, f"status.nodeInfo.{name}") or "<unknown>"
        for name in ("osImage", "kernelVersion", "containerRuntimeVersion")
    )
    architecture = text(obj, "status.nodeInfo.architecture")
    return [*ips, system, f"{kernel} ({architecture})" if architecture else kernel, runtime]


def _namespace(obj: JsonObject, now: float) -> list[Cell]:
    return [text(obj, "status.phase") or "Active", age(obj, now)]


_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(modes: list[str]) -> str:
    return ",".join(short for name, short in _MODES.items() if name in modes)


def _storage_class_name(obj: JsonObject) -> str:
    annotations = mapping(obj, "metadata.annotations")
    beta = "volume.beta.kubernetes.io/storage-class"
    return entry(annotations, beta, "") if beta in annotations else text(obj, "spec.storageClassName")


def _phase(obj: JsonObject) -> str:
    return "Terminating" if walk(obj, "metadata.deletionTimestamp") else text(obj, "status.phase") or "Pending"


def _volume(obj: JsonObject, now: float) -> list[Cell]:
    claim = walk(obj, "spec.claimRef")
    return [
        entry(mapping(obj, "spec.capacity"), "storage", "0"),
        _modes(texts(obj, "spec.accessModes")),
        text(obj, "spec.persistentVolumeReclaimPolicy") or "Retain",
        _phase(obj),
        f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else "",
        _storage_class_name(obj),
        given(obj, "spec.volumeAttributesClassName", "<unset>"),
        text(obj, "status.reason"),
        age(obj, now),
        given(obj, "spec.volumeMode", "Filesystem"),
    ]


def _claim(obj: JsonObject, now: float) -> list[Cell]:
    bound = text(obj, "spec.volumeName")
    return [
        _phase(obj),
        bound,
        entry(mapping(obj, "status.capacity"), "storage", "0") if bound else "",
        _modes(texts(obj, "status.accessModes")) if bound else "",
        _storage_class_name(obj),
        given(obj, "spec.volumeAttributesClassName", "<unset>"),
        age(obj, now),
        given(obj, "spec.volumeMode", "Filesystem"),
    ]


def _storage_class(obj: JsonObject, now: float) -> list[Cell]:
    return [
        text(obj, "provisioner"),
        given(obj, "reclaimPolicy", "Delete"),
        given(obj, "volumeBindingMode", "Immediate"),
        bool(walk(obj, "allowVolumeExpansion")),
        age(obj, now),
    ]


def _event(obj: JsonObject, now: float) -> list[Cell]:
    first = "firstTimestamp" if walk(obj, "firstTimestamp") else "eventTime"
    if walk(obj, "series") is not None:
        seen = age(obj, now, "series.lastObservedTime")
    else:
        seen = age(obj, now, "lastTimestamp" if walk(obj, "lastTimestamp") else first)
    kind, name = lowered(text(obj, "involvedObject.kind")), text(obj, "involvedObject.name")
    count = number(obj, "series.count") if walk(obj, "series") is not None else number(obj, "count") or 1
    source = first_of(text(obj, "source.component"), text(obj, "reportingComponent"))
    place = first_of(text(obj, "source.host"), text(obj, "reportingInstance"))
    return [
        seen,
        text(obj, "type"),
        text(obj, "reason"),
        f"{kind}/{name}" if name else kind,
        text(obj, "involvedObject.fieldPath"),
        f"{source}, {place}" if place else source,
        text(obj, "message").strip(SPACE),
        age(obj, now, first),
        count,
        text(obj, "metadata.name"),
    ]


def _age_alone(obj: JsonObject, now: float) -> list[Cell]:
    return [age(obj, now)]


def _created_at(obj: JsonObject, now: float) -> list[Cell]:
    del now
    return [utc(text(obj, "metadata.creationTimestamp"))]


def _binding(obj: JsonObject, now: float) -> list[Cell]:
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in many(obj, "subjects"):
        kind, name = text(subject, "kind"), text(subject, "name")
        shown = f"{text(subject, 'namespace')}/{name}" if kind == "ServiceAccount" else name
        subjects.setdefault(kind, []).append(shown)
    wide = [", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [f"{text(obj, 'roleRef.kind')}/{text(obj, 'roleRef.name')}", age(obj, now), *wide]


def _ingress(obj: JsonObject, now: float) -> list[Cell]:
    rules = many(obj, "spec.rules")
    named = [position for position, rule in enumerate(rules) if text(rule, "host")][:3]
    shown = ",".join(text(rules[position], "host") for position in named)
    if len(named) == 3 and named[2] + 1 < len(rules):
        shown += f" + {len(rules) - 3} more..."
    return [
        given(obj, "spec.ingressClassName", NONE),
        shown or "*",
        load_balancer(obj),
        "80, 443" if many(obj, "spec.tls") else "80",
        age(obj, now),
    ]


def _ingress_class(obj: JsonObject, now: float) -> list[Cell]:
    parameters = walk(obj, "spec.parameters")
    shown = NONE
    if parameters:
        group = "" if walk(parameters, "apiGroup") is None else f".{text(parameters, 'apiGroup')}"
        shown = f"{text(parameters, 'kind')}{group}/{text(parameters, 'name')}"
    return [text(obj, "spec.controller"), shown, age(obj, now)]


def _network_policy(obj: JsonObject, now: float) -> list[Cell]:
    return [label_selector(walk(obj, "spec.podSelector")), age(obj, now)]


def _lease(obj: JsonObject, now: float) -> list[Cell]:
    return [text(obj, "spec.holderIdentity"), age(obj, now)]


def _definition(obj: JsonObject, now: float) -> list[Cell]:
    del now
    versions, scope = many(obj, "spec.versions"), text(obj, "spec.scope")
    if text(obj, "apiVersion").endswith("/v1beta1"):
        scope = scope or "Namespaced"
        alone = text(obj, "spec.version")
        versions = versions or ([{"name": alone, "served": True, "storage": True}] if alone else [])
    served = sorted(
        (text(version, "name"), version.get("storage") is True) for version in versions if version.get("served")
    )
    shown = ",".join(f"{name}(storage)" if storage else name for name, storage in served)
    established = any(
        text(condition, "type") == "Established" and text(condition, "status") == "True"
        for condition in many(obj, "status.conditions")
    )
    return [
        scope,
        shown,
        utc(text(obj, "metadata.creationTimestamp")),
        text(obj, "spec.group"),
        text(obj, "spec.names.kind"),
        ",".join(texts(obj, "spec.names.shortNames")),
        "true" if established else "false",
    ]


def _api_service(obj: JsonObject, now: float) -> list[Cell]:
    service = walk(obj, "spec.service")
    place = f"{text(service, 'namespace')}/{text(service, 'name')}" if type(service) is dict else "Local"
    available = condition(obj, "Available")
    state = "Unknown"
    if available is not None:
        state = text(available, "status")
        if state != "True" and text(available, "reason"):
            state = f"{state} ({text(available, 'reason')})"
    return [place, state, age(obj, now)]


def _signing_request(obj: JsonObject, now: float) -> list[Cell]:
    from auditor.printing.printer_columns import human_duration  # noqa: PLC0415 - one kind needs it

    expires = walk(obj, "spec.expirationSeconds")
    types = {text(condition, "type") for condition in many(obj, "status.conditions")}
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        state += ",Failed"
    if walk(obj, "status.certificate"):
        state += ",Issued"
    return [
        age(obj, now),
        text(obj, "spec.signerName") or NONE,
        text(obj, "spec.username"),
        human_duration(expires) if type(expires) is int else NONE,
        state,
    ]


def _autoscaler(obj: JsonObject, now: float) -> list[Cell]:
    return [
        f"{text(obj, 'spec.scaleTargetRef.kind')}/{text(obj, 'spec.scaleTargetRef.name')}",
        _targets(obj),
        number(obj, "spec.minReplicas", 1),
        number(obj, "spec.maxReplicas"),
        number(obj, "status.currentReplicas"),
        age(obj, now),
    ]


def _cpu(member: str, percent: int) -> JsonObject:
    return {"type": "Resource", "resource": {"name": "cpu", member: {"averageUtilization": percent}}}


def _targets(obj: JsonObject) -> str:
    current, metrics = many(obj, "status.currentMetrics"), many(obj, "spec.metrics")
    used = walk(obj, "status.currentCPUUtilizationPercentage")  # autoscaling/v1
    if used is not None:
        current = [_cpu("current", used)]
    if not metrics:
        metrics = [_cpu("target", number(obj, "spec.targetCPUUtilizationPercentage", 80))]
    shown = [
        _target(metric, current[position] if position < len(current) else {}) for position, metric in enumerate(metrics)
    ]
    return ", ".join(shown[:2]) + (f" + {len(shown) - 2} more..." if len(shown) > 2 else "")


def _target(metric: JsonObject, current: JsonObject) -> str:
    kind = text(metric, "type")
    member = kind[:1].lower() + kind[1:]
    wanted, now = mapping(metric, f"{member}.target"), mapping(current, f"{member}.current")
    lacking = "<unknown>" if walk(current, member) is None else "<nil>"
    if kind in ("Resource", "ContainerResource"):
        lead = f"{text(metric, f'{member}.name')}: "
        if wanted.get("averageValue") is not None:
            return f"{lead}{now.get('averageValue') or lacking}/{wanted['averageValue']}"
        used = now.get("averageUtilization")
        limit = wanted.get("averageUtilization")
        return f"{lead}{'<unknown>' if used is None else f'{used}%'}/{'<auto>' if limit is None else f'{limit}%'}"
    if kind in ("Pods", "Object", "External"):
        if kind == "Pods":
            return f"{now.get('averageValue') or lacking}/{entry(wanted, 'averageValue', '<nil>')}"
        if wanted.get("averageValue") is not None:
            return f"{now.get('averageValue') or '<unknown>'}/{wanted['averageValue']} (avg)"
        return f"{now.get('value') or lacking}/{entry(wanted, 'value', '<nil>')}"
    return "<unknown type>"


def _disruption_budget(obj: JsonObject, now: float) -> list[Cell]:
    bounds = [walk(obj, f"spec.{name}") for name in ("minAvailable", "maxUnavailable")]
    return [
        *("N/A" if bound is None else str(bound) for bound in bounds),
        number(obj, "status.disruptionsAllowed"),
        age(obj, now),
    ]


def _priority_class(obj: JsonObject, now: float) -> list[Cell]:
    return [
        number(obj, "value"),
        bool(walk(obj, "globalDefault")),
        age(obj, now),
        given(obj, "preemptionPolicy", "PreemptLowerPriority"),
    ]


# kind: printer and headers after NAME; headers in angle brackets are shown only with -o wide
_PRINTERS: Final[dict[tuple[str, str], tuple[Printer, str]]] = {
    **OTHER_PRINTERS,
    ("", "Pod"): (
        pod_cells,
        "Ready Status Restarts Age <IP> <Node> <Nominated_Node> <Readiness_Gates>",
    ),
    ("", "ReplicationController"): (_controller, "Desired Current Ready Age <Containers> <Images> <Selector>"),
    ("apps", "ReplicaSet"): (_workload, "Desired Current Ready Age <Containers> <Images> <Selector>"),
    ("apps", "Deployment"): (_deployment, "Ready Up-to-date Available Age <Containers> <Images> <Selector>"),
    ("apps", "StatefulSet"): (_stateful_set, "Ready Age <Containers> <Images>"),
    ("apps", "DaemonSet"): (
        _daemon_set,
        "Desired Current Ready Up-to-date Available Node_Selector Age <Containers> <Images> <Selector>",
    ),
    ("batch", "Job"): (job_cells, "Status Completions Duration Age <Containers> <Images> <Selector>"),
    ("batch", "CronJob"): (
        _cron_job,
        "Schedule Timezone Suspend Active Last_Schedule Age <Containers> <Images> <Selector>",
    ),
    ("", "Service"): (_service, "Type Cluster-IP External-IP Port(s) Age <Selector>"),
    ("", "Endpoints"): (_endpoints, "Endpoints Age"),
    ("discovery.k8s.io", "EndpointSlice"): (_endpoint_slice, "AddressType Ports Endpoints Age"),
    ("", "ConfigMap"): (_config_map, "Data Age"),
    ("", "Secret"): (_secret, "Type Data Age"),
    ("", "Node"): (
        _node,
        "Status Roles Age Version <Internal-IP> <External-IP> <OS-Image> <Kernel-Version> <Container-Runtime>",
    ),
    ("", "Namespace"): (_namespace, "Status Age"),
    ("", "PersistentVolume"): (
        _volume,
        "Capacity Access_Modes Reclaim_Policy Status Claim StorageClass VolumeAttributesClass Reason Age <VolumeMode>",
    ),
    ("", "PersistentVolumeClaim"): (
        _claim,
        "Status Volume Capacity Access_Modes StorageClass VolumeAttributesClass Age <VolumeMode>",
    ),
    ("storage.k8s.io", "StorageClass"): (
        _storage_class,
        "Provisioner ReclaimPolicy VolumeBindingMode AllowVolumeExpansion Age",
    ),
    ("", "Event"): (_event, ""),
    ("events.k8s.io", "Event"): (_event, ""),
    ("", "ServiceAccount"): (_age_alone, "Age"),
    ("rbac.authorization.k8s.io", "Role"): (_created_at, "Created_At"),
    ("rbac.authorization.k8s.io", "ClusterRole"): (_created_at, "Created_At"),
    ("", "LimitRange"): (_created_at, "Created_At"),
    ("rbac.authorization.k8s.io", "RoleBinding"): (_binding, "Role Age <Users> <Groups> <ServiceAccounts>"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (_binding, "Role Age <Users> <Groups> <ServiceAccounts>"),
    ("networking.k8s.io", "Ingress"): (_ingress, "Class Hosts Address Ports Age"),
    ("networking.k8s.io", "IngressClass"): (_ingress_class, "Controller Parameters Age"),
    ("networking.k8s.io", "NetworkPolicy"): (_network_policy, "Pod-Selector Age"),
    ("coordination.k8s.io", "Lease"): (_lease, "Holder Age"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        _definition,
        "Scope Versions Created_At <Group> <Kind> <ShortNames> <Established>",
    ),
    ("apiregistration.k8s.io", "APIService"): (_api_service, "Service Available Age"),
    ("certificates.k8s.io", "CertificateSigningRequest"): (
        _signing_request,
        "Age SignerName Requestor RequestedDuration Condition",
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (_autoscaler, "Reference Targets MinPods MaxPods Replicas Age"),
    ("policy", "PodDisruptionBudget"): (
        _disruption_budget,
        "Min_Available Max_Unavailable Allowed_Disruptions Age",
    ),
    ("scheduling.k8s.io", "PriorityClass"): (_priority_class, "Value Global-Default Age PreemptionPolicy"),
}
_EVENT_HEADERS: Final = "Last_Seen Type Reason Object <Subobject> <Source> Message <First_Seen> <Count> <Name>"
_MARKED: Final = {
    ("storage.k8s.io", "StorageClass"): (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ),
    ("networking.k8s.io", "IngressClass"): ("ingressclass.kubernetes.io/is-default-class",),
}


def builtin_headers(group: str, kind: str) -> list[ColumnHeader]:
    """Return the columns of a built-in kind; kinds without their own columns have the creation time."""
    _, names = _PRINTERS.get((group, kind), (_created_at, "Created_At"))
    out = [] if kind == "Event" else [ColumnHeader("Name", is_name=True)]
    for name in (names or _EVENT_HEADERS).split():
        plain = name.strip("<>").replace("_", " ")
        out.append(ColumnHeader(plain, wide=name.startswith("<"), is_name=kind == "Event" and plain == "Name"))
    return out


def builtin_cells(
    group: str, kind: str, objects: Sequence[JsonObject], now: float, *, listed: bool
) -> list[Sequence[Cell]]:
    """Return the cells of objects, NAME included.

    Args:
        now: Seconds since 1970.
        listed: The objects are the answer to a LIST, which marks the default storage class.
    """
    printer, _ = _PRINTERS.get((group, kind), (_created_at, ""))
    if kind == "Event":
        return [printer(event_at(obj, ""), now) for obj in objects]
    default = _default_storage_class(objects) if kind == "StorageClass" and listed else None
    out: list[Sequence[Cell]] = []
    for obj in objects:
        name = text(obj, "metadata.name")
        if (kind == "IngressClass" and _is_marked(group, kind, obj)) or (default is not None and obj is default):
            name += " (default)"
        out.append([name, *printer(obj, now)])
    return out


def _is_marked(group: str, kind: str, obj: JsonObject) -> bool:
    annotations = mapping(obj, "metadata.annotations")
    return any(annotations.get(key) == "true" for key in _MARKED[(group, kind)])


def _default_storage_class(objects: Sequence[JsonObject]) -> JsonObject | None:
    """Return the class that is the default: the newest of those marked, then the first by name."""
    marked = [obj for obj in objects if _is_marked("storage.k8s.io", "StorageClass", obj)]
    marked.sort(key=lambda one: text(one, "metadata.name"))
    marked.sort(key=lambda one: text(one, "metadata.creationTimestamp"), reverse=True)
    return marked[0] if marked else None
