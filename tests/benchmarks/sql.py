"""`auditor sql` beside DuckDB's own JSON reader, over the same dump: an export of drawn objects of real kinds.

    python tests/benchmarks/sql.py
    python tests/benchmarks/sql.py --objects 100000

Each side is timed from process start to its answer. DuckDB reads the export in two ways: with the types that it finds in
it, and as JSON text, whose parts the statement asks for. It does not know definitions: it prunes nothing,
fills in no default, converts no version, and leaves out what does not fit its types (`ignore_errors`, without which it
ends at the first malformed line), so that its number of rows may differ. `auditor sql` reads each object of the kind as
an API server does; of typed tables (`auditor tables`), which are written once, it reads only the columns.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import Results, arguments, in_turns, ratios, say, timed
from tests.benchmarks.yardstick import crds, draw, is_corpus_missing

DUCK = """
import sys, duckdb
con = duckdb.connect(config={"threads": 2})
print(con.sql(sys.argv[1]).fetchall()[0][0])
"""
TYPED = "read_json('{dump}', format='newline_delimited', ignore_errors=true, sample_size=-1)"
TEXT = (
    "read_json('{dump}', format='newline_delimited', ignore_errors=true, "
    "columns={{kind: 'VARCHAR', metadata: 'JSON', spec: 'JSON'}})"
)
QUESTIONS = (
    # question, kind, conditions over typed columns, over the types that DuckDB finds, over JSON text
    ("certificates with two names", "Certificate", "certificates", "len(spec.dnsNames) = 2", "len(spec.dnsNames) = 2", "json_array_length(spec->'dnsNames') = 2"),
    ("topics with more than 9 partitions", "KafkaTopic", "kafkatopics", "spec.partitions > 9", "TRY_CAST(spec.partitions AS BIGINT) > 9", "TRY_CAST(spec->>'partitions' AS BIGINT) > 9"),
    ("routes of a namespace", "HTTPRoute", "httproutes", "metadata.namespace LIKE 'a%'", "metadata.namespace LIKE 'a%'", "metadata->>'namespace' LIKE 'a%'"),
)  # fmt: skip


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, repeats=3)
    parser.add_argument("--objects", type=int, default=100_000)
    options = parser.parse_args()
    if is_corpus_missing():
        say("the definitions of real kinds are not here: nothing is measured")
        return 0
    results = Results("sql", f"SQL over an export of {options.objects:,} objects of seven kinds")
    results.settings |= {"objects": options.objects, "repeats": options.repeats}
    dump = draw("bench-2", options.objects, options.cache)
    ours = [sys.executable, "-m", "pipelines"]
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / "tables"
        written = timed([*ours, "tables", dump, tables, "--crds", crds()], codes=(0, 3))
        results.note(f"The typed tables took {written.processor:.1f} s of processor time to write.")
        for question, kind, plural, typed, detected, text in QUESTIONS:
            asked = f"SELECT count(*) AS n FROM {plural} WHERE {typed}"
            commands = {
                "auditor sql, dump": [*ours, "sql", dump, asked, "-o", "csv", "--crds", crds()],
                "auditor sql, typed tables": [*ours, "sql", tables, asked, "-o", "csv"],
                "DuckDB, types found": duck(f"{TYPED.format(dump=dump)} WHERE kind = '{kind}' AND {detected}"),
                "DuckDB, JSON text": duck(f"{TEXT.format(dump=dump)} WHERE kind = '{kind}' AND {text}"),
            }
            processors: dict[str, list[float]] = {}
            rows: dict[str, str] = {}
            found = in_turns(
                options.repeats,
                {name: partial(seconds, name, command, processors, rows) for name, command in commands.items()},
            )
            for name, runs in found.items():
                row = f"{question}: {name}"
                results.add(row, "rows", [int(rows[name])])
                results.add(row, "s", runs)
                results.add(row, "of processors, s", processors[name])
                if name.startswith("auditor"):
                    limit = 5.0 if "tables" in name else None
                    results.add(
                        row, "times faster than types found", ratios(found["DuckDB, types found"], runs), at_least=limit
                    )
    return results.finish(options)


def duck(source: str) -> list[object]:
    """Return a command in which DuckDB counts rows."""
    return [sys.executable, "-c", DUCK, f"SELECT count(*) FROM {source}"]


def seconds(name: str, command: list[object], processors: dict[str, list[float]], rows: dict[str, str]) -> float:
    """Run a side, and note its processor time and its answer."""
    run = timed(command, codes=(0, 3))
    processors.setdefault(name, []).append(run.processor)
    rows[name] = run.output.split()[-1]
    return run.wall


if __name__ == "__main__":
    sys.exit(main())
