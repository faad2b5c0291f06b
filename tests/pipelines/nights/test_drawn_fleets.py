"""Drawn nights of a fleet with built-in kinds, definitions that go away, and dumps of every unlucky sort.

The model says of each night which kinds are broken, what is fixed, what became worse, whether all is clear, and the
exit code of a run by everything and by what is new alone. `NIGHTS=first-last` draws by other seeds.
"""

import json
import os
import random
import re
from dataclasses import dataclass, field

import pytest

from auditor.causes.model import FindingsModel
from auditor.plan.options import FAIL_ON, RunScope
from tests.output.summaries import summary_of
from tests.pipelines.nights.support import DELETING, Store, definition, loaf
from tests.pipelines.nights.test_diff import audit_fleet
from tests.pipelines.nights.test_rechecked import found
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

FIRST, LAST = map(int, os.environ.get("NIGHTS", "0-10").split("-"))
CLUSTERS = ("east", "south", "west")
CUSTOM = tuple(("Loaf", namespace, f"loaf-{number}") for namespace in ("north", "south") for number in range(2))
PLACES = (*CUSTOM, ("ConfigMap", "north", "settings"), ("ConfigMap", "south", "settings"), ("Secret", "north", "key"))
CLOCK = ("Pan", "north", "clock")
"""An object that is always there, and written anew each night."""
STATES = {
    "Loaf": ("fine", "fine", "gone", "heavy", "loses", "stuck", "torn", "bare", "sealed"),
    "ConfigMap": ("fine", "fine", "gone", "torn", "typed", "v7", "bare"),
    "Secret": ("fine", "gone", "sealed", "torn"),
}
BYTES = {"torn": b"{torn", "sealed": b"k8s:enc:aescbc:v1:key1:0123456789abcdef"}
LEVELS = {"torn": "unreadable", "bare": "unreadable", "typed": "unreadable", "v7": "unreadable", "stuck": "blocked",
          "loses": "data-loss"}  # fmt: skip
FIELDS = {"heavy": "spec.grams", "stuck": "metadata.generation", "bare": "metadata.namespace"}
"""The field that a state has a finding on."""
RANKS = {"heavy": 1, "loses": 2, "stuck": 4, "orphaned": 8, "torn": 32, "bare": 31, "typed": 32, "v7": 32}
CRDS = ("there", "there", "there", "absent", "sealed", "unserved")
EVENTS = ("fine", "fine", "fine", "fine", "cut", "missing", "stale", "garbage", "empty", "definitions", "renamed")
SCOPES = {
    "": (RunScope(), lambda place: True),
    "-n north": (RunScope(namespace="north"), lambda place: place[1] == "north"),
    "--exclude Loaf": (RunScope(exclude=("loafs.bakery.example.com",)), lambda place: place[0] != "Loaf"),
    "--include Loaf": (RunScope(include=("loafs.bakery.example.com",)), lambda place: place[0] == "Loaf"),
}
DEFINITION = "/registry/apiextensions.k8s.io/customresourcedefinitions/loafs.bakery.example.com"
NAMES = ("cluster", "kind", "namespace", "name", "field")
CRD_KEY = "/registry/apiextensions.k8s.io/customresourcedefinitions/"


def key_of(place):
    kind, namespace, name = place
    if kind in ("Loaf", "Pan"):
        return Store.key(loaf(name, kind=kind, namespace=namespace))
    return f"/registry/{kind.lower()}s/{namespace}/{name}"


def value_of(place, state):
    """Return the stored value of a place in a state."""
    kind, namespace, name = place
    if state in BYTES:
        return BYTES[state]
    if kind not in ("Loaf", "Pan"):
        metadata = {"name": name} if state == "bare" else {"name": name, "namespace": namespace}
        out = {"kind": kind, "apiVersion": "v7" if state == "v7" else "v1", "metadata": metadata}
        if kind == "ConfigMap":
            out["data"] = {"a": 5 if state == "typed" else "b"}
        return json.dumps(out).encode()
    one = loaf(name, kind=kind, namespace=namespace)
    if state == "heavy":
        one["spec"]["grams"] = 900
    elif state == "loses":
        one["spec"]["unknown"] = 1
    elif state == "stuck":
        one["metadata"] |= {**DELETING, "generation": -1}
    elif state == "bare":
        del one["metadata"]["namespace"]
    return json.dumps(one).encode()


