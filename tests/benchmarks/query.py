"""Selectors over 1,000,000 index rows, beside DuckDB on the same files and a full scan with jq; queries of a dump.

    .venv/bin/python tests/benchmarks/query.py [--rows 1000000] [--duckdb PYTHON]

Each question is asked several times by each side. DuckDB runs in the Python that is given (it is
no dependency of ours), with its connection open and one thread a processor; jq is asked once, where it is installed.
Both sides return namespace and name of what fits.

Queries of a dump are asked of a snapshot of bench-2; the processor time of an object is that over a query of a kind
without objects, and an audit of the same snapshot is run in the same turns. With `--against FOLDER` another checkout of
the project is asked the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from auditor.base import tables
from auditor.selectors.index_query import open_index
from auditor.shards.table_rows import write_parquet
from auditor.sources.crd_files import read_crd_documents
from tests.benchmarks.drawn import kinds_of
from tests.benchmarks.harness import ROOT, Results, arguments, audit, in_turns, ratios, timed
from tests.benchmarks.large import write_snapshot
from tests.benchmarks.run import commit_of
from tests.benchmarks.yardstick import KINDS, crds, draw, is_corpus_missing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

FIELDS = [("spec.color", "string"), ("spec.size", "integer"), ("spec.host", "string"), ("spec.on", "boolean")]
PART = 250_000
LIMIT = 3


def make_index(folder: Path, rows: int) -> None:
    """Write the index of a kind with a few selectable fields, sorted by namespace and name as the audit writes it."""
    rng = np.random.default_rng(7)
    place = folder / "index" / "group=bench.example.com" / "version=v1" / "kind=Widget"
    schema = tables.index_schema(FIELDS)
    colors = np.array(["red", "green", "blue", "black", "white", "grey", ""])
    for number, start in enumerate(range(0, rows, PART)):
        count = min(PART, rows - start)
        at = np.arange(start, start + count)
        size = rng.integers(0, 10_000, count)
        on = rng.integers(0, 2, count).astype(bool)
        color = colors[rng.integers(0, len(colors), count)]
        hosts = [f"host-{one:07d}.example.com" for one in rng.integers(0, rows, count)]
        apps = rng.integers(0, 500, count)
        offsets = np.arange(count + 1, dtype=np.int32) * 2
        keys = np.tile(["app", "tier"], count)
        items = np.empty(count * 2, dtype=object)
        items[0::2] = [f"app-{one}" for one in apps]
        items[1::2] = np.array(["web", "db", "batch"])[rng.integers(0, 3, count)]
        columns = {
            "cluster": pa.nulls(count, pa.string()).dictionary_encode().cast(tables.DICTIONARY),
            "namespace": pa.array([f"ns-{one // 500:05d}" for one in at]),
            "name": pa.array([f"widget-{one:07d}" for one in at]),
            "uid": pa.array([f"{one:08x}-0000-4000-8000-{one * 7919 % 10**12:012d}" for one in at]),
            "created": pa.array(1_700_000_000_000_000 + at * 1_000_000).cast(pa.timestamp("us", tz="UTC")),
            "deleting": pa.array(np.zeros(count, dtype=bool)),
            "labels": pa.MapArray.from_arrays(offsets, pa.array(keys), pa.array(items, pa.string())),
            "mod_revision": pa.array(at + 5),
            "source": pa.array(["dump.db"] * count).dictionary_encode().cast(tables.DICTIONARY),
            "offset": pa.array(at * 900),
            "length": pa.array(np.full(count, 880)),
            "field:spec.color": pa.array(color),
            "value:spec.color": pa.array([one or None for one in color]),
            "field:spec.size": pa.array([str(one) for one in size]),
            "value:spec.size": pa.array(size),
            "field:spec.host": pa.array(hosts),
            "value:spec.host": pa.array(hosts),
            "field:spec.on": pa.array(["true" if one else "false" for one in on]),
            "value:spec.on": pa.array(on),
        }
        table = pa.table({name: columns[name] for name in schema.names}).cast(schema)
        write_parquet(table, place / f"part-{number:05d}.parquet")


def make_definition(folder: Path) -> None:
    """Write the definition of the kind, by which the index knows what can be null."""
    properties = {path.removeprefix("spec."): {"type": kind} for path, kind in FIELDS}
    spec = {"type": "object", "properties": properties}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        "selectableFields": [{"jsonPath": f".{path}"} for path, _ in FIELDS],
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.bench.example.com"},
        "spec": {"group": "bench.example.com", "names": names, "scope": "Namespaced", "versions": [version]},
    }
    (folder / "definitions.ndjson").write_text(json.dumps(definition, separators=(",", ":")) + "\n")


DUMP_QUESTIONS = {
    "--where": ("-o", "name", "--where", 'metadata.name.endsWith("77") && has(self.spec)'),
    "--count": ("--count",),
    "-o name": ("-o", "name"),
    "-o ndjson": ("-o", "ndjson"),
    "-o json": ("-o", "json"),
}
QUESTIONS = [
    # name, our selectors, DuckDB's condition
    ("one field, 1 of 7", {"field_selector": "spec.color=blue"}, "\"field:spec.color\" = 'blue'"),
    ("one field, 1 in 10,000", {"field_selector": "spec.size=77"}, "\"field:spec.size\" = '77'"),
    ("one field, one object", {"field_selector": "spec.host=host-0000042.example.com"},
     "\"field:spec.host\" = 'host-0000042.example.com'"),
    ("one field, not equal", {"field_selector": "spec.color!=blue"}, "coalesce(\"field:spec.color\", '') != 'blue'"),
    ("one name", {"field_selector": "metadata.name=widget-0400000"}, "name = 'widget-0400000'"),
    ("two fields", {"field_selector": "spec.color=red,spec.on=true"},
     "\"field:spec.color\" = 'red' and \"field:spec.on\" = 'true'"),
    ("one label, 1 in 500", {"label_selector": "app=app-7"}, "labels['app'] = 'app-7'"),
    ("one label, 1 of 3", {"label_selector": "tier=db"}, "labels['tier'] = 'db'"),
    ("a predicate", {"where": 'spec.size > 9990 && spec.color in ["red", "blue"]'},
     "\"value:spec.size\" > 9990 and \"value:spec.color\" in ('red', 'blue')"),
]  # fmt: skip

DUCK = """
import json, sys, time
import duckdb
files, questions, repeats = json.loads(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3])
con = duckdb.connect()
out = []
for condition in questions:
    runs, rows = [], 0
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        found = con.sql(f"select namespace, name from read_parquet({files!r}) where {condition}").to_arrow_table()
        runs.append(time.perf_counter() - begun)
        rows = found.num_rows
    out.append([runs[1:], rows])
