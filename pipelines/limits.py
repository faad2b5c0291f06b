"""Limits of a run: memory of its processes, time for an object's rules and for the whole run.

Imports little: options are read before anything heavy is loaded.
"""

from __future__ import annotations

import re
import time
from typing import Any, Final

import click

from auditor.base.errors import EnvironmentRefused
from auditor.base.machine import address_space, memory_limit
from auditor.plan.limits import LEAST_MEMORY

_UNITS: Final = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "k": 10**3, "M": 10**6, "G": 10**9}
_SECONDS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_AMOUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]*)")
_SHARE: Final = 0.75
_LEAST_ADDRESS_SPACE: Final = 512 << 20
"""In bytes; with less, libraries fail in various ways to load or to start threads, or crash (seen up to 345 MB)."""


def check_address_space() -> None:
    """Refuse to start if `ulimit -v` leaves less address space than the libraries need.

    Raises:
        EnvironmentRefused: It does.
    """
    if 0 < (limit := address_space()) < _LEAST_ADDRESS_SPACE:
        raise EnvironmentRefused(
            "", f"{limit >> 20} MiB of address space", f"at least {_LEAST_ADDRESS_SPACE >> 20} MiB", "raise `ulimit -v`"
        )


def _amount(text: str, units: dict[str, Any]) -> float | None:
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or match[2] not in units:
        return None
    return float(match[1]) * float(units[match[2]])


class MemoryAmount(click.ParamType):  # type: ignore[type-arg]
    """An amount of memory as Kubernetes writes it."""

    name = "memory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return bytes."""
        amount = float(value) if isinstance(value, int) else _amount(str(value), _UNITS)
        if amount is None:
            self.fail(f"{value!r} is not an amount of memory; expected e.g. 512Mi or 2Gi", param, ctx)
        if amount < LEAST_MEMORY:
            self.fail(f"{value} is less than a run needs; expected at least {LEAST_MEMORY >> 20}Mi", param, ctx)
        return int(amount)


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A length of time."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        amount = float(value) if isinstance(value, int | float) else _amount(str(value), _SECONDS)
        if amount is None or amount <= 0:
            self.fail(f"{value!r} is not a duration; expected e.g. 500ms, 10s or 2h", param, ctx)
        return amount


def share_of_memory(limit: int | None = None) -> int:
    """Return three quarters of the memory of the cgroup, or else of the machine; 0 if not known.

    Args:
        limit: Bytes to take the share of; None for the limit of this process.
    """
    return int((memory_limit() if limit is None else limit) * _SHARE)


def deadline_of(seconds: float | None) -> float:
    """Return the time (of `time.time`) at which a run that starts now must stop; 0 means no limit."""
    return 0.0 if seconds is None else time.time() + seconds
