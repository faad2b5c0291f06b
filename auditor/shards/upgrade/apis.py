"""Uses of removed and deprecated versions of kinds in the values of a shard, whatever their kind.

Most values mention no such version, which a search of their bytes shows; the others are decoded.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.errors import ChangedDump
from auditor.builtin.protobuf import WireError
from auditor.builtin.scheme import kind_of_resource
from auditor.golang.cbor import CborError
from auditor.plan.dumps import cut_values
from auditor.releases.apis import apis
from auditor.sources.encryption import resource_of
from auditor.sources.registry_key import classify, printable_key, split_key
from auditor.upgrade.api_uses import HELM_PREFIX, UnreadableRelease, client_uses, helm_release
from auditor.upgrade.stored_value import decoded_value

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.plan.run_plan import SourceShard
    from auditor.shards.shard_audit import ShardAuditor
    from auditor.shards.upgrade.scan_plan import UpgradePlan


_BETA: Final = re.compile(rb"/v\d+(?:alpha|beta)\d+")
_LONGEST: Final = 300
"""Most bytes of a version with its group; a group has at most 253."""
_MOST: Final = 1000
"""Most managers of a kind and version, and most entries of Helm releases, that are named; the others count together."""
_SAMPLES: Final = 3
_WRITTEN: Final = {("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition")}
"""Versions that servers themselves write, though they do not serve them.

