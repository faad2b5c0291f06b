"""Folders of the index: one a definition and version, named ``group=G/version=V/kind=K``.

Names come from dumps, so they are encoded: letters a to z, digits, ``.``, ``_`` and ``-`` are written as they are, in
kinds capital letters too; every other byte of their UTF-8 is written as ``%XX``, as in a URL. No folder can lead out of
the index, and none differs from another in case alone. A kind that another definition has taken, or that differs from
one in case alone, is followed by ``~`` and the name of its definition. A name that is too long for a file system is cut
and followed by ``~`` and its SHA-256. The manifest records to which definition each folder belongs.
"""

from __future__ import annotations

import hashlib
import re
from itertools import chain, count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from auditor.plan.run_plan import Plan


MOST_BYTES: Final = 255
"""Bytes of a path component that every file system takes."""
_HASHED: Final = 32
_UNSAFE: Final = re.compile(rb"[^a-z0-9._-]|\.$")
_UNSAFE_IN_KINDS: Final = re.compile(rb"[^A-Za-z0-9._-]|\.$")
_CORE: Final = "core"
"""How the empty group is written."""


class IndexFolder(NamedTuple):
    """The definition and version whose rows a folder of the index holds.

    Attributes:
        crd: Name of the definition; empty if not known.
        plural: Empty if not known.
    """

    crd: str
    group: str
    plural: str
    version: str
    kind: str


def _escaped(text: str, unsafe: re.Pattern[bytes]) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return unsafe.sub(lambda found: b"%%%02X" % found[0][0], data).decode("ascii")


def _component(key: str, text: str, tag: str = "", unsafe: re.Pattern[bytes] = _UNSAFE) -> str:
    """Return ``key=text``, encoded and cut to what a file system takes.

    Args:
        key: Name of the level.
        text: Its value.
        tag: A text that distinguishes values which are equal, or equal except for case.
        unsafe: Bytes that are encoded.
    """
    name = f"{key}={_escaped(text, unsafe)}" + (f"~{_escaped(tag, _UNSAFE)}" if tag else "")
    if len(name) <= MOST_BYTES:
        return name
    whole = f"{text}\0{tag}".encode("utf-8", "surrogatepass")
    return f"{name[: MOST_BYTES - _HASHED - 1]}~{hashlib.sha256(whole).hexdigest()[:_HASHED]}"


class Folders:
    """Names the folders of the index; the first of several definitions of one kind has the plain name.

    Args:
        definitions: Name, group and kind of each.
    """

    def __init__(self, definitions: Iterable[tuple[str, str, str]] = ()) -> None:
        self._kinds: dict[tuple[str, str, str], str] = {}
        self._taken: set[tuple[str, str]] = set()
        for crd, group, kind in definitions:
            self.kind_folder(crd, group, kind)

    def kind_folder(self, crd: str, group: str, kind: str) -> str:
        """Return the last component of the folders of a definition."""
        known = self._kinds.get((crd, group, kind))
        if known is not None:
            return known
        above = _component("group", group or _CORE)
        tags = chain(("", crd), (f"{crd}~{number}" for number in count(2)))
        names = (_component("kind", kind, tag, _UNSAFE_IN_KINDS) for tag in tags)
        folder = next(name for name in names if (above, name.lower()) not in self._taken)
        self._taken.add((above, folder.lower()))
        self._kinds[crd, group, kind] = folder
        return folder

    def table_folder(self, crd: str, group: str, kind: str) -> str:
        """Return the folder of the typed rows of a kind, below that of all tables: ``group=G/kind=K``."""
        return f"{_component('group', group or _CORE)}/{self.kind_folder(crd, group, kind)}"

    def folder(self, crd: str, group: str, version: str, kind: str) -> str:
        """Return the folder of a definition at a version, below that of the index."""
        last = self.kind_folder(crd, group, kind)
        return f"{_component('group', group or _CORE)}/{_component('version', version)}/{last}"


def folder_names(folder: str) -> IndexFolder:
    """Return the kind and version of a folder from its name, for reports whose manifest does not record them."""
    values = [part.partition("=")[2].partition("~")[0] for part in folder.split("/")]
    group, version, kind = (unquote_to_bytes(value).decode("utf-8", "replace") for value in values)
    return IndexFolder("", "" if group == _CORE else group, "", version, kind)


def _raw_names(folder: str) -> IndexFolder:
    group, version, kind = (part.partition("=")[2] for part in folder.split("/"))
    return IndexFolder("", "" if group == _CORE else group, "", version, kind)


def recorded_folders(manifest: dict[str, Any] | None, folders: Iterable[str]) -> dict[str, IndexFolder]:
    """Return the kinds and versions of some folders.

    Args:
        manifest: The manifest of the report, or None; without a section `index`, names are not encoded.
        folders: Paths below the index, with ``/``.
    """
    section = None if manifest is None else manifest.get("index")
    if manifest is not None and type(section) is not list:
        return {folder: _raw_names(folder) for folder in folders}
    known: dict[str, IndexFolder] = {}
    for row in section or ():
        values = [row.get(name) for name in ("folder", *IndexFolder._fields)] if type(row) is dict else []
        texts = [value for value in values if type(value) is str]
        if texts and len(texts) == len(values):
            known[texts[0]] = IndexFolder(*texts[1:])
    return {folder: known.get(folder) or folder_names(folder) for folder in folders}


def folders_of(*plans: Plan) -> Folders:
    """Return the names of the folders of kinds, such as those of the index of a run, by definition."""
    return Folders((entry.name, entry.group, entry.kind) for plan in plans for entry in plan.entries)


def written_folders(plan: Plan, versions: Iterable[Mapping[str, Any]], report: Path) -> list[dict[str, str]]:
    """Return the section `index` of a manifest: the definition and version of each folder of the index.

    Args:
        plan: The plan of the run.
        versions: Rows of versions.parquet.
        report: Folder of the report.
    """
    folders, out = folders_of(plan), []
    for row in versions:
        folder = folders.folder(row["crd"], row["group"], row["version"], row["kind"])
        if (report / "index" / folder).is_dir():
            out.append({"folder": folder, **{name: row[name] for name in IndexFolder._fields}})
    return sorted(out, key=itemgetter("folder"))
