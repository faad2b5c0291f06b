"""Dumps of one definition and a few objects, and a bound on what a command allocates for them."""

from __future__ import annotations

import contextlib
import json
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow as pa

from auditor.cel.operations import cost
from auditor.validation.rules import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Clock", "bounded", "dump"]


class Clock:
    """The processor time that rules may take: it moves on by so many seconds at each look at it, and by nothing else.

    An evaluation looks at it when it begins and ends, and once for each thousand of its cost.
    """

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self._step = seconds

    def __call__(self) -> float:
        self.now += self._step
        return self.now

    @contextlib.contextmanager
    def counted(self) -> Iterator[Clock]:
        """Let rules in this process look at this clock."""
        with mock.patch.multiple(evaluate, thread_time=self), mock.patch.multiple(cost, thread_time=self):
            yield self


@contextlib.contextmanager
def bounded(megabytes: int) -> Iterator[None]:
    """Let this process allocate only so much more: beyond it, Python and Arrow fail, and with them the command.

    What an attack would take is a multiple of it, what the command takes at most half of it. Mapped files do not count.
    """
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (now,) = (int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:"))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    pool = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())  # others reserve a gigabyte
    with mock.patch("pipelines.cli.audit.bound_process"):  # it would replace the bound
        resource.setrlimit(resource.RLIMIT_DATA, (now + (megabytes << 20), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
            pa.set_memory_pool(pool)


def dump(path: Path, spec_schema: dict[str, Any], *specs: Any) -> Path:
    """Write a dump: a definition whose objects have a spec, and an object for each spec."""
    names = {"plural": "ws", "singular": "w", "kind": "W", "listKind": "WList"}
    schema = {"type": "object", "properties": {"spec": spec_schema}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ws.ex.com"},
        "spec": {"group": "ex.com", "scope": "Namespaced", "names": names, "versions": [version]},
        "status": {
            "conditions": [{"type": "Established", "status": "True"}],
            "acceptedNames": names,
            "storedVersions": ["v1"],
        },
    }
    metadata = {"namespace": "d", "uid": "u", "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z"}
    lines = [crd] + [
        {"apiVersion": "ex.com/v1", "kind": "W", "metadata": {"name": f"a{number}", **metadata}, "spec": spec}
        for number, spec in enumerate(specs)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
