"""The lines of a summary about values that are encrypted at rest and for which no key was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible
from auditor.base.wording import are, by_count, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_NAMED: Final = 5


def sealed_lines(manifest: dict[str, Any]) -> list[str]:
    """Return a line for each provider that sealed values of a dump, with the names of its keys.

    Args:
        manifest: The content of manifest.json.
    """
    return [f"SEALED  {text}, not judged" for text in sealed_by(manifest["encryption"])]


def sealed_by(counts: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return for each provider the number of values it sealed, the names of its keys, and the option that opens them.

    Args:
        counts: Entries of `encryption` of a manifest; those without `sealed` do not count.
    """
    values: dict[tuple[str, str], int] = {}
    names: dict[tuple[str, str], dict[str, None]] = {}
    for count in counts:
        if count.get("sealed"):
            provider = count["provider"], count.get("error") or ""
            values[provider] = values.get(provider, 0) + count["values"]
            name = f"{count['name']} with key id {count['key_id']}" if count["key_id"] else count["name"]
            names.setdefault(provider, {})[name] = None
    return [_text(*by, number, list(names[by])) for by, number in sorted(values.items())]


def _text(provider: str, error: str, number: int, names: list[str]) -> str:
    is_kms = provider.startswith("kms")
    of = ("plugin name" if is_kms else "key name") + by_count(len(names), "", "s")
    subject = f"{counted(number, 'value')} {are(number)}"
    option = "--kms-decryptor" if is_kms else "--encryption-config"
    named = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return f"{subject} sealed by {provider} ({of} {named}), {visible(error) or 'no key was given'} ({option})"
