"""Renders the page: one file with everything in it, or a folder for servers that forbid inline styles and scripts."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import jinja2
from markupsafe import Markup, escape

from auditor.base.visible import visible
from auditor.report.findings.severity import SEVERITIES
from auditor.report.formats.html.charts import bars, stacked_bars
from auditor.report.formats.html.data import packed
from auditor.report.formats.problems import cut

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from auditor.report.formats.problems import Content

__all__ = ["write_html", "write_html_folder"]

_WORDS: Final = {"worse": "WORSE", "same": "SAME", "better": "BETTER", "not-compared": "NOT COMPARED"}
_MOST_CAUSES: Final = 300
_MOST_KINDS: Final = 25
_FIRST: Final = 100
_SHOWN: Final = ("valid", "invalid", "unreadable")


def write_html(content: Content, out: TextIO) -> None:
    """Write a page with its style sheet, script and data in it."""
    out.write(_page(content, inline=True))


def write_html_folder(content: Content, folder: Path) -> None:
    """Write index.html, report.css and report.js into a folder, which is made if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.css").write_text(_asset("report.css"), encoding="utf-8")
    (folder / "report.js").write_text(_asset("report.js"), encoding="utf-8")
    (folder / "index.html").write_text(_page(content, inline=False), encoding="utf-8")


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _page(content: Content, *, inline: bool) -> str:
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
    template = environment.from_string(_asset("report.html.j2"))
    return template.render(
        content=content,
        policy=_policy(css, script, inline=inline),
        inline=inline,
        css=Markup(css),  # noqa: S704 - a file of this package
        js=Markup(script),  # noqa: S704 - a file of this package
        data=Markup(data),  # noqa: S704 - JSON in which `<` is escaped, or base64
        form=form,
        left_out=left,
        words=_WORDS,
        severities=SEVERITIES,
        tally=tally,
        total=sum(tally.by_severity.values()),
        causes=causes[:_MOST_CAUSES],
        more_causes=max(0, len(causes) - _MOST_CAUSES),
        first=sorted(content.worst(_FIRST), key=lambda one: SEVERITIES.index(one.severity)),
        more_kinds=max(0, len(kinds) - _MOST_KINDS),
        objects_chart=stacked_bars(
            "Objects by kind and status", [(kind.name, _pieces(kind.statuses)) for kind in kinds[:_MOST_KINDS]]
        ),
        severity_chart=bars(
            "Causes by severity", [(one, sum(cause.severity == one for cause in causes), one) for one in SEVERITIES]
        ),
        cut=cut,
    )


def _breakable(name: str) -> Markup:
    """Return the name of a kind that a narrow column breaks behind its dots."""
    return Markup(str(escape(visible(name))).replace(".", ".<wbr>"))  # noqa: S704 - escaped before


def _finalized(value: Any) -> Any:
    """Make control characters in a text visible; markup of this package stays as it is."""
    return visible(value) if type(value) is str else value


def _pieces(statuses: dict[str, int]) -> list[tuple[int, str]]:
    pieces = [(statuses.get(name, 0), name) for name in _SHOWN]
    return [*pieces, (sum(number for name, number in statuses.items() if name not in _SHOWN), "other")]


def _policy(css: str, script: str, *, inline: bool) -> str:
    """Return the content security policy: nothing is loaded but what the page brings, by hash."""
    style = code = "'self'"
    if inline:
        style, code = (_hashed(one) for one in (css, script))
    more = "img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; style-src {style}; script-src {code}; {more}"


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
