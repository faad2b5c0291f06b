"""The kinds in a folder that `auditor tables` or `audit --tables` wrote, as views over its files."""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import pyarrow.dataset as ds

from auditor.base.errors import DamagedDump
from auditor.base.wording import by_count, objects
from auditor.sources.detect import SCHEMA_FILE
from auditor.sql.views import View, Views

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa


_NEEDS_REPORT = "the folder has typed tables of kinds alone; ask the dump or the report"


def is_tables(folder: Path) -> bool:
    """Return whether a folder is one of typed tables."""
    return (folder / SCHEMA_FILE).is_file()


def table_views(folder: Path) -> Views:
    """Return the views of the kinds in a folder; those with rows that have no values have a note.

    Raises:
        DamagedDump: Its `schema.json` is not one that the auditor writes, or a file of it is not Parquet.
    """
    try:
        kinds = list(map(_named, _written(folder)["kinds"]))
    except (ValueError, TypeError, LookupError) as error:
        raise _damaged(folder / SCHEMA_FILE, error) from error
    firsts: dict[str, _Kind] = {}
    views = [_view(folder, kind, firsts.setdefault(kind.plural, kind)) for kind in kinds]
    return Views(views, dict.fromkeys(("findings", "causes", "keys", "objects"), _NEEDS_REPORT))


def has_values(folder: Path, flag: str) -> bool:
    """Return whether the tables in a folder were written with ``--as stored``, or with ``--show-secrets``.

    Raises:
        DamagedDump: Its `schema.json` is not one that the auditor writes.
    """
    written = _written(folder)
    return written.get("as") == "stored" if flag == "--as stored" else written.get("secrets_shown") is True


def _written(folder: Path) -> dict[str, Any]:
    """Return what `schema.json` says of the tables in a folder."""
    try:
        written = orjson.loads((folder / SCHEMA_FILE).read_bytes())
        return dict(written)
    except (ValueError, TypeError) as error:
        raise _damaged(folder / SCHEMA_FILE, error) from error


class _Kind(NamedTuple):
    """An entry of `schema.json`."""

    plural: str
    full: str
    about: str
    folder: str
    not_read: int


def _named(entry: dict[str, Any]) -> _Kind:
    origin = entry["merged"][0] if "merged" in entry else entry
    plural = str(origin.get("definition") or origin["builtin"]).partition(".")[0]
    group, folder = entry["group"], PurePosixPath(entry["folder"])
    if folder.is_absolute() or ".." in folder.parts:
        raise ValueError(f"it names the folder {entry['folder']!r}")
    about = f"{entry['kind']} {group}/{entry['version']}" if group else f"{entry['kind']} {entry['version']}"
    return _Kind(plural, f"{plural}.{group}" if group else plural, about, entry["folder"], int(entry["not_read"]))


def _view(folder: Path, kind: _Kind, first: _Kind) -> View:
    """Return the view of a kind; `first` is the kind that has the plural alone as its name."""
    files, count, note = _dataset(folder / kind.folder), kind.not_read, ""
    about = kind.about if first == kind else f"{kind.about}; {kind.plural} means {first.about}"
    if count:
        row, were = by_count(count, "its row has", "their rows have"), by_count(count, "was", "were")
        note = f"{objects(count)} of {kind.full} {were} not readable when the tables were written: {row} nulls, "
        note += "and in stored_object what only a webhook could convert"
    name = kind.plural if first == kind else kind.full
    return View(name, about, partial(_schema, files), partial(_read, files), (kind.full,), None, note, files)


def _damaged(path: Path, error: Exception) -> DamagedDump:
    return DamagedDump(str(path), f"is damaged: {error!r}", "what `auditor tables` writes", "write the tables anew")


def _dataset(folder: Path) -> Any:
    try:
        return ds.dataset([str(path) for path in sorted(folder.glob("part-*.parquet"))], format="parquet")
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error


def _schema(files: Any) -> pa.Schema:
    schema: pa.Schema = files.schema
    return schema


def _read(files: Any, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    batches: Iterator[pa.RecordBatch] = files.to_batches(columns=list(columns))
    return batches
