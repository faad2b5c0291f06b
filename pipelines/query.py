"""`auditor query`: what `kubectl get` would have answered, from a dump or from the index of a report."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.crds.definition import document_name
from auditor.errors import PlanError
from auditor.printing.discovery import UnknownResource
from auditor.printing.get import GetOptions, get
from auditor.report.terminal import damage_lines
from auditor.selectors.query import DEFINITIONS
from auditor.sources.stores import is_remote
from pipelines.config import AuditOptions
from pipelines.dump_store import DumpStore, ReadMode
from pipelines.history import plan_as_of
from pipelines.plan import make_plan, told_damage
from pipelines.query_output import extra_formats
from pipelines.remote import query_here
from pipelines.report import MANIFEST
from pipelines.report_store import (
    IndexOnlyStore,
    ReportStore,
    check_dumps,
    find_dumps,
    read_manifest,
    report_plan,
    scope_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.printing.discovery import Resource

AnyStore = DumpStore | IndexOnlyStore

__all__ = ["AnyStore", "QueryOptions", "Writer", "is_damaged", "open_store", "run_query"]


@dataclass(slots=True)
class QueryOptions:
    """What was asked for.

    Attributes:
        target: A dump, or the folder of a report.
        dumps: Where the dumps of a report are; empty: where they were.
        args: Kinds and names, as after `kubectl get`.
        namespace: Empty: all of them.
        where: CEL predicate.
        explain: Say on standard error what was done.
        max_scan: Refuse to look at more rows of a kind.
        save_index: Folder for a report of the dump, by whose index the answer is then found.
        as_of: Revision whose state is asked; None: the newest.
        shown_as: ``read``, ``stored``, or a version.
    """

    target: str
    dumps: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    namespace: str = ""
    labels: str = ""
    fields: str = ""
    output: str = ""
    crds: tuple[str, ...] = ()
    etcd_prefix: str = "/registry"
    encryption_config: str = ""
    kms_decryptor: str = ""
    shown_as: str = "read"
    as_of: int | None = None
    where: str = ""
    explain: bool = False
    max_scan: int | None = None
    save_index: str = ""
    mode: ReadMode = field(default_factory=ReadMode)
    get: GetOptions = field(default_factory=GetOptions)


@contextmanager
def open_store(options: QueryOptions, warn: Callable[[str], None]) -> Iterator[AnyStore]:
    """Open the store of a dump or report; its files last as long as the context.

    Raises:
        AuditorError: It cannot be read at all, or is not what the report was made from.
    """
    with query_here(options) as local:
        yield from _open_local(local, warn)


def _open_local(options: QueryOptions, warn: Callable[[str], None]) -> Iterator[AnyStore]:
    path = Path(options.target)
    if options.target != "-" and not is_remote(options.target) and not path.exists():
        raise PlanError(options.target, "there is no such file", "a dump, or the --report folder of an audit")
    with tempfile.TemporaryDirectory(prefix="auditor-query-") as workdir:
        asked = AuditOptions(
            dumps=(options.target,),
            crds=options.crds,
            etcd_prefix=options.etcd_prefix,
            encryption_config=options.encryption_config,
            kms_decryptor=options.kms_decryptor,
        )
        if (path / "definitions.ndjson").exists() and (path / "objects").is_dir():
            read_manifest(path)  # what else an audit writes is there, and would be read as manifests without it
        if (path / MANIFEST).exists() and options.as_of is None:
            yield _report_store(path, options, asked, warn, Path(workdir))
            return
        plan = make_plan(_dumps_of(path, options, asked), Path(workdir))
        if options.as_of is not None:
            plan = plan_as_of(plan, options.as_of, Path(workdir))
        if told := told_damage(plan.sources):
            warn(told)
        yield DumpStore(plan, options.mode, warn)


def is_damaged(store: AnyStore) -> bool:
    """Tell whether part of a dump could not be read, of which the exit code speaks."""
    if isinstance(store, IndexOnlyStore):
        return any(source["damage"] for source in store.manifest["inputs"])
    return any(source.damage for source in store.plan.sources)


def _dumps_of(path: Path, options: QueryOptions, asked: AuditOptions) -> AuditOptions:
    """Ask the dumps of a report for the past, of which its index knows nothing."""
    if not (path / MANIFEST).exists():
        return asked
    dumps = find_dumps(read_manifest(path), path, options.dumps)
    if dumps is None:
        raise PlanError(str(path), "the dump of this report is not here", "", "--dump names it")
    return replace(asked, dumps=tuple(map(str, dumps)))


def _report_store(
    report: Path, options: QueryOptions, asked: AuditOptions, warn: Callable[[str], None], workdir: Path
) -> ReportStore | IndexOnlyStore:
    manifest = read_manifest(report)
    for source in manifest["inputs"]:
        for line in damage_lines(source):
            warn(f"{line}\n")
    dumps = find_dumps(manifest, report, options.dumps)
    if dumps is None:
        names = ", ".join(source["name"] for source in manifest["inputs"])
        warn(f"{names} is not here: showing what the index holds of {manifest['started']} (--dump names the dump)\n")
        if told := scope_of(manifest):
            warn(f"the report was made of some objects only: {told}\n")
        return IndexOnlyStore(report, manifest, options.mode, warn)
    asked = replace(asked, dumps=tuple(map(str, dumps)), etcd_prefix=manifest["options"]["etcd_prefix"])
    if manifest["definitions"]["from_files"] and not asked.crds:
        asked = replace(asked, crds=(str(_from_files(report, manifest, workdir)),))
    plan = report_plan(report, manifest, dumps, asked)
    if plan is None:
        plan = make_plan(asked, workdir)
        check_dumps(plan, manifest)
    return ReportStore(plan, options.mode, warn, report=report, dumps=dumps, workdir=workdir, manifest=manifest)


def _from_files(report: Path, manifest: dict[str, Any], workdir: Path) -> Path:
    """Return a file with those definitions of a report that came from files: the others may not be established."""
    path = report / DEFINITIONS
    if not path.exists():
        return path
    names = set(manifest["definitions"]["from_files"])
    kept = workdir / "definitions-from-files.ndjson"
    kept.write_bytes(b"".join(line for line in path.read_bytes().splitlines(keepends=True) if _is_one(line, names)))
    return kept


def _is_one(line: bytes, names: set[str]) -> bool:
    try:
        return document_name(json.loads(line)) in names
    except ValueError:
        return True  # whoever reads it tells what is wrong with it


def run_query(options: QueryOptions) -> int:
    """Answer; return the exit code of `kubectl get`: 0, or 1 where anything asked for was refused or not found."""
    out = Writer(sys.stdout)
    err = Writer(sys.stderr)
    asked = options.get
    asked.args = options.args
    asked.namespace = options.namespace
    asked.all_namespaces = not options.namespace
    asked.labels, asked.fields, asked.output = options.labels, options.fields, options.output
    if options.output == "table":
        asked.output = ""
    asked.status_objects = True
    asked.hints = True
    asked.usage_code = 2
    if options.shown_as == "stored":
        options.mode.stored = True
    if options.save_index:
        _save_index(options, err)
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        asked.paint = _bold
    with open_store(options, err) as store:
        if options.shown_as not in ("read", "stored"):
            asked.args = _at_version(store, options.args, options.shown_as, err)
        if isinstance(store, (ReportStore, IndexOnlyStore)):
            store.names_only = (asked.output == "name" or asked.count) and not asked.sort_by
        store.where, store.max_scan = options.where, options.max_scan
        asked.extra_formats = extra_formats(store, options, out)
        code = get(store, asked, out, err)
        if options.explain:
            err(store.explain())
        damaged = is_damaged(store)
    sys.stdout.flush()
    return 3 if code == 0 and damaged else code


def _bold(line: str) -> str:
    return f"\x1b[1m{line}\x1b[0m"


def _save_index(options: QueryOptions, err: Callable[[str], None]) -> None:
    """Audit the dump, and go on with the report of it."""
    from pipelines.run import run_audit  # noqa: PLC0415 - only where it is asked for

    _, manifest = run_audit(
        AuditOptions(
            dumps=(options.target,),
            crds=options.crds,
            report=options.save_index,
            etcd_prefix=options.etcd_prefix,
            encryption_config=options.encryption_config,
            kms_decryptor=options.kms_decryptor,
            jobs=os.cpu_count() or 1,
            fail_on="never",
        )
    )
    files = list((Path(options.save_index) / "index").rglob("*.parquet"))
    size = sum(path.stat().st_size for path in files)
    rows = manifest["counts"]["rows"]
    err(f"index of {rows} rows in {options.save_index}: {size / max(rows, 1):.1f} bytes an object\n")
    options.dumps = options.dumps or (options.target,)
    options.target = options.save_index


def _at_version(store: AnyStore, args: tuple[str, ...], version: str, err: Callable[[str], None]) -> tuple[str, ...]:
    """Name the version in each kind; what is no kind is left as it is, for the words that `get` has for it."""

    def named(kind: str, members: tuple[Resource, ...] = ()) -> str:
        try:
            found = members or (store.discovery.resolve(kind, lambda text: err(text + "\n")),)
        except UnknownResource:
            return kind
        return ",".join(f"{one.plural}.{version}.{one.group}" for one in found)

    if any("/" in arg for arg in args):
        parts = (arg.partition("/") for arg in args)
        return tuple(f"{named(kind)}{slash}{name}" for kind, slash, name in parts)
    return tuple(
        arg if at else ",".join(named(kind, store.discovery.category(kind)) for kind in arg.split(","))
        for at, arg in enumerate(args)
    )


class Writer:
    """Writes text to a stream, whatever it holds."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __call__(self, text: str) -> None:
        """Write some text."""
        try:
            self.stream.write(text)
        except UnicodeEncodeError:  # a lone surrogate that a stored value smuggled in
            self.stream.write(text.encode("utf-8", "replace").decode())
