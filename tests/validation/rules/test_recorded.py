"""What the real libraries said about the corners of what rules see; recorded, see `record`."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.cel.batches import Batch
from tests.fuzz.cel.run import COMPILATION, ours

RECORDED = [json.loads(line) for line in (Path(__file__).parent / "recorded.jsonl").read_text().splitlines()]


def causes(errors):
    return Counter((field, kind, text.split(COMPILATION)[0]) for field, kind, text in errors)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("case", RECORDED, ids=[case["name"] for case in RECORDED])
def test_we_say_what_the_server_said(case, compiled):
    is_update = "unratcheted" in case["answers"][0]
    batch = Batch(case["name"], case["crd"], [], is_update=is_update, objects=case["objects"])
    for (found, loose), answer in zip(ours(batch, compiled=compiled), case["answers"], strict=True):
        assert found == causes(answer["errors"])
        if is_update:
            assert loose == causes(answer["unratcheted"])


def test_the_corners_are_many():
    assert len(RECORDED) >= 25
    assert sum(len(error) for case in RECORDED for answer in case["answers"] for error in answer.values()) > 300
