"""EncryptionConfiguration: the providers that decrypt the values of each resource, as the server reads the file.

A configuration with which no server would start is refused with the server's message, without secrets.
Source: apiserver pkg/server/options/encryptionconfig/config.go, pkg/apis/apiserver/validation/validation_encryption.go.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import SourceError
from auditor.base.given_file import read_given
from auditor.golang import jsontext
from auditor.sources.yaml import YamlError, yaml_to_json

if TYPE_CHECKING:
    from collections.abc import Iterator


ANY: Final = "*"
"""Matches every group or every resource of a rule."""

_KIND: Final = "EncryptionConfiguration"
_VERSIONS: Final = {_KIND: "apiserver.config.k8s.io/v1", "EncryptionConfig": "v1"}
_KINDS: Final = ("kms", "aesgcm", "aescbc", "secretbox", "identity")
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "kms": ("apiVersion", "name", "cachesize", "endpoint", "timeout"),
    "identity": (),
}
_KEY_SIZES: Final = {"aesgcm": (16, 24, 32), "aescbc": (16, 24, 32), "secretbox": (32,)}
_NO_API: Final = frozenset({"apiserveripinfo", "serviceipallocations", "servicenodeportallocations"})
_NAME: Final = re.compile(r"[A-Za-z]{1,20}")
_NO_PROVIDER: Final = (
    "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
)
_EVENTS: Final = (
    "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
)

Resource = tuple[str, str]
"""Group and plural resource; either may be ANY."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key, with the name that its values have in their prefix; its bytes are not printed."""

    name: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider of a rule: identity, aescbc, aesgcm, secretbox (with keys), or kms (with name and version)."""

    kind: str
    keys: tuple[Key, ...] = ()
    name: str = ""
    version: str = ""

    @property
    def prefix(self) -> bytes:
        """The prefix of values of this provider; empty for identity."""
        if self.kind == "identity":
            return b""
        if self.kind == "kms":
            return f"k8s:enc:kms:{self.version}:{self.name}:".encode()
        return f"k8s:enc:{self.kind}:v1:".encode()


@dataclass(frozen=True, slots=True)
class EncryptionConfig:
    """Providers by resource, in the order in which they are tried."""

    providers: dict[Resource, tuple[Provider, ...]]

    def of(self, group: str, resource: str) -> tuple[Provider, ...] | None:
        """Return the providers of a resource by its own rule, that of its group, or the general one; None if none."""
        for known in ((group, resource), (group, ANY), (ANY, ANY)):
            provider = self.providers.get(known)
            if provider is not None:
                return provider
        return None


class _ConfigError(Exception):
    """The server's error for a configuration."""


def load_config(path: str) -> EncryptionConfig:
    """Read an EncryptionConfiguration in JSON or YAML.

    Raises:
        SourceError: The file cannot be read, or no server would start with it; the text contains no secret.
    """
    try:
        data = read_given(path)
    except OSError as error:
        raise SourceError(path, error.strerror or "cannot be read", "an EncryptionConfiguration") from None
    try:
        document = jsontext.decode(data)
    except jsontext.GoJsonError:
        try:
            document = yaml_to_json(data)
        except YamlError:
            # the error's text may quote the file
            raise SourceError(path, "neither JSON nor YAML", "an EncryptionConfiguration") from None
    try:
        return parse_config(document)
    except _ConfigError as wrong:
        raise SourceError(path, str(wrong), "an EncryptionConfiguration that the API server accepts") from None


def parse_config(document: Any) -> EncryptionConfig:
    """Parse the document of an EncryptionConfiguration."""
    kind = document.get("kind") if isinstance(document, dict) else None
    version = _VERSIONS.get(kind) if isinstance(kind, str) else None
    if version is None:
        raise _ConfigError(f"no {_KIND}")
    if document.get("apiVersion") != version:
        raise _ConfigError(f"apiVersion is not {version}")
    _only(document, "", "kind", "apiVersion", "resources")
    rules = _list(document, "resources", "resources")
    if not rules:
        raise _ConfigError("resources: Required value: at least one resources is required")
    providers: dict[Resource, tuple[Provider, ...]] = {}
    parsed = []
    names: set[str] = set()
    for number, rule in enumerate(rules):
        path = f"resources[{number}]"
        if not isinstance(rule, dict):
            raise _ConfigError(f"{path}: not a mapping")
        _only(rule, path, "resources", "providers")
        resources = _resources(_list(rule, "resources", f"{path}.resources"), f"{path}.resources")
        parsed.append((resources, _providers(rule, path, names)))
    for resources, provider in parsed:
        for text in resources:
            resource = _split(text)
            for wider in ((resource[0], ANY), (ANY, ANY)):
                if wider in providers:
                    wide = "*.*" if wider[0] == ANY else f"*.{wider[0]}"
                    raise _ConfigError(f'resource "{text}" is masked by earlier rule "{wide}"')
            providers[resource] = (*providers.get(resource, ()), *provider)
    return EncryptionConfig(providers)


def _only(parent: dict[str, Any], path: str, *known: str) -> None:
    """Refuse unknown fields."""
    for name in parent:
        if name not in known:
            # a missing blank makes a secret part of a name
            where = f'"{path}{"." if path else ""}{name}"' if _NAME.fullmatch(name) else f"in {path or _KIND}"
            raise _ConfigError(f"strict decoding error: unknown field {where}")


