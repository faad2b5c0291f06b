"""Run the recorded commands through `auditor query`, in this process."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

from pipelines.cli.main import REMOVED
from tests import command

HERE = Path(__file__).parent


def answers(folder: Path = HERE) -> list[Any]:
    """Return the recorded runs of kubectl, of the commands that the auditor has."""
    recorded: list[Any] = json.loads(gzip.decompress((folder / "answers.json.gz").read_bytes()))
    return [run for run in recorded if run["verb"] not in REMOVED]


def snapshot(folder: Path, target: Path) -> Path:
    """Write the snapshot of the server that kubectl asked."""
    path = target / "snapshot.db"
    path.write_bytes(gzip.decompress((folder / "snapshot.db.gz").read_bytes()))
    return path


def without_left_out_formats(err: str) -> str:
    """Return an error of kubectl without the formats that the auditor does not have."""
    for names in ("go-template,go-template-file,", "kyaml,", "template,templatefile,"):
        err = err.replace(names, "", 1)
    return err


def auditor(*words: str, folder: Path = HERE) -> tuple[int, str, str]:
    """Run a command of the auditor; return its exit code, standard output and standard error."""
    done = command.auditor(*words, cwd=folder)
    return done.code, done.stdout, done.stderr


def query(dump: Path, recorded: Any) -> tuple[int, str, str]:
    """Run `auditor query` with the arguments of kubectl; kubectl's namespace is `default` where none is given."""
    args = [arg.replace("FILES/", "files/") for arg in recorded["args"]]
    if not {"-n", "-A"} & set(args):
        args = [*args, "-n", "default"]
    more = ["--show-secrets", "--now", str(recorded["now"])]
    return auditor("query", str(dump), *args, *more)


def ask(dump: Path, recorded: Any) -> tuple[int, str, str]:
    """Run a recorded command, whatever its verb is."""
    if recorded["verb"] == "get":
        return query(dump, recorded)
    now = ["--now", str(recorded["now"])] if recorded["verb"] in ("events", "describe") else []
    verb = {"describe": "show"}.get(recorded["verb"], recorded["verb"])
    code, out, err = auditor(verb, str(dump), *recorded["args"], *now)
    out = out.partition("FIELD SELECTORS:")[0]  # which kubectl does not print
    return code, re.sub(r"\nDump:\n(?:  .*\n)+", "", out) if verb == "show" else out, err
