"""Converts a tree of nodes to the value that Go's library makes of it, with keys that JSON allows.

Iterative throughout: 10,000 levels, and more through aliases, would exceed CPython's recursion limit.

The typed tree is plain Python except for mapping keys: a key that is not a string is a pair of a type letter and the
value, so that 1, 1.0, true and "1" are distinct until they become text.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Generator
from typing import Any, Final

from auditor.golang.go_text import float_v, quote
from auditor.sources.yaml.compose import ALIAS, MAPPING, SCALAR, SEQUENCE, YamlNode
from auditor.sources.yaml.scalars import INT64_MAX, TAG_PREFIX, resolve_plain, resolve_tagged
from auditor.sources.yaml.yaml_error import YamlError

ALIAS_FREE: Final = 100
VISITS_FREE: Final = 1000
RATIO_LOW: Final = 400_000
RATIO_HIGH: Final = 4_000_000
WANT_MAP: Final = "yaml: map merge requires map or sequence of maps as the value"

_MERGE_TAG: Final = TAG_PREFIX + "merge"


def _is_merge(node: YamlNode) -> bool:
    return (
        node.value == "<<"
        and node.kind == SCALAR
        and (node.tag == _MERGE_TAG or (node.implicit and node.tag in ("", "!")))
    )


_Walk = Generator["tuple[YamlNode, dict[Any, Any] | None]", Any, Any]
"""The decoding of one node: requests other nodes (and the mapping to merge them into), returns its value."""


class _YamlDecoder:
    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.visits = 0
        self.alias_visits = 0
        self.alias_depth = 0
        self.open_aliases: set[int] = set()
        self.repeated: list[str] = []
        self.odd = False
        self.words: dict[str, Any] = {}

    def count(self) -> None:
        self.visits += 1
        if self.alias_depth:
            self.alias_visits += 1
            total, alias = self.visits, self.alias_visits
            if alias > ALIAS_FREE and total > VISITS_FREE:
                share = min(max(total - RATIO_LOW, 0) / (RATIO_HIGH - RATIO_LOW), 1.0)
                if alias / total > (0.10 if share == 1.0 else 0.99 - 0.89 * share):
                    raise YamlError("yaml: document contains excessive aliasing")

    def scalar(self, node: YamlNode) -> Any:
        text = node.value
        if node.tag:
            value = resolve_tagged(node.tag, text)
        elif not node.implicit:
            return text
        elif text in self.words:
            return self.words[text]
        else:
            value = resolve_plain(text)
            if len(text) < 32 and len(self.words) < 10_000:
                self.words[text] = value
        if type(value) is float and not math.isfinite(value):
            self.odd = True
        return value

    def key(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return value
        if kind is dict or kind is list:
            raise YamlError(f"yaml: invalid map key: {go_syntax(value)}")
        self.odd = True
        if kind is int:
            return ("i" if value <= INT64_MAX else "u", value)
        # A NaN equals nothing, not even itself; a new object each time avoids dict's identity check.
        return (kind.__name__[0], float(str(value)) if value != value else value)  # noqa: PLR0124

    def run(self, root: YamlNode) -> Any:
        """Return the typed tree of a node and everything below it."""
        stack: list[_Walk] = []
        node, into = root, None
        while True:
            self.count()
            value = None
            if node.kind == SCALAR:
                value = self.scalar(node)
            else:
                stack.append(self.walk(node, into))
            while stack:
                try:
                    node, into = stack[-1].send(value)
                    break
                except StopIteration as done:
                    stack.pop()
                    value = done.value
            else:
                return value

    def walk(self, node: YamlNode, into: dict[Any, Any] | None) -> _Walk:
        if node.kind == SEQUENCE:
            return self.sequence(node)
        return self.alias(node, into) if node.kind == ALIAS else self.mapping(node, {} if into is None else into)

    def alias(self, node: YamlNode, into: dict[Any, Any] | None) -> _Walk:
        if id(node) in self.open_aliases:
            raise YamlError(f"yaml: anchor '{node.value}' value contains itself")
        self.open_aliases.add(id(node))
        self.alias_depth += 1
        value = yield node.children[0], into
        self.alias_depth -= 1
        self.open_aliases.discard(id(node))
        return value

    def sequence(self, node: YamlNode) -> _Walk:
        out: list[Any] = []
        for child in node.children:
            if child.kind == SCALAR:
                self.count()
                out.append(self.scalar(child))
            else:
                out.append((yield child, None))
        return out

    def mapping(self, node: YamlNode, out: dict[Any, Any]) -> _Walk:
        children = iter(node.children)
        for name, child in zip(children, children, strict=True):
            if name.value == "<<" and _is_merge(name):
                # In text order, the last mapping of a sequence first: entries overwrite existing ones.
                for source in reversed(child.children) if child.kind == SEQUENCE else (child,):
                    target = source.children[0] if source.kind == ALIAS else source
                    if target.kind != MAPPING:
                        raise YamlError(WANT_MAP)
                    yield source, out
                continue
            if name.kind == SCALAR:
                self.count()
                key = self.key(self.scalar(name))
            else:
                key = self.key((yield name, None))
            if child.kind == SCALAR:
                self.count()
                value = self.scalar(child)
            else:
                value = yield child, None
            if self.strict and key in out:
                self.repeated.append(f"line {child.line + 1}: key {go_syntax(key)} already set in map")
            else:
                if type(key) is tuple and not key[1]:
                    out.pop(key, None)  # for 0.0 and -0.0, a Go map keeps the later key
                out[key] = value
        return out


def decode_tree(root: YamlNode | None, *, strict: bool) -> tuple[Any, bool]:
    """Return the typed tree of a document, and whether it has values that JSON may not be able to express.

    Args:
        root: None gives null.
        strict: Collect repeated keys and raise them together.

    Raises:
        YamlError: A tag, key, merge or alias that Go refuses.

    Source: go.yaml.in/yaml v2, decode.go decoder.
    """
    if root is None:
        return None, False
    decoder = _YamlDecoder(strict)
    tree = decoder.run(root)
    if decoder.repeated:
        raise YamlError("yaml: unmarshal errors:\n  " + "\n  ".join(decoder.repeated))
    return tree, decoder.odd


def _float_key(number: float) -> str:
    """Return a float key as text: Go's 'g' format with the digits of a float32."""
    if number != number:  # noqa: PLR0124 - NaN
        return ".nan"
    try:
        single = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        single = math.copysign(math.inf, number)
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    for digits in range(1, 10):
        text = f"{single:.{digits - 1}e}"
        if struct.unpack("<f", struct.pack("<f", float(text)))[0] == single:
            return float_v(float(text))
    return float_v(single)


