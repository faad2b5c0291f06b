"""Without configuration nothing encrypted opens; commands, counts and files that are no configurations."""

from __future__ import annotations

import base64
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.base.errors import PlanError, SourceError
from auditor.sources.encryption import (
    KmsCommand,
    Sealed,
    SealedCount,
    Unsealer,
    load_config,
    make_unsealer,
    resource_of,
)
from auditor.sources.encryption.ciphers import NotDecrypted
from auditor.sources.encryption.config import EncryptionConfig, Key, Provider, parse_config
from auditor.sources.encryption.kms import KmsEnvelope, decode_v1, decode_v2
from auditor.sources.registry_key import classify
from tests.sources.encryption.vectors import COMMAND, VECTORS

if TYPE_CHECKING:
    from pathlib import Path

SECRETS = ("", "secrets")
KEY = b"/registry/secrets/default/a"
IDENTITY = "identity transformer tried to read encrypted data"
SEALED = 'sealed by {}, key "one"; no key was given (--encryption-config)'
UNWRAPPED = 'sealed by the KMS {} plugin "plug"; its key is unwrapped by --kms-decryptor'


def kms_value(name: str) -> bytes:
    return next(base64.b64decode(case["value"]) for case in VECTORS["kms"] if case["name"] == name)


@pytest.mark.parametrize(
    ("data", "opened"),
    [
        (b'{"kind":"A"}', Sealed(b'{"kind":"A"}')),
        (b"", Sealed(b"")),
        (b"k8s\0", Sealed(b"k8s\0")),
        (b"k8s:enc:aescbc:v1:one:abc", Sealed(None, SEALED.format("aescbc"), lacks_key=True)),
        (b"k8s:enc:kms:v1:plug:abc", Sealed(None, UNWRAPPED.format("v1"), lacks_key=True)),
        (b"k8s:enc:kms:v2:plug:abc", Sealed(None, UNWRAPPED.format("v2"), lacks_key=True)),
        (b"k8s:enc:odd:v1:one:abc", Sealed(None, SEALED.format("odd"), lacks_key=True)),
        (b"k8s:enc:aescbc:v1:one", Sealed(None, IDENTITY)),
        (b"k8s:enc:", Sealed(None, IDENTITY)),
        (b"k8s:en", Sealed(b"k8s:en")),
    ],
)
def test_without_configuration_every_resource_has_the_identity_provider(data: bytes, opened: Sealed) -> None:
    assert Unsealer().open(KEY, SECRETS, data) == opened


def test_reasons_of_providers_and_their_keys_are_in_one_list() -> None:
    first = Provider("aescbc", (Key("one", bytes(16)), Key("one:", bytes(16))))
    second = Provider("aescbc", (Key("two", bytes(16)),))
    data = b"k8s:enc:aescbc:v1:one::" + bytes(31)
    padding, uneven = "invalid PKCS7 data (empty or not padded)", "the stored data is not a multiple of the block size"
    missing = "no matching key was found for the provided AES transformer"
    for providers, reasons in (((first,), [padding, uneven]), ((first, second), [padding, uneven, missing])):
        unsealer = Unsealer(EncryptionConfig({SECRETS: providers}))
        assert unsealer.open(KEY, SECRETS, data) == Sealed(None, f"[{', '.join(reasons)}]")


def test_encrypted_values_are_counted_by_provider_key_and_outcome() -> None:
    unsealer = Unsealer(EncryptionConfig({SECRETS: (Provider("kms", (), "plug", "v2"),)}))
    seed = kms_value("v2 seed")
    for data in (seed, seed, b"k8s:enc:aescbc:v1:one:abc", b"k8s:enc:odd", b"{}"):
        unsealer.open(KEY, SECRETS, data)
    assert unsealer.counts == {
        SealedCount("kms v2", "plug", "key-7", False, lacks_key=True): 2,
        SealedCount("aescbc", "one", "", False): 1,
        SealedCount("unknown", "", "", False): 1,
    }


def test_a_kms_value_without_a_command_names_plugin_and_key() -> None:
    unsealer = Unsealer(EncryptionConfig({SECRETS: (Provider("kms", (), "plug", "v2"),)}))
    assert unsealer.open(KEY, SECRETS, kms_value("v2 seed")) == Sealed(
        None,
        'sealed by the KMS v2 plugin "plug", key id "key-7"; its key is unwrapped by --kms-decryptor',
        lacks_key=True,
    )


