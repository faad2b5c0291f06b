"""SARIF 2.1.0 that code scanning services accept.

Source: OASIS SARIF 2.1.0; limits of GitHub code scanning: 25,000 results, so the worst are written; every
result has a physical location; one fingerprint named primaryLocationLineHash.
"""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible
from auditor.base.wording import counted, objects
from auditor.output.formats.problems import NOT_READ, cut

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.causes.topics import Cause
    from auditor.output.formats.problems import Content, Problem


MOST_RESULTS: Final = 25_000
_LEVELS: Final = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
_LONGEST: Final = 1000
_MOST_RULES: Final = 25_000
_MOST_UNREAD: Final = 1000
_RULE_OF_UNREAD: Final = {
    "id": NOT_READ,
    "name": NOT_READ,
    "shortDescription": {"text": "A cluster, a dump or a part of one was not read"},
    "fullDescription": {
        "text": "Nothing is known of what was not read: a result that is not in this file may be there."
    },
    "help": {"text": "`auditor summary REPORT` names what was not read. Give a whole dump of tonight."},
    "defaultConfiguration": {"level": "error"},
    "properties": {"severity": "critical", "kind": "Dump"},
}
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def write_sarif(content: Content, out: TextIO) -> None:
    """Write a report as SARIF."""
    unread = content.unread[:_MOST_UNREAD]
    causes = content.open_causes[: _MOST_RULES - 1]
    rules = {name: number for number, name in enumerate([*(cause.id for cause in causes), NOT_READ])}
    tally = content.tally()
    wanted, room = sum(tally.by_severity.values()), MOST_RESULTS - len(unread)
    driver = {
        "name": "auditor",
        "version": content.run.tool,
        "rules": [*map(_rule, causes), *([_RULE_OF_UNREAD] if unread else [])],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"auditor/{content.title}/"},
        "columnKind": "utf16CodeUnits",
        "invocations": [_invocation(content, max(0, wanted - room))],
        "properties": {"problems": wanted, "accepted": tally.accepted, "kubernetes": content.run.kubernetes},
    }
    head = json.dumps({"$schema": _SCHEMA, "version": "2.1.0"})[:-1]
    out.write(f'{head}, "runs": [{json.dumps(run)[:-1]}, "results": [')
    for number, problem in enumerate(chain(unread, content.worst(room))):
        out.write(",\n" if number else "\n")
        out.write(json.dumps(_result(problem, rules.get(problem.cause))))
    out.write("\n]}]}\n")


def _invocation(content: Content, left_out: int) -> dict[str, Any]:
    texts = (*content.warnings, *(f"not judged: {text}" for text in content.not_judged))
    notes = [{"level": "warning", "message": {"text": cut(visible(text), _LONGEST)}} for text in texts]
    if left_out:
        text = f"{left_out} more problems are not in this file: it has the worst; the report has all"
        notes.append({"level": "warning", "message": {"text": text}})
    return {
        "executionSuccessful": not content.warnings,
        "exitCode": content.run.exit_code,
        "toolExecutionNotifications": notes,
    }


def _rule(cause: Cause) -> dict[str, Any]:
    title = f"{cause.kind_name}: {cause.title}"
    text = [title]
    if cause.rule:
        text.append(f"Rule: {cause.rule}")
    text += [f"The definition changed: {change}" for change in cause.schema_changes]
    places = "" if cause.namespaces is None else f" in {counted(cause.namespaces, 'namespace')}"
    text.append(f"{objects(cause.objects)}{places}; for example: {', '.join(cause.examples)}")
    return {
        "id": cause.id,
        "name": cut(cause.type or cause.impact or "problem", 255),
        "shortDescription": {"text": cut(visible(title), _LONGEST)},
        "fullDescription": {"text": _lines(text)},
        "help": {"text": _lines([f"`auditor findings REPORT {cause.id}` lists the objects.", *text])},
        "defaultConfiguration": {"level": _LEVELS[cause.severity]},
        "properties": {"severity": cause.severity, "kind": cause.kind_name},
    }


def _lines(texts: list[str]) -> str:
    return cut("\n".join(map(visible, texts)), _LONGEST)


def _result(problem: Problem, rule: int | None) -> dict[str, Any]:
    name = problem.object_name
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": problem.uri},
            "region": {"startLine": problem.line, "startColumn": 1, "endLine": problem.line, "endColumn": 2},
        }
    }
    logical = [{"fullyQualifiedName": cut(visible(f"{problem.kind_name} {name}"), _LONGEST), "kind": "resource"}]
    if problem.field:
        logical.append({"fullyQualifiedName": cut(visible(problem.field), _LONGEST), "kind": "member"})
    place["logicalLocations"] = logical
    result: dict[str, Any] = {
        "ruleId": problem.cause,
        "level": _LEVELS[problem.severity],
        "message": {"text": cut(visible(problem.sentence), _LONGEST)},
        "locations": [place],
        "partialFingerprints": {"primaryLocationLineHash": problem.fingerprint},
    }
    if rule is not None:
        result["ruleIndex"] = rule
    if problem.change in ("new", "same"):
        result["baselineState"] = "new" if problem.change == "new" else "unchanged"
    return result
