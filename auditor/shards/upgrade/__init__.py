"""An upgrade scan in workers: the plan with two sets of definitions, and shards judged under both."""

from __future__ import annotations

from auditor.shards.upgrade.apis import ApiTally
from auditor.shards.upgrade.scan import UpgradeResult, lost_upgrade_shard, merge_apis, merge_tallies, setup_upgrade
from auditor.shards.upgrade.scan_plan import UpgradeOptions, UpgradePlan, plan_upgrade, with_status

__all__ = [
    "ApiTally",
    "UpgradeOptions",
    "UpgradePlan",
    "UpgradeResult",
    "lost_upgrade_shard",
    "merge_apis",
    "merge_tallies",
    "plan_upgrade",
    "setup_upgrade",
    "with_status",
]
