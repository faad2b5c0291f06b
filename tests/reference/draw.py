"""Chooses what the vectors ask; the program beside this file answers.

    python -m tests.reference.draw          # asks anew: only for new sorts of cases, the old ones stay good

Everything comes from the project itself: the objects and definitions of sample-data, drawn definitions with drawn
objects (`tests.properties.drawing`), the rules of `tests.validation.rules.cases`, drawn updates with rules
(`tests.ratcheting`), and the expressions below. A case whose answer depends on the order in which the libraries walk a
map is left out.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from tests.properties.drawing import Drawer
from tests.ratcheting.drawn_updates import metadata, with_rules
from tests.reference import release_questions
from tests.reference.make import VECTORS, answered, answered_stably, build, is_go_missing
from tests.shared import ROOT
from tests.validation import draw
from tests.validation.rules.cases import CASES

Case = dict[str, Any]
Suite = dict[str, Any]


def bakery() -> Suite:
    """Every object of the sample, at every version, and as an update of itself and of one another."""
    spec = importlib.util.spec_from_file_location("sample_data", ROOT / "sample-data" / "bakery.py")
    assert spec is not None
    assert spec.loader is not None
    sample = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sample)
    cases: list[Case] = []
    last: dict[str, str] = {}
    versions = {one["spec"]["names"]["plural"]: one["spec"]["versions"] for one in sample.DEFINITIONS}
    for key, value in sample.values():
        parts = key.split("/")
        if len(parts) < 5 or parts[2] != sample.GROUP:
            continue
        plural, text = parts[3], value.decode().strip()
        name = "/".join(parts[3:])
        resource = f"{plural}.{sample.GROUP}"
        for version in versions[plural]:
            at = {"version": version["name"], "resource": resource}
            cases.append({"name": f"{name} at {version['name']} ({len(cases)})", "object": text, **at})
        if plural in last:
            cases.append(
                {"name": f"{name} updated ({len(cases)})", "old": last[plural], "new": text, "resource": resource}
            )
        cases.append({"name": f"{name} sent back ({len(cases)})", "old": text, "new": text, "resource": resource})
        last[plural] = text
    return {"about": "The bakery of sample-data.", "definitions": sample.DEFINITIONS, "cases": cases}


def drawn(seed: int = 1, count: int = 40) -> Suite:
    """Drawn definitions, each in a group of its own, with drawn objects."""
    definitions, cases = [], []
    for number in range(count):
        drawer = Drawer(Random(seed * 1_000_003 + number), wild=0.3 if number % 4 == 0 else 0.04)
        own = f"d{number}.example.com"
        definition = drawer.definition()
        texts = [drawer.object_text(definition).replace("draw.example.com", own) for _ in range(5)]
        definition = json.loads(json.dumps(definition).replace("draw.example.com", own))
        definitions.append(definition)
        resource = definition["metadata"]["name"]
        for index, text in enumerate(texts):
            for version in definition["spec"]["versions"]:
                at = {"version": version["name"], "resource": resource}
                cases.append({"name": f"{number}/{index} at {version['name']}", "object": text, **at})
        pair = {"old": texts[0], "new": texts[1], "resource": resource}
        cases.append({"name": f"{number} updated", **pair})
    return {
        "about": "Drawn definitions with all keywords in odd combinations.",
        "definitions": definitions,
        "cases": cases,
    }


def ruled() -> Suite:
    """Validation rules at the corners of what they see."""
    cases: list[Case] = []
    for case in CASES:
        for index, objects in enumerate(case.objects):
            texts = [json.dumps(each) for each in objects]
            asked = {"old": texts[0], "new": texts[1]} if case.is_update else {"object": texts[0]}
            cases.append({"name": f"{case.name}/{index}", **asked, "resource": case.crd["metadata"]["name"]})
    return {"about": "Validation rules.", "definitions": [case.crd for case in CASES], "cases": cases}


def updated(seed: int = 5, count: int = 14) -> Suite:
    """Updates of drawn objects, with rules on the drawn definitions."""
    random = Random(seed)
    definitions, cases = [], []
    for number in range(count):
        crd = draw.definition(random, number, 5)
        if "validation" not in crd["spec"]:
            with_rules(random, draw.root_of(crd))
        definitions.append(crd)
        for index in range(3):
            old = draw.object_of(random, crd)
            metadata(random, old["metadata"])
            new = draw.updated(random, old) if index else json.loads(json.dumps(old))
            metadata(random, new["metadata"])
            pair = {"old": json.dumps(old), "new": json.dumps(new), "resource": crd["metadata"]["name"]}
            cases.append({"name": f"{number}/{index}", **pair})
    return {"about": "Updates, with ratcheting and transition rules.", "definitions": definitions, "cases": cases}


SELF = {
    "name": "web-1", "replicas": 3, "ratio": 0.5, "enabled": True, "tags": ["a", "b", "b"], "labels": {"app": "web"},
    "ports": [{"name": "http", "port": 80}, {"name": "dns", "port": 53}], "when": "2024-02-29T12:30:00Z", "wait": "1h30m",
    "cpu": "500m", "ip": "10.0.0.7", "uni": "h\u00e9llo \U0001f600", "any": {"x": [1, 2.0, "3", None]}, "mixed": "80%",
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20}, "replicas": {"type": "integer"}, "ratio": {"type": "number"},
        "enabled": {"type": "boolean"}, "missing": {"type": "string"}, "cpu": {"type": "string"}, "ip": {"type": "string"},
        "tags": {"type": "array", "maxItems": 9, "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "ports": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}},
        },
        "when": {"type": "string", "format": "date-time"}, "wait": {"type": "string", "format": "duration"},
        "uni": {"type": "string"}, "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "mixed": {"x-kubernetes-int-or-string": True},
    },
}  # fmt: skip
EXPRESSIONS = [
    "self.replicas + 1", "self.replicas / 0", "self.replicas == 3.0", "self.ratio * 2.0", "self.ratio + 1", "1.0 / 0.0",
    "-self.replicas % 2", "self.name + 1", "self.missing", "has(self.missing)", "!has(self.missing) || self.missing == 'x'",
    "self.name.startsWith('web') && self.enabled", "self.name.matches('^web-[0-9]+$')", "self.name.matches('(')",
    "self.tags == ['b', 'a', 'b']", "self.tags + ['c']", "self.tags.all(t, size(t) == 1)", "self.tags.map(t, t.upperAscii())",
    "self.tags.exists_one(t, t == 'b')", "self.tags.indexOf('b')", "self.tags.sum()", "self.tags[7]", "size(self.uni)",
    "self.uni.substring(1, 3)", "self.uni.charAt(6)", "self.name.split('-')", "self.name.replace('web', 'db')",
    "self.name.find('[0-9]')", "self.labels.all(k, k == self.labels[k] || k == 'app')", "self.labels['none']",
    "'app' in self.labels", "self.labels.?none.orValue('z')", "self.?missing", "optional.of(self.replicas)",
    "self.ports.filter(p, p.port > 60).map(p, p.name)", "self.ports.map(p, p.port).sum()", "self.ports.map(p, p.port).max()",
    "self.ports == self.ports", "self.ports + [{'name': 'dns', 'port': 5}]", "self.when.getMonth()", "self.when",
    "self.when.getFullYear() + 1", "self.wait", "self.wait > duration('1h')", "self.wait.getMinutes()", "timestamp('2024-13-01')",
    "quantity(self.cpu).isLessThan(quantity('1'))", "quantity(self.cpu).asApproximateFloat()", "quantity('x')",
    "ip(self.ip).family()", "cidr('10.0.0.0/16').containsIP(self.ip)", "isIP('::1')", "url('https://x:80/y?z=1').getHostname()",
    "self.any.x", "self.mixed == '80%'", "type(self.mixed) == string", "self.mixed == 80", "type(self.replicas)",
    "semver('1.2.3-rc.1').isLessThan(semver('1.2.3'))", "format.dns1123Label().validate('Bad')", "'%s is %d'.format(['a', 5])",
    "cel.bind(x, self.replicas, x * x)", "[1, 2, 3].isSorted()", "self.nothing", "1 + 'a'", "[", "self.name ==", "b'aGk='",
    "base64.encode(b'hi')", "math.greatest(1, 5, 3)", "sets.contains([1, 2], [1])", "1u - 2u", "int('9223372036854775808')",
    "dyn(1) == dyn(1u)", "{'a': 1}.a", "{1: 2}[1.0]", "self.enabled ? self.name : self.missing", "true || self.missing == ''",
    "has((self.enabled ? self : self).missing)", "has((self.replicas > 5 ? self.labels : self.labels).app)",
    "has((self.enabled ? self.labels : self.labels).app) && has(self.labels.app)",
    "(self.enabled ? self.labels : self.labels).app",
]  # fmt: skip


def expressions() -> Suite:
    """Expressions over one value, with its schema and without."""
    text = json.dumps(SELF)
    typed = [{"name": f"typed: {each}", "expression": each, "self": text, "schema": SCHEMA} for each in EXPRESSIONS]
    loose = [{"name": f"untyped: {each}", "expression": each, "self": text} for each in EXPRESSIONS]
    return {"about": "The expression language: value, type, error and cost.", "cases": typed + loose}


SUITES = {
    "bakery": bakery,
    "drawn": drawn,
    "rules": ruled,
    "updates": updated,
    "expressions": expressions,
    "releases": release_questions.questions,
}


def main() -> int:
    """Ask everything; return the exit code."""
    if is_go_missing():
        print("skipped: Go is missing, so there is no program to answer")
        return 0
    program = build()
    for name, make in SUITES.items():
        suite = make()
        left_out = answered_stably(program, suite)[1]
        suite["cases"] = [case for case in suite["cases"] if case["name"] not in left_out]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "asked.json"
            path.write_text(json.dumps(suite), encoding="utf-8")
            text = answered(program, path)
        (VECTORS / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"vectors/{name}.json: {len(suite['cases'])} cases, {len(left_out)} left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
