"""What differs between the clusters of a fleet: keys, definitions, gates; from placeholders in options, or a file.

A file of a fleet (`--fleet FILE`) lists its clusters:

    clusters:
      - name: prod
        dump: /backups/prod/latest.db
        encryptionConfig: enc/prod.yaml
        crds: [crds/prod]
        sidecars: [gates/prod.yaml]
        fieldGates: Name=true
        kubernetes: "1.37"
        featureGates: CRDValidationRatcheting=false

Paths in it are relative to the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import AuditorError, PlanError
from auditor.base.given_file import irregular, read_given
from auditor.releases import active, find_release, running_as
from auditor.sources.stores.locations import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.plan.options import AuditOptions


PLACEHOLDER: Final = re.compile(r"\{(\w*)\}")
"""A part of an option that stands for the name of a dump, such as {1}, {name} or {parent}."""
_KEYS: Final = frozenset({
    "name", "dump", "encryptionConfig", "crds", "sidecars", "fieldGates", "featureGates", "kubernetes",
})  # fmt: skip
_LISTS: Final = frozenset({"crds", "sidecars"})


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Options of one cluster; None means those of the run.

    Attributes:
        encryption_config: EncryptionConfiguration of its API server.
        crds: Its definitions.
        gate_sidecars: Files of its field-level gates.
        field_gates: Its gates of definitions.
        ratcheting: Whether its API server has CRDValidationRatcheting on.
        kubernetes: Release of its API server.
        etcd_prefix: Prefix of its keys, where several API servers share the dump.
    """

    encryption_config: str | None = None
    crds: tuple[str, ...] | None = None
    gate_sidecars: tuple[str, ...] | None = None
    field_gates: str | None = None
    ratcheting: bool | None = None
    kubernetes: str | None = None
    etcd_prefix: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the cluster has no options of its own, beside its prefix."""
        return replace(self, etcd_prefix=None) == ClusterSettings()

    def applied_to(self, options: AuditOptions) -> AuditOptions:
        """Return the options of a run with those of the cluster in their place."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name) is not None}
        return replace(options, **own)


def settings_of(options: AuditOptions, fill: Callable[[str], str]) -> ClusterSettings:
    """Return the options of a cluster that have placeholders.

    Args:
        options: The options of the run.
        fill: Returns a text with its placeholders filled in for the dump of the cluster.
    """

    def has(text: str) -> bool:
        return PLACEHOLDER.search(text) is not None

    def filled(texts: tuple[str, ...]) -> tuple[str, ...] | None:
        return tuple(map(fill, texts)) if any(map(has, texts)) else None

    config = options.encryption_config
    return ClusterSettings(
        encryption_config=fill(config) if has(config) else None,
        crds=filled(options.crds),
        gate_sidecars=filled(options.gate_sidecars),
    )


def read_fleet(path: str) -> list[tuple[str, str, ClusterSettings]]:
    """Return the name, the dump and the options of each cluster that a file of a fleet lists.

    Raises:
        PlanError: It cannot be read, or has another form.
    """
    from auditor.sources.yaml import yaml_to_json  # noqa: PLC0415 - only when asked

    expected = "clusters: a list of {name, dump, ...}"
    try:
        content: Any = yaml_to_json(read_given(path))
    except OSError as error:
        raise PlanError("--fleet", f"{path} cannot be read: {error.strerror}", expected) from error
    except (ValueError, AuditorError) as error:
        raise PlanError("--fleet", f"{path}: {error}", expected) from error
    entries = content.get("clusters") if type(content) is dict else None
    if type(entries) is not list or not entries or content.keys() != {"clusters"}:
        raise PlanError("--fleet", f"{path} lists no clusters", expected)
    entries_ = [_entry(path, number, entry) for number, entry in enumerate(entries, 1)]
    names = [name for name, _, _ in entries_]
    if double := next((name for name in names if names.count(name) > 1), ""):
        raise PlanError("--fleet", f"{path} lists the cluster {double} twice", "a name for each")
    return entries_


def _entry(path: str, number: int, entry: Any) -> tuple[str, str, ClusterSettings]:
    where = f"{path}, cluster {number}"
    if type(entry) is not dict or not {"name", "dump"} <= entry.keys():
        raise PlanError("--fleet", f"{where} has no name and dump", "name: NAME, dump: PATH")
    if unknown := sorted(entry.keys() - _KEYS):
        raise PlanError("--fleet", f"{where} has an unknown key {unknown[0]!r}", f"one of {', '.join(sorted(_KEYS))}")
    for key, value in entry.items():
        good = type(value) is list and all(type(item) is str for item in value) if key in _LISTS else type(value) is str
        if not good or not value:
            raise PlanError("--fleet", f"{where}: {key} is {value!r}", "a list of paths" if key in _LISTS else "a text")

    def here(name: str) -> str:
        if is_remote(name):
            return name
        below = str(Path(path).parent / name)
        if kind := irregular(below):
            raise PlanError("--fleet", f"{where}: {below} {kind}", "a file or folder")
        return below

    def several(key: str) -> tuple[str, ...] | None:
        return tuple(map(here, entry[key])) if key in entry else None

    release = find_release(entry["kubernetes"]) if "kubernetes" in entry else None
    ratcheting = None
    if "featureGates" in entry:
        from auditor.plan.feature_gates import parse_feature_gates  # noqa: PLC0415

        with running_as(release or active()):
            ratcheting = parse_feature_gates(entry["featureGates"])
    settings = ClusterSettings(
        encryption_config=here(entry["encryptionConfig"]) if "encryptionConfig" in entry else None,
        crds=several("crds"),
        gate_sidecars=several("sidecars"),
        field_gates=entry.get("fieldGates"),
        ratcheting=ratcheting,
        kubernetes=None if release is None else release.name,
    )
    return entry["name"], here(entry["dump"]), settings
