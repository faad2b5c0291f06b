"""`--redact`: takes the values of objects out of a report before it is published.

What is left is where something is wrong, and why: names, namespaces, paths (with the keys of maps in them), checks, and
texts that the definition alone gives. There is no index, whose columns are values.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from auditor.shards.table_rows import write_parquet
from auditor.store.manifest import MANIFEST

if TYPE_CHECKING:
    from pathlib import Path


REDACTED: Final = "(redacted)"
_TYPES: Final = {
    "FieldValueRequired": "Required value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTooFew": "Too few",
}
_WITHOUT_VALUE: Final = frozenset({"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong"})
_OF_DEFINITIONS: Final = ("schema", "list-type")
"""Checks whose details are texts of the schema, except values that they quote."""
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'')
_VALUE: Final = re.compile(
    r"((?:Invalid|Unsupported|Duplicate|Required) value|Too long|Too many|Too few|Forbidden|Found|found|got| =)"
    r"(:?) .*",
    re.DOTALL,
)
_KEYS: Final = re.compile(r"\[[^][=]*=[^]]*\]")
"""The keys of an item of a list, in the paths of a server-side apply."""
_ARROW: Final = re.compile(r": .* -> .*", re.DOTALL)
_TEXTS: Final = frozenset({"reason", "text", "message", "why", "why_stuck"})
_VALUES: Final = frozenset({"old", "new"})
_TIME: Final = re.compile(r"[0-9T:.+Z-]{20,40}")


def redacted_text(text: str) -> str:
    """Return a message without what may be a value in it: what is quoted, and what follows ``value:`` or ``=``."""
    text = _KEYS.sub(f"[{REDACTED}]", _QUOTED.sub(REDACTED, text))
    return _VALUE.sub(rf"\1\2 {REDACTED}", _ARROW.sub(f": {REDACTED}", text))


def redact_report(folder: Path, manifest: dict[str, Any]) -> None:
    """Redact a report that is not published yet, its tables, its manifest and the manifest as the run returns it."""
    for table, change in (
        ("objects", _objects),
        ("findings", _findings),
        ("fixed", _findings),
        ("changes", _changes),
    ):
        for path in sorted((folder / table).glob("*.parquet")):
            with pq.ParquetFile(path) as file:
                rows = file.read(use_threads=False)
            write_parquet(change(rows), path)
    shutil.rmtree(folder / "index", ignore_errors=True)
    for section in ("kinds", "upgrade", "diff", "lost"):
        if manifest.get(section):
            manifest[section] = _tree(manifest[section])
    manifest["options"]["redact"] = True
    (folder / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")


def _tree(value: Any, name: str = "") -> Any:
    """Return part of a manifest without the values that its texts hold."""
    if type(value) is dict:
        return {key: _tree(member, key) for key, member in value.items()}
    if type(value) is list:
        return [redacted_text(item) if type(item) is str and not name else _tree(item, name) for item in value]
    if type(value) is not str or not value:
        return value
    if name in _VALUES:
        return REDACTED
    if name == "last_write" and not _TIME.fullmatch(value):
        return REDACTED
    return redacted_text(value) if name in _TEXTS else value


def _set(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    position = table.schema.get_field_index(name)
    return table.set_column(position, table.schema.field(position), pa.array(values, table.schema.field(position).type))


def _objects(table: pa.Table) -> pa.Table:
    reasons = table["reason"].to_pylist()
    return _set(table, "reason", [None if reason is None else redacted_text(reason) for reason in reasons])


def _findings(table: pa.Table) -> pa.Table:
    details, messages = [], []
    columns = (table[name].to_pylist() for name in ("check", "field", "type", "detail", "rule"))
    for check, field, type_, detail, rule in zip(*columns, strict=True):
        shown = detail or ""
        not_run = check == "rule" and rule is None  # said of all rules, not by one of them
        if shown and type_ != "FieldValueNotSupported":  # which lists what the schema allows
            shown = _without_quoted(shown, field) if check in _OF_DEFINITIONS or not_run else REDACTED
        words = _TYPES.get(type_, type_) + ("" if type_ in _WITHOUT_VALUE else f": {REDACTED}")
        details.append(shown)
        messages.append(f"{field}: {words}" + (f": {shown}" if shown else ""))
    values = [None if value is None else f'"{REDACTED}"' for value in table["bad_value"].to_pylist()]
    for name, column in (("bad_value", values), ("detail", details), ("message", messages)):
        table = _set(table, name, column)
    return table


def _without_quoted(text: str, field: str) -> str:
    """Return a detail without what it quotes; where the keys of maps in its path have quotes, nothing of it."""
    if '"' in field or "'" in field:
        return REDACTED
    shown = _QUOTED.sub(REDACTED, text)
    return REDACTED if '"' in shown else shown


def _changes(table: pa.Table) -> pa.Table:
    is_verdict = [change == "verdict" for change in table["change"].to_pylist()]
    for name in ("old", "new"):
        values = table[name].to_pylist()
        shown = [
            value if keep or value is None else f'"{REDACTED}"' for value, keep in zip(values, is_verdict, strict=True)
        ]
        table = _set(table, name, shown)
    return table
