"""What an upgrade of the API server changes, by record of the table of changes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import label
from auditor.base.wording import objects
from auditor.releases.changes import between

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from auditor.shards.upgrade import UpgradePlan
    from auditor.upgrade import Tally
    from auditor.upgrade.release_change import ReleaseChange

__all__ = ["record_lines", "records_section"]

_SAMPLES: Final = 3
_FEW: Final = 6
_LONGEST: Final = 160
_CATEGORIES: Final = {"mended": "repaired"}
"""Categories whose printed name differs from that in the manifest."""
_DEFINITIONS: Final = {
    "refused": "a create is refused of",
    "accepted": "a create is no longer refused, or in other words, of",
    "dearer": "rules cost more of",
    "cheaper": "rules cost less of",
}


def records_section(
    scan: UpgradePlan, tallies: Mapping[str, Tally], definitions: Mapping[str, ReleaseChange]
) -> list[dict[str, Any]]:
    """Return each record between two releases with what it changes; last, without a name, what no record changes alone.

    Args:
        scan: The plan.
        tallies: The counts of each definition, by name.
        definitions: What the releases say to each definition, by name.
    """
    known = [(one.name, str(one.affects), one.what) for one in between(*scan.releases)]
    out = []
    for name, affects, what in (*known, ("", "", "")):
        counts: Counter[str] = Counter()
        samples: list[dict[str, str]] = []
        for definition, tally in tallies.items():
            counts.update({category: n for (own, category), n in tally.records.items() if own == name})
            shown = tally.samples.get(f"record {name}", [])[: _SAMPLES - len(samples)]
            samples += [{"definition": definition, "key": one.key, "text": one.text} for one in shown]
        concerned = {
            how: sorted(own for own, change in definitions.items() if name in change.records_of(how))
            for how in _DEFINITIONS
        }
        if name or counts or any(concerned.values()):
            out.append(
                {"name": name or None, "affects": affects or None, "what": what or None}
                | {"objects": dict(sorted(counts.items())), "samples": samples}
                | {"definitions": {how: names for how, names in concerned.items() if names}}
            )
    return out


def record_lines(records: Iterable[dict[str, Any]], *, everything: bool) -> Iterator[str]:
    """Yield the records that change something here, with counts and an example; the others by their number."""
    found = [one for one in records if one["objects"] or one["definitions"]]
    if not found:
        return
    yield "by change of Kubernetes (auditor releases describes each):"
    for one in found if everything else found[:_FEW]:
        said = [f"{objects(count)} {_CATEGORIES.get(name, name)}" for name, count in one["objects"].items()]
        for how, names in one["definitions"].items():
            more = f" and {len(names) - _SAMPLES} more" if len(names) > _SAMPLES else ""
            said.append(f"{_DEFINITIONS[how]} {', '.join(map(label, names[:_SAMPLES]))}{more}")
        yield f"  {one['name'] or 'several together, or one of the rule language'}: {', '.join(said)}"
        for sample in one["samples"][: _SAMPLES if everything else 1]:
            yield f"    {sample['key']}{': ' if sample['text'] else ''}{sample['text'][:_LONGEST]}"
    if not everything and len(found) > _FEW:
        yield f"  and {len(found) - _FEW} more changes"
