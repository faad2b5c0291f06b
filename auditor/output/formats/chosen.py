"""A report of a fleet as if its run had been of some of its clusters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from auditor.causes.verdict import verdict_of
from auditor.store import allclear
from auditor.store.clusters import narrowed_manifest
from auditor.store.damage_lines import lines_of_damage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.causes.model import FindingsModel


def of_clusters(model: FindingsModel, clusters: Sequence[str]) -> FindingsModel:
    """Return a model whose run, verdict, counts and warnings are those of some clusters; its rows are still all.

    Args:
        model: The report, opened with the same clusters.
        clusters: Their names; empty for all.

    Raises:
        PlanError: The report has no rows of one of them.
    """
    manifest = narrowed_manifest(model.manifest, clusters)
    if manifest is model.manifest:
        return model
    names = tuple(cluster["name"] for cluster in manifest["clusters"])
    run = replace(
        model.run,
        clusters=names,
        sources=tuple(source for source in model.run.sources if source.cluster in names),
        keys=manifest["counts"]["keys"],
        exit_code=manifest["exit_code"],
    )
    damage = lines_of_damage(manifest["inputs"])
    return replace(
        model,
        manifest=manifest,
        run=run,
        verdict=verdict_of(manifest, model.causes),
        missing=[],
        stale=allclear.stale_lines(allclear.stale_dumps(manifest)),
        damage=[*damage, *(f"LOST  {text}" for text in manifest["lost"])],
        not_judged=allclear.not_judged(manifest),
    )
