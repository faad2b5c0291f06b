"""The reference cases of YAML: what Go's libraries made of each text."""

from __future__ import annotations

import base64
import json
import re
from operator import itemgetter
from typing import Any

from auditor.golang import jsontext
from auditor.sources.yaml import (
    YamlError,
    yaml_chunks,
    yaml_to_json,
    yaml_to_json_text,
)
from tests.cases import of_each
from tests.shared import beside, second_check
from tests.sources.yaml.go_streams import document_chunks, document_texts, documents

pytestmark = second_check("vectors/yaml.json", by="tests/sources/yaml/test_documents.py")


class Number(str):
    """A JSON number as it is spelled."""

    __slots__ = ()


def spelled(text: str) -> Any:
    return json.loads(text, parse_int=Number, parse_float=Number)


FILE = beside("vectors/yaml.json")
CASES = spelled(FILE.read_text()) if FILE else []


def without_line(text: str) -> str:
    return re.sub(r"yaml: line [0-9]+: ", "yaml: ", text)


def text_of(case: dict[str, Any]) -> bytes:
    return base64.b64decode(case["yamlBase64"]) if "yamlBase64" in case else case["yaml"].encode()


def run(mode: str | None, data: bytes) -> tuple[Any, str | None]:
    """Return what came out (a list for the modes that give many) and the error."""
    if mode in (None, "strict"):
        try:
            return spelled(yaml_to_json_text(data, strict=mode == "strict")), None
        except YamlError as error:
            return None, str(error)
    if mode == "object":
        try:
            return spelled(jsontext.encode(yaml_to_json(data))), None
        except YamlError as error:
            return None, str(error)
    many = {"stream": document_texts, "split": yaml_chunks, "documents": document_chunks}[mode]
    out: list[Any] = []
    try:
        out.extend(spelled(one.decode()) if mode == "stream" else one.text.decode() for one in many(data))
    except YamlError as error:
        return out, str(error)
    return out, None


@of_each("case", CASES, ids=itemgetter("name"))
def test_a_text_gives_what_go_gives(case):
    result, error = run(case.get("mode"), text_of(case))
    if case.get("error"):
        assert error is not None, result
        assert without_line(error) == without_line(case["text"])
        if isinstance(result, list):
            assert result == case["json"]
    else:
        assert error is None
        expected = case["json"]
        assert result == expected


STREAMS = [case for case in CASES if case.get("mode") == "stream" and not case.get("error")]


@of_each("case", STREAMS, ids=itemgetter("name"))
def test_documents_are_the_texts_decoded(case):
    data = text_of(case)
    assert list(documents(data)) == [jsontext.decode(text) for text in document_texts(data)]


def test_the_file_of_cases_is_complete():
    assert len(CASES) == 822
