"""The output of `auditor validate`: a line for each cause, which editors and CI systems link to the field."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from auditor.base.release import KUBERNETES_RELEASE
from auditor.base.statuses import Status
from auditor.base.visible import visible
from auditor.base.wording import objects
from auditor.causes.follows import noted
from auditor.printing.print_rows import DATA, print_rows
from auditor.shards.result import RULES_GIVEN_UP, object_name
from auditor.sources.source_plan import NAMED, first_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.output.formats.problems import Content


_CAUSES: Final = 20
"""Number of lines about causes; with the sums, the end has at most 25."""
_FOUND: Final = ("file", "status", "kind", "namespace", "name", "reason")
"""What `_rows` yields."""
DEFAULT: Final = "text"
"""The default output format."""


def answer_parts(results: list[dict[str, Any]], form: str, *, ignores_missing: bool) -> Iterator[str]:
    """Yield the answers to all objects in a format, part by part.

    Args:
        results: From `run_validate`.
        form: text, or one of `FORMS`.
        ignores_missing: Whether objects without a definition are ignored.
    """
    if form in DATA:
        yield from print_rows(results, (), form)
        return
    rows = (row for result in results for row in _rows(result, ignores_missing=ignores_missing))
    if form == "text":
        for place, status, *names, message in rows:
            yield visible(f"{place}: {status}: {_named(*names)}{message}") + "\n"
    elif form:
        lines = (dict(zip(_FOUND, row, strict=True)) for row in rows)
        yield from print_rows(lines, ("file", "kind", "namespace", "name", "status", "reason"), form)


def print_results(
    results: list[dict[str, Any]], output: str, content: Content | None, *, ignores_missing: bool
) -> None:
    """Print the answers to all objects; causes and sums follow on standard error, but not after data.

    Args:
        results: From `run_validate`.
        output: text, or one of `FORMS`; empty to print only causes and sums.
        content: The causes of all messages about objects; None if there are none.
        ignores_missing: Whether objects without a definition are ignored.
    """
    for part in answer_parts(results, output, ignores_missing=ignores_missing):
        click.echo(part, nl=False)
    if output in DATA:
        return
    if content is not None:
        from auditor.output.views.answers import answer_lines  # noqa: PLC0415 - only where something is said
        from pipelines.console import terminal_width  # noqa: PLC0415

        for line in answer_lines(content, terminal_width(), _CAUSES):
            click.echo(line.text, err=True)
    _print_summary(results)


def _rows(result: dict[str, Any], *, ignores_missing: bool) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each message about an object: place, status, kind, namespace, name, text."""
    status, reason = result["status"], result["reason"]
    kind = ".".join(part for part in (result["kind"], result["group"]) if part)
    names = kind, result["namespace"] or "", result["name"] or ""
    for finding in sorted(result["findings"], key=lambda one: one["field"] == "<nil>"):  # the object as a whole: last
        yield _place(result, finding["line"]), status, *names, noted(finding)
    if reason and not (status == Status.ORPHANED and ignores_missing):
        missing = f": no definition for {kind} (--crds PATH; --ignore-missing passes over it)"
        hint = missing if status == Status.ORPHANED else ""
        yield _place(result, result["line"]), status, *names, reason + hint
    for warning in result["warnings"]:
        yield _place(result, warning["line"]), "warning", *names, warning["message"].partition(": ")[2]


def _place(result: dict[str, Any], line: int | None) -> str:
    return f"{result['file']}:{line}" if line else str(result["file"])


def _named(kind: str, namespace: str, name: str) -> str:
    full = "/".join(part for part in (namespace, name) if part)
    return f"{kind} {full}: " if kind and full else f"{kind}{full}: " if kind or full else ""


def _print_summary(results: list[dict[str, Any]]) -> None:
    counts = Counter(result["status"] for result in results)
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    click.echo(f"{objects(len(results))}: {said or 'none'}", err=True)
    if counts[Status.BUILTIN]:
        text = f"builtin: decoded strictly by the types of Kubernetes {KUBERNETES_RELEASE}"
        click.echo(f"{text}; the metadata of kinds that a server stores is validated, nothing else", err=True)
    rules = sum(1 for result in results if result["unevaluated_rules"])
    if rules:
        click.echo(f"NOT EVALUATED  validation rules (CEL) of {objects(rules)}", err=True)
    given_up = [result for result in results if result["reason"] == RULES_GIVEN_UP]
    if given_up:
        names = [object_name(None, result["namespace"], result["name"]) for result in given_up]
        click.echo(
            f"        the rules of {len(given_up)} exceeded the limit of time or memory for one object: "
            f"{visible(first_names(names[:NAMED], len(given_up)))}; "
            "`auditor audit` gives more time (--time-per-object)",
            err=True,
        )
