"""The kinds of a cluster, and how an argument names one: plural, singular, kind, short name, group, version, category.

Resources are in discovery order: the core group first, groups by priority and name, versions as Kubernetes ranks
them, resources by plural. Where several fit, the first counts.

Source: client-go restmapper/shortcut.go, discovery; apimachinery pkg/api/meta (priority.go, restmapper.go),
pkg/version/helpers.go; cli-runtime pkg/resource/builder.go (mappingFor).
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auditor.base.wording import by_count, counted, objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_CRD_PRIORITY = 1000


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind at one served version.

    Attributes:
        columns: additionalPrinterColumns as declared; empty for built-in kinds.
        verbs: The verbs that a server supports for it; empty for all.
        is_list_kind: Whether it is a kind like PodList, which has a name but no resource.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool = True
    columns: tuple[Any, ...] = field(default=(), compare=False)
    is_list_kind: bool = False
    verbs: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_stored(self) -> bool:
        """Whether a server stores objects of the kind."""
        return not self.verbs

    @property
    def api_version(self) -> str:
        """Group and version as objects write them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """The name of the resource in the server's errors: ``pods``, ``widgets.example.com``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def group_kind(self) -> str:
        """The name in the output of ``-o name``: ``pod``, ``widget.example.com``."""
        kind = self.kind.lower()
        return f"{kind}.{self.group}" if self.group else kind

    @property
    def one(self) -> str:
        """The singular; if a definition names none, the kind in lower case."""
        return self.singular or self.kind.lower()


class UnknownResource(Exception):
    """No resource has that name; the text is kubectl's."""

    def __init__(self, name: str, group: str) -> None:
        where = f' in group "{group}"' if group else ""
        super().__init__(f'the server doesn\'t have a resource type "{name}"{where}')
        self.name = name
        self.group = group


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Return a key that sorts versions as Kubernetes does: v10, v2, v1, v1beta2, v1alpha1, foo1."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    level = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (level, -int(match[1]), -int(match[3] or 0), version)


