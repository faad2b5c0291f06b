"""Finds the line of a field in a document, and repeated keys.

Paths are those of a server's messages: ``spec.list[0].name``, ``spec.map[key]``, ``.spec.replicas``. These do not mark
keys with dots, so every matching key is tried; a missing field has the line of its parent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from auditor.sources.yaml.compose import ALIAS, MAPPING, SCALAR, SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.sources.manifests.placed import PlacedDocument
    from auditor.sources.yaml.compose import Node

__all__ = ["field_line", "repeated_keys"]

_INDEX: Final = re.compile(r"\[(\d+)\]")
_MERGES: Final = 8


def field_line(document: PlacedDocument, path: str, items: tuple[int, ...] = (), bad: object = None) -> int:
    """Return the line, from 1, of a field, or of its nearest existing parent.

    Args:
        document: The document.
        path: Path of the field in the object; for any other text, the line of the object is returned.
        items: Indexes of the object in the Lists that contain it, outermost first.
        bad: The invalid value; if it is a key or a value in the field, its line is returned.
    """
    node = document.root
    if node is None:
        return document.line
    line = node.line
    for number in items:
        line, held = _entry(node, "items", line)
        if held is None or held.kind != SEQUENCE or number >= len(held.children):
            return document.above + line + 1
        node = _target(held.children[number])
        line = node.line
    rest = path.removeprefix(".")
    rest = rest if rest.startswith("[") else f".{rest}"
    used, line, held = _deepest(node, rest, line, 0, set())
    if used == len(rest) and type(bad) is str:
        line = next((one.line for one in held.children if one.kind == SCALAR and one.value == bad), line)
    return document.above + line + 1


def _target(node: Node) -> Node:
    return node.children[0] if node.kind == ALIAS else node


def _entries(node: Node, depth: int = 0) -> Iterator[tuple[Node, Node]]:
    """Yield keys and values, with the effective one of equal keys first: the last one, and merged keys at the end."""
    pairs = list(zip(node.children[::2], node.children[1::2], strict=True))
    yield from reversed(pairs)
    for key, value in pairs:
        if key.value == "<<" and key.implicit and depth < _MERGES:
            for one in (value,) if value.kind != SEQUENCE else value.children:
                if _target(one).kind == MAPPING:
                    yield from _entries(_target(one), depth + 1)


def _entry(node: Node, key: str, line: int) -> tuple[int, Node | None]:
    """Return the line of a key and its value, or the given line and None if the key is missing."""
    for name, value in _entries(_target(node)) if _target(node).kind == MAPPING else ():
        if name.kind == SCALAR and name.value == key:
            return name.line, _target(value)
    return line, None


def _deepest(node: Node, rest: str, line: int, done: int, seen: set[tuple[int, int]]) -> tuple[int, int, Node]:
    """Return how much of a path exists, its line, and its node."""
    node = _target(node)
    best = done, line, node
    if not rest or (id(node), done) in seen:
        return best
    seen.add((id(node), done))
    if node.kind == SEQUENCE:
        found = _INDEX.match(rest)
        if found and int(found[1]) < len(node.children):
            child = node.children[int(found[1])]
            return _deepest(child, rest[found.end() :], child.line, done + found.end(), seen)
    elif node.kind == MAPPING:
        for name, value in _entries(node):
            used = _used(rest, name.value) if name.kind == SCALAR else 0
            if used:
                tried = _deepest(value, rest[used:], name.line, done + used, seen)
                if tried[0] > best[0]:
                    best = tried
    return best


def _used(rest: str, key: str) -> int:
    """Return how many characters of a path a key matches; 0 if it does not match."""
    for text in (f".{key}", f"[{key}]", f'["{key}"]'):
        if rest.startswith(text) and (len(rest) == len(text) or rest[len(text)] in ".["):
            return len(text)
    return 0


def repeated_keys(root: Node, items: tuple[int, ...] = ()) -> list[str]:
    """Return the paths of repeated keys, each once, in the order of the text.

    Args:
        root: The tree of a document.
        items: As for `field_line`; paths are those below the object.
    """
    node = root
    for number in items:
        _, held = _entry(node, "items", 0)
        if held is None or held.kind != SEQUENCE or number >= len(held.children):
            return []
        node = _target(held.children[number])
    found: dict[str, None] = {}
    todo = [("", node)]
    while todo:
        place, node = todo.pop()
        below = []
        if node.kind == SEQUENCE:
            below = [(f"{place}[{number}]", child) for number, child in enumerate(node.children)]
        elif node.kind == MAPPING:
            seen: set[str] = set()
            for name, child in zip(node.children[::2], node.children[1::2], strict=True):
                if name.kind != SCALAR or (name.value == "<<" and name.implicit):
                    continue
                path = f"{place}.{name.value}" if place else name.value
                if name.value in seen:
                    found[path] = None
                seen.add(name.value)
                below.append((path, child))
        todo += reversed(below)
    return list(found)
