"""Asks a real server about example manifests of real projects: writes real_examples.json.

    python -m tests.updates.record_real_examples KUBECTL KUBECONFIG

The server must be one of the release that we reproduce, and empty. An answer is recorded where ours is the same: both
accept, or both refuse for the same causes, word for word. What is not is counted by its reason.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

from auditor.updates.create import CreateJudge
from tests.updates.real_examples import (
    RECORDED,
    Module,
    answers,
    causes,
    definitions,
    digest_of,
    examples,
    folder_of,
    is_accepted,
)

MODULES = [
    Module(*line.split())
    for line in """\
github.com/cert-manager/cert-manager v1.21.2 h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=
sigs.k8s.io/gateway-api v1.4.1 h1:NPxFutNkKNa8UfLd2CMlEuhIPMQgDQ6DXNKG9sHbJU8=
github.com/prometheus-operator/prometheus-operator v0.85.0 h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=
knative.dev/serving v0.51.0 h1:yN2Q7eYqJgoPfZkATjoBZyGbZ2P1Qhns9HIMU4mF+to=
github.com/tektoncd/pipeline v1.6.0 h1:A+D+jzOVl2QNl/yiNT7csVgBUy2wpz6K6+/D4q5lfss=
sigs.k8s.io/kueue v0.17.0 h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I=
github.com/external-secrets/external-secrets v1.3.2 h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ=
sigs.k8s.io/cluster-api v1.14.2 h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA=
github.com/argoproj/argo-rollouts v1.8.3 h1:blbtQva4IK9r6gFh+dWkCrLnFdPOWiv9ubQYu36qeaA=
github.com/crossplane/crossplane/v2 v2.0.2 h1:OKA26pnm3/uFHN1zF9d2CGkkvod9H/6PrK4xmL81BgU=
""".splitlines()
]
MOST = 170
"""Documents of a module."""
BATCH = 80
UNKNOWN = "apiVersion: nobody.example.com/v1\nkind: Nothing\nmetadata: {name: a}\n"
STARTS = r"Error from server|error: |error parsing |resource mapping not found|unable to decode |error validating |The "
FRAME = re.compile(
    r'Error from server \(\w+\): error when creating "[^"]*": |[\w.-]+ "[^"]*" is invalid: |error parsing /\S+: |'
    r'\w+ in version "\w+" cannot be handled as a \w+: (?:strict decoding error: )?|unable to decode "[^"]*": |'
    r'resource mapping not found for name: "[^"]*" namespace: "[^"]*" from "[^"]*": |ensure CRDs are installed first|'
    r'error validating "[^"]*": error validating data: |'
    r"; if you choose to ignore these errors, turn validation off with --validate=false|error: |[\s,\[\]*]+"
)


def ask(kubectl: list[str], folder: Path, paths: list[Path]) -> dict[Path, str]:
    """Return what kubectl says of each file; empty means it is accepted."""
    bad = [folder / "bad-1.yaml", folder / "bad-2.yaml"]  # several errors have another form than one
    for one in bad:
        one.write_text(UNKNOWN)
    words = [word for path in (*paths, *bad) for word in ("-f", str(path))]
    said = subprocess.run([*kubectl, "create", "--dry-run=server", *words], capture_output=True, text=True, check=False)
    text = re.sub(rf"(?:, |\[)(?=(?:{STARTS})[^,]*{re.escape(str(folder))})", "\n", said.stderr)
    out = dict.fromkeys(paths, "")
    for part in re.split(rf"\n(?={STARTS})", text):
        found = re.search(rf'{re.escape(str(folder))}/[^"\s:]+\.(?:yaml|json)', part)
        if found and Path(found[0]) in out:
            out[Path(found[0])] += part
    return out


def reason_of_difference(ours: str, said: str) -> str:
    """Return why an answer may differ."""
    if "AlreadyExists" in said or re.search(r'namespaces "[^"]*" not found', said):
        return "objects that exist, or namespaces that do not"
    if "conversion webhook" in said:
        return "conversion webhooks"
    if "duplicate field" in ours and not said:
        return "duplicate fields, which kubectl drops"
    if ours == "ok" and "(Invalid)" in said:
        return "built-in kinds, not validated further"
    return "other"


def main() -> None:
    """Install the definitions, ask, compare, record."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kubectl = [sys.argv[1], "--kubeconfig", sys.argv[2], "--cache-dir", f"{name}/cache"]
        folders = [folder_of(module, folder) for module in MODULES]
        documents = definitions(folders)
        given = folder / "definitions"
        given.mkdir()
        for number, one in enumerate(documents):
            (given / f"{number}.json").write_text(json.dumps(one))
        done = subprocess.run([*kubectl, "create", "--validate=false", "-f", str(given)], check=False)
        click.echo(f"{len(documents)} definitions, exit code {done.returncode}")
        texts = {}
        for module in folders:
            own = sorted(one for one in examples(module) if one.digest not in texts)[:MOST]
            texts.update((one.digest, one) for one in own)
        names = {
            m.decode() for one in texts.values() for m in re.findall(rb'namespace"?: *"?([a-z0-9][-a-z0-9]*)', one.text)
        }
        spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": one}} for one in sorted(names)]
        (folder / "spaces.json").write_text("\n".join(map(json.dumps, spaces)))
        subprocess.run([*kubectl, "create", "-f", str(folder / "spaces.json")], check=False, capture_output=True)
        time.sleep(20)  # until all is served
        paths = {}
        for one in texts.values():
            paths[folder / f"{one.digest}{one.suffix}"] = one
            (folder / f"{one.digest}{one.suffix}").write_bytes(one.text)
        said: dict[Path, str] = {}
        order = list(paths)
        for at in range(0, len(order), BATCH):
            said |= ask(kubectl, folder, order[at : at + BATCH])
            click.echo(f"{at} of {len(order)}")
    judge = CreateJudge(documents)
    recorded, differences = {}, Counter()
    for path, one in paths.items():
        found = answers(judge, one.text)
        rest = said[path]
        for cause in sorted(causes(found), key=len, reverse=True):
            rest = rest.replace(cause.removeprefix("strict decoding error: "), "")
        if is_accepted(found) == (not said[path]) and not FRAME.sub("", rest):
            recorded[one.digest] = digest_of(found)
            continue
        why = reason_of_difference(" ".join(["ok"] if is_accepted(found) else causes(found)), said[path])
        differences[why] += 1
        if why == "other":
            click.echo(f"{path.name}: we say {causes(found)[:3]}, kubectl {said[path][:500]}", err=True)
    content = {
        "modules": MODULES,
        "asked": len(paths),
        "differences": dict(sorted(differences.items())),
        "answers": dict(sorted(recorded.items())),
    }
    RECORDED.write_text(json.dumps(content, indent=0) + "\n")
    accepted = sum(1 for one in recorded.values() if one == "ok")
    click.echo(f"{len(paths)} asked, {len(recorded)} equal ({accepted} accepted), {dict(differences)}")


if __name__ == "__main__":
    main()
