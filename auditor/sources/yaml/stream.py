"""A stream of JSON values or YAML documents, as kubectl reads a file.

Source: k8s.io/apimachinery/pkg/util/yaml, YAMLOrJSONDecoder with a buffer of 4096 bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from auditor.golang import jsontext
from auditor.sources.json_stream import JsonSyntaxError, UnexpectedEnd, check_value, skip_space, value_end
from auditor.sources.yaml.chunks import GO_SPACE, yaml_chunks
from auditor.sources.yaml.errors import YamlError
from auditor.sources.yaml.text import yaml_to_json, yaml_to_json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["document_texts", "documents", "looks_like_json"]

_T = TypeVar("_T")

PEEK: Final = 4096
_LEADING_SPACE = re.compile(f"[{GO_SPACE}]*")


def looks_like_json(data: bytes) -> bool:
    """Tell whether the first 4096 bytes begin, after Unicode white space, with a brace."""
    head = data[:PEEK].decode("utf-8", "replace")
    match = _LEADING_SPACE.match(head)
    return match is not None and head.startswith("{", match.end())


def _next_json(data: bytes, at: int) -> int:
    """Return the end of the JSON value at `at`, checked."""
    end = value_end(data, at)
    if end > at and data[at : at + 1] in (b"{", b"["):
        try:
            orjson.loads(memoryview(data)[at:end])
        except orjson.JSONDecodeError:
            pass
        else:
            return end
    return check_value(data, at)


def _after_first_line(data: bytes, at: int) -> int | None:
    """Skip white space up to and with the first line end; None where no text or less than four bytes are left."""
    while at + 4 <= len(data):
        text = data[at : at + 4].decode("utf-8", "replace")
        if text[0] == "\N{REPLACEMENT CHARACTER}":
            return None
        if not _LEADING_SPACE.fullmatch(text[0]):
            return at
        at += len(text[0].encode())
        if text[0] == "\n":
            return at
    return None


def documents(data: bytes) -> Iterator[Any]:
    """Yield the documents of a file, null where one is empty, as decoders of Kubernetes objects see them.

    JSON text keeps its numbers (``1.0`` is a float), YAML does not (``1.0`` is an int).

    Args:
        data: JSON values one after another, or YAML; UTF-8.

    Raises:
        YamlError: With Go's text; documents before the error were yielded.

    Source: k8s.io/apimachinery/pkg/util/yaml, YAMLOrJSONDecoder.Decode.
    """
    return _read(data, jsontext.decode, yaml_to_json)


def document_texts(data: bytes) -> Iterator[bytes]:
    """Yield the documents of a file as JSON text: JSON as it is there, YAML as Go prints it.

    Args:
        data: As for `documents`.

    Raises:
        YamlError: As `documents`; numbers beyond float64 are no error here.

    Source: k8s.io/apimachinery/pkg/util/yaml, YAMLOrJSONDecoder.Decode into json.RawMessage.
    """
    return _read(data, lambda text: text, _converted)


def _converted(data: bytes) -> bytes:
    try:
        return yaml_to_json_text(data).encode()
    except YamlError as error:
        raise YamlError(f"error converting YAML to JSON: {error.found}") from None


def _read(data: bytes, of_json: Callable[[bytes], _T], of_yaml: Callable[[bytes], _T]) -> Iterator[_T]:
    rest, json_error = 0, ""
    if looks_like_json(data):
        count = at = 0
        while True:
            start = skip_space(data, at)
            if start == len(data):
                return
            try:
                end = _next_json(data, start)
                value = of_json(data[start:end])
            except JsonSyntaxError as error:
                json_error = str(error) if count > 1 else f"json: offset {error.offset}: {error}"
            except (UnexpectedEnd, jsontext.GoJsonError) as error:
                json_error = str(error)
            else:
                yield value
                count += 1
                at = end
                continue
            if count > 1:
                raise YamlError(json_error)
            break
        found = _after_first_line(data, at)
        if found is None:
            raise YamlError(json_error)
        rest = found
    try:
        for chunk in yaml_chunks(data[rest:]):
            yield of_yaml(chunk.text)
            json_error = ""
    except YamlError as error:
        raise YamlError(json_error or error.found) from None
