"""The plan of an upgrade as commands: what to run for each definition, in order, with `kubectl` and a shell alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import shell_word
from auditor.crds.as_v1 import as_manifest
from auditor.golang.jsontext import encode
from auditor.shards.upgrade import with_status
from auditor.upgrade.definition_change import is_unserved, parsed
from auditor.upgrade.migration import APPLY, MANAGED_FIELDS, RECREATE, REWRITE, STORE_AT
from auditor.upgrade.names import conflicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.shards.upgrade import UpgradePlan
    from auditor.upgrade import DefinitionChange, Migration
    from auditor.upgrade.migration import Step

__all__ = ["name_conflicts", "plan_document", "plan_of", "plan_script"]

_END: Final = "END_OF_DEFINITION"
_HEAD: Final = """\
#!/bin/sh
# Written by `auditor upgrade --plan`. Carries out the upgrade in order, and stops at the first command that fails.
# It can be run again from the start. Needs kubectl and the rights to read and write these kinds and definitions.
set -eu
"""


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
            found = conflicts(scan.new.definitions_file.document(entry), others)
            before = next((document for name, document in known if name == entry.name), None)
            if found and (before is None or found != conflicts(before, others) or is_unserved(before)):
                out[entry.name] = found
    return out


def plan_of(
    change: DefinitionChange, migration: Migration, old: JsonObject | None, new: JsonObject | None
) -> dict[str, Any] | None:
    """Return the plan of one definition, without its text; None if there is nothing to do or to say."""
    if not migration.steps:
        return {"needs": migration.needs, "note": None, "steps": []} if migration.needs else None
    commands = _Commands(change.name, parsed(old), parsed(new), is_new=old is None)
    steps = [
        {"do": step.do, "text": step.text, "commands": list(commands.of(step, migration.steps))}
        for step in migration.steps
    ]
    steps.append({"do": "check", "text": "list its objects", "commands": list(commands.check())})
    return {"needs": None, "note": migration.note or None, "steps": steps}


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
            creates = self.is_new or any(one.do == RECREATE for one in steps)
            yield f"kubectl {'create' if creates else 'replace'} -f -"
        elif step.do == STORE_AT:
            yield f"kubectl patch crd {self.name} --type=json -p {_quoted(self._move(step.version))}"
        elif step.do == REWRITE:
            what = self._resource(step.version)
            yield (
                f'if [ -n "$(kubectl get {what} -o name)" ]; then '
                f"kubectl get {what} -o json | kubectl replace -f - > /dev/null; fi"
            )
        elif step.do == MANAGED_FIELDS:
            for version in step.versions:
                yield self._managed(version, step.version)
        elif step.do == RECREATE:
            what = self._resource("")
            yield f'if [ -n "$(kubectl get {what} -o name)" ]; then echo "{self.name} has objects" >&2; exit 1; fi'
            yield f"kubectl delete crd {self.name}"
        else:
            patch = {"status": {"storedVersions": list(step.versions)}}
            yield f"kubectl patch crd {self.name} --subresource=status --type=merge -p {_quoted(patch)}"

    def check(self) -> Iterator[str]:
        """Yield what shows that every LIST works; the server takes a moment to serve a new definition."""
        new = self.new
        if new is None:
            return
        yield f"kubectl wait --for=condition=Established crd/{self.name} --timeout=60s"
        for version in new.served_versions:
            path = shell_word(f"/apis/{new.group}/{version.name}/{new.plural}")
            yield (
                f"for again in 1 2 3 4 5 6 7 8 9 10 last; do if kubectl get --raw {path} > /dev/null; then break; fi; "
                'if [ "$again" = last ]; then exit 1; fi; sleep 2; done'
            )

    def _move(self, version: str) -> list[dict[str, Any]]:
        names = list(self.old.versions) if self.old is not None else []
        before = next((at for at, one in enumerate(names) if self.old and self.old.versions[one].storage), 0)
        after = names.index(version)
        return [
            {"op": "test", "path": f"/spec/versions/{after}/name", "value": version},
            {"op": "test", "path": f"/spec/versions/{before}/name", "value": names[before]},
            {"op": "replace", "path": f"/spec/versions/{before}/storage", "value": False},
            {"op": "replace", "path": f"/spec/versions/{after}/storage", "value": True},
        ]

    def _resource(self, version: str) -> str:
        old = self.old
        if old is None:
            return self.name
        served = [one.name for one in old.served_versions]
        at = version if version in served or not served else served[0]
        return shell_word(f"{old.plural}.{at}.{old.group}") + (" -A" if old.namespaced else "")

    def _managed(self, gone: str, version: str) -> str:
        """Return a loop that puts a version that remains in the place of one that goes, an entry at a time."""
        group = self.old.group if self.old is not None else ""
        what = self._resource(version)
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
        one = what.removesuffix(" -A")
        return (
            f"while found=$(kubectl get {what} --show-managed-fields -o go-template={_text(template)}) && "
            '[ -n "$found" ]; do echo "$found" | sort -u -k1,1 -k3,3 | while read -r name at namespace; do '
            f'kubectl patch {one} "$name" ${{namespace:+-n "$namespace"}} --type=json -p {quoted}; done; done'
        )


def _text(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _quoted(value: Any) -> str:
    return _text(json.dumps(value, separators=(",", ":")))


# -- files -------------------------------------------------------------------------------------------------------------


def plan_document(section: dict[str, Any], scan: UpgradePlan) -> dict[str, Any]:
    """Return the plan of a whole upgrade as JSON data, with the definitions to apply."""
    definitions = []
    for one in section["definitions"]:
        plan = one["plan"]
        if one["action"] in ("none", "delete"):
            continue
        _, new = scan.documents(one["name"])
        manifest = None if new is None else as_manifest(new)
        definitions.append(
            {
                "name": one["name"],
                "canBeCarriedOut": bool(plan and plan["steps"]),
                "because": (plan["needs"] if plan else None) or (one["sentence"] if not plan else None),
                "note": plan["note"] if plan else None,
                "steps": plan["steps"] if plan else [],
                "manifest": manifest,
            }
        )
    return {"decision": section["decision"], "sentence": section["sentence"], "definitions": definitions}


def plan_script(document: dict[str, Any]) -> str:
    """Return the same as a shell script; definitions without a plan are comments."""
    lines = [_HEAD]
    for one in document["definitions"]:
        lines.append(f"# {one['name']}")
        if not one["canBeCarriedOut"]:
            lines.append(f"#   no plan: {_comment(one['because'])}\n")
            continue
        if one["note"]:
            lines.append(f"# {_comment(one['note'])}")
        for number, step in enumerate(one["steps"], 1):
            lines.append(f"echo {_text(f'''{one['name']}: {number}. {step['text']}''')}")
            for command in step["commands"]:
                if step["do"] == APPLY:
                    lines += [f"{command} <<'{_END}'", encode(one["manifest"]), _END]
                else:
                    lines.append(command)
        lines.append("")
    return "\n".join(lines)


def _comment(text: str | None) -> str:
    return " ".join((text or "").split())
