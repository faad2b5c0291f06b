"""Templates with bytes that are not UTF-8: what kubectl 1.37.2 printed (`templates.py`). Control characters are escapes here."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

from auditor.base.visible import visible
from tests.command import auditor
from tests.documents import etcdctl_text
from tests.printing.kubectl.templates import NAMESPACE, RECORDED, templates

if TYPE_CHECKING:
    from pathlib import Path


def shown(line: str) -> str:
    """Return a line of standard error of kubectl as it is shown here, where a byte that is not UTF-8 is an escape, too."""
    return visible(line).encode("utf-8", "backslashreplace").decode()


def test_templates_are_answered_as_by_kubectl(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(etcdctl_text({"namespaces/kube-system": NAMESPACE}))
    answers = json.loads(gzip.decompress(RECORDED.read_bytes()))
    assert [answer[0] for answer in answers] == templates()
    wrong, refused = {}, 0
    for template, code, out, err in answers:
        done = auditor("query", dump, "ns", "kube-system", "-o", f"jsonpath={template}")
        got = (done.code != 0, done.stdout, done.stderr.partition("\n")[0])
        refused += code
        if got != (code != 0, out, shown(err)):
            wrong[template] = (got, (code, out, err))
    assert wrong == {}
    assert 300 < refused < len(answers)
