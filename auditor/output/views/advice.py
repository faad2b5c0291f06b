"""What to do next about a report, in a sentence or two: from its manifest alone.

It is an all-clear only if every key was read and judged, and no problem was found (`auditor.store.allclear`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from auditor.base.release import KUBERNETES_RELEASE
from auditor.base.statuses import Impact, Status
from auditor.base.visible import shell_word, visible
from auditor.base.wording import by_count, counted, objects
from auditor.causes.row_causes import IMPACTS, OF_NAMESPACES
from auditor.causes.titles import lost_service_of
from auditor.output.views.upgrade_view import next_of_upgrade
from auditor.sources.source_plan import NOT_OPENED, UNREAD_DEFINITIONS
from auditor.store.allclear import failed_helpers, judged_rows, leftovers, not_judged, unexpected, unread_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from auditor.causes.topics import Cause


_HARMLESS = frozenset(impact for impact in Impact if impact.is_harmless)
_CAUSES = frozenset(map(Impact, IMPACTS))
"""Impacts that are causes, so that `auditor findings` lists them."""
_CRDS = ("apiextensions.k8s.io", "CustomResourceDefinition")


def next_step(manifest: dict[str, Any], report: str, causes: Sequence[Cause] = ()) -> tuple[str, str]:
    """Return what to do next about a report, or the all-clear, and its first command (empty if there is none).

    Args:
        manifest: The content of manifest.json.
        report: The folder of the report, as the user named it.
        causes: The causes that are not accepted, worst first.
    """
    if "upgrade" in manifest:
        return next_of_upgrade(manifest["upgrade"], report), ""
    if manifest["counts"]["out_of_scope"] and not manifest["counts"]["rows"]:
        return "change the scope; no key of the dump matches it.", ""
    again = _again(manifest)
    if step := _problem(manifest, report, causes):
        text, command = step
        return f"{again} Then {text}" if again else text, command
    if again:
        return again, ""
    reasons = not_judged(manifest)
    if not judged_rows(manifest):
        why = ", ".join(reasons[1:]) or "no object in it"
        return f"give a dump with objects in it; nothing was judged: {why}.", ""
    if reasons:
        what = "no problem was found, but not everything was judged"
        if unexpected(manifest):
            return f"check the rest too; {what}. The keys that belong to no object:", _odd_keys(report)
        return f"check the rest too; {what}.", ""
    return "nothing to do.", ""


def _problem(manifest: dict[str, Any], report: str, causes: Sequence[Cause]) -> tuple[str, str] | None:
    """Return what to do about the worst problem, and the command that shows it; None if there is no problem."""
    statuses = manifest["counts"]["statuses"]
    impacts: Counter[str] = Counter()
    for kind in manifest["kinds"]:
        impacts.update(kind["impacts"])
    if impacts[Impact.IS_DELETED]:  # first: where a kind cannot be listed, its repair is what lets the server delete
        return (
            "save the objects whose definition is being deleted, before a server runs over this data: it deletes them.",
            _findings(report, causes, Impact.IS_DELETED),
        )
    if any(kind["breaking"] for kind in manifest["kinds"]):
        breaking = (impact for impact in Impact if impact.is_breaking)
        return _repair(manifest), _findings(report, causes, *breaking)
    if any(kind.get("stuck") for kind in manifest["kinds"]):
        return (
            "repair the objects that cannot be deleted: every update is refused, also the last of a deletion.",
            _findings(report, causes, Impact.BLOCKS_DELETE),
        )
    command = _findings(report, causes)
    if statuses.get(Status.INVALID) or manifest["findings"] or statuses.get(Status.UNREADABLE):
        return _remedy(causes), command
    if count := statuses.get(Status.UNSERVED):
        why = f"find out why a server answers 404 for {objects(count)}, whose definition it does not serve."
        return why, _findings(report, causes, Status.UNSERVED)
    if impacts[Impact.NEEDS_WEBHOOK] and set(impacts) - _HARMLESS <= {Impact.NEEDS_WEBHOOK}:
        count = impacts[Impact.NEEDS_WEBHOOK]
        text = f"give --convert-with: {objects(count)} can only be listed, or read, by a conversion webhook."
        return text, _findings(report, causes, Impact.NEEDS_WEBHOOK, Status.NEEDS_CONVERSION)
    if serious := [name for name in impacts if impacts[name] and name not in _HARMLESS]:
        if set(serious) <= _CAUSES:
            return _remedy(causes), command
        wanted = ", ".join(f"'{name}'" for name in serious)
        where = f"list_has_any(impacts, [{wanted}]) or impact in ({wanted})"
        return "read the objects.", _query(report, where)
    if namespaces := manifest.get("namespaces"):
        verb = by_count(len(namespaces), "does not exist or is", "do not exist or are")
        which = f"{counted(len(namespaces), 'namespace')} ({_some(namespace['name'] for namespace in namespaces)})"
        text = f"save what is in {which}, which {verb} being deleted: a server creates nothing there."
        return text, _findings(report, causes, *OF_NAMESPACES.values())
    if advice := _orphaned(manifest):
        return advice, ""
    if failed := failed_helpers(manifest):
        error = visible(next(iter(failed)))
        return f"repair the command of --kms-decryptor: {error}; what it opens was not judged.", ""
    if statuses.get(Status.SEALED):
        text = "give the keys of the encrypted values (--encryption-config, --kms-decryptor): they were not judged."
        return text, ""
    return None


def _again(manifest: dict[str, Any]) -> str:
    """Return how to make the dumps that are missing, damaged or stale again; empty if there are none."""
    names: dict[str, None] = {}
    others = []
    for part in unread_of(manifest):
        if part.where.startswith((NOT_OPENED, UNREAD_DEFINITIONS)):
            others.append(part)
        elif part.what != "lost":
            names[part.cluster or part.source] = None
    if not names:
        return f"repair what could not be opened: {others[0].line.partition('  ')[2]}." if others else ""
    formats = {source["format"] or "" for source in manifest["inputs"]}
    if not formats & {"etcd-snapshot", "etcd-db", "etcd-data-dir"}:
        return f"make the dump of {_some(names, 'dump')} again."
    file = visible(next(iter(names))).rpartition("/")[2].removesuffix(".db") if len(names) == 1 else "CLUSTER"
    how = f"etcdctl snapshot save {shell_word(file)}.db; to check it: etcdutl snapshot status {shell_word(file)}.db"
    nouns = by_count(len(names), "snapshot", "snapshots")
    return f"take the {nouns} of {_some(names, 'cluster')} again ({how})."


def _remedy(causes: Sequence[Cause]) -> str:
    """Return what to do about the worst cause, and which that is."""
    if not causes:
        return "read the findings."
    cause = causes[0]
    example = "/".join(cause.examples[0].rsplit("/", 2)[-2:]) if cause.examples else ""
    return visible(f"{cause.remedy}: {' '.join(filter(None, (cause.kind_name, example)))}, {cause.title}.")


def _findings(report: str, causes: Sequence[Cause], *impacts: str) -> str:
    """Return the command that shows the first cause with one of the impacts, or else the first one."""
    first = next((cause for impact in impacts for cause in causes if cause.impact == impact), None)
    first = first or next(iter(causes), None)
    return " ".join(filter(None, ("auditor findings", shell_word(report), first.id if first else "")))


def _repair(manifest: dict[str, Any]) -> str:
    """Return what to do about keys that break lists; a wrong encryption key must not lead to deleted values."""
    closed = sum(entry["values"] for entry in manifest["encryption"] if not entry["opened"] and not entry.get("sealed"))
    if closed:
        values = counted(closed, "encrypted value")
        return (
            f"check that the given keys are those of the server: they do not decrypt {values}. Delete nothing until "
            "then; a value that the server cannot decrypt fails every LIST of its kind."
        )
    broken = [kind["breaking"] for kind in manifest["kinds"] if kind["breaking"]]
    damaged = {part.cluster for part in unread_of(manifest) if part.what == "damaged"}
    if all((each.get("cluster") or manifest["options"].get("cluster") or "") in damaged for each in broken):
        return (
            "audit it before you repair or delete anything: this one is damaged, and may show faults that the "
            "cluster does not have."
        )
    lost = [service for entry in broken if (service := lost_service_of(entry["reason"]))]
    services = _some(dict.fromkeys(lost))
    restore = f"restore the Service {services} of the conversion webhook: without it no client can list its kinds. "
    restore += "Delete none of their objects for that."
    if len(lost) == len(broken):
        return restore
    impacts = {cause["impact"] for cause in broken}
    which, until = "end the API server", "the API server does not stay up"
    if Impact.BREAKS_LIST in impacts:
        which, until = "break lists", "no client can list or watch these kinds whole"
    elif Impact.BREAKS_WATCH in impacts:
        which, until = "break watches", "no controller can list or watch these kinds, although `kubectl get` lists them"
    advice = f"repair or delete the keys that {which} first; until then {until}."
    if lost:
        advice += f" Then {restore}"
    if any((kind["group"], kind["kind"]) == _CRDS and kind["breaking"] for kind in manifest["kinds"]):
        advice += " Repair definitions rather than delete them: without its definition no request reaches an object."
    return advice


def _orphaned(manifest: dict[str, Any]) -> str:
    """Return what to do about objects without a definition or built-in kind; empty if there are none."""
    left = leftovers(manifest)
    are_exports = all(source.get("is_export") for source in manifest["inputs"])
    advice = []
    if manifest["counts"]["statuses"].get(Status.ORPHANED, 0) > sum(left.values()) and unread_of(manifest):
        return "take a whole dump: the definitions of the orphaned keys may be in what was not read."
    if manifest["counts"]["statuses"].get(Status.ORPHANED, 0) > sum(left.values()):
        advice.append(
            "give the definitions of the orphaned objects with --crds; without them the objects are not judged."
            if are_exports
            else "give the definitions of the orphaned keys with --crds. If the cluster has none, no request to its "
            "API server reads these keys, and they remain until etcdctl deletes them."
        )
    if left and are_exports:
        advice.append(
            f"change the apiVersion of {_some(left)} before you apply them: Kubernetes {KUBERNETES_RELEASE} "
            "serves no such kind."
        )
    elif left:
        advice.append(
            f"find out what uses the keys of {_some(left)}: Kubernetes {KUBERNETES_RELEASE} stores no objects there, "
            "and no request to its API server reads them. They do no harm; another release or program may need them."
        )
    return " Then ".join(advice)


def _some(names: Iterable[str], noun: str = "kind") -> str:
    every = list(names)
    return ", ".join(every[:5]) + (f" and {counted(len(every) - 5, f'more {noun}')}" if len(every) > 5 else "")


def _odd_keys(report: str) -> str:
    return f"duckdb -c \"select key, reason from '{report}/objects/*.parquet' where status = 'other'\""


def _query(report: str, where: str) -> str:
    return f"duckdb -c \"select key, name, impacts, pruned from '{report}/objects/*.parquet' where {where}\""
