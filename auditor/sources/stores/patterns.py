"""Patterns of names, of local files and in object stores, and copies of their matches."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import SourceError
from auditor.base.visible import visible
from auditor.sources.stores.folders import listed
from auditor.sources.stores.locations import (
    ask_store,
    copy_name,
    is_remote,
    is_web,
    remote_file,
    shown_url,
    store_failures,
    store_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


_WILD: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Match:
    """A file or folder that matches a pattern.

    Attributes:
        path: Path or URL.
        parts: The texts that its wildcards match, in order.
    """

    path: str
    parts: tuple[str, ...] = ()


def has_wildcards(path: str) -> bool:
    """Whether a path is a pattern; text after the ``?`` of a web URL is not."""
    return _WILD.search(path) is not None and not is_web(path)


def fetched(url: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Copy the files and folders of a URL or a pattern of URLs here; yield (URL for messages, copy).

    Raises:
        SourceError: It does not exist, or is not available.
    """
    for number, match in enumerate(expand(url)):
        there = remote_file(match.path)
        target = folder / str(number) / copy_name(there.shown)
        target.parent.mkdir(parents=True)
        if not there.is_folder():
            there.copy_to(target)
        else:
            for left_out, reason in there.copy_folder_to(target):
                raise SourceError(f"{there.shown.rstrip('/')}/{visible(left_out)}", f"cannot be copied: {reason}")
        yield there.shown.rstrip("/"), target


def _pattern(segment: str) -> re.Pattern[str]:
    """Return the regular expression of one segment of a pattern, with a group for each wildcard."""
    out, position = "", 0
    for wildcard in re.finditer(r"\*+|\?|\[!?\]?[^\]]*\]", segment):
        out += re.escape(segment[position : wildcard.start()])
        translated = ".*" if wildcard[0].startswith("*") else fnmatch.translate(wildcard[0])[4:-3]
        out += f"({translated})"
        position = wildcard.end()
    return re.compile(out + re.escape(segment[position:]))


def expand(pattern: str) -> list[Match]:
    """Return the matches of a pattern, sorted; a path without wildcards, or an existing one, is returned unchanged.

    Wildcards are ``*``, ``?`` and ``[...]`` inside a segment, and ``**`` for any number of segments.

    Raises:
        SourceError: Nothing matches the pattern, or the store does not answer.
    """
    if pattern == "-" or not has_wildcards(pattern) or (not is_remote(pattern) and Path(pattern).exists()):
        return [Match(pattern)]
    import urllib.parse  # noqa: PLC0415

    import pyarrow.fs  # noqa: PLC0415

    scheme, _, rest = pattern.partition("://") if is_remote(pattern) else ("", "", pattern)
    plain, mark, query = rest.partition("?") if is_remote(pattern) and "=" in rest.partition("?")[2] else (rest, "", "")
    head = plain[: _WILD.search(plain).start()].rpartition("/")[0]  # type: ignore[union-attr]
    segments = plain[len(head) :].strip("/").split("/")
    with store_failures(pattern):
        if scheme:
            file_system, base = store_of(f"{scheme}://{head}{mark}{query}")
        else:
            file_system, base = pyarrow.fs.LocalFileSystem(), head or ("/" if plain.startswith("/") else ".")
        paths = sorted(_walk(file_system, base.rstrip("/") or "/", segments, ()))
    if not paths:
        raise SourceError(shown_url(pattern), "the pattern names nothing")
    out = []
    for path, parts in paths:
        if not scheme:
            out.append(Match(path, parts))
        else:
            below = path[len(base.rstrip("/")) :].lstrip("/")
            if scheme.lower() == "file":  # their paths are written as in a web URL
                below = urllib.parse.quote(below)
            out.append(Match(f"{scheme}://{head.rstrip('/')}/{below}{mark}{query}", parts))
    return out


def _walk(
    file_system: Any, base: str, segments: list[str], parts: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (path, parts) of the matches of the segments below a folder."""
    import pyarrow.fs  # noqa: PLC0415

    def below(name: str) -> str:
        return name if base == "." else f"{base.rstrip('/')}/{name}"

    segment, rest = segments[0], segments[1:]
    if not _WILD.search(segment):
        path = below(segment)
        if rest:
            yield from _walk(file_system, path, rest, parts)
        elif ask_store(lambda: file_system.get_file_info(path)).type != pyarrow.fs.FileType.NotFound:
            yield path, parts
        return
    if segment == "**":
        if rest:
            yield from _walk(file_system, base, rest, parts)
        for name, folder in listed(file_system, base):
            if folder:
                yield from _walk(file_system, below(name), segments, parts)
            elif not rest:
                yield below(name), (*parts, name)
        return
    pattern = _pattern(segment)
    for name, folder in listed(file_system, base):
        match = pattern.fullmatch(name)
        if match is None or (name.startswith(".") and not segment.startswith(".")):
            continue
        if not rest:
            yield below(name), (*parts, *match.groups())
        elif folder:
            yield from _walk(file_system, below(name), rest, (*parts, *match.groups()))
