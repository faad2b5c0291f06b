"""Which objects a change between releases can concern, by the text of their definition.

A record that is missing here is taken to concern every object. `tests/releases/test_touched.py` holds this against each
recorded answer that differs between two releases.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.releases.changes import BehaviourChange


class Touched(IntEnum):
    """Which objects of a definition a change can concern.

    ``FAULTY`` are those with a finding, or an update with one, by the newer release: of the others both releases say
    that they are valid.
    """

    NONE = 0
    FAULTY = 1
    ALL = 2


class _Reach(NamedTuple):
    """Which objects a record concerns of definitions with a text in them; empty: of all definitions."""

    objects: Touched
    text: re.Pattern[str] | None = None


def _where(objects: Touched, text: str) -> _Reach:
    return _Reach(objects, re.compile(text))


_RULES: Final = '"x-kubernetes-validations"'
_REACHES: Final = {
    "ratcheting-locked": _Reach(Touched.NONE),
    "kubernetes-name-formats": _where(Touched.ALL, '"k8s-(short|long)-name"'),
    "selectable-fields-kept": _Reach(Touched.NONE),
    "rules-show-values": _where(Touched.FAULTY, _RULES),
    "label-words": _Reach(Touched.FAULTY),
    "relaxed-service-names": _Reach(Touched.NONE),
    "number-formats": _where(Touched.ALL, '"(integer|number|format|minimum|maximum|multipleOf)"'),
    "owners-by-index": _Reach(Touched.FAULTY),
    "manager-operations": _Reach(Touched.FAULTY),
    "negative-generation": _Reach(Touched.FAULTY),
    "sets-of-objects": _Reach(Touched.NONE),
    "names-are-capped": _Reach(Touched.NONE),
    "lists-include": _where(Touched.ALL, "includes"),
    "lists-keep-items": _where(Touched.ALL, _RULES),
    "optionals-keep-schema": _where(Touched.ALL, _RULES),
    "optionals-alone": _where(Touched.ALL, _RULES),
    "empty-texts-in-range": _where(Touched.ALL, "[iI]ndexOf"),
    "affixes-cost": _where(Touched.ALL, "startsWith|endsWith|matches|flatten"),
    "numbers-are-no-durations": _where(Touched.ALL, "duration"),
    "quoted-fields": _where(Touched.ALL, "`"),
    "leading-dots": _where(Touched.ALL, _RULES),
    "ranges-are-checked": _where(Touched.ALL, "range"),
    "quantities-are-copied": _where(Touched.ALL, "quantity"),
    "corrupt-objects": _Reach(Touched.FAULTY),
    "whole-numbers": _where(Touched.ALL, '"(integer|multipleOf)"'),
    "too-few": _where(Touched.FAULTY, '"min(Items|Properties)"'),
    "cleared-generation": _Reach(Touched.FAULTY),
    "cidr-is-mask": _where(Touched.ALL, "isMask"),
    "url-part-sizes": _Reach(Touched.NONE),
    "standard-base64": _where(Touched.ALL, '"byte"'),
    "exact-quantities": _where(Touched.ALL, "quantity"),
    "gates-removed": _Reach(Touched.NONE),
}
_EVERY: Final = _Reach(Touched.ALL)


def touched(records: Iterable[BehaviourChange], text: str) -> Touched:
    """Return which objects of a definition changes can concern.

    Args:
        records: The changes between two releases.
        text: The definition as JSON.
    """
    reaches = (_REACHES.get(record.name, _EVERY) for record in records)
    return max(
        (reach.objects for reach in reaches if reach.text is None or reach.text.search(text)), default=Touched.NONE
    )
