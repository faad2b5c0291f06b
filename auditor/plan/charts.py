"""Definitions of Helm charts: what was read of a chart, and what was not because only Helm renders it.

``crds/`` holds plain files, also in subcharts. Definitions may be in any other file, too: in templates, in helpers, in
files that templates include. Those are rendered by `helm template`, if the caller allows it, else each is named.

Source: Helm pkg/chart/loader, pkg/chart (CRDObjects), pkg/action/upgrade.go (values of the last release).
"""

from __future__ import annotations

import io
import re
import subprocess
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from auditor.base.errors import DamagedDump, PlanError
from auditor.golang import jsontext
from auditor.sources.crd_files import definitions_in, documents_of, read_crd_documents
from auditor.sources.files.compression import UnpackedStream
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.manifests.manifest_files import MANIFEST_SUFFIXES
from auditor.sources.source_plan import UNREAD_DEFINITIONS, Damage, DamageLog
from auditor.sources.unread_definitions import MENTIONS, every_file, why_unread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from auditor.base.records import JsonObject
    from auditor.sources.archives.members import Member


CHART: Final = "Chart.yaml"
_CRDS: Final = "crds"
_SUBCHARTS: Final = "charts"
_TEMPLATES: Final = "templates"
_ARCHIVES: Final = (".tgz", ".tar.gz", ".tar")
_FILES: Final = re.compile(rb"\.Files\b")
"""How a template reads other files of its chart."""
_CRD: Final = b"CustomResourceDefinition"
_LOOKUP: Final = re.compile(rb"\{\{[^{}]*\blookup\s")
"""How a template asks the cluster."""
_NO_MANIFEST: Final = re.compile(r"(?:^|/)NOTES\.txt$|\.md$")
_SEPARATOR: Final = re.compile(r"^---", re.MULTILINE)
_SOURCE: Final = re.compile(r"^# Source: ([^\s/]+)/(\S+)", re.MULTILINE)
_IN_CRDS: Final = re.compile(r"(?:charts/[^/]+/)*crds/")
_HOOK: Final = "helm.sh/hook"
_NOT_RENDERED: Final = "it holds definitions and was not rendered (--render runs helm template)"
_GAVE_NONE: Final = "rendering made no definition of it, which other values may do"
_LOOKS: Final = "it asks the cluster (lookup), which helm template does not"
_SECONDS: Final = 60
_MOST: Final = 256 << 20
"""Seconds and bytes that `helm template` may take."""
_LONGEST: Final = 1000


class RenderAs(NamedTuple):
    """The release as which a chart is rendered, with its values if it is there already; what the cluster serves."""

    name: str = "release-name"
    namespace: str = "default"
    values: JsonObject | None = None
    is_upgrade: bool = False
    served: tuple[str, ...] = ()


def _as_nothing(_: str) -> RenderAs:
    """Return the release of a chart that is not installed; it can be pickled, as a lambda cannot."""
    return RenderAs()


class Render(NamedTuple):
    """How charts are rendered.

    Attributes:
        kubernetes: Release of the API server that templates see, such as 1.37.
        release: Returns the release for the name of a chart.
    """

    kubernetes: str
    release: Callable[[str], RenderAs] = _as_nothing


class Chart(NamedTuple):
    """What is known of a chart.

    Attributes:
        name: Its name in Chart.yaml; empty if it is not known.
        shown: The path that the user gave.
        documents: Its definitions.
        unread: Files that may hold more of them.
        in_manifest: Names of those that are objects of a release: from templates, no hooks; None if it is not known.
        in_crds: Names of those in ``crds/``, which an upgrade by Helm leaves alone.
        in_hooks: The hooks that definitions are, by name.
        places: The files below the chart that rendering made definitions from.
        is_printed: Whether the user rendered it, with values that are not known here.
    """

    name: str
    shown: str
    documents: list[JsonObject]
    unread: tuple[Damage, ...] = ()
    in_manifest: frozenset[str] | None = None
    in_crds: frozenset[str] = frozenset()
    in_hooks: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    places: frozenset[str] = frozenset()
    is_printed: bool = False


