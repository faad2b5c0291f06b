"""`auditor refs`: which objects name an object, which are named by none, and which references name nothing."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from auditor.base.records import place_text
from auditor.base.wording import are, by_count, counted, first_of
from auditor.printing.print_rows import print_rows
from auditor.server.references import Reference, References, Target, is_at
from pipelines.console import terminal_width
from pipelines.run.objects.chosen_kinds import REFUSED, kinds_and_name, note_of_no_kind, refusal
from pipelines.run.objects.unknown_kinds import is_incomplete
from pipelines.run.query import open_dump
from pipelines.streams import ErrorLines, TextWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from pipelines.run.objects.query_options import QueryOptions


_COLUMNS = {"kind": "kind", "namespace": "namespace", "name": "name", "field": "field"}
_SHOWN = 3
"""Names at most that a note has."""
_USED_TYPES = frozenset(("bootstrap.kubernetes.io/token", "helm.sh/release.v1", "kubernetes.io/service-account-token"))
"""Types of Secrets that are found by their type, so that none is named by what uses it."""
_OF_VOLUME = "spec.claimRef"
"""The field in which a volume names its claim, which does not say that anything uses the claim."""


def run_refs(options: QueryOptions, *, dangling: bool, output: str) -> int:
    """Print references; return the exit code: 1 if neither the object exists nor a reference to it.

    Args:
        options: The dump or report, how it is read, and the object; none with `dangling`.
        dangling: Print the references to objects that do not exist.
        output: A form of rows.

    Raises:
        PlanError: The dump of a report is missing.
    """
    out, err = TextWriter(sys.stdout), ErrorLines()
    with open_dump(options, err) as store:
        references = References(store)
        missing: list[str] = []
        has_target_column = dangling
        if dangling:
            rows = _dangling(store, references, options.namespace, err)
        else:
            try:
                [resource], name = kinds_and_name(store.discovery, options.args, "refs", err)
            except REFUSED as error:
                return refusal(error, store, err)
            named = references.to(resource, options.namespace, name)
            rows = [_row(references, reference) for reference in named]
            targets = {reference.target for reference in named}
            existing = {
                place for place in references.existing([resource]) if is_at(place, resource, options.namespace, name)
            }
            asked = Target(resource.group, resource.plural, options.namespace if resource.namespaced else "", name)
            absent = {target for target in targets - existing if target.namespace or not resource.namespaced}
            missing = sorted(map(_target_text, absent or ([] if existing else [asked])))
            has_target_column = len(targets | existing) > 1
        columns = {**_COLUMNS, **({"refers to": "target"} if has_target_column else {})}
        out("".join(print_rows(rows, columns, output, cut=("field", "refers to"), width=terminal_width())))
        note_of_no_kind(store, references.kinds, "searched", err)
        incomplete = is_incomplete(store)
        if missing:
            dump = "what could be read of the dump" if incomplete else "the dump"
            err(f"{first_of(missing, _SHOWN)} {by_count(len(missing), 'does', 'do')} not exist in {dump}\n")
        if not rows and output in ("table", "wide"):
            err(f"No references found{' in what could be read of the dump' if incomplete else ''}.\n")
        return 3 if incomplete else int(bool(missing) and not rows)


def run_unnamed(options: QueryOptions, *, output: str) -> int:
    """Print the objects of some kinds that no known reference names; return the exit code.

    Args:
        options: The dump or report, how it is read, and the kinds.
        output: A form of rows.

    Raises:
        PlanError: The dump of a report is missing.
    """
    out, err = TextWriter(sys.stdout), ErrorLines()
    with open_dump(options, err) as store:
        references = References(store)
        try:
            kinds, _ = kinds_and_name(store.discovery, options.args, "refs", err)
        except REFUSED as error:
            return refusal(error, store, err)
        named = {reference.target for reference in references.all() if reference.field != _OF_VOLUME}
        places = [
            (resource, place)
            for resource in kinds
            for place in sorted(references.existing([resource]))
            if not (options.namespace and resource.namespaced) or place.namespace == options.namespace
        ]
        types = references.secret_types
        unnamed = [
            (resource, place)
            for resource, place in places
            if place not in named and place._replace(namespace="") not in named
        ]
        in_use = Counter(types[place] for _, place in unnamed if types.get(place) in _USED_TYPES)
        rows = [
            {
                "kind": resource.kind,
                "group": resource.group,
                "namespace": place.namespace,
                "name": place.name,
                **({"type": types.get(place, "")} if _is_secret(resource) else {}),
            }
            for resource, place in unnamed
            if types.get(place) not in _USED_TYPES
        ]
        columns = ("kind", "namespace", "name", *(["type"] if any(map(_is_secret, kinds)) else []))
        out("".join(print_rows(rows, columns, output)))
        note_of_no_kind(store, references.kinds, "searched", err)
        incomplete = is_incomplete(store)
        count = in_use.total()
        if not rows and output in ("table", "wide") and (len(places) > count or not places):
            all_ = "the others" if in_use else "them"
            err(f"A reference names each of {all_}.\n" if places else "No resources found.\n")
        if in_use:
            secrets, their = counted(count, "Secret"), by_count(count, "its", "their")
            used = ", ".join(sorted(in_use))
            err(f"note: {secrets} that no reference names {are(count)} used by {their} type, not listed: {used}\n")
        _note_not_judged(references, "", err)
        for note in _limits(store, incomplete=incomplete) if rows else ():
            err(f"note: {note}\n")
        return 3 if incomplete else 0


def _is_secret(resource: Resource) -> bool:
    return resource.kind == "Secret" and not resource.group


def _limits(store: DumpStore, *, incomplete: bool) -> Iterator[str]:
    """Yield why an object that no reference names may be in use."""
    if incomplete:
        yield "part of the dump could not be read, and may refer to these objects"
    if any(source.is_export for source in store.plan.sources):
        yield "an export may lack objects that refer to these"
    yield (
        "a name in a text, a command, a template, a selector, a grant (resourceNames), or a field that is not named as "
        "one of a reference (secretName, tlsRef) is not known as a reference: these objects may be in use"
    )


def _target_text(target: Target) -> str:
    resource = f"{target.plural}.{target.group}" if target.group else target.plural
    return f"{resource} {place_text(target.namespace, target.name or '(without a name)')}"


def _row(references: References, reference: Reference) -> dict[str, Any]:
    return {
        "kind": reference.resource.kind,
        "group": reference.resource.group,
        "namespace": reference.namespace,
        "name": reference.name,
        "field": f"{reference.field}{' (another uid)' if references.is_of_another_uid(reference) else ''}",
        "target": _target_text(reference.target),
    }


def _dangling(store: DumpStore, references: References, namespace: str, err: ErrorLines) -> list[dict[str, Any]]:
    """Return the references to what does not exist; an export can tell that only of kinds that it has objects of.

    An owner with another uid is another object: the one that the reference names does not exist.
    """
    existing = references.existing()
    is_export = any(source.is_export for source in store.plan.sources)
    known = {(target.group, target.plural) for target in existing}
    anywhere = {target._replace(namespace="") for target in existing}
    unknown = 0
    candidates, somewhere = [], []
    for reference in references.all():
        target = reference.target
        if reference.is_optional or (namespace and reference.namespace != namespace):
            continue
        if target in existing and not reference.uid:
            continue
        if target not in existing and target in anywhere and not reference.uid:
            somewhere.append(reference)
            continue
        if is_export and (target.group, target.plural) not in known:
            unknown += 1
            continue
        candidates.append(reference)
    if unknown:
        what = f"{counted(unknown, 'reference')} to kinds that the export has no object of"
        err(f"note: {what} {are(unknown)} not checked\n")
    if somewhere:
        names = [f"{one.resource.kind} {place_text(one.namespace, one.name)} {one.field}" for one in somewhere]
        count = len(names)
        what = f"{counted(count, 'reference')} of objects without a namespace {by_count(count, 'does', 'do')}"
        err(f"note: {what} not name the namespace of an object that exists: unknown: {first_of(names, _SHOWN)}\n")
    _note_not_judged(references, namespace, err)
    return [
        _row(references, reference)
        for reference in candidates
        if reference.target not in existing or references.is_of_another_uid(reference)
    ]


def _note_not_judged(references: References, namespace: str, err: ErrorLines) -> None:
    """Report how many references of objects in a namespace do not tell their kind; empty for all."""
    not_judged = {
        place: count for place, count in references.not_judged.items() if not namespace or place[0] == namespace
    }
    if not_judged:
        count = sum(not_judged.values())
        kinds = first_of(sorted({kind for _, kind in not_judged}), _SHOWN)
        err(f"note: {counted(count, 'reference')} to unknown or ambiguous kinds {are(count)} not judged: {kinds}\n")
