"""Splits a YAML stream into chunks, line by line, without parsing the YAML; distinguishes JSON from YAML.

Source: k8s.io/apimachinery/pkg/util/yaml, YAMLReader and GuessJSONStream.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.sources.yaml.yaml_error import YamlError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap


PEEK: Final = 4096

GO_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_TRIM = re.compile(f"^[{GO_SPACE}]+|[{GO_SPACE}]+$")
_LEADING_SPACE = re.compile(f"[{GO_SPACE}]*")
_SEPARATOR = re.compile(rb"---([^\n]*)(?:\n|\Z)")


class Chunk(NamedTuple):
    """A piece of a stream.

    Attributes:
        text: The piece; of YAML streams, lines end with LF.
        offset: Its first byte in the stream.
        line: The line it starts on, from 0.
    """

    text: bytes
    offset: int
    line: int


def _lines(data: bytes) -> bytes:
    """Return UTF-8 with LF at the end of each line, the last one too; what is not UTF-8 becomes U+FFFD.

    Source: cli-runtime pkg/resource/visitor.go (FileVisitor), whose reader replaces it before anything is parsed.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        data = data.decode("utf-8", "replace").encode()
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    return data if data.endswith(b"\n") else data + b"\n"


def _separators(data: bytes | mmap) -> Iterator[re.Match[bytes]]:
    """Yield the lines that start with three hyphens."""
    position = 0
    while position >= 0:
        match = _SEPARATOR.match(data, position)
        if match is not None:
            yield match
        position = data.find(b"\n---", position) + 1 or -1


def yaml_chunks(data: bytes | mmap) -> Iterator[Chunk]:
    """Yield the chunks between lines that start with ``---``.

    A separator remains as the first line of a chunk that would otherwise be empty. Blank chunks are yielded, too.

    Args:
        data: The stream; only one chunk at a time is copied out of it.

    Raises:
        YamlError: Something other than a comment follows the three hyphens; the chunk before it was not yielded.

    Source: k8s.io/apimachinery/pkg/util/yaml, YAMLReader.Read, LineReader.Read.
    """
    begin = line = 0
    for match in _separators(data):
        rest = _TRIM.sub("", match.group(1).decode("utf-8", "replace"))
        if rest and not rest.startswith("#"):
            raise YamlError(f"invalid Yaml document separator: {rest}")
        if match.start() > begin:
            chunk = bytes(data[begin : match.start()])
            yield Chunk(_lines(chunk), begin, line)
            line += chunk.count(b"\n") + 1
            begin = match.end()
    if begin < len(data):
        yield Chunk(_lines(bytes(data[begin:])), begin, line)


def looks_like_json(data: bytes) -> bool:
    """Return whether the first 4096 bytes begin, after Unicode white space, with a brace."""
    head = data[:PEEK].decode("utf-8", "replace")
    match = _LEADING_SPACE.match(head)
    return match is not None and head.startswith("{", match.end())
