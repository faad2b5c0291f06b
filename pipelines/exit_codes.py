"""The exit code that each way to end a command has; `docs/guide/exit-codes.md` lists them.

Light on purpose: nothing heavy may be imported here.
"""

from __future__ import annotations

from typing import Final

__all__ = ["INTERNAL", "INTERRUPTED", "SIGNALLED", "USAGE", "exit_code_of"]

USAGE: Final = 2
INTERNAL: Final = 70
INTERRUPTED: Final = 130
SIGNALLED: Final = 128
"""What the number of the signal is added to."""


def exit_code_of(error: BaseException) -> int:
    """Return the exit code of a command that ends with this exception, signals excepted."""
    import click  # noqa: PLC0415

    from auditor.base.errors import AuditorError, refusal  # noqa: PLC0415

    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        return USAGE
    if isinstance(error, AuditorError):
        return error.exit_code
    if refused := refusal(error):
        return refused.exit_code
    return INTERNAL
