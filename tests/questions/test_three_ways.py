"""Sixty questions, each asked by `query --where` (CEL), by SQL, and by a plain loop over the objects as they are read.

The three find the same objects: in a dump, in its report, and in its typed tables.
"""

from __future__ import annotations

import gzip
import warnings
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

import auditor
from auditor.sql import run_statement
from auditor.sql.table_files import table_views
from tests.command import auditor as run
from tests.questions.shop import dump_of, named
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.questions.shop import Object


class Question(NamedTuple):
    """A question about the objects of a kind.

    Attributes:
        kind: The plural of the kind.
        cel: The predicate for `query --where`.
        sql: The same as the condition of a SELECT.
        holds: The same in Python, of an object as a server reads it.
    """

    kind: str
    cel: str
    sql: str
    holds: Callable[[Object], Any]


def at(obj: Any, path: str) -> Any:
    """Return the value at a path; None if a step is absent."""
    for step in path.split("."):
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def some(obj: Any, path: str) -> list[Any]:
    """Return the items at a path; none if it is absent."""
    return at(obj, path) or []


def condition(obj: Object, kind: str, status: str) -> bool:
    return any((each["type"], each["status"]) == (kind, status) for each in some(obj, "status.conditions"))


IN_CEL: Final = "has(status.conditions) && status.conditions.exists(c, c.type == '{}' && c.status == '{}')"
IN_SQL: Final = "len([c FOR c IN status.conditions IF c.type = '{}' AND c.status = '{}']) > 0"
OWNED: Final = "has(metadata.ownerReferences) && metadata.ownerReferences.exists(o, o.kind == '{}')"
OWNED_SQL: Final = "list_contains([o.kind FOR o IN metadata.ownerReferences], '{}')"


def owned(kind: str) -> Callable[[Object], Any]:
    return lambda obj: any(owner["kind"] == kind for owner in some(obj, "metadata.ownerReferences"))


