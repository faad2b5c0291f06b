"""One YAML document as a JSON value or as JSON text."""

from __future__ import annotations

import re
from typing import Any, Final

from auditor.golang.jsontext import encode
from auditor.sources.yaml.quick import quick_value
from auditor.sources.yaml.scalars import to_json_value
from auditor.sources.yaml.yaml_error import YamlError

_BREAKS: Final = (b"\n...", b"\r", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
_BLOCK: Final = re.compile(rb"(?:[ \t]*+(?:#[^\n]*+)?\n|---[^\n]*+\n)*(?:[A-Za-z0-9_]|-[ \n])")


def _tree(data: bytes, *, strict: bool) -> Any:
    from auditor.sources.yaml.compose import compose  # noqa: PLC0415 - the parser, which few documents need
    from auditor.sources.yaml.convert import check_finite, decode_tree, with_text_keys  # noqa: PLC0415

    tree, odd = decode_tree(compose(data), strict=strict)
    if odd:
        tree = with_text_keys(tree)
        check_finite(tree)
    return tree


def yaml_to_json_text(data: bytes, *, strict: bool = False) -> str:
    """Return the first document as JSON text, spelled as Go prints it.

    Args:
        data: UTF-8, or UTF-16 with a byte order mark. The rest after the first document is ignored.
        strict: Repeated keys are an error; else the last one counts.

    Raises:
        YamlError: The text is Go's.

    Source: sigs.k8s.io/yaml, YAMLToJSON and YAMLToJSONStrict.
    """
    return encode(_tree(data, strict=strict))


def yaml_to_json(data: bytes, *, strict: bool = False) -> Any:
    """Return the first document as the JSON value that a decoder of Kubernetes objects reads.

    Numbers are int where the JSON text Go prints is an int64, else float: ``1.0`` and ``1e3`` are ints.

    Args:
        data: As in `yaml_to_json_text`.
        strict: As in `yaml_to_json_text`.

    Raises:
        YamlError: The text is Go's.

    Source: sigs.k8s.io/yaml Unmarshal; k8s.io/apimachinery/pkg/util/json.
    """
    quick = None if strict else quick_value(data)
    if quick is not None:
        return quick
    try:
        return to_json_value(_tree(data, strict=strict))
    except YamlError as error:
        raise YamlError(f"error converting YAML to JSON: {error.found}") from None


def line_behind_document(data: bytes) -> int | None:
    """Return the line, from 0, of text after the first document, or None if there is none.

    `yaml_to_json` ignores such text: another document after ``...``, a second flow collection, lines that are indented
    less than the first key.

    Args:
        data: A chunk that `yaml_to_json` reads; its lines end with LF.
    """
    if _BLOCK.match(data) and not any(line_break in data for line_break in _BREAKS):
        return None  # collections that begin at the left edge continue to the end
    from auditor.sources.yaml.events import line_behind  # noqa: PLC0415 - the parser, which few documents need

    return line_behind(data)
