"""Microseconds for defaulting, compared with a deep copy of the same object.

    python tests/benchmarks/defaulting.py
    python tests/benchmarks/defaulting.py --objects 20000 --repeats 9

Generated code has no separate pass for defaults: it inserts them while it prunes the object and proves it valid. Their
cost is therefore the time of a version's program minus that of the same program without defaults, each on freshly
decoded objects (bench-2), in turns. Beside that are the whole program (pruning, defaulting, every check but rules), the
plain interpreter, which walks the object for defaults alone, and two deep copies: `copy.deepcopy`, and decoding what
orjson encodes.

The limit: defaulting alone costs less than the cheaper of the two copies, for each kind; and, of the interpreter, less
than `copy.deepcopy`.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from auditor.crds.catalog import CrdCatalog
from auditor.fastpath.dicts.build import build_version
from auditor.fastpath.dicts.support import Log
from auditor.schema.defaulting.reference import default
from auditor.sources.crd_files import read_crd_documents
from tests.benchmarks.harness import Results, arguments
from tests.benchmarks.yardstick import crds, decoded, draw, is_corpus_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from auditor.crds.definition import CrdVersion, CustomResourceDefinition

_CHUNK = 50
"""Objects that are decoded at once, before the clock starts: more would not fit the processor's cache."""


def one_pass(lines: Sequence[bytes], works: Mapping[str, Callable[[Any, int], object]]) -> dict[str, float]:
    """Return the microseconds of processor time that each work takes on average, on freshly decoded objects.

    The works take turns every few objects: what disturbs one disturbs the others.
    """
    total = dict.fromkeys(works, 0)
    for start in range(0, len(lines), _CHUNK):
        for name, work in works.items():
            chunk = [(orjson.loads(line), len(line)) for line in lines[start : start + _CHUNK]]
            before = time.thread_time_ns()
            for obj, size in chunk:
                work(obj, size)
            total[name] += time.thread_time_ns() - before
    return {name: spent / len(lines) / 1000 for name, spent in total.items()}


def program(
    definition: CustomResourceDefinition, version: CrdVersion, *, defaults: bool
) -> Callable[[Any, int], object]:
    """Return the generated program of a version, as something that works on an object."""
    log = Log()
    run = build_version(definition, version, defaults=defaults).run
    assert run is not None

    def work(obj: Any, size: int) -> None:
        with contextlib.suppress(Exception):  # an object that only the reference reads
            run(obj, log, size)
        log.clear()

    return work


def round_trip(obj: Any, _: int) -> object:
    """Copy an object by encoding and decoding it."""
    return orjson.loads(orjson.dumps(obj))


def sides(definition: CustomResourceDefinition, version: CrdVersion) -> dict[str, Callable[[Any, int], object]]:
    """Return everything that is timed for objects of a version."""
    schema = version.structural
    return {
        "whole": program(definition, version, defaults=True),
        "no defaults": program(definition, version, defaults=False),
        "nothing": lambda _, __: None,
        "interpreter": lambda obj, _: default(obj, schema),
        "deepcopy": lambda obj, _: copy.deepcopy(obj),
        "round trip": round_trip,
    }


def measure(
    lines: Sequence[bytes], definition: CustomResourceDefinition, version: CrdVersion, repeats: int
) -> dict[str, list[float]]:
    """Return the microseconds an object by side, the cost of the call taken off; and what defaults add."""
    works = sides(definition, version)
    one_pass(lines, works)
    gc.collect()
    gc.disable()
    try:
        passes = [one_pass(lines, works) for _ in range(repeats)]
    finally:
        gc.enable()
    out = {name: [found[name] - found["nothing"] for found in passes] for name in works}
    out["defaults"] = [found["whole"] - found["no defaults"] for found in passes]
    return out


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=4_000, repeats=5)
    options = parser.parse_args()
    if is_corpus_missing():
        return 0
    catalog = CrdCatalog.from_documents(read_crd_documents([str(crds())]))
    by_kind: dict[tuple[str, str], list[bytes]] = {}
    corpus = draw("bench-2", options.objects, options.cache)
    for line, head in decoded(corpus.read_bytes().splitlines()):
        by_kind.setdefault((head["apiVersion"], head["kind"]), []).append(line)
    results = Results("defaulting", "Defaulting beside a deep copy, microseconds an object")
    results.settings |= {"objects": options.objects, "repeats": options.repeats}
    for (api_version, kind), lines in sorted(by_kind.items(), key=lambda entry: entry[0][1]):
        group, _, name = api_version.rpartition("/")
        definition = catalog.by_group_kind(group, kind)
        assert definition is not None
        found = measure(lines, definition, definition.versions[name], options.repeats)
        copies = [min(one, other) for one, other in zip(found["deepcopy"], found["round trip"], strict=True)]
        results.add(kind, "what defaults add", found["defaults"])
        results.add(kind, "interpreter, defaults alone", found["interpreter"])
        results.add(kind, "whole program", found["whole"])
        results.add(kind, "copy.deepcopy", found["deepcopy"])
        results.add(kind, "orjson round trip", found["round trip"])
        shares = [mine / copied for mine, copied in zip(found["defaults"], copies, strict=True)]
        results.add(kind, "defaults over the cheaper copy", shares, at_most=1)
        shares = [mine / copied for mine, copied in zip(found["interpreter"], found["deepcopy"], strict=True)]
        results.add(kind, "interpreter over copy.deepcopy", shares, at_most=1)
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
