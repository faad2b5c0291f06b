"""What a configuration does that no --config names: each option of each command is in one of three tables, by effect.

What reaches beyond the run is refused, what changes which objects or findings count is ignored aloud, what only shows
is set. An option that is in no table is refused; a test checks that there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import click

__all__ = ["COUNTING", "REACHING", "SHOWING", "is_counting", "refused_unnamed"]

REACHING: Final = {
    "kms_decryptor": "it runs a command",
    "convert_with": "it runs a command",
    "render": "it runs a command",
    "encryption_config": "it reads keys",
    "plan_file": "it decides what is written, and where",
    "show_secrets": "it shows the values of Secrets",
    "report": "it decides what is written, and where",
    "outputs": "it decides what is written, and where",
    "report_root": "it decides what is written, and where",
    "report_name": "it decides what is written, and where",
    "keep_reports": "it removes reports",
    "no_lock": "two runs could write at the same time",
    "force": "it removes files",
    "redact": "it decides which values are written",
    "report_mode": "it decides who can read the report",
    "save_index": "it decides what is written, and where",
    "query output": "it can write a file",
    "upgrade output": "it can write a file",
    "validate output": "it can write a file",
    "insecure_http": "it reads data that others can change in transit",
    "engine": "it decides which machines get the dumps",
    "ray_address": "it decides which machines get the dumps",
    "since": "its rows would be reused as results of this run",
    "diff": "the findings in it would count as known",
    "accept file": "it decides what is written, and where",
    "allow_critical": "it decides which findings count",
    "cache": "it decides what is written, and where",
    "history": "it decides what is written, and where",
    "keep_history": "it removes files",
    "notify": "it sends a message about the run to another machine",
    "fleet": "it names keys, and the clusters that must have a dump",
    "clusters": "a cluster missing from it would not be reported",
}
"""Options that run commands, write, remove, read secrets, contact other machines or trust others' findings, and why.

By name, or by command and name if options of one name differ.
"""

COUNTING: Final = frozenset({
    # which definitions and which dumps; as which release, by which gates
    "apply", "assume_formats", "at", "crds", "dumps", "feature_gates", "field_gates", "field_validation", "how",
    "kubernetes", "missing", "new_crds", "old", "old_crds", "old_sidecar", "paths", "sidecar", "source",
    "to_kubernetes", "via",
    # which objects
    "about", "after", "all_namespaces", "api_group", "api_version", "as_of", "as_server", "categories", "cluster",
    "etcd_prefix", "exclude", "fields", "helm_release", "helm_releases", "ignore_missing", "ignore_not_found",
    "include", "labels", "limit", "name", "names", "namespace", "namespaced", "no_watch_cache", "raw", "salvage",
    "subresource", "types", "verbs", "watch_only", "where",
    # which checks, and for how long
    "dry_run", "memory", "skip", "skip_others", "time_in_all", "time_per_object", "verify_proven", "verify_sample",
    # which findings, and for whom
    "accept", "audit severity", "change", "fail_on", "fail_on_sealed", "fail_on_standing", "findings severity", "kind",
    "max_age", "max_new", "only_new", "owner", "owners", "require_change", "until",
})  # fmt: skip
"""Options that change which objects or findings count, in an audit or in a list; named as in `REACHING`."""

SHOWING: Final = frozenset({
    "allow_missing_template_keys", "any_field", "as_diff", "chunk_size", "color", "costs", "count", "explain",
    "explain_program", "jobs", "label_columns", "lines", "log_format", "max_depth", "max_scan", "no_cache",
    "no_headers", "now", "openapi", "output", "output_watch_events", "quiet", "reason", "recursive", "server_print",
    "show_kind", "show_labels", "show_managed_fields", "shown_as", "sort_by", "strict_templates", "template", "values",
    "verbose", "watch", "with_history",
})  # fmt: skip
"""Options that change only how something is shown or made, unless the value is a URL; named as in `REACHING`."""


def refused_unnamed(command: tuple[str, ...], option: click.Option, value: Any) -> str:
    """Return why a file that was not given with --config may not set an option; empty if the file is no danger."""
    names = _names(command, option)
    for each in names:
        if each in REACHING:
            return f"only a file given with --config may set this ({REACHING[each]})"
    if COUNTING.isdisjoint(names) and SHOWING.isdisjoint(names):
        return "only a file given with --config may set this"
    several = value if isinstance(value, list) else [value]
    if any("://" in each for each in several if isinstance(each, str)):
        return "only a file given with --config may set a URL"
    return ""


def is_counting(command: tuple[str, ...], option: click.Option) -> bool:
    """Return whether an option changes which objects or findings count: a file that was found does not set it."""
    return not COUNTING.isdisjoint(_names(command, option))


def _names(command: tuple[str, ...], option: click.Option) -> tuple[str, str]:
    return " ".join((*command, str(option.name))), str(option.name)
