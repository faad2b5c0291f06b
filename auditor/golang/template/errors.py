"""The one error of templates."""

from __future__ import annotations

__all__ = ["CallError", "TemplateError"]


class TemplateError(ValueError):
    """A template that does not parse, or fails on a value; the text is Go's."""


class CallError(Exception):
    """A function that fails; the text is what it returns as its error."""
