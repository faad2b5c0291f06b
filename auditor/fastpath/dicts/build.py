"""Builds the generated program of a version of a definition.

The program of a version reads and proves an object in one pass. If an object is stored at one version and audited at
another, two programs run in sequence: that of the stored version, then that of the other without defaults, as the
storage codec does. No code is generated for a schema that contradicts itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.codegen import Module
from auditor.fastpath.dicts.consistent import contradiction
from auditor.fastpath.dicts.emit import Emitter
from auditor.fastpath.dicts.metadata import KNOWN_FIELDS, prove_embedded, prove_metadata
from auditor.fastpath.dicts.metadata_parts import NotNormal
from auditor.fastpath.dicts.root import fused, selector
from auditor.fastpath.dicts.scope import NotEmittable
from auditor.golang.text import display
from auditor.schema.objectmeta.reference import CoerceError, decode_metadata
from auditor.schema.objectmeta.types import to_json
from auditor.storage_read.metadata_effect import rewritten_metadata

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.fastpath.dicts.support import Log

__all__ = ["VersionProgram", "build_version"]


class VersionProgram:
    """The generated functions of one version.

    Attributes:
        module: All its functions.
        run: Takes the decoded object, a `Log` and the size of its text; see `root.fused`. None means there is no
            program.
        select: Takes the read object and returns what field selectors see; None means only the reference knows.
        reason: Why there is no `run`; empty means there is one.
    """

    __slots__ = ("module", "reason", "run", "select")

    def __init__(
        self,
        module: Module,
        run: Callable[[JsonObject, Log, int], bool] | None,
        select: Callable[[JsonObject], dict[str, str]] | None,
        reason: str = "",
    ) -> None:
        self.module = module
        self.reason = reason
        self.run = run
        self.select = select


def build_version(
    definition: CustomResourceDefinition, version: CrdVersion, *, defaults: bool = True
) -> VersionProgram:
    """Build the program of a version.

    Args:
        definition: The definition.
        version: Its version.
        defaults: Whether the program fills in defaults; the read after a conversion does not.
    """
    title = f"{definition.kind}.{version.name}.{definition.group}{'' if defaults else ' converted'}"
    module = Module(title, {"_display": display})
    emitter = Emitter(module, prunes=not definition.preserve_unknown_fields, defaults=defaults, embedded=prove_embedded)
    run = select = None
    reason = ""
    if found := contradiction(version.schema):
        return VersionProgram(module, None, None, f"a schema that contradicts itself: {found}")
    try:
        name = fused(emitter, definition, version, _repairer(namespaced=definition.namespaced, drop=defaults))
        run = module.compile(name)
        chosen = selector(emitter, definition, version)
        select = None if chosen is None else module.compile(chosen)
    except Exception as error:
        if isinstance(error, OSError):
            raise
        run = select = None
        reason = str(error) if isinstance(error, NotEmittable) else type(error).__name__
    return VersionProgram(module, run, select, reason)


def _repairer(*, namespaced: bool, drop: bool) -> Callable[[JsonObject, int, Log, Exception], bool]:
    """Return a function that coerces metadata as the reference does, and then proves it.

    If fields are dropped, each key is decoded separately, so only the keys that are known to change are decoded again.
    """

    def repair(obj: JsonObject, size: int, log: Log, why: Exception) -> bool:
        unknown: list[str] = []
        metadata = obj["metadata"]
        stored: JsonObject = {}  # the values of the coerced keys
        repaired: set[str] = set()
        field = why.field if isinstance(why, NotNormal) else ""
        while drop and field and len(unknown) < _FEW:
            if field in metadata:
                stored.setdefault(field, metadata[field])
            repaired.add(field)
            _decode_key(metadata, field, unknown)
            try:
                ok = prove_metadata(metadata, size, namespaced)
            except Exception as again:  # the decoder handles the rest, or one more key
                if getattr(again, "field", None) == field:
                    raise  # a second decoding would change it again (a year 10000): leave it to the reference
                # Keep only its field: the exception in a variable of this frame would be a reference cycle with the
                # object.
                field = again.field if isinstance(again, NotNormal) else ""
                continue
            log.pruned.extend((None, f"metadata.{path}") for path in unknown)
            read = {key: metadata[key] for key in repaired if key in metadata}
            log.effect = max(log.effect, rewritten_metadata(stored, read))
            return ok
        whole = metadata
        if repaired:
            whole = {**{key: value for key, value in metadata.items() if key not in repaired}, **stored}
        fit = decode_metadata(metadata, drop=drop, unknown=unknown)
        if drop:
            fit["generation"] = fit.get("generation", 0) or 1
        obj["metadata"] = to_json(fit)
        log.pruned.extend((None, f"metadata.{path}") for path in unknown)
        log.effect = max(log.effect, rewritten_metadata(whole, obj["metadata"]))
        return prove_metadata(obj["metadata"], size, namespaced)

    return repair


_FEW: Final = 50
"""Number of unknown fields, far below the number at which the decoder stops listing them."""


_TEXTS: Final = frozenset(("name", "generateName", "namespace", "selfLink", "resourceVersion", "uid"))
_TIMES: Final = frozenset(("creationTimestamp", "deletionTimestamp"))
_MAPS: Final = frozenset(("labels", "annotations"))


def _decode_key(metadata: JsonObject, key: str, unknown: list[str]) -> None:
    """Decode one key of metadata separately; usually it vanishes, which needs no decoding."""
    value = metadata.get(key)
    if key not in KNOWN_FIELDS:
        unknown.append(key)
    elif value is None or _never_fits(key, value):
        pass
    elif key in _MAPS:
        kinds = set(map(type, value.values()))
        if value and kinds <= {str, type(None)}:
            metadata[key] = {name: text or "" for name, text in value.items()}
            return
    else:
        made = _decoded(key, value, unknown)
        if key in made:
            value = made[key]
            if key != "generation" or value:
                metadata[key] = value
                return
    if key == "generation":
        metadata[key] = 1
    else:
        del metadata[key]


def _never_fits(key: str, value: Any) -> bool:
    """Return whether the type of a field obviously refuses such a value."""
    kind = type(value)
    if key in _TEXTS:
        return kind is not str
    if key in _TIMES:
        return kind is not str or not value[:4].isdigit()
    if key in _MAPS:
        return kind is not dict
    return key == "generation" and kind in (str, bool, list, dict)


def _decoded(key: str, value: Any, unknown: list[str]) -> JsonObject:
    try:
        return to_json(decode_metadata({key: value}, drop=True, unknown=unknown))
    except CoerceError:
        return {}
