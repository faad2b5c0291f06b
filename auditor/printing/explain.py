"""``kubectl explain`` of custom kinds: the description of a field and its children in the schema of a definition.

Source: kubectl pkg/explain/v2; apiextensions-apiserver pkg/controller/openapi/builder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.wording import no_field
from auditor.golang.go_text import display

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.base.records import JsonObject


_CONVENTIONS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"


def _same(schema: JsonObject, *names: str) -> dict[str, JsonObject]:
    """Return several fields with the same schema."""
    return dict.fromkeys(names, schema)


_STRING: Final = {"type": "string"}
_TEXTS: Final = {"type": "object", "additionalProperties": _STRING}
_OWNER: Final = {
    "type": "object",
    "title": "OwnerReference",
    "required": ["apiVersion", "kind", "name", "uid"],
    "properties": {
        **_same(_STRING, "apiVersion", "kind", "name", "uid"),
        **_same({"type": "boolean"}, "blockOwnerDeletion", "controller"),
    },
}
_MANAGED: Final = {
    "type": "object",
    "title": "ManagedFieldsEntry",
    "properties": {
        **_same(_STRING, "apiVersion", "fieldsType", "manager", "operation", "subresource", "time"),
        "fieldsV1": {"type": "object", "title": "FieldsV1"},
    },
}
_METADATA: Final = {
    "type": "object",
    "title": "ObjectMeta",
    "description": f"Standard object's metadata. More info: {_CONVENTIONS}#metadata",
    "properties": {
        **_same(
            _STRING,
            "creationTimestamp",
            "deletionTimestamp",
            "generateName",
            "name",
            "namespace",
            "resourceVersion",
            "selfLink",
        ),
        "uid": _STRING,
        **_same({"type": "integer"}, "deletionGracePeriodSeconds", "generation"),
        **_same(_TEXTS, "annotations", "labels"),
        "finalizers": {"type": "array", "items": _STRING},
        "managedFields": {"type": "array", "items": _MANAGED},
        "ownerReferences": {"type": "array", "items": _OWNER},
    },
}
_TYPE_FIELDS: Final = {
    "apiVersion": {
        "type": "string",
        "description": "APIVersion defines the versioned schema of this representation of an object. Servers should "
        "convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: "
        f"{_CONVENTIONS}#resources",
    },
    "kind": {
        "type": "string",
        "description": "Kind is a string value representing the REST resource this object represents. Servers may "
        "infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
        f"{_CONVENTIONS}#types-kinds",
    },
    "metadata": _METADATA,
}
_MOST_ENUM: Final = 4


class NoSuchField(Exception):
    """The schema has no such field; the text is kubectl's, which names the last one, and ours, which names the first.

    Args:
        path: Names of fields.
        number: How many of them exist.
        schema: The schema in which the next one does not.
    """

    def __init__(self, path: Sequence[str], number: int, schema: JsonObject) -> None:
        found, advice = no_field(".".join(path[:number]), path[number], schema.get("properties") or ())
        texts = [f'field "{path[-1]}" does not exist']
        if advice or number < len(path) - 1:
            texts.append(f"{found}{'; ' if advice else ''}{advice}")
        super().__init__(*texts)


def with_type_fields(schema: JsonObject | None) -> JsonObject:
    """Return the schema of a version as a server publishes it: with apiVersion, kind and metadata."""
    given = schema or {}
    properties = given.get("properties")
    return {**given, "properties": {**(properties if type(properties) is dict else {}), **_TYPE_FIELDS}}


def explained(schema: JsonObject, path: Sequence[str], *, recursive: bool, most_levels: int) -> str:
    """Return the description of a field: its type, its text, its fields.

    Args:
        schema: The schema of the whole object.
        path: Names of fields; the fields of list items and map values follow directly.
        recursive: Print all fields below it, one line each.
        most_levels: Number of levels of fields to print; 0 for all.
    Raises:
        NoSuchField: The schema has no such field.
    """
    head = ""
    for number in range(len(path)):
        schema = _holding(schema, path, number)
    if path:
        values = "".join(f"\n    {_enum_text(value)}" for value in schema.get("enum") or ())
        head = f"FIELD: {path[-1]} <{_type_of(schema)}>\n{f'ENUM:{values}' if values else ''}\n\n"
    text = "".join(f"{description}\n" for description in _descriptions(schema)) or "<empty>"
    fields = "".join(_fields(schema, 1, recursive=recursive, most_levels=most_levels))
    listed = f"FIELDS:\n{fields}" if fields else ""
    return f"{head}DESCRIPTION:\n{_indented(_wrapped(text, 76), 4)}\n{listed}"


def json_path(schema: JsonObject, path: Sequence[str]) -> tuple[str, str]:
    """Return the JSONPath of all values of a field, and its type; unknown if the schema keeps unknown fields there.

    Args:
        schema: The schema of the whole object.
        path: Names of fields as for `explained`; below a map also its keys.
    Raises:
        NoSuchField: The schema has no such field.
    """
    steps = ""
    for number, name in enumerate(path):
        while name not in (schema.get("properties") or ()):
            values = schema.get("additionalProperties")
            inner: Any = schema.get("items") or values
            if type(inner) is not dict:
                if schema.get("properties") and not schema.get("x-kubernetes-preserve-unknown-fields"):
                    raise NoSuchField(path, number, schema)
                schema = {"properties": {name: {"type": "unknown"}}}
            elif type(values) is dict and name not in (inner.get("properties") or ()):
                schema = {"properties": {name: inner}}
            else:
                steps, schema = f"{steps}[*]", inner
        steps, schema = f"{steps}.{name}", schema["properties"][name]
    return steps, _type_of(schema)


def _holding(schema: JsonObject, path: Sequence[str], number: int) -> JsonObject:
    """Return the schema of a property, by its number in a path, of an object or of the objects in a list or map."""
    while True:
        properties = schema.get("properties")
        if type(properties) is dict and path[number] in properties:
            node: JsonObject = properties[path[number]]
            return node
        inner = schema.get("items") or schema.get("additionalProperties")
        if type(inner) is not dict:
            raise NoSuchField(path, number, schema)
        schema = inner


def _inner(schema: JsonObject) -> Iterator[JsonObject]:
    for key in ("items", "additionalProperties"):
        inner = schema.get(key)
        if type(inner) is dict and inner:
            yield inner


def _descriptions(schema: JsonObject) -> Iterator[str]:
    if schema.get("description"):
        yield schema["description"]
    for node in _inner(schema):
        yield from _descriptions(node)


def _fields(schema: JsonObject, level: int, *, recursive: bool, most_levels: int) -> Iterator[str]:
    properties: Any = schema.get("properties")
    for name in sorted(properties) if type(properties) is dict else ():
        yield _field(schema, name, level, short=recursive)
        if recursive and (most_levels == 0 or level < most_levels):
            yield from _fields(properties[name], level + 1, recursive=recursive, most_levels=most_levels)
    for node in _inner(schema):
        yield from _fields(node, level, recursive=recursive, most_levels=most_levels)


def _field(schema: JsonObject, name: str, level: int, *, short: bool) -> str:
    own, indent = schema["properties"][name], level * 2
    required = " -required-" if name in (schema.get("required") or ()) else ""
    head = f"{' ' * indent}{name}\t<{_type_of(own)}>{required}{_enum_line(own, indent)}\n"
    if short:
        return head
    text = _wrapped(own.get("description") or "<no description>", 78 - indent)
    return f"{head}{_indented(text, indent + 2)}\n\n"


def _enum_line(schema: JsonObject, indent: int) -> str:
    values: list[Any] = schema.get("enum") or []
    if not values:
        return ""
    shown = ", ".join(map(_enum_text, values[:_MOST_ENUM])) + (", ...." if len(values) > _MOST_ENUM else "")
    return f"\n{' ' * indent}enum: {shown}"


def _enum_text(value: Any) -> str:
    return '""' if value == "" else display(value)


def _type_of(schema: JsonObject) -> str:
    items, values = schema.get("items"), schema.get("additionalProperties")
    if items:
        return f"[]{_type_of(items)}" if type(items) is dict else "Object"
    if values and type(values) is dict:
        return f"map[string]{_type_of(values)}"
    if "title" in schema and schema["title"] in ("ObjectMeta", "OwnerReference", "ManagedFieldsEntry", "FieldsV1"):
        return str(schema["title"])
    kind = schema.get("type") or "Object"
    return "Object" if kind == "object" else str(kind)


def _indented(text: str, amount: int) -> str:
    pad = " " * amount
    return pad + text.replace("\n", "\n" + pad)


def _wrapped(text: str, width: int) -> str:
    """Return text in lines of limited length; a longer word has its own line.

    Source: github.com/mitchellh/go-wordwrap.
    """
    out: list[str] = []
    used, space, word = 0, "", ""
    for letter in text:
        if letter == "\n":
            if word or used + len(space) <= width:
                out.append(space)
            out.append(word + letter)
            used, space, word = 0, "", ""
        elif letter.isspace() and letter != "\xa0":
            if not space or word:
                used += len(space) + len(word)
                out += [space, word]
                space = word = ""
            space += letter
        else:
            word += letter
            if used + len(word) + len(space) > width and len(word) < width:
                out.append("\n")
                used, space = 0, ""
    if word or used + len(space) <= width:
        out.append(space)
    return "".join([*out, word])
