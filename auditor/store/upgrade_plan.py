"""The plan of an upgrade as commands: what to run for each definition, in order, with `kubectl` and a shell alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import shell_word, visible
from auditor.crds.as_v1 import as_manifest
from auditor.shards.upgrade import with_status
from auditor.store.upgrade_apis import api_decisions
from auditor.upgrade.decision import NAMED, REASON, UpgradeEffect, decide_all, decision_of
from auditor.upgrade.definition_change import is_unserved, parsed, webhook_of
from auditor.upgrade.definition_names import conflicts
from auditor.upgrade.migration import (
    APPLY,
    MANAGED_FIELDS,
    RECREATE,
    REWRITE,
    STORE_AT,
    STORED_VERSIONS,
    Step,
    common_version,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.shards.upgrade import UpgradePlan
    from auditor.upgrade import DefinitionChange, Migration


_CHECK: Final = "check"
_WEBHOOK: Final = "webhook"
_LIMIT: Final = "60s"
_SAVED: Final = 'kubectl replace -f "$copy"'
_FORGET: Final = 'rm -f "$marker.applied" "$marker.done"'
_READY: Final = (
    '{{range .items}}{{range .endpoints}}{{if ne (printf "%v" .conditions.ready) "false"}}'
    "{{range .addresses}}{{.}} {{end}}{{end}}{{end}}{{end}}"
)
"""Addresses of endpoints; without a condition they count as ready, as the API has it."""


def name_conflicts(scan: UpgradePlan) -> dict[str, tuple[str, ...]]:
    """Return the names that the server does not accept, by definition: another one of its group has them."""
    by_group: dict[str, list[tuple[str, JsonObject]]] = {}
    groups = {entry.group for entry in scan.new.entries if entry.name in scan.applied}
    for entry in scan.old.entries:
        if entry.group in groups:
            document = with_status(scan.old, entry.name, scan.old.definitions_file.document(entry))
            by_group.setdefault(entry.group, []).append((entry.name, document))
    out = {}
    for entry in scan.new.entries:
        known = by_group.get(entry.group, [])
        if entry.name in scan.applied and any(name != entry.name for name, _ in known):
            others = [document for name, document in known if name != entry.name and name not in scan.deleted]
            taken = conflicts(scan.new.definitions_file.document(entry), others)
            before = next((document for name, document in known if name == entry.name), None)
            if taken and (before is None or taken != conflicts(before, others) or is_unserved(before)):
                out[entry.name] = taken
    return out


def plan_of(
    change: DefinitionChange, migration: Migration, old: JsonObject | None, new: JsonObject | None
) -> dict[str, Any] | None:
    """Return the plan of one definition, without its text; None if there is nothing to do or to say."""
    if not migration.steps:
        return {"needs": migration.needs, "note": None, "steps": []} if migration.needs else None
    before, after = parsed(old), parsed(new)
    commands = _Commands(change.name, before, after, is_new=old is None)
    is_empty = old is None or any(step.do == RECREATE for step in migration.steps)
    used = [webhook_of(new)]
    if before is not None and len(migration.steps) > 1:
        used.insert(0, webhook_of(old))  # objects are rewritten while the old definition is there
    steps = [
        _webhook_step(namespace, is_needed=not is_empty)
        for place, namespace in enumerate(used)
        if namespace and namespace not in used[:place]
    ]
    steps += [
        {
            "do": step.do,
            "text": step.text,
            "commands": list(commands.of(step, migration.steps)),
            "back": list(commands.back(step, migration.steps)),
        }
        for step in migration.steps
    ]
    steps.append(
        {"do": _CHECK, "text": "list its objects", "commands": list(commands.check(wait=bool(used[-1]))), "back": []}
    )
    return {"needs": None, "note": migration.note or None, "steps": steps}


def _webhook_step(webhook: JsonObject, *, is_needed: bool) -> dict[str, Any]:
    """Return the step that tests a conversion webhook, as far as kubectl can.

    Args:
        webhook: Its address, as `webhook_of` returns it.
        is_needed: Whether the plan stops without it; a definition without objects does not need it yet, and what
            serves it often starts only once there is the definition.
    """
    service = webhook.get("service")
    if type(service) is not dict:
        where = visible(str(webhook.get("url")))
        text = f"see yourself that the conversion webhook at {where} answers: kubectl cannot test it"
        return {"do": _WEBHOOK, "text": text, "commands": [], "back": []}
    space, name, port = (str(service.get(key, "")) for key in ("namespace", "name", "port"))
    options = f"-n {shell_word(space)}"
    shown = visible(f"{space}/{name}")
    text = f"see that Service {shown} of the conversion webhook has a ready endpoint"
    fail = "exit 1" if is_needed else 'echo "  until it has, requests at other versions than the stored one fail" >&2'
    selected = shell_word(f"kubernetes.io/service-name={name}")
    port_path = f"{{.spec.ports[?(@.port=={port})].port}}"
    external = f"Service {shown} is an ExternalName, which kubectl cannot test: see yourself that it answers"
    get = f"kind=$(kubectl get service {shell_word(name)} {options} -o jsonpath='{{.spec.type}}') || kind="
    test = (
        f'if [ "$kind" = ExternalName ]; then echo {_text(external)} >&2; '
        f'elif [ -z "$kind" ]; then echo {_text(f"Service {shown} cannot be read")} >&2; {fail}; '
        f'elif [ -z "$(kubectl get service {shell_word(name)} {options} -o jsonpath={_text(port_path)})" ]; then '
        f"echo {_text(f'Service {shown} has no port {port}')} >&2; {fail}; "
        f'elif [ -z "$(kubectl get endpointslices {options} -l {selected} -o go-template={_text(_READY)})" ]; then '
        f"echo {_text(f'Service {shown} has no ready endpoint')} >&2; {fail}; fi"
    )
    if not is_needed:
        text = f"see whether Service {shown} of the conversion webhook has a ready endpoint"
    return {"do": _WEBHOOK, "text": text, "commands": [get, test], "back": []}


class _Commands:
    """Makes the commands of one definition."""

    def __init__(
        self, name: str, old: CustomResourceDefinition | None, new: CustomResourceDefinition | None, *, is_new: bool
    ) -> None:
        self.name = shell_word(name)
        self.old = old
        self.new = new
        self.is_new = is_new

    def of(self, step: Step, steps: Iterable[Step]) -> Iterator[str]:
        """Yield the commands of a step."""
        if step.do == APPLY:
            creates = self.is_new or any(step.do == RECREATE for step in steps)
            yield f"kubectl {'create' if creates else 'replace'} -f -"
        elif step.do == STORE_AT:
            yield f"kubectl patch crd {self.name} --type=json -p {_quoted(self._move(step.version))}"
        elif step.do == REWRITE:
            what = _resource(self.name, self.old, step.version)
            yield f"names=$(kubectl get {what} -o name)"
            yield (
                f'if [ -n "$names" ]; then kubectl get {what} -o json > "$marker.objects"; '
                'kubectl replace -f "$marker.objects" > /dev/null; rm -f "$marker.objects"; fi'
            )
        elif step.do == MANAGED_FIELDS:
            for version in step.versions:
                yield self._managed(version, step.version)
        elif step.do == RECREATE:
            what = _resource(self.name, self.old, "")
            yield f"there=$(kubectl get crd {self.name} --ignore-not-found -o name)"
            yield f'if [ -n "$there" ]; then names=$(kubectl get {what} -o name); {self._deleted()}; fi'
        else:
            patch = {"status": {"storedVersions": list(step.versions)}}
            yield f"kubectl patch crd {self.name} --subresource=status --type=merge -p {_quoted(patch)}"

    def back(self, step: Step, steps: Iterable[Step]) -> Iterator[str]:
        """Yield the commands that return to the definition before the plan, from `$copy`, once a step was begun."""
        new = self.new
        is_emptied = any(step.do == RECREATE for step in steps)
        if step.do == RECREATE:
            yield 'kubectl create -f "$copy"'
        elif step.do != APPLY:
            yield _SAVED
        elif self.is_new or is_emptied:
            path = _resource(self.name, new, "")
            yield f"names=$(kubectl get {path} -o name); {self._deleted()}"
            yield from ('kubectl create -f "$copy"',) if is_emptied else ()
        else:
            yield from self._stored_as_before()
            yield _SAVED
        if step.do == APPLY:
            yield _FORGET

    def _deleted(self) -> str:
        return (
            f'if [ -n "$names" ]; then echo "{self.name} has objects" >&2; exit 1; '
            f"else kubectl delete crd {self.name} --timeout={_LIMIT}; fi"
        )

    def _stored_as_before(self) -> Iterator[str]:
        """Yield what brings objects back to a version of the old definition, if it lacks the new storage version."""
        old, new = self.old, self.new
        storage = None if new is None else new.storage_version
        if old is None or new is None or storage is None or storage.name in old.versions:
            return
        version = common_version(old, new)
        if version is None:
            return
        gone = tuple(name for name in new.versions if name not in old.versions)
        yield f"# fields that {version} does not have are lost"
        back = _Commands(self.name, new, old, is_new=False)
        steps = [Step(STORE_AT, "", version), Step(REWRITE, "", version), Step(MANAGED_FIELDS, "", version, gone)]
        for step in (*steps, Step(STORED_VERSIONS, "", version, (version,))):
            yield from back.of(step, ())

    def check(self, *, wait: bool) -> Iterator[str]:
        """Yield what shows that every LIST works; the server takes a moment to serve a new definition."""
        new = self.new
        if new is None:
            return
        yield f"kubectl wait --for=condition=Established crd/{self.name} --timeout={_LIMIT}"
        if wait:
            yield "sleep 2  # until then it may convert as before"
        yield "end=$(($(date +%s) + 60))"
        for version in new.served_versions:
            path = shell_word(f"/apis/{new.group}/{version.name}/{new.plural}")
            yield (
                f"until kubectl get --raw {path} --request-timeout={_LIMIT} > /dev/null; do "
                'if [ "$(date +%s)" -ge "$end" ]; then exit 1; fi; sleep 2; done'
            )

    def _move(self, version: str) -> list[dict[str, Any]]:
        names = list(self.old.versions) if self.old is not None else []
        before = next(
            (position for position, name in enumerate(names) if self.old and self.old.versions[name].storage), 0
        )
        after = names.index(version)
        return [
            {"op": "test", "path": f"/spec/versions/{after}/name", "value": version},
            {"op": "test", "path": f"/spec/versions/{before}/name", "value": names[before]},
            {"op": "replace", "path": f"/spec/versions/{before}/storage", "value": False},
            {"op": "replace", "path": f"/spec/versions/{after}/storage", "value": True},
        ]

    def _managed(self, gone: str, version: str) -> str:
        """Return a loop that puts a version that remains in the place of one that goes, an entry at a time."""
        group = self.old.group if self.old is not None else ""
        what = _resource(self.name, self.old, version)
        template = (
            '{{range .items}}{{$o := .}}{{range $i, $m := .metadata.managedFields}}{{if eq $m.apiVersion "'
            f"{group}/{gone}"
            '"}}{{$o.metadata.name}} {{$i}} {{or $o.metadata.namespace ""}}{{"\\n"}}{{end}}{{end}}{{end}}'
        )
        patch = (
            '[{"op":"test","path":"/metadata/managedFields/AT/apiVersion","value":"GONE"},'
            '{"op":"replace","path":"/metadata/managedFields/AT/apiVersion","value":"THERE"}]'
        )
        patch = patch.replace("GONE", f"{group}/{gone}").replace("THERE", f"{group}/{version}")
        quoted = "'" + patch.replace("AT", "'\"$at\"'") + "'"
        resource = what.removesuffix(" -A")
        return (
            f"while found=$(kubectl get {what} --show-managed-fields -o go-template={_text(template)}) || exit 1; "
            '[ -n "$found" ]; do echo "$found" | sort -u -k1,1 -k3,3 | while read -r name at namespace; do '
            f'kubectl patch {resource} "$name" ${{namespace:+-n "$namespace"}} --type=json -p {quoted}; done; done'
        )


def _resource(name: str, definition: CustomResourceDefinition | None, version: str) -> str:
    """Return what kubectl calls the kind at a version; at the first served one if that is not served."""
    if definition is None:
        return name
    served = [version.name for version in definition.served_versions]
    served_version = version if version in served or not served else served[0]
    return shell_word(f"{definition.plural}.{served_version}.{definition.group}") + (
        " -A" if definition.namespaced else ""
    )


def _text(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _quoted(value: Any) -> str:
    return _text(json.dumps(value, separators=(",", ":")))


# -- files -------------------------------------------------------------------------------------------------------------


def plan_document(section: dict[str, Any], scan: UpgradePlan) -> dict[str, Any]:
    """Return the plan of a whole upgrade as JSON data, with the definitions to apply."""
    definitions = []
    for definition in section["definitions"]:
        plan = definition["plan"]
        if definition["action"] in ("none", "delete"):
            continue
        _, new = scan.documents(definition["name"])
        manifest = None if new is None else as_manifest(new)
        definitions.append(
            {
                "name": definition["name"],
                "canBeCarriedOut": bool(plan and plan["steps"]),
                "because": (plan["needs"] if plan else None) or (definition["sentence"] if not plan else None),
                "note": plan["note"] if plan else None,
                "steps": plan["steps"] if plan else [],
                "manifest": manifest,
            }
        )
    return {"decision": section["decision"], "sentence": section["sentence"], "definitions": definitions}


# -- two hops ----------------------------------------------------------------------------------------------------------


def after_first_hop(section: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """Return the section of the second hop with the decision on both.

    A definition that the server refuses only until its objects are rewritten is safe after that: the release between
    makes it possible.

    Args:
        section: That of the second hop.
        first: That of the first.
    """
    definitions = []
    for definition in section["definitions"]:
        plan = definition["plan"]
        if definition["decision"] == "blocks" and definition["is_only_unmigrated"] and plan and plan["steps"]:
            steps = [step["text"] for step in plan["steps"] if step["do"] not in (_WEBHOOK, APPLY, _CHECK)]
            effects = [UpgradeEffect("step", text, about=text).record() for text in steps]
            effects += [effect for effect in definition["effects"] if effect["type"] != "refused"]
            sentence = f"safe after the first hop and these steps: {', '.join(steps)}"
            definitions.append(
                {
                    **definition,
                    "decision": "safe-after",
                    "sentence": sentence,
                    "reasons": steps,
                    "levels": ["invalid"],
                    "effects": effects,
                }
            )
        else:
            definitions.append(definition)
    blocked = [definition for definition in first["definitions"] if definition["decision"] == "blocks"]
    decisions = [(f"{definition['name']}, first hop", decision_of(definition)) for definition in blocked]
    last = [
        *api_decisions(section["apis"]),
        *((definition["name"], decision_of(definition)) for definition in definitions),
    ]
    decided = decide_all([*decisions, *last])
    named = decided.texts(REASON)[:NAMED]
    kept = {key: first[key] for key in ("decision", "sentence", "new_crds", "definitions")}
    both = {"decision": decided.word, "sentence": decided.sentence, "named": named, "levels": sorted(decided.levels)}
    return {**section, **both, "definitions": definitions, "via": kept}
