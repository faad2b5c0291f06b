"""The documents of a manifest file with their lines, read as kubectl reads them.

A file is JSON values one after another, or YAML documents between lines of ``---``. Unlike kubectl, which stops at the
first document that it cannot read, reading continues with the next one.

Source: k8s.io/apimachinery/pkg/util/yaml, YAMLOrJSONDecoder; k8s.io/cli-runtime pkg/resource/visitor.go.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.golang import jsontext
from auditor.sources.json_stream import JsonSyntaxError, UnexpectedEnd, check_value, skip_space, value_end
from auditor.sources.manifests.manifest_files import text_bytes
from auditor.sources.yaml import YamlError, looks_like_json, yaml_chunks, yaml_to_json
from auditor.sources.yaml.compose import ALIAS, MAPPING, SCALAR, SEQUENCE, YamlNode, compose
from auditor.sources.yaml.convert import check_finite, decode_tree, with_text_keys
from auditor.sources.yaml.quick import quick_value
from auditor.sources.yaml.scalars import to_json_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.sources.yaml.compose import YamlNode


TEMPLATE: Final = " (a template? render it first, for example with `helm template`)"
_SPACE: Final = b" \t\r\n"
LARGEST: Final = 4 << 20
"""Size in bytes of the largest document for which the lines of fields are computed."""


@dataclass(slots=True)
class PlacedDocument:
    """A document, or why there is none.

    Attributes:
        line: The line on which it starts, from 1; the line of the error if it cannot be read.
        value: The value that a server receives, with numbers as kubectl sends them; None if the document is empty.
        error: Why it cannot be read.
        above: Number of lines before the tree.
        text: JSON or YAML without aliases, whose tree is not composed yet.
        tree: The tree, once it is composed.
        once: Whether the text is known to have no key twice in an object.
    """

    line: int
    value: Any = None
    error: str = ""
    above: int = 0
    text: bytes = b""
    tree: YamlNode | None = None
    once: bool = False

    @property
    def root(self) -> YamlNode | None:
        """Its tree with the lines of all nodes; None if it is too large, or JSON that is not valid YAML."""
        if self.text:
            self.tree, self.text = _tree(self.text), b""
        return self.tree


def placed_documents(data: bytes) -> Iterator[PlacedDocument]:
    """Yield the non-empty documents of a file, and an error for each document that cannot be read.

    Args:
        data: JSON or YAML, in UTF-8 or UTF-16, with or without a byte order mark. What is not UTF-8 becomes U+FFFD.
    """
    data = bytes(text_bytes(data)).removeprefix(codecs.BOM_UTF8)
    if looks_like_json(data):
        yield from _json(data.decode("utf-8", "replace").encode())
    else:
        yield from _yaml(data, 0)


def _json(data: bytes) -> Iterator[PlacedDocument]:
    position = start = skip_space(data, 0)
    counted = above = 0
    while position < len(data):
        above += data.count(b"\n", counted, position)
        counted = position
        if position > start and data.startswith((b"---", b"#"), position):
            yield from _yaml(data[position:], above)
            return
        try:
            end, value = _next(data, position) if position > start else _first(data, start)
        except (JsonSyntaxError, UnexpectedEnd, jsontext.GoJsonError) as error:
            if position == start and _is_yaml(data):
                yield from _yaml(data, 0)
                return
            wrong, said = position, str(error)
            if isinstance(error, JsonSyntaxError):
                wrong, said = error.offset, f"json: offset {error.offset}: {error}" if position == start else said
            hint = _hint(data)
            unread = 0 if hint else sum(1 for line in data[wrong:].splitlines()[1:] if line.strip())
            if unread:
                hint = f"; {unread:,} more {'line was' if unread == 1 else 'lines were'} not read"
            yield PlacedDocument(data.count(b"\n", 0, wrong) + 1, error=said + hint)
            return
        if value is not None:
            yield PlacedDocument(above + 1, to_json_value(value), "", above, data[position:end])
        position = skip_space(data, end)


def _first(data: bytes, at: int) -> tuple[int, Any]:
    """Return the end and the value of the first JSON value, as `_next`; in most files nothing follows it."""
    if data[at : at + 1] == b"{" and len(data) <= LARGEST:
        with suppress(orjson.JSONDecodeError):
            return len(data.rstrip(_SPACE)), orjson.loads(memoryview(data)[at:])
    return _next(data, at)


def _next(data: bytes, at: int) -> tuple[int, Any]:
    """Return the end and the value of the JSON value at an offset; raise if it is not valid."""
    end = value_end(data, at) if data[at : at + 1] in (b"{", b"[") else -1
    if end > at:
        with suppress(jsontext.GoJsonError):
            return end, jsontext.decode(data[at:end])
    end = check_value(data, at)
    return end, jsontext.decode(data[at:end])


def _is_yaml(data: bytes) -> bool:
    """Whether the first document of a text that begins with a brace is YAML."""
    try:
        first = next(iter(yaml_chunks(data)))
        return type(yaml_to_json(first.text)) is dict
    except (YamlError, StopIteration):
        return False


def _tree(text: bytes) -> YamlNode | None:
    try:
        return compose(text) if len(text) <= LARGEST else None
    except YamlError:
        return None


def _yaml(data: bytes, above: int) -> Iterator[PlacedDocument]:
    line = 0
    chunks = yaml_chunks(data)
    while True:
        try:
            chunk = next(chunks)
        except StopIteration:
            return
        except YamlError as error:
            yield PlacedDocument(above + line + 1, error=error.found)
            return
        line = chunk.line + chunk.text.count(b"\n")
        read = _yaml_document(chunk.text, above + chunk.line)
        if read is not None:
            yield read


def _yaml_document(text: bytes, above: int) -> PlacedDocument | None:
    """Return one document of YAML, or None if it is empty."""
    is_large = len(text) > LARGEST
    value = None if is_large else quick_value(text, once=True)
    if value is not None:
        return PlacedDocument(above + _first_line(text), value, "", above, text, once=True)
    root: YamlNode | None = None
    try:
        if is_large:
            value = yaml_to_json(text)
        else:
            root = compose(text)
            tree, odd = decode_tree(root, strict=False)
            if odd:
                tree = with_text_keys(tree)
                check_finite(tree)
            value = to_json_value(tree)
    except YamlError as error:
        reason = error.found.removeprefix("error converting YAML to JSON: ")
        where = _line_in(reason)
        shown = f"error converting YAML to JSON: {reason}{_hint(text)}"
        return PlacedDocument(above + (where or _first_line(text)), error=shown)
    if value is None:
        return None
    line = root.line + 1 if root is not None else _first_line(text)
    return PlacedDocument(above + line, value, "", above, tree=root)


def _hint(text: bytes) -> str:
    """Return advice for a text that does not parse and looks like a template."""
    return TEMPLATE if b"{{" in text else ""


def _line_in(text: str) -> int:
    """Return the line in an error of the YAML parser; 0 if there is none."""
    _, parts, rest = text.partition("line ")
    number = rest.partition(":")[0]
    return int(number) if parts and number.isdigit() else 0


def _first_line(text: bytes) -> int:
    """Return the first line, from 1, that is neither blank nor a comment nor a separator."""
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.strip() and not line.lstrip(b" ").startswith((b"#", b"---")):
            return number
    return 1


def objects_in(value: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the objects of a document with their positions: the document itself, or the items of a List.

    Items without apiVersion and kind get those of a typed list. A List inside a List is one object, which kubectl
    refuses.

    Source: apimachinery pkg/apis/meta/v1/unstructured/helpers.go; cli-runtime pkg/resource FlattenListVisitor.
    """
    items = value.get("items") if type(value) is dict else None
    if type(items) is not list:
        yield (), value
        return
    kind, api_version = value.get("kind"), value.get("apiVersion")
    item_kind = kind.removesuffix("List") if type(kind) is str else ""
    for number, item in enumerate(items):
        is_bare = type(item) is dict and not item.get("kind") and not item.get("apiVersion") and item_kind
        yield (number,), {**item, "kind": item_kind, "apiVersion": api_version} if is_bare else item


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
    if not (path or items):
        return document.line
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
        line = next((child.line for child in held.children if child.kind == SCALAR and child.value == bad), line)
    return document.above + line + 1


