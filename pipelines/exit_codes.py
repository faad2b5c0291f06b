"""The exit code for each way in which a command can end; `docs/guide/exit-codes.md` lists them.

It imports only small modules, so that commands start fast.
"""

from __future__ import annotations

from typing import Final

_USAGE: Final = 2
_INTERNAL: Final = 70
_INTERRUPTED: Final = 130
_SIGNALLED: Final = 128
"""Exit codes for signals are this number plus the number of the signal."""


_REPORTS: Final[list[str]] = []
"""The reports that this command has put in place."""


def forget_reports() -> None:
    """Note that a command begins, which has written none yet."""
    _REPORTS.clear()


def note_report(report: str) -> None:
    """Note that a report is in place: what ends the command from now on leaves it there."""
    _REPORTS.append(report)


def has_report() -> bool:
    """Return whether the command has put a report in place."""
    return bool(_REPORTS)


class Ended(BaseException):
    """A signal asked the process to end; raised so that temporary files are removed.

    Args:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code_of(error: BaseException) -> int:
    """Return the exit code of a command that ends with this exception."""
    import click  # noqa: PLC0415

    from auditor.base.errors import AuditorError, refusal  # noqa: PLC0415

    if isinstance(error, Ended):
        return _SIGNALLED + error.number
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return _INTERRUPTED
    if isinstance(error, click.ClickException):
        return _USAGE
    if isinstance(error, AuditorError):
        return error.exit_code
    if refused := refusal(error):
        return refused.exit_code
    return _INTERNAL


def reason_of(error: BaseException) -> str:
    """Return in one line why a command ends with this exception; empty if the exit code is enough."""
    import signal  # noqa: PLC0415

    import click  # noqa: PLC0415

    from auditor.base.errors import AuditorError, refusal  # noqa: PLC0415
    from auditor.base.visible import visible  # noqa: PLC0415

    if isinstance(error, Ended):
        return f"stopped by {signal.Signals(error.number).name}"
    if isinstance(error, SystemExit | KeyboardInterrupt | click.Abort):
        return ""
    if isinstance(error, click.ClickException):
        return visible(error.format_message())
    if not isinstance(error, AuditorError) and (refused := refusal(error)):
        error = refused
    text = str(error) if isinstance(error, AuditorError) else f"internal error ({type(error).__name__}): {error}"
    return visible(text[:1000])
