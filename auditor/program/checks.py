"""Checks of strings that generated code calls: patterns and formats, each with a memo of what it accepted.

Source: the rooms golang (regular expressions) and validation (formats).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from auditor.golang.regex import GoRegexError, compile_pattern
from auditor.program.support import remembering, scalar
from auditor.validation import formats

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.codegen import Module
    from auditor.schema.structural import StructuralSchema

__all__ = ["Checks"]

_plain_date_time: Final = re.compile(
    r"(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?Z"
).fullmatch
"""Most times there are; what it accepts is a date-time, what it does not may be one."""


class Checks:
    """The string checks of one module; the same pattern or format is one check and one memo."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[tuple[str, str], tuple[str, str] | None] = {}

    def pattern(self, pattern: str) -> tuple[str, str] | None:
        """Return the slots of a pattern's memo and check; None where it does not compile."""
        if ("pattern", pattern) not in self._known:
            try:
                search = compile_pattern(pattern).matches
            except GoRegexError:
                self._known["pattern", pattern] = None
            else:
                self._known["pattern", pattern] = self._bind(search)
        return self._known["pattern", pattern]

    def format(self, schema: StructuralSchema) -> tuple[str, str] | None:
        """Return the slots of memo and check of the format that a schema puts on strings; None where it puts none."""
        name = formats.strip_format(schema)
        if not name or not formats.is_known(name):
            return None
        if ("format", name) not in self._known:
            self._known["format", name] = self._bind(_format_check(name))
        return self._known["format", name]

    def text(self, schema: StructuralSchema) -> tuple[str, str] | None:
        """Return the slots of memo and check of everything that a schema of type string says; None: it is not known.

        The check takes values of any type: it says no, or refuses, as `support.scalar` does.
        """
        key = ("text", repr((schema.pattern, schema.format, schema.min_length, schema.max_length, schema.enum)))
        if key not in self._known:
            check = self._text_check(schema)
            self._known[key] = None if check is None else self._bind(check)
        return self._known[key]

    @staticmethod
    def _text_check(schema: StructuralSchema) -> Callable[[str], bool] | None:
        least, most = schema.min_length or 0, schema.max_length
        enum = frozenset(value for value in schema.enum if type(value) is str) if schema.enum else None
        matches = accepts = None
        if schema.pattern:
            try:
                matches = compile_pattern(schema.pattern).matches
            except GoRegexError:
                return None
        name = formats.strip_format(schema)
        if name and formats.is_known(name):
            accepts = _format_check(name)

        def check(text: str) -> bool:
            if type(text) is not str:
                return scalar(text)
            return (
                len(text) >= least
                and (most is None or len(text) <= most)
                and (enum is None or text in enum)
                and (matches is None or matches(text))
                and (accepts is None or accepts(text))
            )

        return check

    def _bind(self, check: Callable[[str], bool]) -> tuple[str, str]:
        accepted, remember = remembering(check)
        return self.module.slot(accepted, "m"), self.module.slot(remember, "p")


def _format_check(name: str) -> Callable[[str], bool]:
    accepts = formats.accepts
    if name.replace("-", "") == "datetime":
        return lambda text: _plain_date_time(text) is not None or accepts(name, text)
    return lambda text: accepts(name, text)
