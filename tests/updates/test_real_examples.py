"""Example manifests of real projects are answered as a real server answered them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from auditor.updates.create import CreateJudge
from tests.updates.real_examples import RECORDED, Module, answers, definitions, digest_of, examples, folder_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_examples_of_real_projects_are_answered_as_by_a_real_server(tmp_path: Path) -> None:
    recorded = json.loads(RECORDED.read_text())
    if shutil.which("go") is None:
        pytest.skip("needs go, to fetch the modules that the examples are in")
    try:
        folders = [folder_of(Module(*one), tmp_path) for one in recorded["modules"]]
    except OSError as error:
        pytest.skip(f"a module is not available: {error}")
    judge = CreateJudge(definitions(folders))
    found = {
        one.digest: digest_of(answers(judge, one.text))
        for folder in folders
        for one in examples(folder)
        if one.digest in recorded["answers"]
    }
    assert len(found) >= 1000
    assert found == recorded["answers"]