def rendered_chart(shown: str, path: Path, chart: Chart, render: Render) -> Chart:
    """Return a chart as `helm template --include-crds` prints it.

    Templates that gave no definition are still named: other values may give them.

    Args:
        shown: The path that the user gave.
        path: The chart, a folder or an archive.
        chart: What is known without rendering it.
        render: How it is rendered.

    Raises:
        PlanError: Helm is missing, fails or takes too long; the text has what it says.
    """
    release = render.release(chart.name)
    text = _helm_template(shown, path, release, render.kubernetes)
    made = next(iter(printed_charts(shown, text.encode())), Chart(chart.name, shown, [], in_manifest=frozenset()))
    unread = [file for file in chart.unread if release.values is None or file.reason == _LOOKS]
    return made._replace(
        name=chart.name,
        unread=tuple(
            file if file.reason == _LOOKS else replace(file, reason=_GAVE_NONE)
            for file in unread
            if file.reason == _LOOKS or not _gave(file.where, made)
        ),
    )


def _gave(where: str, made: Chart) -> bool:
    """Return whether definitions came of a file: its own, or those of a template that may include it."""
    is_template = f"/{_TEMPLATES}/" in where and not where.rpartition("/")[2].startswith("_")
    return any(where.endswith(place) for place in made.places) if is_template else bool(made.places)


def printed_charts(shown: str, data: bytes) -> list[Chart]:
    """Return the charts that a text of `helm template` shows by its comments ``# Source:``; several may be in one."""
    text = data.decode("utf-8", "replace")
    name, place = "", ""
    parts: dict[str, list[tuple[str, JsonObject]]] = {}
    line = 0
    for chunk in _SEPARATOR.split(text):
        above, line = line, line + chunk.count("\n")
        if (source := _SOURCE.search(chunk)) is not None:  # a file of crds/ with several documents has it once
            name, place = source[1], source[2]
            parts.setdefault(name, [])
        if "CustomResourceDefinition" in chunk:
            for document in documents_of(shown, b"\n" * above + chunk.encode()):
                parts.setdefault(name, []).extend((place, each) for each in definitions_in(document))
    return [_printed_chart(name, shown, placed) for name, placed in parts.items()]


def _printed_chart(name: str, shown: str, placed: list[tuple[str, JsonObject]]) -> Chart:
    manifest, crds, places = set(), set(), set()
    hooks: dict[str, tuple[str, ...]] = {}
    for place, definition in placed:
        own, own_hooks = _name_and_hooks(definition)
        if _IN_CRDS.match(place):
            crds.add(own)
            continue
        places.add(place)
        if own_hooks:
            hooks[own] = own_hooks
        else:
            manifest.add(own)
    documents, in_crds = [definition for _, definition in placed], frozenset(crds - manifest)
    return Chart(name, shown, documents, (), frozenset(manifest), in_crds, hooks, frozenset(places))


def _name_and_hooks(document: JsonObject) -> tuple[str, tuple[str, ...]]:
    metadata = document.get("metadata")
    metadata = metadata if type(metadata) is dict else {}
    annotations = metadata.get("annotations")
    hooks = annotations.get(_HOOK) if type(annotations) is dict else None
    names = tuple(hook.strip() for hook in hooks.split(",")) if type(hooks) is str else ()
    return str(metadata.get("name")), names


