"""Opens a dump: detects its format from the content, and makes its live table.

A file has one plan. A folder has one plan if it is an etcd data directory or has only manifests. If it directly
contains dumps (snapshots, databases, etcdctl output), each of them and each manifest beside them has its own plan, in
the order of their names. If it contains nothing readable, its subfolders are searched.

Readers are imported when needed: a database is hashed while the libraries that walk it are imported.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.base.errors import AuditorError, DamagedDump, PlanError, SourceError, UnknownDump, refusal
from auditor.base.visible import visible
from auditor.sources.detect import (
    ACCEPTED,
    check_no_tables,
    database_of,
    form_of,
    intact_pages,
    refused_file,
    state_of,
    unknown_dump,
)
from auditor.sources.dump_formats import FORMATS
from auditor.sources.files.compression import (
    HEAD_SIZE,
    PACKED_SUFFIXES,
    Limits,
    UnpackedStream,
    is_tar,
    materialize,
    unpacked_head,
)
from auditor.sources.files.digest import LateDigests
from auditor.sources.files.folders import SmallFiles
from auditor.sources.files.helpers import NO_HELPERS, Helpers
from auditor.sources.files.state import changes, states_below
from auditor.sources.files.unpacking import compression_of
from auditor.sources.readers import DUMPS, READERS, DumpFile, Settings
from auditor.sources.readers.etcd import open_data_dir
from auditor.sources.source_plan import NAMED, Damage, DamageLog, SourcePlan, damage_beside, first_names, one_line
from auditor.sources.stores.locations import copy_name, is_remote, remote_file, shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import BinaryIO

    from auditor.sources.dump_formats import SourceFormat
    from auditor.sources.encryption import Unsealer


_LEVELS = 3
"""Depth of subfolders in which dumps are searched."""

_PAGES_AT = 4 << 20
"""Formats in which each file is a separate dump."""

_UNFINISHED = (".db.part", ".tmp")
_BESIDE = ("-wal", "-shm")
"""Suffixes of files that SQLite keeps beside a database; they are read with it."""
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


def open_source(
    path: str,
    *,
    number: int,
    workdir: Path,
    etcd_prefix: str = "/registry",
    prefixes: Sequence[str] = (),
    limits: Limits | None = None,
    salvage: bool = False,
    unsealer: Unsealer | None = None,
    source: str = "",
    digests: LateDigests | None = None,
    helpers: Helpers = NO_HELPERS,
) -> SourcePlan | list[SourcePlan]:
    """Open one dump.

    Args:
        path: File, folder, or ``-`` for standard input.
        number: Its position among the inputs; if a folder has several plans, that of the first.
        workdir: Folder for live tables and unpacked files.
        etcd_prefix: Prefix of the API server's keys. Keys without it are rows as well; a dump without any key below it
            gets a note.
        prefixes: Prefixes of all servers that share the dump and are judged beside each other: the keys of the others
            are no rows, and those of none are rows of the first alone.
        limits: Limits of the expansion of compressed input.
        unsealer: Decrypts files of Rancher's backups; values of etcd are decrypted later.
        salvage: For a damaged etcd database, also read pages that nothing refers to.
        source: Name of the format (`auditor.sources.dump_formats`); empty to detect it from the content.
        digests: Computes digests, for which the caller waits; None to wait for them here.
        helpers: Other processes that read a part of a folder of many files.

    Returns:
        One plan, or those of a folder of dumps.

    Raises:
        UnknownDump: No reader supports it; the message describes the content.
        DamagedDump: The format is known, and nothing can be read.
        SourceError: It does not exist, or expands past the limits.
    """
    settings = Settings(
        workdir, limits or Limits(), digests or LateDigests(behind=False), salvage, unsealer, helpers=helpers
    )
    try:
        opened = _with_own_keys(_Opening(settings).watched(path, number, source), etcd_prefix, prefixes)
    except (AuditorError, OSError, MemoryError):
        raise
    except Exception as error:
        if refused := refusal(error):
            raise refused from error
        raise DamagedDump(
            shown_url(path), f"a reader failed on it ({one_line(error)})", "", "please report it"
        ) from error
    if digests is None:
        settings.digests.settle_now(opened)
    return opened


def _with_own_keys(
    opened: SourcePlan | list[SourcePlan], prefix: str, prefixes: Sequence[str]
) -> SourcePlan | list[SourcePlan]:
    """Return opened dumps without the keys of servers that are judged beside this one."""
    for plan in opened if isinstance(opened, list) else [opened]:
        if not plan.is_export:
            from auditor.sources.prefixes import keep_own  # noqa: PLC0415 - readers are loaded where needed

            keep_own(plan, prefix, prefixes)
    return opened


class _Opening:
    """State that all files of one call share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.workdir = settings.workdir
        self.limits = settings.limits
        self.unsealer = settings.unsealer
        self.depth = 0
        self.level = 0

    def watched(self, path: str, number: int, source: str) -> SourcePlan | list[SourcePlan]:
        """Open the path that a user gave, and report files that were written to meanwhile."""
        before = () if path == "-" or is_remote(path) else states_below(path)
        opened = self.any(path, number, source)
        plans = opened if isinstance(opened, list) else [opened]
        by_name = {plan.name: plan for plan in plans}
        torn: list[SourcePlan] = []
        if not self.settings.copied:  # a copy was read of a database in use, as the plan says
            for state in before:
                if changed := changes([state]):
                    plan = by_name.get(state.path, plans[0])
                    plan.damage += tuple(changed)
                    plan.sha256 = ""
                    torn.append(plan)
            for plan in plans:
                is_torn = any(plan is each for each in torn)
                plan.states = () if is_torn else tuple(state for state in before if state.path == plan.mapped)
        return opened

    def any(self, path: str, number: int, source: str) -> SourcePlan | list[SourcePlan]:
        """Open the path that a user gave."""
        if source:
            return self.forced(path, number, source)
        if is_remote(path):
            return self.remote(path, number)
        if not path:
            raise SourceError("the name of a dump", "is empty", "a file, a folder or -")
        given = Path(path)
        if path == "-":
            return self.file(path, None, number)
        if not given.exists():
            raise SourceError(path, "no such file or folder")
        if given.is_dir():
            return self.folder(given, number)
        if not given.is_file():
            # a pipe or device can be read once, like standard input
            with given.open("rb") as stream:
                return self.file(path, None, number, stream=stream)
        return self.file(path, given, number)

    def file(
        self, name: str, path: Path | None, number: int, *, stream: Any = None, form: str = ""
    ) -> SourcePlan | list[SourcePlan]:
        """Open one file; no path: standard input or another stream."""
        if not form and path is not None and self.is_archive(name, path):
            return self.archive(name, path, number)
        damage = DamageLog()
        source = stream if stream is not None else sys.stdin.buffer if path is None else None
        plain = materialize(name, path, source, workdir=self.workdir, number=number, damage=damage, limits=self.limits)
        with plain.path.open("rb") as opened:
            head = opened.read(HEAD_SIZE)
        if not form and (is_tar(head) or head.startswith(_ZIP)):
            return self.archive(name, plain.path, number)
        form = form or form_of(plain.path, head)
        if not form and self.settings.salvage and intact_pages(_beginning(plain.path)):
            form = "bolt"
        reader = READERS.get(form)
        if reader is None:
            raise unknown_dump(name, _beginning(plain.path), plain.path.stat().st_size)
        plan = reader.open(DumpFile(name, path, plain, head, number, damage), self.settings)
        plan.damage = (*damage.records(), *plan.damage)
        return plan

    def forced(self, path: str, number: int, source: str) -> SourcePlan | list[SourcePlan]:
        """Open a dump as the requested format."""
        wanted = FORMATS.get(source)
        if wanted is None:
            raise PlanError("--source", f"no format {source}", f"one of {', '.join(FORMATS)}", "see `auditor sources`")
        if is_remote(path):
            return self.remote(path, number, source)
        given = Path(path) if path != "-" else None
        if given is not None and not given.exists():
            raise SourceError(path, "no such file or folder")
        if given is not None and given.is_dir():
            return self.forced_folder(given, number, wanted)
        if wanted.form:
            return self.file(path, given, number, form=wanted.form)
        if wanted.name == "etcd-data-dir" and (given is None or not self.is_archive(path, given)):
            raise UnknownDump(path, "a file", "a folder, tar or zip of an etcd data directory")
        if given is None:
            raise UnknownDump(path, "standard input", f"a file or folder, for {source}")
        return self.archive(path, given, number, layout=wanted.name)

    def forced_folder(self, path: Path, number: int, wanted: SourceFormat) -> SourcePlan | list[SourcePlan]:
        """Open a folder as the requested format."""
        from auditor.sources.archives import open_tree  # noqa: PLC0415 - readers are loaded where they are needed

        if wanted.form == "manifests":
            return self.manifests(path, {}, SmallFiles(), number)
        database = database_of(path)
        if wanted.name in {"etcd-data-dir", "etcd-snapshot"} and database is not None:
            return open_data_dir(self.settings, path, database, number)
        state = state_of(path)
        if wanted.form == "sqlite" and state is not None:
            return self.file(str(path), state, number, form=wanted.form)
        if not wanted.form and wanted.name != "etcd-data-dir":
            tree = open_tree(
                path,
                number=number,
                workdir=self.workdir,
                limits=self.limits,
                unsealer=self.unsealer,
                layout=wanted.name,
            )
            if tree is not None:
                return tree
        raise UnknownDump(
            str(path), "a folder without what the format is made of", wanted.title, "see `auditor sources`"
        )

    def remote(self, url: str, number: int, source: str = "") -> SourcePlan | list[SourcePlan]:
        """Open the file or folder at a URL: a tar as a stream, others through a copy."""
        there = remote_file(url)
        local = Path(tempfile.mkdtemp(prefix=f"remote-{number:03d}-", dir=self.workdir)) / copy_name(there.shown)
        left_out: list[tuple[str, str]] = []
        if there.is_folder():
            left_out = there.copy_folder_to(local)
        else:
            with there.open() as stream:
                head = UnpackedStream(there.shown, stream, self.limits).peek()
            wanted = FORMATS.get(source)
            if is_tar(head) and (wanted is None or not wanted.form):
                return self.archive(there.shown, local, number, layout=source, opener=there.open)
            there.copy_to(local)

        def renamed(text: str) -> str:
            return text.replace(str(local), there.shown.rstrip("/"))

        try:
            plans = self.forced(str(local), number, source) if source else self.path(local, number)
        except SourceError as error:
            raise type(error)(*map(renamed, error.args)) from None
        for plan in plans if isinstance(plans, list) else [plans]:
            plan.name = renamed(plan.name)
            plan.notes = tuple(map(renamed, plan.notes))
            plan.damage = tuple(Damage(renamed(damage.where), renamed(damage.reason)) for damage in plan.damage)
        first = plans[0] if isinstance(plans, list) else plans
        first.damage += tuple(Damage(visible(name), f"not read: {reason}") for name, reason in left_out)
        return plans

    def path(self, path: Path, number: int) -> SourcePlan | list[SourcePlan]:
        """Open a file or folder."""
        return self.folder(path, number) if path.is_dir() else self.file(str(path), path, number)

    def is_archive(self, name: str, path: Path) -> bool:
        """Whether a file is a tar in any compression, or a zip: these are not unpacked to a file."""
        with path.open("rb") as opened:
            stream = UnpackedStream(name, opened, self.limits)
            head = stream.peek()
            return is_tar(head) or (not stream.layers and head.startswith(_ZIP))

    def archive(
        self, name: str, path: Path, number: int, *, layout: str = "", opener: Callable[[], BinaryIO] | None = None
    ) -> list[SourcePlan]:
        """Open a tar or a zip."""
        from auditor.sources.archives import open_archive  # noqa: PLC0415 - readers are loaded where they are needed

        return open_archive(
            name,
            path,
            number=number,
            workdir=self.workdir,
            reopen=self.inside,
            limits=self.limits,
            unsealer=self.unsealer,
            layout=layout,
            opener=opener,
        )

    def inside(self, name: str, path: Path, number: int) -> SourcePlan | list[SourcePlan]:
        """Open a file inside an archive."""
        if self.depth >= self.limits.layers:
            raise SourceError(name, f"archives in archives, {self.limits.layers} deep", "", "unpack it yourself")
        self.depth += 1
        try:
            return self.folder(path, number) if path.is_dir() else self.file(name, path, number)
        finally:
            self.depth -= 1

    def folder(self, path: Path, number: int) -> SourcePlan | list[SourcePlan]:
        """Open a data directory, a folder of dumps, or a folder of manifests."""
        database = database_of(path)
        if database is not None:
            return open_data_dir(self.settings, path, database, number)
        state = state_of(path)
        if state is not None:
            return self.file(str(path), state, number)
        from auditor.sources.archives import open_tree  # noqa: PLC0415

        tree = open_tree(path, number=number, workdir=self.workdir, limits=self.limits, unsealer=self.unsealer)
        if tree is not None:
            return tree
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries if entry.is_file())
        small, above = SmallFiles(), str(path / "_")[:-1]  # empty for the current folder
        forms = {
            name: _form_in_folder(above + name, small)
            for name in names
            if not name.startswith(".") and not _is_part(name)
        }
        archives = "archive" in forms.values() and not _has_manifests(path)
        if not archives and not DUMPS & set(forms.values()):
            return self.below(path, forms, number) or self.manifests(path, forms, small, number)
        plans: list[SourcePlan] = []
        broken: list[DamagedDump] = []
        unread: list[str] = []
        for name, form in forms.items():
            if form:
                child = path / name
                try:
                    opened = self.file(str(child), child, number + len(plans))
                except UnknownDump as error:
                    unread.append(f"{name} was not read: {error.found}")
                except Exception as error:  # noqa: BLE001 - other dumps are still read
                    broken.append(_damaged(child, error))
                else:
                    plans.extend(opened if isinstance(opened, list) else [opened])
        _tell_broken(plans, broken)
        if not plans:
            raise UnknownDump(str(path), f"no dump that can be read; {'; '.join(unread[:NAMED])}", ACCEPTED)
        if len(unread) > NAMED:
            unread[NAMED:] = [f"{len(unread) - NAMED} more files were not read"]
        plans[0].notes += tuple(unread)
        beside = _BESIDE if "sqlite" in forms.values() else ()
        left = [
            child.name
            for child in path.iterdir()
            if not forms.get(child.name) and not _unpacked_name(child.name).endswith(beside)
        ]
        plans[0].notes += _beside(path, left)
        return plans

    def below(self, path: Path, names: Iterable[str], number: int) -> list[SourcePlan]:
        """Open the dumps in the subfolders of a folder without readable files; an empty list if there are none."""
        if self.level == _LEVELS or _has_manifests(path):
            return []
        plans: list[SourcePlan] = []
        broken: list[DamagedDump] = []
        left = [*names]
        self.level += 1
        for child in sorted(path.iterdir()):
            if child.is_dir() and not child.name.startswith("."):
                try:
                    opened = self.folder(child, number + len(plans))
                except UnknownDump:
                    if any(child.iterdir()):
                        left.append(f"{child.name}/")
                except Exception as error:  # noqa: BLE001 - other dumps are still read
                    broken.append(_damaged(child, error))
                else:
                    plans.extend(opened if isinstance(opened, list) else [opened])
        self.level -= 1
        _tell_broken(plans, broken)
        if plans:
            plans[0].notes += _beside(path, left)
        return plans

    def manifests(self, path: Path, forms: dict[str, str], small: SmallFiles, number: int) -> SourcePlan:
        """Open a folder of manifests, and report files of other known formats beside them."""
        check_no_tables(path)
        from auditor.sources.manifests.manifest_table import open_directory  # noqa: PLC0415

        plan = open_directory(path, number=number, workdir=self.workdir, small=small, helpers=self.settings.helpers)
        for name, form in forms.items():
            is_archive = form == "archive"
            refused = ("an archive", "") if is_archive else None if form else refused_file(unpacked_head(path / name))
            if refused:
                plan.notes += (f"{name} was not read: {refused[0]}",)
        return plan


