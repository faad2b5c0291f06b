"""Fields that an export cannot show: the version that it is at does not know them, another one does.

They may nevertheless be stored, if the storage version knows them. Only a snapshot shows what an upgrade does to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from auditor.upgrade.schema_change import dropped_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.crds.definition import CustomResourceDefinition
    from auditor.upgrade.schema_change import SchemaChange


class HiddenFields(NamedTuple):
    """Fields of a version that a new definition drops or restricts.

    Attributes:
        version: The version that knows them, served before and after.
        shown: The version at which an export does not show them.
        paths: Plain paths, sorted.
    """

    version: str
    shown: str
    paths: tuple[str, ...]


def hidden_fields(
    old: CustomResourceDefinition, new: CustomResourceDefinition, narrowed: Iterable[SchemaChange]
) -> tuple[HiddenFields, ...]:
    """Return what exports at each version of an old definition cannot show of what a new one changes.

    Conversion by a webhook is left out: what it does to such fields no schema says.

    Args:
        old: The definition before.
        new: The definition after.
        narrowed: Where its schemas are narrower.
    """
    storage, later = old.storage_version, new.storage_version
    if storage is None or later is None or "Webhook" in (old.conversion, new.conversion):
        return ()
    changes = list(narrowed)
    out = []
    for version in old.served_versions:
        after = new.versions.get(version.name)
        if after is None or not after.served:
            continue
        not_stored = dropped_paths(version, storage)
        harmed = {path for path in dropped_paths(version, later) if path not in not_stored}
        harmed |= {each.finding for each in changes if version.name in each.versions}
        for shown in old.served_versions:
            hidden = dropped_paths(version, shown) if shown is not version else set()
            paths = sorted(set(_shared(hidden - not_stored, harmed)))
            if paths:
                out.append(HiddenFields(version.name, shown.name, tuple(paths)))
    return tuple(out)


def _shared(some: Iterable[str], others: Iterable[str]) -> Iterator[str]:
    """Yield the longer of each two paths that are equal or one below the other."""
    listed = list(others)
    for path in some:
        for other in listed:
            longer, shorter = (path, other) if len(path) > len(other) else (other, path)
            if longer == shorter or longer.startswith((f"{shorter}.", f"{shorter}[")):
                yield longer
