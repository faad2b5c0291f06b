"""Policy reports are valid objects of their own definitions, which are fetched through the Go module proxy."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from auditor.output.formats.registry import FORMATS
from tests.command import auditor
from tests.output.formats.drawn import content

pytestmark = pytest.mark.slow
MODULE = "github.com/openreports/reports-api@v0.2.1"
SUM = "h1:g9KS3yle9Y1elmww4TK9EkD1rl6inIaiIJPX6e+u680="
"""The hash of its content, as go.sum has it."""


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files with the definitions of policy reports."""
    if shutil.which("go") is None:
        pytest.skip("no Go to fetch the definitions of policy reports with")
    asked = ["go", "mod", "download", "-json", MODULE]
    made = subprocess.run(asked, cwd=tmp_path_factory.mktemp("modules"), capture_output=True, text=True, check=False)
    answer = json.loads(made.stdout or "{}")
    if made.returncode or "Dir" not in answer:
        pytest.skip(f"{MODULE} cannot be fetched: {answer.get('Error', made.stderr)[:200]}")
    assert answer["Sum"] == SUM
    files = sorted(Path(answer["Dir"]).glob("config/crd/*.yaml"))
    assert len(files) == 2
    return files


def test_reports_are_valid_by_their_own_definitions(definitions: list[Path], tmp_path: Path) -> None:
    kinds = set()
    for seed in range(40):
        text = io.StringIO()
        FORMATS["openreports"].write(content(seed, objects=60), text)
        documents = [json.loads(one) for one in text.getvalue().split("---\n") if one]
        kinds |= {one["kind"] for one in documents}
        if not documents:
            continue
        path = tmp_path / f"{seed}.yaml"
        path.write_text(text.getvalue(), encoding="utf-8")
        crds = [part for file in definitions for part in ("--crds", str(file))]
        result = auditor("validate", path, *crds)
        assert result.code == 0, result.output[:2000]
    assert len(kinds) == 2
