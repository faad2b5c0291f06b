"""Holds evaluations of rules against the real Kubernetes libraries, as many as wanted.

    python -m tests.fuzz.cel.run                                  # 100,000 evaluations, in some minutes
    python -m tests.fuzz.cel.run --evaluations 5000 --seed 7

Five sorts of rules: those of the definitions in ../shared/corpus/crds, each on objects drawn for it; drawn expressions
over a schema with every type, every function and macro by turns; expressions that meet the two limits of cost;
expressions repeated until the limit, so that their price counts to the unit; rules all over drawn schemas, on updates.
Every object is judged by the interpreter and by the generated code; what is compared is field, type and message of all
findings. At the end it says how often each rule and function was evaluated, and fails where that was too seldom.

Needs the oracle beside the project, and Go to build it (or --oracle, built elsewhere); where they are missing it says
so and stops with 0. Exit code 1: something differs, or was not covered.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import auditor
from auditor.cel.kubernetes import kubernetes_libraries
from auditor.program.program import AuditProgram
from auditor.releases import DEFAULT, running_as
from auditor.storage_read.read import read_object
from auditor.validation.update import UpdateValidator
from tests.differential.run import asked_release, tool
from tests.fuzz.cel.corpus import corpus_batches
from tests.fuzz.cel.drawn import drawn_batches, limit_batches, price_batches
from tests.fuzz.cel.nested import nested_batches
from tests.reference.make import build_beside
from tests.shared import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.fuzz.cel.batches import Batch

COMPILATION = "compilation failed: "
INTERNAL = frozenset({"@not_strictly_false", "cel.@mapInsert", "@sortByAssociatedKeys"})
SORTS = ["corpus", "limits", "prices", "nested", "drawn"]
BATCHES_AT_ONCE = 40
TIMES_ASKED = 40
UNREADABLE = {"field": "", "type": "", "message": "unreadable"}
AT_LEAST = {"corpus rule": 100, "function": 200, "limit of one call": 20, "limit of an object": 20}


def causes(findings: Iterable[Any]) -> Counter[tuple[str, str, str]]:
    """Return findings as a multiset; what the compiler says of a rule does not count, only that it does."""
    return Counter((each["field"], each["type"], each["message"].split(COMPILATION)[0]) for each in findings)


def ours(batch: Batch, *, compiled: bool) -> Iterator[tuple[Any, Any]]:
    """Yield our findings on each object of a batch: of an update also those without ratcheting."""
    catalog = auditor.CrdCatalog.from_documents([batch.crd])
    (definition,) = catalog.crds.values()
    program = AuditProgram(definition, definition.versions["v1"], compiled=compiled)
    for objects in batch.objects:
        texts = [json.dumps(each).encode() for each in objects]
        if not batch.is_update:
            yield causes(_plain(program.audit(texts[0]).findings)), None
            continue
        old, new = (read_object(definition, "v1", text).object for text in texts)
        update = UpdateValidator(program.validator)
        rules = None if program.rule_program is None else program.rule_program.run_update
        if old is None or new is None:
            yield causes([UNREADABLE]), causes([UNREADABLE])
            continue
        yield (
            causes(_plain(update.run(new, old, rules=rules))),
            causes(_plain(update.run(new, old, ratchet=False, rules=rules))),
        )


def _plain(findings: Iterable[Any]) -> list[dict[str, str]]:
    return [{"field": each.field, "type": each.type, "message": each.message} for each in findings]


class Run:
    """What came of a run so far."""

    def __init__(self, oracle: Path, folder: Path) -> None:
        self.oracle = oracle
        self.folder = folder
        self.evaluations = 0
        self.outcomes: Counter[str] = Counter()
        self.functions: Counter[str] = Counter()
        self.corpus: list[int] = []
        self.different: list[tuple[str, str, str]] = []

    def judge(self, batches: list[Batch]) -> None:
        """Have batches judged by both sides."""
        for is_update in (False, True):
            chosen = [batch for batch in batches if batch.is_update is is_update]
            if chosen:
                self._judge(chosen)

    def _says(self, batch: Batch, index: int, what: str, found: Any) -> bool:
        """Return whether the server says the same when asked again: it walks maps in an order that is never the same."""
        again = replace(batch, objects=[batch.objects[index]] * TIMES_ASKED)
        return any(causes(answer.get(what) or []) == found for _, answer in self._ask([again]))

    def _judge(self, batches: list[Batch]) -> None:
        answers: dict[str, list[dict[str, Any]]] = {batch.name: [] for batch in batches}
        for batch, answer in self._ask(batches):
            answers[batch.name].append(answer)
        for batch in batches:
            self._compare(batch, answers[batch.name])

    def _ask(self, batches: list[Batch]) -> Iterator[tuple[Batch, dict[str, Any]]]:
        command = "update" if batches[0].is_update else "audit"
        folder = self.folder / "crds"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        lines = []
        for batch in batches:
            (folder / f"{batch.name}.json").write_text(json.dumps(batch.crd))
            for objects in batch.objects:
                line = objects[0] if command == "audit" else {"old": objects[0], "new": objects[1]}
                lines.append(json.dumps(line))
        given = self.folder / "in.ndjson"
        given.write_text("\n".join(lines) + "\n")
        call = [str(self.oracle), command, "--crds", str(folder), "--in", str(given)]
        done = subprocess.run(call, check=True, capture_output=True)
        asked = [batch for batch in batches for _ in batch.objects]
        for batch, line in zip(asked, done.stdout.splitlines(), strict=True):
            yield batch, json.loads(line)

    def _compare(self, batch: Batch, answers: list[dict[str, Any]]) -> None:
        names = ["interpreted"] if batch.is_heavy else ["interpreted", "compiled"]
        sides = [list(ours(batch, compiled=name == "compiled")) for name in names]
        for index, (answer, *mine) in enumerate(zip(answers, *sides, strict=True)):
            if answer.get("readError"):
                answer = {key: [UNREADABLE] for key in ("errors", "unratcheted")}  # noqa: PLW2901 - said in our way
            expected = causes(answer.get("errors") or [])
            unratcheted = causes(answer.get("unratcheted") or [])
            for name, (found, loose) in zip(names, mine, strict=True):
                text = json.dumps(batch.objects[index])
                if found != expected and not self._says(batch, index, "errors", found):
                    self.different.append((f"{batch.name} {name}", _difference(found, expected), text))
                elif loose not in (None, unratcheted) and not self._says(batch, index, "unratcheted", loose):
                    self.different.append((f"{batch.name} {name} unratcheted", _difference(loose, unratcheted), text))
            self._count(batch, unratcheted if batch.is_update else expected)

    def _count(self, batch: Batch, errors: Counter[tuple[str, str, str]]) -> None:
        count = len(batch.rules)
        self.evaluations += count
        for (_, _, message), times in errors.items():
            self.outcomes[_outcome(message)] += times
        self.outcomes["all"] += count

    def note(self, batch: Batch) -> None:
        """Count what a batch covers."""
        catalog = auditor.CrdCatalog.from_documents([batch.crd])
        (definition,) = catalog.crds.values()
        program = AuditProgram(definition, definition.versions["v1"]).rule_program
        if program is None:
            return
        used: Counter[str] = Counter()
        for node in program.root.walk():
            for rule in node.rules:
                for each in (rule.program, rule.message):
                    if each is not None:
                        used.update({one.name for one in each.checked.references.values() if one.overloads})
        for name, times in used.items():
            self.functions[name] += times * len(batch.objects)
        if batch.name.startswith("corpus"):
            self.corpus.append(len(batch.objects))

    def uncovered(self) -> list[str]:
        """Return what was evaluated too seldom."""
        total = self.outcomes["all"]
        wanted = [(f"corpus rule {index}", times, AT_LEAST["corpus rule"]) for index, times in enumerate(self.corpus)]
        wanted += [
            (f"function {name}", self.functions[name], AT_LEAST["function"])
            for name in kubernetes_libraries().functions
            if name not in INTERNAL
        ]
        wanted += [(name, self.outcomes[name], AT_LEAST[name]) for name in ("limit of one call", "limit of an object")]
        wanted += [
            ("false", self.outcomes["false"], total // 5),
            ("runtime error", self.outcomes["error"], total // 20),
        ]
        return [f"{name}: {found} of {least}" for name, found, least in wanted if found < least]


def _outcome(message: str) -> str:
    if "rule compile error" in message:
        return "does not compile"
    if "running out of cost budget" in message:
        return "limit of an object"
    if "actual cost limit exceeded" in message or "call cost exceeds limit" in message:
        return "limit of one call"
    if " evaluating rule: " in message or "call arguments did not match" in message:
        return "error"
    return "false"


def _difference(found: Counter[Any], expected: Counter[Any]) -> str:
    return f"ours {dict(found - expected)}, server's {dict(expected - found)}"


def batches_of(options: argparse.Namespace) -> Iterator[Batch]:
    """Yield all batches of a run."""
    random = Random(options.seed)
    share = options.evaluations / 100_000
    done = 0
    if "corpus" in options.sorts:
        for batch in corpus_batches(random, max(int(options.per_rule * min(share, 1.0)), 1)):
            done += len(batch.objects)
            yield batch
    if "limits" in options.sorts and (share >= 1 or options.sorts == ["limits"]):
        yield from limit_batches(random)
    if "prices" in options.sorts and "lists.range" not in kubernetes_libraries().functions:
        print("SKIPPED prices: they are made with lists.range(), which rules have since 1.34", file=sys.stderr)
    elif "prices" in options.sorts:
        yield from price_batches(random, max(int(options.prices * share), 1))
    if "nested" in options.sorts:
        yield from nested_batches(random, int(300 * share) + 1)
    if "drawn" in options.sorts:
        yield from drawn_batches(random, 40, max(options.evaluations - done, options.evaluations * 3 // 4))


def main(words: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-rule", type=int, default=105, help="evaluations of each corpus rule in a full run")
    parser.add_argument("--prices", type=int, default=6, help="expressions priced to the unit in a full run")
    parser.add_argument("--sorts", nargs="+", default=SORTS, choices=SORTS)
    parser.add_argument(
        "--kubernetes", default="", help="release of the libraries, and the one that the auditor reproduces"
    )
    parser.add_argument("--oracle", type=Path)
    parser.add_argument("--show", type=int, default=20)
    options = parser.parse_args(words)
    if options.oracle is None and not (SHARED / "oracle").exists():
        print("SKIPPED: the oracle does not lie beside the project (../shared/oracle)", file=sys.stderr)
        return 0
    if options.oracle is None and shutil.which("go") is None:
        print("SKIPPED: Go is needed to build the oracle, or give --oracle", file=sys.stderr)
        return 0
    release = asked_release(options.kubernetes)
    if release != DEFAULT and options.oracle is None:
        options.oracle = build_beside(release.name)
    oracle = tool("oracle", options.oracle, Path(tempfile.gettempdir()) / "auditor-tools")
    with tempfile.TemporaryDirectory() as folder, running_as(release):
        run = Run(oracle, Path(folder))
        batches = batches_of(options)
        while chunk := list(islice(batches, BATCHES_AT_ONCE)):
            run.judge(chunk)
            for batch in chunk:
                run.note(batch)
            print(f"{run.evaluations} evaluations, {len(run.different)} differences", file=sys.stderr)
    for name, difference, text in run.different[: options.show]:
        print(f"{name}: {difference}\n  {text[:2000]}")
    missing = run.uncovered() if options.evaluations >= 100_000 and options.sorts == SORTS else []
    print(f"{run.evaluations} evaluations, {dict(run.outcomes)}, {len(run.corpus)} corpus rules")
    print("".join(f"TOO SELDOM  {each}\n" for each in missing), end="")
    print(f"{len(run.different)} differences")
    return 1 if run.different or missing else 0


if __name__ == "__main__":
    sys.exit(main())
