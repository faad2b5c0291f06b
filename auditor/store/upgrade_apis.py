"""What an upgrade scan reports of removed and deprecated versions of kinds: what breaks, and who used them.

Only what is stored breaks: objects that the new server does not decode. What clients wrote, by managedFields and the
last-applied annotation, is reported apart: it says what they did once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import shell_word
from auditor.base.wording import are, by_count, counted, objects
from auditor.golang.jsontext import decode
from auditor.releases.apis import find_api, newest_known
from auditor.upgrade.decision import ATTENTION, Decision, UpgradeEffect, blocks, decision_of

if TYPE_CHECKING:
    from auditor.releases import Release
    from auditor.releases.apis import Api
    from auditor.shards.result import ShardResult
    from auditor.shards.upgrade import ApiTally, UpgradePlan


REMOVED_VERSIONS: Final = "removed and deprecated versions of kinds, which are looked for in whole dumps alone"
"""What a scan with filters leaves out."""
_MANAGERS: Final = 3


def api_section(scan: UpgradePlan, tally: ApiTally, total: ShardResult, report: str) -> dict[str, Any] | None:
    """Return what was found, with the decisions on it, or None if it was not looked for."""
    if not scan.looks_for_apis:
        return None
    target, today = scan.target, scan.today
    clients, own = _clients(scan, tally, report)
    section: dict[str, Any] = {
        "release": target.name,
        "today": None if today is None else today.name,
        "stored": _stored(tally, target, today, report),
        "clients": clients,
        "helm": _helm(tally, target) if scan.options.helm_releases else None,
        "api_services": [],
        "webhooks": [],
        "deprecated_versions": [
            {
                "definition": version.name,
                "version": version.version,
                "objects_stored": sum(
                    n for stored_at, n in total.stored.items() if stored_at == (version.name, version.version)
                ),
                "clients": own.get((f"{version.group}/{version.version}", version.kind), []),
            }
            for version in scan.deprecated_versions
        ],
    }
    if _knows_services(scan, tally, total):
        section["api_services"] = [
            {"name": name, "service": "/".join(service)}
            for name, service in sorted(tally.api_services.items())
            if service not in tally.services
        ]
        section["webhooks"] = [
            {"definition": name, "service": "/".join(service)}
            for name, service in _webhooks(scan)
            if service not in tally.services
        ]
    section["decisions"] = [{"name": name} | decision.record() for name, decision in _decisions(section, target)]
    return section


def not_compared(scan: UpgradePlan, section: dict[str, Any] | None) -> list[str]:
    """Return what is not known of the release after the upgrade, so that the scan cannot call it safe."""
    out = []
    name = f"Kubernetes {scan.target.name}"
    if not scan.target.is_reproduced:
        out.append(f"how {name} reads, validates and accepts objects and definitions (that release is not reproduced)")
    if scan.options.to_kubernetes and section is None:
        is_whole = scan.old.options.scope.is_everything
        out.append(f"which kinds and versions {name}, the older release, lacks" if is_whole else REMOVED_VERSIONS)
    if section and section["helm"] and (unread := sum(release["count"] for release in section["helm"]["unread"])):
        out.append(f"{counted(unread, 'Helm release')} that could not be read")
    if section and scan.target.minor > newest_known():
        unsure = [kind for kind in section["stored"] if kind["state"] == "decoded"]
        if unsure:
            named = ", ".join(f"{kind['kind']} at {kind['api_version']}" for kind in unsure[:3])
            out.append(f"whether {name} still decodes {named} (Kubernetes 1.{newest_known()} does)")
    return out


def api_decisions(section: dict[str, Any] | None) -> list[tuple[str, Decision]]:
    """Return the decisions of a section."""
    return [(record["name"], decision_of(record)) for record in (section or {}).get("decisions", ())]


# -- what is stored ----------------------------------------------------------------------------------------------------


def _stored(tally: ApiTally, target: Release, today: Release | None, report: str) -> list[dict[str, Any]]:
    out = []
    for (api_version, kind, is_kept), count in sorted(tally.stored.items(), key=lambda item: tuple(map(str, item[0]))):
        api = find_api(api_version, kind)
        if api is None or not api.is_gone(target.minor):
            continue
        if is_kept is None:
            state = "exported"
        elif not is_kept:
            state = "left-over"
        elif api.is_decoded(target.minor):
            state = "decoded"
        else:
            was_decoded = today is None or api.is_decoded(today.minor)
            state = "undecodable" if was_decoded else "undecodable-before"
        samples = tally.samples.get((api_version, kind, is_kept), [])
        out.append(_of_api(api) | {"objects": count, "state": state, "samples": _samples(samples, report)})
    return out


def _of_api(api: Api) -> dict[str, Any]:
    return {
        "api_version": api.api_version,
        "kind": api.kind,
        "deprecated": _name(api.deprecated),
        "removed": _name(api.removed),
        "decoded_until": _name(api.decoded) if api.decoded < newest_known() else None,
        "replacement": api.replacement or None,
    }


def _name(minor: int) -> str | None:
    return f"1.{minor}" if minor else None


def _samples(keys: list[str], report: str) -> list[dict[str, str]]:
    return [{"key": key, "command": f"auditor show {shell_word(report)} {shell_word(key)}"} for key in keys]


# -- who used it -------------------------------------------------------------------------------------------------------


def _clients(
    scan: UpgradePlan, tally: ApiTally, report: str
) -> tuple[list[dict[str, Any]], dict[tuple[str, str], list[dict[str, Any]]]]:
    """Return the clients of built-in kinds, and those of deprecated versions of definitions by version and kind."""
    target, today = scan.target, scan.today
    builtin: list[dict[str, Any]] = []
    own: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for client, count in sorted(tally.clients.items()):
        api_version, kind, how, manager = client
        use = {"how": how, "manager": manager or None, "objects": count, "last_write": tally.last.get(client) or None}
        api = find_api(api_version, kind)
        if api is None:
            own.setdefault((api_version, kind), []).append(use)
            continue
        if not api.is_gone(target.minor):
            state = "deprecated"
        elif today is None:
            state = "removed"
        else:
            state = "removed-before" if api.is_gone(today.minor) else "removed-by-upgrade"
        builtin.append(
            _of_api(api) | use | {"state": state, "samples": _samples(tally.samples.get(client, []), report)}
        )
    return builtin, own


def _helm(tally: ApiTally, target: Release) -> dict[str, Any]:
    releases = []
    for namespace, name, revision, api_version, kind in sorted(tally.helm):
        api = find_api(api_version, kind)
        if api is not None and api.is_gone(target.minor):
            releases.append({"namespace": namespace, "release": name, "revision": revision} | _of_api(api))
    unread = [{"reason": reason, "count": count} for reason, count in sorted(tally.helm_unread.items())]
    counts = {"read": tally.helm_read, "older": tally.helm_older, "more": tally.helm_more}
    return {**counts, "unread": unread, "releases": releases}


# -- what has no server ------------------------------------------------------------------------------------------------


def _knows_services(scan: UpgradePlan, tally: ApiTally, total: ShardResult) -> bool:
    """Return whether all Services of the cluster seem to be in the dump."""
    is_whole = not (total.lost or any(source.damage or source.is_export for source in scan.new.sources))
    return is_whole and ("default", "kubernetes") in tally.services


def _webhooks(scan: UpgradePlan) -> list[tuple[str, tuple[str, str]]]:
    """Return the Service of each conversion webhook after the upgrade."""
    webhooks = []
    for entry in scan.new.entries:
        text = scan.new.definitions_file.text(entry)
        spec = decode(text).get("spec") if b'"Webhook"' in text and entry.name not in scan.deleted else None
        node: Any = spec
        for step in ("conversion", "webhook", "clientConfig", "service"):
            node = node.get(step) if type(node) is dict else None
        strategy = spec.get("conversion", {}).get("strategy") if type(node) is dict and type(spec) is dict else None
        if strategy == "Webhook" and type(node.get("namespace")) is str and type(node.get("name")) is str:
            webhooks.append((entry.name, (node["namespace"], node["name"])))
    return webhooks


# -- what follows ------------------------------------------------------------------------------------------------------


def _decisions(section: dict[str, Any], target: Release) -> list[tuple[str, Decision]]:
    out = []
    release = f"Kubernetes {target.name}"
    for use in section["stored"]:
        if use["state"] == "undecodable":
            n = use["objects"]
            reason = f"{objects(n)} {are(n)} stored at it, and {release} does not decode {by_count(n, 'it', 'them')}"
            reason += ": no LIST of the kind works"
            out.append((_at(use), blocks(UpgradeEffect("", reason, levels=frozenset({"unreadable"})))))
        elif use["state"] == "exported":
            n = use["objects"]
            reason = f"{release} does not serve it: {objects(n)} of the export cannot be restored at it"
            effect = UpgradeEffect("", reason, levels=frozenset({"invalid"}))
            out.append((_at(use), Decision(ATTENTION, f"attention: {reason}", (effect,))))
    helm: dict[tuple[str, str], list[str]] = {}
    for use in (section["helm"] or {}).get("releases", ()):
        helm.setdefault((use["kind"], use["api_version"]), []).append(f"{use['namespace']}/{use['release']}")
    for (kind, api_version), names in sorted(helm.items()):
        more = f" and {len(names) - _MANAGERS} more" if len(names) > _MANAGERS else ""
        shown = ", ".join(names[:_MANAGERS]) + more
        reason = f"{release} does not serve it, and the next upgrade by Helm fails of {shown}"
        effect = UpgradeEffect("", reason, levels=frozenset({"invalid"}))
        out.append((f"{kind} at {api_version}", Decision(ATTENTION, f"attention: {reason}", (effect,))))
    used: dict[str, list[str]] = {}
    for use in section["clients"]:
        if use["state"] == "removed-by-upgrade" and use["how"] == "managedFields":
            used.setdefault(_at(use), []).append(f"{use['manager'] or 'unknown'} ({objects(use['objects'])})")
    for name, managers in used.items():
        more = f" and {len(managers) - _MANAGERS} more" if len(managers) > _MANAGERS else ""
        shown = ", ".join(managers[:_MANAGERS]) + more
        reason = f"{release} does not serve it, and clients wrote at it: {shown}"
        out.append((name, Decision(ATTENTION, f"attention: {reason}", (UpgradeEffect("", reason),))))
    return out


def _at(one: dict[str, Any]) -> str:
    return f"{one['kind']} at {one['api_version']}"