Source: kubernetes pkg/controlplane/apiserver/apiextensions.go.
"""


@dataclass(slots=True)
class ApiTally:
    """Uses of versions that were found in shards.

    Attributes:
        stored: Objects stored at a version, by (apiVersion, kind, whether a server keeps objects at their keys; None:
            an export shows them at it).
        clients: Objects that were written at a version, by (apiVersion, kind, how, manager).
        last: The newest time of such a write.
        samples: Keys of some objects, by the key of their counter.
        helm: (namespace, release, revision, apiVersion, kind) in manifests of Helm releases.
        helm_more: Further such entries, beyond the first 1,000.
        helm_read: Deployed Helm releases that were read.
        helm_older: Revisions of Helm releases that are not deployed; they are not read.
        helm_unread: Helm releases that could not be read, by the reason.
        services: (namespace, name) of each Service.
        api_services: The (namespace, name) that serves an APIService, by its name.
    """

    stored: Counter[tuple[str, str, bool | None]] = field(default_factory=Counter)
    clients: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    last: dict[tuple[str, str, str, str], str] = field(default_factory=dict)
    samples: dict[tuple[Any, ...], list[str]] = field(default_factory=dict)
    helm: set[tuple[str, str, int, str, str]] = field(default_factory=set)
    helm_more: int = 0
    helm_read: int = 0
    helm_older: int = 0
    helm_unread: Counter[str] = field(default_factory=Counter)
    services: set[tuple[str, str]] = field(default_factory=set)
    api_services: dict[str, tuple[str, str]] = field(default_factory=dict)

    def merge(self, other: ApiTally) -> None:
        """Add the uses found in later shards."""
        self.stored.update(other.stored)
        self.clients.update(other.clients)
        for use, time in other.last.items():
            self.last[use] = max(time, self.last.get(use, ""))
        for use, keys in other.samples.items():
            for key in keys:
                self.sample(use, key)
        for entry in sorted(other.helm):
            self.add_helm(entry)
        self.helm_more += other.helm_more
        self.helm_read += other.helm_read
        self.helm_older += other.helm_older
        self.helm_unread.update(other.helm_unread)
        self.services |= other.services
        self.api_services |= other.api_services

    def add_helm(self, entry: tuple[str, str, int, str, str]) -> None:
        """Add an entry of `helm`, or count it where there are many."""
        if entry in self.helm or len(self.helm) < _MOST:
            self.helm.add(entry)
        else:
            self.helm_more += 1

    def sample(self, at: tuple[Any, ...], key: str) -> None:
        """Add a key, unless there are enough."""
        sample = self.samples.setdefault(at, [])
        if len(sample) < _SAMPLES:
            sample.append(key)


class ApiScan:
    """Searches the values of shards.

    Args:
        owner: The auditor of the shards, with the plan; it opens the dumps.
        scan: The plan of the upgrade.
    """

    def __init__(self, owner: ShardAuditor, scan: UpgradePlan) -> None:
        minor = scan.target.minor
        prefix = owner.plan.options.etcd_prefix.rstrip("/")
        self._owner = owner
        self._reads_helm = scan.options.helm_releases
        self._gone = {(api.api_version, api.kind) for api in apis() if api.is_gone(minor)}
        later = {(api.api_version, api.kind) for api in apis() if 0 < api.deprecated <= minor}
        self._watched = {api for api in self._gone | later if "/" in api[0]}  # Endpoints, written by servers themselves
        own = scan.deprecated_versions
        self._watched |= {(f"{api.group}/{api.version}", api.kind) for api in own}
        texts = {api_version for api_version, _ in self._watched}
        self._beta = tuple(text.encode() for text in texts if _BETA.search(text.encode()))
        self._others = tuple(text.encode() for text in texts if not _BETA.search(text.encode()))
        self._services = f"{prefix}/services/specs/".encode()
        self._api_services = f"{prefix}/apiregistration.k8s.io/apiservices/".encode()
        self._releases = tuple(f"{prefix}/{plural}/".encode() for plural in ("secrets", "configmaps"))
        self.tally = ApiTally()

    def __call__(self, item: SourceShard) -> ApiTally:
        """Return the uses found in a shard."""
        self.tally = ApiTally()
        try:
            table, values = self._owner.source(item.source)
        except ChangedDump:  # the rows of the shard report it
            return self.tally
        rows = table.slice(item.shard.start, item.shard.stop - item.shard.start)
        for key, data in zip(rows["key"].to_pylist(), cut_values(rows, values), strict=True):
            if key is not None:
                self._stored(key, data)
            elif self._mentions(data) or self._is_release(data):
                self._exported(data)
        return self.tally

    def _mentions(self, data: bytes) -> bool:
        for mention in _BETA.finditer(data):
            end = mention.end()
            if data[max(0, end - _LONGEST) : end].endswith(self._beta):
                return True
        return any(text in data for text in self._others)

    def _is_release(self, data: bytes) -> bool:
        return self._reads_helm and HELM_PREFIX.encode() in data

    def _stored(self, key: bytes, data: bytes) -> None:
        if key.startswith(self._services):
            namespace, _, name = printable_key(key[len(self._services) :]).partition("/")
            self.tally.services.add((namespace, name))
        is_service = key.startswith(self._api_services)
        is_release = self._reads_helm and key.startswith(self._releases) and f"/{HELM_PREFIX}".encode() in key
        if data[:4] == b"k8s:":
            place = classify(split_key(key, self._owner.plan.options.etcd_prefix), self._owner.scopes)
            opened = self._owner.unsealer.open(key, resource_of(place), data)
            if opened.data is None:  # its row says so
                self.tally.helm_unread.update(["it is encrypted, and no key opens it"] if is_release else ())
                return
            data = opened.data
        mentions = self._mentions(data)
        if not (mentions or is_service or is_release):
            return
        try:
            api_version, kind, obj = decoded_value(data)
        except (WireError, CborError, orjson.JSONDecodeError, RecursionError):  # its row says so
            self.tally.helm_unread.update(["its value cannot be decoded"] if is_release else ())
            return
        if is_service:
            self._api_service(obj)
        if is_release:
            self._release(obj)
        if not mentions:
            return
        shown = printable_key(key)
        if (api_version, kind) in self._watched and (api_version, kind) not in _WRITTEN:
            place = classify(split_key(key, self._owner.plan.options.etcd_prefix), self._owner.scopes)
            is_kept = kind_of_resource(place.group, place.plural or "") is not None
            self.tally.stored[api_version, kind, is_kept] += 1
            self.tally.sample((api_version, kind, is_kept), shown)
        self._uses(obj, shown)

    def _exported(self, data: bytes) -> None:
        try:
            obj = orjson.loads(data)
        except orjson.JSONDecodeError:
            return
        if type(obj) is not dict:
            return
        metadata = obj.get("metadata")
        names = [metadata.get(name) for name in ("namespace", "name")] if type(metadata) is dict else []
        shown = "/".join(name for name in names if type(name) is str and name)
        own = (obj.get("apiVersion"), obj.get("kind"))
        if own in self._gone:
            self.tally.stored[(*own, None)] += 1
            self.tally.sample((*own, None), shown)
        self._uses(obj, shown)
        if self._reads_helm and len(names) == 2 and type(names[1]) is str and names[1].startswith(HELM_PREFIX):
            self._release(obj)

    def _uses(self, obj: JsonObject, shown: str) -> None:
        tally = self.tally
        uses: dict[tuple[str, str, str, str], str] = {}
        for use in client_uses(obj):
            if (use.api_version, use.kind) in self._watched:
                use_key = (use.api_version, use.kind, use.how, use.manager)
                if use_key not in tally.clients and len(tally.clients) >= _MOST:
                    use_key = (use.api_version, use.kind, use.how, "others")
                uses[use_key] = max(use.time, uses.get(use_key, ""))
        for use_key, time in uses.items():
            tally.clients[use_key] += 1
            tally.last[use_key] = max(time, tally.last.get(use_key, ""))
            tally.sample(use_key, shown)

    def _api_service(self, obj: JsonObject) -> None:
        metadata, spec = obj.get("metadata"), obj.get("spec")
        service = spec.get("service") if type(spec) is dict else None
        name = metadata.get("name") if type(metadata) is dict else None
        if type(service) is dict and type(name) is str:
            namespace, own = service.get("namespace"), service.get("name")
            if type(namespace) is str and type(own) is str:
                self.tally.api_services[name] = (namespace, own)

    def _release(self, obj: JsonObject) -> None:
        tally = self.tally
        try:
            release = helm_release(obj)
        except UnreadableRelease as error:
            tally.helm_unread[str(error)] += 1
            return
        if release is None:
            tally.helm_older += 1
            return
        tally.helm_read += 1
        metadata = obj.get("metadata") or {}
        namespace = metadata.get("namespace")
        for api_version, kind in sorted(release.kinds):
            if (api_version, kind) in self._gone:
                tally.add_helm((str(namespace), release.name, release.revision, api_version, kind))
