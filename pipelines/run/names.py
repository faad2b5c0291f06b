"""Kinds and namespaces in a report or a dump, for the completion of a command line.

The names are cached in the user's cache folder until the report or dump changes, as a shell waits for the answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


_MANIFEST: Final = "manifest.json"
_MOST_KEYS: Final = 100_000
"""Largest number of keys of a dump that are read."""
_MOST_BYTES: Final = 256 << 20
"""Largest size in bytes of a dump that is read for a completion."""
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
"""Names that are offered; others would need quotes in a shell, and content is not trusted."""


class NamesIn(NamedTuple):
    """The names in a report or a dump, sorted."""

    kinds: list[str]
    namespaces: list[str]


def names_of(target: str) -> NamesIn:
    """Return the kinds (`plural.group`) and namespaces of a report or dump; none if it cannot be read."""
    path = Path(target)
    marked = path / _MANIFEST if path.is_dir() else path
    try:
        status = marked.stat()
    except OSError:
        return NamesIn([], [])
    name = str(marked.resolve())
    state: list[Any] = [name, status.st_mtime_ns, status.st_size]
    cache = _cache_file(name)
    known = _cached(cache, state)
    if known is not None:
        return known
    names = _of_report(path) if marked.name == _MANIFEST else _of_dump(target, status.st_size)
    _keep(cache, state, names)
    return names


def _cache_file(name: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - never raises
    return Path(base) / "auditor" / "names" / f"{hashlib.sha256(name.encode(errors='replace')).hexdigest()}.json"


def _cached(path: Path, state: list[Any]) -> NamesIn | None:
    try:
        content = json.loads(path.read_bytes())
        if content["state"] == state:
            return NamesIn(_clean(content["kinds"]), _clean(content["namespaces"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _keep(path: Path, state: list[Any], found: NamesIn) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({"state": state, **found._asdict()}), encoding="utf-8")
        part.replace(path)
    except OSError:
        return


def _clean(names: Iterable[Any]) -> list[str]:
    return sorted({name for name in names if type(name) is str and _NAME.fullmatch(name)})


def _of_report(report: Path) -> NamesIn:
    import pyarrow.parquet as pq  # noqa: PLC0415 - only where the cache has nothing

    from auditor.store.manifest import manifest_bytes, parse_manifest  # noqa: PLC0415

    kinds: set[str] = set()
    namespaces: set[Any] = set()
    try:
        manifest = parse_manifest(manifest_bytes(report)) or {"index": ()}
        kinds |= {f"{row['plural']}.{row['group']}".rstrip(".") for row in manifest["index"]}
        for part in sorted((report / "objects").glob("*.parquet")):
            with pq.ParquetFile(part) as file:
                column = file.read(columns=["namespace"], use_threads=False)["namespace"]
            namespaces.update(column.unique().to_pylist())
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        pass
    return NamesIn(_clean(kinds), _clean(namespaces))


def _of_dump(target: str, size: int) -> NamesIn:
    if size > _MOST_BYTES:
        return NamesIn([], [])
    from auditor.base.errors import AuditorError  # noqa: PLC0415
    from auditor.plan.dumps import open_live  # noqa: PLC0415
    from auditor.sources import open_source  # noqa: PLC0415
    from auditor.sources.files.work_folder import temporary_folder  # noqa: PLC0415
    from auditor.sources.registry_key import classify, split_key  # noqa: PLC0415

    kinds, namespaces = set(), set()
    try:
        with temporary_folder("names") as folder:
            plans = open_source(target, number=0, workdir=folder)
            for plan in plans if isinstance(plans, list) else [plans]:
                keys = open_live(plan)["key"][:_MOST_KEYS].drop_null()  # objects of an export have none
                for key in keys.to_pylist():
                    place = classify(split_key(key, "/registry"), {})
                    if place.plural:
                        kinds.add(f"{place.plural}.{place.group or ''}".rstrip("."))
                    namespaces.add(place.namespace)
    except (AuditorError, OSError, ValueError):
        pass
    return NamesIn(_clean(kinds), _clean(namespaces))
