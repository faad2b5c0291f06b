"""The arguments of ``get``: kinds, names, TYPE/NAME, categories, and kubectl's errors for wrong combinations.

Source: cli-runtime pkg/resource/builder.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.printing.discovery import Discovery, Resource


NO_RESOURCE = (
    'You must specify the type of resource to get. Use "kubectl api-resources" for a complete list of supported '
    "resources.\n\nerror: Required resource not specified.\nSee 'kubectl get -h' for help and examples\n"
)
_SEPARATE_TYPE = (
    "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form "
    "(e.g. '{command} resource/<resource_name>' instead of '{command} resource resource/<resource_name>'"
)


class UsageError(Exception):
    """The arguments are a wrong combination; the text is kubectl's."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requests that the arguments stand for: lists of kinds, or objects by name.

    Attributes:
        kinds: To be listed; empty if names are given.
        names: (kind, name) in the order of printing.
        single: Whether there is exactly one name, whose object is printed without a List.
    """

    kinds: tuple[Resource, ...] = ()
    names: tuple[tuple[Resource, str], ...] = ()
    single: bool = False


def read_arguments(
    discovery: Discovery,
    args: Sequence[str],
    *,
    selective: bool,
    all_namespaces: bool,
    warn: Callable[[str], None],
    command: str = "kubectl get",
) -> Wanted:
    """Parse the arguments.

    Args:
        selective: A label or field selector is given.
        all_namespaces: ``-A`` is given.
        warn: Called with a warning about ambiguous short names.
        command: The command, for an error.
    Raises:
        UsageError, UnknownResource: The text is kubectl's.
    """
    pairs: list[tuple[str, str]] = []
    kinds: list[str] = []
    if any("/" in arg for arg in args):
        pairs = _combined(args, command)
        if selective:
            raise UsageError("selectors and the all flag cannot be used when passing resource/name arguments")
    elif len(args) > 1:
        kinds = args[0].split(",")
        if selective:
            raise UsageError("name cannot be provided when a selector is specified")
        if len(kinds) == 1:
            members = discovery.category(kinds[0])
            if len(members) > 1:
                raise UsageError("you must specify only one resource")
            kinds = [_full_name(member) for member in members] or kinds
        if "" in args[1:]:
            raise UsageError("resource name may not be empty")
        pairs = [(kind, name) for kind in kinds for name in args[1:]]
    else:
        kinds = args[0].split(",")
        return Wanted(kinds=_listed(discovery, kinds, warn))
    resolved: dict[str, Resource] = {}
    for kind, _ in pairs:
        if kind not in resolved:
            resolved[kind] = discovery.resolve(kind, warn)
    names = tuple((resolved[kind], name) for kind, name in pairs)
    if all_namespaces and any(resource.namespaced for resource, _ in names):
        raise UsageError("a resource cannot be retrieved by name across all namespaces")
    return Wanted(names=names, single=len(names) == 1)


def _combined(args: Sequence[str], command: str) -> list[tuple[str, str]]:
    pairs = []
    for arg in args:
        parts = arg.split("/")
        if len(parts) == 1:
            raise UsageError(_SEPARATE_TYPE.format(command=command))
        if len(parts) > 2:
            raise UsageError("arguments in resource/name form may not have more than one slash")
        pairs.append((parts[0], parts[1]))
    for kind, name in pairs:
        if not kind or not name:
            raise UsageError("arguments in resource/name form must have a single resource and name")
    return pairs


def _full_name(one: Resource) -> str:
    return f"{one.plural}.{one.version}.{one.group}"


def _listed(discovery: Discovery, words: list[str], warn: Callable[[str], None]) -> tuple[Resource, ...]:
    resources: dict[tuple[str, str, str], Resource] = {}
    for word in words:
        for resource in discovery.category(word) or (discovery.resolve(word, warn),):
            resources.setdefault((resource.group, resource.version, resource.plural), resource)
    return tuple(resources.values())
