"""Builds the program beside this file and makes anew what the auditor has of the API server's schemes.

    make reference-builtins                          # writes auditor/builtin/scheme.json, seeds.json and answers.json

seeds.json has a drawn object of every stored kind and version; answers.json has 10,000 values made of them by splices,
with what the server's own storage codec says of each.
"""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from random import Random
from typing import Any

from tests.reference.builtins.mutations import applied, cases

HERE = Path(__file__).resolve().parent
SCHEME = HERE.parents[2] / "auditor/builtin/scheme.json"
MESSAGES = HERE.parents[2] / "auditor/builtin/messages.json"
COUNT = 10_000


def build() -> Path:
    """Build the program; the libraries are those that go.mod names."""
    program = HERE / "bin" / "builtins"
    subprocess.run(["go", "build", "-mod=readonly", "-o", str(program), "."], cwd=HERE, check=True)
    return program


def discovery() -> Path:
    """Return the folder of the release's source that publishes its discovery."""
    asked = ["go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"]
    done = subprocess.run(asked, cwd=HERE, check=True, capture_output=True, text=True)
    return Path(done.stdout.strip()) / "api/discovery"


def scheme_text(program: Path) -> tuple[str, dict[str, str]]:
    """Return the content of scheme.json, an entry a line, and messages that messages.json has to have."""
    done = subprocess.run([program, "scheme", "-discovery", str(discovery())], check=True, capture_output=True)
    tables = json.loads(done.stdout)
    out = []
    for part in ("schemes", "into", "kinds", "served"):
        entries = [f"{json.dumps(name)}:{_dense(value)}" for name, value in tables[part].items()]
        out.append(f"{json.dumps(part)}:{{\n" + ",\n".join(entries) + "\n}")
    out.append('"types":[\n' + ",\n".join(map(_dense, tables["types"])) + "\n]")
    return "{\n" + ",\n".join(out) + "\n}\n", tables["messages"]


def _dense(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def answers(program: Path, values: list[tuple[str, bytes]]) -> list[dict[str, str]]:
    """Return what the storage codec of each kind ("group/Kind") says of a value."""
    lines = []
    for into, value in values:
        group, _, kind = into.rpartition("/")
        lines.append(json.dumps({"group": group, "kind": kind, "value": b64encode(value).decode()}))
    done = subprocess.run([program, "decode"], input="\n".join(lines).encode(), check=True, capture_output=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    """Write all that is made of the program's answers."""
    program = build()
    text, messages = scheme_text(program)
    known = json.loads(MESSAGES.read_bytes())["messages"]
    missing = [name for name, fields in messages.items() if known.get(name) != fields]
    assert not missing, f"messages.json lacks {missing}"
    SCHEME.write_text(text)
    done = subprocess.run([program, "seeds"], check=True, capture_output=True)
    seeds = [json.loads(line) for line in done.stdout.splitlines()]
    drawn = cases(Random(29), seeds, COUNT)
    values = [(into, applied(b64decode(seeds[at]["value"]), splices)) for into, at, splices in drawn]
    said = answers(program, values)
    texts: dict[str, int] = {}
    rows = [
        [into, at, splices, texts.setdefault(_dense(answer), len(texts))]
        for (into, at, splices), answer in zip(drawn, said, strict=True)
    ]
    (HERE / "seeds.json").write_text("[\n" + ",\n".join(map(_dense, seeds)) + "\n]\n")
    recorded = '{\n"answers":[\n' + ",\n".join(texts) + '\n],\n"cases":[\n' + ",\n".join(map(_dense, rows)) + "\n]\n}\n"
    (HERE / "answers.json").write_text(recorded)


if __name__ == "__main__":
    main()