def definition_in(state):
    """Return the stored value of the definition of Loaf, or None if there is none."""
    if state == "absent":
        return None
    if state == "sealed":
        return BYTES["sealed"]
    made = definition()
    if state == "unserved":
        made["status"]["conditions"] = [{"type": "NamesAccepted", "status": "False"}]
    return json.dumps(made).encode()


def write_snapshot(store, path):
    """Write a store as a snapshot, each key at its revision."""
    history = History()
    for key, (data, revision) in sorted(store.kvs.items(), key=lambda one: one[1][1]):
        history.main = max(history.main, revision - 1)
        history.put(key.encode(), data)
    is_newer = store.revision > history.main
    history.main = max(history.main, store.revision - 1)
    history.put(b"compact_rev_key", b"x", same=not is_newer)
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))


@dataclass
class Dump:
    """A dump that was taken, and the truth about it."""

    store: Store
    states: dict
    crd: str
    event: str = "fine"
    form: str = "listing"
    keys: int | None = None

    def holds(self, place):
        if self.event in ("garbage", "empty", "definitions"):
            return False
        keys = sorted(self.store.kvs)
        return key_of(place) in (keys if self.keys is None else keys[: self.keys])

    def knows_loaves(self):
        key = CRD_KEY + "loafs.bakery.example.com"
        return self.crd == "there" and (self.keys is None or key in sorted(self.store.kvs)[: self.keys])

    def write(self, path):
        path.parent.mkdir(parents=True)
        if self.event == "garbage":
            path.write_bytes(b"\0garbage")
            return
        store = self.store.copy()
        if self.event in ("empty", "definitions"):
            store.kvs = {key: kv for key, kv in store.kvs.items() if self.event == "definitions" and CRD_KEY in key}
        if self.form == "snapshot" and self.event == "fine":
            write_snapshot(store, path)
            return
        store.write(path, "etcdctl")
        if self.keys is not None:
            content = json.loads(path.read_text())
            content["kvs"] = content["kvs"][: self.keys]
            path.write_text(json.dumps(content).partition('], "count"')[0] + ', {"key": "L3Jl')


@dataclass
class Night:
    """What was drawn of a night: the dumps by the names of their clusters."""

    dumps: dict
    scope: str = ""
    seen: dict = field(default_factory=dict)

    def __post_init__(self):
        """Note the state of all objects that tonight's run sees; without its definition one is not judged."""
        for cluster, dump in self.dumps.items():
            for place in PLACES:
                if SCOPES[self.scope][1](place) and dump.holds(place):
                    state = dump.states[place]
                    if place[0] == "Loaf" and not dump.knows_loaves():
                        state = "sealed" if state == "sealed" or dump.crd == "sealed" else "orphaned"
                    self.seen[(cluster, *place)] = state

    def sealed(self):
        """Return the keys that are sealed, or whose definition is."""
        out = {(at[0], key_of(at[1:])) for at, state in self.seen.items() if state == "sealed"}
        return out | {(name, DEFINITION) for name, dump in self.dumps.items() if sealed_definition(self, dump)}

    def events(self, *events):
        return {cluster for cluster, dump in self.dumps.items() if dump.event in events}

    def findings(self):
        return {(*place, FIELDS[state]) for place, state in self.seen.items() if place[1] == "Loaf" and state in FIELDS}

    def fixed(self, known):
        """Return the findings of the night before that can be seen to be gone."""
        out = set()
        for *at, name in known - self.findings():
            place = tuple(at)
            dump = self.dumps.get(place[0])
            if dump is None or dump.event in ("garbage", "empty", "definitions", "stale"):
                continue
            if dump.states[place[1:]] == "gone":
                is_fixed = dump.event != "cut" and SCOPES[self.scope][1](place[1:])
            else:
                is_fixed = self.seen.get(place) in ("fine", "loses", *FIELDS)
            if is_fixed:
                out.add((*place, name))
        return out

    def tells(self, place):
        """Return whether this night can tell how an object was: a later night compares only these."""
        dump = self.dumps.get(place[0])
        if dump is None or dump.event in ("garbage", "empty") or self.seen.get(place) == "sealed":
            return False
        if dump.event == "definitions" and self.scope in ("-n north", "--include Loaf"):  # nothing of it is in scope
            return False
        return dump.event != "cut" or place in self.seen

    def is_clear(self, missing):
        is_whole = not (missing or self.scope or self.events("cut", "stale", "garbage", "empty"))
        is_known = all(dump.crd in ("there", "absent") for dump in self.dumps.values())
        return is_whole and is_known and set(self.seen.values()) <= {"fine"}


