"""The options that no field of a run declares (`auditor.plan.options` declares the others), each once, by name."""

from __future__ import annotations

from typing import Any, Final

from auditor.plan.declared import COUNTS, SHOWS, WRITES, Declared
from auditor.plan.options import SEVERITIES
from auditor.printing.print_rows import FORMS, NDJSON

_SECRETS: Final = "it shows the values of Secrets"
_CAN_WRITE: Final = "it can write a file"
_POINT: Final = "40, 2026-11-25T02:03:04Z, or 2h for two hours before the newest time in the dump"


def _of_format(text: str) -> list[str]:
    """Return the file of `-o FORMAT=FILE`."""
    target = text.partition("=")[2]
    return [target] if target else []


def _of_query(text: str) -> list[str]:
    return _of_format(text) if text.startswith("parquet=") else []


def _of_plan(text: str) -> list[str]:
    base = text.removesuffix(".json").removesuffix(".sh")
    return [f"{base}.json", f"{base}.sh"]


def _off(words: str, text: str, effect: str = SHOWS, **more: Any) -> Declared:
    """Return a switch that is off."""
    return Declared(words, text, effect, default=False, **more)


def _many(words: str, text: str, effect: str = COUNTS, **more: Any) -> Declared:
    """Return an option that can be given several times."""
    return Declared(words, text, effect, (), **more)


