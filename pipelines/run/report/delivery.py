"""Writes the formats of a report after an audit, and makes messages about it. The report is opened once for all."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from auditor.store.manifest import MANIFEST
from pipelines.console import ignore_closed_stdout
from pipelines.run.report.formats import opened_content, write_outputs
from pipelines.run.report.notify import made_messages, messages_about

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.run.report.formats import Output
    from pipelines.run.report.notify import Message, Receiver

__all__ = ["deliver"]


def deliver(report: str, outputs: Sequence[Output], receivers: Sequence[Receiver], history: str) -> list[Message]:
    """Write a stored report in some formats, and return the messages about it, which are not sent yet.

    Args:
        report: Its folder or URL.
        outputs: The formats.
        receivers: Receivers of the message.
        history: Folder or URL of the history that the run was added to; a page shows it; empty if there is none.

    Raises:
        AuditorError: It is not a report, or a file cannot be written.
    """
    if not outputs:
        return messages_about(report, receivers)
    from pipelines.run.report.history import known_history  # noqa: PLC0415 - 45 ms, which a start does not need

    with opened_content(report, history=known_history(history)) as (folder, content):
        with ignore_closed_stdout():
            write_outputs(content, outputs, stat.S_IMODE((folder / MANIFEST).stat().st_mode))
        return made_messages(content, receivers)
