"""Files of a folder of definitions that are not read as such, and may hold some: each is named, nothing covers it.

Files without the suffix of a manifest are searched for the kind; archives and packed files are not opened. A
kustomization that does more than to list files of its folder gives other definitions than these files.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.sources.files.compression import PACKED_SUFFIXES
from auditor.sources.files.folders import not_a_file
from auditor.sources.manifests.manifest_files import manifest_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject


MENTIONS: Final = re.compile(rb"""kind["']?[ \t]*:[^\r\n]{0,200}\bCustomResourceDefinition(?:List)?\b""")
"""How a file holds a definition, in YAML, JSON or a template of either."""
_PACKED: Final = (*PACKED_SUFFIXES, ".tgz", ".tar", ".zip", ".7z")
_NO_MANIFESTS: Final = frozenset({".md", ".rst", ".go", ".py", ".js", ".ts", ".java", ".rs", ".sh"})
"""Prose and programs, which may show or print a definition, and are none."""
_MOST: Final = 64 << 20
_KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS: Final = ("resources", "bases", "components")
_HARMLESS: Final = frozenset({
    "apiVersion", "kind", "metadata", "resources", "bases", "namespace", "commonLabels", "labels", "commonAnnotations",
    "configurations", "sortOptions", "buildMetadata", "images", "configMapGenerator", "secretGenerator",
    "generatorOptions", "openapi", "crds",
})  # fmt: skip
"""Fields of a kustomization that leave definitions as they are in their files."""


def every_file(folder: Path) -> tuple[list[Path], list[tuple[str, str]]]:
    """Return the files below a folder, sorted, and (place, reason) of what was not followed.

    Raises:
        OSError: A folder below it cannot be read.
    """
    refused: list[OSError] = []
    chosen, others = manifest_files(folder, refused.append)
    unfollowed = [(os.path.relpath(str(error.filename), folder), str(error.strerror)) for error in refused]
    files = []
    for path in sorted((*chosen, *others)):
        inner = path.relative_to(folder)
        if ".git" in inner.parts[:-1]:
            continue
        if path.is_dir():
            unfollowed.append((inner.as_posix(), "it is a link to a folder above, which was not followed"))
        else:
            files.append(path)
    return files, unfollowed


def why_unread(path: Path) -> str:
    """Return why a file that is no manifest by its name was not searched for definitions; empty if it can be."""
    if odd := not_a_file(path):
        return odd
    try:
        size = path.stat().st_size
        if path.name.lower().endswith(_PACKED):
            return "it is packed, and was not opened"
        with path.open("rb"):
            pass
    except OSError as error:
        return str(error.strerror)
    return f"it is larger than {_MOST >> 20} MiB, and was not searched" if size > _MOST else ""


def unread_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (place, reason) of each file below a folder that may hold definitions, and is not read as a manifest."""
    _, others = manifest_files(folder, lambda _: None)
    for path in others:
        inner = path.relative_to(folder)
        if ".git" in inner.parts[:-1]:
            continue
        if path.is_dir():
            yield inner.as_posix(), "it is a link to a folder above, which was not followed"
        elif why := why_unread(path):
            yield inner.as_posix(), why
        elif path.suffix not in _NO_MANIFESTS and MENTIONS.search(path.read_bytes()) is not None:
            yield inner.as_posix(), "it holds definitions, and its name is not that of a manifest"


def is_kustomization(path: Path) -> bool:
    """Return whether a file is one by its name."""
    return path.name in _KUSTOMIZATIONS


def kustomization_reasons(root: Path, path: Path, content: JsonObject) -> Iterator[str]:
    """Yield why the definitions that a kustomization gives are not those in the files of a folder.

    Args:
        root: The folder that is read.
        path: The kustomization, at any depth below it.
        content: What it says.
    """
    for name in _LISTS:
        listed: Any = content.get(name)
        for item in listed if type(listed) is list else ():
            if type(item) is not str:
                continue
            place = path.parent / item
            inside = Path(os.path.realpath(place)).is_relative_to(os.path.realpath(root))
            if "://" in item or not inside or not place.exists():
                yield f"it lists {item}, which is not in this folder"
    changing = sorted(content.keys() - _HARMLESS)
    if changing:
        yield f"its {', '.join(changing)} may change definitions, and it was not built (kubectl kustomize FOLDER)"
