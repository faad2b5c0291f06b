"""Fuzzer of content: whatever a dump holds, no command ends with 70, and no audit with 2 unless nothing could be judged.

    python tests/fuzz/content/run.py --cases 200                # --seconds 60 instead, as CI runs it
    python tests/fuzz/content/run.py --seed 7 --only 12 --keep FOLDER    # one case again, to look at

Each case is a dump with odd definitions and objects beside sound ones. Every command is a fork of this process, so that
a start costs nothing. The report of an audit is held against the dump: each key has one row at the version that was
asked for, the tables have as many rows as the manifest says, and the sound objects are valid.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT))

import orjson  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import pipelines.preload  # noqa: E402
from auditor.store.allclear import judged_rows  # noqa: E402
from pipelines.cli import main as cli  # noqa: E402
from tests.fuzz.content.drawn import Drawn  # noqa: E402

SECONDS_EACH = 20
TOO_LONG = "the paths of its fields have more than "
"""Why an object is not audited, which is said and no fault: the memory for its report has a limit."""
MAIN: tuple[tuple[str, ...], ...] = (
    ("query", "DUMP", "ws"),
    ("query", "DUMP", "ws", "-o", "name"),
    ("query", "DUMP", "ws,ss", "-o", "yaml"),
    ("query", "DUMP", "ws,ss", "-o", "json"),
    ("query", "DUMP", "ws", "-o", "ndjson"),
    ("query", "DUMP", "ws", "-o", "csv"),
    ("query", "DUMP", "ws", "-o", "wide", "--show-labels", "--sort-by", ".spec.n"),
    ("query", "DUMP", "ws", "-o", "custom-columns=A:.spec.a,B:.spec,C:..a"),
    ("query", "DUMP", "ws", "-o", "jsonpath={range .items[*]}{.spec}{..a}{end}"),
    ("query", "DUMP", "ws", "-l", "a=b", "--field-selector", "spec.a=y"),
    ("query", "DUMP", "ws", "--where", "spec.n > 0 || has(metadata.uid)"),
    ("query", "DUMP", "all", "--as", "stored", "-o", "yaml"),
    ("query", "DUMP", "ws", "--as-server"),
    ("query", "DUMP", "crd", "-o", "yaml"),
    ("query", "REPORT", "ws", "-o", "yaml"),
    ("query", "REPORT", "ss", "-o", "name"),
    ("query", "REPORT", "ws", "--field-selector", "spec.a=y", "-o", "wide"),
    ("show", "REPORT", "d/o0"),
    ("show", "DUMP", "d/o0"),
    ("show", "DUMP", "d/o0", "-o", "json"),
    ("show", "DUMP", "/registry/ex.com/ws/d/o0"),
    ("explain", "DUMP", "ws", "--values"),
    ("explain", "REPORT", "ws", "--values"),
    ("crds", "check", "DUMP"),
    ("kinds", "DUMP"),
    ("kinds", "REPORT", "--deleting"),
    ("gates", "list", "DUMP"),
    ("gates", "check", "DUMP"),
    ("validate", "DUMP"),
    ("validate", "--crds", "DUMP", "DUMP", "-o", "json"),
    ("history", "DUMP", "ws", "--from", "1"),
    ("sources",),
    ("upgrade", "DUMP", "--new-crds", "SOUND", "--report", "UP"),
    ("audit", "DUMP", "--report", "R2", "--diff", "REPORT", "--only-new"),
    ("audit", "DUMP", "--report", "R3", "--at", "served"),
    ("audit", "DUMP", "--report", "R4", "-n", "d", "-l", "a=b", "--field-selector", "spec.a=y"),
    ("audit", "SOUNDDUMP", "--report", "R5", "--crds", "DUMP"),
    ("audit", "SOUNDDUMP", "--report", "R6", "--old", "DUMP"),
    ("audit", "DUMP", "--report", "R7", "--old", "SOUNDDUMP"),
    ("findings", "R2", "--against", "REPORT"),
)


def call(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """Run a command in a fork of this process; return its exit code, or minus a signal, and what it printed."""
    out, err = folder / "stdout", folder / "stderr"
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            for number, path in ((1, out), (2, err)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.argv = ["auditor", *arguments]
            cli.main()
            os._exit(0)
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code if isinstance(end.code, int) else 0)
        except BaseException:  # noqa: BLE001 - as the interpreter would
            traceback.print_exc()
            os._exit(70)
    deadline = time.monotonic() + SECONDS_EACH
    pause = 0.002
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -99, "", "took too long"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    return os.waitstatus_to_exitcode(status), *(path.read_text("utf-8", "replace") for path in (out, err))


def rows_of(report: Path, table: str) -> list[dict[str, Any]]:
    return [row for part in sorted((report / table).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]


def judge_report(report: Path, case: Drawn) -> list[str]:
    """Return what is wrong with the report of a dump."""
    manifest = orjson.loads((report / "manifest.json").read_bytes())
    objects = rows_of(report, "objects")
    faults = []
    if not len(objects) == manifest["counts"]["rows"] == manifest["counts"]["keys"]:
        faults.append(f"{len(objects)} rows, manifest {manifest['counts']}")
    places = Counter((row["source"], row["offset"], row["key"]) for row in objects)
    if most := [place for place, count in places.items() if count > 1]:
        faults.append(f"several rows of {most[:3]}")
    sound = [row for row in objects if row["kind"] == "S" and row["status"] == "valid"]
    if len(sound) != 2 and case.form != "etcdctl":
        faults.append(f"{len(sound)} sound objects are valid")
    return faults


def _is_empty(report: Path) -> bool:
    """Return whether a run made a report and could judge nothing: the dump has no key, or none was read."""
    path = report / "manifest.json"
    return path.exists() and not judged_rows(orjson.loads(path.read_bytes()))


def try_case(seed: str, folder: Path, commands: int) -> tuple[list[str], Counter[str]]:
    """Run one case; return its faults, and what commands ended with."""
    case = Drawn(seed)
    name, data = case.dump()
    dump = folder / name
    if isinstance(data, bytes):
        dump.write_bytes(data)
    else:
        for inside, text in data.items():
            path = dump / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
    sound = folder / "sound"
    sound.mkdir()
    (sound / "crd.json").write_bytes(orjson.dumps(case.sound[0]))
    whole = folder / "sound.ndjson"
    whole.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in [*case.sound, {**case.sound[1], "kind": "W"}]))
    report = folder / "report"
    names = {"DUMP": dump, "REPORT": report, "SOUND": sound, "SOUNDDUMP": whole}
    names |= {short: folder / short for short in ("UP", "R2", "R3", "R4", "R5", "R6", "R7")}
    faults: list[str] = []
    ends: Counter[str] = Counter()

    def tried(command: tuple[str, ...]) -> int:
        arguments = [str(names.get(one, one)) for one in command]
        code, out, err = call(arguments, folder)
        ends[f"{command[0]} {code}"] += 1
        is_bad = code not in (0, 1, 2, 3) or "Traceback (most recent" in err
        text = (err.strip() or out.strip()).splitlines()
        if code == 2 and command[0] == "audit" and command[-1] != "DUMP":
            is_bad = not _is_empty(names[command[command.index("--report") + 1]])
        if is_bad:
            last = [line for line in text if not line.startswith(("Traceback", " "))][-2:]
            where = [line.strip() for line in text if line.lstrip().startswith("File ") and "auditor" in line][-1:]
            faults.append(f"{seed}: {' '.join(command)}: {code}: {' | '.join([*where, *last])[:600]}")
        if lost := [line for line in out.splitlines() if line.startswith("LOST") and TOO_LONG not in line]:
            faults.append(f"{seed}: {' '.join(command)}: {lost[0][:400]}")
        return code

    tried(("audit", "DUMP", "--report", "REPORT", "--jobs", "1"))
    if (report / "manifest.json").exists():
        faults += [f"{seed}: {fault}" for fault in judge_report(report, case)]
    for command in MAIN if commands >= len(MAIN) else case.draw.sample(MAIN, commands):
        if ("REPORT" not in command or report.exists()) and ("R2" not in command or "audit" in command or names["R2"].exists()):  # fmt: skip
            tried(command)
    return faults, ends


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzzer of content; see the top of the file.")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", default="")
    parser.add_argument("--commands", type=int, default=len(MAIN))
    return parser.parse_args(words)


def run(given: argparse.Namespace) -> tuple[list[str], int, Counter[str]]:
    """Run cases; return all faults, the number of cases, and what commands ended with."""
    assert pipelines.preload.MODULES
    clock = time.monotonic()
    faults: list[str] = []
    ends: Counter[str] = Counter()
    done = 0
    for number in range(given.cases) if given.only is None else [given.only]:
        if given.seconds and time.monotonic() - clock > given.seconds:
            break
        folder = Path(given.keep) if given.keep else Path(tempfile.mkdtemp(prefix="content-fuzz-"))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            found, ended = try_case(f"{given.seed}-{number}", folder, given.commands)
        finally:
            if not given.keep:
                shutil.rmtree(folder, ignore_errors=True)
        done += 1
        faults += found
        ends += ended
        for fault in found:
            print(fault, flush=True)  # noqa: T201
    return faults, done, ends


def main() -> None:
    faults, done, ends = run(parsed())
    print(f"{done} cases, {sum(ends.values())} commands, {len(faults)} faults; {dict(sorted(ends.items()))}")  # noqa: T201
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
