"""Which causes, objects and findings are wanted: by cluster, namespace, kind, severity, change, owner and cause."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.causes.titles import kind_name

if TYPE_CHECKING:
    from auditor.causes.topics import Cause


@dataclass(frozen=True, slots=True)
class Filters:
    """What is wanted; an empty attribute wants everything. Several values are alternatives.

    Attributes:
        clusters: Names of clusters.
        namespaces: Globs of namespaces.
        kinds: Globs of KIND or KIND.group, case ignored.
        severities: Severities.
        changes: Changes: of causes those of `build.CHANGES`, of findings new and same.
        owners: Globs of owners.
        causes: Digests of causes.
    """

    clusters: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()

    @property
    def needs_rows(self) -> bool:
        """Whether causes have to be counted anew from the rows: causes.parquet does not have namespaces and owners."""
        return bool(self.namespaces or self.owners)

    def takes_kind(self, group: str, kind: str) -> bool:
        """Return whether a kind is wanted."""
        names = (kind_name(group, kind).lower(), kind.lower())
        return not self.kinds or any(
            fnmatch.fnmatchcase(name, pattern.lower()) for name in names for pattern in self.kinds
        )

    def takes_cause(self, cause: Cause) -> bool:
        """Return whether a cause is wanted, its namespaces and owners not considered."""
        return (
            self.takes_kind(cause.group, cause.kind)
            and (not self.severities or cause.severity in self.severities)
            and (not self.changes or cause.change in self.changes)
            and (not self.causes or cause.digest in self.causes)
            and (not self.clusters or not cause.clusters or bool(set(cause.clusters) & set(self.clusters)))
        )

    def takes_row(self, row: dict[str, Any]) -> bool:
        """Return whether an object or a finding is wanted, given its columns and its `severity` and `owner`."""
        return (
            (not self.clusters or (row["cluster"] or "") in self.clusters)
            and (not self.namespaces or _is_like(row["namespace"], self.namespaces))
            and (not self.severities or row["severity"] in self.severities)
            and (not self.changes or row.get("change") in self.changes)
            and (not self.owners or _is_like(row.get("owner"), self.owners))
            and self.takes_kind(row["group"] or "", row["kind"] or row.get("plural") or "")
        )


def _is_like(text: str | None, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(text or "", pattern) for pattern in patterns)