def draw(rng, world, taken, number):
    """Change some objects of each cluster, and draw the changes of its dump."""
    dumps = {}
    for cluster, (store, states, crds) in world.items():
        is_calm = number % 4 == 1
        for place in PLACES:
            if is_calm or rng.random() < 0.4:
                states[place] = "fine" if is_calm else rng.choice(STATES[place[0]])
                store.revision += 1
                store.kvs.pop(key_of(place), None)
                if states[place] != "gone":
                    store.put(value_of(place, states[place]), key_of(place))
        if is_calm or rng.random() < 0.4:
            crds[0] = "there" if is_calm else rng.choice(CRDS)
            key = CRD_KEY + "loafs.bakery.example.com"
            store.revision += 1
            store.kvs.pop(key, None)
            if (value := definition_in(crds[0])) is not None:
                store.put(value, key)
        store.put(value_of(CLOCK, "fine"), key_of(CLOCK))
        event = "fine" if is_calm and rng.random() < 0.8 else rng.choice(EVENTS)
        if event == "stale" and cluster not in taken:
            event = "fine"
        if event == "missing" and (number > 1 and (dumps or cluster != CLUSTERS[-1])):
            continue
        if event == "stale":
            last = taken[cluster]
            dumps[cluster] = Dump(last.store, last.states, last.crd, "stale", last.form, last.keys)
            continue
        event = "fine" if event == "missing" else event
        dump = Dump(store.copy(), dict(states), crds[0], event, rng.choice(("listing", "snapshot")))
        if event == "cut":
            dump.keys = rng.randrange(1, len(store.kvs))
        if event == "renamed":
            dump.event = "fine"
            dumps[f"{cluster}-{number}"] = dump
            continue
        dumps[cluster] = dump
        if event == "fine":
            taken[cluster] = dump
        else:
            taken.pop(cluster, None)
    if all(dump.event in ("garbage", "empty") for dump in dumps.values()):
        name = CLUSTERS[0]
        store, states, crds = world[name]
        dumps[name] = taken[name] = Dump(store.copy(), dict(states), crds[0])
    scope = "" if number % 4 == 1 else rng.choice(("", "", *SCOPES))
    return Night(dumps, scope)


def newly(before, now):
    """Return the objects that a night made worse, each with its level."""
    out = {}
    for place, state in now.seen.items():
        level, was = LEVELS.get(state), before.seen.get(place) if before else None
        is_worse = was is None or RANKS.get(state, 0) > RANKS.get(was, 0)
        if level and is_worse and (LEVELS.get(was) != level or was == "bare"):  # which a GET still reads
            out[place] = level
    return out


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=pytest.mark.slow if seed == FIRST else pytest.mark.nightly)
        for seed in range(FIRST, LAST)
    ],
)
def test_ten_nights_agree_with_the_truth(nights, tmp_path, seed):
    rng = random.Random(seed)
    world = {
        name: (Store(definition(), definition("Pan")), dict.fromkeys(PLACES, "gone"), ["there"]) for name in CLUSTERS
    }
    taken, report, before, expected, last = {}, None, None, set(), set()
    for number in range(1, 11):
        night = draw(rng, world, taken, number)
        for cluster, dump in night.dumps.items():
            dump.write(tmp_path / f"night-{number}" / cluster / "dump.json")
        level, only_new, fail_on_sealed = rng.choice(FAIL_ON), rng.random() < 0.5, rng.random() < 0.3
        options = {"fail_on": level, "fail_on_sealed": fail_on_sealed, "scope": SCOPES[night.scope][0]}
        if report:
            options |= {"diff": str(report), "only_new": only_new}
            rng.random()  # so that each seed draws the nights that it always drew
        report, manifest, code = audit_fleet(nights, f"{tmp_path}/night-{number}/*/dump.json", **options)
        missing = expected - night.dumps.keys()
        expected |= night.dumps.keys()
        check(night, before, manifest, report, missing, last if before else None)
        assert code == code_of(night, before, missing, options, last), (number, options)
        before, last = night, night.findings()


