"""Columns of `kubectl get` for pods, jobs and kinds that configure a cluster: policies, quotas, drivers, certificates.

Source: kubernetes v1.37.2 pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.builtin.loose_values import (
    NONE,
    Printer,
    age,
    condition,
    containers_text,
    entry,
    given,
    label_selector,
    labels_text,
    listed_text,
    lowered,
    many,
    mapping,
    number,
    seconds_of,
    text,
    texts,
    walk,
)
from auditor.printing.printer_columns import human_duration

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.printing.printer_columns import Cell


def _is_true(obj: JsonObject, kind: str) -> bool:
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True"


class _Restarts:
    """How often the containers were restarted, and when the last restart was."""

    def __init__(self) -> None:
        self.count = 0
        self.last: float | None = None

    def add(self, status: JsonObject) -> None:
        self.count += number(status, "restartCount")
        ended = seconds_of(status, "lastState.terminated.finishedAt")
        if ended is not None and (self.last is None or ended > self.last):
            self.last = ended

    def text(self, now: float) -> str:
        if self.count and self.last is not None:
            return f"{self.count} ({human_duration(now - self.last)} ago)"
        return str(self.count)


def pod_cells(obj: JsonObject, now: float) -> list[Cell]:
    """Return READY, STATUS, RESTARTS, AGE and the wide columns of a Pod."""
    init_specs = many(obj, "spec.initContainers")
    policies = [(text(spec, "name"), text(spec, "restartPolicy")) for spec in init_specs]
    sidecars = {name for name, policy in dict(policies).items() if policy == "Always"}
    total = len(many(obj, "spec.containers")) + sum(policy == "Always" for _, policy in policies)
    reason = text(obj, "status.reason") or text(obj, "status.phase")
    scheduled = condition(obj, "PodScheduled")
    if scheduled is not None and scheduled.get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    restarts, sidecar_restarts = _Restarts(), _Restarts()
    ready, initializing = 0, ""
    for position, status in enumerate(many(obj, "status.initContainerStatuses")):
        restarts.add(status)
        is_sidecar = text(status, "name") in sidecars
        if is_sidecar:
            sidecar_restarts.add(status)
        terminated = walk(status, "state.terminated")
        if terminated is not None and not number(terminated, "exitCode"):
            continue
        if is_sidecar and status.get("started") is True:
            ready += 1 if status.get("ready") else 0
            continue
        initializing = _init_reason(status, terminated, position, len(init_specs))
        break
    if initializing:
        reason = initializing
    if not initializing or _is_true(obj, "Initialized"):
        restarts = sidecar_restarts
        reason, more = _running(obj, reason, restarts)
        ready += more
    reason = _deleted(obj, reason)
    return [f"{ready}/{total}", reason, restarts.text(now), age(obj, now), *_wide(obj)]


def _init_reason(status: JsonObject, terminated: Any, at: int, total: int) -> str:
    if terminated is not None:
        return f"Init:{_ended(terminated)}"
    waiting = text(status, "state.waiting.reason")
    return f"Init:{waiting}" if waiting and waiting != "PodInitializing" else f"Init:{at}/{total}"


def _ended(terminated: JsonObject) -> str:
    reason, signal = text(terminated, "reason"), number(terminated, "signal")
    return reason or (f"Signal:{signal}" if signal else f"ExitCode:{number(terminated, 'exitCode')}")


def _running(obj: JsonObject, reason: str, restarts: _Restarts) -> tuple[str, int]:
    """Return the reason after looking at the containers, and how many of them are ready."""
    ready, has_running, failed = 0, False, ""
    for status in reversed(many(obj, "status.containerStatuses")):
        restarts.add(status)
        waiting, terminated = text(status, "state.waiting.reason"), walk(status, "state.terminated")
        if waiting:
            reason = waiting
        elif terminated is not None:
            reason = _ended(terminated)
            if number(terminated, "exitCode"):
                failed = reason
        elif status.get("ready") and walk(status, "state.running") is not None:
            ready += 1
            has_running = True
    if reason == "Completed":
        if has_running and _is_true(obj, "Ready"):
            reason = "Running"
        elif failed:
            reason = failed
        elif has_running:
            reason = "NotReady"
    return reason, ready


def _deleted(obj: JsonObject, reason: str) -> str:
    if not walk(obj, "metadata.deletionTimestamp"):
        return reason
    if text(obj, "status.reason") == "NodeLost":
        return "Unknown"
    return reason if text(obj, "status.phase") in ("Succeeded", "Failed") else "Terminating"


def _wide(obj: JsonObject) -> list[Cell]:
    ips = many(obj, "status.podIPs")
    ip = text(obj, "status.podIP") or (text(ips[0], "ip") if ips else "")
    gates = [text(gate, "conditionType") for gate in many(obj, "spec.readinessGates")]
    met = sum(_is_true(obj, gate) for gate in gates)
    return [
        ip or NONE,
        text(obj, "spec.nodeName") or NONE,
        text(obj, "status.nominatedNodeName") or NONE,
        f"{met}/{len(gates)}" if gates else NONE,
    ]


_JOB_STATES = ("Complete", "Failed", "", "Suspended", "FailureTarget", "SuccessCriteriaMet")


def job_cells(obj: JsonObject, now: float) -> list[Cell]:
    """Return STATUS, COMPLETIONS, DURATION, AGE and the wide columns of a Job."""
    state = "Running"
    for kind in _JOB_STATES:
        if kind and _is_true(obj, kind):
            state = kind
            break
        if not kind and walk(obj, "metadata.deletionTimestamp"):
            state = "Terminating"
            break
    succeeded, completions = number(obj, "status.succeeded"), walk(obj, "spec.completions")
    parallelism = number(obj, "spec.parallelism")
    if type(completions) is int:
        shown = f"{succeeded}/{completions}"
    else:
        shown = f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"
    started, ended = seconds_of(obj, "status.startTime"), seconds_of(obj, "status.completionTime")
    duration = "" if started is None else human_duration((now if ended is None else ended) - started)
    return [
        state,
        shown,
        duration,
        age(obj, now),
        *containers_text(walk(obj, "spec.template.spec")),
        label_selector(walk(obj, "spec.selector")),
    ]


_UNSET: Final = "<unset>"


def _age_alone(obj: JsonObject, now: float) -> list[Cell]:
    return [age(obj, now)]


def _texts(*paths: str) -> Printer:
    return lambda obj, now: [*(text(obj, path) for path in paths), age(obj, now)]


def _count(path: str) -> Printer:
    return lambda obj, now: [len(many(obj, path)), age(obj, now)]


def _pod_template(obj: JsonObject, now: float) -> list[Cell]:
    del now
    return [*containers_text(walk(obj, "template.spec")), labels_text(walk(obj, "template.metadata.labels"))]


def _quota(obj: JsonObject, now: float) -> list[Cell]:
    hard, used = mapping(obj, "status.hard"), mapping(obj, "status.used")
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(hard):
        column = limits if name.startswith("limits.") else requests
        column.append(f"{name}: {entry(used, name, '0')}/{entry(hard, name, '0')}")
    return [", ".join(requests), ", ".join(limits), age(obj, now)]


def _revision(obj: JsonObject, now: float) -> list[Cell]:
    owner = next(
        (reference for reference in many(obj, "metadata.ownerReferences") if reference.get("controller") is True), None
    )
    shown = NONE
    if owner is not None:
        group = text(owner, "apiVersion").rpartition("/")[0]
        kind = text(owner, "kind") + (f".{group}" if group else "")
        shown = f"{lowered(kind)}/{text(owner, 'name')}" if kind else text(owner, "name")
    return [shown, number(obj, "revision"), age(obj, now)]


def _trust_bundle(obj: JsonObject, now: float) -> list[Cell]:
    del now
    return [text(obj, "spec.signerName") or NONE]


def _pod_certificate(obj: JsonObject, now: float) -> list[Cell]:
    del now
    state = "Pending"
    for reported in many(obj, "status.conditions"):
        if reported.get("type") in ("Issued", "Denied", "Failed"):
            state = reported["type"]
    names = [text(obj, f"spec.{name}") for name in ("podName", "serviceAccountName", "nodeName", "signerName")]
    return [*names, state, labels_text(walk(obj, "spec.unverifiedUserAnnotations"))]


def _ip_address(obj: JsonObject, now: float) -> list[Cell]:
    del now
    parent = walk(obj, "spec.parentRef")
    if parent is None:
        return [NONE]
    group, namespace = text(parent, "group"), text(parent, "namespace")
    resource = lowered(text(parent, "resource") + (f".{group}" if group else ""))
    return ["/".join([resource, *([namespace] if namespace else []), text(parent, "name")])]


def _service_cidr(obj: JsonObject, now: float) -> list[Cell]:
    return [",".join(texts(obj, "spec.cidrs")), age(obj, now)]


def _driver(obj: JsonObject, now: float) -> list[Cell]:
    attached = walk(obj, "spec.attachRequired")
    tokens = walk(obj, "spec.tokenRequests")
    return [
        attached is None or bool(attached),
        bool(walk(obj, "spec.podInfoOnMount")),
        bool(walk(obj, "spec.storageCapacity")),
        _UNSET
        if tokens is None
        else ",".join(text(request, "audience") for request in many(obj, "spec.tokenRequests")),
        bool(walk(obj, "spec.requiresRepublish")),
        ",".join(texts(obj, "spec.volumeLifecycleModes") or ["Persistent"]) or NONE,
        age(obj, now),
    ]


def _storage_capacity(obj: JsonObject, now: float) -> list[Cell]:
    del now
    return [text(obj, "storageClassName"), given(obj, "capacity", _UNSET)]


def _attachment(obj: JsonObject, now: float) -> list[Cell]:
    return [
        text(obj, "spec.attacher"),
        text(obj, "spec.source.persistentVolumeName"),
        text(obj, "spec.nodeName"),
        bool(walk(obj, "status.attached")),
        age(obj, now),
    ]


def _policy(rules: str) -> Printer:
    def printer(obj: JsonObject, now: float) -> list[Cell]:
        kind = walk(obj, "spec.paramKind")
        shown = _UNSET if kind is None else f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}"
        return [len(many(obj, rules)), shown, age(obj, now)]

    return printer


def _policy_binding(obj: JsonObject, now: float) -> list[Cell]:
    name, selector = text(obj, "spec.paramRef.name"), walk(obj, "spec.paramRef.selector")
    shown = _UNSET
    if name:
        shown = f"{text(obj, 'spec.paramRef.namespace') or '*'}/{name}"
    elif selector is not None:
        shown = _selector_in_go(selector)
    return [text(obj, "spec.policyName"), shown, age(obj, now)]


def _selector_in_go(selector: Any) -> str:
    """Return a LabelSelector in the format of its Go String method."""
    labels = mapping(selector, "matchLabels")
    terms = [
        f"LabelSelectorRequirement{{Key:{text(expression, 'key')},Operator:{text(expression, 'operator')},"
        f"Values:[{' '.join(texts(expression, 'values'))}],}},"
        for expression in many(selector, "matchExpressions")
    ]
    shown = "".join(f"{key}: {entry(labels, key, '')}," for key in sorted(labels))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{shown}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{''.join(terms)}}},}}"
    )


def _pod_group(obj: JsonObject, now: float) -> list[Cell]:
    conditions = {text(state, "type"): state for state in many(obj, "status.conditions")}
    status = "Pending"
    scheduled, disrupted = conditions.get("PodGroupInitiallyScheduled"), conditions.get("DisruptionTarget")
    if scheduled is not None:
        status = "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"
    if disrupted is not None:
        status = text(disrupted, "reason")
    return [
        "Basic" if walk(obj, "spec.schedulingPolicy.gang") is None else "Gang",
        NONE if walk(obj, "spec.workloadRef") is None else text(obj, "spec.workloadRef.workloadName"),
        status,
        age(obj, now),
    ]


def _flow_schema(obj: JsonObject, now: float) -> list[Cell]:
    dangling = condition(obj, "Dangling")
    return [
        text(obj, "spec.priorityLevelConfiguration.name"),
        number(obj, "spec.matchingPrecedence") or 1000,
        given(obj, "spec.distinguisherMethod.type", NONE),
        age(obj, now),
        "?" if dangling is None else text(dangling, "status"),
    ]


def _priority_level(obj: JsonObject, now: float) -> list[Cell]:
    shares: Cell = NONE
    queuing: list[Cell] = [NONE] * 3
    if walk(obj, "spec.limited") is not None:
        shares = number(obj, "spec.limited.nominalConcurrencyShares", 30)
        if walk(obj, "spec.limited.limitResponse.queuing") is not None:
            defaults = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
            queuing = [
                number(obj, f"spec.limited.limitResponse.queuing.{name}") or default
                for name, default in defaults.items()
            ]
    return [text(obj, "spec.type"), shares, *queuing, age(obj, now)]


def _storage_version(obj: JsonObject, now: float) -> list[Cell]:
    versions = [
        f"{text(version, 'apiServerID')}={text(version, 'encodingVersion')}"
        for version in many(obj, "status.storageVersions")
    ]
    return [
        given(obj, "status.commonEncodingVersion", _UNSET),
        listed_text(versions) or _UNSET,
        age(obj, now),
    ]


def _claim(obj: JsonObject, now: float) -> list[Cell]:
    states = ["deleted"] if walk(obj, "metadata.deletionTimestamp") else []
    if walk(obj, "status.allocation") is not None:
        states += ["allocated", "reserved"] if many(obj, "status.reservedFor") else ["allocated"]
    elif not states:
        states = ["pending"]
    return [",".join(states), age(obj, now)]


def _taint_rule(obj: JsonObject, now: float) -> list[Cell]:
    taint = [text(obj, f"spec.taint.{name}") for name in ("key", "value", "effect")]
    added = age(obj, now, "spec.taint.timeAdded") if walk(obj, "spec.taint.timeAdded") else "0s"  # the time of the read
    return [*taint, added, age(obj, now)]


def _migration(obj: JsonObject, now: float) -> list[Cell]:
    del now
    group = text(obj, "spec.resource.group")
    state = "Unknown"
    for reported in many(obj, "status.conditions"):
        if reported.get("status") == "True" and reported.get("type") in ("Running", "Failed", "Succeeded"):
            state = reported["type"]
    return [text(obj, "spec.resource.resource") + (f".{group}" if group else ""), state]


_ADMISSION: Final = "admissionregistration.k8s.io"
OTHER_PRINTERS: Final[dict[tuple[str, str], tuple[Printer, str]]] = {
    ("", "PodTemplate"): (_pod_template, "Containers Images Pod_Labels"),
    ("", "ResourceQuota"): (_quota, "Request Limit Age"),
    ("apps", "ControllerRevision"): (_revision, "Controller Revision Age"),
    ("certificates.k8s.io", "ClusterTrustBundle"): (_trust_bundle, "SignerName"),
    ("certificates.k8s.io", "PodCertificateRequest"): (
        _pod_certificate,
        "PodName ServiceAccountName NodeName SignerName State UnverifiedUserAnnotations",
    ),
    ("networking.k8s.io", "IPAddress"): (_ip_address, "ParentRef"),
    ("networking.k8s.io", "ServiceCIDR"): (_service_cidr, "CIDRs Age"),
    ("storage.k8s.io", "CSIDriver"): (
        _driver,
        "AttachRequired PodInfoOnMount StorageCapacity TokenRequests RequiresRepublish Modes Age",
    ),
    ("storage.k8s.io", "CSINode"): (_count("spec.drivers"), "Drivers Age"),
    ("storage.k8s.io", "CSIStorageCapacity"): (_storage_capacity, "StorageClassName Capacity"),
    ("storage.k8s.io", "VolumeAttachment"): (_attachment, "Attacher PV Node Attached Age"),
    ("storage.k8s.io", "VolumeAttributesClass"): (_texts("driverName"), "DriverName Age"),
    (_ADMISSION, "MutatingAdmissionPolicy"): (_policy("spec.mutations"), "Mutations ParamKind Age"),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): (_policy_binding, "PolicyName ParamRef Age"),
    (_ADMISSION, "MutatingWebhookConfiguration"): (_count("webhooks"), "Webhooks Age"),
    (_ADMISSION, "ValidatingAdmissionPolicy"): (_policy("spec.validations"), "Validations ParamKind Age"),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): (_policy_binding, "PolicyName ParamRef Age"),
    (_ADMISSION, "ValidatingWebhookConfiguration"): (_count("webhooks"), "Webhooks Age"),
    ("scheduling.k8s.io", "PodGroup"): (_pod_group, "Policy Workload Status Age"),
    ("scheduling.k8s.io", "Workload"): (_age_alone, "Age"),
    ("coordination.k8s.io", "LeaseCandidate"): (
        _texts("spec.leaseName", "spec.binaryVersion", "spec.emulationVersion"),
        "LeaseName BinaryVersion EmulationVersion Age",
    ),
    ("node.k8s.io", "RuntimeClass"): (_texts("handler"), "Handler Age"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): (
        _flow_schema,
        "PriorityLevel MatchingPrecedence DistinguisherMethod Age MissingPL",
    ),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): (
        _priority_level,
        "Type NominalConcurrencyShares Queues HandSize QueueLengthLimit Age",
    ),
    ("internal.apiserver.k8s.io", "StorageVersion"): (
        _storage_version,
        "CommonEncodingVersion StorageVersions Age",
    ),
    ("resource.k8s.io", "DeviceClass"): (_age_alone, "Age"),
    ("resource.k8s.io", "ResourceClaim"): (_claim, "State Age"),
    ("resource.k8s.io", "ResourceClaimTemplate"): (_age_alone, "Age"),
    ("resource.k8s.io", "ResourceSlice"): (
        _texts("spec.nodeName", "spec.driver", "spec.pool.name"),
        "Node Driver Pool Age",
    ),
    ("resource.k8s.io", "DeviceTaintRule"): (_taint_rule, "Key Value Effect TimeAdded Age"),
    ("storagemigration.k8s.io", "StorageVersionMigration"): (_migration, "Resource Status"),
}
