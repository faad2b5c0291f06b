"""The scan says what a real server does: held against recorded answers, which `tests.upgrade.server.real` writes."""

import pyarrow.parquet as pq
import pytest

from auditor.base.visible import visible
from tests.upgrade.server.judge import answers, scan, word_of
from tests.upgrade.server.pairs import PAIRS
from tests.upgrade.support import summary_of

ANSWERS = answers()
WORDS = {"blocks": {"blocks"}, "attention": {"attention", "safe-after"}, "safe": {"safe"}, "safe-after": {"safe-after"}}
SCAN_WORDS = {"blocks": "blocks, because", "safe-after": "safe after", "attention": "attention: ", "safe": "safe"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_first_line_and_exit_code_are_what_the_server_does(pair, tmp_path):
    answer = ANSWERS[pair.name]
    code, manifest = scan(pair, answer, tmp_path)
    section = manifest["upgrade"]
    [definition] = section["definitions"]
    expected, why = word_of(pair.name, answer)
    assert section["decision"] in WORDS[expected], why
    assert code == (0 if expected == "safe" else 1), why
    text = summary_of(str(tmp_path / "report"))
    assert text.startswith(SCAN_WORDS[section["decision"]])
    if answer["code"] >= 300 and pair.name != "v1beta1":  # a client finds no such API; the server only says 404
        assert sorted(definition["refusals"]) == sorted(answer["causes"])
        assert "the server refuses the definition" in text.split("\n")[0]
        assert visible(definition["refusals"][0]) in text
    elif pair.name != "v1beta1":
        assert definition["refusals"] == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_headline_and_objects_agree(pair, tmp_path):
    """An object that breaks its LISTs after the upgrade alone blocks it, and one that is newly invalid is never safe."""
    _, manifest = scan(pair, ANSWERS[pair.name], tmp_path)
    section = manifest["upgrade"]
    rows = [row for part in (tmp_path / "report" / "objects").glob("*.parquet") for row in pq.read_table(part).to_pylist()]  # fmt: skip
    bad = [row for row in rows if row["kind"] == "Widget" and row["status"] in ("unreadable", "invalid")]
    was_bad = sum(
        one["unreadable_before"] + one["categories"].get("broken-before", 0) for one in section["definitions"]
    )
    if len(bad) > was_bad:
        assert section["decision"] != "safe"
    for definition in section["definitions"]:
        counts = definition["categories"]
        newly = sum(counts.get(name, 0) for name in ("tolerated", "blocked", "invalid"))
        if definition["action"] == "update" and not definition["refusals"] and pair.name != "kind-changed":
            assert newly <= sum(change["objects"] for change in definition["schema_changes"])
    if section["decision"] == "safe":
        assert manifest["exit_code"] == 0
        assert section["levels"] == []


def test_the_pairs_are_many_and_of_all_kinds():
    expected = [word_of(pair.name, ANSWERS[pair.name])[0] for pair in PAIRS]
    assert len(PAIRS) >= 60
    assert min(expected.count(word) for word in ("blocks", "attention", "safe")) >= 10
