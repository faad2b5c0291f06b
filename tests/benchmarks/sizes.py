"""Megabytes a second by the size of an object, 1 KB to 1 MB, beside the real API server libraries.

    python tests/benchmarks/sizes.py                  # needs the oracle, and Go
    python tests/benchmarks/sizes.py --sizes 1 1000 --megabytes 8

Real objects are small; large ones are made of them: a valid ServiceMonitor gets endpoints of other ones until it has the
size that is wanted. All corpora have about as many bytes. One warm worker of each side (see kinds.py).
"""

from __future__ import annotations

import itertools
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import Results, arguments, in_turns, ratios
from tests.benchmarks.warm import WarmWorker
from tests.benchmarks.yardstick import broken_lines, crds, decoded, draw, is_yardstick_missing, oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

_KIND = "ServiceMonitor.v1.monitoring.coreos.com=1"
_METADATA = {"namespace", "uid", "generation", "creationTimestamp"}
_LEAST = 3


def grown(lines: list[bytes], size: int) -> Iterator[bytes]:
    """Yield objects of about so many bytes, without end: each is one of those given, with endpoints of the next."""
    documents = [document for _, document in decoded(lines)]
    endpoints = [endpoint for document in documents for endpoint in document["spec"].get("endpoints") or ()]
    more = itertools.cycle([(endpoint, len(orjson.dumps(endpoint)) + 1) for endpoint in endpoints])
    for number, document in enumerate(itertools.cycle(documents)):
        metadata = {key: value for key, value in document["metadata"].items() if key in _METADATA}
        metadata["name"] = f"grown-{number}"
        spec = document["spec"] | {"endpoints": []}
        length = len(orjson.dumps(document | {"metadata": metadata, "spec": spec}))
        for endpoint, taken in more:
            if length + taken > size and spec["endpoints"]:
                break
            spec["endpoints"].append(endpoint)
            length += taken
        yield orjson.dumps(document | {"metadata": metadata, "spec": spec}) + b"\n"


def _theirs(corpus: Path, cache: Path) -> float:
    return oracle(corpus, 1, cache).rate


def main() -> int:
    """Run it."""
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 4, 16, 64, 256, 1000], metavar="KB")
    parser.add_argument("--megabytes", type=float, default=4.0, help="of each size (default 4)")
    options = parser.parse_args()
    if is_yardstick_missing():
        return 0
    cache = options.cache
    path = draw("bench-2", 400, cache, kinds=_KIND, name="sizes")
    broken = broken_lines(path, cache)
    lines = [line for number, line in enumerate(path.read_bytes().splitlines()) if number not in broken]
    results = Results("sizes", "By the size of an object: one warm worker of each side")
    results.settings |= {"MB of each size": options.megabytes, "repeats": options.repeats}
    for size in options.sizes:
        count = max(_LEAST, int(options.megabytes * 1000 / size))
        corpus = cache / f"size-{size}.ndjson"
        corpus.write_bytes(b"".join(itertools.islice(grown(lines, size * 1000), count)))
        if not_valid := broken_lines(corpus, cache):
            raise SystemExit(f"{corpus.name}: {len(not_valid)} objects are not valid")
        with WarmWorker(corpus, crds()) as worker:
            found = in_turns(options.repeats, {"ours": worker.rate, "oracle": partial(_theirs, corpus, cache)})
        megabytes = corpus.stat().st_size / count / 1e6
        row = f"{size:,} KB"
        results.add(row, "objects", [count])
        results.add(row, "bytes an object", [megabytes * 1e6])
        results.add(row, "ours, objects/s", found["ours"])
        results.add(row, "ours, MB/s", [rate * megabytes for rate in found["ours"]])
        results.add(row, "oracle, MB/s", [rate * megabytes for rate in found["oracle"]])
        results.add(row, "times the oracle", ratios(found["ours"], found["oracle"]))
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