def _list(parent: dict[str, Any], key: str, path: str) -> list[Any]:
    value = parent.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _ConfigError(f"{path}: not a list")
    return value


def _split(text: str) -> Resource:
    resource, _, group = text.partition(".")
    return group, resource


def _resources(texts: list[Any], path: str) -> list[str]:
    if not texts:
        raise _ConfigError(f"{path}: Required value: at least one {path} is required")
    for number, text in enumerate(texts):
        fault = "not a text" if not isinstance(text, str) else _resource_fault(text)
        if fault:
            raise _ConfigError(f"{path}[{number}]: Invalid value: {jsontext.encode(text)}: {fault}")
    listed = jsontext.encode(texts)
    split = [_split(text) for text in texts]
    if len(set(split)) < len(split):
        raise _ConfigError(f"{path}: Invalid value: {listed}: the same resource cannot be specified multiple times")
    groups = [group for group, _ in split]
    wide = [group for group, resource in split if resource == ANY]
    if len(texts) > 1 and ((ANY, ANY) in split or any(groups.count(group) > 1 for group in wide)):
        raise _ConfigError(
            f"{path}: Invalid value: {listed}: using overlapping resources such as 'secrets' and '*.' in the same "
            "resource list is not allowed as they will be masked"
        )
    return texts


def _resource_fault(text: str) -> str:
    group, resource = _split(text)
    if text.lower() != text:
        return "resource name should not contain capital letters"
    if text == ANY:
        return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
    if text in _NO_API:
        return "resources which do not have REST API/s cannot be encrypted"
    if group == "events.k8s.io":
        return _EVENTS
    if group == "extensions":
        return "'extensions' group has been removed and cannot be used for encryption"
    if group == ANY and resource != ANY:
        return "encrypting the same resource across groups is not supported"
    return ""


def _providers(rule: dict[str, Any], path: str, names: set[str]) -> tuple[Provider, ...]:
    listed = _list(rule, "providers", f"{path}.providers")
    if not listed:
        raise _ConfigError(f"{path}.providers: Required value: at least one {path}.providers is required")
    return tuple(_provider(item, f"{path}.providers[{number}]", names) for number, item in enumerate(listed))


def _provider(item: Any, path: str, names: set[str]) -> Provider:
    if isinstance(item, dict):
        _only(item, path, *_KINDS)
    known = [kind for kind in _KINDS if isinstance(item, dict) and item.get(kind) is not None]
    # the server prints the whole provider here, including keys
    if not known:
        raise _ConfigError(f"{path}: {_NO_PROVIDER}")
    if len(known) > 1:
        raise _ConfigError(
            f"{path}: more than one provider specified in a single element, should split into different list elements"
        )
    kind = known[0]
    value = item[kind]
    if not isinstance(value, dict):
        raise _ConfigError(f"{path}.{kind}: not a mapping")
    _only(value, f"{path}.{kind}", *_FIELDS.get(kind, ("keys",)))
    if kind == "identity":
        return Provider(kind)
    if kind == "kms":
        return _kms(value, f"{path}.kms", names)
    return Provider(kind, tuple(_keys(value, f"{path}.{kind}.keys", _KEY_SIZES[kind])))


def _kms(value: dict[str, Any], path: str, names: set[str]) -> Provider:
    name, version = value.get("name"), value.get("apiVersion") or "v1"
    if not isinstance(name, str) or not name:
        raise _ConfigError(f"{path}.name: Required value: name is a mandatory field for a provider")
    if version not in {"v1", "v2"}:
        raise _ConfigError(
            f"{path}.apiVersion: unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported"
        )
    if version == "v2" and ":" in name:
        raise _ConfigError(f"{path}.name: invalid KMS provider name {name}, must not contain ':'")
    if version == "v2" and name in names:
        raise _ConfigError(f"{path}.name: duplicate KMS provider name {name}, names must be unique")
    names.add(name)
    return Provider("kms", (), name, version)


def _keys(value: dict[str, Any], path: str, sizes: tuple[int, ...]) -> Iterator[Key]:
    listed = _list(value, "keys", path)
    if not listed:
        raise _ConfigError(f"{path}: Required value: at least one keys is required")
    for number, item in enumerate(listed):
        here = f"{path}[{number}]"
        if isinstance(item, dict):
            _only(item, here, "name", "secret")
        name, secret = (item.get("name"), item.get("secret")) if isinstance(item, dict) else (None, None)
        if not isinstance(name, str) or not name:
            raise _ConfigError(f"{here}.name: Required value: name is a mandatory field for a key")
        if not isinstance(secret, str) or not secret:
            raise _ConfigError(f"{here}.secret: Required value: secret is a mandatory field for a key")
        try:
            # Go ignores line breaks in base64
            plain = base64.b64decode(secret.replace("\n", "").replace("\r", ""), validate=True)
        except (binascii.Error, ValueError):
            raise _ConfigError(f'{here}.secret: Invalid value: "REDACTED": secrets must be base64 encoded') from None
        if len(plain) not in sizes:
            wanted = " ".join(str(size) for size in sizes)
            raise _ConfigError(
                f'{here}.secret: Invalid value: "REDACTED": secret is not of the expected length, got {len(plain)}, '
                f"expected one of [{wanted}]"
            )
        yield Key(name, plain)
