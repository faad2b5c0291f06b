"""Options of an audit that compare it with an earlier report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from auditor.plan.options import AuditOptions

__all__ = ["check_since", "since_options"]


def _share(_: click.Context, __: click.Parameter, value: str) -> float:
    """Return a share of objects that was given as 0.01 or 1%."""
    text = value.strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise click.BadParameter(f"{value!r} is not a share; expected a number from 0 to 1, or a percentage such as 1%")
    return share


def _age(_: click.Context, __: click.Parameter, value: str) -> float | None:
    """Return the seconds of an age that was given as 90m, 26h, 2d or 1d12h."""
    text = value.strip().lower()
    if not text:
        return None
    if not re.fullmatch(r"(\d+(\.\d+)?[smhdw])+", text):
        raise click.BadParameter(f"{value!r} is not an age; expected a number and a unit, such as 90m, 26h or 2d")
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)([smhdw])", text))


def since_options(command: Any) -> Any:
    """Add the options to a command."""
    for option in reversed(
        (
            click.option(
                "--since", default="", metavar="REPORT", help="Reuse the results of this report for unchanged objects."
            ),
            click.option(
                "--verify-sample",
                callback=_share,
                default="0",
                metavar="SHARE",
                help="With --since: check this share (0.01, 1%) of the unchanged objects again; results must agree.",
            ),
            click.option(
                "--verify-proven",
                callback=_share,
                default="0.05%",
                show_default=True,
                metavar="SHARE",
                help="Check this share of the objects proven by generated code again, without it; exit with 70 if the "
                "answers differ.",
            ),
            click.option(
                "--diff",
                default="",
                metavar="REPORT",
                help="Show which findings are new, the same or fixed since this report.",
            ),
            click.option(
                "--clusters",
                default="",
                metavar="FILE",
                help="Names of the clusters that must have a dump, one a line; exit with 3 if one has none.",
            ),
            click.option(
                "--fleet",
                default="",
                metavar="FILE",
                help="Instead of dumps: list of clusters in YAML, each with its dump, keys, definitions and gates.",
            ),
            click.option(
                "--max-age",
                callback=_age,
                default="",
                metavar="AGE",
                help="Exit with 3 if the file of a dump is older (90m, 26h, 2d) or the dump is stale.",
            ),
            click.option(
                "--require-change",
                is_flag=True,
                help="Exit with 3 if a dump is that of the --since or --diff report, or of an older revision.",
            ),
            click.option("--only-new", is_flag=True, help="With --diff: --fail-on counts only what is new."),
        )
    ):
        command = option(command)
    return command


def check_since(options: AuditOptions) -> None:
    """Refuse combinations of options that have no meaning.

    Raises:
        UsageError: There is one.
    """
    if options.verify_sample and not options.since:
        raise click.UsageError("--verify-sample needs --since: it verifies the results that are reused from a report")
    if options.since and options.redact:
        raise click.UsageError("--since reuses rows as they are; --redact needs every object checked: leave one out")
    if options.only_new and not options.diff:
        raise click.UsageError("--only-new needs --diff: it names the report that findings are compared with")
    if options.most_new and not options.diff:
        raise click.UsageError("--max-new needs --diff: it names the report that findings are compared with")
    if options.require_change and not (options.since or options.diff):
        raise click.UsageError("--require-change needs --since or --diff: it names the report of the last dump")
    if options.since and options.old:
        raise click.UsageError("--since reuses rows as they are; --old checks every object as an update: leave one out")
