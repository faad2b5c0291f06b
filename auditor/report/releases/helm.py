"""What `helm upgrade` deletes or fails for, in the section `upgrade` of the manifest and in its summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import label, shell_word
from auditor.base.wording import counted, objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from auditor.shards.upgrade import UpgradePlan
    from auditor.upgrade import Decision, Tally

__all__ = ["deleted_by_helm", "helm_decisions", "helm_lines", "helm_section"]

_SHOWN: Final = ("deletes", "fails", "fails_after", "foreign", "keeps", "unknown", "left_alone", "is_printed")
"""An upgrade by Helm is shown if any of these fields has something."""
_LINES: Final = (
    ("fails", "FAILS", " is a pre-upgrade hook and already exists"),
    ("fails_after", "FAILS", " is a post-upgrade hook and already exists"),
    ("foreign", "FAILS", " exists, and by its metadata it is not of this release"),
    ("would_delete", "DELETES", " with its objects, once the upgrade no longer fails"),
    ("keeps", "KEEPS", " only by helm.sh/resource-policy: keep on the live definition"),
    ("unknown", "UNKNOWN", ": only rendering the chart shows whether it is kept (--render)"),
)
"""Fields with names of definitions: word and text of the line of each."""


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
    from auditor.upgrade import Decision  # noqa: PLC0415 - who prints an audit needs no upgrade

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
    from auditor.upgrade import Decision  # noqa: PLC0415 - who prints an audit needs no upgrade

    release = next((one.release for one in scan.helm if name in one.deletes), None)
    if release is None:
        return None
    count = tally.categories["deleted"] + tally.categories["sealed"]
    reason = f"helm upgrade of {release} deletes it with {objects(count)}: its new chart does not have it in templates"
    return Decision("blocks", f"blocks, because {reason}", (reason,), frozenset({"data-loss"}))


def helm_lines(section: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the summary."""
    for one in section:
        if not any(one[name] for name in _SHOWN):
            continue
        yield f"helm upgrade of {label(one['release'])} (revision {one['revision']}) to {label(one['chart'])}:"
        for each in one["deletes"]:
            yield f"  DELETES  {label(each['definition'])} with {objects(each['objects'])}"
        for field, word, text in _LINES:
            for name in one[field]:
                yield f"  {word:<8} {label(name)}{text}"
        for name, owners in one["owners"].items():
            yield f"  OWNED    {label(name)} also by {', '.join(map(label, owners))}"
        if one["is_printed"]:
            values = "the values of the release, --is-upgrade, --validate and --dry-run=server"
            yield f"  PRINTED  this holds only if the chart was rendered as an upgrade does it: with {values}"
        if one["left_alone"]:
            count = counted(len(one["left_alone"]), "definition")
            yield f"  crds/    {count}: helm upgrade does not apply them; judged as if applied by kubectl"