WIDGETS: Final = (
    Question("widgets", "true", "true", lambda obj: True),
    Question("widgets", "spec.color == 'red'", "spec.color = 'red'", lambda obj: at(obj, "spec.color") == "red"),
    Question("widgets", "spec.color != 'red'", "spec.color <> 'red'", lambda obj: at(obj, "spec.color") != "red"),
    Question("widgets", "spec.color in ['red', 'green']", "spec.color IN ('red', 'green')", lambda obj: at(obj, "spec.color") in ("red", "green")),
    Question("widgets", "spec.size > 8", "spec.size > 8", lambda obj: at(obj, "spec.size") > 8),
    Question("widgets", "spec.size >= 3 && spec.size <= 5", "spec.size BETWEEN 3 AND 5", lambda obj: 3 <= at(obj, "spec.size") <= 5),
    Question("widgets", "spec.size % 2 == 1", "spec.size % 2 = 1", lambda obj: at(obj, "spec.size") % 2 == 1),
    Question("widgets", "has(spec.tags)", "spec.tags IS NOT NULL", lambda obj: "tags" in obj["spec"]),
    Question("widgets", "!has(spec.tags)", "spec.tags IS NULL", lambda obj: "tags" not in obj["spec"]),
    Question("widgets", "has(spec.tags) && 'b' in spec.tags", "list_contains(spec.tags, 'b')", lambda obj: "b" in some(obj, "spec.tags")),
    Question("widgets", "has(spec.tags) && size(spec.tags) == 2", "len(spec.tags) = 2", lambda obj: len(some(obj, "spec.tags")) == 2),
    Question("widgets", "has(spec.tags) && spec.tags[0] == 'a'", "spec.tags[1] = 'a'", lambda obj: some(obj, "spec.tags")[:1] == ["a"]),
    Question("widgets", "has(spec.due) && spec.due < timestamp('2026-03-01T00:00:00Z')", "spec.due < TIMESTAMPTZ '2026-03-01 00:00:00Z'",
             lambda obj: (at(obj, "spec.due") or "9") < "2026-03-01"),
    Question("widgets", "has(spec.due)", "spec.due IS NOT NULL", lambda obj: at(obj, "spec.due") is not None),
    Question("widgets", "has(spec.secretRef) && spec.secretRef.name == 'missing'", "spec.secretRef.name = 'missing'",
             lambda obj: at(obj, "spec.secretRef.name") == "missing"),
    Question("widgets", "has(status.conditions) && status.conditions[0].status == 'False'", "status->>'$.conditions[0].status' = 'False'",
             lambda obj: condition(obj, "Ready", "False")),
    Question("widgets", "!has(status.conditions)", "NOT json_exists(status, '$.conditions')", lambda obj: not some(obj, "status.conditions")),
    Question("widgets", "has(metadata.labels) && metadata.labels['team'] == 'lab'", "metadata.labels['team'] = 'lab'",
             lambda obj: (at(obj, "metadata.labels") or {}).get("team") == "lab"),
    Question("widgets", "has(metadata.labels) && size(metadata.labels) > 1", "cardinality(metadata.labels) > 1",
             lambda obj: len(at(obj, "metadata.labels") or {}) > 1),
    Question("widgets", "has(metadata.deletionTimestamp)", "metadata.deletionTimestamp IS NOT NULL", lambda obj: at(obj, "metadata.deletionTimestamp")),
    Question("widgets", "has(metadata.finalizers) && metadata.finalizers.exists(f, f.startsWith('example.com/'))",
             "len([f FOR f IN metadata.finalizers IF starts_with(f, 'example.com/')]) > 0", lambda obj: some(obj, "metadata.finalizers")),
    Question("widgets", OWNED.format("Widget"), OWNED_SQL.format("Widget"), owned("Widget")),
    Question("widgets", "metadata.creationTimestamp > timestamp('2026-02-20T00:00:00Z')",
             "metadata.creationTimestamp > TIMESTAMPTZ '2026-02-20 00:00:00Z'", lambda obj: at(obj, "metadata.creationTimestamp") > "2026-02-20"),
    Question("widgets", "metadata.name.matches('^s')", "regexp_matches(metadata.name, '^s')", lambda obj: at(obj, "metadata.name")[0] == "s"),
    Question("widgets", "metadata.namespace == 'lab' || spec.size < 3", "metadata.namespace = 'lab' OR spec.size < 3",
             lambda obj: at(obj, "metadata.namespace") == "lab" or at(obj, "spec.size") < 3),
    Question("widgets", "has(metadata.managedFields) && metadata.managedFields.exists(m, m.manager == 'painter')",
             "metadata.managedFields IS NOT NULL AND metadata.managedFields::VARCHAR LIKE '%painter%'",
             lambda obj: any(each["manager"] == "painter" for each in some(obj, "metadata.managedFields"))),
)  # fmt: skip
PODS: Final = (
    Question("pods", "status.phase == 'Running'", "status.phase = 'Running'", lambda obj: at(obj, "status.phase") == "Running"),
    Question("pods", "status.phase != 'Running'", "status.phase <> 'Running'", lambda obj: at(obj, "status.phase") != "Running"),
    Question("pods", "has(spec.nodeName) && spec.nodeName == 'big'", "spec.nodeName = 'big'", lambda obj: at(obj, "spec.nodeName") == "big"),
    Question("pods", "!has(spec.nodeName)", "spec.nodeName IS NULL", lambda obj: at(obj, "spec.nodeName") is None),
    Question("pods", IN_CEL.format("Ready", "True"), IN_SQL.format("Ready", "True"), lambda obj: condition(obj, "Ready", "True")),
    Question("pods", "!(" + IN_CEL.format("Ready", "True") + ")", "NOT coalesce(" + IN_SQL.format("Ready", "True") + ", false)",
             lambda obj: not condition(obj, "Ready", "True")),
    Question("pods", "has(status.containerStatuses) && status.containerStatuses.exists(c, c.restartCount > 0)",
             "len([c FOR c IN status.containerStatuses IF c.restartCount > 0]) > 0",
             lambda obj: any(each["restartCount"] > 0 for each in some(obj, "status.containerStatuses"))),
    Question("pods", "has(status.containerStatuses) && status.containerStatuses.exists(c, has(c.state.waiting) && c.state.waiting.reason == 'CrashLoopBackOff')",
             "list_contains([c.state.waiting.reason FOR c IN status.containerStatuses], 'CrashLoopBackOff')",
             lambda obj: any(at(each, "state.waiting.reason") == "CrashLoopBackOff" for each in some(obj, "status.containerStatuses"))),
    Question("pods", "has(status.containerStatuses) && status.containerStatuses.all(c, c.ready)",
             "status.containerStatuses IS NOT NULL AND len([c FOR c IN status.containerStatuses IF NOT c.ready]) = 0",
             lambda obj: some(obj, "status.containerStatuses") and all(each["ready"] for each in some(obj, "status.containerStatuses"))),
    Question("pods", "spec.containers.exists(c, c.image == 'example.com/web:1')", "list_contains([c.image FOR c IN spec.containers], 'example.com/web:1')",
             lambda obj: any(each["image"] == "example.com/web:1" for each in some(obj, "spec.containers"))),
    Question("pods", "spec.containers.exists(c, c.image.endsWith(':1'))", "len([c FOR c IN spec.containers IF c.image LIKE '%:1']) > 0",
             lambda obj: any(each["image"].endswith(":1") for each in some(obj, "spec.containers"))),
    Question("pods", "size(spec.containers) == 1", "len(spec.containers) = 1", lambda obj: len(some(obj, "spec.containers")) == 1),
    Question("pods", "has(spec.volumes) && spec.volumes.exists(v, has(v.secret) && v.secret.secretName == 'missing')",
             "list_contains([v.secret.secretName FOR v IN spec.volumes], 'missing')",
             lambda obj: any(at(each, "secret.secretName") == "missing" for each in some(obj, "spec.volumes"))),
    Question("pods", "has(spec.imagePullSecrets)", "spec.imagePullSecrets IS NOT NULL", lambda obj: some(obj, "spec.imagePullSecrets")),
    Question("pods", "spec.serviceAccountName == 'baker'", "spec.serviceAccountName = 'baker'", lambda obj: at(obj, "spec.serviceAccountName") == "baker"),
    Question("pods", OWNED.format("Job"), OWNED_SQL.format("Job"), owned("Job")),
    Question("pods", "has(metadata.deletionTimestamp) && has(metadata.finalizers)", "metadata.deletionTimestamp IS NOT NULL AND len(metadata.finalizers) > 0",
             lambda obj: at(obj, "metadata.deletionTimestamp") and some(obj, "metadata.finalizers")),
)  # fmt: skip
OTHERS: Final = (
    Question("deployments", "status.readyReplicas < spec.replicas", "status.readyReplicas < spec.replicas",
             lambda obj: at(obj, "status.readyReplicas") < at(obj, "spec.replicas")),
    Question("deployments", "spec.replicas == 0", "spec.replicas = 0", lambda obj: at(obj, "spec.replicas") == 0),
    Question("deployments", "spec.template.metadata.labels['app'] == 'web'", "spec.template.metadata.labels['app'] = 'web'",
             lambda obj: at(obj, "spec.template.metadata.labels.app") == "web"),
    Question("replicasets", OWNED.format("Deployment"), OWNED_SQL.format("Deployment"), owned("Deployment")),
    Question("jobs", "has(status.failed) && status.failed > 5", "status.failed > 5", lambda obj: (at(obj, "status.failed") or 0) > 5),
    Question("persistentvolumeclaims", "status.phase != 'Bound'", "status.phase <> 'Bound'", lambda obj: at(obj, "status.phase") != "Bound"),
    Question("persistentvolumeclaims", "spec.resources.requests['storage'] == '1Gi'", "spec.resources.requests['storage'] = '1Gi'",
             lambda obj: at(obj, "spec.resources.requests.storage") == "1Gi"),
    Question("nodes", IN_CEL.format("MemoryPressure", "True"), IN_SQL.format("MemoryPressure", "True"), lambda obj: condition(obj, "MemoryPressure", "True")),
    Question("namespaces", "status.phase == 'Terminating'", "status.phase = 'Terminating'", lambda obj: at(obj, "status.phase") == "Terminating"),
    Question("secrets", "type == 'kubernetes.io/tls'", "type = 'kubernetes.io/tls'", lambda obj: obj["type"] == "kubernetes.io/tls"),
    Question("secrets", "'tls.crt' in data", "map_contains(data, 'tls.crt')", lambda obj: "tls.crt" in obj["data"]),
    Question("configmaps", "has(data.mode) && data.mode == 'fast'", "data['mode'] = 'fast'", lambda obj: obj["data"].get("mode") == "fast"),
    Question("events", "type == 'Warning' && involvedObject.kind == 'Pod'", "type = 'Warning' AND involvedObject.kind = 'Pod'",
             lambda obj: (obj["type"], at(obj, "involvedObject.kind")) == ("Warning", "Pod")),
    Question("services", "spec.ports.exists(p, p.port == 80)", "list_contains([p.port FOR p IN spec.ports], 80)",
             lambda obj: any(each["port"] == 80 for each in some(obj, "spec.ports"))),
    Question("ingresses", "spec.rules.exists(r, r.http.paths.exists(p, p.backend.service.name == 'web'))",
             "list_contains(flatten([[p.backend.service.name FOR p IN r.http.paths] FOR r IN spec.rules]), 'web')",
             lambda obj: any(at(path, "backend.service.name") == "web" for rule in some(obj, "spec.rules") for path in at(rule, "http.paths"))),
)  # fmt: skip
SAMPLE: Final = (
    Question("loaves", "has(spec.grams) && spec.grams > 600 && spec.flour == 'rye'", "spec.grams > 600 AND spec.flour = 'rye'",
             lambda obj: (at(obj, "spec.grams") or 0) > 600 and at(obj, "spec.flour") == "rye"),
    Question("loaves", "!has(spec.flour) || !(spec.flour in ['rye', 'wheat', 'spelt'])", "coalesce(spec.flour NOT IN ('rye', 'wheat', 'spelt'), true)",
             lambda obj: at(obj, "spec.flour") not in ("rye", "wheat", "spelt")),
)  # fmt: skip
SHOP: Final = (*WIDGETS, *PODS, *OTHERS)


