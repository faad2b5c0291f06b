"""Errors of templates."""

from __future__ import annotations

__all__ = ["CallError", "TemplateError"]


class TemplateError(ValueError):
    """A template that does not parse, or fails on a value; the text is Go's."""


class CallError(Exception):
    """A function that fails; the text is the error that it returns."""
