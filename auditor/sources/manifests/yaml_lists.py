"""Splits long YAML lists, and corrects the lines in errors of YAML."""

from __future__ import annotations

import re

from auditor.sources.manifests.object_header import header_of
from auditor.sources.yaml import YamlError, line_behind_document, yaml_to_json

_LINE = re.compile(r"\bline ([0-9]+)\b")


def absolute_lines(text: str, before: int) -> str:
    """Return an error text with its lines counted from the start of the file, `before` lines above the chunk."""
    return _LINE.sub(lambda match: f"line {int(match.group(1)) + before}", text)


_ITEMS = re.compile(rb"^items:[ \t]*\n", re.MULTILINE)
_ITEM = re.compile(rb"^- ", re.MULTILINE)
_TOP_KEY = re.compile(rb"^[^ \t\n#-]", re.MULTILINE)
_ANCHOR = re.compile(rb"(?:^|[ \t\[{,])[*&][A-Za-z0-9_-]")


def list_pieces(text: bytes) -> tuple[str, str, list[int]] | None:
    """Split a long block list, as kubectl prints it, into its items; None if it does not have that form.

    Converting items one by one keeps the tree of the whole list out of memory, and one broken item from taking the
    others with it.

    Returns:
        Kind and apiVersion of the list, and the offsets where its items begin, with the end of the last.
    """
    match = _ITEMS.search(text)
    if match is None or _ITEMS.search(text, match.end()) is not None or _ANCHOR.search(text) is not None:
        return None
    end = _TOP_KEY.search(text, match.end())
    stop = end.start() if end else len(text)
    cuts = [item.start() for item in _ITEM.finditer(text, match.end(), stop)]
    if not cuts or text[match.end() : cuts[0]].strip():
        return None
    around = text[: match.start()] + text[stop:]
    try:
        value = yaml_to_json(around)
    except YamlError:
        return None
    outer = header_of(value)
    if outer is None or not outer.kind.endswith("List") or outer.name:
        return None
    if "items" in value or line_behind_document(around) is not None:
        return None
    return outer.kind, outer.apiVersion, [*cuts, stop]
