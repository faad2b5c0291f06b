"""Checks of strings that generated code calls: patterns and formats, each with a cache of accepted values.

Source: auditor.golang (regular expressions) and auditor.validation (formats).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.fastpath.dicts.metadata_parts import is_time
from auditor.fastpath.dicts.support import remembering
from auditor.golang.regex.compiled import GoRegexError, compile_pattern
from auditor.validation import formats

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.codegen import Module
    from auditor.schema.structural import StructuralSchema

__all__ = ["Checks"]


class Checks:
    """The string checks of one module; equal patterns or formats share one check and one cache."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[tuple[str, str], tuple[str, str] | None] = {}

    def pattern(self, pattern: str) -> tuple[str, str] | None:
        """Return the slots of a pattern's cache and check; None if it does not compile."""
        if ("pattern", pattern) not in self._known:
            try:
                search = compile_pattern(pattern).matches
            except GoRegexError:
                self._known["pattern", pattern] = None
            else:
                self._known["pattern", pattern] = self._bind(search)
        return self._known["pattern", pattern]

    def format(self, schema: StructuralSchema) -> tuple[str, str] | None:
        """Return the slots of cache and check for the format of a schema; None if it restricts no strings."""
        name = formats.strip_format(schema)
        if not name or not formats.is_known(name):
            return None
        if ("format", name) not in self._known:
            check = _format_check(name)
            self._known["format", name] = self._bind_times(check) if _is_moment(name) else self._bind(check)
        return self._known["format", name]

    def text(self, schema: StructuralSchema) -> tuple[str, str] | None:
        """Return the slots of cache and check for all keywords of a schema of type string, or None if not supported."""
        key = ("text", repr((schema.pattern, schema.format, schema.min_length, schema.max_length, schema.enum)))
        if key not in self._known:
            check = self._text_check(schema)
            bind = self._bind_times if _is_moment(schema.format) and not schema.pattern else self._bind
            self._known[key] = None if check is None else bind(check)
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
        if not least and most is None and enum is None:
            alone = matches or accepts
            if alone is not None and (matches is None or accepts is None):
                return alone

        def check(text: str) -> bool:
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

    def _bind_times(self, check: Callable[[str], bool]) -> tuple[str, str]:
        """Bind a check of times, which rarely repeat: `is_time` caches their days."""
        return self.module.slot(_NOTHING, "m"), self.module.slot(check, "p")


_NOTHING: frozenset[str] = frozenset()


def _is_moment(name: str) -> bool:
    return name.replace("-", "") == "datetime"


def _format_check(name: str) -> Callable[[str], bool]:
    accepts = formats.accepts
    if _is_moment(name):
        return lambda text: is_time(text) or accepts(name, text)
    return lambda text: accepts(name, text)
