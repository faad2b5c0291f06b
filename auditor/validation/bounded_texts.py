"""Texts of findings, cut where they are long; a module of its own, as commands without reports need no Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.longtext import cut
from auditor.golang import jsontext

if TYPE_CHECKING:
    from auditor.base.longtext import LongText


LONGEST: Final = 64 << 10
"""Most characters of a message, a detail or a value in a row; a longer one is cut and followed by its length."""
SHORT: Final = 256
"""The same limit once long texts are used up: those of one object in a report (`FoundRows`), of a run elsewhere."""
_RUN_TEXT: Final = 8 << 20


class BoundedTexts:
    """Cuts messages that a command holds until it prints them: as in a report, but counted over the whole run.

    Args:
        left: Characters of long texts after which a text is cut at `SHORT`.
    """

    def __init__(self, left: int = _RUN_TEXT) -> None:
        self._left = left
        self._last_value: tuple[Any, str] = (None, "null")

    def value(self, value: Any) -> Any:
        """Return a value, or the beginning of its JSON text if that is long."""
        if value is not self._last_value[0]:
            self._last_value = (value, json_text(value))
        text = self._last_value[1]
        shown = self.bounded(text)
        return value if shown == text else shown

    def bounded(self, text: str | LongText) -> str:
        """Return a text, or its beginning and its length."""
        if len(text) <= SHORT:
            return str(text)
        shown = cut(text, LONGEST if self._left > 0 else SHORT)
        self._left -= len(shown)
        return shown


def json_text(value: Any) -> str:
    """Return the JSON text of a value as Go writes it."""
    try:
        return orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, UnicodeEncodeError):
        return jsontext.encode(value)
