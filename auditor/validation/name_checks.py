"""Checks of Kubernetes names and other texts in metadata, with the server's messages.

Each function returns the server's messages, none if the name is valid. Lengths are bytes of UTF-8; expressions match
whole ASCII texts.

Source: apimachinery pkg/util/validation/validation.go, pkg/api/validate/content, pkg/api/validation/generic.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from auditor.releases import changes

Check = Callable[[str], tuple[str, ...]]
"""Text -> messages."""
NameRule = Callable[[str, bool], tuple[str, ...]]
"""(name, is a prefix) -> messages."""

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035: Final = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_KEY})?"

_is_label: Final = re.compile(_LABEL).fullmatch
_is_subdomain: Final = re.compile(_SUBDOMAIN).fullmatch
_is_label_1035: Final = re.compile(_LABEL_1035).fullmatch
_is_key: Final = re.compile(_KEY).fullmatch
_is_value: Final = re.compile(_VALUE).fullmatch

_CHARACTERS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_LABEL_1035}')"
)
_KEY_TEXT: Final = f"{_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY}')"
_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE}')"
)


_MOST_KNOWN: Final = 20_000
"""Most texts of a set of valid ones; a full set is emptied."""


def _remembering(check: Check) -> tuple[set[str], Check]:
    """Return a set, and the check that adds the texts to it that it found valid.

    Whether a text is valid depends on nothing else, and no valid text is long. Objects of one cluster repeat the keys
    of labels and annotations, the values of labels and the namespaces, so callers look into the set first.
    """
    valid: set[str] = set()

    def remembering(text: str) -> tuple[str, ...]:
        messages = check(text)
        if not messages:
            if len(valid) >= _MOST_KNOWN:
                valid.clear()
            valid.add(text)
        return messages

    return valid, remembering


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def go_lower(text: str) -> str:
    """Lower-case as Go does: character by character, so that İ gives i without the dot above."""
    return text.replace("\u0130", "i").lower()


def dns_subdomain(text: str, unit: str = "characters") -> tuple[str, ...]:
    """Check a DNS-1123 subdomain; `unit` is the unit of length in the message."""
    if len(text) <= 253 and _is_subdomain(text):
        return ()
    too_long = (f"must be no more than 253 {unit}",) if _bytes(text) > 253 else ()
    return too_long if _is_subdomain(text) else (*too_long, _SUBDOMAIN_TEXT)


def dns_label(text: str) -> tuple[str, ...]:
    """Check a DNS-1123 label, such as the name of a namespace."""
    too_long = ("must be no more than 63 characters",) if _bytes(text) > 63 else ()
    if _is_label(text):
        return too_long
    return (*too_long, "must not contain dots" if _is_subdomain(text) else _LABEL_TEXT)


def dns_1035_label(text: str) -> tuple[str, ...]:
    """Check a DNS-1035 label, such as a kind in lower case."""
    too_long = ("must be no more than 63 characters",) if _bytes(text) > 63 else ()
    return too_long if _is_label_1035(text) else (*too_long, _LABEL_1035_TEXT)


def _label_words() -> tuple[str, str]:
    """Return the server's name for a key of a label, and its unit of length for keys and values."""
    return ("a valid label key", "bytes") if changes.LABEL_WORDS.holds else ("a qualified name", "characters")


def _label_key(text: str) -> tuple[str, ...]:
    """Check a qualified name: the key of a label or an annotation, a finalizer."""
    what, unit = _label_words()
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return (f"{what} {_KEY_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    messages: list[str] = []
    if slash:
        if prefix:
            messages.extend(f"prefix part {message}" for message in dns_subdomain(prefix, unit))
        else:
            messages.append("prefix part must be non-empty")
    if not name:
        messages.append("name part must be non-empty")
    elif _bytes(name) > 63:
        messages.append(f"name part must be no more than 63 {unit}")
    if not _is_key(name):
        messages.append(f"name part {_KEY_TEXT}")
    return tuple(messages)


def _label_value(text: str) -> tuple[str, ...]:
    """Check the value of a label."""
    if len(text) <= 63 and _is_value(text):
        return ()
    too_long = (f"must be no more than 63 {_label_words()[1]}",) if _bytes(text) > 63 else ()
    return too_long if _is_value(text) else (*too_long, _VALUE_TEXT)


valid_label_keys, label_key = _remembering(_label_key)
valid_label_values, label_value = _remembering(_label_value)
valid_annotation_keys, annotation_key = _remembering(lambda text: _label_key(go_lower(text)))
valid_namespaces, namespace_name = _remembering(dns_label)


def subdomain_name(text: str, prefix: bool) -> tuple[str, ...]:
    """Check the name of a custom resource, or the prefix of a generated one."""
    return dns_subdomain(masked(text) if prefix else text)


def masked(text: str) -> str:
    """Return the prefix of generated names as it is checked: a letter is in the place of a dash at its end."""
    if len(text) < 2 or not text.endswith("-"):
        return text
    # Go cuts two bytes: the rest of a longer character before the dash is not UTF-8 and matches nothing.
    return f"{text[:-2]}a" if text[-2].isascii() else f"{text[:-2]}\ufffda"


def path_segment(text: str, prefix: bool) -> tuple[str, ...]:
    """Check a name that only has to fit into a URL path."""
    if not prefix and text in (".", ".."):
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{illegal}'" for illegal in "/%" if illegal in text)


def group_version(text: str) -> tuple[str, str] | None:
    """Split an API version into group and version, or return None if it has more than one slash.

    Source: apimachinery pkg/runtime/schema/group_version.go (ParseGroupVersion).
    """
    if text in ("", "/"):
        return "", ""
    group, slash, version = text.partition("/")
    if not slash:
        return "", text
    return None if "/" in version else (group, version)
