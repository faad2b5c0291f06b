"""Which release of the API server a snapshot was taken of, as far as it shows that.

The image of the server's own pod says it exactly; only where kubeadm or a similar tool started it is there such a pod.
Else bounds are put together: kubelets are at most three releases older than the server and never newer, candidates of a
leader election at most one, and a server keeps an APIService for each version that it serves.

Source: the version skew policy of Kubernetes; kube-aggregator pkg/controllers/autoregister.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from auditor.base.errors import ChangedDump
from auditor.builtin.protobuf import WireError, decode_stored
from auditor.plan.dumps import cut_values, first_not_before, open_live, open_values, position_not_before
from auditor.releases.apis import served_since
from auditor.sources.registry_key import printable_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.plan.run_plan import Plan
    from auditor.sources import SourcePlan


_PODS: Final = "/pods/kube-system/kube-apiserver-"
_NODES: Final = "/minions/"
_CANDIDATES: Final = "/leasecandidates/kube-system/"
_API_SERVICES: Final = "/apiregistration.k8s.io/apiservices/"
_ALWAYS: Final = "v1.apps"
"""The APIService of a version that every server serves: without it the others prove nothing."""
_IMAGE: Final = re.compile(rb"/kube-apiserver:(v1\.(\d+)\.\d+[0-9A-Za-z.+-]*)")
_VERSION: Final = re.compile(r"v?1\.(\d+)\.\d+[0-9A-Za-z.+-]*")
_KUBELET_SKEW, _CANDIDATE_SKEW = 3, 1
"""How many minor releases older than the server they may be."""
_MOST: Final = 100
"""Objects of a kind that are looked at."""
_NEVER: Final = 1 << 16


class _Bound(NamedTuple):
    """What an object shows: the oldest and the newest minor release that the server can be of."""

    least: int
    most: int
    text: str
    key: str


def server_seen(plan: Plan) -> dict[str, Any] | None:
    """Return what a snapshot shows of the release of its API server, or None if it shows nothing.

    Returns:
        ``version`` as the image of a pod has it, or as other objects bound it ("1.35", "1.34 to 1.36"); ``least`` and
        ``most``, the minor releases that it can be of (``most`` is None if nothing bounds it); ``by``, the objects that
        show it, and the ``key`` of the first of them.
    """
    prefix = plan.options.etcd_prefix.rstrip("/")
    images: list[_Bound] = []
    bounds: list[_Bound] = []
    for source in plan.sources:
        if not source.is_export:
            with suppress(ChangedDump):  # which the rows of its objects say
                images += _images(source, prefix)
                bounds += [*_versions(source, prefix), *_api_services(source, prefix)]
    if images:
        newest = max(images, key=lambda one: one.least)
        return _seen(newest.text, newest.least, newest.least, [newest._replace(text=f"image of {newest.key}")])
    if not bounds:
        return None
    least, most = max(bound.least for bound in bounds), min(bound.most for bound in bounds)
    if least > most:  # a snapshot of a cluster amid an upgrade, or of no cluster at all
        return None
    name = f"1.{least}" if least == most else f"1.{least} or newer" if most >= _NEVER else f"1.{least} to 1.{most}"
    return _seen(name, least, most, bounds)


def _seen(version: str, least: int, most: int, bounds: list[_Bound]) -> dict[str, Any]:
    by = list(dict.fromkeys(bound.text for bound in bounds))
    return {
        "version": version,
        "least": least,
        "most": None if most >= _NEVER else most,
        "by": by,
        "key": bounds[0].key,
    }


def _images(source: SourcePlan, prefix: str) -> Iterator[_Bound]:
    """Yield what each pod of an API server shows."""
    for key, value in _below(source, prefix + _PODS):
        if (image := _IMAGE.search(value)) is not None:
            yield _Bound(int(image[2]), int(image[2]), image[1].decode(), printable_key(key))


def _versions(source: SourcePlan, prefix: str) -> Iterator[_Bound]:
    """Yield what the newest kubelet and the newest candidate of a leader election show."""
    for below, steps, skew, name in (
        (_NODES, ("status", "nodeInfo", "kubeletVersion"), _KUBELET_SKEW, "kubelet"),
        (_CANDIDATES, ("spec", "binaryVersion"), _CANDIDATE_SKEW, "leader candidate"),
    ):
        versions = []
        for key, value in _below(source, prefix + below):
            text = _field(value, steps)
            if (version := _VERSION.fullmatch(text)) is not None:
                minor = int(version[1])
                versions.append(_Bound(minor, minor + skew, f"{name} {text}", printable_key(key)))
        if versions:
            yield max(versions, key=lambda one: one.least)


def _api_services(source: SourcePlan, prefix: str) -> Iterator[_Bound]:
    """Yield what the versions that the server serves show, by the keys of their APIServices."""
    keys = open_live(source)["key"]

    def has(name: str) -> bool:
        key = f"{prefix}{_API_SERVICES}{name}".encode()
        return first_not_before(keys, key) == key

    if not has(_ALWAYS):
        return
    for api_version, minor in served_since().items():
        group, _, version = api_version.partition("/")
        name = f"{version}.{group}"
        key = f"{prefix}{_API_SERVICES}{name}"
        if has(name):
            yield _Bound(minor, _NEVER, f"APIService {name}", key)
        else:
            yield _Bound(0, minor - 1, f"no APIService {name}", f"{prefix}{_API_SERVICES}{_ALWAYS}")


def _field(value: bytes, steps: tuple[str, ...]) -> str:
    try:
        node: Any = orjson.loads(value) if value[:1] == b"{" else decode_stored(value)
    except (WireError, orjson.JSONDecodeError, RecursionError):  # sealed, or its row says so
        return ""
    for step in steps:
        node = node.get(step) if type(node) is dict else None
    return node if type(node) is str else ""


def _below(source: SourcePlan, prefix: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield the first keys that begin so, with their values."""
    start = prefix.encode()
    table = open_live(source)
    rows = table.slice(position_not_before(table["key"], start), _MOST)
    keys = rows["key"].to_pylist()
    rows = rows.slice(0, sum(key.startswith(start) for key in keys))
    if len(rows):
        yield from zip(keys, cut_values(rows, open_values(source)), strict=False)
