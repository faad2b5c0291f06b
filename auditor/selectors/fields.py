"""The values that field selectors see: what is under the selectable fields of a version, printed as Go prints it.

A path is evaluated by a JSONPath engine whose syntax is not quite that by which definitions are checked, so that odd
property names fail or mean something else. A path that does not parse breaks every query on its version, not just its
own field.

Source: apiextensions-apiserver pkg/registry/customresource/strategy.go (selectableFields); client-go util/jsonpath.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.errors import SelectorError
from auditor.golang.text import display
from auditor.golang.unicode import digits_end, is_digit, is_letter, is_print

if TYPE_CHECKING:
    from auditor.crds.definition import CrdVersion
    from auditor.model import JsonObject
    from auditor.schema.structural import StructuralSchema

__all__ = ["IndexValue", "field_text", "field_types", "node_at", "plain_keys", "selectable", "selectable_values"]

IndexValue = bool | int | str | None
"""A value as the index keeps it beside its text; None where it is absent or of a type that cannot be selected by."""


class _Step(NamedTuple):
    """One step of a path: a key, all of them, or something that yields itself or fails."""

    kind: str
    value: Any = None


_TERMINATORS: Final = frozenset(" \t\r\n.,[]$@{}")


def selectable(version: CrdVersion, obj: JsonObject, namespaced: bool) -> dict[str, str]:
    """Return what field selectors on a version see of an object.

    Args:
        version: Whose selectable fields count.
        obj: The object after the read at that version.
        namespaced: Whether its kind is.
    Returns:
        Label to text; metadata.name first. An absent or null field is the empty text.
    Raises:
        SelectorError: Selectors on this version fail for this object, or altogether; `found` is the server's text.
    """
    seen: dict[str, str] = _identity(obj, namespaced=namespaced)
    for path in version.selectable_fields:
        value = _find(path, obj)
        seen.setdefault(path.removeprefix("."), "" if value is None else display(value))
    return seen


def selectable_values(version: CrdVersion, obj: JsonObject) -> dict[str, IndexValue]:
    """Return the typed values of the selectable fields of a version, by label.

    Floats without fraction are integers here; values that no selectable type has are None.

    Raises:
        SelectorError: As `selectable`.
    """
    return {path.removeprefix("."): _typed(_find(path, obj)) for path in version.selectable_fields}


def plain_keys(path: str) -> tuple[str, ...] | None:
    """Return the keys that lead to the value of a path; None: it is more than keys, or does not parse."""
    try:
        return _parse(path)[0]
    except ValueError:
        return None


def field_types(version: CrdVersion) -> list[tuple[str, str]]:
    """Return (path without the leading dot, schema type) of the selectable fields of a version."""
    out = []
    for path in version.selectable_fields:
        label = path.removeprefix(".")
        node = node_at(version.schema, label)
        out.append((label, node.type if node is not None else "string"))
    return out


def node_at(schema: StructuralSchema | None, label: str) -> StructuralSchema | None:
    """Return the node of a schema at a path without the leading dot; None: the schema says nothing there."""
    node = schema
    for step in label.split("."):
        if node is None:
            break
        below = node.properties.get(step)
        if below is None and not isinstance(node.additional_properties, bool):
            below = node.additional_properties
        node = below
    return node


def field_text(label: str, obj: JsonObject) -> str:
    """Return what a field selector would see under any path of an object; empty where that is nothing, or many.

    Args:
        label: Path without the leading dot.
    """
    try:
        value = _find(f".{label}", obj)
    except SelectorError:
        return ""
    return "" if value is None else display(value)


def _identity(obj: JsonObject, *, namespaced: bool) -> dict[str, str]:
    metadata = obj.get("metadata")
    metadata = metadata if type(metadata) is dict else {}
    names = ("name", "namespace") if namespaced else ("name",)
    return {f"metadata.{name}": _text(metadata.get(name)) for name in names}


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _typed(value: Any) -> IndexValue:
    if type(value) is float:
        return int(value) if value.is_integer() and -(2**63) <= value < 2**63 else None
    return value if type(value) in (str, int, bool) else None


def _find(path: str, obj: JsonObject) -> Any:
    try:
        keys, steps = _parse(path)
    except ValueError as error:
        raise SelectorError(path, f"unexpected error parsing jsonPath: {error}") from None
    if keys is not None:
        value: Any = obj
        for key in keys:
            if type(value) is not dict:
                return None
            value = value.get(key)
        return value
    found: list[Any] = [obj]
    for step in steps:
        if step.kind == "key":
            found = [one[step.value] for one in found if type(one) is dict and step.value in one]
        elif step.kind == "all":
            found = [child for one in found for child in _children(one)]
        elif step.kind == "below":
            found = _descendants(found)
        elif step.kind == "value":
            found = [step.value] * len(found)
        elif step.kind == "text":
            found = [step.value]
        else:
            raise SelectorError(path, f"unexpected error finding value with jsonPath: {step.value}")
    if len(found) > 1:
        raise SelectorError(path, "unexpectedly received more than one JSON path result")
    return found[0] if found else None


def _children(value: Any) -> list[Any]:
    if type(value) is dict:
        return list(value.values())
    if type(value) is str:
        return list(value.encode("utf-8", "surrogatepass"))  # Go's strings are made of bytes
    return value if type(value) is list else []


def _descendants(values: list[Any]) -> list[Any]:
    """Return the values and everything below them that is made of parts, in no order."""
    found: list[Any] = []
    todo = list(values)
    while todo:
        value = todo.pop()
        children = _children(value)
        if children:
            found.append(value)
            todo.extend(children)
    return found


@lru_cache(maxsize=1024)
def _parse(path: str) -> tuple[tuple[str, ...] | None, tuple[_Step, ...]]:
    """Return the keys of a path that has nothing else, and the steps of any path.

    Raises:
        ValueError: As `_steps`.
    """
    steps = _steps(path)
    is_plain = all(step.kind == "key" for step in steps)
    return tuple(step.value for step in steps) if is_plain else None, steps


def _steps(path: str) -> tuple[_Step, ...]:
    """Return the steps of a path.

    Raises:
        ValueError: It does not parse; with Go's text. Brackets, which no stored definition holds, count as such.
    """
    steps: list[_Step] = []
    at = 0
    while at < len(path):
        letter = path[at]
        if letter in " @$":
            at += 1
        elif letter == ".":
            if path.startswith("..", at):
                if steps and steps[-1].kind == "below":
                    raise ValueError("invalid multiple recursive descent")
                steps.append(_Step("below"))
                at += 1
                following = path[at + 1 : at + 2]
                if not (following == "_" or is_letter(following) or is_digit(following)):
                    at += 1
                    continue
            at, name = _field(path, at + 1)
            steps.append(_Step("all") if name == "*" else _Step("key", name.replace("\\", "")))
        elif letter in "\"'":
            at, text = _quoted(path, at)
            steps.append(_Step("text", text))
        elif letter in "+-" or is_digit(letter):
            at = _number(path, at, steps)
        elif letter == "_" or is_letter(letter):
            at = _identifier(path, at, steps)
        elif letter in "\r\n":
            raise ValueError("unclosed action")
        elif letter == "[":
            raise ValueError("array notation is not evaluated")
        else:
            shown = f" '{letter}'" if is_print(ord(letter)) else ""
            raise ValueError(f"unrecognized character in action: U+{ord(letter):04X}{shown}")
    return tuple(steps)


def _field(path: str, at: int) -> tuple[int, str]:
    start = at
    while at < len(path) and path[at] not in _TERMINATORS:
        at += 2 if path[at] == "\\" else 1
    if at > len(path):  # a backslash at the end takes the closing brace with it
        raise ValueError("unclosed action")
    return at, path[start:at]


def _quoted(path: str, at: int) -> tuple[int, str]:
    quote, start = path[at], at + 1
    while True:
        end = path.find(quote, at + 1)
        if end < 0 or "\n" in path[start:end]:
            raise ValueError("unterminated quoted string")
        if path[end - 1] != "\\":
            return end + 1, path[start:end].replace(f"\\{quote}", quote)
        at = end


def _number(path: str, at: int, steps: list[_Step]) -> int:
    end = digits_end(path, at + 1)
    text = path[at:end]
    read = text if text.isascii() else ""  # of other digits no number is made
    try:
        steps.append(_Step("value", float(read) if "." in text else int(read)))
    except ValueError:
        raise ValueError(f"cannot parse number {text}") from None
    return end


def _identifier(path: str, at: int, steps: list[_Step]) -> int:
    start = at
    while at < len(path) and path[at] not in _TERMINATORS:
        at += 1
    name = path[start:at]
    if name in ("true", "false"):
        steps.append(_Step("value", name == "true"))
    else:
        steps.append(_Step("error", f"unrecognized identifier {name}"))
    return at
