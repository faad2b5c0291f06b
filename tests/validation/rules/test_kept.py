"""Rules whose facts are cached equal those compiled now; they compile when they are first evaluated."""

import pickle

import pytest

from auditor.base.disk_cache import active_cache, using_cache
from auditor.crds.definition import parse_definition
from auditor.crds.definitions_file import encode_definition
from auditor.crds.kept import parse_text
from auditor.program.prepared import Prepared
from auditor.program.program import AuditProgram
from auditor.releases import running_as
from auditor.schema.parse import parse_schema
from auditor.sources.crd_files import read_crd_documents
from auditor.validation.rules import compile as compiling
from auditor.validation.rules.compile import RuleFacts, compile_node, compile_rules
from auditor.validation.rules.evaluate import RuleProgram, RuleTime
from auditor.validation.rules.kept import compile_cached
from tests.shared import ROOT, beside

CORPUS = beside("corpus/crds")
GIVEN = [ROOT / "sample-data" / "next-crds.yaml", *(sorted(CORPUS.rglob("*.yaml")) if CORPUS else ())]
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-validations": [
                {"rule": "self.size > 0", "messageExpression": "'size is ' + string(self.size)"},
                {"rule": "self.size >= oldSelf.size", "fieldPath": ".size"},
                {"rule": "self.nothing > 0"},
                {"rule": "self.size"},
                {"rule": " "},
                {"rule": "true", "messageExpression": "1"},
                {"rule": "oldSelf.hasValue() || self.size < 9", "optionalOldSelf": True},
            ],
            "properties": {"size": {"type": "integer"}},
        },
        "items": {
            "type": "array",
            "maxItems": 4,
            "items": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self != 'x'"}]},
        },
    },
}


def facts(node):
    return [
        RuleFacts(rule.error, rule.uses_old_self, rule.message_error, rule.field_path)
        for each in node.walk()
        for rule in each.rules
    ]


def shape(node):
    """Return what all rules of a tree say, their programs and environments included."""
    return [
        (
            rule.rule,
            rule.error,
            rule.message_error,
            rule.uses_old_self,
            rule.field_path,
            rule.shown,
            rule.is_left_out,
            None if rule.checked is None else (rule.checked.type, repr(rule.checked.parsed.root)),
            None if rule.message is None else repr(rule.message.checked.parsed.root),
            None if rule.environment is None else sorted(rule.environment.variables),
        )
        for each in node.walk()
        for rule in each.rules
    ]


@pytest.fixture
def compiled(monkeypatch):
    """Return the rules that are compiled from now on."""
    seen = []

    def noted(schema, rules, *rest):
        seen.extend(rules)
        return compile_node(schema, rules, *rest)

    monkeypatch.setattr(compiling, "compile_node", noted)
    return seen


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", GIVEN, ids=lambda path: path.name)
def test_cached_facts_are_those_of_rules_compiled_now(path, tmp_path):
    with using_cache(str(tmp_path / "cache")):
        for text in map(encode_definition, read_crd_documents([str(path)])):
            definition = parse_text(text, stored=True)
            for version in definition.versions.values():
                plain = compile_rules(version.structural)
                digest = definition.digest_of(version)
                assert digest
                for _ in range(2):
                    made = compile_cached(version.structural, digest)
                    if plain is None:
                        assert made is None
                        continue
                    assert facts(made) == facts(plain)
                    assert shape(made) == shape(plain)
                assert (active_cache().get("rules", digest) is None) == (plain is None)


def test_a_rule_compiles_when_it_is_evaluated(tmp_path, compiled):
    schema = parse_schema(SCHEMA)
    objects = [{"spec": {"size": size}} for size in (-1, 3, 9)] + [{"items": ["a", "x"]}, {}]
    plain = RuleProgram.of(schema)
    assert len(compiled) == 8
    with using_cache(str(tmp_path / "cache")):
        assert RuleProgram.of(schema, b"digest") is not None
        compiled.clear()
        later = RuleProgram.of(schema, b"digest")
        assert [rule.rule for rule in later.broken] == [rule.rule for rule in plain.broken]
        assert later.unevaluated() == plain.unevaluated() == 2
        assert later.run({}) == []
        assert compiled == []
        for one in objects:
            assert later.run(one) == plain.run(one)
            for other in objects:
                assert later.run_update(one, other, None) == plain.run_update(one, other, None)
        assert len(compiled) == 8
    assert any(plain.run(one) for one in objects)


