"""What the dumps of a run show of namespaces: which ones are missing, and which are being deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.plan.dumps import cut_value, first_not_before, open_live, open_values, position_not_before
from auditor.sources.encryption import make_unsealer
from auditor.store.allclear import has_unread_notes

if TYPE_CHECKING:
    from auditor.plan.run_plan import Plan


_MADE_BY_SERVER: Final = frozenset(("default", "kube-system", "kube-public", "kube-node-lease"))
"""Namespaces that a server creates as soon as it runs (measured on v1.37.2)."""


class Fault(NamedTuple):
    """What is wrong with a namespace that has objects.

    Attributes:
        what: missing or deleted.
        since: When its deletion began; None if it is missing.
    """

    what: str
    since: str | None = None


class DumpValues:
    """Reads single values of the dumps of a plan.

    Args:
        plan: The plan.

    Attributes:
        tables: The live table of each dump.
    """

    def __init__(self, plan: Plan) -> None:
        self.tables = [open_live(source) for source in plan.sources]
        self._plan = plan
        self._opened: dict[int, Any] = {}
        self._unsealer: Any = None

    def deletion(self, number: int, at: int, resource: tuple[str, str]) -> tuple[str | None, list[str]]:
        """Return since when an object is being deleted (None if it is not, or cannot be read), and its finalizers.

        Args:
            number: The number of the dump.
            at: Position in its live table.
            resource: Group and plural of the kind.
        """
        from auditor.builtin.protobuf import MAGIC, WireError, decode_stored  # noqa: PLC0415 - few dumps need them
        from auditor.storage_read.read import ReadError, decode_value  # noqa: PLC0415 - likewise

        row = {name: self.tables[number][name][at].as_py() for name in ("key", "offset", "length", "encoding")}
        if number not in self._opened:
            self._opened[number] = open_values(self._plan.sources[number])
        data = cut_value(self._opened[number], row["offset"], row["length"], row["encoding"])
        options = self._plan.options
        if row["key"] is not None and (options.encryption_config or data.startswith(b"k8s:")):
            self._unsealer = self._unsealer or make_unsealer(options.encryption_config, options.kms_decryptor)
            data = self._unsealer.open(row["key"], resource, data).data
        try:
            obj = {} if data is None else decode_stored(data) if data.startswith(MAGIC) else decode_value(data)
        except (ReadError, WireError):
            return None, []
        metadata = obj.get("metadata") if type(obj) is dict else None
        metadata = metadata if type(metadata) is dict else {}
        since, finalizers = metadata.get("deletionTimestamp"), metadata.get("finalizers")
        names = [finalizer for finalizer in finalizers if type(finalizer) is str] if type(finalizers) is list else []
        return since if type(since) is str else None, names


class DumpNamespaces:
    """The namespaces of the dumps of a plan.

    Args:
        plan: The plan of the run, of one cluster.
        values: Reads its dumps.

    Attributes:
        are_known: Whether the dumps show which namespaces there are: not an export, one with damage or of other kinds
            alone, nor if only some objects were asked for.
    """

    def __init__(self, plan: Plan, values: DumpValues | None = None) -> None:
        self._values = values or DumpValues(plan)
        self._keys = [table["key"] for table in self._values.tables]
        self._below = f"{plan.options.etcd_prefix.rstrip('/')}/namespaces/".encode()
        self._known: dict[str, Fault | None] = {}
        are_whole = not any(
            source.is_export or source.damage or has_unread_notes(source.notes) for source in plan.sources
        )
        self.are_known = are_whole and plan.options.scope.is_everything and self._has_any()

    def _has_any(self) -> bool:
        below = self._below
        return any((first_not_before(keys, below) or b"").startswith(below) for keys in self._keys)

    def fault(self, name: str) -> Fault | None:
        """Return what is wrong with a namespace that objects are in; None if nothing is, or it is not known."""
        if not self.are_known:
            return None
        if name not in self._known:
            self._known[name] = self._fault(name)
        return self._known[name]

    def _fault(self, name: str) -> Fault | None:
        key = self._below + name.encode("utf-8", "surrogateescape")
        for number, keys in enumerate(self._keys):
            position = position_not_before(keys, key)
            if position < len(keys) and keys[position].as_py() == key:
                since = self._values.deletion(number, position, ("", "namespaces"))[0]
                return Fault("deleted", since) if since else None
        return None if name in _MADE_BY_SERVER else Fault("missing")
