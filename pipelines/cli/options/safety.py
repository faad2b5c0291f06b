"""The options that a configuration may set without --config: each option of each command is in one of two tables.

An option that is in neither is refused; a test checks that there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import click

__all__ = ["HARMLESS", "REACHING", "refused_unnamed"]

REACHING: Final = {
    "kms_decryptor": "it runs a command",
    "convert_with": "it runs a command",
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
    "accept": "findings in it would not count",
    "audit severity": "it decides which findings count",
    "accept file": "it decides what is written, and where",
    "allow_critical": "it decides which findings count",
    "cache": "it decides what is written, and where",
    "history": "it decides what is written, and where",
    "keep_history": "it removes files",
    "notify": "it sends a message about the run to another machine",
    "max_new": "it decides which findings count",
    "fail_on_standing": "it decides which findings count",
    "fleet": "it names keys, and the clusters that must have a dump",
    "clusters": "a cluster missing from it would not be reported",
}
"""Options that run commands, write, remove, read secrets, contact other machines or trust others' findings, and why.

By name, or by command and name if options of one name differ.
"""

HARMLESS: Final = frozenset({
    # what is read or shown, and how much of it; which local files
    "all_namespaces", "any_field", "as_of", "as_server", "cluster", "costs", "count", "crds", "dumps", "exclude",
    "explain", "explain_program", "after", "fields", "ignore_not_found", "include", "label_columns", "labels", "limit",
    "max_scan", "names", "namespace", "new_crds", "no_headers", "no_watch_cache", "old", "old_crds", "old_sidecar",
    "openapi", "no_cache",
    "output", "paths", "salvage", "server_print", "show_kind", "show_labels", "show_managed_fields", "shown_as",
    "sidecar", "sort_by", "source", "strict_templates", "values", "where", "about", "allow_missing_template_keys",
    "api_group", "api_version", "as_diff", "categories", "chunk_size", "with_history", "max_depth", "namespaced", "now",
    "output_watch_events", "raw", "recursive", "subresource", "template", "types", "verbs", "watch", "watch_only",
    # how objects are checked, which the summary and the manifest report
    "apply", "assume_formats", "at", "etcd_prefix", "fail_on", "fail_on_sealed", "feature_gates", "field_gates",
    "field_validation", "helm_releases", "how", "ignore_missing", "kubernetes",
    "change", "color", "kind", "lines", "owner", "owners", "severity", "name", "reason", "until",
    "dry_run", "jobs", "log_format", "max_age", "memory", "missing", "only_new", "quiet", "require_change", "skip",
    "time_in_all", "time_per_object", "to_kubernetes", "verbose", "verify_proven",
    "verify_sample", "via",
})  # fmt: skip
"""Options that do none of this unless the value is a URL, by name."""


def refused_unnamed(command: tuple[str, ...], option: click.Option, value: Any) -> str:
    """Return why a configuration may not set an option without --config; empty if it may."""
    name = str(option.name)
    for each in (" ".join((*command, name)), name):
        if each in REACHING:
            return f"only a file given with --config may set this ({REACHING[each]})"
    if name not in HARMLESS:
        return "only a file given with --config may set this"
    several = value if isinstance(value, list) else [value]
    if any("://" in each for each in several if isinstance(each, str)):
        return "only a file given with --config may set a URL"
    return ""
