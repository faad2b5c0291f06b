"""What a server answered before and after an upgrade is held against the answer "safe"; the server itself is not needed."""

from collections import Counter
from random import Random

from tests.differential.draw_upgrades import Draw
from tests.differential.live_upgrades import compared, harm
from tests.upgrade.server.pairs import Pair, one


def test_pairs_are_drawn_alike_for_one_seed_and_change_something():
    drawn, again = ([draw.pair(f"p{number}") for number in range(60)] for draw in (Draw(Random(4)), Draw(Random(4))))
    assert [pair.new_document for pair in drawn] == [pair.new_document for pair in again]
    assert sum(pair.old != pair.new for pair in drawn) > 50
    assert len({way for pair in drawn for way in pair.ways}) > 12


def test_a_request_that_no_longer_passes_and_a_value_that_goes_are_harm():
    before = {"codes": {"put v1 a": 200, "scale v1 a": 404}, "shown": {"v1 a": {"spec": {"x": 1, "y": 2}}}}
    after = {"codes": {"put v1 a": 422, "scale v1 a": 404}, "shown": {"v1 a": {"spec": {"x": 1, "y": 2}}}}
    assert harm(None, before, after, {}) == ["put v1 a: 200 -> 422"]
    assert harm(None, before, before, {"v1 a": {"spec": {"x": 1}}}) == ["v1 a loses .spec.y (rewritten)"]
    assert harm(None, before, before, {}) == []


def test_a_false_answer_is_counted_and_printed(capsys):
    pair, counts = Pair("p", one(), one()), Counter()
    pair.ways, pair.said = ["schema"], {"snapshot": (0, "safe\n"), "export": (1, "safe after x\n"), "check": (0, "ok")}
    assert compared(pair, 200, ["put v1 a: 200 -> 422"], counts) == 1
    assert "FALSE p snapshot" in capsys.readouterr().out
    assert counts["export not safe, harm"] == counts["check safe, no harm"] == 1
