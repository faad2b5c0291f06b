"""Applies a manifest to a stored object: the request body of `kubectl apply` or `kubectl replace`.

Source: kubectl pkg/cmd/apply/patcher.go; apimachinery pkg/util/jsonmergepatch/patch.go (three-way JSON merge patch,
which is what custom resources get); RFC 7396.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from auditor.golang.jsontext import GoJsonError, decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.base.records import JsonObject


LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def merged(live: JsonObject, manifest: JsonObject, keys: Mapping[str, str] | None = None) -> JsonObject:
    """Return the object after `kubectl apply`.

    Args:
        live: The object as the server shows it; not changed.
        manifest: The applied manifest; not changed. Maps are merged, lists replaced, a null removes.
        keys: By the name of a list the key by which its items are merged (built-in kinds).
    Returns:
        A copy with the manifest applied. Fields of the last-applied annotation that the manifest no longer has are
        removed.
    """
    out = deepcopy(live)
    before = _last_applied(live)
    if before is not None:
        _remove(out, before, manifest)
    _merge(out, manifest, before or {}, keys or {})
    return out


def replaced(live: JsonObject, manifest: JsonObject) -> JsonObject:
    """Return the object after `kubectl replace`: the manifest, its metadata and status completed from the live one."""
    out = deepcopy(manifest)
    metadata, known = out.get("metadata"), live.get("metadata")
    if type(known) is dict and (metadata is None or type(metadata) is dict):
        out["metadata"] = sent = {**deepcopy(known), **(metadata or {})}
        if not sent.get("resourceVersion") and known.get("resourceVersion"):  # kubectl fills it in
            sent["resourceVersion"] = known["resourceVersion"]
    if "status" in live:
        out.setdefault("status", deepcopy(live["status"]))
    return out


def _last_applied(live: JsonObject) -> JsonObject | None:
    metadata = live.get("metadata")
    annotations = metadata.get("annotations") if type(metadata) is dict else None
    text = annotations.get(LAST_APPLIED) if type(annotations) is dict else None
    if type(text) is not str:
        return None
    try:
        value = decode(text.encode("utf-8", "surrogatepass"))
    except GoJsonError:
        return None
    return value if type(value) is dict else None


def _remove(target: JsonObject, before: JsonObject, after: JsonObject) -> None:
    """Remove the fields of an earlier manifest that this one does not have."""
    for key, value in before.items():
        if key not in after:
            target.pop(key, None)
        elif type(value) is dict and type(after[key]) is dict and type(target.get(key)) is dict:
            _remove(target[key], value, after[key])


def _merge(target: JsonObject, patch: JsonObject, before: JsonObject, keys: Mapping[str, str]) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif type(value) is dict:
            below: Any = target.get(key)
            if type(below) is not dict:
                below = target[key] = {}
            earlier = before.get(key)
            _merge(below, value, earlier if type(earlier) is dict else {}, keys)
        else:
            name = _item_key(key, value, keys)
            target[key] = _merged_list(target.get(key), value, before.get(key), name, keys) if name else deepcopy(value)


def _item_key(key: str, items: Any, keys: Mapping[str, str]) -> str:
    """Return the key by which the items of a list are merged; empty for a list that is replaced."""
    name = keys.get(key, "")
    if key == "ports" and keys and type(items) is list and items:  # of a container, or of a Service
        name = "containerPort" if "containerPort" in (items[0] or ()) else "port"
    return name if type(items) is list and all(type(item) is dict and name in item for item in items) else ""


def _merged_list(live: Any, items: list[Any], before: Any, name: str, keys: Mapping[str, str]) -> list[Any]:
    """Return a list after a strategic merge: live items that an earlier manifest had and this one lacks are removed."""
    own = {item[name]: item for item in items}
    earlier = {item.get(name): item for item in before or () if type(item) is dict}
    out = []
    for item in live or ():
        key = item.get(name) if type(item) is dict else None
        if key in own:
            kept = deepcopy(item)
            _remove(kept, earlier.get(key, {}), own[key])
            _merge(kept, own.pop(key), earlier.get(key, {}), keys)
            out.append(kept)
        elif key not in earlier:
            out.append(deepcopy(item))
    return out + [deepcopy(item) for item in own.values()]
