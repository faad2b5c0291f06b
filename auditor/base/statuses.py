"""Closed lists: classes of keys, statuses of objects and impacts on a server, with the properties of each."""

from __future__ import annotations

from enum import StrEnum


class KeyClass(StrEnum):
    """The class of a key, from its name alone."""

    CUSTOM = "custom"
    MISPLACED = "misplaced"
    """A key below the prefix of a kind that is not the key of an object: only a LIST reads it."""
    DEFINITION = "definition"
    BUILTIN = "builtin"
    ORPHANED = "orphaned"
    SEALED = "sealed"
    UNREADABLE = "unreadable"
    """A value of an export without apiVersion and kind."""
    OTHER = "other"

    @property
    def is_custom(self) -> bool:
        """Whether the value is read as a custom resource."""
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
        """Whether a LIST of the kind returns the custom resource or fails on it."""
        return self.is_read or self.is_unreadable

    @property
    def is_unreadable(self) -> bool:
        """Whether no read returns the custom resource, or only one through a conversion webhook."""
        return self in (Status.UNREADABLE, Status.NEEDS_CONVERSION)


class Impact(StrEnum):
    """What a key does to a live server, worst first.

    Attributes:
        rank: Position in the order; 0 is the worst.
    """

    rank: int

    CRASHES_SERVER = "crashes-server"
    BREAKS_LIST = "breaks-list"
    """Neither `kubectl get` nor a controller can list the kind, and no client can watch it."""
    BREAKS_WATCH = "breaks-watch"
    """The watch cache of the kind cannot begin: no controller lists or watches it; `kubectl get` lists it from etcd."""
    IS_DELETED = "is-deleted"
    """Its definition is being deleted, and the server deletes the object with it."""
    NEEDS_WEBHOOK = "needs-webhook"
    BLOCKS_DELETE = "blocks-delete"
    BLOCKS_EVERY_UPDATE = "blocks-every-update"
    BLOCKS_STATUS = "blocks-status"
    BLOCKS_SPEC = "blocks-spec"
    BLOCKS_METADATA = "blocks-metadata"
    BLOCKS_APPLY = "blocks-apply"
    """A stored value does not fit the types of the schema: each server-side apply fails, also one that repairs it."""
    TOLERATED = "tolerated-while-unchanged"
    LOSES_DATA = "loses-data"
    DRIFTS = "drifts"
    UNKNOWN = "unknown"
    """Sealed without a key, rules that took too much time or memory, or a change whose answer is not known."""
    NONE = "none"

    def __new__(cls, value: str) -> Impact:  # noqa: PYI034 - an enum has no subclass
        """Make a member with its position in the order."""
        made = str.__new__(cls, value)
        made._value_ = value
        made.rank = len(cls.__members__)
        return made

    @property
    def is_breaking(self) -> bool:
        """Whether the kind cannot be watched while the key is there, or the server does not stay up."""
        return self.rank <= Impact.BREAKS_WATCH.rank

    @property
    def blocks(self) -> bool:
        """Whether the server refuses some write of the object."""
        return Impact.BLOCKS_DELETE.rank <= self.rank <= Impact.BLOCKS_APPLY.rank

    @property
    def decides_alone(self) -> bool:
        """Whether it is worse than any impact of an update, because no update reaches the object."""
        return self.rank <= Impact.NEEDS_WEBHOOK.rank

    @property
    def is_harmless(self) -> bool:
        """Whether it needs no action, or is already reported by a status."""
        return self in (Impact.NONE, Impact.DRIFTS, Impact.NEEDS_WEBHOOK, Impact.UNKNOWN)
