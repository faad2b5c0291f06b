"""Templates of `-o jsonpath=` with bytes that are not UTF-8, and other characters that Go prints as escapes.

    python -m tests.printing.kubectl.templates KUBECTL KUBECONFIG

Writes `templates.json.gz`: the template, the exit code, standard output and the first line of standard error of kubectl for the
namespace ``kube-system``; bytes that are not UTF-8 are as in Python's "surrogateescape".
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

RECORDED = Path(__file__).parent / "templates.json.gz"
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "kube-system"},
    "spec": {"finalizers": ["kubernetes"]},
}
FORMS = (
    "{X", "{.aX", "{.aX[", "{.X}", "{range X}", "{X}", "{.metadata[X]}", "{.metadata.name[?(@.a==X)]}", '{"X', "{'X", "{['X'",
    "{.a[0:X]}", "{.metadata.name[0]}X", "X{.metadata.name[5]}", "X{end}", "{.metadata.X[0]}{end}",
    '{.spec.finalizers[9]}{"X"}', '{.spec.finalizers[?(@.X == "X")]}{end}', "{.spec.finalizers[?(@ > 1)]}X", "{'\\X'}",
    '{"\\X"}', "{.a\\X}{end}", "{..X}{end}", '{.spec.finalizers[?(@=="X"]}', "{5X}", "{.X", "{+X}", "{X.a}", "{[X]}", "{@X}",
    "{.spec.finalizers['X']}{end}", "{.spec.finalizers[0,X]}", "{.spec.finalizers[?(X)]}", "{.metadata.name..X[", "{$X}",
    "{ X }", "{.a }X{end}",
)  # fmt: skip
BYTES = (
    b"\xff", b"\xef\xbf\xbd", b"\xc3", b"\xed\xa0\x80", b"\xc2\xa0", b"\xe2\x80\xa8", b"\x7f", b"\x01", b"\xf0\x9f\x98\x80",
    b"\xc3\xa9", b"\xe3\x80\x80", b"\xef\xbb\xbf", b"\xcc\x81", b"\xd9\xa1", b"\t", b"\xf4\x90\x80\x80",
)  # fmt: skip


def templates() -> list[str]:
    """Return the templates."""
    return [form.replace("X", os.fsdecode(given)) for form, given in product(FORMS, BYTES)]


def record(kubectl: str, kubeconfig: str) -> None:
    """Write the file."""
    answers = []
    for template in templates():
        words = [kubectl, "--kubeconfig", kubeconfig, "get", "ns", "kube-system", "-o", f"jsonpath={template}"]
        done = subprocess.run(words, check=False, capture_output=True, text=True, errors="surrogateescape")
        answers.append([template, done.returncode, done.stdout, done.stderr.partition("\n")[0]])
    RECORDED.write_bytes(gzip.compress(json.dumps(answers).encode(), mtime=0))


if __name__ == "__main__":
    record(*sys.argv[1:])