def _helm_template(shown: str, path: Path, release: RenderAs, kubernetes: str) -> str:
    command = ["helm", "template", release.name, str(path.absolute()), "--include-crds", "--values", "-"]
    command += ["--namespace", release.namespace, "--kube-version", kubernetes]
    command += ["--is-upgrade"] if release.is_upgrade else []
    for api_version in release.served:
        command += ["--api-versions", api_version]
    with temporary_folder("helm") as folder:
        out, err = folder / "out", folder / "err"
        try:
            with out.open("wb") as stdout, err.open("wb") as stderr:
                done = subprocess.run(  # noqa: S603 - the user asked for it, and no shell is used
                    command,
                    input=jsontext.encode(release.values or {}).encode(),
                    stdout=stdout,
                    stderr=stderr,
                    timeout=_SECONDS,
                    check=False,
                )
        except FileNotFoundError:
            raise PlanError("--render", "helm is not on PATH", "helm 3", "without --render it is not needed") from None
        except OSError as error:
            raise PlanError("--render", f"helm cannot be run: {error.strerror}", "helm 3") from None
        except subprocess.TimeoutExpired:
            raise PlanError(shown, f"helm template gave no answer within {_SECONDS} seconds", "a chart") from None
        if done.returncode:
            said = err.read_bytes().decode("utf-8", "replace").strip()[:_LONGEST]
            raise PlanError(shown, f"helm template failed: {said}", "a chart that Helm renders")
        if out.stat().st_size > _MOST:
            raise PlanError(shown, f"helm template printed more than {_MOST >> 20} MiB", "a chart")
        return out.read_bytes().decode("utf-8", "replace")


# -- charts that are not rendered --------------------------------------------------------------------------------------


class _Parts:
    """Collects the parts of a chart and of its subcharts."""

    def __init__(self) -> None:
        self.texts: list[JsonObject] = []
        self.unread: list[Damage] = []
        self.includes_files = False

    def add_unread(self, where: str, why: str) -> None:
        self.unread.append(Damage(f"{UNREAD_DEFINITIONS}{where}", why))

    def other_file(self, where: str, inner: str, data: bytes) -> None:
        """Note a file that is not in crds/: it may hold definitions, or include other files."""
        if inner.startswith(f"{_TEMPLATES}/"):
            self.includes_files |= _FILES.search(data) is not None
        if _NO_MANIFEST.search(inner) is not None:
            return
        if _CRD in data and inner.startswith(f"{_TEMPLATES}/") and _LOOKUP.search(data) is not None:
            self.add_unread(where, _LOOKS)
        elif MENTIONS.search(data) is not None:
            self.add_unread(where, _NOT_RENDERED)

    def chart(self, name: str, shown: str) -> Chart:
        crds = frozenset(_name_and_hooks(text)[0] for text in self.texts)
        is_known = not self.unread and not (self.includes_files and crds)
        manifest = frozenset[str]() if is_known else None
        return Chart(name, shown, self.texts, tuple(self.unread), manifest, crds)


def folder_chart(shown: str, path: Path) -> Chart:
    """Return what can be read of a chart in a folder without rendering it."""
    parts = _Parts()
    name = _add_folder(shown, path, parts)
    return parts.chart(name, shown)


def _add_folder(shown: str, path: Path, parts: _Parts) -> str:
    files, unfollowed = every_file(path)
    for where, why in unfollowed:
        parts.add_unread(f"{shown}/{where}", why)
    head = _chart_file((path / CHART).read_bytes())
    known: set[str | None] = set()
    for file in sorted(files, key=lambda one: (one.relative_to(path).parts[0] == _SUBCHARTS, one)):
        inner = file.relative_to(path).as_posix()
        where = f"{shown}/{inner}"
        folders = inner.split("/")[:-1]
        if folders[:1] == [_SUBCHARTS] and len(folders) > 1 and (path / _SUBCHARTS / folders[1] / CHART).is_file():
            if inner == f"{_SUBCHARTS}/{folders[1]}/{CHART}":
                known |= {folders[1], _add_folder(f"{shown}/{_SUBCHARTS}/{folders[1]}", file.parent, parts)}
        elif folders == [_SUBCHARTS] and inner.lower().endswith(_ARCHIVES):
            with file.open("rb") as stream:
                name = _add_archive(where, stream, parts)
            if name is None:
                parts.add_unread(where, "it is no chart that can be read")
            known.add(name)
        elif folders[:1] == [_CRDS] and inner.lower().endswith(MANIFEST_SUFFIXES):
            parts.texts += read_crd_documents([str(file)])
        elif why := why_unread(file):
            parts.add_unread(where, why)
        else:
            parts.other_file(where, inner, file.read_bytes())
    requirements = path / "requirements.yaml"
    _note_missing(shown, head, _chart_file(requirements.read_bytes()) if requirements.is_file() else {}, known, parts)
    return str(head.get("name") or path.name)


