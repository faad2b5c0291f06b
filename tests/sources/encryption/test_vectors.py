"""What the real transformers sealed opens here, and what they refuse is refused in their words."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import SourceError
from auditor.sources.encryption import KmsCommand, Sealed, Unsealer, load_config
from auditor.sources.encryption.config import EncryptionConfig, Provider, parse_config
from tests.sources.encryption.vectors import COMMAND, VECTORS

if TYPE_CHECKING:
    from pathlib import Path

CASES = VECTORS["cases"]
SECRETS = ("", "secrets")
# an IV alone makes the server's handler fail on an index; what it would have said next is said here
WITHOUT_WORDS = "panic: runtime error: index out of range [-1]"


def resource(text: str) -> tuple[str, str]:
    name, _, group = text.partition(".")
    return group, name


def expected(case: dict[str, Any]) -> Sealed:
    if "error" in case:
        error = case["error"].replace("\xa0", " ")  # protobuf varies that blank from build to build
        return Sealed(None, "invalid PKCS7 data (empty or not padded)" if error == WITHOUT_WORDS else error)
    return Sealed(base64.b64decode(case.get("plain", "")))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_value_opens_as_the_transformers_open_it(case: dict[str, Any]) -> None:
    unsealer = Unsealer(parse_config(VECTORS["configs"][case["config"]]))
    value = base64.b64decode(case["value"])
    assert unsealer.open(case["key"].encode(), resource(case["resource"]), value) == expected(case)


@pytest.fixture(scope="module")
def command() -> KmsCommand:
    return KmsCommand(COMMAND)


@pytest.mark.parametrize("configured", [True, False])
@pytest.mark.parametrize("case", VECTORS["kms"], ids=[case["name"] for case in VECTORS["kms"]])
def test_an_envelope_opens_with_the_key_that_the_command_unwraps(
    case: dict[str, Any], configured: bool, command: KmsCommand
) -> None:
    provider = Provider("kms", (), case["plugin"], case["version"])
    config = EncryptionConfig({SECRETS: (provider,)}) if configured else None
    opened = Unsealer(config, command).open(case["key"].encode(), SECRETS, base64.b64decode(case["value"]))
    assert opened == expected(case)


@pytest.mark.parametrize("case", VECTORS["refused"], ids=[case["name"] for case in VECTORS["refused"]])
def test_a_configuration_is_refused_where_the_server_refuses_it(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(case["config"]))
    if "error" not in case:
        assert load_config(str(path)).providers
        return
    with pytest.raises(SourceError) as caught:
        load_config(str(path))
    text = str(caught.value)
    for secret in ("AQgPFh0kKzI5QEdOVVxjag==", "topsecret!"):
        assert secret not in text
    words = case["error"].removeprefix("error while parsing file: ").removeprefix("error while building transformers: ")
    if "Invalid value: {" in words:  # the server prints the provider there, keys and all
        words = words.rpartition("}: ")[2]
    if not case["name"].startswith("other"):
        assert words in text
