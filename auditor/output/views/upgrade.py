"""What only the summary of an upgrade has: its answer, its plans, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.release import KUBERNETES_RELEASE
from auditor.base.visible import label, shell_word, visible
from auditor.base.wording import counted
from auditor.causes.severity import UPGRADE
from auditor.output.views.layout import Line
from auditor.releases import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.causes.model import FindingsModel

__all__ = ["LINES_OF_UPGRADE", "answer_lines", "next_of_upgrade"]

LINES_OF_UPGRADE: Final = 40
"""Lines of the summary of an upgrade unless a user asks for more: its answer and its plans take some."""
_PLANS: Final = 3

_STYLES: Final = {"blocks": "worse", "safe-after": "medium", "attention": "medium", "safe": "better"}


def answer_lines(model: FindingsModel, *, everything: bool = True) -> Iterator[Line]:
    """Yield what comes before the causes: the answer first, then the releases, the first hop and the plans.

    Args:
        model: The report.
        everything: Yield all plans, not only the first ones.
    """
    manifest, section = model.manifest, model.manifest["upgrade"]
    yield Line(visible(section["sentence"]), _STYLES.get(section["decision"], "bold"))
    if release := section.get("kubernetes"):
        old, new = (".".join(release[key].split(".")[:2]).removeprefix("v") for key in ("from", "to"))
        count = counted(sum(record["name"] is not None for record in release["records"]), "behaviour")
        text = f"Kubernetes {release['from']} to {release['to']}: {count} differ (auditor releases {old} {new})"
        yield Line(text)
    if hop := section.get("via"):
        yield Line(visible(f"first hop ({', '.join(hop['new_crds'])}): {hop['sentence']}"))
    if (release := manifest["kubernetes_release"]) != DEFAULT.version:
        builtin = f"values of built-in kinds: decoded by the types of {KUBERNETES_RELEASE}"
        yield Line(f"judged as Kubernetes {release} (the default is {DEFAULT.name}); {builtin}")
    plans = [(one["name"], texts) for one in section["definitions"] if (texts := _plan_texts(one["plan"]))]
    for name, texts in plans if everything else plans[:_PLANS]:
        yield Line(f"plan for {label(name)}: {visible('; '.join(texts))}")
    if not everything and len(plans) > _PLANS:
        more = counted(len(plans) - _PLANS, "more plan")
        yield Line(f"and {more}: auditor changes {visible(shell_word(model.shown))}")
    if section["kept"]:
        yield Line(f"{section['kept']} other definitions do not change; their objects are in the report too.")
    if any("effects" not in definition for definition in section["definitions"]):
        yield Line("an earlier auditor made this report, without the causes of the upgrade: scan again to list them")
    if others := sum(cause.is_open and cause.impact != UPGRADE for cause in model.causes):
        text = f"{counted(others, 'cause')} of the objects as they are then: auditor findings {shell_word(model.shown)}"
        yield Line(visible(text))


def _plan_texts(plan: dict[str, Any] | None) -> list[str]:
    """Return the steps of a plan, with what to know of it; one that applies the definition alone needs no words."""
    if plan is None:
        return []
    if plan["needs"]:
        return [f"there is none: {plan['needs']}"]
    if len(plan["steps"]) <= 2:
        return []
    texts = [f"{number}. {step['text']}" for number, step in enumerate(plan["steps"][:-1], 1)]
    return [*texts, *filter(None, [plan["note"]])]


def next_of_upgrade(section: dict[str, Any], report: str) -> str:
    """Return what to do next after an upgrade scan.

    Args:
        section: `upgrade` of the manifest.
        report: The report as the user named it.
    """
    step = "apply the definitions" if section["new_crds"] or not section.get("apis") else "upgrade the API server"
    if section["decision"] == "safe" and not section.get("not_judged"):
        return f"{step}."
    if section["decision"] in ("safe", "unknown"):
        return f"check the rest before you {step}."
    has_plan = any(definition["plan"] and len(definition["plan"]["steps"]) > 2 for definition in section["definitions"])
    also = "; write the plan as JSON and shell with --plan FILE" if has_plan and not section.get("plan_file") else ""
    return f"read all that changes: auditor changes {report}{also}"
