"""Streams as two decoders of Go read them, put together of what the auditor reads documents with.

The product cuts streams itself, where it knows places, goes on behind errors and has no limit of length
(`auditor.sources.manifests`). The recorded cases of Go's decoders check the parts that both share.

Source: k8s.io/apimachinery/pkg/util/yaml, YAMLOrJSONDecoder with a buffer of 4096 bytes, and splitYAMLDocument.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from auditor.golang import jsontext
from auditor.sources.json_stream import JsonSyntaxError, UnexpectedEnd, check_value, skip_space, value_end
from auditor.sources.yaml import Chunk, YamlError, yaml_chunks, yaml_to_json, yaml_to_json_text
from auditor.sources.yaml.chunks import GO_SPACE, looks_like_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["document_chunks", "document_texts", "documents"]

_T = TypeVar("_T")
MAX_TOKEN = 5 * 1024 * 1024
"""Bytes of one chunk that splitYAMLDocument takes, the separator it looks for included."""


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
    """Skip white space up to and with the first line end; None if no text or less than four bytes are left."""
    while at + 4 <= len(data):
        text = data[at : at + 4].decode("utf-8", "replace")
        if text[0] == "\N{REPLACEMENT CHARACTER}":
            return None
        if not re.match(f"[{GO_SPACE}]", text[0]):
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
        YamlError: The text is Go's; documents before the error were yielded.

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


def document_chunks(data: bytes) -> Iterator[Chunk]:
    r"""Yield the pieces between ``\n---`` and the end of that line, whatever is on it.

    Raises:
        YamlError: A piece is longer than five MiB.

    Source: k8s.io/apimachinery/pkg/util/yaml, splitYAMLDocument, under bufio.Scanner.
    """
    begin = line = 0
    while begin < len(data):
        cut = data.find(b"\n---", begin)
        after = cut + 4
        end = len(data) if cut < 0 or after == len(data) else data.find(b"\n", after) + 1
        if (end or len(data)) - begin > MAX_TOKEN or (end in (0, len(data)) and len(data) - begin == MAX_TOKEN):
            raise YamlError("bufio.Scanner: token too long")
        if not end:
            return  # the scanner waits for the end of the line and loses what it has
        yield Chunk(data[begin : cut if cut >= 0 else end], begin, line)
        line += data.count(b"\n", begin, end)
        begin = end