def _text_key(key: Any, value: Any) -> str:
    letter, number = key
    if letter == "i":
        return str(number)
    if letter == "b":
        return "true" if number else "false"
    if letter == "f":
        return _float_key(number)
    if letter == "N":
        raise YamlError(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {go_syntax(value, top=True)}")
    raise YamlError(f"unsupported map key of type: uint64, key: {hex(number)}, value: {go_syntax(value, top=True)}")


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items()) if type(value) is dict else list(enumerate(value))


def with_text_keys(tree: Any) -> Any:
    """Return the tree with all keys as text; if two keys have the same text, the one that was text already wins.

    Raises:
        YamlError: A key that has no text: null, or beyond int64.

    Source: sigs.k8s.io/yaml, convertToJSONableObject. Go takes a random one of two keys with the same text.
    """
    holder: list[Any] = [tree]
    todo: list[Any] = [holder]
    while todo:
        container = todo.pop()
        for place, value in _items(container):
            if type(value) is dict and not all(type(key) is str for key in value):
                texts = {_text_key(key, member): member for key, member in value.items() if type(key) is not str}
                texts.update((key, member) for key, member in value.items() if type(key) is str)
                container[place] = texts
                todo.append(texts)
                if len(texts) < len(value):
                    todo.append([*value.values()])  # the replaced value is converted as well, for its errors
            elif type(value) is dict or type(value) is list:
                todo.append(value)
    return holder[0]


def go_syntax(value: Any, *, top: bool = False) -> str:
    """Return a typed value (or key) as Go's %#v prints it; nested values alike.

    Args:
        top: The value is printed alone, so that null is ``<nil>`` and not ``interface {}(nil)``.

    Source: fmt, %#v of interface{}, []interface{} and map[interface{}]interface{} (keys sorted by type and value).
    """
    parts: list[str] = []
    todo: list[Any] = [value]
    texts = _Verbatim
    while todo:
        node = todo.pop()
        if type(node) is texts:
            parts.append(node)
        elif type(node) is list:
            todo.append(texts("}"))
            for index in range(len(node) - 1, -1, -1):
                todo.append(node[index])
                if index:
                    todo.append(texts(", "))
            todo.append(texts("[]interface {}{"))
        elif type(node) is dict:
            todo.append(texts("}"))
            pairs = sorted(node.items(), key=_key_order)
            for index in range(len(pairs) - 1, -1, -1):
                todo.extend((pairs[index][1], texts(":"), texts(go_syntax(pairs[index][0]))))
                if index:
                    todo.append(texts(", "))
            todo.append(texts("map[interface {}]interface {}{"))
        else:
            parts.append(_go_scalar(node, nil="<nil>" if top and not parts and not todo else "interface {}(nil)"))
    return "".join(parts)


class _Verbatim(str):
    """Text that go_syntax copies unchanged."""

    __slots__ = ()


def _key_order(pair: tuple[Any, Any]) -> tuple[int, Any]:
    key = pair[0]
    if type(key) is str:
        return (4, key)
    letter, value = key
    if value is None or value != value:  # noqa: PLR0124 - NaN sorts first among floats
        value = -math.inf
    return ("Niufb".index(letter), value) if letter != "b" else (5, value)


def _go_scalar(value: Any, nil: str) -> str:
    if type(value) is tuple:
        value = value[1]
    if value is None:
        return nil
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value) if value <= INT64_MAX else hex(value)
    return float_v(value) if type(value) is float else quote(value)


def check_finite(tree: Any) -> None:
    """Refuse a tree with text keys that has NaN or an infinity, which JSON cannot express.

    Raises:
        YamlError: As encoding/json says it.
    """
    todo: list[Any] = [[tree]]
    while todo:
        for _, value in _items(todo.pop()):
            kind = type(value)
            if kind is dict or kind is list:
                todo.append(value)
            elif kind is float and not math.isfinite(value):
                text = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"  # noqa: PLR0124 - NaN
                raise YamlError(f"json: unsupported value: {text}")