class Sides(NamedTuple):
    """One cluster: its dump, its report, and its typed tables."""

    dump: auditor.OpenedDump
    report: auditor.OpenedReport
    tables: Any
    path: Path


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Sides]]:
    made = {}
    for name in ("shop", "sample"):
        folder = tmp_path_factory.mktemp(name)
        path = folder / "cluster.db"
        if name == "shop":
            dump_of("snapshot.db", folder).rename(path)
        else:
            path.write_bytes(gzip.decompress((ROOT / "sample-data" / "cluster.db.gz").read_bytes()))
        assert run("tables", path, folder / "tables").code in (0, 3)
        dump = auditor.open(path)
        assert isinstance(dump, auditor.OpenedDump)
        made[name] = Sides(dump, dump.audit(folder / "report", jobs=1), table_views(folder / "tables"), path)
    yield made
    for sides in made.values():
        sides.report.close()
        sides.dump.close()


def names_of(table: Any) -> set[str]:
    return named({"metadata": row} for row in table.to_pylist())


def test_there_are_sixty() -> None:
    assert len(SHOP) + len(SAMPLE) == 60


@pytest.mark.sampled(4)
@pytest.mark.parametrize("question", [*SHOP, *SAMPLE], ids=lambda question: f"{question.kind}: {question.cel}")
def test_three_ways_to_ask_find_the_same(question: Question, clusters: dict[str, Sides]) -> None:
    sides = clusters["sample" if question in SAMPLE else "shop"]
    statement = f"SELECT metadata.namespace, metadata.name FROM {question.kind} WHERE {question.sql}"
    wanted = named(filter(question.holds, sides.dump.objects(question.kind)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no object fails the predicate
        for opened in (sides.dump, sides.report):
            assert named(opened.objects(question.kind, where=question.cel)) == wanted
            assert names_of(opened.sql(statement)) == wanted
    assert names_of(run_statement(sides.tables, statement).table()) == wanted


def test_the_questions_tell_objects_apart(clusters: dict[str, Sides]) -> None:
    """A question that all objects answer alike would hold whatever the answer is made of."""
    alike = 0
    for question in SHOP:
        every = list(clusters["shop"].dump.objects(question.kind))
        assert any(map(question.holds, every)), question.cel
        alike += all(map(question.holds, every))
    assert alike <= 8


@pytest.mark.parametrize("question", [WIDGETS[4], PODS[6], OTHERS[8]], ids=lambda question: question.cel)
def test_the_command_says_what_python_gets(question: Question, clusters: dict[str, Sides]) -> None:
    sides = clusters["shop"]
    names = 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
    done = run("query", sides.path, question.kind, "--where", question.cel, "-o", names)
    wanted = named(filter(question.holds, sides.dump.objects(question.kind)))
    assert {line.removeprefix("/") for line in done.stdout.splitlines()} == wanted
