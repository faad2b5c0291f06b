"""Conversion webhooks that a server cannot reach, because the dump that has its Services lacks theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.plan.dumps import first_not_before, open_live

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from auditor.crds.definitions_file import DefinitionEntry, DefinitionsFile
    from auditor.sources import SourcePlan

__all__ = ["lost_webhooks"]

_TIMEOUT: Final = "30s"


def lost_webhooks(
    sources: Sequence[SourcePlan], entries: Iterable[DefinitionEntry], definitions: DefinitionsFile, prefix: str
) -> dict[str, str]:
    """Return why a server cannot call the conversion webhook of definitions, by name, in its words.

    A dump without keys shows what some clients saw, and one with damage lacks something: of these nothing is said.

    Args:
        sources: The dumps.
        entries: The definitions that a server would use as they are stored.
        definitions: Reads them.
        prefix: That of the keys.

    Source: apiserver pkg/util/webhook/client.go, apiextensions-apiserver
    pkg/apiserver/conversion/webhook_converter.go; measured on v1.37.2.
    """
    if any(source.is_export or source.damage for source in sources):
        return {}
    named = [(entry.name, service) for entry in entries if (service := _service(definitions.document(entry)))]
    if not named:
        return {}
    below = f"{prefix.rstrip('/')}/services/specs/".encode()
    tables = [open_live(source)["key"] for source in sources]
    if not any((first_not_before(keys, below) or b"").startswith(below) for keys in tables):
        return {}
    lost = {}
    for name, service in named:
        namespace, own, path, port = service
        key = below + f"{namespace}/{own}".encode()
        if not any(first_not_before(keys, key) == key for keys in tables):
            url = f"https://{own}.{namespace}.svc:{port}{path}?timeout={_TIMEOUT}"
            lost[name] = f'Post "{url}": service "{own}" not found'
    return lost


def _service(document: Any) -> tuple[str, str, str, int] | None:
    """Return namespace, name, path and port of the Service of a definition's conversion webhook."""
    found = document.get("spec")
    for step in ("conversion", "webhook", "clientConfig", "service"):
        found = found.get(step) if type(found) is dict else None
    if type(found) is not dict or document["spec"]["conversion"].get("strategy") != "Webhook":
        return None
    namespace, name, path, port = (found.get(each) for each in ("namespace", "name", "path", "port"))
    if type(namespace) is not str or type(name) is not str:
        return None
    path = path if type(path) is str else ""
    return namespace, name, path if path.startswith("/") else f"/{path}", port if type(port) is int else 443
