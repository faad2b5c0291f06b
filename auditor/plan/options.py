"""The options of one audit, as one picklable record: those that verdicts depend on, and those of the run."""

from __future__ import annotations

from dataclasses import dataclass

from auditor.plan.declared import COUNTS, READS_KEYS, RUNS, SHOWS, TRUSTS_MACHINES, WRITES, option
from auditor.releases import Release, active, find_release

FAIL_ON = ("never", "unreadable", "blocked", "data-loss", "invalid")
"""Levels of --fail-on; each includes those before it. Severities of causes are further levels."""
NEVER = FAIL_ON[0]
SEVERITIES = ("critical", "high", "medium", "low")
"""Severities of causes, worst first."""


@dataclass(frozen=True, slots=True)
class RunScope:
    """The objects that are judged. Empty means all; kinds are written KIND.group, KIND or plural.group."""

    namespace: str = option("-n --namespace", "Only objects of this namespace.", COUNTS)
    labels: str = option("-l --selector labels", "Only objects with these labels.", COUNTS)
    fields: str = option("--field-selector fields", "Only objects with these field values.", COUNTS)
    include: tuple[str, ...] = option("--include KIND[.GROUP]", "Only these kinds.", COUNTS, ())
    exclude: tuple[str, ...] = option("--exclude KIND[.GROUP]", "All but these kinds.", COUNTS, ())

    @property
    def is_everything(self) -> bool:
        """Whether all objects are judged."""
        return not (self.namespace or self.labels or self.fields or self.include or self.exclude)


