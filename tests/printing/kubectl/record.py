"""Record what kubectl prints of a server that holds `objects.yaml`, and the snapshot of its etcd.

    python -m tests.printing.kubectl.record KUBECTL KUBECONFIG ETCD_PORT [OUT]

Run it more than ten minutes and less than three hours after the objects were created: ages are then whole minutes.
"""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def commands() -> list[tuple[str, list[str]]]:
    """Return the verb and the arguments of each line of commands.txt (verb get) and verbs.txt; FILES/ is a folder."""
    gets = (HERE / "commands.txt").read_text().splitlines()
    others = [shlex.split(line) for line in (HERE / "verbs.txt").read_text().splitlines()]
    return [("get", shlex.split(line)) for line in gets] + [(one[0], one[1:]) for one in others]


def main(kubectl: str, kubeconfig: str, port: str, out: str = str(HERE)) -> None:
    """Run all commands and write answers.json.gz and snapshot.db.gz."""
    folder = Path(out)
    answers = []
    for verb, args in commands():
        now = time.time()
        here = [arg.replace("FILES/", "files/") for arg in args]
        done = subprocess.run(
            [kubectl, "--kubeconfig", kubeconfig, verb, *here], cwd=HERE, capture_output=True, text=True, check=False
        )
        answers.append(
            {
                "verb": verb,
                "args": args,
                "now": round(now, 3),
                "out": done.stdout,
                "err": done.stderr,
                "code": done.returncode,
            }
        )
    snapshot = folder / "snapshot.db"
    save = ["etcdctl", "--endpoints", f"127.0.0.1:{port}", "snapshot", "save", str(snapshot)]
    subprocess.run(save, env={**os.environ, "ETCDCTL_API": "3"}, capture_output=True, check=True)
    (folder / "snapshot.db.gz").write_bytes(gzip.compress(snapshot.read_bytes(), mtime=0))
    snapshot.unlink()
    (folder / "answers.json.gz").write_bytes(gzip.compress(json.dumps(answers, indent=0).encode(), mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
