"""The newest older revision of a key that breaks its kind at which its value could be read, while the dump is open."""

from __future__ import annotations

from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from auditor.plan.older_rows import older_rows
from auditor.sources.dump_formats import HAS_HISTORY
from pipelines.log import LOG

if TYPE_CHECKING:
    from auditor.plan.run_plan import Plan


_TRIED: Final = 20
"""Revisions of a key that are tried at most."""


def note_last_good(plan: Plan, manifest: dict[str, Any]) -> None:
    """Note for the keys that break kinds, in `last_good`, revision and time of their newest value that can be read.

    Args:
        plan: The plan of the run.
        manifest: The manifest of its report; `breaking` of its kinds is changed.
    """
    breaking = {kind["breaking"]["key"].encode("utf-8", "surrogateescape"): kind["breaking"]
                for kind in manifest["kinds"] if kind["breaking"]}  # fmt: skip
    sources = [number for number, source in enumerate(plan.sources) if source.format in HAS_HISTORY]
    if not breaking:
        return
    try:
        older = {number: rows for number in sources if (rows := list(older_rows(plan.sources[number], breaking)))}
        if not older:
            return
        from pipelines.run.report.older_values import OlderValues  # noqa: PLC0415 - heavy, and rarely needed

        values = OlderValues(plan, breaking)
        for number, rows in older.items():
            for key, tried in groupby(rows, key=attrgetter("key")):
                if (good := values.newest_read(number, islice(tried, _TRIED))) is not None:
                    breaking[key]["last_good"] = good
    except Exception as error:  # noqa: BLE001 - the report is complete without it
        LOG.warning("last-good", f"older revisions were not searched: {type(error).__name__}: {error}")
