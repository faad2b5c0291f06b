"""Warnings that accompany an accepted definition: unknown formats, and sets of lists or objects.

Source: apiextensions-apiserver pkg/registry/customresourcedefinition/strategy.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.crdcheck.walk import everywhere, item_schema
from auditor.golang.text import quote
from auditor.releases import changes
from auditor.validation.formats import applicable

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crdcheck.internal import Internal

__all__ = ["create_warnings", "unknown_formats", "update_warnings"]


def unknown_formats(form: Internal) -> list[str]:
    """Return the formats that the server does not know, once for each position."""
    return [given for schema in form.schemas() for one in everywhere(schema) if (given := _unknown(one))]


def _unknown(props: JsonObject) -> str:
    given: str = props.get("format", "")
    if not given or not changes.FORMATS_WARN.holds:
        return ""
    type_ = props.get("type", "")
    if type_ != "string" and not changes.NUMBER_FORMATS.holds:
        return ""
    return "" if applicable(given, (type_,) if type_ else ()) else given


def _sets(form: Internal) -> list[str]:
    if not changes.SETS_OF_OBJECTS.holds:
        return []
    kinds = set()
    for schema in form.schemas():
        for one in everywhere(schema):
            items = item_schema(one)
            if one.get("x-kubernetes-list-type") == "set" and items is not None:
                kinds.add(items.get("type", ""))
    return [
        f'x-kubernetes-list-type: set for items of type "{kind}" is not supported by server-side apply or CEL '
        "validation rules"
        for kind in ("array", "object")
        if kind in kinds
    ]


def create_warnings(form: Internal) -> tuple[str, ...]:
    """Return the warnings of a create."""
    return (*(f"unrecognized format {quote(name)}" for name in unknown_formats(form)), *_sets(form))


def update_warnings(form: Internal, old: Internal) -> tuple[str, ...]:
    """Return the warnings of an update: those that the old definition did not have."""
    known = set(unknown_formats(old))
    formats = [f"unrecognized format {quote(name)}" for name in unknown_formats(form) if name not in known]
    before = _sets(old)
    return (*formats, *(text for text in _sets(form) if text not in before))
