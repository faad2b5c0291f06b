"""The results of an upgrade scan in the formats that it prints: text, JSON, NDJSON, Markdown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from auditor.base.visible import visible_tree
from auditor.base.wording import objects
from auditor.report.upgrade_terminal import MOST_LINES, WORDS, upgrade_summary

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["of_kind", "upgrade_text"]


def upgrade_text(manifest: dict[str, Any], report: str, output: str, *, most: int | None = MOST_LINES) -> str:
    """Return what is printed of an upgrade scan.

    Args:
        manifest: The content of manifest.json.
        report: The folder of the report, as the user named it.
        output: ``table``, ``json``, ``ndjson`` (first the whole, then a line for each definition) or ``markdown``.
        most: Lines of the table, None for all.
    """
    section = manifest["upgrade"]
    if output == "json":
        return json.dumps(section, indent=2, ensure_ascii=False)
    if output == "ndjson":
        head = {key: value for key, value in section.items() if key not in ("definitions", "via")}
        return "\n".join(json.dumps(one, ensure_ascii=False) for one in (head, *_ordered(section)))
    if output == "markdown":
        return "\n".join(_markdown(visible_tree(section)))
    return upgrade_summary(manifest, report, most=most)


def of_kind(manifest: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the manifest with the definitions of one kind: its name, its kind, or either with the group."""
    wanted = kind.lower()
    section = manifest["upgrade"]
    kept = []
    for one in section["definitions"]:
        plural = one["name"].partition(".")[0]
        names = (one["name"], plural, one["kind"], f"{one['kind']}.{one['group']}")
        kept += [one] if wanted in {name.lower() for name in names} else []
    return {**manifest, "upgrade": {**section, "definitions": kept}}


def _ordered(section: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(section["definitions"], key=lambda one: WORDS.index(one["decision"]))


def _markdown(section: dict[str, Any]) -> Iterator[str]:
    yield f"# {_cell(section['sentence'])}"
    yield ""
    if section.get("via"):
        yield f"First hop: {_cell(section['via']['sentence'])}"
        yield ""
    yield "| definition | answer | why | objects |"
    yield "|---|---|---|---:|"
    for one in _ordered(section):
        why = "<br>".join(_cell(text) for text in (*one["reasons"], *one["attention"], *one["notes"]))
        yield f"| {_cell(one['name'])} | {one['decision']} | {why} | {one['objects']} |"
    for one in _ordered(section):
        yield from _markdown_plan(one)
        if one["schema_changes"]:
            yield from (
                "",
                f"## {_cell(one['name'])}: narrower schema",
                "",
                "| field | change | from | to | concerned |",
            )
            yield "|---|---|---|---|---|"
            for change in one["schema_changes"]:
                cells = (change["field"] or "(root)", change["change"], change["old"] or "", change["new"] or "")
                concerned = f"{change['objects']} of {objects(one['objects'])}"
                yield f"| {' | '.join(_cell(cell) for cell in cells)} | {concerned} |"


def _markdown_plan(one: dict[str, Any]) -> Iterator[str]:
    plan = one["plan"]
    if plan is None or (len(plan["steps"]) <= 2 and not plan["needs"]):
        return
    yield from ("", f"## {_cell(one['name'])}: plan", "")
    if plan["needs"]:
        yield f"No plan: {_cell(plan['needs'])}"
    for number, step in enumerate(plan["steps"], 1):
        yield f"{number}. {_cell(step['text'])}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
