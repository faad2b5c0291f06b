"""Validation rules beside the real API server libraries: the time of that phase alone, on the same objects, in one run.

    python tests/benchmarks/cel.py                                 # needs the oracle, and Go
    python tests/benchmarks/cel.py --corpus bench-2 --objects 20000 --repeats 5

Ours: objects are read and judged without their rules; then, as an audit does, the rules of those on which a server
would run them, by the generated provers, and by the interpreter if these prove nothing. The oracle reports the time of
its own phase. Both run in one process on one processor, in turns, and both times are per object of the whole corpus.
Wall time on a shared machine says little, so processor time is given too: the oracle's phase by its clock, times the
share of the clock for which the process had a processor.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from auditor.crds.catalog import CrdCatalog
from auditor.fastpath.rules.prover import RuleProver
from auditor.program.program import AuditProgram
from auditor.sources.crd_files import read_crd_documents
from auditor.validation.findings import has_blocking
from auditor.validation.rules import RuleProgram
from tests.benchmarks.harness import Results, arguments, ratios
from tests.benchmarks.yardstick import build, crds, draw, is_yardstick_missing, oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 50
"""Objects that are held at once."""


class Ours:
    """The programs of all versions that a corpus has objects of."""

    def __init__(self) -> None:
        self.catalog = CrdCatalog.from_documents(read_crd_documents([str(crds())]))
        self.known: dict[tuple[str, str], tuple[AuditProgram, RuleProver | None]] = {}

    def program(self, decoded: dict[str, Any]) -> tuple[AuditProgram, RuleProver | None]:
        """Return the program without rules of an object's version, and the prover of its rules.

        Raises:
            ValueError: There is no such definition or version.
        """
        group, _, name = decoded["apiVersion"].rpartition("/")
        key = (f"{group}/{decoded['kind']}", name)
        if key not in self.known:
            definition = self.catalog.by_group_kind(group, decoded["kind"])
            if definition is None or name not in definition.versions:
                raise ValueError(key)
            version = definition.versions[name]
            rules = RuleProgram.of(version.structural)
            prover = None if rules is None else RuleProver(rules, definition, version)
            self.known[key] = (AuditProgram(definition, version, rules=False), prover)
        return self.known[key]

    def read(self, lines: list[bytes]) -> Iterator[tuple[RuleProver, dict[str, Any], bytes, bool]]:
        """Yield what rules run on, and whether it is proven valid except for them."""
        for line in lines:
            try:
                program, prover = self.program(orjson.loads(line))
            except ValueError:
                continue
            if prover is None:
                continue
            audited = program.audit(line)
            if audited.unreadable is None and not has_blocking(audited.findings):
                assert audited.object is not None
                yield prover, audited.object, line, not audited.findings

    def run(self, corpus: Path) -> tuple[float, float, Counter[str]]:
        """Return microseconds of wall and processor time per object, and counts."""
        wall = cpu = 0.0
        seen: Counter[str] = Counter()
        with corpus.open("rb") as stream:
            while lines := list(itertools.islice(stream, _CHUNK)):
                seen["objects"] += len(lines)
                work = list(self.read(lines))
                seen["with rules"] += len(work)
                start, start_cpu = time.perf_counter(), time.process_time()
                for prover, obj, data, is_valid in work:
                    if is_valid or prover.is_typed(obj):
                        found = prover.findings(obj, data)
                        seen["proven"] += found is None
                        seen["broken"] += bool(found)
                    else:
                        seen["broken"] += bool(prover.rules.run(obj))
                cpu += time.process_time() - start_cpu
                wall += time.perf_counter() - start
        return wall / seen["objects"] * 1e6, cpu / seen["objects"] * 1e6, seen


def coverage(catalog: CrdCatalog) -> str:
    """Return how many rules of all definitions have code, and why others have none."""
    emitted = transitions = 0
    reasons: Counter[str] = Counter()
    for definition in catalog.crds.values():
        for version in definition.versions.values():
            rules = RuleProgram.of(version.structural)
            if rules is None:
                continue
            prover = RuleProver(rules, definition, version)
            emitted += prover.emitted
            reasons.update(reason for _, reason in prover.reasons)
            each = [rule for node in rules.root.walk() for rule in node.rules]
            transitions += sum(rule.uses_old_self and not rule.rule.optional_old_self for rule in each)
    total = emitted + transitions + reasons.total()
    return f"{emitted} of {total} rules have code; {transitions} are about changes only; others: {dict(reasons)}."


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=20_000)
    parser.add_argument("--corpus", choices=("bench-30", "bench-2"), default="bench-30")
    parser.add_argument("--file", type=Path, help="objects of the corpus' definitions, in place of drawn ones")
    options = parser.parse_args()
    if is_yardstick_missing():
        return 0
    corpus = options.file or draw(options.corpus, options.objects, options.cache)
    build("oracle", options.cache)
    ours = Ours()
    results = Results("cel", f"Validation rules alone ({corpus.stem})")
    results.note(coverage(ours.catalog))
    ours.run(corpus)  # warm, as the oracle is
    mine, theirs = [], []
    for _ in range(options.repeats):
        wall, cpu, seen = ours.run(corpus)
        mine.append((wall, cpu))
        found = oracle(corpus, 1, options.cache)
        theirs.append((found.phases["cel"], found.phases["cel"] * found.processor_share))
    results.settings |= {"objects": seen["objects"], "repeats": options.repeats}
    results.note(f"Objects: {dict(seen)}.")
    for index, row in enumerate(("by the clock", "processor time")):
        one, other = [each[index] for each in mine], [each[index] for each in theirs]
        results.add(row, "ours, us an object", one)
        results.add(row, "oracle, us an object", other)
        results.add(row, "times faster", ratios(other, one))
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
