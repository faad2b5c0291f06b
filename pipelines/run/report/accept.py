"""`auditor accept`: writes an entry into a file of accepted findings."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from auditor.base.errors import PlanError
from auditor.base.visible import visible, visible_tree
from auditor.report.findings.accepting import read_accepted
from pipelines.run.report.findings import opened

if TYPE_CHECKING:
    from auditor.report.findings.causes import Cause

__all__ = ["run_accept"]


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
    found: Cause | None = None
    if report:
        with opened(report) as model:
            found = model.cause(cause)
        if found.severity == "critical" and not values.get("allowCritical"):
            expected = "--allow-critical, if this is meant"
            raise PlanError(found.id, "is a critical cause, which an entry accepts only by name", expected)
    if datetime.date.fromisoformat(values["expires"]) < today:
        raise PlanError("--until", f"{values['expires']} is in the past", "a day from today on")
    entry = {"cause": found.id if found else cause.lower(), **{name: one for name, one in values.items() if one}}
    path = Path(file)
    try:
        before = path.read_text("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(file, f"cannot be read: {error}", "a YAML file of accepted findings") from error
    known = read_accepted(file) if before else ()
    text = f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{_text(entry, found)}"
    _write(path, text, expected=len(known) + 1)
    what = f" ({visible(found.kind_name)}: {visible(found.title)}, {found.objects} objects)" if found else ""
    return f"{visible(file)}: accepts {entry['cause']}{what} until {values['expires']}"


def _text(entry: dict[str, Any], found: Cause | None) -> str:
    """Return an entry as YAML: every value is a JSON text, so none can be anything but a value."""
    lines = [f"# {visible(found.kind_name)}: {visible(found.title)}"] if found else []
    for number, (name, value) in enumerate(visible_tree(entry).items()):
        lines.append(f"{'- ' if number == 0 else '  '}{name}: {orjson.dumps(value).decode()}")
    return "\n".join(lines) + "\n"


def _write(path: Path, text: str, *, expected: int) -> None:
    """Write the file in one step, once it is known that it can be read back."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, "utf-8")
        try:
            entries = read_accepted(str(draft))
        except PlanError as error:
            found = f"cannot take an entry at its end: {error.found}"
            raise PlanError(str(path), found, "a list whose entries begin with '- ' in the first column") from error
        if len(entries) != expected:
            raise PlanError(str(path), "cannot take an entry at its end", "a list of entries and nothing after it")
        draft.replace(path)
    except OSError as error:
        raise PlanError(str(path), f"cannot be written: {error.strerror}", "a file in a writable folder") from error
    finally:
        draft.unlink(missing_ok=True)
