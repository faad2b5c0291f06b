"""Reads definitions from files, folders, a Helm chart or a dump.

This module alone decides what a path of ``--crds``, ``--old-crds`` or ``--new-crds`` is. A chart (a folder with
Chart.yaml, or the archive that ``helm package`` writes) gives the files of its ``crds/`` folders and those of its
subcharts, which Helm installs unchanged. A dump gives the definitions that are stored in it.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from auditor.base.errors import DamagedDump, PlanError
from auditor.crds.as_v1 import as_v1
from auditor.golang import jsontext
from auditor.plan.dumps import opened_dumps, stored_definitions
from auditor.sources.crd_files import definitions_in, documents_of, no_collector, read_crd_documents
from auditor.sources.detect import database_of, form_of
from auditor.sources.encryption import make_unsealer
from auditor.sources.files.compression import UnpackedStream, is_tar
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.manifests.reading import MANIFEST_SUFFIXES, manifest_files
from auditor.sources.stores.locations import is_remote
from auditor.sources.stores.patterns import fetched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.base.records import JsonObject
    from auditor.plan.options import AuditOptions
    from auditor.sources.archives.members import Member

__all__ = ["definition_documents"]

_CHART: Final = "Chart.yaml"
_CRDS: Final = "crds"
_SUBCHARTS: Final = "charts"
_DUMPS: Final = frozenset({"bolt", "sqlite", "kine-text", "etcdctl"})
_YAML: Final = (".yaml", ".yml")
_ARCHIVES: Final = (".tgz", ".tar.gz", ".tar")
_IN_TEMPLATES: Final = "definitions in templates must be rendered first: helm template CHART | ... --crds -"


@no_collector()
def definition_documents(paths: Iterable[str], options: AuditOptions | None = None) -> list[JsonObject]:
    """Return the definitions at paths, in the order given.

    Args:
        paths: Files and folders as `read_crd_documents` takes them, charts, dumps; also behind URLs.
        options: How dumps are read: prefix of the keys, encryption; None for the defaults.

    Raises:
        PlanError: A chart has no definition in its ``crds/`` folders.
        SourceError: A path does not exist or cannot be read.
    """
    out: list[JsonObject] = []
    for given in paths:
        if given == "-":
            out += read_crd_documents([given])
        elif not is_remote(given):
            out += _local(given, given, options)
        elif given.lower().endswith(_ARCHIVES):
            with temporary_folder("crds") as folder:
                for shown, local in fetched(given, folder):
                    out += _local(shown, str(local), options)
        else:
            out += read_crd_documents([given])
    return out


def _local(shown: str, given: str, options: AuditOptions | None) -> list[JsonObject]:
    path = Path(given)
    if path.is_dir():
        if (path / _CHART).is_file():
            return _with_some(shown, _chart_folder(path))
        if database_of(path) is not None:
            return _dump(given, options)
    elif path.is_file():
        with path.open("rb") as file:
            head = UnpackedStream(shown, file).peek()
        if is_tar(head):
            with path.open("rb") as file:
                found = _chart_archive(shown, file)
            return _dump(given, options) if found is None else _with_some(shown, found)
        if not given.lower().endswith(_YAML) and form_of(path, head) in _DUMPS:
            return _dump(given, options)
    return read_crd_documents([given])


def _with_some(shown: str, found: Iterable[JsonObject]) -> list[JsonObject]:
    documents = list(found)
    if not documents:
        raise PlanError(shown, "no definition in the crds/ folder of this chart", "at least one", _IN_TEMPLATES)
    return documents


# -- charts ------------------------------------------------------------------------------------------------------------


def _chart_folder(path: Path) -> Iterator[JsonObject]:
    if (path / _CRDS).is_dir() and manifest_files(path / _CRDS)[0]:
        yield from read_crd_documents([str(path / _CRDS)])
    below = path / _SUBCHARTS
    for one in sorted(below.iterdir()) if below.is_dir() else ():
        if one.is_dir() and (one / _CHART).is_file():
            yield from _chart_folder(one)
        elif one.is_file() and one.name.lower().endswith(_ARCHIVES):
            with one.open("rb") as file:
                yield from _chart_archive(str(one), file) or ()


def _chart_archive(shown: str, file: BinaryIO) -> list[JsonObject] | None:
    """Return the definitions of a packed chart, or None if the archive is not a chart."""
    from auditor.sources.archives.members import tar_members  # noqa: PLC0415 - few commands need it
    from auditor.sources.plan import DamageLog  # noqa: PLC0415

    damage = DamageLog()
    is_chart = False
    texts: list[tuple[int, str, bytes]] = []
    below: list[JsonObject] = []
    for member in tar_members(UnpackedStream(shown, file), damage):
        name = f"{shown}!{member.name}"
        _, *folders, last = member.name.split("/")  # the first is the chart's name
        is_chart = is_chart or (not folders and last == _CHART)
        depth = 0
        while len(folders) > 1 and folders[0] == _SUBCHARTS:
            folders, depth = folders[2:], depth + 1
        if folders == [_SUBCHARTS] and last.lower().endswith(_ARCHIVES):
            below += _chart_archive(name, io.BytesIO(_bytes(member))) or ()
        elif folders[:1] == [_CRDS] and last.lower().endswith(MANIFEST_SUFFIXES):
            texts.append((depth, name, _bytes(member)))
    if not is_chart:
        return None
    for first in damage.records():
        raise DamagedDump(
            shown, f"{first.where}: {first.reason}", "a chart that `helm package` wrote", "fetch it again"
        )
    own = [one for _, name, text in sorted(texts) for read in documents_of(name, text) for one in definitions_in(read)]
    return own + below


def _bytes(member: Member) -> bytes:
    reader, blocks = member.open(), []
    while block := reader.read(1 << 20):
        blocks.append(block)
    return b"".join(blocks)


# -- dumps -------------------------------------------------------------------------------------------------------------


def _dump(given: str, options: AuditOptions | None) -> list[JsonObject]:
    """Return the definitions of a dump as v1: etcd may hold them as v1beta1, which no server accepts any more."""
    from auditor.plan.options import AuditOptions  # noqa: PLC0415 - for types only above

    asked = options or AuditOptions(dumps=())
    own = AuditOptions(
        dumps=(given,),
        etcd_prefix=asked.etcd_prefix,
        encryption_config=asked.encryption_config,
        kms_decryptor=asked.kms_decryptor,
        memory=asked.memory,
    )
    unsealer = make_unsealer(own.encryption_config, own.kms_decryptor)
    with temporary_folder("crds") as folder:
        sources = opened_dumps(own.dumps, own, folder, 0, unsealer)
        found = {entry.name: text for one in sources for entry, text in stored_definitions(one, own, unsealer, set())}
        for source in sources:
            for damage in source.damage:
                raise DamagedDump(given, f"{damage.where}: {damage.reason}", "a dump that can be read to its end", "")
    return [as_v1(jsontext.decode(found[name])) for name in sorted(found)]