TABLE: Final[dict[str, Declared]] = {
    # the report of an audit, and its log
    "report_root": Declared(
        "--report-root DIR",
        "Instead of --report: folder or URL for dated reports, locked while a run writes there.",
        WRITES,
        own_place=True,
    ),
    "report_name": Declared(
        "--report-name TEMPLATE",
        "With --report-root: name of the report, from the start of the run in UTC.",
        WRITES,
        "{date}T{time}Z",
        own_place=True,
    ),
    "keep_reports": Declared(
        "--keep-reports N|AGE",
        "With --report-root: remove all but the newest 30, or those older than 90d  [default: keep all]",
        "it removes reports",
        form="keep",
    ),
    "no_lock": _off(
        "--no-lock",
        "With --report-root: do not keep other runs out.",
        "two runs could write at the same time",
    ),
    "since": Declared("--since REPORT", "", SHOWS, None, form="gone_since", hidden=True, eager=True),
    "dry_run": _off("--dry-run", "With --report-root: print what would be written, compared and removed.", COUNTS),
    "notify": _many(
        "--notify URL",
        "Send a short message about the run: https:// gets JSON, slack+https:// a Slack payload, "
        "smtp://HOST?from=A&to=B a mail. A failure changes no result.",
        "it sends a message about the run to another machine",
    ),
    "outputs": _many("-o --output outputs FORMAT[=FILE]", "", WRITES, writes=_of_format),
    "log_format": Declared("--log-format", "Form of the log on standard error.", SHOWS, "text", form=("text", "json")),
    "quiet": _off("-q --quiet", "Print nothing but warnings and errors if the exit code is 0."),
    "verbose": _off("-v --verbose", "Log each source and phase too."),
    # which objects
    "all_namespaces": _off("-A --all-namespaces", "All namespaces (the default; accepted as kubectl does).", COUNTS),
    "clusters_of_report": _many("--cluster clusters NAME", "Only these clusters of the report of several."),
    "where": Declared("--where CEL", "Only objects for which this CEL expression is true.", COUNTS),
    "any_field": _off("--any-field", "Let --field-selector use any path, not only the server's fields."),
    "as_of": Declared(
        "--as-of REV|TIME", f"The state after this revision, or at this time: {_POINT}.", COUNTS, form="point"
    ),
    "first": Declared(
        "--from first REV|TIME", f"Only writes from this revision or time on: {_POINT}.", COUNTS, form="point"
    ),
    "last": Declared("--to last REV|TIME", "Only writes up to this revision or time.", COUNTS, form="point"),
    "limit": Declared("--limit", "At most this many objects of each kind.", COUNTS, None, form=0),
    "ignore_not_found": _off("--ignore-not-found", "Print nothing about objects that do not exist.", COUNTS),
    "as_server": _off("--as-server", "Fail as `kubectl get` does if one object of a kind is broken.", COUNTS),
    "chunk_size": Declared(
        "--chunk-size",
        "With --as-server: objects that a LIST asks for at once; 0: all, as controllers do, which more objects break.",
        COUNTS,
        500,
        form=0,
    ),
    "no_watch_cache": _off("--no-watch-cache", "List by key, as a server without watch cache does.", COUNTS),
    "subresource": Declared("--subresource NAME", "The object through a subresource: status or scale.", COUNTS),
    "dumps": _many("--dump dumps DUMP", "Where the dump of REPORT is now."),
    "save_index": Declared(
        "--save-index DIR",
        "Audit DUMP into DIR first, and answer from its index.",
        WRITES,
        own_place=True,
    ),
    "about": Declared("--for about KIND/NAME", "Only events about this object and what it owns.", COUNTS),
    "events_since": Declared(
        "--since AGE",
        "Only events seen within this time, such as 90m, before the newest time; in an export that of an event.",
        COUNTS,
        form="age",
    ),
    "types": _many("--types TYPES", "Only events of these types: Normal, Warning."),
    "by_namespace": Declared(
        "--by by_namespace", "A row for each kind and namespace.", SHOWS, None, form=("namespace",)
    ),
    "deleting": _off(
        "--deleting", "Print the objects that are being deleted, and the finalizers they wait for.", COUNTS
    ),
    "biggest": Declared("--biggest N", "Print the N objects with the largest values.", COUNTS, None, form=1),
    "api_version": Declared("--api-version GROUP/VERSION", "The version to explain.", COUNTS),
    # how they are printed
    "output": Declared("-o --output", "", SHOWS, "table", form=FORMS),
    "output_of_query": Declared(
        "-o --output FORMAT",
        f"{FORMS[0]} (default), {', '.join(FORMS[1:])}, name, parquet[=FILE], jsonpath=..., "
        "jsonpath-as-json=..., jsonpath-file=FILE, custom-columns=..., custom-columns-file=FILE",
        _CAN_WRITE,
        writes=_of_query,
    ),
    "output_of_sql": Declared(
        "-o --output FORMAT",
        f"{', '.join(FORMS)}, parquet[=FILE]; wide cuts no cells.",
        _CAN_WRITE,
        "table",
        form="output_of_sql",
        writes=_of_query,
    ),
    "output_with_formats": _many("-o --output FORMAT[=FILE]", "", _CAN_WRITE, writes=_of_format),
    "output_of_manifests": Declared("-o --output shown_as", "", SHOWS, "yaml", form=("yaml", "json", NDJSON)),
    "shown_as": Declared(
        "--as shown_as read|stored|VERSION",
        "Print objects as a server reads them, as they are stored, or at a version.",
        SHOWS,
        "read",
    ),
    "lines": Declared("--lines", "Lines at most; 0 prints all.", SHOWS, 24, form=0),
    "color": Declared(
        "--color",
        "auto: on a terminal, unless NO_COLOR is set.",
        SHOWS,
        "auto",
        form=("auto", "always", "never"),
    ),
    "explain": _off("--explain", "Print where each part of the query ran, and how many rows each step left."),
    "max_scan": Declared("--max-scan ROWS", "Fail rather than read more rows of a kind.", SHOWS, None, form=0),
    "template": Declared("--template TEXT", "Template or its file, if not after -o FORMAT=.", SHOWS),
    "sort_by": Declared("--sort-by PATH", "Sort by a path, e.g. .spec.size, as kubectl compares.", SHOWS),
    "label_columns": _many("-L --label-columns KEYS", "Labels to show as columns.", SHOWS),
    "show_labels": _off("--show-labels", "Show all labels as the last column."),
    "show_kind": _off("--show-kind", "Print the kind before names."),
    "no_headers": _off("--no-headers", "No header line."),
    "dangling": _off("--dangling", "Print the references to objects that do not exist.", COUNTS),
    "count": _off("--count", "Print only the number of objects."),
    "count_by": Declared(
        "--count-by PATH", "Print how many objects have each value at this JSONPath: .spec.containers[*].image", SHOWS
    ),
    "certificates": _off("--certificates", "Print the X.509 certificates in the objects, by expiry.", COUNTS),
    "unhealthy": _off("--unhealthy", "Print the objects that say that they are not healthy, and why.", COUNTS),
    "show_managed_fields": _off("--show-managed-fields", "Print managedFields in json and yaml."),
    "show_secrets": _off("--show-secrets", "Print the values of Secrets; otherwise they are redacted.", _SECRETS),
    "server_print": Declared(
        "--server-print/--no-server-print", "Columns of the kind, or only NAME and AGE.", SHOWS, default=True
    ),
    "strict_templates": _off("--strict-templates", "Missing fields are errors in jsonpath."),
    "allow_missing_template_keys": Declared(
        "--allow-missing-template-keys/--no-allow-missing-template-keys",
        "kubectl's name of --strict-templates.",
        SHOWS,
        default=True,
        hidden=True,
    ),
    "now": Declared(
        "--now TIME",
        "Ages relative to this time; `now` for the clock.  "
        "[default: the newest time in a snapshot or backup, the clock for other exports]",
        SHOWS,
        form="moment",
    ),
    "watch": _off("-w --watch", "", hidden=True),
    "watch_only": _off("--watch-only", "", COUNTS, hidden=True),
    "output_watch_events": _off("--output-watch-events", "", hidden=True),
    "raw": Declared("--raw", "", COUNTS, hidden=True),
    "recursive": _off("--recursive", "All fields below, a line for each."),
    "max_depth": Declared("--max-depth", "With --recursive: at most so many levels; 0: all.", SHOWS, 0, form=0),
    "values": _off("--values", "Print the distinct values, and how many objects have each."),
    "gone_history": _off("--history gone_history", "", hidden=True, eager=True, form="gone_history"),
    "gone_diff": _off("--diff gone_diff", "", hidden=True, eager=True, form="gone_history"),
    "writers": _off("--writers", "Print who wrote each field when, the newest write first."),
    "as_diff": _off("--diff as_diff", "Print the lines of each object's YAML that a write changed."),
    "costs": _off("--costs", "Print the estimated cost of every validation rule."),
    "openapi": _off("--openapi", "Print the OpenAPI v3 schema that discovery publishes of each kind."),
    # findings of a report
    "clusters_of_fleet": _many("--cluster NAME", "Only these clusters of a fleet."),
    "namespaces": _many("-n --namespace GLOB", "Only these namespaces."),
    "kind": _many("--kind GLOB", "Only these kinds: KIND or KIND.group."),
    "severities": _many("--severity", "Only these severities.", form=SEVERITIES),
    "against": Declared("--against OLD", "Compare all findings with those of this earlier report.", COUNTS),
    "change": _many("--change", "Only these changes (--diff).", form=("new", "more", "same", "fixed", "not-rechecked")),
    "owner": _many("--owner GLOB", "Only objects of these owners."),
    # what `auditor accept` writes
    "reason": Declared("--reason", "Why the findings are accepted.", SHOWS, required=True),
    "until": Declared("--until DATE", "Last day on which they are accepted (UTC).", COUNTS, form="day", required=True),
    "decided_by": Declared("--owner", "Person or team that decided it.", COUNTS),
    "in_namespaces": Declared("-n --namespace GLOB", "Only in these namespaces.", COUNTS),
    "in_clusters": Declared("--cluster GLOB", "Only in these clusters.", COUNTS),
    "name": Declared("--name GLOB", "Only objects of these names.", COUNTS),
    "allow_critical": _off("--allow-critical", "Accept critical findings too.", "it decides which findings count"),
    "report_of_cause": Declared("--report REPORT", "Look the cause up there; its id may be shortened then.", WRITES),
    "file": Declared("--file", "File to add the entry to.", WRITES, "accept.yaml", writes=lambda text: [text]),
    # definitions and manifests
    "old_definitions": _many("--old PATH", "Stored definitions: check PATH as updates of them."),
    "names": _many("--name names NAME", "Only definitions of this name (PLURAL.GROUP)."),
    "paths": _many("--crds paths PATH", "Definitions; they replace the dump's by name."),
    "how": Declared(
        "--apply how",
        "How manifests in NEW are applied to objects of OLD.",
        COUNTS,
        "merge",
        form=("merge", "replace"),
    ),
    "namespace_of_manifests": Declared(
        "-n --namespace NAME", "Namespace of objects that name none; another one is an error.", COUNTS, None
    ),
    "field_validation": Declared(
        "--field-validation",
        "What unknown and duplicate fields are.",
        COUNTS,
        "Strict",
        form=("Strict", "Warn", "Ignore"),
    ),
    "ignore_missing": _off("--ignore-missing", "Pass over objects of kinds that have no definition.", COUNTS),
    "skip_others": _off("--skip-others", "Pass over documents with neither apiVersion nor kind; count them.", COUNTS),
    # upgrades
    "new_crds": _many("--new-crds PATH", "New definitions: file, folder, Helm chart, dump, or - (e.g. helm template)."),
    "to_kubernetes": Declared(
        "--to-kubernetes RELEASE",
        "Release of the API server after the upgrade, such as 1.38; alone or with --new-crds. Also lists removed and "
        "deprecated versions of kinds.",
        COUNTS,
    ),
    "helm_releases": _off(
        "--helm-releases",
        "With --to-kubernetes: look for removed versions in manifests of deployed Helm releases, too.",
        COUNTS,
    ),
    "helm_release": Declared(
        "--helm-release NAME",
        "Release that `helm upgrade` is run on, if it is not the one of the chart: NAME or NAMESPACE/NAME.",
        COUNTS,
    ),
    "via": _many("--via PATH", "Definitions of a release between: scan the two hops."),
    "plan_file": Declared("--plan plan_file FILE", "Write the plan as FILE.json and FILE.sh.", WRITES, writes=_of_plan),
    "old_crds": _many("--old-crds PATH", "Today's definitions; they replace the dump's by name."),
    "missing": Declared(
        "--missing",
        "What happens to definitions that are not among the new ones.",
        COUNTS,
        "keep",
        form=("keep", "delete"),
    ),
    "assume_formats": _many(
        "--assume-format assume_formats FORMAT=KNOWN",
        "Count the values that would fail if a format unknown to this release were, e.g., dns1123subdomain.",
    ),
    "old_sidecar": _many("--old-sidecar FILE", "The same for today's definitions.", hidden=True),
}
"""By name of the parameter; where options of one parameter differ, by what tells them apart."""
