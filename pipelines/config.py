"""What was asked: the options of one audit, as one picklable record."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FAIL_ON", "AuditOptions", "Scope"]

FAIL_ON = ("never", "unreadable", "blocked", "data-loss", "invalid")
"""Levels of --fail-on; each includes those before it."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects count. Empty means everything; kinds are written KIND.group, KIND or plural.group."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not (self.namespace or self.labels or self.fields or self.include or self.exclude)


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """One audit run.

    Attributes:
        dumps: Files or folders as the user named them; ``-`` is standard input.
        crds: Files or folders with definitions that replace those of the dump by name.
        report: Folder to write.
        at: stored, storage, served, or the name of a version.
        at_of_exports: The same for objects of exports. They were converted when they were read: where nobody asks for
            something else they are judged at the version that they are in.
        jobs: Worker processes; 1 runs everything in this process. With Ray: most tasks at a time; 0: no bound.
        engine: processes, inline (everything in this process) or ray.
        ray_address: Of the Ray cluster, as `ray.init` takes it; empty: Ray's own choice.
        encryption_config: EncryptionConfiguration of the API server; empty: none.
        kms_decryptor: Command that unwraps data keys of KMS providers; empty: none.
        ratcheting: Whether the server has CRDValidationRatcheting on; always on since Kubernetes 1.33.
        skip: What is left out, to save time: ``rules`` (counted and named as not evaluated) or ``updates``; with
            either, verdicts and codes of updates are null.
        gate_sidecars: Files of field-level gates by name of the definition; they count before manifests.
        field_gates: Gates of definitions to be on or off in this run, as ``Name=true,Other=false``.
        source: Format of the dumps, where it is not to be told from their content.
        salvage: Of damaged databases, also take what no tree of pages reaches any more.
        old: Dumps of the state before, with which those of `dumps` are compared; empty: none.
        since: An earlier report whose rows are kept where nothing changed; empty: none.
        verify_sample: Share of the objects with kept rows that are audited all the same, and must agree.
        diff: An earlier report with which findings are compared; empty: none.
        only_new: Only what `diff` does not know already counts for the exit code.
        apply: How a manifest is brought onto an object of the state before: merge or replace.
        shard_bytes: Bytes of values that a shard is to stay below; the cut does not depend on the number of workers.
        shard_rows: How many rows without bytes would be as much work as that.
    """

    dumps: tuple[str, ...]
    crds: tuple[str, ...] = ()
    report: str = ""
    at: str = "storage"
    at_of_exports: str = "stored"
    jobs: int = 1
    engine: str = "processes"
    ray_address: str = ""
    force: bool = False
    fail_on: str = "invalid"
    etcd_prefix: str = "/registry"
    cluster: str = ""
    encryption_config: str = ""
    kms_decryptor: str = ""
    source: str = ""
    salvage: bool = False
    skip: tuple[str, ...] = ()
    ratcheting: bool = True
    old: tuple[str, ...] = ()
    since: str = ""
    verify_sample: float = 0.0
    diff: str = ""
    only_new: bool = False
    apply: str = "merge"
    scope: Scope = Scope()
    gate_sidecars: tuple[str, ...] = ()
    field_gates: str = ""
    shard_bytes: int = 16 << 20
    shard_rows: int = 16_000
    progress: bool = False