def check(night, before, manifest, report, missing, known):
    text = summary_of(report)
    assert {one["name"] for one in manifest["missing"]} == missing
    assert {line.split()[1].rstrip(":") for line in text.splitlines() if line.startswith("MISSING")} == missing
    broken = {place[1] for place, state in night.seen.items() if LEVELS.get(state) == "unreadable"}
    breaking = ("breaks-list", "breaks-watch")
    causes = [one for one in FindingsModel.open(report).causes if one.impact in breaking and one.objects]
    assert {one.kind for one in causes} == broken
    titles = re.compile(r"  .*  (?:cannot be listed or watched|breaks watches and controllers)")
    lines = [line.split() for line in text.splitlines() if titles.match(line)]
    assert sorted(line[-1] for line in lines) == sorted(one.id for one in causes)
    states = {(place[0], key_of(place[1:])): state for place, state in night.seen.items()}
    for one in causes:
        for cluster, key in zip(one.example_clusters, one.examples, strict=True):
            assert LEVELS.get(states[(cluster, key)]) == "unreadable", (cluster, key)
    sealed = {at for at in night.seen if night.dumps[at[0]].states[at[1:]] == "sealed"}
    sealed |= {cluster for cluster, dump in night.dumps.items() if sealed_definition(night, dump)}
    assert any(line.startswith("SEALED  ") for line in text.splitlines()) == bool(sealed)
    now = night.findings()
    rows = found(report)
    got = {tuple(row[name] for name in NAMES) for row in rows}
    assert got == now, [(at, night.seen.get(at[:-1])) for at in got ^ now]
    if known is None:
        return
    fixed = night.fixed(known)
    rows = found(report, "fixed")
    got = {tuple(row[name] for name in NAMES) for row in rows}
    assert got == fixed, [
        (at, before.seen.get(at[:-1]), night.seen.get(at[:-1]), night.scope, night.dumps[at[0]].event)
        for at in got ^ fixed
    ]
    diff = manifest["diff"]
    assert (diff["not_judged"] > 0) == bool(known - now - fixed)
    worse = {place: level for place, level in newly(before, night).items() if before.tells(place)}
    counts = {level: [*worse.values()].count(level) for level in ("unreadable", "blocked", "data-loss")}
    assert diff["worse"] == counts, worse
    is_clear = night.is_clear(missing) and not (known - now - fixed)
    assert text.endswith("Next: nothing to do.") == is_clear, text
    stale = {one["cluster"] for one in diff["stale"]}
    assert stale == night.events("stale")


def sealed_definition(night, dump):
    """Whether the definition of a dump is seen, and is sealed."""
    key = CRD_KEY + "loafs.bakery.example.com"
    keys = sorted(dump.store.kvs)
    is_there = dump.event not in ("garbage", "empty") and key in (keys if dump.keys is None else keys[: dump.keys])
    return is_there and dump.crd == "sealed" and night.scope in ("", "--exclude Loaf")


def code_of(night, before, missing, options, last):
    if missing or night.events("cut", "garbage", "empty"):
        return 3
    sealed = night.sealed() - (before.sealed() if options.get("only_new") else set())
    if options["fail_on_sealed"] and sealed:
        return 1
    levels = FAIL_ON[1 : FAIL_ON.index(options["fail_on"]) + 1]
    states = night.seen
    if not options.get("only_new"):
        reached = {LEVELS.get(state) for state in states.values()}
        reached |= {"invalid"} if night.findings() else set()
    else:
        if levels and {LEVELS.get(state) for state in states.values()} & {"unreadable", "blocked"}:
            return 1  # faults that every night reports until they are repaired
        reached = set(newly(before, night).values())
        reached |= {"invalid"} if night.findings() - last else set()
        reached |= {"blocked"} if {at for at in night.findings() - last if at[-1].startswith("metadata.")} else set()
    return int(bool(reached & set(levels)))
