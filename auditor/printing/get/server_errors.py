"""Errors of a server in place of objects, and messages about an object that cannot be printed and is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.base.errors import AuditorError, TooMuchToReport
from auditor.base.visible import visible
from auditor.base.wording import shortened

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource


class StatusError(Exception):
    """The server answers with a Status instead of objects; `hint` is an advice that is not the server's."""

    def __init__(
        self, code: int, reason: str, message: str, details: JsonObject | None = None, *, hint: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.hint = hint

    def status(self) -> JsonObject:
        """Return the Status object."""
        body: JsonObject = {
            "apiVersion": "v1",
            "code": self.code,
            "kind": "Status",
            "message": self.message,
            "metadata": {},
            "status": "Failure",
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        return body


class ConnectionClosed(StatusError):
    """The server panics on the request and closes its stream, instead of an answer.

    Args:
        stream: The number of the stream in HTTP/2: 1 for the first request of a command, 3 for the second.
    """

    def __init__(self, stream: int = 1) -> None:
        super().__init__(0, "", f"stream error: stream ID {stream}; INTERNAL_ERROR; received from peer")


class NotShown(StatusError):
    """An object that exists and cannot be read here; what a server would answer is not known."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "", message)


def not_found(resource: Resource, name: str) -> StatusError:
    """Return the server's answer to a GET of an object that does not exist."""
    return StatusError(404, "NotFound", f'{resource.group_resource} "{name}" not found')


OF_THE_COMMAND = (AuditorError, OSError, MemoryError)
"""Errors that end a command: they have their own message, and are not about one object."""
_MOST = 300
_MOST_COLUMNS = 10


def left_out(place: str, error: Exception) -> str:
    """Return the message for an object on which this program failed unexpectedly."""
    if isinstance(error, TooMuchToReport):
        return f"error: {place} is left out: {error}\n"
    text = shortened(f"{type(error).__name__}: {error}".removesuffix(": "), _MOST)
    return f"error: {place} is left out, for this program failed on it: {text}\n"


def given_up_cells(columns: list[str]) -> str:
    """Return the message for cells whose paths look at too many values.

    Args:
        columns: The name of the column of each.
    """
    names = shortened(", ".join(sorted({visible(name) for name in columns})[:_MOST_COLUMNS]), _MOST)
    count = f"{len(columns)} cell{'s are' if len(columns) > 1 else ' is'}"
    return f"error: {count} left out: the path of the column looks at too many values of the object: {names}\n"
