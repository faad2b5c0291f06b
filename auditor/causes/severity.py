"""How bad a cause is: critical, high, medium or low, by a table of impacts and verdicts that a user can override."""

from __future__ import annotations

import fnmatch
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor.base.errors import PlanError
from auditor.plan.options import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "OF_IMPACT",
    "OF_UPGRADE",
    "OF_VERDICT",
    "SEVERITIES",
    "UPGRADE",
    "SeverityRule",
    "parse_rules",
    "rank",
    "severity_of",
    "worst_of",
]

OF_IMPACT: Final = {
    "crashes-server": "critical",
    "breaks-list": "critical",
    "breaks-watch": "critical",
    "is-deleted": "critical",
    "blocks-delete": "critical",
    "blocks-apply": "high",
    "unreadable": "high",
    "loses-data": "high",
    "loses-namespace": "medium",
    "lacks-namespace": "medium",
    "needs-webhook": "medium",
    "needs-conversion": "medium",
    "unserved": "medium",
    "sealed": "medium",
    "orphaned": "low",
}
"""Severity of what objects do to a server, or of a status with which they were not judged."""

OF_VERDICT: Final = {
    "blocks-every-update": "high",
    "invalid": "medium",
    "tolerated-while-unchanged": "medium",
    "tolerated-globally": "low",
}
"""Severity of a finding by its verdict; `invalid` also if no update was tried."""

UPGRADE: Final = "upgrade"
"""The impact of what an upgrade does; the `type` of its cause says what that is."""
OF_UPGRADE: Final = {
    **dict.fromkeys(("unreadable", "unmigrated", "deleted", "undecodable"), "critical"),
    **dict.fromkeys(("refused", "not-served", "blocked", "data-loss", "migration-refused"), "high"),
    **dict.fromkeys(("apply-refused", "manager-refused"), "high"),
    **dict.fromkeys(("webhook", "needs-conversion", "helm-fails", "helm-deletes"), "high"),
    **dict.fromkeys(("invalid", "tolerated", "new-rule", "version-removed", "subresource-removed"), "medium"),
    **dict.fromkeys(("selector-removed", "names", "managed-fields", "rewrite-refused", "create-refused"), "medium"),
    **dict.fromkeys(("step", "sealed", "unconverted", "stored-versions-unknown", "client-of-removed"), "medium"),
    "exported": "medium",
    **dict.fromkeys(("helm-manifest", "helm-unread", "helm-unknown", "unknown-format"), "medium"),
}
"""Severity of what an upgrade does, by type; what is not here is low."""

_OF_CHECK: Final = {"gate": "low"}
_MATCHED: Final = ("kind", "namespace", "cluster")


def rank(severity: str) -> int:
    """Return the position of a severity, 0 for the worst."""
    return SEVERITIES.index(severity)


def worst_of(severities: Iterable[str]) -> str:
    """Return the worst of some severities; low if there is none."""
    return min(severities, key=rank, default=SEVERITIES[-1])


def severity_of(*, impact: str = "", verdict: str | None = None, check: str = "", type_: str = "") -> str:
    """Return the severity of an impact (of an upgrade by its type), or of a finding with a verdict of a check.

    A verdict is None if it is not known.
    """
    if impact == UPGRADE:
        return OF_UPGRADE.get(type_, "low")
    if impact:
        return OF_IMPACT.get(impact, "medium")
    return _OF_CHECK.get(check) or OF_VERDICT.get(verdict or "invalid", "medium")


@dataclass(frozen=True, slots=True)
class SeverityRule:
    """An override: what it matches has this severity. Patterns are globs; an empty one matches everything."""

    severity: str
    kind: str = ""
    namespace: str = ""
    cluster: str = ""

    def matches(self, *, group: str, kind: str, namespace: str, cluster: str) -> bool:
        """Return whether it applies to findings of a kind in a namespace of a cluster."""
        named = f"{kind}.{group}" if group else kind
        return (
            (not self.kind or any(fnmatch.fnmatchcase(name, self.kind) for name in (named, kind)))
            and (not self.namespace or fnmatch.fnmatchcase(namespace, self.namespace))
            and (not self.cluster or fnmatch.fnmatchcase(cluster, self.cluster))
        )

    def text(self) -> str:
        """Return the rule as a user writes it."""
        given = [f"{name}={shlex.quote(getattr(self, name))}" for name in _MATCHED if getattr(self, name)]
        return " ".join([self.severity, *given])


def parse_rules(texts: Iterable[str]) -> tuple[SeverityRule, ...]:
    """Return the overrides that a user gave; the last one that matches decides.

    Args:
        texts: Each a severity, then patterns: ``low kind=Widget.example.com namespace=dev-* cluster=staging``.

    Raises:
        PlanError: One has another form.
    """
    return tuple(_parsed(text) for text in texts)


def _parsed(text: str) -> SeverityRule:
    expected = "a severity and patterns, such as: low kind=Widget.example.com namespace=dev-*"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise PlanError("--severity", f"{text!r}: {error}", expected) from error
    if not words or words[0] not in SEVERITIES:
        raise PlanError("--severity", f"{text!r} does not begin with a severity", ", ".join(SEVERITIES))
    patterns: dict[str, str] = {}
    for word in words[1:]:
        name, separator, pattern = word.partition("=")
        if name not in _MATCHED or not separator or not pattern:
            raise PlanError("--severity", f"{text!r}: {word!r} is no pattern", expected)
        patterns[name] = pattern
    if not patterns:
        raise PlanError("--severity", f"{text!r} names no kind, namespace or cluster", expected)
    return SeverityRule(words[0], **patterns)
