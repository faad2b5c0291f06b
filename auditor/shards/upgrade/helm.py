"""What `helm upgrade` does to definitions besides applying them, by the releases in a dump.

Helm deletes what the manifest of the deployed release has and the new one lacks, unless the live object is annotated
with ``helm.sh/resource-policy: keep``. ``crds/`` is no part of a manifest, and an upgrade installs nothing of it.

Source: helm pkg/kube/client.go (Update), pkg/action/upgrade.go, pkg/action/hooks.go; measured with Helm 3 on v1.37.2.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from auditor.base import arrow as kernels
from auditor.base.errors import PlanError
from auditor.builtin.protobuf import WireError
from auditor.golang.cbor import CborError
from auditor.golang.jsontext import decode
from auditor.plan.charts import Chart, RenderAs
from auditor.plan.dumps import cut_values, open_live, open_values
from auditor.sources.crd_files import definitions_in, documents_of
from auditor.sources.encryption import make_unsealer
from auditor.sources.registry_key import printable_key
from auditor.sources.source_plan import UNREAD_DEFINITIONS, Damage
from auditor.sources.yaml import YamlError
from auditor.upgrade.api_uses import HELM_PREFIX, UnreadableRelease, helm_release
from auditor.upgrade.stored_value import decoded_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from auditor.base.records import JsonObject
    from auditor.plan.run_plan import Plan
    from auditor.sources import SourcePlan


_STATUSES: Final = frozenset({"deployed", "failed", "superseded", "uninstalled"})
"""Statuses of the revisions that say which one an upgrade starts from."""
_GOES_ON: Final = frozenset({"failed", "superseded"})
"""Statuses of a last revision that an upgrade starts from if none is deployed."""
_KEEP: Final = "helm.sh/resource-policy"
_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_RELEASE: Final = "meta.helm.sh/release"
_ARGO: Final = "argocd.argoproj.io"
_FLUX: Final = (("kustomize.toolkit.fluxcd.io", "Flux Kustomization"), ("helm.toolkit.fluxcd.io", "Flux HelmRelease"))
_CRD: Final = "CustomResourceDefinition"
_INVENTORY: Final = f"_apiextensions.k8s.io_{_CRD}"


class HelmUpgrade(NamedTuple):
    """An upgrade of a release to a new chart.

    Attributes:
        release: Namespace and name, with a slash.
        revision: The one that it starts from.
        chart: The new chart, as the user named it.
        deletes: Definitions that it deletes, with their objects.
        keeps: Definitions that only their annotation keeps.
        fails: Definitions for which it fails before it does anything, as pre-upgrade hooks that are there already.
        fails_after: Those for which it fails at its end, as post-upgrade hooks.
        foreign: Definitions that it would create, and that are there and not of this release: it does nothing.
        would_delete: Definitions that it deletes once it no longer fails before it does anything.
        unknown: Definitions that may be in the new manifest: only rendering the chart shows it.
        left_alone: Definitions in ``crds/``, which it does not apply.
        is_printed: Whether the user rendered the chart: only with the values of the release is that the new manifest.
        is_unseen: Whether definitions of the release are given, and not its chart: what it does is not known.
    """

    release: str
    revision: int
    chart: str
    deletes: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    fails_after: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    would_delete: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    left_alone: tuple[str, ...] = ()
    is_printed: bool = False
    is_unseen: bool = False


class _Owning(NamedTuple):
    """A release that can be upgraded: place, revision, name of its chart, values, definitions in its manifest."""

    namespace: str
    name: str
    revision: int
    chart: str
    values: JsonObject
    definitions: frozenset[str]

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}"


class HelmReleases:
    """The deployed releases in the dumps of a plan, read when they are first asked for.

    Args:
        plan: The plan, with the dumps.
        wanted: The release that counts, NAME or NAMESPACE/NAME; empty if it is the one of the chart.
    """

    def __init__(self, plan: Plan, wanted: str) -> None:
        self._plan = plan
        self._wanted = wanted
        self.is_named = bool(wanted)
        self.unread: Counter[str] = Counter()

    @cached_property
    def every(self) -> tuple[_Owning, ...]:
        """All releases, each at the revision that an upgrade starts from: the deployed one, else one that failed."""
        newest: dict[tuple[str, str], tuple[bool, int, str, _Owning]] = {}
        for obj, problem in _stored(self._plan):
            if obj is None:
                self.unread[problem] += 1
                continue
            try:
                release = helm_release(obj, _STATUSES)
                if release is None:
                    continue
                names = _definitions_of(release.manifest)
            except (UnreadableRelease, YamlError) as error:
                self.unread[str(error)] += 1
                continue
            namespace = str((obj.get("metadata") or {}).get("namespace") or "default")
            owning = _Owning(namespace, release.name, release.revision, release.chart, release.values, names)
            place = namespace, release.name
            candidate = release.status == "deployed", release.revision, release.status, owning
            if place not in newest or newest[place][:2] < candidate[:2]:
                newest[place] = candidate
        return tuple(
            release
            for _, (is_deployed, _, status, release) in sorted(newest.items())
            if is_deployed or status in _GOES_ON
        )

    def of_chart(self, chart: str) -> list[_Owning]:
        """Return the releases that an upgrade with a chart of a name is about: if some own definitions, those alone.

        Raises:
            PlanError: The release that the user named is not in the dumps.
        """
        if not self._wanted:
            of_chart = [release for release in self.every if release.chart == chart]
            return [release for release in of_chart if release.definitions] or of_chart
        releases = [release for release in self.every if self._wanted in (release.name, release.place)]
        if not releases:
            known = ", ".join(release.place for release in self.every[:10]) or "none can be read"
            raise PlanError("--helm-release", f"no release {self._wanted} in the dump", f"one of: {known}")
        return releases

    def render_as(self, chart: str) -> RenderAs:
        """Return the release as which a chart is rendered: with its values, as `helm upgrade` without values does.

        Raises:
            PlanError: Several releases that own definitions are of the chart, each with its values.
        """
        releases = self.of_chart(chart)
        served = _served(self._plan)
        if len(releases) > 1 and releases[0].definitions:
            places = ", ".join(release.place for release in releases)
            raise PlanError(
                "--render", f"{len(releases)} releases are of the chart {chart}", f"--helm-release of: {places}"
            )
        if len(releases) != 1:
            return RenderAs(served=served)
        return RenderAs(releases[0].name, releases[0].namespace, releases[0].values, is_upgrade=True, served=served)


def helm_upgrades(
    plan: Plan, releases: HelmReleases, charts: Sequence[Chart], given: Mapping[str, JsonObject], *, wanted: bool
) -> list[HelmUpgrade]:
    """Return what upgrades of the releases in a dump to new charts do.

    Notes what is not known as damage of the first dump.

    Args:
        plan: The plan, with today's definitions.
        releases: The releases in it.
        charts: The new charts.
        given: The new definitions, by name.
        wanted: Whether the user named the release; then definitions without a chart are what its manifest has.
    """
    if wanted and not charts:
        charts = [Chart("", "the new definitions", [], in_manifest=frozenset(given), is_printed=True)]
    live = {entry.name: _live(plan, entry.name) for entry in plan.entries} if charts else {}
    out = [_upgrade(release, chart, live) for chart in charts for release in releases.of_chart(chart.name)]
    if charts and releases.unread:
        reasons = "; ".join(f"{reason} ({count})" for reason, count in sorted(releases.unread.items()))
        plan.sources[0].damage += (Damage("Helm releases", f"some could not be read: {reasons}"),)
    unread = {chart.shown for chart in charts if chart.unread}
    for chart in charts:
        if not releases.of_chart(chart.name):
            _note_unknown_release(plan, releases, chart, live)
    for upgrade in out:
        if upgrade.unknown and upgrade.chart not in unread:
            names = ", ".join(upgrade.unknown)
            why = f"whether the release {upgrade.release} still has {names} is known when it is rendered (--render)"
            plan.sources[0].damage += (Damage(f"{UNREAD_DEFINITIONS}{upgrade.chart}/templates", why),)
    of_charts = {_name(document) for chart in charts for document in chart.documents}
    return out if wanted else out + _unseen(plan, given.keys() - of_charts)


def _unseen(plan: Plan, given: AbstractSet[str]) -> list[HelmUpgrade]:
    """Return the releases that live definitions are of, by their metadata, where such were given without a chart.

    Those of the same API group count, too: the release may have had one that is not among the new ones.
    """
    groups = {name.partition(".")[2] for name in given}
    concerned = (entry.name for entry in plan.entries if entry.name in given or entry.group in groups)
    places = {_owner(_live(plan, name)) for name in concerned} - {""}
    return [HelmUpgrade(place, 0, "the new definitions", is_unseen=True) for place in sorted(places)]


def _note_unknown_release(plan: Plan, releases: HelmReleases, chart: Chart, live: Mapping[str, JsonObject]) -> None:
    """Note the definitions of Helm releases that an upgrade to a chart may delete, where none is known to be of it."""
    known = {release.place: release.definitions for release in releases.every}
    for name, document in live.items():
        owner = _owner(document)
        is_known = owner in known
        has_some_of = is_known and not known[owner].isdisjoint(_name(given) for given in chart.documents)
        is_in_manifest = name in (chart.in_manifest or ()) or _annotations(document).get(_KEEP) == "keep"
        if not owner or is_in_manifest or (is_known and not (has_some_of and name in known[owner])):
            continue
        rest = "; if this chart upgrades it, name it by --helm-release" if is_known else ", which is not in the dump"
        why = f"whether helm upgrade deletes {name} is not known: it is of the release {owner}{rest}"
        plan.sources[0].damage += (Damage(f"{UNREAD_DEFINITIONS}{chart.shown}", why),)


def _owner(document: JsonObject) -> str:
    """Return the release that a definition is of by its metadata, NAMESPACE/NAME; empty if it is of none."""
    if _annotations(document, "labels").get(_MANAGED_BY) != "Helm":
        return ""
    annotations = _annotations(document)
    name, namespace = annotations.get(f"{_RELEASE}-name"), annotations.get(f"{_RELEASE}-namespace")
    return f"{namespace}/{name}" if name and namespace else ""


def _served(plan: Plan) -> tuple[str, ...]:
    """Return what the definitions of a cluster add to its API: GROUP/VERSION, and GROUP/VERSION/KIND."""
    out: dict[str, None] = {}
    for entry in plan.entries:
        spec = _live(plan, entry.name).get("spec")
        versions = spec.get("versions") if type(spec) is dict else None
        for version in versions if type(versions) is list else ():
            if type(version) is dict and version.get("served") is True:
                out |= {
                    f"{entry.group}/{version.get('name')}": None,
                    f"{entry.group}/{version.get('name')}/{entry.kind}": None,
                }
    return tuple(out)


def _upgrade(release: _Owning, chart: Chart, live: Mapping[str, JsonObject]) -> HelmUpgrade:
    there = [(name, hooks) for name, hooks in sorted(chart.in_hooks.items()) if name in live]
    fails = [name for name, hooks in there if "pre-upgrade" in hooks]
    new = sorted((chart.in_manifest or frozenset()) & live.keys() - release.definitions)
    foreign = [name for name in new if _owner(live[name]) != release.place]
    kept, deleted, unknown = [], [], []
    for name in sorted(release.definitions & live.keys() - (chart.in_manifest or frozenset())):
        if _annotations(live[name]).get(_KEEP) == "keep":
            kept.append(name)
        elif chart.in_manifest is None:
            unknown.append(name)
        else:
            deleted.append(name)
    withheld, deleted = (deleted, []) if fails or foreign else ([], deleted)
    fails_after = [name for name, hooks in there if "post-upgrade" in hooks and name not in deleted + withheld]
    left = sorted(chart.in_crds - set(deleted))
    return HelmUpgrade(
        release.place, release.revision, chart.shown,
        tuple(deleted), tuple(kept), tuple(fails), tuple(fails_after), tuple(foreign), tuple(withheld),
        tuple(unknown), tuple(left), chart.is_printed and bool(release.definitions),
    )  # fmt: skip


def _live(plan: Plan, name: str) -> JsonObject:
    """Return a definition as it is in the cluster."""
    if name in plan.replaced:
        document: Any = decode(plan.replaced[name])
        return document if type(document) is dict else {}
    return next(plan.definitions_file.document(entry) for entry in plan.entries if entry.name == name)


def _name(document: JsonObject) -> str:
    return str((document.get("metadata") or {}).get("name"))


def _annotations(document: JsonObject, field: str = "annotations") -> JsonObject:
    metadata = document.get("metadata")
    value = metadata.get(field) if type(metadata) is dict else None
    return value if type(value) is dict else {}


def _definitions_of(manifest: str) -> frozenset[str]:
    if _CRD not in manifest:
        return frozenset()
    definitions = (
        definition
        for document in documents_of("manifest", manifest.encode())
        for definition in definitions_in(document)
    )
    return frozenset(map(_name, definitions))


# -- who else owns them ------------------------------------------------------------------------------------------------


def owners_of(plan: Plan, releases: HelmReleases, names: frozenset[str], but: str) -> dict[str, list[str]]:
    """Return who else owns definitions, by their names: other releases, Argo CD and Flux by labels and inventories."""
    out: dict[str, list[str]] = {name: [] for name in sorted(names)}
    for release in releases.every:
        for name in release.definitions & names:
            if release.place != but:
                out[name].append(f"Helm release {release.place}")
    for entry in plan.entries:
        if entry.name in names:
            out[entry.name] += _by_labels(_live(plan, entry.name))
    for kind, place, owned in _inventories(plan):
        for name in owned & names:
            out[name].append(f"{kind} {place}")
    return {name: list(dict.fromkeys(owners)) for name, owners in out.items() if owners}


def _by_labels(document: JsonObject) -> Iterator[str]:
    labels = _annotations(document, "labels")
    tracking = _annotations(document).get(f"{_ARGO}/tracking-id")
    application = tracking.partition(":")[0] if type(tracking) is str else labels.get(f"{_ARGO}/instance")
    if application:
        yield f"Argo CD application {application}"
    for prefix, kind in _FLUX:
        if name := labels.get(f"{prefix}/name"):
            yield f"{kind} {labels.get(f'{prefix}/namespace', '')}/{name}"


def _inventories(plan: Plan) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield kind, place and owned definitions of each object with an inventory."""
    for source in plan.sources:
        for data in _values(
            plan, source, ("/kustomize.toolkit.fluxcd.io/kustomizations/", "/argoproj.io/applications/")
        ):
            if _CRD.encode() not in data:
                continue
            try:
                obj = orjson.loads(data)
            except orjson.JSONDecodeError:
                continue
            metadata = obj.get("metadata") if type(obj) is dict else None
            status = obj.get("status") if type(obj) is dict else None
            if type(metadata) is not dict or type(status) is not dict:
                continue
            place = f"{metadata.get('namespace')}/{metadata.get('name')}"
            if obj.get("kind") == "Kustomization":
                entries = (status.get("inventory") or {}).get("entries") or ()
                ids = (str(entry.get("id")) for entry in entries if type(entry) is dict)
                owned = frozenset(
                    name.removesuffix(_INVENTORY).partition("_")[2] for name in ids if name.endswith(_INVENTORY)
                )
                yield "Flux Kustomization", place, owned
            elif obj.get("kind") == "Application":
                resources = (resource for resource in status.get("resources") or () if type(resource) is dict)
                owned = frozenset(str(resource.get("name")) for resource in resources if resource.get("kind") == _CRD)
                yield "Argo CD application", str(metadata.get("name")), owned


