"""Files of manifests: which ones of a folder, how one is recognized, and its text; what reads them is elsewhere."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import DamagedDump, SourceError
from auditor.sources.files.compression import PACKED_SUFFIXES, UnpackedStream
from auditor.sources.registry_key import printable_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


MANIFEST_SUFFIXES: Final = (".json", ".yaml", ".yml", ".ndjson", ".jsonl")
BLOCK: Final = 1 << 20

UTF16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_YAML_KEY = re.compile(rb"^(?:- )?[A-Za-z_\"'][\w.\"'/-]*[ \t]*:(?:[ \t\r\n]|\Z)", re.MULTILINE)
_TYPE_META = re.compile(rb"^[ \t]*(?:- )?[\"']?(?:apiVersion|kind|items)[\"']?[ \t]*:", re.MULTILINE)


def looks_like_manifests(head: bytes) -> str | None:
    """Return the format that the head of a file suggests: ``json`` or ``yaml`` of Kubernetes objects, or None.

    Args:
        head: The first bytes, 64 KiB or the whole file. A head without a kind that begins as a JSON object counts: a
            List may have its kind after its items.
    """
    encoding = UTF16.get(head[:2])
    if encoding is not None:
        head = head[2:].decode(encoding, "replace").encode()
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if not text or b"\0" in text[:4096]:
        return None
    if re.match(rb"\{\s*[\"}]|\[\s*\{", text):
        return "json"
    if text[:1] == b"<":
        return None
    if _TYPE_META.search(text) or (re.match(rb"\{\s*(?:apiVersion|kind)\s*:", text)):
        return "yaml"
    if re.search(rb"^\{\s*\"", text, re.MULTILINE):
        return "json"
    first = text.split(b"\n", 1)[0]
    return "yaml" if first.startswith(b"---") and _YAML_KEY.search(text) else None


def _is_manifest(name: str) -> bool:
    """Whether the name of a file has the suffix of manifests, before that of a compression or without one."""
    name = name.lower()
    if name.endswith(MANIFEST_SUFFIXES) and name[0] != ".":
        return True
    for packed in PACKED_SUFFIXES:
        name = name.removesuffix(packed)
    return os.path.splitext(name)[1] in MANIFEST_SUFFIXES  # noqa: PTH122 - a path for each name takes longer


def manifest_paths(folder: Path, on_error: Callable[[OSError], object] | None = None) -> tuple[list[str], list[str]]:
    """Return the files below a folder that are manifests by their names, and the others; both sorted by path.

    Links to other folders are followed, each folder once; a link to a parent folder is among the others.

    Args:
        folder: The folder to search.
        on_error: Called for a folder that cannot be read, whose files are not returned.
    """
    both: tuple[list[str], list[str]] = ([], [])
    for path, is_manifest in _files_below(folder, on_error):
        both[not is_manifest].append(path)
    for paths in both:
        paths.sort(key=_parts)
    return both


def _parts(path: str) -> list[str]:
    return path.split(os.sep)  # noqa: PTH206 - a path for each file takes longer


def manifest_files(folder: Path, on_error: Callable[[OSError], object] | None = None) -> tuple[list[Path], list[Path]]:
    """Return the same as `manifest_paths`, as paths with methods."""
    chosen, others = manifest_paths(folder, on_error)
    return [*map(Path, chosen)], [*map(Path, others)]


def has_manifests(folder: Path) -> bool:
    """Return whether a file below a folder is a manifest by its name; the search ends with the first."""
    return any(is_manifest for _, is_manifest in _files_below(folder))


def _files_below(folder: Path, on_error: Callable[[OSError], object] | None = None) -> Iterator[tuple[str, bool]]:
    """Yield the files below a folder, each with whether it is a manifest by its name; see `manifest_paths`."""
    roots = [(folder, Path(os.path.realpath(folder)))]
    for root, _ in roots:
        for directory, folders, names in os.walk(root, onerror=on_error):
            folders.sort()
            within = os.path.join(directory, "")  # noqa: PTH118 - a path for each name takes longer
            for name in names:
                yield within + name, _is_manifest(name)
            for link in (path for name in folders if (path := Path(directory) / name).is_symlink()):
                there = Path(os.path.realpath(link))
                if any(known.is_relative_to(there) and known != there for _, known in roots):
                    yield str(link), False
                elif not any(there.is_relative_to(known) for _, known in roots):
                    roots.append((link, there))


def read_packed(path: Path) -> bytes:
    """Return the bytes of a file, uncompressed if its name has the suffix of a compression.

    Raises:
        DamagedDump: The compressed stream is broken or expands past the limit for one member.
    """
    try:
        data, broken = unpacked(path) if _is_packed(path) else (path.read_bytes(), "")
    except OSError as error:
        raise SourceError(str(path), error.strerror or str(error)) from error
    if broken:
        raise DamagedDump(str(path), broken, "", "copy it again")
    return data


MAX_MEMBER: Final = 1 << 30


def _is_packed(path: Path) -> bool:
    return path.suffix.lower() in PACKED_SUFFIXES


def unpacked(path: Path) -> tuple[bytes, str]:
    """Return the unpacked bytes of a compressed file, and the error that ends them; empty if there is none.

    Raises:
        SourceError: They expand past a limit.
    """
    with path.open("rb") as file:
        stream = UnpackedStream(str(path), file)
        blocks, size = [], 0
        while block := stream.read(BLOCK):
            blocks.append(block)
            size += len(block)
            if size > MAX_MEMBER:
                raise DamagedDump(str(path), f"expands past {MAX_MEMBER} bytes", "", "decompress it first")
        return b"".join(blocks), stream.broken


def name_below(path: str, root: Path) -> str:
    """Return the path of a file below a folder as text; invalid UTF-8 is escaped."""
    return printable_name(path.removeprefix(os.path.join(root, "")))  # noqa: PTH118 - its last part stays empty


def text_bytes(data: Any) -> Any:
    """Return the bytes of a text, UTF-16 converted to UTF-8."""
    encoding = UTF16.get(bytes(data[:2]))
    return data if encoding is None else bytes(data[2:]).decode(encoding, "replace").encode("utf-8", "replace")
