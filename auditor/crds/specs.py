"""The specs of definitions apart from the rest: clusters of a fleet mostly have the same ones.

Uid, times and managed fields of a definition differ from cluster to cluster, its spec, which is nearly all of it,
mostly does not. So a spec that is known is neither decoded nor encoded again (`KnownSpecs`), nor proven again
(`auditor.builtin.quick_json`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import orjson

from auditor.crds.definitions_file import definition_entry
from auditor.golang import jsontext
from auditor.sources.crd_files import definitions_in

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definitions_file import DefinitionEntry


_LEAST_BYTES: Final = 1000
"""Shorter specs are read faster than they are looked up."""
_START: Final = 200
"""Bytes at the beginning of a spec that its place is found by."""
_MOST_BYTES: Final = 16 << 20


class _WithSpec(msgspec.Struct):
    spec: msgspec.Raw = msgspec.Raw()


_DECODER: Final = msgspec.json.Decoder(_WithSpec)


def split_spec(data: bytes) -> tuple[bytes, bytes] | None:
    """Return the JSON of a definition with ``{}`` for its spec, and the JSON of its spec; None for a short one.

    Args:
        data: The JSON of a definition.

    Returns:
        As above; None also where the spec begins like another part of the definition, so that its place is not known.

    Raises:
        msgspec.MsgspecError: It is not JSON.
    """
    spec = bytes(_DECODER.decode(data).spec)
    start = spec[:_START]
    offset = data.find(start)
    if len(spec) < _LEAST_BYTES or spec[:1] != b"{" or data.find(start, offset + 1) >= 0:
        return None
    return data[:offset] + b"{}" + data[offset + len(spec) :], spec


class _KnownSpec(NamedTuple):
    """A known spec.

    Attributes:
        names: The parts of it that `definition_entry` reads.
        text: Its JSON with sorted keys.
    """

    names: JsonObject
    text: bytes


_NAMING: Final = ("group", "names", "scope")


class KnownSpecs:
    """Specs that were decoded, by their JSON; all are forgotten when there are too many.

    Args:
        most: Most bytes of JSON of the known specs; as much again is kept of them with sorted keys.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most = most
        self._size = 0
        self._known: dict[bytes, _KnownSpec] = {}

    def read(self, data: bytes) -> tuple[DefinitionEntry, bytes] | None:
        """Read a definition that a server has stored; its spec is decoded only if it is not known.

        Args:
            data: The JSON of the definition.

        Returns:
            The entry, which has no position yet, and the JSON with sorted keys; None if the definition has an
            unusual form, which does not mean that it is wrong.
        """
        try:
            return self._read(data)
        except (msgspec.MsgspecError, LookupError, TypeError, ValueError, AttributeError):
            return None

    def _read(self, data: bytes) -> tuple[DefinitionEntry, bytes] | None:
        parts = split_spec(data)
        if parts is None:
            return None
        rest = jsontext.decode(parts[0])
        if not _is_definition(rest) or type(name := rest["metadata"]["name"]) is not str:
            return None
        spec = self._known.get(parts[1]) or self._add(parts[1], data)
        entry = definition_entry(name, {**rest, "spec": spec.names}, stored=True)
        text = orjson.dumps({**rest, "spec": orjson.Fragment(spec.text)}, option=orjson.OPT_SORT_KEYS)
        return entry, text

    def _add(self, text: bytes, data: bytes) -> _KnownSpec:
        document = jsontext.decode(data)["spec"]
        names = {name: document[name] for name in _NAMING if name in document}
        spec = _KnownSpec(names, orjson.dumps(document, option=orjson.OPT_SORT_KEYS))
        self._size += len(text)
        if self._size > self._most:
            self._known.clear()
            self._size = len(text)
        self._known[text] = spec
        return spec


def _is_definition(document: Any) -> bool:
    """Return whether a document is a definition and not a list of them."""
    return [id(definition) for definition in definitions_in(document)] == [id(document)]


KNOWN_SPECS: Final = KnownSpecs()
"""Those that this process knows."""