# -- values of dumps ---------------------------------------------------------------------------------------------------


def _values(plan: Plan, source: SourcePlan, below: tuple[str, ...]) -> Iterator[bytes]:
    """Yield the values below some places of a dump; all values of an export."""
    table, values = open_live(source), open_values(source)
    if source.is_export:
        yield from cut_values(table, values)
        return
    prefix = plan.options.etcd_prefix.rstrip("/")
    for place in below:
        yield from cut_values(table.filter(kernels.starts_with(table["key"], prefix + place)), values)


def _stored(plan: Plan) -> Iterator[tuple[JsonObject | None, str]]:
    """Yield the objects that hold releases, each with an empty text, or None with why one could not be read."""
    options = plan.options
    unsealer = make_unsealer(options.encryption_config, options.kms_decryptor)
    prefix = options.etcd_prefix.rstrip("/")
    for source in plan.sources:
        if source.is_export:
            for data in _values(plan, source, ()):
                if HELM_PREFIX.encode() in data:
                    obj = _object(data)
                    if str(((obj or {}).get("metadata") or {}).get("name")).startswith(HELM_PREFIX):
                        yield obj, ""
            continue
        table, values = open_live(source), open_values(source)
        for plural in ("secrets", "configmaps"):
            rows = table.filter(kernels.starts_with(table["key"], f"{prefix}/{plural}/"))
            keys = rows["key"].to_pylist()
            for key, data in zip(keys, cut_values(rows, values), strict=True):
                if not printable_key(key).rpartition("/")[2].startswith(HELM_PREFIX):
                    continue
                opened = unsealer.open(key, ("", plural), data)
                if opened.data is None:
                    yield None, "it is encrypted, and no key opens it"
                    continue
                obj = _object(opened.data)
                yield obj, "" if obj is not None else "its value cannot be decoded"


def _object(data: bytes) -> JsonObject | None:
    try:
        return decoded_value(data)[2]
    except (WireError, CborError, orjson.JSONDecodeError, RecursionError):
        return None
