"""Errors of a server in place of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource

__all__ = ["NotShown", "StatusError", "not_found"]


class StatusError(Exception):
    """The server answers with a Status instead of objects."""

    def __init__(self, code: int, reason: str, message: str, details: JsonObject | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.bare: StatusError | None = None  # the server's message, if a client put text before it

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


class NotShown(StatusError):
    """An object that exists and cannot be read here; what a server would answer is not known."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "", message)


def not_found(resource: Resource, name: str) -> StatusError:
    """Return the server's answer to a GET of an object that does not exist."""
    return StatusError(404, "NotFound", f'{resource.group_resource} "{name}" not found')
