"""The exit code of an audit, as far as its causes decide it: severities, new causes, standing faults, acceptance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import PlanError
from auditor.base.wording import by_count, counted
from auditor.causes.severity import SEVERITIES, rank, worst_of
from auditor.causes.verdict import unread_reasons
from auditor.plan.options import FAIL_ON, NEVER
from auditor.store.allclear import stale_dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from auditor.plan.options import AuditOptions


STANDING: Final = ("crashes-server", "breaks-list", "breaks-watch", "is-deleted", "blocks-delete")
"""Impacts that set the exit code every night until they are repaired, also with --only-new."""
_LEVELS: Final = {
    "crashes-server": "unreadable",
    "breaks-list": "unreadable",
    "breaks-watch": "unreadable",
    "unreadable": "unreadable",
    "needs-conversion": "unreadable",
    "blocks-delete": "blocked",
    "blocks-apply": "blocked",
    "is-deleted": "data-loss",
    "loses-data": "data-loss",
}
_NOTHING: Final = 2
_PARTLY: Final = 3
_FIXED_CODES: Final = (_NOTHING, _PARTLY)


def parse_most_new(texts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return the limits of --max-new: ``medium=10`` is at most 10 new objects of medium severity or worse.

    Raises:
        PlanError: A text has another form.
    """
    out = []
    for text in texts:
        severity, separator, number = text.partition("=")
        if severity not in SEVERITIES or not separator or not number.isdecimal():
            raise PlanError("--max-new", repr(text), f"SEVERITY=NUMBER with one of {', '.join(SEVERITIES)}")
        out.append((severity, int(number)))
    return tuple(out)


def code_of_causes(
    options: AuditOptions, manifest: dict[str, Any], rows: Sequence[dict[str, Any]]
) -> tuple[int, list[str]]:
    """Return the exit code of a run, and why its causes set it.

    Args:
        options: The options of the run.
        manifest: Its manifest, with the exit code that it has without the options of this module.
        rows: The rows of its causes.parquet.
    """
    code = int(manifest["exit_code"])
    if code in _FIXED_CODES or options.fail_on == NEVER:
        return code, []
    current = [row for row in rows if row["objects"] > row["accepted_objects"]]
    alone = _alone(manifest, current) if options.only_new else []
    counting = [row for row in current if row["new_objects"] or row in alone] if options.only_new else current
    why: list[str] = []
    if options.accept and code == 1 and options.fail_on in FAIL_ON and not _is_sealed(options, manifest):
        code = int(any(_reaches(row, options.fail_on) for row in counting))
    if code == 1 and options.fail_on in FAIL_ON and not _is_sealed(options, manifest):
        which = " that are new" if options.only_new else ""
        if any(_reaches(row, options.fail_on) for row in alone):
            which = " that are new, or compared with nothing,"
        why.append(f"{_counts(counting, options.fail_on)}{which} at or above --fail-on {options.fail_on}")
    if code == 1 and _is_sealed(options, manifest):
        why.append("values are sealed (--fail-on-sealed)")
    if options.fail_on in SEVERITIES:
        reached = [row for row in counting if rank(row["severity"]) <= rank(options.fail_on)]
        if reached:
            code = 1
            why.append(f"{counted(len(reached), 'cause')} of severity {options.fail_on} or worse (--fail-on)")
    for severity, most in options.most_new:
        count = sum(row["new_objects"] for row in current if rank(row["severity"]) <= rank(severity))
        if count > most:
            code = 1
            why.append(f"{counted(count, 'new object')} of severity {severity} or worse (--max-new {severity}={most})")
    standing = [row for row in current if row["impact"] in STANDING]
    if options.only_new and options.fail_on_standing and standing:
        code = 1
        impacts = ", ".join(dict.fromkeys(row["impact"] for row in standing))
        why.append(f"faults that count until they are repaired: {impacts} (--fail-on-standing)")
    return code, why


def exit_text(manifest: dict[str, Any]) -> str:
    """Return the exit code of a run and why it is that one, as a sentence."""
    code, level = manifest["exit_code"], manifest["options"].get("fail_on") or NEVER
    reasons = list(manifest.get("exit_reasons") or ())
    if not reasons:
        reached = "nothing that counts reaches" if code == 0 else "the report reaches"
        reasons = [f"--fail-on {level}" if level == NEVER else f"{reached} --fail-on {level}"]
    if code == _NOTHING:
        reasons = ["nothing was judged"]
    if code == _PARTLY:
        reasons = unread_reasons(manifest) or ["not everything was read or judged"]
    return f"Exit code {code}: {'; '.join(reasons)}."


def _is_sealed(options: AuditOptions, manifest: dict[str, Any]) -> bool:
    return bool(options.fail_on_sealed and manifest["counts"]["statuses"].get("sealed"))


def _alone(manifest: dict[str, Any], rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the causes that are compared with nothing, so that they may be new; of an older dump nothing is."""
    older = {dump["cluster"] or "" for dump in stale_dumps(manifest) if dump["is_older"]}
    return [row for row in rows if row["change"] is None and (row["cluster"] or "") not in older]


def _counts(rows: Iterable[dict[str, Any]], level: str) -> str:
    """Return how many causes of each severity reach a level of --fail-on, or that there are any."""
    worst: dict[str, str] = {}
    for row in rows:
        if _reaches(row, level):
            worst[row["digest"]] = worst_of((row["severity"], worst.get(row["digest"], SEVERITIES[-1])))
    counts = Counter(worst.values())
    text = ", ".join(f"{counts[severity]:,} {severity}" for severity in SEVERITIES if counts[severity])
    return f"{text} {by_count(len(worst), 'cause', 'causes')}" if worst else "findings"


def _reaches(row: dict[str, Any], level: str) -> bool:
    """Return whether objects of a cause that are not accepted reach a level of --fail-on that is not a severity."""
    levels = FAIL_ON[1 : FAIL_ON.index(level) + 1]
    if row["impact"]:
        return _LEVELS.get(row["impact"]) in levels
    if row["check"] == "gate" or row["group"] == "apiextensions.k8s.io":
        return False
    return ("blocked" in levels and bool(row["rejected"])) or "invalid" in levels
