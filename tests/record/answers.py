"""Records the answers of one tree to one dump; run by `tests.record` with the interpreter and the code of that tree."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from tests.command import auditor

ROW_FORMS: Final = ("table", "wide", "json", "yaml", "ndjson", "csv", "markdown")
FILE_FORMS: Final = (
    "html", "sarif", "junit", "prometheus", "codequality", "github", "github-summary", "markdown", "json", "csv",
    "ndjson", "openreports",
)  # fmt: skip
_OF_THE_RUN: Final = frozenset({
    "started", "finished", "seconds", "host", "created", "versions", "python", "pid", "user", "duration", "mtime",
})  # fmt: skip
"""Keys of a manifest that differ from run to run."""
_OF_THE_CLOCK: Final = (
    (re.compile(r"\b20(2[6-9]|3\d)-\d\d-\d\d[T ]\d\d[-:]?\d\d([-:]?\d\d(\.\d+)?)?(Z|\+00:00)?"), "$TIME"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|us|MB/s|objects/s|keys/s)\b"), "$SPAN"),
    (re.compile(r"\b20(2[6-9]|3\d)-\d\d-\d\d"), "$DAY"),
    (re.compile(r"\b1[78]\d{8,}(\.\d+)?\b"), "$UNIX"),
    (re.compile(r'("?seconds"?: )[0-9.]+'), r"\1$N"),
    (re.compile(r"(_seconds(\{[^}]*\})? )[0-9.e+]+"), r"\1$N"),
)
_ROWS_IN_FULL: Final = 400


class Recorder:
    """Runs commands in the current folder and writes what they answer to a file."""

    def __init__(self, tree: Path, target: Path) -> None:
        """Record into `target` what the code in `tree` answers."""
        self._tree, self._folder = tree, Path.cwd()
        self._text = target.open("w", encoding="utf-8", errors="surrogateescape")

    def ask(self, *words: object) -> None:
        """Record the exit code and both streams of a command; an exception is an answer, too."""
        try:
            ended = auditor(*words, cwd=self._folder)
            answer = f"code {ended.code}\n--- stdout\n{ended.stdout}\n--- stderr\n{ended.stderr}"
        except Exception as error:  # noqa: BLE001 - recorded
            answer = f"raised {error!r}"
        self._write(" ".join(map(str, words)), answer)

    def report(self, folder: Path) -> None:
        """Record all rows of a report, whole where they are few and else their digest, and its manifest."""
        for table in sorted({path.parent for path in folder.rglob("*.parquet")}):
            rows = [row for path in table.glob("*.parquet") for row in pq.ParquetFile(path).read().to_pylist()]
            lines = sorted(self._cleaned(json.dumps(row, sort_keys=True, default=str)) for row in rows)
            digest = hashlib.sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()
            text = lines if len(lines) <= _ROWS_IN_FULL else []
            self._write(f"rows {table.relative_to(folder)}", "\n".join([f"{len(lines)} {digest}", *text]))
        manifest = json.loads((folder / "manifest.json").read_text())
        self._write(f"manifest of {folder.name}", json.dumps(_without_the_run(manifest), indent=1, sort_keys=True))

    def _write(self, title: str, answer: str) -> None:
        self._text.write(f"##### {self._cleaned(title)}\n{self._cleaned(answer)}\n")
        self._text.flush()

    def _cleaned(self, text: str) -> str:
        """Return a text without the folders and the times of this run."""
        text = text.replace(str(self._folder), "$OUT").replace(str(self._tree), "$TREE")
        for pattern, name in _OF_THE_CLOCK:
            text = pattern.sub(name, text)
        return text


def _without_the_run(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_the_run(each) for key, each in value.items() if key not in _OF_THE_RUN}
    return [_without_the_run(each) for each in value] if isinstance(value, list) else value


def record(tree: Path, target: Path, dump: str, options: list[str], new_definitions: str) -> None:
    """Record the answers to one dump.

    Args:
        tree: The checkout whose code runs.
        target: File to write.
        dump: Path of the dump.
        options: Options of `auditor audit` for it; --crds and --encryption-config are given to queries, too.
        new_definitions: Path of definitions for `auditor upgrade`; empty for none.
    """
    recorder = Recorder(tree, target)
    report = Path("r").absolute()
    recorder.ask("audit", dump, "--report", report, "--jobs", "1", *options)
    if report.exists():
        recorder.report(report)
        for form in ROW_FORMS:
            recorder.ask("summary", report, "-o", form)
            recorder.ask("findings", report, "-o", form, "--lines", "0")
        for form in FILE_FORMS:
            recorder.ask("report", report, "-o", form)
        recorder.ask("query", report, "all", "-A")
    reading = [
        word
        for name, value in itertools.pairwise(options)
        if name in ("--crds", "--encryption-config")
        for word in (name, value)
    ]
    recorder.ask("kinds", dump, *reading)
    for form in ("table", "wide", "name", "json", "yaml"):
        recorder.ask("query", dump, "all", "-A", "-o", form, *reading)
    recorder.ask("query", dump, "crd", *reading)
    if new_definitions:
        upgrade = Path("u").absolute()
        recorder.ask("upgrade", dump, "--new-crds", new_definitions, "--report", upgrade, "--jobs", "1", *reading)
        if upgrade.exists():
            recorder.report(upgrade)
            for form in ROW_FORMS:
                recorder.ask("findings", upgrade, "-o", form, "--lines", "0")
            for form in FILE_FORMS:
                recorder.ask("report", upgrade, "-o", form)


if __name__ == "__main__":
    for variable in [name for name in os.environ if name.startswith("AUDITOR_")]:
        del os.environ[variable]
    question = json.load(sys.stdin)
    record(Path(question["tree"]), Path(question["target"]), question["dump"], question["options"], question["new"])
