"""Reads definitions from files, folders, a Helm chart or a dump.

This module alone decides what a path of ``--crds``, ``--old-crds`` or ``--new-crds`` is. A chart (a folder with
Chart.yaml, or the archive that ``helm package`` writes) is read by `charts`. A dump gives the definitions that are
stored in it. Files that may hold definitions, and were not read, are named beside those that were.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.base.errors import DamagedDump, PlanError
from auditor.crds.as_v1 import as_v1
from auditor.golang import jsontext
from auditor.plan.charts import CHART, Chart, Render, archive_chart, folder_chart, printed_charts, rendered_chart
from auditor.plan.git_tree import GIT, checked_out
from auditor.sources.crd_files import definitions_in, documents_of, no_collector, read_crd_documents
from auditor.sources.detect import database_of, form_of
from auditor.sources.encryption import make_unsealer
from auditor.sources.files.compression import UnpackedStream, is_tar
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.manifests.manifest_files import manifest_files, read_packed
from auditor.sources.readers import DUMPS
from auditor.sources.source_plan import UNREAD_DEFINITIONS, Damage
from auditor.sources.stores.locations import is_remote
from auditor.sources.stores.patterns import fetched
from auditor.sources.unread_definitions import is_kustomization, kustomization_reasons, unread_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.base.records import JsonObject
    from auditor.plan.options import AuditOptions


_YAML: Final = (".yaml", ".yml")
_ARCHIVES: Final = (".tgz", ".tar.gz", ".tar")
_STDIN: Final = "standard input"
_SOURCE: Final = b"# Source: "


class GivenDefinitions(NamedTuple):
    """What paths give.

    Attributes:
        documents: The definitions, in the order given.
        unread: Files that may hold more of them.
        charts: The charts among the paths, also such as `helm template` has printed.
    """

    documents: list[JsonObject]
    unread: tuple[Damage, ...] = ()
    charts: tuple[Chart, ...] = ()

    def lines(self) -> list[str]:
        """Return a line for each file that was not read."""
        return [damage.line("") for damage in self.unread]


@no_collector()
def definitions_at(
    paths: Iterable[str], options: AuditOptions | None = None, render: Render | None = None
) -> GivenDefinitions:
    """Return the definitions at paths.

    Args:
        paths: Files and folders as `read_crd_documents` takes them, charts, dumps; also behind URLs.
        options: How dumps are read: prefix of the keys, encryption; None for the defaults.
        render: How charts are rendered; None if they are not.

    Raises:
        PlanError: A chart cannot be rendered.
        SourceError: A path does not exist or cannot be read.
    """
    parts = []
    for given in paths:
        if given == "-":
            data = sys.stdin.buffer.read()
            if not data.strip():
                raise PlanError(_STDIN, "it is empty", "definitions", "the command before the pipe may have failed")
            parts.append(_texts(_STDIN, data))
        elif given.startswith(GIT):
            parts.append(_of_git(given, options, render))
        elif not is_remote(given):
            parts.append(_local(given, given, options, render))
        elif given.lower().endswith(_ARCHIVES):
            with temporary_folder("crds") as folder:
                parts += [_local(shown, str(local), options, render) for shown, local in fetched(given, folder)]
        else:
            parts.append(GivenDefinitions(read_crd_documents([given])))
    return GivenDefinitions(
        [document for each in parts for document in each.documents],
        tuple(reason for each in parts for reason in each.unread),
        tuple(chart for each in parts for chart in each.charts),
    )


def _of_git(given: str, options: AuditOptions | None, render: Render | None) -> GivenDefinitions:
    """Return the definitions at a path of a revision in the local repository: ``git:REF:PATH``."""
    with temporary_folder("git") as folder:
        local, unread = checked_out(given, folder)
        read = _local(given, str(local), options, render)
    return read._replace(unread=(*read.unread, *unread))


def render_of(options: AuditOptions) -> Render | None:
    """Return how a run renders charts; None if it does not."""
    return Render(options.kubernetes) if options.render else None


def no_definition(paths: Iterable[str]) -> PlanError:
    """Return the error for paths without a definition, and without a file that may hold one and was not read."""
    return PlanError(", ".join(paths), "no definition found", "at least one CustomResourceDefinition")


def _texts(name: str, data: bytes) -> GivenDefinitions:
    """Return the definitions in a text, which `helm template` may have printed."""
    if charts := printed_charts(name, data) if _SOURCE in data else ():
        documents = [definition for chart in charts for definition in chart.documents]
        return GivenDefinitions(documents, (), tuple(chart._replace(is_printed=True) for chart in charts if chart.name))
    return GivenDefinitions(
        [definition for document in documents_of(name, data) for definition in definitions_in(document)]
    )


def _local(shown: str, given: str, options: AuditOptions | None, render: Render | None) -> GivenDefinitions:
    path = Path(given)
    if path.is_dir():
        if (path / CHART).is_file():
            return _of_chart(shown, path, folder_chart(shown, path), render)
        if database_of(path) is not None:
            return GivenDefinitions(_dump(given, options))
        return GivenDefinitions(read_crd_documents([given]), tuple(_unread(shown, path)))
    if path.is_file():
        with path.open("rb") as file:
            head = UnpackedStream(shown, file).peek()
        if is_tar(head):
            with path.open("rb") as file:
                chart = archive_chart(shown, file)
            return GivenDefinitions(_dump(given, options)) if chart is None else _of_chart(shown, path, chart, render)
        if not given.lower().endswith(_YAML) and form_of(path, head) in DUMPS:
            return GivenDefinitions(_dump(given, options))
        if _SOURCE in head:
            return _texts(given, read_packed(path))
    return GivenDefinitions(read_crd_documents([given]))


def _of_chart(shown: str, path: Path, chart: Chart, render: Render | None) -> GivenDefinitions:
    if render is not None:
        chart = rendered_chart(shown, path, chart, render)
    return GivenDefinitions(chart.documents, chart.unread, (chart,))


def _unread(shown: str, path: Path) -> Iterator[Damage]:
    """Yield the files of a folder that may hold definitions, and are not read as they are."""
    for place, why in unread_files(path):
        yield Damage(f"{UNREAD_DEFINITIONS}{shown.rstrip('/')}/{place}", why)
    chosen, others = manifest_files(path)
    for file in filter(is_kustomization, (*chosen, *others)):
        for content in documents_of(str(file), read_packed(file)):
            for why in kustomization_reasons(path, file, content) if type(content) is dict else ():
                yield Damage(f"{UNREAD_DEFINITIONS}{shown.rstrip('/')}/{file.relative_to(path).as_posix()}", why)


# -- dumps -------------------------------------------------------------------------------------------------------------


def _dump(given: str, options: AuditOptions | None) -> list[JsonObject]:
    """Return the definitions of a dump as v1: etcd may hold them as v1beta1, which no server accepts any more."""
    from auditor.plan.dumps import opened_dumps, stored_definitions  # noqa: PLC0415 - few definitions are in dumps
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
        texts = {
            entry.name: text for source in sources for entry, text in stored_definitions(source, own, unsealer, set())
        }
        for source in sources:
            for damage in source.damage:
                raise DamagedDump(given, f"{damage.where}: {damage.reason}", "a dump that can be read to its end", "")
    return [as_v1(jsontext.decode(texts[name])) for name in sorted(texts)]