def test_the_time_of_an_object_is_not_used_up_by_compiling(tmp_path, monkeypatch):
    schema = parse_schema(SCHEMA)
    plain = RuleProgram.of(schema)

    clock = [100.0]

    def slowly(*given):
        clock[0] += 0.3
        return compile_node(*given)

    for module in ("auditor.validation.rules.evaluate", "auditor.cel.operations.cost"):
        monkeypatch.setattr(f"{module}.thread_time", lambda: clock[0])

    with using_cache(str(tmp_path / "cache")):
        RuleProgram.of(schema, b"digest")
        monkeypatch.setattr(compiling, "compile_node", slowly)
        time = RuleTime(0.1)
        time.begin(1.0)
        later = RuleProgram.of(schema, b"digest")
        later.time = time
        for one in ({"spec": {"size": 3}}, {"items": ["a", "x"]}):
            begun = clock[0]
            assert later.run(one) == plain.run(one)
            assert clock[0] - begun > 0.25
            assert not later.gave_up
        assert time.left > 0.9


@pytest.mark.parametrize("count", [1, 7, 9])
def test_facts_of_another_number_of_rules_are_not_used(tmp_path, compiled, count):
    schema = parse_schema(SCHEMA)
    with using_cache(str(tmp_path / "cache")):
        wrong = [("no such error", False, "", "")] * count
        active_cache().put("rules", b"digest", pickle.dumps(wrong))
        made = compile_cached(schema, b"digest")
    assert facts(made) == facts(compile_rules(schema))


def test_a_late_rule_compiles_as_the_release_of_its_program(tmp_path):
    """Before 1.37 this does not compile at all (auditor/releases/changes)."""
    rule = {"rule": "self.matches('(a{1000}){1000}') || duration(1) == duration('1s')"}
    schema = {"type": "object", "properties": {"s": {"type": "string", "x-kubernetes-validations": [rule]}}}
    found = {}
    with using_cache(str(tmp_path / "cache")):
        for release in ("1.36", "1.37"):
            for _ in range(2):
                with running_as(release):
                    root = compile_cached(parse_schema(schema), release.encode())
                    plain = compile_rules(parse_schema(schema))
                found[release] = shape(root)
                with running_as(release):
                    assert found[release] == shape(plain)


def test_without_a_digest_or_a_cache_nothing_is_stored(tmp_path):
    schema = parse_schema(SCHEMA)
    folder = tmp_path / "cache"
    assert compile_cached(schema, b"digest") is not None
    with using_cache(str(folder)):
        assert compile_cached(schema, b"") is not None
        assert not list(folder.glob("rules-*"))
        assert compile_cached(schema, b"digest") is not None
        assert len(list(folder.glob("rules-*"))) == 1


def test_digests_tell_releases_versions_and_texts_apart(tmp_path):
    documents = read_crd_documents([str(GIVEN[0])])[:2]
    seen = set()
    with using_cache(str(tmp_path / "cache")):
        for release in ("1.36", "1.37"):
            with running_as(release):
                for document in documents:
                    for stored in (False, True):
                        definition = parse_text(encode_definition(document), stored=stored)
                        again = parse_text(encode_definition(document), stored=stored)
                        prepared = Prepared().definition(document, stored=stored)
                        for version in definition.versions.values():
                            assert definition.digest_of(version) == again.digest_of(version)
                            seen |= {definition.digest_of(version), prepared.digest_of(prepared.versions[version.name])}
    versions = sum(len(parse_definition(one).versions) for one in documents)
    assert len(seen) == 2 * 2 * 2 * versions
    plain = parse_definition(documents[0])
    version = next(iter(plain.versions.values()))
    assert plain.digest_of(version) == b""
    assert AuditProgram(plain, version) is not None