def _beginning(path: Path) -> bytes:
    """Return enough of the beginning of a file to detect pages of any size."""
    with path.open("rb") as opened:
        return opened.read(_PAGES_AT)


def _unpacked_name(name: str) -> str:
    return next((name.removesuffix(suffix) for suffix in PACKED_SUFFIXES if name.endswith(suffix)), name)


def _is_part(name: str) -> bool:
    """Whether a file is incomplete, or belongs to another one."""
    return name.endswith(_UNFINISHED) or _unpacked_name(name).endswith(_BESIDE)


def _damaged(path: Path, error: Exception) -> DamagedDump:
    """Return the damage for one of several dumps; errors that are not about it are raised."""
    if isinstance(error, OSError) or refusal(error):
        raise error
    if isinstance(error, DamagedDump):
        return error
    if isinstance(error, SourceError):
        return DamagedDump(error.where or str(path), error.found)
    return DamagedDump(str(path), f"a reader failed on it ({one_line(error)})")


def _tell_broken(plans: list[SourcePlan], broken: list[DamagedDump]) -> None:
    """Report the dumps beside those of some plans that cannot be read.

    Raises:
        DamagedDump: There is no plan.
    """
    if broken and not plans:
        raise broken[0]
    if broken:
        plans[0].damage += tuple(map(damage_beside, broken))


def _beside(path: Path, left: list[str]) -> tuple[str, ...]:
    """Report the files in a folder of dumps that were not read."""
    return (f"beside the dumps in {path}, not read: {first_names(sorted(left)[:NAMED], len(left))}",) if left else ()


def _has_manifests(path: Path) -> bool:
    from auditor.sources.manifests.manifest_files import has_manifests  # noqa: PLC0415

    return has_manifests(path)


def _form_in_folder(path: str, small: SmallFiles) -> str:
    """Return the format of a file, after undoing its compression."""
    head = small.head(path, HEAD_SIZE)
    is_whole = len(head) < HEAD_SIZE
    if compression_of(head):
        is_whole = True  # only the head of what is in it is available
        with Path(path).open("rb") as opened:
            head = UnpackedStream(path, opened).peek()
    if is_tar(head) or head.startswith(_ZIP):
        return "archive"
    return form_of(None if is_whole else Path(path), head)
