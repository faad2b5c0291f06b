"""Thirty-six drawn nights of a fleet, held against a model of the truth: what is broken, missing, stale, sealed or fixed.

Dumps are cut short, runs are scoped and skip checks.
"""

import json
import random
from dataclasses import dataclass, field

import pytest

from auditor.plan.options import RunScope
from tests.output.summaries import summary_of
from tests.pipelines.nights.support import Store, definition, loaf
from tests.pipelines.nights.test_diff import audit_fleet, fleet
from tests.pipelines.nights.test_rechecked import found

CLUSTERS = ("east", "south", "west")
PLACES = (
    *(("Loaf", namespace, f"loaf-{number}") for namespace in ("north", "south") for number in range(2)),
    *(("Pan", "north", f"pan-{number}") for number in range(2)),
)
CLOCKS = (("Loaf", "north", "clock"), ("Loaf", "south", "clock"), ("Pan", "north", "clock"))
"""Objects that are always there, so that each scope leaves something out."""
STATES = ("fine", "fine", "heavy", "heavy", "ruled", "ruled", "torn", "sealed", "gone", "gone")
CALM = (1, 5, 9, 12)
"""Nights on which all objects are fine."""
PLAIN = (1, 9)
"""Nights on which each dump is whole, and the run judges all objects by all checks."""
GRAMS = {"fine": 5, "heavy": 900, "ruled": 7}
CHECK = {"heavy": "schema", "ruled": "rule"}
BYTES = {"torn": b"{torn", "sealed": b"k8s:enc:aescbc:v1:key1:0123456789abcdef"}
EVENTS = ("fine", "fine", "fine", "fine", "cut", "cut", "missing", "stale")
SCOPES = {
    "": (RunScope(), lambda place: True),
    "-n north": (RunScope(namespace="north"), lambda place: place[1] == "north"),
    "-n south": (RunScope(namespace="south"), lambda place: place[1] == "south"),
    "--exclude Pan": (RunScope(exclude=("Pan",)), lambda place: place[0] != "Pan"),
    "--include Pan": (RunScope(include=("pans.bakery.example.com",)), lambda place: place[0] == "Pan"),
}


@dataclass
class Dump:
    """A dump that was taken: the store, the truth about the keys in it, and how many keys it was cut to."""

    store: Store
    states: dict
    keys: int | None = None

    def is_visible(self, place):
        return self.keys is None or key_of(place) in sorted(self.store.kvs)[: self.keys]

    def write(self, path, form):
        self.store.write(path, form)
        if self.keys is not None:
            content = json.loads(path.read_text())
            content["kvs"] = content["kvs"][: self.keys]
            path.write_text(json.dumps(content).partition('], "count"')[0] + ', {"key": "L3Jl')


@dataclass
class Night:
    """What was drawn of a night."""

    dumps: dict
    missing: set
    stale: set
    scope: str = ""
    skip: tuple = ()
    seen: dict = field(default_factory=dict)

    def __post_init__(self):
        """Note the truth about all objects that tonight's run can see."""
        for cluster, dump in self.dumps.items():
            for place in PLACES:
                if SCOPES[self.scope][1](place) and dump.is_visible(place):
                    self.seen[(cluster, *place)] = dump.states[place]

    @property
    def cut(self):
        return {cluster for cluster, dump in self.dumps.items() if dump.keys is not None}

    def findings(self):
        return {
            (*place, CHECK[state])
            for place, state in self.seen.items()
            if state in CHECK and not (state == "ruled" and "rules" in self.skip)
        }

    def fixed(self, known):
        """Return the findings of the night before that can be seen to be gone."""
        out = set()
        for *place, check in known - self.findings():
            cluster = place[0]
            if cluster in self.dumps and self.dumps[cluster].states[tuple(place[1:])] == "gone":
                is_fixed = cluster not in self.cut and SCOPES[self.scope][1](place[1:])
            else:
                is_fixed = self.seen.get(tuple(place)) in GRAMS and not (check == "rule" and "rules" in self.skip)
            if is_fixed:
                out.add((*place, check))
        return out

    def tells(self, place):
        """Return whether this night can tell how an object was: a later night compares only these."""
        cluster = place[0]
        if cluster not in self.dumps or self.seen.get(place) == "sealed":
            return False
        return cluster not in self.cut or place in self.seen

    def is_clear(self):
        is_whole = not (self.missing or self.stale or self.cut or self.scope or self.skip)
        return is_whole and set(self.seen.values()) <= {"fine", "gone"}


