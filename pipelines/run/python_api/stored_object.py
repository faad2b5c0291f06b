"""An object of an opened dump."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from auditor.base.records import name_of, namespace_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import Finding, JsonObject


class StoredObject(dict[str, Any]):
    """An object as a server reads it: a dict, with what is known of it beside.

    Attributes:
        kind: Its kind.
        cluster: Its cluster in a fleet; else empty.
    """

    def __init__(self, obj: JsonObject, kind: str, cluster: str, judge: Callable[[StoredObject], Any]) -> None:
        super().__init__(obj)
        self.kind = kind
        self.cluster = cluster
        self._judge = judge

    @property
    def name(self) -> str:
        """Its name."""
        return name_of(self)

    @property
    def namespace(self) -> str:
        """Its namespace; empty if it has none."""
        return namespace_of(self)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What a create would answer, as `audit` judges it; nothing for built-in kinds, which are not validated."""
        found: tuple[Finding, ...] = self._judge(self)
        return found
