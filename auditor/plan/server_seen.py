"""Which release of the API server a snapshot was taken of, where it shows that: by the image of its pods.

Pods of the control plane are there where kubeadm or a similar tool started it; other clusters show nothing.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from auditor.base.errors import ChangedDump
from auditor.plan.plan import cut_values, open_live, open_values, position_not_before
from auditor.sources.registry_key import printable_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.plan.plan import Plan
    from auditor.sources import SourcePlan

__all__ = ["server_seen"]

_PODS: Final = "/pods/kube-system/kube-apiserver-"
_IMAGE: Final = re.compile(rb"/kube-apiserver:(v1\.(\d+)\.\d+[0-9A-Za-z.+-]*)")
_MOST: Final = 9
"""Pods that are looked at."""


def server_seen(plan: Plan) -> dict[str, str] | None:
    """Return the newest version of the API server that a snapshot shows, with the key that shows it; or None."""
    prefix = (plan.options.etcd_prefix.rstrip("/") + _PODS).encode()
    found: list[tuple[int, dict[str, str]]] = []
    for source in plan.sources:
        if not source.is_export:
            with suppress(ChangedDump):  # which the rows of its objects say
                found += _in_source(source, prefix)
    return max(found, key=lambda one: one[0])[1] if found else None


def _in_source(source: SourcePlan, prefix: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the minor version that each pod of an API server shows, with what is reported of it."""
    table = open_live(source)
    rows = table.slice(position_not_before(table["key"], prefix), _MOST)
    keys = rows["key"].to_pylist()
    rows = rows.slice(0, sum(key.startswith(prefix) for key in keys))
    if not len(rows):
        return
    for key, value in zip(keys, cut_values(rows, open_values(source)), strict=False):
        if (image := _IMAGE.search(value)) is not None:
            yield int(image[2]), {"version": image[1].decode(), "key": printable_key(key)}
