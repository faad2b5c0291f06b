"""Policy reports are valid objects of their own definitions, which are fetched through the Go module proxy."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from auditor.report.formats.registry import FORMATS
from tests.command import auditor
from tests.report.formats.drawn import content

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow
MODULES = {
    "openreports": (
        "github.com/openreports/reports-api@v0.2.1",
        "h1:g9KS3yle9Y1elmww4TK9EkD1rl6inIaiIJPX6e+u680=",
        "config/crd/*.yaml",
    ),
    "wgpolicy": (
        "github.com/kyverno/kyverno@v1.12.0",
        "h1:cfgH3fOjXfIAx+pHnFgj+S4GYqq3NaMOaixkU9hInLU=",
        "config/crds/policyreport/wgpolicyk8s.io_*.yaml",
    ),
}
"""Format to module and version, the hash of its content as go.sum has it, and the definitions in it."""


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Path]]:
    """What returns the files with the definitions of a format."""
    if shutil.which("go") is None:
        pytest.skip("no Go to fetch the definitions of policy reports with")
    folder = tmp_path_factory.mktemp("modules")

    def found(name: str) -> list[Path]:
        module, expected, pattern = MODULES[name]
        asked = ["go", "mod", "download", "-json", module]
        made = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
        answer = json.loads(made.stdout or "{}")
        if made.returncode or "Dir" not in answer:
            pytest.skip(f"{module} cannot be fetched: {answer.get('Error', made.stderr)[:200]}")
        assert answer["Sum"] == expected
        files = sorted(Path(answer["Dir"]).glob(pattern))
        assert len(files) == 2
        return files

    return found


@pytest.mark.parametrize("name", MODULES)
def test_reports_are_valid_by_their_own_definitions(
    name: str, definitions: Callable[[str], list[Path]], tmp_path: Path
) -> None:
    files = definitions(name)
    kinds = set()
    for seed in range(40):
        text = io.StringIO()
        FORMATS[name].write(content(seed, objects=60), text)
        documents = [json.loads(one) for one in text.getvalue().split("---\n") if one]
        kinds |= {one["kind"] for one in documents}
        if not documents:
            continue
        path = tmp_path / f"{seed}.yaml"
        path.write_text(text.getvalue(), encoding="utf-8")
        crds = [part for file in files for part in ("--crds", str(file))]
        result = auditor("validate", path, *crds)
        assert result.code == 0, result.output[:2000]
    assert len(kinds) == 2
