"""Reasons against an all-clear: everything that was not read or not judged, from the manifest.

"Nothing to do" and "safe" are true only if every key was read and judged, and there is at least one. A status that
this module does not know counts as not judged, so a new status cannot go unnoticed.

No count of a cluster that was not read whole is certain, and a zero is unknown.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from auditor.base.release import KUBERNETES_RELEASE
from auditor.base.statuses import Impact, Status
from auditor.base.wording import by_count, counted, objects
from auditor.shards.result import NO_TIME
from auditor.sources.files.digest import NOT_VERIFIED
from auditor.sources.registry_key import OWN_GROUPS
from auditor.sources.source_plan import UNREAD_DEFINITIONS, Damage
from auditor.store.damage_lines import damage_lines

if TYPE_CHECKING:
    from collections.abc import Iterable


_Item = TypeVar("_Item")

JUDGED: Final = frozenset({Status.VALID, Status.INVALID, Status.DEFINITION, Status.BUILTIN})
"""Statuses of keys that were judged and can be read."""
UNREAD_STATES: Final = ("missing", "damaged", "lost", "stale")
"""What can be wrong with a cluster, a dump or a part of one, worst first."""
_VERDICTS: Final = JUDGED | {Status.UNREADABLE}
_REASONS: Final = {
    Status.NEEDS_CONVERSION: "{} that only a conversion webhook can list (--convert-with asks one)",
    Status.UNSERVED: "{} whose definition is not served",
    Status.ORPHANED: "{} without a definition",
    Status.SEALED: "{} sealed (encrypted, and no key was given)",
}
_UNREAD: Final = re.compile(
    r"\bnot (read|applied|opened|in this report|known: its index)\b|rows may be missing|member's state is newer"
    r"|beyond the database is missing|between the database and it is missing|^write-ahead log [^:]+: |cut or padded"
    r"|they are not certain|values are not known|may be of before the last compaction"
)
"""Notes of sources on parts of them that were not read, or not for certain."""


def judged_rows(manifest: dict[str, Any]) -> int:
    """Return how many rows of a report are objects with a verdict; JSON without a kind is not an object."""
    kinds = (kind["statuses"] for kind in manifest["kinds"] if kind["kind"])
    verdicts: int = sum(count for statuses in kinds for status, count in statuses.items() if status in _VERDICTS)
    return verdicts - unanswered(manifest)


def _empty(manifest: dict[str, Any]) -> list[str]:
    """Return the clusters of a fleet without a judged object, and the databases without a key."""
    clusters = [cluster["name"] for cluster in manifest.get("clusters") or () if not judged_rows(cluster)]
    sources = (
        source for source in manifest["inputs"] if source.get("cluster") not in clusters and not source["damage"]
    )
    return clusters + [source["name"] for source in sources if source.get("is_export") is False and not source["keys"]]


def not_judged(manifest: dict[str, Any], *, ignore: frozenset[str] = frozenset()) -> list[str]:
    """Return the reasons why a run did not read or judge every key; empty if it did.

    Args:
        manifest: The content of manifest.json.
        ignore: Statuses, and impacts, that do not matter to the caller.
    """
    if not judged_rows(manifest):
        out = ["no object was judged"]
    else:
        empty = _empty(manifest)
        out = [f"all of {_first(empty)} (no object was judged)"] if empty else []
    out += _parts(manifest)
    left = {kind: count for kind, count in leftovers(manifest).items() if Status.ORPHANED not in ignore}
    if left:
        named = f"{objects(sum(left.values()))} of kinds or places that Kubernetes {KUBERNETES_RELEASE}"
        out.append(f"{named} does not use ({_first(list(left))})")
    for status, every in manifest["counts"]["statuses"].items():
        count = every - sum(left.values()) if status == Status.ORPHANED else every
        if status == Status.SEALED and (failed := failed_helpers(manifest)):
            out += [f"{counted(values, 'key')} sealed: {error} (--kms-decryptor)" for error, values in failed.items()]
            count = max(0, count - sum(failed.values()))
        if status not in _VERDICTS | ignore | {Status.OTHER} and count:
            out.append(_REASONS.get(status, "{} with status " + status).format(counted(count, "key")))
    if Impact.NEEDS_WEBHOOK not in ignore and (count := _by_webhook(manifest)):
        out.append(f"{objects(count)} that only a conversion webhook can list (--convert-with asks one)")
    nameless = (kind["statuses"].get(Status.UNREADABLE, 0) for kind in manifest["kinds"] if not kind["kind"])
    if count := sum(nameless):
        out.append(f"{counted(count, 'value')} of unknown kind that cannot be read")
    if Status.OTHER not in ignore and (count := unexpected(manifest)):
        below = ", ".join(_prefixes(manifest))
        out.append(f"{counted(count, 'key')} that {by_count(count, 'belongs', 'belong')} to no object below {below}")
    out += scope_reasons(manifest)
    if skipped := manifest["options"].get("skip"):
        out.append(f"skipped checks (--skip {', '.join(skipped)})")
    if any(NOT_VERIFIED in source["notes"] for source in manifest["inputs"]):
        out.append("the integrity of dumps (--no-verify-digest)")
    if count := sum(entry["objects"] for entry in manifest.get("not_evaluated") or ()):
        out.append(f"validation rules of {objects(count)} that could not be evaluated")
    if count := unanswered(manifest):
        out.append(f"the answers to {counted(count, 'change')}")
    if count := (manifest.get("diff") or {}).get("not_judged"):
        out.append(f"{counted(count, 'earlier finding')} that could not be checked again")
    return out


def unanswered(manifest: dict[str, Any]) -> int:
    """Return the number of changes (--old) whose answer is not known."""
    return sum(int(entry["objects"]) for entry in manifest.get("unanswered") or ())


def not_judged_of(
    manifest: dict[str, Any], definitions: Iterable[dict[str, Any]], *, ignore: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Return the names of definitions that may have objects which were not read or not judged.

    Args:
        manifest: The content of manifest.json.
        definitions: Each with its name, group and kind.
        ignore: As `not_judged` takes it.
    """
    counts = {**manifest["counts"], "statuses": {}}
    if not_judged({**manifest, "counts": counts, "not_evaluated": ()}, ignore=ignore):
        return frozenset(definition["name"] for definition in definitions)  # parts of dumps, which may hold any kind
    kinds = {
        (kind["group"], kind["kind"])
        for kind in manifest["kinds"]
        if any(count for status, count in kind["statuses"].items() if status not in _VERDICTS | ignore)
    }
    unevaluated = {entry["crd"] for entry in manifest.get("not_evaluated") or ()}
    return frozenset(
        definition["name"]
        for definition in definitions
        if (definition["group"], definition["kind"]) in kinds or definition["name"] in unevaluated
    )


