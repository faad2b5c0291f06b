"""Columns of Pods and Jobs, whose state depends on many fields.

Source: kubernetes v1.37.2 pkg/printers/internalversion/printers.go (printPod, printJob).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.builtin.values import (
    NONE,
    age,
    condition,
    containers_text,
    label_selector,
    many,
    number,
    seconds_of,
    text,
    walk,
)
from auditor.printing.durations import human_duration

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.printing.columns import Cell

__all__ = ["job_cells", "pod_cells"]


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
    policies = [(text(one, "name"), text(one, "restartPolicy")) for one in init_specs]
    sidecars = {name for name, policy in dict(policies).items() if policy == "Always"}
    total = len(many(obj, "spec.containers")) + sum(policy == "Always" for _, policy in policies)
    reason = text(obj, "status.reason") or text(obj, "status.phase")
    scheduled = condition(obj, "PodScheduled")
    if scheduled is not None and scheduled.get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    restarts, sidecar_restarts = _Restarts(), _Restarts()
    ready, initializing = 0, ""
    for at, status in enumerate(many(obj, "status.initContainerStatuses")):
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
        initializing = _init_reason(status, terminated, at, len(init_specs))
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
    gates = [text(one, "conditionType") for one in many(obj, "spec.readinessGates")]
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