@dataclass(frozen=True)
class AuditOptions:
    """One audit run: the options of input, output and processes, and from `at` on those that verdicts depend on.

    Attributes:
        dumps: Files or folders as the user named them; ``-`` is standard input.
        crds: Files or folders with definitions that replace those of the dump by name.
        render: Whether charts among them are rendered by `helm template`.
        report: Folder to write.
        jobs: Worker processes; 1 runs everything in this process. With Ray: most tasks at a time; 0: no bound.
        engine: processes, inline (everything in this process) or ray.
        ray_address: The address of the Ray cluster, as `ray.init` takes it; empty: Ray's own choice.
        tables: New folder for the typed rows of every kind; empty if they are not written.
        report_mode: Permissions of its files in octal; empty means those of the dumps, the strictest of them.
        fail_on_sealed: Whether values that no key was given for make the exit code 1.
        kms_decryptor: Command that unwraps data keys of KMS providers; empty if there is none.
        source: Format of the dumps; empty: detected from their content.
        salvage: For damaged databases, also take what no tree of pages reaches any more.
        verify: Share of the objects that the reference judges again and must confirm; their bytes alone decide which.
        verify_digest: Whether dumps are hashed, and the checksums of snapshots compared.
        diff: An earlier report with which findings are compared; empty if there is none.
        only_new: Only findings that are not in `diff` count for the exit code.
        severity: Overrides of severities, as `auditor.causes.severity` reads them.
        accept: File of accepted findings; empty if there is none.
        most_new: Limits of new objects by severity, as `auditor.causes.exit_code` reads them.
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
        seconds_per_object: Limit of processor time for the rules of one object.
        until: Time (as of `time.time`) after which no object is judged; 0: no limit.
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

    dumps: tuple[str, ...]
    crds: tuple[str, ...] = option(
        "--crds PATH",
        "Definitions (files, a folder, a chart, a dump); they replace those of the dump by name.",
        COUNTS,
        (),
    )
    render: bool = option(
        "--render",
        "Render charts among the definitions: runs `helm template --include-crds`.",
        RUNS,
        default=False,
    )
    report: str = option("--report DIR", "Folder to write the report to.", WRITES, own_place=True)
    jobs: int = option(
        "--jobs",
        "Worker processes  [default: one per processor of the cgroup; with Ray: all CPUs of the cluster]",
        SHOWS,
        1,
        given=None,
        form=1,
    )
    engine: str = option(
        "--engine",
        "Run in worker processes, in this process, or on a Ray cluster whose nodes see dumps and report.",
        TRUSTS_MACHINES,
        "processes",
        form=("processes", "inline", "ray"),
        eager=True,
    )
    ray_address: str = option(
        "--ray-address ADDRESS",
        "Ray cluster: auto, HOST:6379 or ray://HOST:10001  [default: $RAY_ADDRESS, else one on this machine]",
        TRUSTS_MACHINES,
        form="ray",
    )
    report_mode: str = option(
        "--report-mode MODE",
        "Permissions of the report's files, e.g. 0640  [default: the strictest among the dumps' own]",
        "it decides who can read the report",
        form="mode",
    )
    tables: str = option(
        "--tables DIR",
        "Also write the objects of every kind as typed Parquet, as `auditor tables REPORT DIR` does, in the same pass. "
        "Not with --redact: it takes out the values, which tables are made of.",
        WRITES,
        own_place=True,
    )
    force: bool = option(
        "--force",
        "Replace an existing report in DIR; nothing but a report is removed.",
        "it removes files",
        default=False,
    )
    fail_on: str = option(
        "--fail-on",
        "Exit with 1 if an object reaches this level, or one listed before it; or a severity, or a worse one.",
        COUNTS,
        "invalid",
        form=(*FAIL_ON, *SEVERITIES),
    )
    fail_on_sealed: bool = option(
        "--fail-on-sealed", "Exit with 1 if a value is encrypted and no key is given.", COUNTS, default=False
    )
    cluster: str = option(
        "--cluster-name cluster NAME",
        "Value of the cluster column; for a pattern of dumps, use {1} (its first wildcard), {name} or {parent}.",
        COUNTS,
    )
    kms_decryptor: str = option(
        "--kms-decryptor CMD", "Unwraps KMS data keys: wrapped on stdin, plain on stdout.", RUNS
    )
    source: str = option("--source FORMAT", "Format of the dumps; see `auditor sources`.", COUNTS)
    salvage: bool = option(
        "--salvage", "Also read pages of a damaged database that nothing refers to.", COUNTS, default=False
    )
    verify: float = option(
        "--verify SHARE",
        "Judge this share of all objects again, without generated code; exit with 70 if the answers differ.",
        COUNTS,
        0.0,
        given="0.05%",
        form="share",
    )
    verify_digest: bool = option(
        "--verify-digest/--no-verify-digest",
        "Hash the dumps, and compare the checksums of snapshots; if off, the report says so.",
        COUNTS,
        default=True,
    )
    diff: str = option(
        "--diff REPORT",
        "Show which findings are new, the same or fixed since this report.",
        "the findings in it would count as known",
    )
    only_new: bool = option("--only-new", "With --diff: --fail-on counts only what is new.", COUNTS, default=False)
    severity: tuple[str, ...] = option(
        "--severity RULE",
        "Override a severity: `low kind=Widget.example.com namespace=dev-* cluster=staging` (globs; the last rule that "
        "matches decides).",
        COUNTS,
        (),
    )
    accept: str = option(
        "--accept FILE",
        "Accepted findings, as `auditor accept` writes them: they do not count for the exit code.",
        COUNTS,
    )
    most_new: tuple[tuple[str, int], ...] = option(
        "--max-new SEVERITY=N",
        "With --diff: exit with 1 if more than N objects have new findings of this severity or worse.",
        COUNTS,
        (),
    )
    fail_on_standing: bool = option(
        "--fail-on-standing/--no-fail-on-standing",
        "With --only-new: exit with 1 also if a known object crashes the server, breaks LIST or cannot be deleted.",
        COUNTS,
        default=True,
    )
    owners: str = option("--owners FILE", "Teams of objects, by globs of namespace, kind and labels.", COUNTS)
    history: str = option("--history DIR", "Add the run to the history for `auditor trend`.", WRITES, own_place=True)
    keep_history: int = option(
        "--keep-history RUNS",
        "Runs that the history keeps; older ones are removed.",
        "it removes files",
        365,
        form=1,
    )
    clusters: str = option(
        "--clusters FILE",
        "Names of the clusters that must have a dump, one a line; exit with 3 if one has none.",
        "a cluster missing from it would not be reported",
    )
    fleet: str = option(
        "--fleet FILE",
        "Instead of dumps: list of clusters in YAML, each with its dump, keys, definitions and gates.",
        "it names keys, and the clusters that must have a dump",
    )
    prefixes: tuple[str, ...] = ()
    max_age: float | None = option(
        "--max-age AGE",
        "Exit with 3 if the file of a dump is older (90m, 26h, 2d) or the dump is stale.",
        COUNTS,
        None,
        given="",
        form="age",
    )
    require_change: bool = option(
        "--require-change",
        "Exit with 3 if a dump is that of the --diff report, or of an older revision.",
        COUNTS,
        default=False,
    )
    in_fleet: bool = False
    shard_bytes: int = 16 << 20
    shard_rows: int = 16_000
    memory: int = option(
        "--memory BYTES",
        "Memory limit of the command's own process, e.g. 2Gi; its workers get the same amount again, in equal shares "
        "of at least 128Mi. Mapped files do not count  [default: 3/4 of the cgroup's or the machine's]",
        COUNTS,
        0,
        given=None,
        form="memory",
    )
    seconds_per_object: float = option(
        "--time-per-object DURATION",
        "Processor time for the validation rules of one object; after it they count as not evaluated.",
        COUNTS,
        60.0,
        given="10s",
        form="seconds",
    )
    until: float = option(
        "--time time_in_all DURATION",
        "Stop checking after this time: the remaining objects are counted, exit code 3  [default: no limit]",
        COUNTS,
        0.0,
        given=None,
        form="seconds",
    )
    at: str = option(
        "--at",
        "Check objects at their stored version, the storage version, each served version, or this version; exports as "
        "they are.",
        COUNTS,
        "storage",
    )
    at_of_exports: str = "stored"
    etcd_prefix: str = option(
        "--etcd-prefix",
        "Prefix of the API server's keys; several: each server is judged as a cluster of its own.",
        COUNTS,
        "/registry",
        given=("/registry",),
        form="prefixes",
    )
    skip: tuple[str, ...] = option(
        "--skip",
        "Save time: updates skips the checks of updates; rules skips these and the validation rules (counted as not "
        "evaluated); builtin skips the decoding of built-in kinds.",
        COUNTS,
        (),
        form=("rules", "updates", "builtin"),
    )
    ratcheting: bool = option(
        "--feature-gates NAME=BOOL",
        "Feature gates of the server: CRDValidationRatcheting=false before 1.30.",
        COUNTS,
        default=True,
        given="",
    )
    field_gates: str = option("--field-gates NAME=BOOL,...", "Turn field-level gates on or off.", COUNTS, hidden=True)
    gate_sidecars: tuple[str, ...] = option(
        "--sidecar FILE",
        "File of field-level gates, by name of the definition.",
        COUNTS,
        (),
        hidden=True,
    )
    encryption_config: str = option(
        "--encryption-config FILE", "EncryptionConfiguration of the API server.", READS_KEYS
    )
    redact: bool = option(
        "--redact",
        "Leave values of objects out of the report (and with them its index).",
        "it decides which values are written",
        default=False,
    )
    convert_with: str = option(
        "--convert-with CMD",
        "Command to run instead of conversion webhooks: ConversionReview on stdin and stdout.",
        RUNS,
    )
    old: tuple[str, ...] = option("--old OLD", "Earlier state: check DUMP as updates of its objects.", COUNTS, ())
    apply: str = option(
        "--apply",
        "With --old: how manifests are applied to the objects of OLD.",
        COUNTS,
        "merge",
        form=("merge", "replace"),
    )
    scope: RunScope = RunScope()
    kubernetes: str = option(
        "--kubernetes RELEASE",
        "Release of the API server to reproduce, such as 1.38; see `auditor releases`.",
        COUNTS,
        default_factory=lambda: active().name,
        form="release",
        eager=True,
    )

    @property
    def release(self) -> Release:
        """The release of the API server."""
        return find_release(self.kubernetes)

    @property
    def judges_updates(self) -> bool:
        """Whether there are verdicts on updates: without the rules they would be wrong."""
        return not {"rules", "updates"} & set(self.skip)