def key_of(place):
    kind, namespace, name = place
    return Store.key(loaf(name, kind=kind, namespace=namespace))


def put(store, place, state):
    kind, namespace, name = place
    if state == "gone":
        store.revision += 1
        store.kvs.pop(key_of(place), None)
    elif state in BYTES:
        store.put(BYTES[state], key_of(place))
    else:
        store.put(loaf(name, kind=kind, namespace=namespace, grams=GRAMS[state]))


def draw(rng, world, taken, number):
    """Change some objects of each cluster, and draw the changes of its dump and how the run is made."""
    dumps, missing, stale = {}, set(), set()
    for cluster, (store, states) in world.items():
        for place in PLACES:
            if number in CALM or rng.random() < 0.4:
                states[place] = "fine" if number in CALM else rng.choice(STATES)
                put(store, place, states[place])
        for place in CLOCKS:
            put(store, place, "fine")
        event = "fine" if number in CALM else rng.choice(EVENTS)
        if event == "missing" and (dumps or cluster != CLUSTERS[-1]):
            missing.add(cluster)
        elif event == "stale" and cluster in taken:
            dumps[cluster] = taken[cluster]
            stale.add(cluster)
        else:
            keys = rng.randrange(3, len(store.kvs)) if event == "cut" else None
            dumps[cluster] = taken[cluster] = Dump(store.copy(), dict(states), keys)
    if number == 1:
        missing = stale = set()
    if number in PLAIN:
        return Night(dumps, missing, stale)
    scope = rng.choice(("", "", "", *SCOPES))
    skip = rng.choice(((), (), (), ("rules",), ("updates",)))
    return Night(dumps, missing, stale, scope, skip)


def rows_of(report, table="findings"):
    names = ("cluster", "kind", "namespace", "name", "check")
    return sorted(tuple(row[name] for name in names) for row in found(report, table))


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.nightly if seed else pytest.mark.slow) for seed in range(3)]
)
def test_twelve_nights_agree_with_the_truth(nights, tmp_path, seed):
    rng = random.Random(seed)
    definitions = [definition(kind, rules=("self.grams != 7",)) for kind in ("Loaf", "Pan")]
    world = {name: (Store(*definitions), dict.fromkeys(PLACES, "gone")) for name in CLUSTERS}
    taken, report, known, torn, last = {}, None, set(), set(), None
    for number in range(1, 13):
        night = draw(rng, world, taken, number)
        options = {"diff": str(report)} if report else {}
        pattern = fleet(tmp_path, number, **night.dumps)
        report, manifest, code = audit_fleet(
            nights, pattern, scope=SCOPES[night.scope][0], skip=night.skip, **options
        )  # fmt: skip
        text = summary_of(report)
        check_sentences(night, manifest, text, code)
        now = night.findings()
        assert rows_of(report) == sorted(now), number
        was_torn, torn = torn, {place for place, state in night.seen.items() if state == "torn"}
        if options:
            diff, fixed = manifest["diff"], night.fixed(known)
            assert rows_of(report, "fixed") == sorted(fixed), number
            assert {one["cluster"] for one in diff["stale"]} == night.stale - night.cut
            new = {place for place in now - known if last.tells(place[:-1])}
            assert diff["findings"] == {"new": len(new), "same": len(now & known), "fixed": len(fixed)}
            assert diff["uncompared"] == len(now - known - new)
            assert diff["not_judged"] == len(known - now - fixed)
            worse = {place for place in torn - was_torn if last.tells(place)}
            assert diff["worse"]["unreadable"] == len(worse), number
        known, last = now, night


def check_sentences(night, manifest, text, code):
    states = set(night.seen.values())
    assert {one["name"] for one in manifest["missing"]} == night.missing
    assert (code == 3) == bool(night.missing or night.cut)
    assert ("cannot be listed or watched" in text) == ("torn" in states)
    assert ("MISSING" in text, "STALE" in text) == (bool(night.missing), bool(night.stale - night.cut))
    assert ("is sealed" in text or "are sealed" in text) == ("sealed" in states)
    assert text.endswith("Next: nothing to do.") == night.is_clear(), text