def failed_helpers(manifest: dict[str, Any]) -> dict[str, int]:
    """Return what the command of --kms-decryptor did instead of giving a key, with the values that stayed sealed."""
    out: dict[str, int] = {}
    for provider in manifest.get("encryption") or ():
        if error := provider.get("error"):
            out[error] = out.get(error, 0) + provider["values"]
    return out


def _by_webhook(manifest: dict[str, Any]) -> int:
    """Return how many objects were read at their own version, and need a conversion webhook at others."""
    need = sum(int(kind["impacts"].get(Impact.NEEDS_WEBHOOK, 0)) for kind in manifest["kinds"])
    return need - int(manifest["counts"]["statuses"].get(Status.NEEDS_CONVERSION, 0))


def leftovers(manifest: dict[str, Any]) -> dict[str, int]:
    """Return the number of objects of each built-in kind that the release does not store."""
    return {
        f"{kind['kind']}.{kind['group']}" if kind["group"] else kind["kind"]: kind["statuses"][Status.ORPHANED]
        for kind in manifest["kinds"]
        if is_builtin(kind) and kind["statuses"].get(Status.ORPHANED)
    }


def is_builtin(kind: dict[str, Any]) -> bool:
    """Return whether a kind of a manifest is one that Kubernetes itself serves."""
    return bool(kind["kind"]) and (not kind["group"] or kind["group"] in OWN_GROUPS)


