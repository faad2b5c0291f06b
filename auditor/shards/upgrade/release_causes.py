"""Which change of Kubernetes makes the difference for an object that two releases judge differently.

The object is judged once more for each record of the table, by the older release with that one behaviour of the newer.
Objects that differ alike, in the same fields and types of findings, are taken to differ for the same reason.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from auditor.releases.changes import Affects, between
from auditor.releases.touched import Touched, touched
from auditor.shards.shard_audit import ShardAuditor
from auditor.shards.upgrade.sides import shown_key
from auditor.upgrade import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.releases.changes import BehaviourChange
    from auditor.shards.judge import RowHead
    from auditor.shards.upgrade.scan_plan import UpgradePlan
    from auditor.shards.upgrade.sides import DefinitionSide
    from auditor.upgrade import UpgradeTally


_INDEX: Final = re.compile(r"\[[^]]*\]")
_NOT_COUNTED: Final = {"unchanged", "broken-before"}


class ReleaseCauses:
    """Counts objects by the records of the table that make a difference for them.

    Args:
        scan: The plan of the upgrade.
        parts: Folder of the part files, as `ShardAuditor` takes it.
    """

    def __init__(self, scan: UpgradePlan, parts: str) -> None:
        old, new = scan.releases
        self.is_forward = old.minor <= new.minor
        self._plan = scan.old if self.is_forward else scan.new
        self._older = old if self.is_forward else new
        self._parts = parts
        self._records = [record for record in between(old, new) if record.affects is not Affects.DEFINITIONS]
        self._all = between(old, new)
        self._reaches: dict[str, Touched] = {}
        self._sides: dict[str, ShardAuditor] = {}
        self._known: dict[Any, tuple[str, ...]] = {}

    def is_untouched(self, name: str, new: DefinitionSide) -> bool:
        """Tell whether both releases are known to say the same of an object of a definition, judged by the new one."""
        if not self.is_forward:
            return False
        reach = self._reaches.get(name)
        if reach is None:
            plan = self._plan
            entry = next(entry for entry in plan.entries if entry.name == name)
            text = plan.definitions_file.text(entry).decode("utf-8", "replace")
            reach = self._reaches[name] = touched(self._all, text)
        if reach is Touched.FAULTY:
            return new.rank == 0 and not new.audited.findings and new.outcome.verdict is None
        return reach is Touched.NONE

    def count(
        self,
        tally: UpgradeTally,
        row: RowHead,
        sides: tuple[DefinitionSide, DefinitionSide],
        categories: set[str],
        judge: Callable[..., DefinitionSide],
    ) -> None:
        """Count an object.

        Args:
            tally: Takes the counts.
            row: The row of the object.
            sides: What it is under both releases.
            categories: What changes for it.
            judge: Called with a shard auditor; returns what the object is for it.
        """
        counted = categories - _NOT_COUNTED
        if not counted:
            return
        key = (row.group, row.kind, _difference(*sides), frozenset(counted))
        names = self._known.get(key)
        if names is None:
            names = self._known[key] = self._names(sides, judge)
        for name in names:
            tally.records.update((name, category) for category in counted)
            before, after = ({finding.message for finding in side.audited.findings} for side in sides)
            text = next(iter(sorted(after - before) or sorted(before - after)), "")
            tally.sample(f"record {name}", Sample(shown_key(row), text))

    def _names(
        self, sides: tuple[DefinitionSide, DefinitionSide], judge: Callable[..., DefinitionSide]
    ) -> tuple[str, ...]:
        """Return the records that change what the older release says; a single empty name if none does alone."""
        before = _said(sides[0] if self.is_forward else sides[1])
        return tuple(record.name for record in self._records if _said(judge(self._side(record))) != before) or ("",)

    def _side(self, record: BehaviourChange) -> ShardAuditor:
        side = self._sides.get(record.name)
        if side is None:
            side = self._sides[record.name] = ShardAuditor(self._plan, self._parts)
            side.release = replace(self._older, also=frozenset({record.name}))
        return side


def _said(side: DefinitionSide) -> tuple[Any, ...]:
    """Return what a server says of an object: to a read, a create and updates."""
    verdict = side.outcome.verdict
    findings = frozenset((finding.field, finding.type, finding.message) for finding in side.audited.findings)
    put = "" if verdict is None else verdict.put.message
    return side.state, findings, side.outcome.codes, put, side.audited.object


def _difference(old: DefinitionSide, new: DefinitionSide) -> tuple[Any, ...]:
    """Return how two releases differ on an object, without its values."""
    before, after = (
        {(_INDEX.sub("[]", finding.field), finding.type, finding.message) for finding in side.audited.findings}
        for side in (old, new)
    )
    gone, came = (frozenset((where, kind) for where, kind, _ in some) for some in (before - after, after - before))
    return str(old.state), str(new.state), gone, came
