"""Whether an object says that it is healthy: by its conditions, its phase, its containers, its replicas.

An object that does not show it is unknown, never healthy.

Source: k8s.io/api core/v1, apps/v1, batch/v1 (types.go); kubernetes pkg/printers/internalversion (printPod); for kinds
of definitions the conventions for typical status properties (sig-architecture/api-conventions.md).
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.builtin.loose_values import many, mapping, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.base.records import JsonObject


_BAD_IF_TRUE: Final = re.compile(
    r"(Not\w*Ready|Unready|Unhealthy|Unavailable|Degraded|Fail(ed|ure|ing)|FailureTarget|Stalled|Error|Errored|Pressure|Conflict"
    r"|Invalid|InvalidRequest|Denied|Expired|Lost|Terminating|NonStructuralSchema|NamespaceContentRemaining"
    r"|NamespaceFinalizersRemaining)\Z"
)
"""Types of conditions that say that something is wrong, by the end of their names."""
_BAD_UNLESS_TRUE: Final = re.compile(
    r"(Ready|Available|Healthy|Synced|Established|NamesAccepted|Initialized|Reconciled|Accepted|Programmed|ResolvedRefs"
    r"|PodScheduled|Deployed|Installed|Valid|Issued|Approved|Bound|Reachable|Succeeded|AbleToScale|ScalingActive"
    r"|Connected|Provisioned|Released|TestSuccess|SourceVerified|KubernetesAPIApprovalPolicyConformant)\Z"
)
"""Types of conditions that say that all is well, by the end of their names."""
_HARMLESS: Final = frozenset(["ScalingDisabled", "PodCompleted"])
"""Reasons of conditions of objects that do nothing, as they should."""
_HARMFUL: Final = frozenset(["ProgressDeadlineExceeded"])
"""Reasons that say that something is wrong whatever the type: Progressing is false of what is at rest, too."""
_PHASES: Final = {
    **dict.fromkeys(("Failed", "Error", "Lost", "Degraded", "Unhealthy", "Unknown", "Terminating"), False),
    **dict.fromkeys(("Active", "Bound", "Running", "Ready", "Healthy", "Succeeded", "Available", "Released"), True),
    **dict.fromkeys(("Complete", "Completed"), True),
}
"""Phases of objects of any kind, and whether they are healthy in them."""
_READY: Final = {
    ("apps", "Deployment"): ("spec", "replicas", "readyReplicas"),
    ("apps", "ReplicaSet"): ("spec", "replicas", "readyReplicas"),
    ("apps", "StatefulSet"): ("spec", "replicas", "readyReplicas"),
    ("", "ReplicationController"): ("spec", "replicas", "readyReplicas"),
    ("apps", "DaemonSet"): ("status", "desiredNumberScheduled", "numberReady"),
}
"""By kind where the wanted number of pods is, and the field of the status with the number that is ready."""


class Problem(NamedTuple):
    """One thing that an object says is wrong: the reason, and its message, which may be empty."""

    why: str
    message: str = ""


def problems_of(group: str, kind: str, obj: JsonObject) -> list[Problem] | None:
    """Return what an object says is wrong: nothing if it is healthy, and None if it does not tell.

    Args:
        group, kind: Its kind.
        obj: The object.
    """
    status = mapping(obj, "status")
    has_status = any(status.values())  # a server writes zeros where no controller has seen the object
    if rules := _OWN_RULES.get((group, kind)):
        return rules(obj, status) if has_status else _no_container_ready(kind, obj)
    problems: list[Problem] = []
    is_known = False
    if fields := _READY.get((group, kind)):
        problems += _below(obj, *fields) if "status" in obj else ()  # manifests have none; a server writes an empty one
        is_known = has_status or bool(problems)
    phase = status.get("phase")
    if type(phase) is str and phase in _PHASES:
        is_known = True
        problems += [] if _PHASES[phase] else [Problem(phase, text(status, "message") or text(status, "reason"))]
    for field in ("health", "sync") if group == "argoproj.io" else ():
        state = text(status, f"{field}.status")
        is_known |= bool(state)
        if state not in ("", "Healthy", "Synced", "Suspended", "Progressing"):
            problems.append(Problem(f"{field} {state}", text(status, f"{field}.message")))
    for condition in _conditions(status):
        word = _verdict(condition)
        is_known |= word is not None
        problems += [_of_condition(condition)] if word is False else []
    return problems if is_known else None


def _below(obj: JsonObject, part: str, wanted_field: str, ready_field: str) -> Iterator[Problem]:
    wanted = mapping(obj, part).get(wanted_field, 1 if part == "spec" else 0)
    ready = mapping(obj, "status").get(ready_field, 0)
    if type(wanted) is int and type(ready) is int and ready < wanted:
        yield Problem(f"{ready} of {wanted} ready")


def _no_container_ready(kind: str, obj: JsonObject) -> list[Problem] | None:
    """Return that no container of a pod is ready, as a server prints it where no container has a status."""
    number = sum(1 for _ in many(obj, "spec.containers"))
    return [Problem(f"0 of {number} ready")] if kind == "Pod" and "status" in obj and number else None


def _pod(obj: JsonObject, status: JsonObject) -> list[Problem] | None:
    """Return what is wrong with a pod; one that completed is healthy, one that runs shows it by containers or Ready."""
    phase = text(status, "phase")
    if phase == "Succeeded":
        return []
    problems = list(_of_containers(status))
    if phase != "Running" and not any(problem.why != "not ready" for problem in problems):
        waits = [condition for condition in _conditions(status) if condition["type"] == "PodScheduled"]
        unscheduled = [_of_condition(condition) for condition in waits if _verdict(condition) is False]
        own = Problem(text(status, "reason") or phase or "no phase", text(status, "message"))
        problems = unscheduled or [own]
    if not problems:
        ready = [condition for condition in _conditions(status) if condition["type"] == "Ready"]
        if not ready and not any(many(status, "containerStatuses")):
            return _no_container_ready("Pod", obj)
        problems = [_of_condition(condition) for condition in ready if _verdict(condition) is False]
    return list(dict.fromkeys(problems))


def _of_containers(status: JsonObject) -> Iterator[Problem]:
    for field in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for container in many(status, field):
            state = mapping(container, "state")
            waiting, ended = mapping(state, "waiting"), mapping(state, "terminated")
            last = mapping(container, "lastState.terminated")
            if waiting and waiting.get("reason") != "PodInitializing":
                yield Problem(text(waiting, "reason") or "waiting", text(waiting, "message") or _exit(last))
            elif ended.get("exitCode", 0) != 0:
                yield Problem(text(ended, "reason") or "terminated", text(ended, "message") or _exit(ended))
            elif field == "containerStatuses" and (not state or "running" in state) and container.get("ready") is False:
                yield Problem("not ready", f"container {text(container, 'name')}")


def _exit(ended: JsonObject) -> str:
    return f"exit code {ended['exitCode']}" if ended.get("exitCode") else ""


def _job(_: JsonObject, status: JsonObject) -> list[Problem]:
    """Return why a Job failed; one that runs is healthy."""
    failed = (
        _of_condition(condition)
        for condition in _conditions(status)
        if condition["type"] in ("Failed", "FailureTarget") and condition["status"] == "True"
    )
    return list(islice(failed, 1))


def _claim(_: JsonObject, status: JsonObject) -> list[Problem]:
    """Return the phase of a PersistentVolumeClaim that is not bound."""
    phase = text(status, "phase")
    return [] if phase == "Bound" else [Problem(phase or "no phase")]


_OWN_RULES: Final[dict[tuple[str, str], Callable[[JsonObject, JsonObject], list[Problem] | None]]] = {
    ("", "Pod"): _pod,
    ("", "PersistentVolumeClaim"): _claim,
    ("batch", "Job"): _job,
}
"""Kinds that have more to say than replicas, a phase and conditions."""


def _verdict(condition: JsonObject) -> bool | None:
    """Return whether a condition says that all is well; None if its type does not tell."""
    reason = text(condition, "reason")
    if reason in _HARMLESS:
        return True
    if reason in _HARMFUL:
        return False
    if _BAD_IF_TRUE.search(condition["type"]):
        return bool(condition["status"] == "False")
    if _BAD_UNLESS_TRUE.search(condition["type"]):
        return bool(condition["status"] == "True")
    return None


def _of_condition(condition: JsonObject) -> Problem:
    reason = text(condition, "reason")
    state = condition["type"] if condition["status"] == "True" else f"{condition['type']} {condition['status']}"
    return Problem(f"{state} ({reason})" if reason else state, text(condition, "message"))


def _conditions(status: JsonObject) -> Iterator[JsonObject]:
    for condition in many(status, "conditions"):
        if type(condition.get("type")) is str and type(condition.get("status")) is str:
            yield condition
