"""What a server answers in the place of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource

__all__ = ["NotShown", "StatusError", "not_found"]


class StatusError(Exception):
    """The server answers with a Status in the place of objects."""

    def __init__(self, code: int, reason: str, message: str, details: JsonObject | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.bare: StatusError | None = None  # what the server said, where a client put words before it

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
    """An object that is there and cannot be read here, which says nothing of what a server answers."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "", message)


def not_found(resource: Resource, name: str) -> StatusError:
    """Return the server's answer to a GET of what is not there."""
    return StatusError(404, "NotFound", f'{resource.group_resource} "{name}" not found')
