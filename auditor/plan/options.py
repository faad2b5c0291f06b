"""The options of one audit, as one picklable record: those that verdicts depend on, and those of the run."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Final

from auditor.releases import Release, active, find_release

__all__ = ["FAIL_ON", "NEVER", "SEVERITIES", "AuditOptions", "RunOptions", "Scope", "VerdictOptions"]

FAIL_ON = ("never", "unreadable", "blocked", "data-loss", "invalid")
"""Levels of --fail-on; each includes those before it. Severities of causes are further levels."""
NEVER = FAIL_ON[0]
SEVERITIES = ("critical", "high", "medium", "low")
"""Severities of causes, worst first."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The objects that are judged. Empty means all; kinds are written KIND.group, KIND or plural.group."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def is_everything(self) -> bool:
        """Whether all objects are judged."""
        return not (self.namespace or self.labels or self.fields or self.include or self.exclude)


CONTENT: Final = {"counts": "content"}
"""Metadata of a field that names files: the fingerprint uses their content, not their names."""
UNNAMED: Final = {"unnamed": "1.37"}
"""Metadata of the field for the release: earlier auditors, which had no such option, reproduced this release."""
GIVEN: Final = {"counts": "given"}
"""Metadata of a field that enters the fingerprint only as set or not set."""


@dataclass(frozen=True)
class VerdictOptions:
    """The options that the rows of an object depend on.

    The fingerprint of a report is made of all of them (`auditor.plan.state.fingerprint`): a report whose options differ
    in one of them is not reused.

    Attributes:
        at: stored, storage, served, or the name of a version.
        at_of_exports: The same for objects of exports. They were converted when they were read: without --at
            they are judged at the version that they are in.
        etcd_prefix: Prefix of the API server's keys.
        skip: Checks that are skipped to save time: ``rules`` (counted and named as not evaluated) or ``updates``; with
            either, verdicts and codes of updates are null; ``builtin``: values of built-in kinds are not decoded.
        ratcheting: Whether the server has CRDValidationRatcheting on; always on since Kubernetes 1.33.
        field_gates: Gates of definitions to be on or off in this run, as ``Name=true,Other=false``.
        gate_sidecars: Files of field-level gates by name of the definition; they count before manifests.
        encryption_config: EncryptionConfiguration of the API server; empty if there is none.
        redact: Whether values of objects are left out of the report.
        convert_with: Command that converts objects in the place of conversion webhooks; empty if there is none.
        old: Dumps of the state before, with which those of `dumps` are compared; empty if there is none.
        apply: How a manifest changes an object of the state before: merge or replace.
        scope: Which objects count.
        kubernetes: Release of the API server, such as 1.37.
    """

    at: str = "storage"
    at_of_exports: str = "stored"
    etcd_prefix: str = "/registry"
    skip: tuple[str, ...] = ()
    ratcheting: bool = True
    field_gates: str = ""
    gate_sidecars: tuple[str, ...] = field(default=(), metadata=CONTENT)
    encryption_config: str = field(default="", metadata=CONTENT)
    redact: bool = False
    convert_with: str = ""
    old: tuple[str, ...] = field(default=(), metadata=GIVEN)
    apply: str = "merge"
    scope: Scope = Scope()
    kubernetes: str = field(default_factory=lambda: active().name, metadata=UNNAMED)

    @property
    def release(self) -> Release:
        """The release of the API server."""
        return find_release(self.kubernetes)

    @property
    def judges_updates(self) -> bool:
        """Whether there are verdicts on updates: without the rules they would be wrong."""
        return not {"rules", "updates"} & set(self.skip)


