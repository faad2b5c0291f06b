"""What only an upgrade has beside its causes: its answer, its plans, its definitions, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.release import KUBERNETES_RELEASE
from auditor.base.visible import label, shell_word, visible
from auditor.base.wording import counted
from auditor.causes.severity import UPGRADE
from auditor.causes.upgrade_causes import CATEGORIES
from auditor.output.views.layout import Line, TableColumn, table_lines
from auditor.releases import DEFAULT
from auditor.shards.sealed import sealed_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.causes.model import FindingsModel


LINES_OF_UPGRADE: Final = 40
"""Lines of the summary of an upgrade unless a user asks for more: its answer and its plans take some."""
_PLANS: Final = 3
"""Plans, and refusals, of a short summary."""

_STYLES: Final = {"blocks": "worse", "safe-after": "medium", "attention": "medium", "unknown": "bold", "safe": "better"}
_ANSWERS: Final = {"safe-after": "safe after", "unknown": "no harm found"}
"""Decisions on a definition in words that differ."""
_OF_APIS: Final = ("stored", "api_services", "webhooks", "clients", "deprecated_versions")
_COLUMNS: Final = (
    TableColumn("DEFINITION"),
    TableColumn("ANSWER"),
    TableColumn("OBJECTS", is_number=True),
    TableColumn("OF THEM"),
)


def answer_lines(model: FindingsModel, *, everything: bool = True) -> Iterator[Line]:
    """Yield what comes before the causes: the answer first, then the releases, the first hop and the plans.

    Args:
        model: The report.
        everything: Yield all plans, not only the first ones.
    """
    manifest, section = model.manifest, model.manifest["upgrade"]
    yield Line(visible(section["sentence"]), _STYLES[section["decision"]])
    refused = [
        f"{label(definition['name'])} is refused: {visible(refusal)}"
        for definition in section["definitions"]
        for refusal in definition["refusals"]
        if definition["decision"] == "blocks"
    ]
    yield from (Line(text, "worse") for text in (refused if everything else refused[:_PLANS]))
    if not everything and len(refused) > _PLANS:
        more = counted(len(refused) - _PLANS, "more refusal")
        yield Line(f"and {more}: auditor changes {visible(shell_word(model.shown))}")
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
    plans = [
        (definition["name"], texts)
        for definition in section["definitions"]
        if (texts := _plan_texts(definition["plan"]))
    ]
    for name, texts in plans if everything else plans[:_PLANS]:
        yield Line(f"plan for {label(name)}: {visible('; '.join(texts))}")
    if not everything and len(plans) > _PLANS:
        more = counted(len(plans) - _PLANS, "more plan")
        yield Line(f"and {more}: auditor changes {visible(shell_word(model.shown))}")
    apis = section.get("apis") or {}
    helm = apis.get("helm")
    if helm or any(apis.get(name) for name in _OF_APIS):
        read = f"; {counted(helm['read'], 'deployed release')} of Helm read" if helm else ""
        yield Line(f"removed and deprecated APIs: as of Kubernetes {apis['release']}{read}")
    if section["kept"]:
        yield Line(f"{section['kept']} other definitions do not change; their objects are in the report too.")
    if any("effects" not in definition for definition in section["definitions"]):
        yield Line("an earlier auditor made this report, without the causes of the upgrade: scan again to list them")
    if others := sum(cause.is_open and cause.impact != UPGRADE for cause in model.causes):
        text = f"{counted(others, 'cause')} of the objects as they are then: auditor findings {shell_word(model.shown)}"
        yield Line(visible(text))


def definition_lines(definitions: Iterable[dict[str, Any]], width: int) -> list[Line]:
    """Return a table of definitions of the manifest, those that block first: the answer on each, and its objects."""
    ordered = sorted(definitions, key=lambda definition: list(_STYLES).index(definition["decision"]))
    rows = []
    for definition in ordered:
        categories = {"unchanged": 0, **definition["categories"]} if definition["objects"] else {}
        parts = [f"{count} {CATEGORIES.get(name, name)}" for name, count in categories.items()]
        answer = _ANSWERS.get(definition["decision"], definition["decision"])
        rows.append((definition["name"], answer, definition["objects"], ", ".join(parts) or None))
    styles = [_STYLES[definition["decision"]] for definition in ordered]
    return table_lines(_COLUMNS, rows, width, styles=styles) if rows else []


def end_lines(model: FindingsModel) -> Iterator[Line]:
    """Yield what comes after all causes: what was not read, what was not judged, and what to do next."""
    yield Line("")
    yield from (Line(visible(text), "medium") for text in sealed_lines(model.manifest))
    yield from (Line(visible(text), "critical") for text in model.damage)
    if model.not_judged:
        yield Line(visible(f"NOT JUDGED  {', '.join(model.not_judged)}"), "medium")
    yield Line(visible(f"Next: {next_of_upgrade(model.manifest['upgrade'], model.shown)}"))


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
