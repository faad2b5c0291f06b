"""What a damaged value of a built-in kind does to a server that starts: as recorded, and as an audit says it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.builtin.builtin_kinds import BUILTIN_KINDS
from auditor.builtin.judge import judge_at
from auditor.causes.keys import CauseKey
from auditor.causes.titles import title_of
from auditor.sources.registry_key import classify
from tests.golden.server.torn_starts import VALUES, keys
from tests.shared import recorded

if TYPE_CHECKING:
    from auditor.builtin.builtin_kinds import BuiltinKind

RECORD: dict[str, Any] = json.loads(recorded("golden/kube/torn-starts.json").read_text())
ALONE: dict[str, Any] = RECORD["alone"]
KINDS: dict[str, list[BuiltinKind]] = {}
for built_in in BUILTIN_KINDS:
    KINDS.setdefault(built_in.prefix, []).append(built_in)


@pytest.mark.parametrize("key", ALONE)
def test_a_damaged_value_does_to_a_server_what_is_recorded(key: str) -> None:
    place = classify(tuple(key.split("/")), {})
    judged = judge_at(place.group, place.plural, VALUES.get(key, "torn").encode(), place.name)
    assert ("crashes-server" in judged.impacts) == ALONE[key]["ended"]
    for kind in KINDS.get(key.rpartition("/")[0].removesuffix("/shop"), []):
        assert kind.keeps_from_ready == (not ALONE[key]["ready"])
        title = title_of(CauseKey(group=kind.group, kind=kind.kind, impact=str(judged.impact)))
        if ALONE[key]["ended"]:
            assert title == "ends the API server process a minute after its start"
        else:
            assert title.endswith("; /readyz fails") == (not ALONE[key]["ready"])


def test_each_kind_was_tried() -> None:
    together = set(RECORD["together"]["keys"])
    assert (RECORD["together"]["ended"], RECORD["together"]["ready"]) == (False, True)
    assert together | ALONE.keys() == {*keys().values(), *VALUES}
    assert not any(kind.keeps_from_ready for prefix, key in keys().items() if key in together for kind in KINDS[prefix])