class Discovery:
    """The resources of a cluster.

    Attributes:
        count: Returns how many objects of a kind there are; 0 where that is not known.
        undefined: Returns where values are that a name is of, though no definition has it, with their numbers.
    """

    def __init__(self, resources: Iterable[Resource]) -> None:
        """Take resources that are in discovery order already; `sorted_by_priority` sorts them."""
        self.resources = tuple(resources)
        self.count: Callable[[Resource], int] = lambda _: 0
        self.undefined: Callable[[str], dict[str, int]] = lambda _: {}

    @classmethod
    def sorted_by_priority(cls, resources: Iterable[Resource], rank: Callable[[str], int] | None = None) -> Discovery:
        """Return the resources in discovery order.

        Args:
            resources: In any order.
            rank: Returns the rank of a built-in group; groups of definitions follow, by name.
        """

        def key(one: Resource) -> tuple[Any, ...]:
            place = rank(one.group) if rank is not None else _CRD_PRIORITY
            return (place, one.group, version_rank(one.version), one.plural)

        return cls(sorted(resources, key=key))

    def resolve(self, text: str, warn: Callable[[str], None] = lambda _: None) -> Resource:
        """Return the resource that an argument names.

        Args:
            text: ``R``, ``R.group`` or ``R.version.group``; a prefix of the group is enough, a trailing dot means no
                group.
            warn: Called with a warning about an ambiguous short name, and with notes about other kinds of this name.
        Raises:
            UnknownResource: The text is kubectl's.
        """
        name, dot, rest = text.partition(".")
        version, second_dot, group = rest.partition(".")
        resource = None
        if dot and second_dot:
            resource = self._by_resource(name, version, group, warn)
        if resource is None:
            resource = self._by_resource(name, "", rest, warn)
        if resource is None and dot and second_dot:
            resource = self._by_kind(name, version, group)
        if resource is None:
            resource = self._by_kind(name, "", rest)
        if resource is None:
            raise UnknownResource(name, rest)
        if not dot:
            self.note_others(name, resource, warn)
        return resource

    def note_others(self, name: str, resource: Resource, warn: Callable[[str], None]) -> None:
        """Report the kinds with objects that have the name of a resource, too, in another group."""
        names = {resource.plural, resource.one, resource.kind.lower()}
        for other in stored_kinds(self):
            if other.group == resource.group or names.isdisjoint((other.plural, other.one, other.kind.lower())):
                continue
            if resource.is_stored and (number := self.count(other)):
                warn(f'note: "{name}" is {resource.group_resource} here; {other.group_resource} has {objects(number)}')

    def _by_resource(self, name: str, version: str, group: str, warn: Callable[[str], None]) -> Resource | None:
        name, version, group = self._without_shortcut(name, version, group, warn)
        wanted = name.lower()
        if not wanted:
            return None
        hits = [resource for resource in self.resources if wanted in (resource.plural, resource.one)]
        lists = [
            resource
            for resource in self.resources
            if wanted in (f"{resource.kind.lower()}list", f"{resource.kind.lower()}lists")
        ]
        for candidates in (hits, lists):
            fitting = [candidate for candidate in candidates if not version or candidate.version == version]
            if group:
                exact = [resource for resource in fitting if resource.group == group]
                fitting = exact or [
                    resource for resource in fitting if not version and resource.group.startswith(group)
                ]
            if fitting:
                return fitting[0] if candidates is hits else _list_kind(fitting[0])
        if wanted in ("list", "lists") and not group:
            return _list_kind(Resource("", "v1", "", "", ""))
        return None

    def _without_shortcut(
        self, name: str, version: str, group: str, warn: Callable[[str], None]
    ) -> tuple[str, str, str]:
        """Replace a short name by the plural; the version is dropped, as in kubectl."""
        for resource in self.resources:
            if name in (resource.plural, resource.one) and (not group or resource.group == group):
                return name, version, group
        hits = [resource for resource in self.resources if name in resource.short_names]
        if group:
            hits = [hit for hit in hits if hit.group == group] or [hit for hit in hits if hit.group.startswith(group)]
        if not hits:
            return name, version, group
        first = hits[0]
        told = set()
        for other in hits[1:]:
            if (other.group, other.plural) != (first.group, first.plural) and other.group_resource not in told:
                told.add(other.group_resource)
                warn(f'Warning: short name "{name}" could also match lower priority resource {other.group_resource}')
        return first.plural, "", first.group

    def _by_kind(self, name: str, version: str, group: str) -> Resource | None:
        for resource in self.resources:
            if (
                resource.group == group
                and name in (resource.kind, resource.kind.lower())
                and (not version or resource.version == version)
            ):
                return resource
        return None

    def category(self, name: str) -> tuple[Resource, ...]:
        """Return the resources of a category, each at its preferred version; empty if there is no such category."""
        resources: dict[tuple[str, str], Resource] = {}
        for resource in self.resources:
            if name in resource.categories:
                resources.setdefault((resource.group, resource.plural), resource)
        return tuple(resources.values())

    def advice(self, unknown: str) -> list[str]:
        """Return what could be meant by a name that no resource has: similar names, and values without a definition."""
        near = self.similar(unknown)
        return [
            *([f"did you mean {' or '.join(near)}?"] if near else []),
            *(
                f"{counted(count, 'value')} at {place} {by_count(count, 'has', 'have')} no definition"
                for place, count in self.undefined(unknown).items()
            ),
        ]

    def similar(self, text: str) -> list[str]:
        """Return the names most similar to an unknown one, the most similar first; short names begin as it does."""
        wanted = text.partition(".")[0].lower()
        names: dict[str, str] = {}
        for resource in self.resources:
            for name in (
                (
                    resource.plural,
                    resource.one,
                    resource.kind.lower(),
                    *(short for short in resource.short_names if short[:1] == wanted[:1]),
                )
                if resource.is_stored
                else ()
            ):
                names.setdefault(name, resource.group_resource)
        near = difflib.get_close_matches(wanted, names, 4, 0.65)
        return list(dict.fromkeys(names[name] for name in near))


def _list_kind(one: Resource) -> Resource:
    plural = f"{one.kind.lower()}lists"
    return Resource(one.group, one.version, f"{one.kind}List", plural, plural[:-1], is_list_kind=True)


def stored_kinds(*discoveries: Discovery) -> list[Resource]:
    """Return each kind that is stored once, at its preferred version; Events are stored as those of the core group."""
    kinds: dict[tuple[str, str], Resource] = {}
    for discovery in discoveries:
        for resource in discovery.resources:
            if resource.is_stored and (resource.group, resource.plural) != ("events.k8s.io", "events"):
                kinds.setdefault((resource.group, resource.plural), resource)
    return list(kinds.values())


def kinds_named(resources: Iterable[Resource], wanted: Resource) -> list[Resource]:
    """Return the kinds that are the wanted one, at any version."""
    return [resource for resource in resources if (resource.group, resource.plural) == (wanted.group, wanted.plural)]
