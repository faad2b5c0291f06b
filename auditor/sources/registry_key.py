"""Etcd keys of an API server: /registry/<group>/<plural>/[<namespace>/]<name>, and what a key is told from its shape.

Nothing here knows a definition: the caller gives the (group, plural) pairs that definitions own.
Source: apiserver pkg/server/options/etcd.go, pkg/registry/generic/registry/store.go (NamespaceKeyFunc).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Place", "classify", "printable_key", "split_key"]

OWN_GROUPS: Final = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)
"""API groups that Kubernetes serves itself."""

_CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_SPECIAL: Final = frozenset({"health", "compact_rev_key", "ranges", "masterleases"})


@dataclass(frozen=True, slots=True)
class Place:
    """What a key says: `status` is custom, definition, builtin, orphaned or other; unknown parts are None."""

    status: str
    group: str | None = None
    plural: str | None = None
    namespace: str | None = None
    name: str | None = None
    reason: str | None = None


def printable_key(key: bytes) -> str:
    r"""Return a key as text; bytes that are no UTF-8 are written ``\xNN``."""
    return key.decode("utf-8", "backslashreplace")


def split_key(key: bytes, prefix: str) -> tuple[str, ...] | None:
    """Return the segments of a key below the prefix, or None where it is not below it."""
    text = printable_key(key)
    root = "/" + prefix.strip("/") + "/" if prefix.strip("/") else "/"
    return tuple(text[len(root) :].split("/")) if text.startswith(root) else None


def classify(segments: tuple[str, ...] | None, resources: Mapping[tuple[str, str], bool]) -> Place:
    """Tell what a key is.

    Args:
        segments: As `split_key` gives them.
        resources: (group, plural) of each definition to whether its objects are namespaced.
    """
    if segments is None:
        return Place("other", reason="not below the prefix of the API server's keys")
    if len(segments) < 2 or not all(segments):
        return Place("other", reason="no key of an object")
    if segments[0] in _SPECIAL:
        return Place("other", reason="the API server's own bookkeeping")
    namespaced = resources.get((segments[0], segments[1]))
    if namespaced is not None:
        return _custom(segments, namespaced=namespaced)
    if segments[:2] == _CRDS and len(segments) == 3:
        return Place("definition", segments[0], segments[1], None, segments[2])
    if segments[0] in OWN_GROUPS or "." not in segments[0]:
        return _builtin(segments)
    if len(segments) < 3:
        return Place("other", segments[0], segments[1], reason="no key of an object")
    namespace = segments[2] if len(segments) > 3 else None
    reason = f"no definition owns {segments[1]}.{segments[0]}"
    return Place("orphaned", segments[0], segments[1], namespace, "/".join(segments[3:] or segments[2:]), reason)


def _custom(segments: tuple[str, ...], *, namespaced: bool) -> Place:
    group, plural, *rest = segments
    if len(rest) == 2 and namespaced:
        return Place("custom", group, plural, rest[0], rest[1])
    if len(rest) == 1 and not namespaced:
        return Place("custom", group, plural, None, rest[0])
    form = "namespace and name" if namespaced else "a name"
    reason = f"the key does not fit the scope: {plural}.{group} wants {form} after the resource"
    return Place("other", group, plural, None, rest[-1] if rest else None, reason)


def _builtin(segments: tuple[str, ...]) -> Place:
    group, rest = ("", segments)
    if segments[0] in OWN_GROUPS and len(segments) > 2 and "." in segments[0]:
        group, rest = segments[0], segments[1:]
    plural = {"minions": "nodes"}.get(rest[0], rest[0])
    if rest[0] == "services" and len(rest) == 4 and rest[1] in ("specs", "endpoints"):
        plural, rest = ("services" if rest[1] == "specs" else "endpoints"), rest[1:]
    namespace = rest[1] if len(rest) > 2 else None
    return Place("builtin", group, plural, namespace, rest[-1])
