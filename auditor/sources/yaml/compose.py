"""From parser events to a tree of nodes with everything that the conversion needs: aliases, written tags, lines.

PyYAML's own composer is not used: it refuses redefined anchors, does not mark aliases, and has no depth limit.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from auditor.sources.yaml.events import document_events
from auditor.sources.yaml.yaml_error import YamlError

MAX_DEPTH: Final = 10_000
"""Nested flow collections, and nested block collections, that Go's scanner allows."""

SCALAR: Final = 0
MAPPING: Final = 1
SEQUENCE: Final = 2
ALIAS: Final = 3


class YamlNode:
    """One node of a document.

    Attributes:
        kind: SCALAR, MAPPING, SEQUENCE or ALIAS.
        value: Text of a scalar, name of an alias.
        tag: Explicit tag of a scalar; empty if there is none.
        implicit: The scalar is plain and has no tag, or the tag is a lone exclamation mark.
        line: Line at which it starts, from 0.
        children: Items; keys and values in turn; for an alias, the node that it refers to.
    """

    __slots__ = ("children", "implicit", "kind", "line", "tag", "value")

    def __init__(self, kind: int, value: str, tag: str, implicit: bool, line: int) -> None:
        self.kind = kind
        self.value = value
        self.tag = tag
        self.implicit = implicit
        self.line = line
        self.children: list[YamlNode] = []


class _Depth:
    """Counts the depth as Go's scanner does: open flow collections, and indentations of block collections."""

    def __init__(self) -> None:
        self.flow = 0
        self.columns: list[int] = []
        self.opened: list[str] = []

    def start(self, event: Any) -> None:
        mark = event.start_mark
        if event.flow_style:
            self.flow += 1
            self.opened.append("flow")
        elif not self.columns or mark.column > self.columns[-1]:
            self.columns.append(mark.column)
            self.opened.append("block")
        else:
            # A sequence at the indentation of its parent mapping has no indentation of its own.
            self.opened.append("")
        if self.flow > MAX_DEPTH or len(self.columns) > MAX_DEPTH:
            where = f"line {mark.line + 1}: " if mark.line else ""
            raise YamlError(f"yaml: {where}exceeded max depth of {MAX_DEPTH}")

    def end(self) -> None:
        opened = self.opened.pop()
        if opened == "flow":
            self.flow -= 1
        elif opened:
            self.columns.pop()


def compose(data: bytes) -> YamlNode | None:
    """Return the root node of the first document, None if there is no document.

    Args:
        data: UTF-8, or UTF-16 with a byte order mark.

    Raises:
        YamlError: The text is no YAML, names an unknown anchor or nests deeper than MAX_DEPTH.

    Source: go.yaml.in/yaml v2, decode.go parser; scannerc.go max_flow_level, max_indents.
    """
    top = YamlNode(SEQUENCE, "", "", False, 0)
    parents = [top]
    children = top.children
    anchors: dict[str, YamlNode] = {}
    depth = _Depth()
    for event in document_events(data):
        kind = type(event)
        if kind is yaml.ScalarEvent:
            node = YamlNode(SCALAR, event.value, event.tag or "", event.implicit[0], event.start_mark.line)
            children.append(node)
            if event.anchor is not None:
                anchors[event.anchor] = node
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            depth.start(event)
            node = YamlNode(
                MAPPING if kind is yaml.MappingStartEvent else SEQUENCE, "", "", False, event.start_mark.line
            )
            children.append(node)
            if event.anchor is not None:
                anchors[event.anchor] = node
            parents.append(node)
            children = node.children
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            depth.end()
            parents.pop()
            children = parents[-1].children
        elif kind is yaml.AliasEvent:
            target = anchors.get(event.anchor)
            if target is None:
                raise YamlError(f"yaml: unknown anchor '{event.anchor}' referenced")
            node = YamlNode(ALIAS, event.anchor, "", False, event.start_mark.line)
            node.children.append(target)
            children.append(node)
    return top.children[0] if top.children else None