def _target(node: YamlNode) -> YamlNode:
    return node.children[0] if node.kind == ALIAS else node


def _entries(node: YamlNode, depth: int = 0) -> Iterator[tuple[YamlNode, YamlNode]]:
    """Yield keys and values, with the effective one of equal keys first: the last one, and merged keys at the end."""
    pairs = list(zip(node.children[::2], node.children[1::2], strict=True))
    yield from reversed(pairs)
    for key, value in pairs:
        if key.value == "<<" and key.implicit and depth < _MERGES:
            for one in (value,) if value.kind != SEQUENCE else value.children:
                if _target(one).kind == MAPPING:
                    yield from _entries(_target(one), depth + 1)


def _entry(node: YamlNode, key: str, line: int) -> tuple[int, YamlNode | None]:
    """Return the line of a key and its value, or the given line and None if the key is missing."""
    for name, value in _entries(_target(node)) if _target(node).kind == MAPPING else ():
        if name.kind == SCALAR and name.value == key:
            return name.line, _target(value)
    return line, None


def _deepest(node: YamlNode, rest: str, line: int, done: int, seen: set[tuple[int, int]]) -> tuple[int, int, YamlNode]:
    """Return how much of a path exists, its line, and its node."""
    node = _target(node)
    best = done, line, node
    if not rest or (id(node), done) in seen:
        return best
    seen.add((id(node), done))
    if node.kind == SEQUENCE:
        match = _INDEX.match(rest)
        if match and int(match[1]) < len(node.children):
            child = node.children[int(match[1])]
            return _deepest(child, rest[match.end() :], child.line, done + match.end(), seen)
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


def _is_once(text: bytes, value: Any) -> bool:
    """Return True if no object in a JSON text has a key twice; False if that is not known.

    A string has as many quotes in one text as in any other, unless it writes a quote by its number. So the text has
    more of them where members were dropped, whose keys came again.
    """
    try:
        return b"\\u0022" not in text and text.count(b'"') == orjson.dumps(value).count(b'"')
    except TypeError:  # too deep
        return False


def repeated_keys(document: PlacedDocument, items: tuple[int, ...] = ()) -> list[str]:
    """Return the paths of repeated keys, each once, in the order of the text.

    Args:
        document: The document.
        items: As for `field_line`; paths are those below the object.
    """
    document.once = document.once or (bool(document.text) and _is_once(document.text, document.value))
    if document.once:
        return []
    node = document.root
    if node is None:
        return []
    for number in items:
        _, held = _entry(node, "items", 0)
        if held is None or held.kind != SEQUENCE or number >= len(held.children):
            return []
        node = _target(held.children[number])
    repeated: dict[str, None] = {}
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
                    repeated[path] = None
                seen.add(name.value)
                below.append((path, child))
        todo += reversed(below)
    return list(repeated)
