"""What `helm upgrade` deletes or fails for, in the section `upgrade` of the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.base.visible import shell_word
from auditor.base.wording import counted, objects
from auditor.upgrade.decision import Decision, UpgradeEffect, blocks, deletion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from auditor.shards.upgrade import UpgradePlan
    from auditor.upgrade import UpgradeTally


def helm_section(scan: UpgradePlan, tallies: Mapping[str, UpgradeTally]) -> list[dict[str, Any]]:
    """Return each upgrade by Helm: what it deletes with how many objects, keeps, fails for, and who else owns it."""
    out = []
    for upgrade in scan.helm:
        deletes = [{"definition": name, "objects": _deleted(tallies, name)} for name in upgrade.deletes]
        concerned = (
            *upgrade.deletes,
            *upgrade.keeps,
            *upgrade.fails,
            *upgrade.fails_after,
            *upgrade.foreign,
            *upgrade.unknown,
        )
        owners = {name: scan.owners[name] for name in concerned if name in scan.owners}
        out.append({**upgrade._asdict(), "deletes": deletes, "owners": owners})
    return out


def _deleted(tallies: Mapping[str, UpgradeTally], name: str) -> int:
    tally = tallies.get(name)
    return 0 if tally is None else tally.categories["deleted"] + tally.categories["sealed"]


def helm_decisions(section: list[dict[str, Any]], *, is_complete: bool) -> list[tuple[str, Decision]]:
    """Return the decisions on upgrades by Helm that delete something or fail."""
    out = []
    for upgrade in section:
        reasons = []
        if upgrade["foreign"]:
            shown = ", ".join(upgrade["foreign"])
            reasons.append(f"it fails, unless by helm upgrade --take-ownership: {shown} exists and is not of it")
        for hooks, field in (("pre-upgrade", "fails"), ("post-upgrade", "fails_after")):
            if upgrade[field]:
                shown = ", ".join(upgrade[field])
                reasons.append(
                    f'it fails, unless by helm upgrade --no-hooks: {hooks} hooks failed, {shown} "already exists"'
                )
        if upgrade["would_delete"]:
            reasons.append(f"after that it deletes {_unless_kept(upgrade['would_delete'])}")
        effects = [UpgradeEffect("", reason, levels=frozenset({"blocked"})) for reason in reasons]
        if upgrade["deletes"]:
            names = [each["definition"] for each in upgrade["deletes"]]
            count = sum(each["objects"] for each in upgrade["deletes"])
            number = objects(count) if is_complete else f"at least {objects(count)}"
            reason = f"this helm upgrade deletes {_unless_kept(names, number)}"
            effects.append(UpgradeEffect("", reason, levels=frozenset({"data-loss"})))
        if effects:
            out.append((f"the release {upgrade['release']}", blocks(*effects)))
    return out


def not_of_helm(section: list[dict[str, Any]]) -> str:
    """Return for which upgrades by Helm "safe" is not known to hold, or on what condition; empty if for none."""
    texts = []
    if unseen := [upgrade["release"] for upgrade in section if upgrade["is_unseen"]]:
        more = f" and {counted(len(unseen) - 1, 'more release')}" if unseen[1:] else ""
        texts.append(f" by kubectl apply; not known of helm upgrade of {unseen[0]}{more} (--helm-release)")
    if printed := [upgrade["release"] for upgrade in section if upgrade["is_printed"]]:
        more = f" and {counted(len(printed) - 1, 'more release')}" if printed[1:] else ""
        texts.append(f", if helm upgrade of {printed[0]}{more} renders what was given")
    return "; ".join(texts)


def _unless_kept(names: Sequence[str], number: str = "") -> str:
    """Return what is deleted, and the step that prevents it."""
    words = " ".join(shell_word(name) for name in names)
    what = "its objects" if len(names) == 1 else "their objects"
    step = f"kubectl annotate crd {words} helm.sh/resource-policy=keep"
    return f"{counted(len(names), 'definition')} and {number or what}, unless first: {step}"


def deleted_by_helm(scan: UpgradePlan, name: str, tally: UpgradeTally) -> Decision | None:
    """Return the decision on a definition that an upgrade by Helm deletes; None if none does."""
    release = next((upgrade.release for upgrade in scan.helm if name in upgrade.deletes), None)
    if release is None:
        return None
    count = tally.categories["deleted"] + tally.categories["sealed"]
    reason = f"helm upgrade of {release} deletes it with {objects(count)}: its new chart does not have it in templates"
    return deletion(reason, count)