@pytest.mark.parametrize(
    ("resource", "data", "reason"),
    [
        (SECRETS, b"k8s:enc:aesgcm:v1:one:abc", "no matching prefix found"),
        (SECRETS, b"k8s:enc:aescbc:v1:two:abc", "no matching key was found for the provided AES transformer"),
        (("", "configmaps"), b"k8s:enc:aescbc:v1:one:abc", IDENTITY),
    ],
)
def test_what_a_configuration_does_not_open_is_unreadable_and_not_sealed(
    resource: tuple[str, str], data: bytes, reason: str
) -> None:
    unsealer = Unsealer(EncryptionConfig({SECRETS: (Provider("aescbc", (Key("one", bytes(16)),)),)}))
    assert unsealer.open(KEY, resource, data) == Sealed(None, reason)


def test_the_command_receives_what_it_unwraps_and_asked_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        "import os, sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(bytes(b ^ 90 for b in data[::-1])); "
        f"open({str(log)!r}, 'a').write(' '.join(os.environ['AUDITOR_KMS_' + n] for n in "
        "('VERSION', 'PLUGIN', 'KEY_ID', 'ANNOTATIONS')) + chr(10))"
    )
    unsealer = Unsealer(None, KmsCommand(f'{sys.executable} -c "{code}"'))
    for _ in range(3):
        assert unsealer.open(KEY, SECRETS, kms_value("v2 key")).data is not None
    assert log.read_text() == 'v2 plug key-7 {"local.kms.example.com": "d3JhcHBlZA=="}\n'


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (f"{sys.executable} -c 'import sys; sys.stderr.write(\"the secret\"); sys.exit(3)'", "ended with 3"),
        ("/nonexistent/unwrap", "cannot be run: No such file or directory"),
        (f"{sys.executable} -c ''", "gave 0 bytes"),
    ],
)
def test_a_command_that_fails_is_the_reason(command: str, reason: str) -> None:
    opened = Unsealer(None, KmsCommand(command)).open(KEY, SECRETS, kms_value("v1 gcm"))
    error = f"the KMS command {reason}"
    assert opened == Sealed(None, f"failed to decrypt DEK, error: {error}", lacks_key=True, error=error)


@pytest.mark.parametrize("command", ["", "  ", "'unfinished"])
def test_a_command_must_be_one(command: str) -> None:
    with pytest.raises(PlanError):
        KmsCommand(command)


def test_a_command_alone_opens_nothing_but_kms() -> None:
    unsealer = make_unsealer("", COMMAND)
    assert unsealer.open(KEY, SECRETS, b"k8s:enc:aescbc:v1:one:abc") == Sealed(
        None, SEALED.format("aescbc"), lacks_key=True
    )
    assert unsealer.open(KEY, SECRETS, kms_value("v2 seed")).data is not None


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("secrets/default/a", ("", "secrets")),
        ("deployments/default/a", ("apps", "deployments")),
        ("services/specs/default/a", ("", "services")),
        ("example.com/widgets/default/a", ("example.com", "widgets")),
        ("apiextensions.k8s.io/customresourcedefinitions/a.b", ("apiextensions.k8s.io", "customresourcedefinitions")),
        ("ranges", None),
    ],
)
def test_a_key_tells_the_resource_that_rules_go_by(key: str, expected: tuple[str, str] | None) -> None:
    assert resource_of(classify(tuple(key.split("/")), {})) == expected


