"""What `helm upgrade` deletes or fails for, in the section `upgrade` of the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.base.visible import shell_word
from auditor.base.wording import counted, objects
from auditor.upgrade import Decision, deletion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from auditor.shards.upgrade import UpgradePlan
    from auditor.upgrade import Tally


def helm_section(scan: UpgradePlan, tallies: Mapping[str, Tally]) -> list[dict[str, Any]]:
    """Return each upgrade by Helm: what it deletes with how many objects, keeps, fails for, and who else owns it."""
    out = []
    for one in scan.helm:
        deletes = [{"definition": name, "objects": _deleted(tallies, name)} for name in one.deletes]
        concerned = (*one.deletes, *one.keeps, *one.fails, *one.fails_after, *one.foreign, *one.unknown)
        owners = {name: scan.owners[name] for name in concerned if name in scan.owners}
        out.append({**one._asdict(), "deletes": deletes, "owners": owners})
    return out


def _deleted(tallies: Mapping[str, Tally], name: str) -> int:
    tally = tallies.get(name)
    return 0 if tally is None else tally.categories["deleted"] + tally.categories["sealed"]


def helm_decisions(section: list[dict[str, Any]], *, is_complete: bool) -> list[tuple[str, Decision]]:
    """Return the decisions on upgrades by Helm that delete something or fail."""
    out = []
    for one in section:
        reasons, levels = [], set()
        if one["foreign"]:
            shown = ", ".join(one["foreign"])
            reasons.append(f"it fails, unless by helm upgrade --take-ownership: {shown} exists and is not of it")
        for hooks, field in (("pre-upgrade", "fails"), ("post-upgrade", "fails_after")):
            if one[field]:
                shown = ", ".join(one[field])
                reasons.append(
                    f'it fails, unless by helm upgrade --no-hooks: {hooks} hooks failed, {shown} "already exists"'
                )
        if one["would_delete"]:
            reasons.append(f"after that it deletes {_unless_kept(one['would_delete'])}")
        levels |= {"blocked"} if reasons else set()
        if one["deletes"]:
            names = [each["definition"] for each in one["deletes"]]
            count = sum(each["objects"] for each in one["deletes"])
            number = objects(count) if is_complete else f"at least {objects(count)}"
            reasons.append(f"this helm upgrade deletes {_unless_kept(names, number)}")
            levels.add("data-loss")
        if reasons:
            sentence = f"blocks, because {'; '.join(reasons)}"
            name = f"the release {one['release']}"
            out.append((name, Decision("blocks", sentence, tuple(reasons), frozenset(levels))))
    return out


def _unless_kept(names: Sequence[str], number: str = "") -> str:
    """Return what is deleted, and the step that prevents it."""
    words = " ".join(shell_word(name) for name in names)
    what = "its objects" if len(names) == 1 else "their objects"
    step = f"kubectl annotate crd {words} helm.sh/resource-policy=keep"
    return f"{counted(len(names), 'definition')} and {number or what}, unless first: {step}"


def deleted_by_helm(scan: UpgradePlan, name: str, tally: Tally) -> Decision | None:
    """Return the decision on a definition that an upgrade by Helm deletes; None if none does."""
    release = next((one.release for one in scan.helm if name in one.deletes), None)
    if release is None:
        return None
    count = tally.categories["deleted"] + tally.categories["sealed"]
    reason = f"helm upgrade of {release} deletes it with {objects(count)}: its new chart does not have it in templates"
    return deletion(reason, count)
