"""`auditor query --certificates` and `--unhealthy`: rows about objects in place of the objects."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import TYPE_CHECKING, Any

from auditor.base.records import metadata_of
from auditor.base.wording import are, by_count, counted, objects
from auditor.printing.print_rows import print_rows
from auditor.printing.printer_columns import human_duration
from auditor.server.certificates import certificates_of
from auditor.server.health import problems_of
from pipelines.console import terminal_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.printing.get.options import Found, GetOptions


_TABLES = ("", "table", "wide")
_OF_PODS = ("apps", "batch")
"""Groups of kinds that make pods."""
_OBJECT = {"kind": "kind", "namespace": "namespace", "name": "name"}


def print_certificates(
    found: Iterable[Found], options: GetOptions, out: Callable[[str], None], err: Callable[[str], None]
) -> int:
    """Print the certificates in objects, the next to expire first; return how many cannot be read.

    Args:
        found: The objects.
        options: The form of the rows, and the time to which expiry is relative.
        out, err: Called with text for standard output and standard error.

    Raises:
        SourceError: The package `cryptography` is not installed.
    """
    clock = datetime.datetime.now(datetime.UTC)
    now = clock if options.now is None else datetime.datetime.fromtimestamp(options.now, datetime.UTC)
    rows = []
    for resource, obj in _objects(found):
        for certificate in certificates_of(obj):
            row = {**_place(resource, obj, options), "field": certificate.field}
            begins, expires = certificate.begins, certificate.expires
            if begins is None or expires is None:
                rows.append({**row, "reason": certificate.reason})
                continue
            row |= {"subject": certificate.subject, "issuer": certificate.issuer, "names": list(certificate.names)}
            row |= {"begins": _stamp(begins), "expires": _stamp(expires), "expired": expires < now}
            rows.append({**row, "until": _until(begins, expires, now)})
    rows.sort(key=lambda row: row.get("expires", ""))
    columns: dict[str, Any] = {
        **_columns(options),
        "field": "field",
        "subject": lambda row: row.get("subject") or ", ".join(row.get("names", ())),
        "issuer": lambda row: row.get("issuer", ""),
        "expires": lambda row: row.get("until") or f"not readable: {row['reason']}",
        "names": lambda row: row.get("names", ()),
    }
    _print(rows, columns, options, out, wide=("issuer", "names"), cut=("field",))
    if options.now_is and options.output in _TABLES and any("until" in row for row in rows):
        err(f"note: relative to {_stamp(now)}, {options.now_is}\n")
    unread = sum("reason" in row for row in rows)
    if unread:
        what = by_count(unread, "a certificate", "certificates")
        err(f"{counted(unread, 'value')} that should be {what} {are(unread)} not readable\n")
    elif not rows:
        err("No certificates found.\n")
    return unread


def _stamp(time: datetime.datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _until(begins: datetime.datetime, expires: datetime.datetime, now: datetime.datetime) -> str:
    """Return when a certificate expires, in words."""
    distance = human_duration(abs((expires - now).total_seconds()))
    text = f"{expires.date()} ({f'expired {distance} ago' if expires < now else f'in {distance}'})"
    return f"{text}, not valid before {begins.date()}" if begins > now else text


def print_unhealthy(
    found: Iterable[Found], options: GetOptions, out: Callable[[str], None], err: Callable[[str], None]
) -> int:
    """Print the objects that say that they are not healthy, and count those that do not tell; arguments as above."""
    rows = []
    total = 0
    silent: Counter[str] = Counter()
    for resource, obj in _objects(found):
        total += 1
        problems = problems_of(resource.group, resource.kind, obj)
        if problems is None:
            silent[resource.group_resource] += 1
        elif problems:
            whys, messages = ([text for text in dict.fromkeys(texts) if text] for texts in zip(*problems, strict=True))
            rows.append({**_place(resource, obj, options), "why": whys, "message": messages})
    rows.sort(key=_by_kind)
    columns: dict[str, Any] = {**_columns(options), "why": "why", "message": "message"}
    if options.output in ("", "table"):
        columns["why"] = lambda row: row["why"][0] + (f" (+{len(row['why']) - 1})" if len(row["why"]) > 1 else "")
        columns["message"] = lambda row: next(iter(row["message"]), "")
    _print(rows, columns, options, out, cut=("why", "message"))
    if not total:
        err("no such objects were found\n")
        return 0
    number, kinds = silent.total(), counted(len(silent), "kind")
    unknown = f"; {objects(number)} of {kinds} {by_count(number, 'does', 'do')} not show it" if number else ""
    err(f"{len(rows)} of {objects(total)} {are(total)} not healthy{unknown}\n")
    return 0


def _by_kind(row: JsonObject) -> Any:
    """Return where a row is sorted: pods first, then what makes them, other core kinds, and all others."""
    group, kind = row["group"], row["kind"]
    return (group, kind) != ("", "Pod"), group not in _OF_PODS, group != "", kind, row["namespace"], row["name"]


def _objects(found: Iterable[Found]) -> Iterator[tuple[Resource, JsonObject]]:
    return ((group.resource, obj) for group in found for obj in group.objects)


def _columns(options: GetOptions) -> dict[str, str]:
    return ({} if options.clusters is None else {"cluster": "cluster"}) | _OBJECT


def _place(resource: Resource, obj: JsonObject, options: GetOptions) -> dict[str, Any]:
    metadata = metadata_of(obj)
    return {
        **({} if options.clusters is None else {"cluster": options.clusters.cluster_of(obj)}),
        "group": resource.group,
        "kind": resource.kind,
        "namespace": str(metadata.get("namespace") or ""),
        "name": str(metadata.get("name") or ""),
    }


def _print(
    rows: list[dict[str, Any]], columns: dict[str, Any], options: GetOptions, out: Callable[[str], None], **more: Any
) -> None:
    form, width = options.output or "table", terminal_width()
    out("".join(print_rows(rows, columns, form, headers=options.headers, width=width, **more)))
