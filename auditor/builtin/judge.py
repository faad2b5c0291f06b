"""The audit of a stored value of a built-in kind: it decodes, or lists of its kind fail, with the reason.

A value that decodes is not validated. A value without a name, or without a namespace if its kind has namespaces, stops
the watch cache of its kind. Events are the only kind without a watch cache.

Source: apiserver pkg/registry/generic/registry/store.go (NamespaceKeyFunc), pkg/storage/cacher; answers of a server of
Kubernetes 1.37.2.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.base.statuses import Impact, Status
from auditor.builtin.builtin_kinds import BUILTIN_KINDS
from auditor.builtin.protobuf import MAGIC
from auditor.builtin.quick import Prover
from auditor.builtin.quick_json import JsonProver
from auditor.builtin.scheme import kind_of_resource, target_of
from auditor.builtin.stored import UndecodableError, read_stored
from auditor.sources.registry_key import is_namespaced

if TYPE_CHECKING:
    from auditor.builtin.scheme import Target


NOT_DECODED = "not decoded"
"""Reason of a value that `--skip` excludes from decoding."""
_NODE_PORTS: Final = ("ranges", "servicenodeports")
"""The one range that every server reads; addresses of services are objects since 1.33."""
_LISTED_AT_START: Final = frozenset((kind.group, kind.plural) for kind in BUILTIN_KINDS if kind.ends_server)
"""Kinds that a server lists at its start, to check addresses and ports of services; it fails a minute later without.

Source: pkg/registry/core/rest/storage_core.go (PostStartHook) and the repair loops of ipallocator and portallocator.
"""
_NO_START: Final = " (no node port can be allocated, and a server that starts ends after a minute)"
_UNLISTED = frozenset({"ranges", "masterleases", "peerserverleases"})


class Judged(NamedTuple):
    """The judgement of a value of a built-in kind.

    Attributes:
        status: builtin, unreadable or orphaned.
        reason: Why it cannot be decoded or listed; None if it can.
        impacts: Its impacts on a server.
        version: The version of its stored apiVersion.
    """

    status: Status
    reason: str | None = None
    impacts: tuple[Impact, ...] = ()
    version: str | None = None

    @property
    def impact(self) -> Impact | None:
        """The worst of its impacts, or None if none is known."""
        return self.impacts[0] if self.impacts else None if self.status is Status.UNREADABLE else Impact.NONE


@functools.cache
def _prover() -> Prover:
    return Prover()


@functools.cache
def _json_prover() -> JsonProver:
    return JsonProver()


def is_proven(target: Target, data: bytes) -> bool:
    """Whether the fast check proves that a value decodes; False proves nothing."""
    return _proven(target, data) is not None


def _proven(target: Target, data: bytes) -> tuple[str, bool, bool] | None:
    if data.startswith(MAGIC):
        return _prover().prove(target, data)
    return _json_prover().prove(target, data) if data[:1] == b"{" else None


def target_at(group: str | None, plural: str | None) -> Target | None:
    """Return the storage form of the kind whose keys are below a plural, or None if this release has none."""
    return None if plural is None else kind_of_resource(group, plural)


def judge_stored(target: Target, plural: str | None, data: bytes, *, namespaced: bool) -> Judged:
    """Audit the value of a key.

    Args:
        target: The storage form of the kind of the key.
        plural: The plural of the kind in the key.
        data: The value, decrypted.
        namespaced: Whether objects of the kind have a namespace.
    """
    version: str | None
    proven = _proven(target, data)
    if proven is not None:
        version, has_namespace, has_name = proven
    else:
        try:
            stored = read_stored(target, data)
        except UndecodableError as error:
            impacts = () if plural in _UNLISTED else (Impact.BREAKS_LIST,)
            return Judged(Status.UNREADABLE, str(error), impacts, error.version)
        version, has_namespace, has_name = stored.version, bool(stored.namespace), bool(stored.name)
    if (has_name and (has_namespace or not namespaced)) or plural in _UNLISTED or target.kind == "Event":
        return Judged(Status.BUILTIN, None, (), version)
    missing = "Name" if has_namespace or not namespaced else "Namespace"
    return Judged(
        Status.BUILTIN, f"couldn't compute key: {missing} parameter required.", (Impact.BREAKS_WATCH,), version
    )


def judge_at(group: str | None, plural: str | None, data: bytes, name: str | None = None) -> Judged:
    """Audit the value of a key of a built-in kind.

    Args:
        group: The group of the kind.
        plural: The plural of the kind in the key.
        data: The value, decrypted.
        name: The last part of the key.
    """
    target = target_at(group, plural)
    if target is None or plural is None:
        return Judged(Status.ORPHANED, f"no server of this release keeps objects at {plural}")
    judged = judge_stored(target, plural, data, namespaced=bool(is_namespaced(plural)))
    if judged.status is Status.UNREADABLE and (plural, name) == _NODE_PORTS:
        return judged._replace(reason=f"{judged.reason}{_NO_START}", impacts=(Impact.CRASHES_SERVER,))
    if judged.impact in (Impact.BREAKS_LIST, Impact.BREAKS_WATCH) and (group or "", plural) in _LISTED_AT_START:
        return judged._replace(impacts=(Impact.CRASHES_SERVER, *judged.impacts))
    return judged


def judge_exported(group: str, kind: str, data: bytes) -> Judged:
    """Audit an exported object of a built-in group, as if a server had it in its storage.

    Args:
        group: The group in its apiVersion.
        kind: Its `kind`.
        data: The object as JSON.
    """
    target = target_of(group, kind)
    if target is None:
        if (group, kind) == ("", "ComponentStatus"):  # a server makes these when it is asked
            return Judged(Status.BUILTIN, None, (), "v1")
        label = f"{kind}.{group}" if group else kind
        return Judged(Status.ORPHANED, f"no server of this release stores {label}")
    proven = _proven(target, data)
    if proven is not None:
        return Judged(Status.BUILTIN, None, (), proven[0])
    try:
        return Judged(Status.BUILTIN, None, (), read_stored(target, data).version)
    except UndecodableError as error:
        return Judged(Status.UNREADABLE, str(error), (Impact.BREAKS_LIST,), error.version)
