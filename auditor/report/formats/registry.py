"""The formats that a report can be written in: `-o NAME` prints one, `-o NAME=FILE` writes it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TextIO

    from auditor.report.formats.problems import Content

__all__ = ["FORMATS", "Format"]

_PACKAGE: Final = "auditor.report.formats"


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        name: Its name on the command line.
        text: What it is, in a few words.
        module: Module below this package that writes it.
        function: Function of that module that takes a `Content` and a text stream.
        folder: Function that takes a `Content` and a folder; empty: it is always one file.
        mode: Permissions of the file; 0: those of the report. Metrics are read by another user.
    """

    name: str
    text: str
    module: str
    function: str
    folder: str = ""
    mode: int = 0

    def write(self, content: Content, out: TextIO) -> None:
        """Write a report to a stream."""
        writer: Callable[[Content, TextIO], None] = self._named(self.function)
        writer(content, out)

    def write_folder(self, content: Content, folder: Path) -> None:
        """Write a report into a folder."""
        writer: Callable[[Content, Path], None] = self._named(self.folder)
        writer(content, folder)

    def _named(self, name: str) -> Any:
        return getattr(importlib.import_module(f"{_PACKAGE}.{self.module}"), name)


FORMATS: Final = {
    one.name: one
    for one in (
        Format("html", "page for a browser; html=DIR/ for a folder", "html.page", "write_html", "write_html_folder"),
        Format("sarif", "SARIF 2.1.0 for code scanning", "sarif", "write_sarif"),
        Format("junit", "JUnit XML", "junit", "write_junit"),
        Format("codequality", "GitLab Code Quality", "codequality", "write_code_quality"),
        Format("github", "annotations of a GitHub job", "github", "write_annotations"),
        Format("github-summary", "summary of a GitHub job", "github", "write_job_summary"),
        Format("markdown", "Markdown for a chat", "markdown", "write_markdown"),
        Format("csv", "a row for each problem", "delimited", "write_csv"),
        Format("ndjson", "a JSON object for each problem", "delimited", "write_ndjson"),
        Format("prometheus", "metrics for a textfile collector", "prometheus", "write_prometheus", mode=0o644),
        Format("openreports", "Report and ClusterReport objects", "policyreports", "write_openreports"),
        Format("wgpolicy", "PolicyReport and ClusterPolicyReport objects", "policyreports", "write_policy_reports"),
    )
}
"""By name."""
