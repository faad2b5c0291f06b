"""Rules around the places where the server's compiler panics, and what the real libraries answer to each.

    python -m tests.crdcheck.record_panics 1.32 1.33 1.34 1.35 1.36 1.37 1.38 > tests/crdcheck/panics.jsonl

Three places are known. An optional item of a list or map whose type is dynamic, outside ``format``: the check of mixed
literals takes the parameter of ``optional_type`` from a type that has none. Bytes as a key of a constant map: the
optimizer makes a Go map. ``in`` with a constant list that is an error, inside ``format``: the optimizer takes it for a
list. A part of the combinations below is drawn, always the same. A line is a rule, perhaps with a messageExpression,
and by release ``accepted``, ``refused`` or the panic. Needs the oracle beside the project, and Go.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from tests.documents import definition_of
from tests.reference.libraries import library
from tests.reference.make import build_beside

ITEMS = (
    "1", "dyn(1)", "dyn(self).li[?5]", "dyn(self).i", "dyn(self.i)", "self.x", "self.li[?5]", "optional.of(1)",
    "optional.of(dyn(1))", "optional.none()", "dyn(optional.of(1))", "null", "dyn(null)", "self.?i", "dyn(self).?i",
    "(self.i == 1 ? dyn(1) : dyn(2))", "[dyn(1)][0]", "self.li.map(a, dyn(a))[0]", "google.protobuf.Value{}",
)  # fmt: skip
LITERALS = (
    "[?{}]", "[?{}, 1]", "[1, ?{}]", "[1, 'a', ?{}]", "[?{}, ?{}]", "{{?'a': {}}}", "{{'a': 1, ?'b': {}}}",
    "{{1: 2, 'b': 3, ?'c': {}}}", "[[?{}]]", "{{'a': [?{}]}}", "[ // the first?\n ?{}]", "{{?b'a': {}}}",
)  # fmt: skip
USES = (
    "{}.size() >= 0", "{}.map(v0, v0).size() >= 0", "{}.all(v, true)", "{}.transformMap(k, v, v).size() >= 0",
    "'%s'.format([{}]) != ''", "'%s'.format([[1].map(v, {})]) != ''", "[1].all(v, {}.size() >= v)", "1 in {}",
    "'%s'.format([1 in {}]) != ''", "false && {}.size() > 0", "dyn({}) == dyn(1)", "'%s'.format([[1] in {}]) != ''",
    "cel.bind(v, {}, v.size() >= 0)", "'%s'.format([dyn({})]) != ''", "{}.size() >= 0 && duration('x') == duration('1s')",
)  # fmt: skip
KEYS = (
    "b'a'", "bytes('a')", "dyn(b'a')", "bytes(self.s)", 'B"a"', "br'a'", "'a'", "[1]", "{}", "1.5", "null",
    "dyn(bytes('a'))", "optional.of(b'a')", "{b'a': 1}", "[b'a']", "string(b'a')", "type(b'a')", "duration('1s')",
)  # fmt: skip
MAPS = (
    "{{{}: 1}}", "{{{}: self.i}}", "{{{}: [1]}}", "[{{{}: 1}}]", "{{'b': {{{}: 1}}}}", "{{dyn('b'): 1, dyn({}): 1}}",
    "{{{}: 1/0}}", "{{ // bytes\n {} : 1}}",
)  # fmt: skip
USES_OF_MAPS = (
    "{}.size() == 1", "[1].map(x, {}).size() == 1", "true || {}.size() == 1", "dyn(b'a') in {}", "'%s'.format([{}]) == ''",
    "{'a': self.i}.transformMapEntry(k, v, {}).size() == 1", "dyn({}) == dyn(1)", "(self.i > 0 ? {} : {}).size() == 1",
)  # fmt: skip
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "li": {"type": "array", "maxItems": 3, "items": {"type": "integer"}},
        "i": {"type": "integer"},
        "s": {"type": "string", "maxLength": 10},
        "x": {"x-kubernetes-int-or-string": True},
    },
}
DRAWN = 700


def rules() -> list[dict[str, str]]:
    """Return the rules; every ninth has the expression in its messageExpression."""
    literals = [
        literal.replace("{}", item).replace("{{", "{").replace("}}", "}") for literal in LITERALS for item in ITEMS
    ]
    maps = [made.replace("{}", key).replace("{{", "{").replace("}}", "}") for made in MAPS for key in KEYS]
    texts = [use.replace("{}", made) for use, made in product(USES, literals)]
    texts += [use.replace("{}", made) for use, made in product(USES_OF_MAPS, maps)]
    constant = [text for text in texts if "format([1 in [" in text and "dyn(" in text]
    drawn = Random(44).sample(texts, DRAWN) + Random(44).sample(constant, 30)
    given = ["[?dyn(self).li[?5], dyn(self).i].map(v0, v0).size() >= 0", "[?dyn(self).li[?5]].map(v0, v0).size() >= 0",
             "{?'a': dyn(self).i}.transformMap(k, v, v).size() >= 0"]  # fmt: skip
    return [
        {"rule": "true", "messageExpression": f"string({text})"} if number % 9 == 8 else {"rule": text}
        for number, text in enumerate((*given, *drawn))
    ]


def definition(rule: dict[str, str]) -> dict[str, Any]:
    """Return a definition with a rule on its spec."""
    spec = {**SCHEMA, "x-kubernetes-validations": [rule]}
    return definition_of({"type": "object", "properties": {"spec": spec}})


def answers(oracle: Path, given: list[dict[str, str]]) -> list[str]:
    """Return what the libraries answer to the creation of each definition."""
    with tempfile.TemporaryDirectory() as folder:
        for number, rule in enumerate(given):
            (Path(folder) / f"{number:05}.json").write_text(json.dumps(definition(rule)))
        done = subprocess.run([oracle, "crd", "--crds", folder], check=True, capture_output=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [each.get("readError") or ("refused" if each["errors"] else "accepted") for each in found]


def record(releases: list[str]) -> None:
    """Print the rules with the answers of each release."""
    given = rules()
    by_release = {}
    for release in releases:
        oracle = build_beside(library(release)[1].version)
        if oracle is None:
            raise SystemExit("the oracle is not beside the project")
        by_release[release] = answers(oracle, given)
    for number, rule in enumerate(given):
        found = {release: answered[number] for release, answered in by_release.items()}
        sys.stdout.write(f"{json.dumps({**rule, **found})}\n")


if __name__ == "__main__":
    record(sys.argv[1:])
