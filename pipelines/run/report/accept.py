"""`auditor accept`: writes an entry into a file of accepted findings."""

from __future__ import annotations

import datetime
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.errors import PlanError
from auditor.base.given_file import read_given
from auditor.base.visible import visible, visible_tree
from auditor.base.wording import objects
from auditor.causes.accepting import read_accepted
from auditor.sources.files.work_folder import try_lock
from pipelines.run.report.findings import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.causes.accepting import Entry
    from auditor.causes.topics import Cause


_NARROWING: Final = ("cluster", "namespace", "name")
_TURN: Final = 0.05
_TURNS: Final = 600
"""How often a run that waits for another looks, and how many times: half a minute."""


def run_accept(cause: str, values: dict[str, Any], *, file: str, report: str, today: datetime.date) -> str:
    """Append an entry to a file, which is made if there is none; return a line that says so.

    Args:
        cause: Id of a cause, or the beginning of one if a report is given.
        values: The other keys of the entry; empty ones are left out.
        file: The file.
        report: A report that has the cause; empty means it is not looked up.
        today: The current day.

    Raises:
        PlanError: The entry or the file cannot be used; then the file stays as it is.
    """
    known: Cause | None = None
    if report:
        with opened(report) as model:
            known = model.cause(cause)
        if known.severity == "critical" and not values.get("allowCritical"):
            expected = "--allow-critical, if this is meant"
            raise PlanError(known.id, "is a critical cause: this would accept nothing of it", expected)
    if datetime.date.fromisoformat(values["expires"]) < today:
        raise PlanError("--until", f"{values['expires']} is in the past", "a day from today on")
    entry = {"cause": known.id if known else cause.lower(), **{name: value for name, value in values.items() if value}}
    with _locked(Path(os.path.realpath(file))) as path:
        is_new = _add(path, entry, known)
    return f"{visible(file)}: {'accepts' if is_new else 'accepts already'} {_sentence(entry, known)}"


def _sentence(entry: dict[str, Any], known: Cause | None) -> str:
    """Return what an entry accepts, and until when; of a cause that was not looked up no more than that."""
    words = f"{entry['cause']} until {entry['expires']}"
    if known is None:
        unless = "" if entry.get("allowCritical") else ", and nothing if it is critical"
        return f"{words} (not looked up: give --report{unless})"
    part = "those that match of " if any(entry.get(name) for name in _NARROWING) else ""
    what = f"{visible(known.kind_name)}: {visible(known.title)}, {part}{objects(known.objects)}"
    return f"{entry['cause']} ({what}) until {entry['expires']}"


@contextmanager
def _locked(path: Path) -> Iterator[Path]:
    """Keep out other runs that would write the file meanwhile: each waits until the folder is free."""
    try:
        descriptor = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise PlanError(str(path), f"cannot be written: {error.strerror}", "a file in a writable folder") from error
    try:
        for _ in range(_TURNS):
            if try_lock(descriptor) is not False:
                break
            time.sleep(_TURN)
        else:
            raise PlanError(str(path), "is being written by another run", "a file that is free")
        yield path
    finally:
        os.close(descriptor)


def _add(path: Path, entry: dict[str, Any], known: Cause | None) -> bool:
    """Add an entry to a file; return False if it has it already."""
    before = _content(path)
    entries = read_accepted(str(path)) if before else ()
    text = f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{_text(entry, known)}"
    return _write(path, before, text, entries)


def _content(path: Path) -> str:
    try:
        return read_given(path).decode() if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(str(path), f"cannot be read: {error}", "a YAML file of accepted findings") from error


def _text(entry: dict[str, Any], found: Cause | None) -> str:
    """Return an entry as YAML: every value is a JSON text, so none can be anything but a value."""
    lines = [f"# {visible(found.kind_name)}: {visible(found.title)}"] if found else []
    for number, (name, value) in enumerate(visible_tree(entry).items()):
        lines.append(f"{'- ' if number == 0 else '  '}{name}: {orjson.dumps(value).decode()}")
    return "\n".join(lines) + "\n"


def _write(path: Path, before: str, text: str, entries: tuple[Entry, ...]) -> bool:
    """Write the file in one step, once it is known that it can be read back; return False if it has the entry."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, "utf-8")
        try:
            with_it = read_accepted(str(draft))
        except PlanError as error:
            reason = f"cannot take an entry at its end: {error.found}"
            raise PlanError(str(path), reason, "a list whose entries begin with '- ' in the first column") from error
        if with_it[:-1] != entries:
            raise PlanError(str(path), "cannot take an entry at its end", "a list of entries and nothing after it")
        if with_it[-1] in entries:
            return False
        if _content(path) != before:  # by an editor, which takes no lock
            raise PlanError(str(path), "was changed meanwhile, and stays as it is", "a file that is free")
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    except OSError as error:
        raise PlanError(str(path), f"cannot be written: {error.strerror}", "a file in a writable folder") from error
    finally:
        draft.unlink(missing_ok=True)
    return True