print(json.dumps(out))
"""


def ours(folder: Path, repeats: int) -> list[tuple[list[float], int]]:
    """Ask all questions; return for each the seconds of all runs but the first, and the number of rows."""
    index = open_index(folder)
    out = []
    for _, asked, _ in QUESTIONS:
        runs, rows = [], 0
        for _ in range(repeats + 1):
            begun = time.perf_counter()
            rows = index.select("widgets", columns=["namespace", "name"], **asked).num_rows
            runs.append(time.perf_counter() - begun)
        out.append((runs[1:], rows))
    return out


def duckdb(python: str, folder: Path, repeats: int) -> list[tuple[list[float], int]] | None:
    """Let DuckDB answer the same; None: that Python has none."""
    files = [str(path) for path in sorted((folder / "index").rglob("*.parquet"))]
    asked = json.dumps([condition for _, _, condition in QUESTIONS])
    command = [python, "-c", DUCK, json.dumps(files), asked, str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    return [(seconds, rows) for seconds, rows in json.loads(done.stdout)]


def jq(rows: int, folder: Path) -> float | None:
    """Time a full scan of as many small objects with jq."""
    if shutil.which("jq") is None:
        return None
    path = folder / "objects.ndjson"
    with path.open("w") as stream:
        for at in range(rows):
            obj = {"metadata": {"name": f"w{at}", "namespace": f"ns{at // 500}"}, "spec": {"color": "blue", "size": at}}
            stream.write(json.dumps(obj) + "\n")
    begun = time.perf_counter()
    with path.open() as stream:
        subprocess.run(
            ["jq", "-r", "select(.spec.size == 77) | .metadata.name"], stdin=stream, capture_output=True, check=True
        )
    return time.perf_counter() - begun


def of_dump(results: Results, options: argparse.Namespace, folder: Path) -> None:
    """Measure queries of all objects of a snapshot."""
    objects = options.dump_objects
    corpus, documents = draw("bench-2", objects, options.cache), read_crd_documents([str(crds())])
    dump = folder / "cluster.db"
    with corpus.open("rb") as lines:
        keys = write_snapshot(dump, lines, documents)
    drawn = [kind for kind, _, _ in kinds_of(documents, KINDS)]
    kinds = ",".join(f"{each['spec']['names']['plural']}.{each['spec']['group']}" for each in drawn)

    def asked(checkout: Path | None, *words: str) -> float:
        place = checkout or ROOT
        command = [sys.executable, "-m", "pipelines", "query", dump, *words]
        run = timed(command, codes=(0, 3), cwd=place, env={**os.environ, "PYTHONPATH": str(place)})
        return 1e6 * run.everywhere / objects

    sides: dict[str, Callable[[], float]] = {
        "audit": lambda: 1e6 * audit(dump, None, objects=keys).everywhere / objects
    }
    checkouts = {"": None, " then": options.against} if options.against else {"": None}
    for when, checkout in checkouts.items():
        sides[f"nothing{when}"] = partial(asked, checkout, "namespaces", "-A")
        for name, words in DUMP_QUESTIONS.items():
            sides[f"{name}{when}"] = partial(asked, checkout, kinds, "-A", *words)
    found = in_turns(options.repeats, sides)
    if options.against:
        results.note(f"The other checkout is commit {commit_of(options.against)}.")
    for when in checkouts:
        column = "CPU us an object, the other checkout" if when else "CPU us an object"
        for name in ("audit", *DUMP_QUESTIONS):
            side = found.get(f"{name}{when}")
            if side is not None:
                results.add(
                    f"dump, {name}",
                    column,
                    [run - none for run, none in zip(side, found[f"nothing{when}"], strict=True)],
                )


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, repeats=5)
    parser.add_argument("--rows", "--objects", type=int, default=1_000_000)
    parser.add_argument("--dump-objects", type=int, default=20_000, help="objects of the dump; 0 leaves it out")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="a checkout that is asked of the dump, too")
    parser.add_argument("--duckdb", default=sys.executable, help="a Python that has duckdb")
    options = parser.parse_args()
    results = Results("query", f"Selectors over an index of {options.rows:,} rows")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_index(folder, options.rows)
        make_definition(folder)
        size = sum(path.stat().st_size for path in (folder / "index").rglob("*.parquet"))
        results.settings |= {"rows": options.rows, "bytes a row": round(size / options.rows, 1)}
        results.settings["repeats"] = options.repeats
        mine, theirs = ours(folder, options.repeats), duckdb(options.duckdb, folder, options.repeats)
        for at, (name, _, _) in enumerate(QUESTIONS):
            seconds, rows = mine[at]
            results.add(name, "rows found", [rows])
            results.add(name, "ours, ms", [one * 1000 for one in seconds])
            if theirs is not None:
                if theirs[at][1] != rows:
                    raise SystemExit(f"{name}: {rows} rows here, {theirs[at][1]} there")
                results.add(name, "DuckDB, ms", [one * 1000 for one in theirs[at][0]])
                limit = LIMIT if name.startswith("one field") else None
                results.add(name, "times DuckDB's", ratios(seconds, theirs[at][0]), at_most=limit)
        scanned = jq(options.rows, folder)
        if options.dump_objects and not is_corpus_missing():
            of_dump(results, options, folder)
    results.note(
        "jq is not installed."
        if scanned is None
        else f"jq takes {scanned:.1f} s to scan as many small objects for the second question."
    )
    if theirs is None:
        results.note("DuckDB was not asked: it is no dependency of ours, and no other Python was named.")
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