def archive_chart(shown: str, file: BinaryIO) -> Chart | None:
    """Return what can be read of a packed chart without rendering it, or None if the archive is not a chart."""
    parts = _Parts()
    name = _add_archive(shown, file, parts)
    return None if name is None else parts.chart(name, shown)


def _add_archive(shown: str, file: BinaryIO, parts: _Parts) -> str | None:
    from auditor.sources.archives.members import tar_members  # noqa: PLC0415 - few commands need it

    damage = DamageLog()
    own, packed = _Parts(), _Parts()
    heads: dict[tuple[str, ...], JsonObject] = {}
    requirements: dict[tuple[str, ...], JsonObject] = {}
    known: dict[tuple[str, ...], set[str | None]] = {}
    texts: list[tuple[int, str, bytes]] = []
    root = ""
    for member in tar_members(UnpackedStream(shown, file), damage):
        name = f"{shown}!{member.name}"
        root, *folders, last = member.name.split("/")  # the first is the chart's name
        above: list[str] = []
        while len(folders) > 1 and folders[0] == _SUBCHARTS:
            above, folders = [*above, folders[1]], folders[2:]
        place, inner = tuple(above), "/".join([*folders, last])
        data = _bytes(member)
        if inner == CHART:
            heads[place] = _chart_file(data)
            if place:
                known.setdefault(place[:-1], set()).update((place[-1], str(heads[place].get("name"))))
        elif inner == "requirements.yaml":
            requirements[place] = _chart_file(data)
        elif folders == [_SUBCHARTS] and last.lower().endswith(_ARCHIVES):
            is_archive = _add_archive(name, io.BytesIO(data), packed)
            known.setdefault(place, set()).add(is_archive)
            if is_archive is None:
                own.add_unread(name, "it is no chart that can be read")
        elif folders[:1] == [_CRDS] and last.lower().endswith(MANIFEST_SUFFIXES):
            texts.append((len(place), name, data))
        else:
            own.other_file(name, inner, data)
    if () not in heads:
        return None
    for first in damage.records():
        raise DamagedDump(
            shown, f"{first.where}: {first.reason}", "a chart that `helm package` wrote", "fetch it again"
        )
    for place, head in heads.items():
        below = "".join(f"/{_SUBCHARTS}/{name}" for name in place)
        _note_missing(f"{shown}!{root}{below}", head, requirements.get(place, {}), known.get(place, set()), own)
    own.texts = [
        definition
        for _, name, text in sorted(texts)
        for read in documents_of(name, text)
        for definition in definitions_in(read)
    ]
    for each in (own, packed):
        parts.texts += each.texts
        parts.unread += each.unread
        parts.includes_files |= each.includes_files
    return str(heads[()].get("name"))


def _chart_file(data: bytes) -> JsonObject:
    """Return a file of a chart, as Helm reads it; empty if it is no map."""
    for document in documents_of(CHART, data):
        return document if type(document) is dict else {}
    return {}


def _note_missing(
    shown: str, head: JsonObject, requirements: JsonObject, known: set[str | None], parts: _Parts
) -> None:
    """Name the subcharts that a chart needs and that are not in charts/."""
    for name in dict.fromkeys((*_dependencies(head), *_dependencies(requirements))):
        if name not in known:
            why = "it is not there (helm dependency build fetches it)"
            parts.add_unread(f"{shown}/{_SUBCHARTS}/{name}", why)


def _dependencies(content: JsonObject) -> Iterator[str]:
    dependencies: Any = content.get("dependencies")
    for dependency in dependencies if type(dependencies) is list else ():
        if type(dependency) is dict and type(dependency.get("name")) is str:
            yield dependency["name"]


def _bytes(member: Member) -> bytes:
    reader, blocks = member.open(), []
    while block := reader.read(1 << 20):
        blocks.append(block)
    return b"".join(blocks)
