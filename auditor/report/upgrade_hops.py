"""An upgrade in two hops, by a release between: what the second hop needs can be done after the first."""

from __future__ import annotations

from typing import Any

from auditor.report.releases.apis import api_decisions
from auditor.report.upgrade_plan import steps_before
from auditor.upgrade import Decision, decide_all

__all__ = ["after_first_hop"]


def after_first_hop(section: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """Return the section of the second hop with the decision on both.

    A definition that the server refuses only until its objects are rewritten is safe after that: the release between
    makes it possible.

    Args:
        section: That of the second hop.
        first: That of the first.
    """
    definitions = []
    for one in section["definitions"]:
        plan = one["plan"]
        if one["decision"] == "blocks" and one["is_only_unmigrated"] and plan and plan["steps"]:
            steps = steps_before(plan)
            sentence = f"safe after the first hop and these steps: {', '.join(steps)}"
            definitions.append(
                {**one, "decision": "safe-after", "sentence": sentence, "reasons": steps, "levels": ["invalid"]}
            )
        else:
            definitions.append(one)
    blocked = [one for one in first["definitions"] if one["decision"] == "blocks"]
    decisions = [(f"{one['name']}, first hop", _decision(one)) for one in blocked]
    last = [*api_decisions(section["apis"]), *((one["name"], _decision(one)) for one in definitions)]
    decided = decide_all([*decisions, *last])
    named = [*decided.reasons[:3]]
    kept = {key: first[key] for key in ("decision", "sentence", "new_crds", "definitions")}
    both = {"decision": decided.word, "sentence": decided.sentence, "named": named, "levels": sorted(decided.levels)}
    return {**section, **both, "definitions": definitions, "via": kept}


def _decision(one: dict[str, Any]) -> Decision:
    return Decision(one["decision"], one["sentence"], tuple(one["reasons"]), frozenset(one["levels"]))
