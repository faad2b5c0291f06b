"""accept.yaml: findings that a team has decided to live with for a while, with a reason and a last day.

An entry matches by the id of a cause, or by globs. It counts until the end of its last day (UTC). An expired entry
accepts nothing any more; it and entries that match nothing are listed, so that the file does not grow old unseen.
"""

from __future__ import annotations

import datetime
import fnmatch
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base.errors import AuditorError, PlanError
from auditor.base.given_file import read_given
from auditor.releases.meanings import fields_like

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.causes.row_causes import CauseNumbers, FindingRows, ObjectImpacts


MATCHERS: Final = ("cause", "cluster", "kind", "namespace", "name", "field", "check")
_OTHERS: Final = ("reason", "expires", "owner", "allowCritical")
_ID: Final = re.compile(r"[0-9a-f]{8,64}")
_SOON: Final = 7
"""Days before its last one from which an entry is said to expire soon."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of accept.yaml; empty matchers match everything, and there is at least one that is not empty."""

    reason: str
    expires: str
    cause: str = ""
    cluster: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    field: str = ""
    check: str = ""
    owner: str = ""
    allow_critical: bool = False

    @property
    def last_day(self) -> datetime.date:
        """The last day on which it counts."""
        return datetime.date.fromisoformat(self.expires)


def read_accepted(path: str) -> tuple[Entry, ...]:
    """Return the entries of a file: a list, or a mapping with the list as `accept`.

    Raises:
        PlanError: The file cannot be read, or an entry lacks a matcher, a reason or a last day.
    """
    entries = read_entries(path, "accept", "accepted findings", may_be_empty=True)
    return tuple(_entry(entry, f"{path}: entry {number}") for number, entry in enumerate(entries, 1))


def read_entries(path: str, name: str, what: str, *, may_be_empty: bool = False) -> list[Any]:
    """Return the entries of a YAML file: a list, or a mapping with the list under one key.

    Args:
        path: The file.
        name: The key, which is also the name of the option that names the file.
        what: What the entries are, as an error says it.
        may_be_empty: Whether a file without content has no entries; else it is an error.

    Raises:
        PlanError: The file cannot be read, or has no list.
    """
    from auditor.sources.yaml import yaml_to_json  # noqa: PLC0415

    try:
        content = yaml_to_json(read_given(path))
    except (OSError, ValueError, RecursionError, AuditorError) as error:
        raise PlanError(f"--{name}", f"{path} cannot be read: {error}", f"a YAML file of {what}") from error
    if isinstance(content, dict) and list(content) == [name]:
        content = content[name]
    if content is None and may_be_empty:
        return []
    if not isinstance(content, list):
        raise PlanError(f"--{name}", f"{path} is not a list of entries", "a list of mappings")
    return content


def _entry(content: Any, where: str) -> Entry:
    if not isinstance(content, dict):
        raise PlanError("--accept", f"{where} is not a mapping", "matchers, reason and expires")
    unknown = [str(name) for name in content if name not in (*MATCHERS, *_OTHERS)]
    if unknown:
        raise PlanError("--accept", f"{where}: unknown key {unknown[0]}", ", ".join((*MATCHERS, *_OTHERS)))
    values = {name: str(content[name]) for name in (*MATCHERS, "owner") if content.get(name) is not None}
    if not any(values.get(name) for name in MATCHERS):
        raise PlanError("--accept", f"{where} has no matcher", f"at least one of {', '.join(MATCHERS)}")
    if values.get("cause") and not _ID.fullmatch(values["cause"]):
        raise PlanError("--accept", f"{where}: cause {values['cause']!r} is not an id", "8 or more hexadecimal digits")
    reason = content.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise PlanError("--accept", f"{where} has no reason", "a text: why the finding is accepted")
    expires = str(content.get("expires") or "")
    try:
        datetime.date.fromisoformat(expires)
    except ValueError:
        raise PlanError("--accept", f"{where}: expires is {expires!r}", "a date such as 2026-12-31") from None
    if (critical := content.get("allowCritical", False)) not in (True, False):
        raise PlanError("--accept", f"{where}: allowCritical is {critical!r}", "true or false")
    return Entry(reason=reason.strip(), expires=expires, allow_critical=bool(critical), **values)


