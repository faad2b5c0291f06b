"""The formats of `audit`, `upgrade`, `validate` and `report`: `-o NAME` prints one, `-o NAME=FILE` writes it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from auditor.printing.print_rows import NDJSON

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from auditor.output.formats.problems import Content


_PACKAGE: Final = "auditor.output.formats"


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        name: Its name on the command line.
        text: What it is, in a few words.
        module: Module below this package that writes it; empty means only the commands in `own` have it.
        function: Function of that module that takes a `Content` and a text stream.
        earlier: Function that takes a `Content` and the text of the file that is replaced, and returns the content to
            write; empty: what was there before has no influence.
        mode: Permissions of the file; 0: those of the report. Metrics are read by another user.
        own: Commands that write their own answer under this name, each with what that is; not the report.
        elsewhere: Why the other commands do not have it, where only those in `own` do.
    """

    name: str
    text: str
    module: str = ""
    function: str = ""
    earlier: str = ""
    mode: int = 0
    own: dict[str, str] = field(default_factory=dict)
    elsewhere: str = ""

    def write(self, content: Content, out: TextIO) -> None:
        """Write a report to a stream."""
        writer: Callable[[Content, TextIO], None] = self._named(self.function)
        writer(content, out)

    def after(self, content: Content, earlier: str) -> Content:
        """Return what to write in place of an earlier file of this format."""
        taker: Callable[[Content, str], Content] = self._named(self.earlier)
        return taker(content, earlier)

    def _named(self, name: str) -> Any:
        return getattr(importlib.import_module(f"{_PACKAGE}.{self.module}"), name)


_OF_VALIDATE: Final = "only `auditor validate` and `auditor crds diff` have it, of these commands"
_DIFF: Final = "crds diff"
_ALL: Final = (
    Format(
        "text",
        "a line for each finding",
        own={"validate": "a line for each finding, with its file and line", _DIFF: "the changes by definition"},
        elsewhere=_OF_VALIDATE,
    ),
    Format(
        "table",
        "a table",
        own={"validate": "a row for each finding", _DIFF: "a row for each change"},
        elsewhere="the summary is printed without -o, and again by `auditor summary REPORT`",
    ),
    Format(
        "wide",
        "a table",
        own={"validate": "a row for each finding", _DIFF: "the table with messages and witnesses"},
        elsewhere=_OF_VALIDATE,
    ),
    Format(
        "json",
        "the causes as data, as `auditor summary -o json`",
        "as_data",
        "write_json",
        own={"validate": "the answer to each object", _DIFF: "each change with its witness"},
    ),
    Format(
        "yaml",
        "YAML",
        own={"validate": "the answer to each object", _DIFF: "each change with its witness"},
        elsewhere=_OF_VALIDATE,
    ),
    Format(
        NDJSON,
        "a JSON object for each problem",
        "as_data",
        "write_ndjson",
        own={"validate": "the answer to each object", _DIFF: "each change with its witness"},
    ),
    Format("html", "page for a browser", "html.page", "write_html"),
    Format("sarif", "SARIF 2.1.0 for code scanning", "sarif", "write_sarif"),
    Format("junit", "JUnit XML", "junit", "write_junit"),
    Format("codequality", "GitLab Code Quality", "codequality", "write_code_quality"),
    Format("github", "annotations of a GitHub job", "github", "write_annotations"),
    Format("github-summary", "summary of a GitHub job", "github", "write_job_summary"),
    Format("markdown", "Markdown for a chat", "markdown", "write_markdown"),
    Format("csv", "a row for each problem", "as_data", "write_csv"),
    Format(
        "prometheus",
        "metrics for a textfile collector",
        "prometheus",
        "write_prometheus",
        earlier="after_earlier",
        mode=0o644,
    ),
    Format("openreports", "Report and ClusterReport objects", "policyreports", "write_openreports"),
)
"""Every name that -o takes."""
FORMATS: Final = {form.name: form for form in _ALL if form.function}
"""Formats that a report is written in, by name."""


def own_forms(command: str) -> tuple[str, ...]:
    """Return the names under which a command writes its own answer; the first is printed without -o."""
    return tuple(form.name for form in _ALL if command in form.own)


def formats_of(command: str) -> tuple[str, ...]:
    """Return the names that -o of a command takes: those of its own answer, then those of the report."""
    own = own_forms(command)
    return (*own, *(name for name in FORMATS if name not in own))


def why_not(name: str, command: str) -> str:
    """Return why a command does not have a format that others have; empty if it has, or if none has."""
    return next((form.elsewhere for form in _ALL if form.name == name and command not in form.own), "")