def scope_reasons(manifest: dict[str, Any]) -> list[str]:
    """Return the reason for keys that the user excluded from the run."""
    count = manifest["counts"]["out_of_scope"]
    scope = ", ".join(f"{name} {_shown(value)}" for name, value in manifest["options"]["scope"].items() if value)
    return [f"{counted(count, 'key')} out of scope" + (f" ({scope})" if scope else "")] if count else []


def stale_dumps(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the stale dumps, each once."""
    sections = (manifest, manifest.get("diff") or {})
    stale = [dump for section in sections for dump in section.get("stale") or ()]
    return list({(dump["source"], dump.get("cluster")): dump for dump in reversed(stale)}.values())[::-1]


def missing_lines(manifest: dict[str, Any]) -> list[str]:
    """Return a line for each cluster whose expected dump is missing."""
    out = []
    for cluster in manifest.get("missing") or ():
        seen = "no report has one"
        if last := cluster.get("last_seen"):
            when = datetime.datetime.fromisoformat(last).astimezone(datetime.UTC)
            seen = f"the last was in the report of {when:%Y-%m-%d %H:%M} UTC"
        out.append(f"MISSING  {cluster['name']}: this run has no dump of it ({seen}); the cluster was not checked")
    return out


def stale_lines(stale: list[dict[str, Any]]) -> list[str]:
    """Return a line for each dump that is stale, or seems to be of another cluster."""
    out = []
    for dump in stale:
        name = f"{dump['cluster']}: {dump['source']}" if dump.get("cluster") else dump["source"]
        word, means = "STALE", "later changes of the cluster are not in it"
        if dump.get("is_other"):
            word, means = "OTHER", "it is of another cluster, or the cluster was restored from a backup in between"
        out.append(f"{word}  {name}: {dump['why']}; {means}")
    return out


def _parts(manifest: dict[str, Any]) -> list[str]:
    """Return the reasons that concern whole clusters, dumps, parts of dumps, or shards."""
    out = []
    if missing := manifest.get("missing"):
        out.append(
            f"{counted(len(missing), 'cluster')} without a dump ({_first([cluster['name'] for cluster in missing])})"
        )
    stale = stale_dumps(manifest)
    if others := different(dump["source"] for dump in stale if dump.get("is_other")):
        out.append(f"{counted(len(others), 'dump')} that may be of another cluster ({_first(others)})")
    if late := different(dump["source"] for dump in stale if not dump.get("is_other")):
        out.append(f"{counted(len(late), 'stale dump')} ({_first(late)})")
    damage = different((source["name"], Damage(**entry)) for source in manifest["inputs"] for entry in source["damage"])
    if damaged := [name for name, damage_entry in damage if not damage_entry.is_of_definitions]:
        out.append(f"{counted(len(damaged), 'part')} of dumps that could not be read ({_first(damaged)})")
    if unread := [
        damage_entry.where.removeprefix(UNREAD_DEFINITIONS)
        for _, damage_entry in damage
        if damage_entry.is_of_definitions
    ]:
        out.append(f"definitions in {counted(len(unread), 'file')} ({_first(unread)})")
    if lost := manifest["lost"]:
        unreached = [line for line in lost if line.endswith(NO_TIME)]
        if unreached:
            out.append(f"keys not reached before the time limit, --time ({_first(unreached)})")
        if len(unreached) < len(lost):
            out.append(f"keys given up: see {counted(len(lost) - len(unreached), 'line')} of LOST")
    if unread := [source["name"] for source in manifest["inputs"] if has_unread_notes(source["notes"])]:
        out.append(f"the parts of {_first(unread)} that were not read, as its notes say")
    return out


def different(items: Iterable[_Item]) -> list[_Item]:
    """Return items once each: a dump, and what is wrong with it, may be that of several clusters."""
    return list(dict.fromkeys(items))


def has_unread_notes(notes: Iterable[str]) -> bool:
    """Return whether one of the notes on a dump says that something in it was not read, or not for certain."""
    return any(map(_UNREAD.search, notes))


def unexpected(manifest: dict[str, Any]) -> int:
    """Return the number of keys that belong to no object, without the API servers' own bookkeeping keys."""
    counts = manifest["counts"]
    others: int = counts["statuses"].get(Status.OTHER, 0)
    return max(0, others - (counts.get("internal") or 0))


def _prefixes(manifest: dict[str, Any]) -> Iterable[str]:
    """Return the prefixes of the API servers that a report is of."""
    own = manifest["options"]["etcd_prefix"]
    return (
        dict.fromkeys(cluster["options"]["etcd_prefix"] for cluster in manifest["clusters"]) if own is None else (own,)
    )


def _first(names: list[str]) -> str:
    different = list(dict.fromkeys(names))
    more = len(different) - 3
    return ", ".join(different[:3]) + (f" and {more} more" if more > 0 else "")


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


@dataclass(frozen=True, slots=True)
class Unread:
    """A cluster without a dump, a part of a dump that was not read, keys that were given up, or a stale dump.

    Attributes:
        what: Which of them, one of `UNREAD_STATES`.
        cluster: The cluster; empty without a name.
        source: The dump as the user named it; empty if no dump is named.
        where: The part of the dump; empty for all of it.
        line: The line that people read.
    """

    what: Literal["missing", "damaged", "lost", "stale"]
    cluster: str
    source: str
    where: str
    line: str


def unread_of(manifest: dict[str, Any]) -> list[Unread]:
    """Return what the run of a manifest did not read, worst first; empty if it read everything."""
    own = manifest["options"].get("cluster") or ""
    lines = missing_lines(manifest)
    out = [
        Unread("missing", missing["name"], "", "", line)
        for missing, line in zip(manifest.get("missing") or (), lines, strict=True)
    ]
    for source in manifest["inputs"]:
        cluster = source.get("cluster") or own
        out += [
            Unread("damaged", cluster, source["name"], damage["where"], line)
            for damage, line in zip(source["damage"], damage_lines(source), strict=True)
        ]
    names = sorted((part["name"] for part in manifest.get("clusters") or ()), key=len, reverse=True)
    for text in manifest["lost"]:
        cluster = next((name for name in names if text.startswith(f"{name}: ")), own)
        out.append(Unread("lost", cluster, "", text, f"LOST  {text}"))
    stale = stale_dumps(manifest)
    out += [
        Unread("stale", dump.get("cluster") or own, dump["source"], "", line)
        for dump, line in zip(stale, stale_lines(stale), strict=True)
    ]
    return out


def clusters_of(manifest: dict[str, Any]) -> dict[str, bool]:
    """Return the clusters of a run, also those without a dump, by name, and whether each was read whole tonight.

    One cluster without a name is the empty text.
    """
    own = manifest["options"].get("cluster") or ""
    names = [part["name"] for part in manifest.get("clusters") or ()]
    names += [source.get("cluster") or own for source in manifest["inputs"]]
    names += [missing["name"] for missing in manifest.get("missing") or ()]
    unread = {part.cluster for part in unread_of(manifest)}
    return {name: name not in unread for name in dict.fromkeys(names)}


def count_or_none(count: int, *, is_whole: bool) -> int | None:
    """Return a count of what was read; None for a zero unless everything was read."""
    return count if count or is_whole else None