class Acceptance:
    """Entries applied to the rows of a report.

    Args:
        entries: The entries.
        today: The day of the run.
    """

    def __init__(self, entries: tuple[Entry, ...], today: datetime.date) -> None:
        self.entries = entries
        self.today = today
        self._matched: list[list[int]] = [[0, 0] for _ in entries]
        self._refused = [0 for _ in entries]

    @classmethod
    def of_manifest(cls, manifest: dict[str, Any]) -> Acceptance | None:
        """Return the acceptance that a report was made with; None if there was none."""
        section = manifest.get("accepted")
        if not section:
            return None
        names = {*MATCHERS, "reason", "expires", "owner", "allow_critical"}
        entries = tuple(Entry(**{name: entry[name] for name in names if name in entry}) for entry in section["entries"])
        return cls(entries, datetime.datetime.fromisoformat(manifest["started"]).date())

    def findings(self, rows: FindingRows, causes: CauseNumbers, ranks: Any) -> Any:
        """Return for each finding whether it is accepted."""
        return self._mask(
            len(rows),
            rows.columns,
            lambda name: rows.columns[name].codes,
            causes,
            rows.cause,
            ranks,
            is_finding=True,
        )

    def impacts(self, rows: ObjectImpacts, causes: CauseNumbers, ranks: Any) -> Any:
        """Return for each impact of an object whether it is accepted; entries with a field or a check match none."""
        return self._mask(
            len(rows.row),
            rows.columns,
            lambda name: rows.columns[name].codes[rows.row],
            causes,
            rows.cause,
            ranks,
            is_finding=False,
        )

    def _mask(
        self,
        size: int,
        columns: Any,
        codes: Callable[[str], Any],
        causes: CauseNumbers,
        cause: Any,
        ranks: Any,
        *,
        is_finding: bool,
    ) -> Any:
        out = np.zeros(size, dtype=bool)
        for number, entry in enumerate(self.entries):
            if entry.cause:
                of_causes = [_has_id(key, entry.cause) for key in causes.keys]
                mask = np.array(of_causes, dtype=bool)[cause] if of_causes else np.zeros(size, dtype=bool)
            else:
                mask = np.ones(size, dtype=bool)
            for name in ("cluster", "namespace", "name"):
                if pattern := getattr(entry, name):
                    texts = np.array([fnmatch.fnmatchcase(text or "", pattern) for text in columns[name].texts])
                    mask &= texts[codes(name)]
            if entry.kind or entry.field or entry.check:
                of_causes = [_takes(entry, key) for key in causes.keys]
                mask &= np.array(of_causes, dtype=bool)[cause] if of_causes else False
            if not entry.allow_critical:
                critical = mask & (ranks == 0)
                self._refused[number] += int(critical.sum())
                mask &= ranks != 0
            self._matched[number][0 if is_finding else 1] += int(mask.sum())
            if entry.last_day >= self.today:
                out |= mask
        return out

    def section(self, path: str) -> dict[str, Any]:
        """Return the section of the manifest: the entries, how often each matched, and its state."""
        entries = []
        for entry, (findings, objects), refused in zip(self.entries, self._matched, self._refused, strict=True):
            state = "active" if findings + objects else "unmatched"
            if entry.last_day < self.today:
                state = "expired"
            elif refused and state == "unmatched":
                state = "critical"
            more = {"findings": findings, "impacts": objects, "critical": refused, "state": state}
            entries.append({**{name: value for name, value in asdict(entry).items() if value}, **more})
        soon = self.today + datetime.timedelta(days=_SOON)
        return {
            "file": path,
            "entries": entries,
            "expired": sum(entry["state"] == "expired" for entry in entries),
            "unmatched": sum(entry["state"] == "unmatched" for entry in entries),
            "needs_allow_critical": sum(entry["state"] == "critical" for entry in entries),
            "expiring": sum(self.today <= entry.last_day <= soon for entry in self.entries),
        }


def _has_id(key: Any, cause: str) -> bool:
    """Return whether an id is, or was, that of a cause."""
    return any(digest.startswith(cause) for digest in (key.digest(), key.digest_of_words()))


def _takes(entry: Entry, key: Any) -> bool:
    """Return whether an entry matches the kind, the field and the check of a cause."""
    fields = filter(None, fields_like(key.field)) if entry.field else ()
    return matches(entry, kind=key.kind, group=key.group, fields=fields, checks=(key.check,))


def matches(entry: Entry, *, kind: str, group: str, fields: Iterable[str], checks: Iterable[str]) -> bool:
    """Return whether an entry matches a kind, one of some fields and one of some checks."""
    pairs = (
        (entry.kind, (f"{kind}.{group}" if group else kind, kind)),
        (entry.field.replace("[", "[[]"), fields),
        (entry.check, checks),
    )
    return all(not pattern or any(fnmatch.fnmatchcase(text, pattern) for text in texts) for pattern, texts in pairs)
