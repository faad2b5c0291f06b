"""The cost of verdicts on updates: an audit with and without them; and of ratcheting in the check of an update.

    python tests/benchmarks/updates.py --objects 20000 --repeats 5

Three figures, each a median of ratios of runs in turns, so that a slow minute hits both sides:

- audit: seconds of processor time of an audit of bench-2 (2 % of the objects invalid) over those with --skip updates;
  at most 1.3; of bench-30 (30 % invalid) at most 1.4.
- ratcheting: the check of an unchanged object as an update of itself over the same check without ratcheting; at most
  1.05. Objects are read before the clock starts; all of them, also the invalid ones. Rules are left out: without
  ratcheting a blocking finding keeps them from running at all, so that both sides would not do the same work.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from auditor.crds.catalog import CrdCatalog
from auditor.program.program import AuditProgram
from auditor.sources.crd_files import read_crd_documents
from auditor.updates.update import UpdateProgram
from tests.benchmarks.harness import Results, arguments, audit, in_turns, ratios
from tests.benchmarks.yardstick import crds, decoded, draw, is_corpus_missing

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject

LIMITS = {"audit": 1.3, "audit of bench-30": 1.4, "ratcheting": 1.05}


def unchanged(corpus: Path) -> list[tuple[UpdateProgram, JsonObject, JsonObject]]:
    """Read the objects of a corpus that can be decoded; return each with its program and a copy of itself."""
    catalog = CrdCatalog.from_documents(read_crd_documents([str(crds())]))
    programs: dict[str, AuditProgram] = {}
    updates: dict[str, UpdateProgram] = {}
    found = []
    for line, head in decoded(corpus.read_bytes().splitlines()):
        api_version, kind = head["apiVersion"], head["kind"]
        key = f"{api_version} {kind}"
        if key not in programs:
            group, _, version = api_version.rpartition("/")
            definition = catalog.by_group_kind(group, kind)
            assert definition is not None
            programs[key] = AuditProgram(definition, definition.versions[version])
            updates[key] = UpdateProgram(programs[key])
        old, new = programs[key].audit(line).object, programs[key].audit(line).object
        assert old is not None
        assert new is not None
        for obj in (old, new):
            obj["metadata"]["resourceVersion"] = "1"
        found.append((updates[key], old, new))
    return found


def check_seconds(pairs: list[tuple[UpdateProgram, JsonObject, JsonObject]], *, ratchet: bool) -> float:
    """Return the processor seconds of checking all updates."""
    start = time.process_time()
    for update, old, new in pairs:
        update.validator.run(new, old, ratchet=ratchet)
    return time.process_time() - start


def audits_of(corpus: Path) -> dict[str, Callable[[], float]]:
    """Return what measures the processor seconds of audits of a corpus without verdicts on updates, and with them."""
    return {
        "without": lambda: audit(corpus, crds(), "--skip", "updates").processor,
        "with": lambda: audit(corpus, crds()).processor,
    }


def main() -> int:
    """Run it."""
    options = arguments(__doc__, objects=20_000, repeats=5).parse_args()
    if is_corpus_missing():
        return 0
    corpus, many = (draw(name, options.objects, options.cache).resolve() for name in ("bench-2", "bench-30"))
    pairs = unchanged(corpus)
    results = Results("updates", "What verdicts on updates cost (bench-2)")
    results.settings |= {"objects": len(pairs), "repeats": options.repeats}
    checks = {name: partial(check_seconds, pairs, ratchet=name == "with") for name in ("without", "with")}
    for check in checks.values():
        check()  # code is generated when it is first wanted
    for name, row, sides in (
        ("audit", "an audit", audits_of(corpus)),
        ("audit of bench-30", "an audit of bench-30", audits_of(many)),
        ("ratcheting", "the check of an update", checks),
    ):
        found = in_turns(options.repeats, sides)
        results.add(row, "without, s of processor time", found["without"])
        results.add(row, "with, s", found["with"])
        results.add(row, "times the time", ratios(found["with"], found["without"]), at_most=LIMITS[name])
    results.note("An audit: with verdicts on updates, and without. The check: with ratcheting, and without.")
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
