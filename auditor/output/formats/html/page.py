"""Renders the page: one file with its style sheet, script and data in it."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import jinja2
from markupsafe import Markup, escape

from auditor.base.visible import visible
from auditor.base.wording import counted
from auditor.causes.severity import SEVERITIES
from auditor.causes.verdict import STATE_WORDS, VERDICT_WORDS
from auditor.output.formats.html.charts import bars, columns, stacked_bars
from auditor.output.formats.html.data import packed
from auditor.output.formats.problems import cut
from auditor.output.views.summary import clusters_text, short_name

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.output.formats.problems import Content


_MOST_CAUSES: Final = 300
_MOST_KINDS: Final = 25
_FIRST: Final = 100
_MOST_NIGHTS: Final = 90
_UNITS: Final = ((10 << 30, "GiB"), (10 << 20, "MiB"), (10 << 10, "KiB"), (0, "bytes"))
"""The least number of bytes that a unit is for; each bar is a whole number of units."""
_SHOWN: Final = ("valid", "invalid", "unreadable")


def write_html(content: Content, out: TextIO) -> None:
    """Write a page with its style sheet, script and data in it."""
    out.write(_page(content))


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _page(content: Content) -> str:
    data, form, left = packed(content)
    css, script = _asset("report.css"), _asset("report.js")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, finalize=_finalized, trim_blocks=False, auto_reload=False
    )
    tally = content.tally()
    causes = content.open_causes
    kinds = sorted(content.kinds, key=lambda kind: -sum(kind.statuses.values()))
    kinds = [kind for kind in kinds if kind.kind]
    environment.filters["breakable"] = _breakable
    space = content.space() if content.space is not None else {}
    template = environment.from_string(_asset("report.html.j2"))
    return template.render(
        content=content,
        policy=_policy(css, script),
        css=Markup(css),  # noqa: S704 - a file of this package
        js=Markup(script),  # noqa: S704 - a file of this package
        data=Markup(data),  # noqa: S704 - JSON in which `<` is escaped, or base64
        form=form,
        left_out=left,
        words=STATE_WORDS,
        verdicts=VERDICT_WORDS,
        severities=SEVERITIES,
        total=sum(tally.by_severity.values()),
        causes=causes[:_MOST_CAUSES],
        more_causes=max(0, len(causes) - _MOST_CAUSES),
        first=sorted(content.worst(_FIRST), key=lambda one: SEVERITIES.index(one.severity)),
        more_kinds=max(0, len(kinds) - _MOST_KINDS),
        objects_chart=stacked_bars(
            "Objects by kind and status", [(kind.name, _pieces(kind.statuses)) for kind in kinds[:_MOST_KINDS]]
        ),
        severity_chart=bars(
            "Causes by severity" if content.is_whole else "Causes by severity, in what was read",
            [
                (severity, sum(cause.severity == severity for cause in causes), severity)
                for severity in SEVERITIES
                if content.is_whole or any(cause.severity == severity for cause in causes)
            ],
        ),
        space_chart=_space_chart(space),
        more_space=max(0, len(space) - _MOST_KINDS),
        trend_chart=_trend_chart(content),
        known=lambda count: _known(count, is_whole=content.is_whole),
        by_severity=Counter(cause.severity for cause in causes),
        clusters_text=clusters_text,
        short_name=short_name,
        cut=cut,
        counted=counted,
    )


def _space_chart(space: dict[str, int]) -> Markup | str:
    """Return the chart of the space that kinds take, or "" if it is not known."""
    if not any(space.values()):
        return ""
    least, name = next(unit for unit in _UNITS if max(space.values()) >= unit[0])
    unit = max(1, least // 10)
    rows = [(kind, round(size / unit), "low") for kind, size in list(space.items())[:_MOST_KINDS]]
    return bars(f"Stored values by kind, {name}", rows, name)


def _trend_chart(content: Content) -> Markup | str:
    """Return the chart of the runs of a history, or "" without one."""
    if len(content.nights) < 2:
        return ""
    return columns(
        "Objects in causes by severity, run by run",
        [(f"{when:%Y-%m-%d %H:%M} UTC", counts) for when, counts in content.nights[-_MOST_NIGHTS:]],
    )


def _breakable(name: str) -> Markup:
    """Return the name of a kind that a narrow column breaks behind its dots."""
    return Markup(str(escape(visible(name))).replace(".", ".<wbr>"))  # noqa: S704 - escaped before


def _known(count: int, *, is_whole: bool) -> str:
    """Return a number; if not everything was read, how many at least, and ``-`` instead of zero."""
    if is_whole:
        return f"{count:,}"
    return f"at least {count:,}" if count else "-"


def _finalized(value: Any) -> Any:
    """Make control characters in a text visible; markup of this package stays as it is."""
    return visible(value) if type(value) is str else value


def _pieces(statuses: dict[str, int]) -> list[tuple[int, str]]:
    pieces = [(statuses.get(name, 0), name) for name in _SHOWN]
    return [*pieces, (sum(number for name, number in statuses.items() if name not in _SHOWN), "other")]


def _policy(css: str, script: str) -> str:
    """Return the content security policy: nothing is loaded but what the page brings, by hash."""
    style, code = _hashed(css), _hashed(script)
    more = "img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; style-src {style}; script-src {code}; {more}"


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
