"""Records what all commands answer over all reference data, and compares two records.

    python -m tests.record OUT               one text file for each dump, of this tree
    python -m tests.record --compare OLD NEW show which answers differ; exit 1 if one does

A change that must not be seen is held by a record before it and one after it. An answer is the exit code, both streams,
all rows of the tables, and the manifest without times. Beside the data of the project it uses ../shared, and files of
objects given with --objects, such as those that the benchmarks have made.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.shared import RECORDED, ROOT, SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN = 4


class Question(NamedTuple):
    """A dump, the options to read it with, and new definitions to try on it; empty for none."""

    name: str
    dump: Path
    options: list[str]
    new: str = ""


def questions(scratch: Path, objects: list[Path]) -> list[Question]:
    """Return all questions; what they need is unpacked below a scratch folder."""
    out = [Question("sample", ROOT / "sample-data" / "cluster.db.gz", [])]
    for home in (RECORDED, SHARED):
        name = home.name
        golden = home / "golden"
        plain = (*sorted((golden / "etcd-files").rglob("*.gz")), *sorted((golden / "kube").glob("*.gz")))
        out += [Question(f"{name}-{path.parent.name}-{path.name}", path, []) for path in plain]
        for path in sorted((golden / "encrypted").glob("*/*.gz")):
            keys = ["--encryption-config", str(path.parent / "encryption-config.json")]
            if not path.name.startswith("expected"):
                out.append(Question(f"{name}-encrypted-{path.parent.name}-{path.name}", path, keys))
                out.append(Question(f"{name}-sealed-{path.parent.name}-{path.name}", path, []))
        old, new = golden / "upgrade" / "crds" / "rev1", golden / "upgrade" / "crds" / "rev2"
        for path in sorted((golden / "upgrade").glob("*.gz")):
            if path.name.startswith(("snapshot", "etcdctl")):
                out.append(Question(f"{name}-upgrade-{path.name}", path, [], str(new)))
                out.append(Question(f"{name}-served-{path.name}", path, ["--skip", "updates", "--at", "served"]))
            elif path.name.startswith("kubectl"):
                out.append(Question(f"{name}-upgrade-{path.name}", path, ["--crds", str(old)], str(new)))
    corpus = SHARED / "corpus" / "upgrades"
    if corpus.exists():
        shutil.unpack_archive(corpus / "definitions.tar.gz", scratch)
        for path in sorted(corpus.glob("*.ndjson.gz")):
            kind = path.name.partition(".")[0]
            out.append(Question(f"corpus-{kind}", path, ["--crds", f"{scratch}/{kind}-old"], f"{scratch}/{kind}-new"))
    for path in objects:
        out.append(Question(f"objects-{path.name}", path, []))
        out.append(Question(f"objects-create-{path.name}", path, ["--skip", "updates"]))
    return out


def write(question: Question, out: Path, scratch: Path) -> str:
    """Record the answers to a question; return its name."""
    folder = scratch / "runs" / question.name
    folder.mkdir(parents=True)
    target = out / f"{question.name}.txt"
    asked = {"tree": str(ROOT), "target": str(target), "dump": str(question.dump)}
    asked |= {"options": question.options, "new": question.new}
    environment = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.record.answers"]
    subprocess.run(command, input=json.dumps(asked), text=True, cwd=folder, env=environment, check=True)
    return question.name


def differences(old: Path, new: Path) -> Iterator[str]:
    """Yield a text for each answer that differs, with its first lines that do."""
    for name in sorted({path.name for path in (*old.iterdir(), *new.iterdir())}):
        before, after = _answers(old / name), _answers(new / name)
        for title in dict.fromkeys((*before, *after)):
            lines = (before.get(title, "(none)").splitlines(), after.get(title, "(none)").splitlines())
            if lines[0] != lines[1]:
                pairs = (pair for pair in itertools.zip_longest(*lines, fillvalue="") if pair[0] != pair[1])
                shown = [f"    - {was[:300]}\n    + {now[:300]}" for was, now in itertools.islice(pairs, _SHOWN)]
                yield "\n".join([f"=== {name}: {title}", *shown])


def _answers(path: Path) -> dict[str, str]:
    """Return the answers of a file by their questions; a file that is missing has none."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
    blocks = (block.partition("\n") for block in text.split("##### ")[1:])
    return {title: answer for title, _, answer in blocks}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--compare", action="store_true", help="compare two records")
    parser.add_argument("--only", default="", help="only dumps whose name has this text")
    parser.add_argument("--objects", action="append", default=[], type=Path, help="a further file of objects")
    given = parser.parse_args()
    if given.compare:
        texts = list(differences(*given.paths))
        sys.stdout.write("".join(f"{text}\n" for text in [*texts, f"{len(texts)} answers differ"]))
        return int(bool(texts))
    (out,) = (path.resolve() for path in given.paths)
    out.mkdir(parents=True)
    scratch = Path(tempfile.gettempdir()) / "auditor-record"
    scratch.mkdir()  # always the same folder, as its name is in what is recorded
    try:
        chosen = [question for question in questions(scratch, given.objects) if given.only in question.name]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for done in pool.map(lambda question: write(question, out, scratch), chosen):
                sys.stdout.write(f"{done}\n")
                sys.stdout.flush()
    finally:
        shutil.rmtree(scratch)
    return 0


sys.exit(main())
