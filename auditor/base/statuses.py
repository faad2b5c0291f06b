"""Closed lists: classes of keys, statuses of objects, impacts on a server, and the questions that each answers."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Impact", "KeyClass", "Status"]


class KeyClass(StrEnum):
    """What a key is, as far as the key itself says."""

    CUSTOM = "custom"
    MISPLACED = "misplaced"
    """Below the keys of a kind, but not of a form that its objects have: a LIST reads it, no other request does."""
    DEFINITION = "definition"
    BUILTIN = "builtin"
    ORPHANED = "orphaned"
    SEALED = "sealed"
    UNREADABLE = "unreadable"
    """A value of an export that does not say what it is."""
    OTHER = "other"

    @property
    def is_custom(self) -> bool:
        """Whether its value is read as a custom resource."""
        return self in (KeyClass.CUSTOM, KeyClass.MISPLACED)


class Status(StrEnum):
    """The status of a key."""

    VALID = "valid"
    INVALID = "invalid"
    UNREADABLE = "unreadable"
    SEALED = "sealed"
    NEEDS_CONVERSION = "needs-conversion"
    UNSERVED = "unserved"
    ORPHANED = "orphaned"
    DEFINITION = "definition"
    BUILTIN = "builtin"
    OTHER = "other"

    @property
    def is_read(self) -> bool:
        """Whether a custom resource was read and has a verdict."""
        return self in (Status.VALID, Status.INVALID)

    @property
    def is_listed(self) -> bool:
        """Whether a LIST of its kind reads a custom resource, or fails on it."""
        return self.is_read or self.is_unreadable

    @property
    def is_unreadable(self) -> bool:
        """Whether no read, or only a conversion webhook, gives a custom resource."""
        return self in (Status.UNREADABLE, Status.NEEDS_CONVERSION)


class Impact(StrEnum):
    """What a key does to a live server, worst first.

    Attributes:
        rank: Its place in the order, 0 is the worst.
    """

    rank: int

    CRASHES_SERVER = "crashes-server"
    BREAKS_LIST = "breaks-list"
    NEEDS_WEBHOOK = "needs-webhook"
    BLOCKS_DELETE = "blocks-delete"
    BLOCKS_EVERY_UPDATE = "blocks-every-update"
    BLOCKS_STATUS = "blocks-status"
    BLOCKS_SPEC = "blocks-spec"
    BLOCKS_METADATA = "blocks-metadata"
    TOLERATED = "tolerated-while-unchanged"
    LOSES_DATA = "loses-data"
    DRIFTS = "drifts"
    UNKNOWN = "unknown"
    """The value is sealed, and no key for it was given, or its rules took too much time or memory."""
    NONE = "none"

    def __new__(cls, value: str) -> Impact:  # noqa: PYI034 - an enum has no subclass
        """Make a member that knows its place in the order."""
        made = str.__new__(cls, value)
        made._value_ = value
        made.rank = len(cls.__members__)
        return made

    @property
    def is_breaking(self) -> bool:
        """Whether no client can list the kind while the key is there, or the server does not stay up."""
        return self in (Impact.CRASHES_SERVER, Impact.BREAKS_LIST)

    @property
    def blocks(self) -> bool:
        """Whether the server refuses some write of the object."""
        return Impact.BLOCKS_DELETE.rank <= self.rank <= Impact.BLOCKS_METADATA.rank

    @property
    def decides_alone(self) -> bool:
        """Whether it is the worst whatever the updates of the object result in: no update reaches it."""
        return self.rank <= Impact.NEEDS_WEBHOOK.rank

    @property
    def is_harmless(self) -> bool:
        """Whether it needs no action, or a status reports it already."""
        return self in (Impact.NONE, Impact.DRIFTS, Impact.NEEDS_WEBHOOK, Impact.UNKNOWN)
