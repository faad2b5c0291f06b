"""Lines on damaged dumps and on the release, as commands print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.base.release import KUBERNETES_RELEASE
from auditor.releases import DEFAULT
from auditor.sources.source_plan import Damage

if TYPE_CHECKING:
    from collections.abc import Iterable


def damage_lines(source: dict[str, Any]) -> list[str]:
    """Return a line for each part of an input of a manifest that could not be read."""
    return [Damage(**damage).line(source["name"]) for damage in source["damage"]]


def lines_of_damage(inputs: Iterable[dict[str, Any]]) -> list[str]:
    """Return the lines of several inputs, each once: an input may be that of several clusters."""
    return list(dict.fromkeys(line for source in inputs for line in damage_lines(source)))


def release_lines(manifest: dict[str, Any]) -> list[str]:
    """Return lines that name the release of Kubernetes, if it is another one than the default."""
    release = manifest["kubernetes_release"]
    if release == DEFAULT.version:
        return []
    return [
        f"RELEASE  judged as Kubernetes {release} (the default is {DEFAULT.name})",
        f"         values of built-in kinds: decoded by the types of {KUBERNETES_RELEASE}",
    ]
