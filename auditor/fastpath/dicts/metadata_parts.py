"""Parts of metadata that are checked alike in dicts and in records, with a cache of accepted owners.

Almost everything in metadata repeats from object to object. Valid namespaces, label keys and values, and annotation
keys are those that `auditor.validation.name_checks` remembers.

Source: apimachinery pkg/apis/meta/v1/types.go, pkg/api/validation/objectmeta.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from auditor.fastpath.dicts.support import MEMO_LIMIT
from auditor.validation.name_checks import group_version

if TYPE_CHECKING:
    from auditor.base.records import JsonObject


MAX_ANNOTATIONS: Final = 262144
"""Largest number of bytes of all keys and values of annotations."""


class NotNormal(Exception):
    """A typed round trip would change the metadata."""


is_short_name: Final = re.compile(r"[a-z0-9][-a-z0-9]*+(?<!-)").fullmatch
is_label_value: Final = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,62}+(?<![-_.]))?").fullmatch


def is_manager(text: str) -> bool:
    """Return whether a text is a valid name of a field manager."""
    return bool(text) and len(text) <= 128 and text.isascii() and text.isprintable()


known_owners: set[tuple[str, str]] = set()


def annotations_size(annotations: dict[str, str]) -> int:
    """Return the bytes of all keys and values."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for pair in annotations.items() for text in pair)


def check_only_maps(fields: JsonObject) -> None:
    """Raise AttributeError unless all values below are maps, empty or 0: a round trip does not change these."""
    below: list[Any] = [fields]
    for node in below:
        below.extend(child for child in node.values() if child or type(child) is float)


def check_owner(api_version: Any, kind: Any) -> bool:
    """Return whether apiVersion and kind of an owner are valid, and remember them.

    Raises:
        NotNormal: One of them is not a string.
    """
    if type(api_version) is not str or type(kind) is not str:
        raise NotNormal
    parts = group_version(api_version)
    if parts is None or not parts[1] or not kind or (parts == ("", "v1") and kind == "Event"):
        return False
    if len(known_owners) >= MEMO_LIMIT:
        known_owners.clear()
    known_owners.add((api_version, kind))
    return True