def test_yaml_is_read_and_secrets_are_not_printed(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"
        "- resources: [secrets, '*.example.com']\n  providers:\n"
        "  - aescbc: {keys: [{name: one, secret: AQgPFh0kKzI5QEdOVVxjag==}]}\n"
        "  - kms: {apiVersion: v2, name: plug, endpoint: unix:///a}\n  - identity: {}\n"
    )
    config = load_config(str(path))
    kinds = [provider.kind for provider in config.of("example.com", "widgets") or ()]
    assert kinds == ["aescbc", "kms", "identity"]
    assert config.of("", "pods") is None
    assert "x08" not in repr(config)
    assert "AQgP" not in repr(config)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{", "neither JSON nor YAML"),
        ("secret: [", "neither JSON nor YAML"),
        ("[]", "no EncryptionConfiguration"),
        ('{"kind":"EncryptionConfiguration"}', "apiVersion is not apiserver.config.k8s.io/v1"),
        ('{"kind":"EncryptionConfiguration","apiVersion":"v1"}', "apiVersion is not apiserver.config.k8s.io/v1"),
        ('{"kind":"EncryptionConfiguration","apiVersion":{}}', "apiVersion is not apiserver.config.k8s.io/v1"),
        ('{"kind":"EncryptionConfig","apiVersion":"apiserver.config.k8s.io/v1"}', "apiVersion is not v1"),
        ('{"kind":[]}', "no EncryptionConfiguration"),
    ],
)
def test_a_file_that_is_no_configuration_says_so(text: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        load_config(str(path))
    assert caught.value.found == found


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        load_config(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("place", "field", "found"),
    [
        ((), "metadata", '"metadata"'),
        (("resources", 0), "Providers", '"resources[0].Providers"'),
        (("resources", 0, "providers", 0), "x", '"resources[0].providers[0].x"'),
        (("resources", 0, "providers", 0, "kms"), "cacheSize", '"resources[0].providers[0].kms.cacheSize"'),
        (("resources", 0, "providers", 1, "identity"), "x", '"resources[0].providers[1].identity.x"'),
        (("resources", 0, "providers", 2, "aescbc"), "key", '"resources[0].providers[2].aescbc.key"'),
        (
            ("resources", 0, "providers", 2, "aescbc", "keys", 0),
            "secret AQgPFh0kKzI5QEdOVVxjag==",
            "in resources[0].providers[2].aescbc.keys[0]",
        ),
    ],
)
def test_a_field_that_is_not_known_is_refused(place: tuple[Any, ...], field: str, found: str, tmp_path: Path) -> None:
    document = rule(name="a", apiVersion="v1", endpoint="unix:///a", cachesize=1, timeout="3s")
    keys = [{"name": "one", "secret": "AQgPFh0kKzI5QEdOVVxjag=="}]
    document["resources"][0]["providers"] += [{"identity": {}}, {"aescbc": {"keys": keys}}]
    path = tmp_path / "config"
    path.write_text(json.dumps(document))
    assert load_config(str(path)).of("", "secrets")
    item: Any = document
    for step in place:
        item = item[step]
    item[field] = None
    path.write_text(json.dumps(document))
    with pytest.raises(SourceError) as caught:
        load_config(str(path))
    assert caught.value.found == f"strict decoding error: unknown field {found}"


def test_a_resource_with_and_without_a_dot_is_the_same() -> None:
    document = rule(name="a")
    document["resources"][0]["resources"] = ["secrets", "secrets."]
    with pytest.raises(Exception, match="the same resource cannot be specified multiple times"):
        parse_config(document)


def rule(**provider: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": [{"kms": provider}]}],
    }


@pytest.mark.parametrize(
    ("provider", "accepted"),
    [
        ({"name": "a:b", "apiVersion": "v1"}, True),
        ({"name": "a:b", "apiVersion": "v2"}, False),
        ({"name": "a"}, True),
        ({"apiVersion": "v2"}, False),
        ({"name": "a", "apiVersion": "v3"}, False),
    ],
)
def test_kms_providers_are_checked(provider: dict[str, Any], accepted: bool) -> None:
    if accepted:
        assert parse_config(rule(**provider)).of("", "secrets")
    else:
        with pytest.raises(Exception, match="kms"):
            parse_config(rule(**provider))


@given(st.binary(max_size=200))
def test_any_bytes_are_an_envelope_or_refused(data: bytes) -> None:
    for decode in (decode_v1, decode_v2):
        try:
            assert isinstance(decode(data), KmsEnvelope)
        except NotDecrypted as refused:
            assert str(refused)  # noqa: PT017 - both outcomes are right


CONFIGS = [parse_config(config) for config in VECTORS["configs"].values()]
STORED = [base64.b64decode(case["value"]) for case in VECTORS["cases"]]


@given(st.sampled_from(CONFIGS), st.sampled_from(STORED), st.integers(0, 400), st.integers(0, 255))
def test_a_changed_value_opens_or_has_a_reason(config: EncryptionConfig, data: bytes, at: int, byte: int) -> None:
    changed = data[: at % (len(data) + 1)] + bytes([byte]) + data[at % (len(data) + 1) + 1 :]
    opened = Unsealer(config).open(KEY, SECRETS, changed)
    assert (opened.data is None) == bool(opened.reason)
