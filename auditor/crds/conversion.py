"""Converts an object from its stored version to the requested version.

Strategy None changes only apiVersion. A webhook is never called: an object that needs one cannot be judged here, unless
a command replaces the webhook (`program.conversion_command`).

Source: apiextensions-apiserver pkg/apiserver/conversion/{converter,nop_converter,webhook_converter}.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition


NEEDS_WEBHOOK: Final = "conversion webhook needed"
"""Beginning of the message for a conversion that only a webhook can do."""


class ConversionError(Exception):
    """An object cannot be converted; the message is the server's, or begins with `NEEDS_WEBHOOK`."""


class LostWebhook:
    """Fails in the place of a conversion webhook that no server can call.

    Args:
        why: Why not, in the server's words.
    """

    def __init__(self, why: str) -> None:
        self._why = why

    def convert(self, obj: JsonObject, definition: CustomResourceDefinition, version: str) -> None:  # noqa: ARG002
        """Fail, as each conversion does.

        Raises:
            ConversionError: In the server's words.
        """
        shown = f"{obj.get('apiVersion', '')}, Kind={obj.get('kind', '')}"
        raise ConversionError(f"conversion webhook for {shown} failed: {self._why}")


def parse_group_version(api_version: str) -> tuple[str, str] | None:
    """Return group and version of an apiVersion, or None if it has too many slashes.

    Source: apimachinery pkg/runtime/schema/group_version.go (ParseGroupVersion).
    """
    if api_version in ("", "/"):
        return ("", "")
    first, slash, rest = api_version.partition("/")
    if not slash:
        return ("", first)
    return None if "/" in rest else (first, rest)


def convert(obj: JsonObject, definition: CustomResourceDefinition, version: str) -> None:
    """Convert an object to a version of its definition, in place.

    Args:
        obj: Decoded; kind is a string that is not empty, apiVersion a string or absent.
        definition: The definition that the key of the object belongs to.
        version: The requested version.
    Raises:
        ConversionError: The message is the server's, or begins with `NEEDS_WEBHOOK`.
    """
    group_version = parse_group_version(obj.get("apiVersion", "")) or ("", "")
    group, stored = group_version
    kind = obj.get("kind", "")
    target = f"{definition.group}/{version}"
    if group != definition.group:
        shown = f"{group}/{stored}, Kind={kind}"
        raise ConversionError(f'{shown} is unstructured and is not suitable for converting to "{target}"')
    if version not in definition.versions:
        raise ConversionError(f"request to convert CR to an invalid group/version: {target}")
    if stored not in definition.versions:
        raise ConversionError(f"request to convert CR from an invalid group/version: {group}/{stored}")
    if definition.conversion == "Webhook":
        if stored == version or len(obj) == 2:
            return
        if definition.webhook is None:
            raise ConversionError(f"{NEEDS_WEBHOOK}: from {group}/{stored} to {target}")
        definition.webhook.convert(obj, definition, version)
        return
    obj["apiVersion"] = target