@dataclass(frozen=True)
class RunOptions:
    """The options of input, output and processes; the rows of an object do not depend on them.

    Attributes:
        dumps: Files or folders as the user named them; ``-`` is standard input.
        crds: Files or folders with definitions that replace those of the dump by name.
        render: Whether charts among them are rendered by `helm template`.
        report: Folder to write.
        jobs: Worker processes; 1 runs everything in this process. With Ray: most tasks at a time; 0: no bound.
        engine: processes, inline (everything in this process) or ray.
        ray_address: The address of the Ray cluster, as `ray.init` takes it; empty: Ray's own choice.
        report_mode: Permissions of its files in octal; empty means those of the dumps, the strictest of them.
        fail_on_sealed: Whether values that no key was given for make the exit code 1.
        kms_decryptor: Command that unwraps data keys of KMS providers; empty if there is none.
        source: Format of the dumps; empty: detected from their content.
        salvage: For damaged databases, also take what no tree of pages reaches any more.
        since: An earlier report whose results are reused for unchanged objects; empty if there is none.
        verify_sample: Share of the unchanged objects that are audited again and must give the reused rows.
        verify_proven: Share of the objects proven valid by generated code that the reference judges again and must
            confirm; their bytes alone decide which ones.
        diff: An earlier report with which findings are compared; empty if there is none.
        only_new: Only findings that are not in `diff` count for the exit code.
        severity: Overrides of severities, as `auditor.report.findings.severity` reads them.
        accept: File of accepted findings; empty if there is none.
        most_new: Limits of new objects by severity, as `auditor.report.findings.exit_code` reads them.
        fail_on_standing: Whether known faults that break a kind make the exit code 1 with `only_new`.
        owners: File that names the teams of objects; empty if there is none.
        history: Folder or URL of the history that the run is added to; empty if there is none.
        keep_history: Runs that the history keeps.
        clusters: A file with the names of all clusters that should send a dump; empty means those of earlier reports.
        fleet: A file that lists the clusters of a fleet, each with its dump and its own options; empty if there is
            none.
        prefixes: Prefixes of the API servers that share the dumps, each a cluster of the run; empty if there is one.
        max_age: Most seconds since a dump was changed; None for any.
        require_change: Whether a dump that is no newer than that of the earlier report makes the exit code 3.
        in_fleet: The run audits one cluster of a fleet, whose reports are combined later.
        shard_bytes: Bytes of values that a shard is to stay below; the cut does not depend on the number of workers.
        shard_rows: Number of rows without values that are as much work as `shard_bytes`.
        memory: Bytes that all processes may hold together; 0: no bound.
        seconds_per_object: Limit of processor time for the rules of one object. The result of an object beyond it is
            not reused.
        cache: Folder that caches what is computed from definitions; empty means no cache.
        until: Time (as of `time.time`) after which no object is judged; 0: no limit.
    """

    dumps: tuple[str, ...]
    crds: tuple[str, ...] = ()
    render: bool = False
    report: str = ""
    jobs: int = 1
    engine: str = "processes"
    ray_address: str = ""
    report_mode: str = ""
    force: bool = False
    fail_on: str = "invalid"
    fail_on_sealed: bool = False
    cluster: str = ""
    kms_decryptor: str = ""
    source: str = ""
    salvage: bool = False
    since: str = ""
    verify_sample: float = 0.0
    verify_proven: float = 0.0
    diff: str = ""
    only_new: bool = False
    severity: tuple[str, ...] = ()
    accept: str = ""
    most_new: tuple[tuple[str, int], ...] = ()
    fail_on_standing: bool = True
    owners: str = ""
    history: str = ""
    keep_history: int = 365
    clusters: str = ""
    fleet: str = ""
    prefixes: tuple[str, ...] = ()
    max_age: float | None = None
    require_change: bool = False
    in_fleet: bool = False
    shard_bytes: int = 16 << 20
    shard_rows: int = 16_000
    progress: bool = False
    memory: int = 0
    seconds_per_object: float = 60.0
    cache: str = ""
    until: float = 0.0


@dataclass(frozen=True)
class AuditOptions(VerdictOptions, RunOptions):
    """One audit run: the options that verdicts depend on, and those that they do not."""

    @property
    def verdict(self) -> VerdictOptions:
        """The options that verdicts depend on."""
        return VerdictOptions(**{one.name: getattr(self, one.name) for one in fields(VerdictOptions)})
