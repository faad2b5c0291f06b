"""Compares the generated code with the reference interpreters, on any number of objects of real definitions.

    python -m tests.differential.fast_vs_exact                              # 1,000,000 objects, one process a core
    python -m tests.differential.fast_vs_exact --objects 20000 --seeds 7 8 --updates

The generator beside the project draws objects for every version of every definition in ../shared/corpus/crds (or those
of --crds), as many for each, with each seed in turn. They are audited twice, by a compiled program and by one that goes
the way of the
reference: at their own version and, of definitions with several, at every other one (`--own` leaves that out). All that
an audit gives is compared: readable or not, the object with the types of its numbers, pruned and defaulted paths,
findings whole, selectable values; and what the typed tier says of objects at their own version. `--updates` compares
the results of their no-op updates as well.

Objects are streamed: memory does not grow with their number. At the end it prints what was compared, for each version
(`--table`) and in all: how many were invalid, unreadable, how many the generated code proved valid by itself, and how
many the typed tier.

Needs the generator beside the project, and Go to build it (or --gen, built elsewhere); where they are missing it says
so and stops with 0. Exit code 1: something differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import auditor
from auditor.program.program import AuditProgram
from auditor.shards.updates import NOT_ASKED, UpdateVerdicts
from auditor.sources.crd_files import read_crd_documents
from auditor.updates.body import RequestName
from auditor.updates.noop import NoopUpdates
from tests.differential.run import CRDS, tool
from tests.shared import SHARED
from tests.typed import typed_difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.base.records import AuditedObject

OBJECTS = 1_000_000
CHUNK = 500


class Compared(NamedTuple):
    """What came of one chunk."""

    counts: Counter[tuple[str, str]]
    """(definition and version, what) to a number: compared, invalid, unreadable, pruned, defaulted, proven."""
    different: list[tuple[str, str, str]]
    """Definition and version, what differs, the object."""


class Pair:
    """The two programs of one version of a definition."""

    def __init__(self, definition: Any, version: str) -> None:
        self.fast = AuditProgram(definition, definition.versions[version])
        self.exact = AuditProgram(definition, definition.versions[version], compiled=False)
        self.typed = False
        self.verdicts = UpdateVerdicts()
        self.noop = NoopUpdates(self.exact)

    def difference(self, data: bytes, *, updates: bool) -> tuple[str, AuditedObject]:
        """Return what differs, empty if nothing does, and the answer of the reference."""
        exact = self.exact.audit(data)
        typed = typed_difference(self.fast, exact, data, updates=updates)
        self.typed = typed is not None
        fast = self.fast.audit(data)
        found = next((name for name in _PARTS if _text(fast, name) != _text(exact, name)), "")
        if typed:
            found = f"typed: {typed}"
        elif not found and updates and exact.object is not None:
            metadata = exact.object.get("metadata")
            metadata = metadata if type(metadata) is dict else {}
            place = (str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
            ours = self.verdicts.judge(self.fast, fast, data, place, 7, is_export=False)
            theirs = self.noop.judge(exact, RequestName(*place), 7)
            codes = tuple(None if tried is None else tried.code for tried in (theirs.put, theirs.label, theirs.status))
            if ours is not NOT_ASKED and None not in ours.codes[:2] and ours.codes != codes:
                found = f"update codes {ours.codes} / {codes}"
            elif ours.verdict is not None and ours.verdict != theirs:
                found = "update verdict"
        elif found:
            found += f": fast {_text(fast, found)[:300]} exact {_text(exact, found)[:300]}"
        return found, exact


_PARTS = ["unreadable", "object", "pruned", "defaulted", "findings", "selectable", "select_error", "stored_version"]


def _text(audited: AuditedObject, name: str) -> str:
    """Return a part as text, in which 1, 1.0 and true differ and the order of keys does not count."""
    part = getattr(audited, name, None)
    return json.dumps(part, sort_keys=True, default=repr)


@cache
def catalog(crds: Path) -> auditor.CrdCatalog:
    return auditor.CrdCatalog.from_documents(read_crd_documents([str(crds)]))


@cache
def pair(crds: Path, name: str, version: str) -> Pair:
    return Pair(catalog(crds).crds[name], version)


def compare(lines: list[bytes], *, crds: Path, own: bool, updates: bool) -> Compared:
    """Compare the objects of one chunk."""
    counts: Counter[tuple[str, str]] = Counter()
    different = []
    for line in lines:
        head = json.loads(line)
        group, _, stored = head["apiVersion"].rpartition("/")
        definition = catalog(crds).by_group_kind(group, head["kind"])
        assert definition is not None, line[:200]
        for version in [stored] if own else definition.versions:
            where = f"{definition.name} {version}" + ("" if version == stored else f" from {stored}")
            both = pair(crds, definition.name, version)
            before = both.fast.proven
            found, exact = both.difference(line, updates=updates)
            counts[where, "compared"] += 1
            counts[where, "proven"] += both.fast.proven - before
            counts[where, "typed"] += both.typed
            counts[where, "unreadable"] += exact.unreadable is not None
            counts[where, "invalid"] += bool(exact.findings)
            counts[where, "pruned"] += bool(exact.pruned)
            counts[where, "defaulted"] += bool(exact.defaulted)
            if found:
                different.append((where, found, line.decode()))
    return Compared(counts, different)


def drawn(gen: Path, crds: Path, seed: int, per_kind: int, invalid: float) -> Iterator[bytes]:
    """Yield the objects that the generator draws with a seed."""
    command = [
        gen,
        "-crds",
        crds,
        "-per-kind",
        per_kind,
        "-seed",
        seed,
        "-invalid",
        invalid,
        "-pool",
        200,
        "-size",
        2000,
    ]
    environment = {**os.environ, "GOMAXPROCS": "1"}
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        try:
            yield from process.stdout
        except GeneratorExit:
            process.kill()  # workers hold its pipe open, too: it would wait for ever to write what is no longer read
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def chunks(options: argparse.Namespace) -> Iterator[list[bytes]]:
    """Yield the objects of all seeds in chunks, until there are as many as wanted."""
    versions = sum(len(definition.versions) for definition in catalog(options.crds).crds.values())
    per_kind = -(-options.objects // (versions * len(options.seeds)))
    lines = islice((line for seed in options.seeds for line in drawn(options.gen, options.crds, seed, per_kind, options.invalid)),
                   options.objects)  # fmt: skip
    while chunk := list(islice(lines, CHUNK)):
        yield chunk


def answers(options: argparse.Namespace) -> Iterable[Compared]:
    """Yield what comes of each chunk, in order; a few chunks are under way at a time."""
    how = {"crds": options.crds, "own": options.own, "updates": options.updates}
    if options.jobs == 1:
        yield from (compare(chunk, **how) for chunk in chunks(options))
        return
    given = chunks(options)
    with ProcessPoolExecutor(options.jobs) as pool:
        pending = [pool.submit(compare, chunk, **how) for chunk in islice(given, options.jobs * 3)]
        while pending:
            yield pending.pop(0).result()
            pending += [pool.submit(compare, chunk, **how) for chunk in islice(given, 1)]


def main(words: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=OBJECTS, help="objects in all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--invalid", type=float, default=0.5, help="share of objects with defects")
    parser.add_argument("--crds", type=Path, default=CRDS, help="folder with definitions, such as a server takes")
    parser.add_argument("--own", action="store_true", help="judge objects at their own version only")
    parser.add_argument("--updates", action="store_true", help="compare the outcomes of no-op updates, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--gen", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "auditor-bench")
    parser.add_argument("--table", action="store_true", help="print the counts of each version")
    parser.add_argument("--show", type=int, default=10, help="differences to print")
    parser.add_argument("--save", type=Path, help="write every difference here, as JSON lines")
    options = parser.parse_args(words)
    if not SHARED.exists():
        print("skipped: ../shared (generator, definitions) is not beside the project")
        return 0
    if options.gen is None and not shutil.which("go"):
        print("skipped: Go is missing, and no --gen is given")
        return 0
    options.gen = tool("gen", options.gen, options.cache)
    counts: Counter[tuple[str, str]] = Counter()
    different: list[tuple[str, str, str]] = []
    done, said = 0, time.monotonic()
    for chunk in answers(options):
        counts += chunk.counts
        different += chunk.different
        done += CHUNK
        if time.monotonic() - said > 10:
            said = time.monotonic()
            print(f"{min(done, options.objects):,} objects, {len(different)} differ", file=sys.stderr)
    _summarise(counts, different, options)
    return 1 if different or not counts else 0


def _summarise(counts: Counter[tuple[str, str]], different: list[Any], options: argparse.Namespace) -> None:
    columns = ["compared", "invalid", "unreadable", "pruned", "defaulted", "proven", "typed"]
    if options.table:
        print(f"{'definition and version':76}" + "".join(f"{name:>11}" for name in columns))
        for where in sorted({where for where, _ in counts}):
            print(f"{where:76}" + "".join(f"{counts[where, name]:>11,}" for name in columns))
    totals: Counter[str] = Counter()
    for (_, name), number in counts.items():
        totals[name] += number
    versions = len({where for where, _ in counts})
    parts = ", ".join(f"{totals[name]:,} {name}" for name in columns[1:])
    print(f"{totals['compared']:,} comparisons of {versions} versions (or readings at another): {parts}")
    print(f"{len(different)} differ")
    for where, text, line in different[: options.show]:
        print(f"  {where}: {text}\n    {line[:2000].rstrip()}")
    if options.save and different:
        with options.save.open("a") as stream:
            stream.writelines(f"{json.dumps(one)}\n" for one in different)


if __name__ == "__main__":
    sys.exit(main())
