"""Predicates over the index: what is pushed down, per object and by the interpreter is one and the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from auditor.base import tables
from auditor.base.errors import SelectorError
from auditor.cel.cel_types import DYN
from auditor.cel.kubernetes import kubernetes_environment
from auditor.selectors.filters import And
from auditor.selectors.index_query import Index, IndexedKind
from auditor.selectors.pushdown import push_down
from auditor.selectors.row_groups import FAILS, MAY_FAIL, UNDECIDED, UNKNOWN, Scan
from auditor.selectors.selectable_fields import selectable, selectable_values
from auditor.selectors.where import Failures, compile_where, unparse

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = [("spec.color", "string"), ("spec.size", "integer"), ("spec.on", "boolean"), ("spec.maybe", "string")]
NULLABLE = {"spec.maybe"}
TEXTS = ["", "a", "b", "blue", "blÜe", "z\u00e9", "5", "😀"]
PYTHON = {"boolean": bool, "integer": int, "string": str}


class Version:
    selectable_fields = tuple(f".{path}" for path, _ in FIELDS)


def index_table(objects: list[dict[str, Any]]) -> pa.Table:
    """Return the rows of objects as the audit writes them."""
    schema = tables.index_schema(FIELDS)
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for obj in objects:
        metadata = obj["metadata"]
        seen, typed = selectable(Version, obj, namespaced=True), selectable_values(Version, obj)  # type: ignore[arg-type]
        row: dict[str, Any] = dict.fromkeys(schema.names)
        row |= {key: metadata.get(key) for key in ("namespace", "name", "uid")}
        row["deleting"] = "deletionTimestamp" in metadata
        row["labels"] = list((metadata.get("labels") or {}).items())
        for path, kind in FIELDS:
            row[f"field:{path}"] = seen[path]
            row[f"value:{path}"] = typed[path] if type(typed[path]) is PYTHON[kind] else None
        for name, value in row.items():
            columns[name].append(value)
    arrays = []
    for field in schema:
        if pa.types.is_dictionary(field.type):
            arrays.append(pa.array(columns[field.name], pa.string()).dictionary_encode().cast(field.type))
        else:
            arrays.append(pa.array(columns[field.name], field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def unclear_of(objects: list[dict[str, Any]]) -> set[str]:
    """Return the fields of objects that hold what the index shows as nothing."""
    out = set(NULLABLE)
    for path, kind in FIELDS:
        key = path.removeprefix("spec.")
        if kind != "string" and any(type(obj.get("spec")) is dict and obj["spec"].get(key) == "" for obj in objects):
            out.add(path)
    return out


def bare_index() -> Index:
    """Return an index that is asked for partitions only."""
    index = Index.__new__(Index)
    index._footers = {}
    return index


def place_of(folder: Path) -> IndexedKind:
    return IndexedKind("x.org", "v1", "Widget", "widgets", True, True, folder)


texts = st.sampled_from(TEXTS)
odd = st.one_of(st.integers(-3, 7), st.just(1.5), st.just(5.0), st.booleans(), st.just([1]), st.just({"k": "v"}))
specs = st.fixed_dictionaries(
    {},
    optional={
        "color": st.one_of(texts, texts, texts, odd),
        "size": st.one_of(st.integers(-3, 7), st.integers(-3, 7), st.just(5.0), st.just(2.5), texts),
        "on": st.one_of(st.booleans(), st.booleans(), texts),
        "maybe": st.one_of(texts, st.none(), odd),
        "list": st.lists(st.integers(0, 3), max_size=3),
    },
)
labels = st.dictionaries(st.sampled_from(["app", "tier", "x.org/a"]), texts, min_size=1)
metadatas = st.fixed_dictionaries(
    {"name": st.sampled_from(["n1", "n2", "n3"])},
    optional={
        "namespace": st.sampled_from(["p", "q"]),
        "uid": st.just("u"),
        "labels": labels,
        "deletionTimestamp": st.just("2026-01-01T00:00:00Z"),
    },
)
objects = st.lists(
    st.fixed_dictionaries({"metadata": metadatas}, optional={"spec": st.one_of(specs, specs, specs, st.just("text"))}),
    min_size=1,
    max_size=12,
)


def _quoted(text: str) -> str:
    return '"' + text + '"'


paths = st.sampled_from(
    [
        "spec.color", "spec.color", "self.spec.color", 'spec["color"]', "spec.maybe", "spec.size", "spec.on",
        "metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels.app", 'metadata.labels["x.org/a"]',
        "spec.list", "spec.nope", "status.phase",
    ]
)  # fmt: skip
constants = st.one_of(
    texts.map(_quoted), st.integers(-3, 7).map(str), st.sampled_from(["true", "false", "null", "1.5", "5.0", "2u"])
)
comparisons = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
terms = st.one_of(
    st.builds(lambda p, o, c: f"dyn({p}) {o} dyn({c})" if o not in ("==", "!=") else f"{p} {o} {c}", paths, comparisons, constants),
    st.builds(lambda p, o, c: f"{p} {o} {c}", paths, comparisons, st.one_of(texts.map(_quoted), st.integers(-3, 7).map(str))),
    st.builds(lambda p, o, c: f"{c} {o} {p}", paths, comparisons, texts.map(_quoted)),
    st.builds(lambda p, cs: f"{p} in [{', '.join(cs)}]", paths, st.lists(texts.map(_quoted), max_size=3)),
    st.builds(lambda p, cs: f"{p} in [{', '.join(cs)}]", paths, st.lists(st.integers(-3, 7).map(str), max_size=3)),
    st.builds(lambda p, f, c: f"{p}.{f}({c})", paths, st.sampled_from(["startsWith", "endsWith", "contains"]), texts.map(_quoted)),
    st.builds(lambda p, c: f"{p}.matches({c})", paths, st.sampled_from(['"^b"', '"[a-z]+$"', '""', '"("'])),
    st.builds(lambda p, o, n: f"size({p}) {o} {n}", paths, comparisons, st.integers(0, 5)),
    st.builds(lambda p: f"has({p})", st.sampled_from(["spec.color", "spec.maybe", "spec.nope", "metadata.labels", "metadata.labels.app", "metadata.deletionTimestamp", "metadata.uid", "spec.on"])),
    st.builds(lambda k: f"{_quoted(k)} in metadata.labels", st.sampled_from(["app", "tier", "none"])),
    st.builds(lambda p, c: f"sets.intersects([{p}], [{c}])", paths, texts.map(_quoted)),
    st.sampled_from(["spec.on", "true", "false", "spec.list.exists(i, i == 2)", "self.spec.list.size() > 1"]),
)  # fmt: skip
predicates = st.recursive(
    terms,
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"({a}) && ({b})", inner, inner),
        st.builds(lambda a, b: f"({a}) || ({b})", inner, inner),
        st.builds(lambda a: f"!({a})", inner),
        st.builds(lambda a, b, c: f"(({a}) ? ({b}) : ({c}))", inner, inner, inner),
    ),
    max_leaves=5,
)


EMPTY: Final = [{"metadata": {"name": "n1"}, "spec": {"on": "", "size": ""}}]


@example(EMPTY, "has(spec.on)", 1, True)
@example(EMPTY, "has(spec.size)", 1, True)
@example(EMPTY, '!(spec.on == "a")', 1, True)
@example(EMPTY, "!(spec.size == 1)", 1, True)
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(objects, predicates, st.integers(1, 5), st.booleans())
def test_pushed_down_is_per_object_is_the_interpreter(
    tmp_path: Path, objects: list[dict[str, Any]], text: str, rows: int, knows_unclear: bool
) -> None:
    try:
        where = compile_where(text)
    except SelectorError:
        return  # such as a literal regular expression that is none: refused before anything is read
    # the interpreter by itself
    names = ("self", "metadata", "spec", "status")
    program = kubernetes_environment(dict.fromkeys(names, DYN)).compile(text)
    wanted, failing = [], 0
    for obj in objects:
        absent = compile_where("self.nope").value({})
        variables = {name: obj.get(name, absent) for name in names} | {"self": obj}
        result = program.evaluate(variables)[0]
        wanted.append(result is True)
        failing += type(result) is not bool
    assert [where.test(obj) for obj in objects] == wanted
    # by the index, in row groups of any size
    table = index_table(objects)
    table = table.set_column(
        table.schema.get_field_index("offset"), "offset", pa.array(range(len(objects)), pa.int64())
    )
    pq.write_table(table, tmp_path / "part-00000.parquet", row_group_size=rows)
    index = bare_index()
    predicate = push_down(where.root, table.schema, unclear=unclear_of(objects) if knows_unclear else None)
    selected = set()
    reported, failures = Scan(), Failures()
    for found in index.scan(place_of(tmp_path), And(()), columns=["offset"], where=predicate, scan=reported):
        for row in found.to_pylist():
            obj = objects[row["offset"]]
            if row[UNKNOWN] == FAILS:
                assert type(where.value(obj)) is not bool
            elif not row[UNKNOWN] or where.test(obj, failures):
                selected.add(row["offset"])
    assert [at in selected for at in range(len(objects))] == wanted
    assert failures.failed + reported.failed == failing


def _decided(text: str, *, unclear: set[str] | None = frozenset()) -> bool:  # type: ignore[assignment]
    return push_down(compile_where(text).root, tables.index_schema(FIELDS), unclear=unclear).is_decided()


@pytest.mark.parametrize(
    "text",
    [
        'spec.color == "blue"',
        '!(spec.color != "blue") || spec.size >= 3 && spec.on',
        'spec.color in ["a", "b"]',
        'sets.intersects(["a", "b"], [spec.color])',
        'spec.color.startsWith("b") && spec.color.endsWith("e") || spec.color.contains("l")',
        'spec.color.matches("^b.*e$")',
        "size(spec.color) > 3",
        'metadata.labels["app"] == "web" && has(metadata.labels.tier)',
        '"app" in metadata.labels',
        "has(metadata.deletionTimestamp)",
        'metadata.namespace == "prod" && metadata.name.startsWith("x")',
    ],
)
def test_what_touches_indexed_fields_only_is_decided_by_the_index(text: str) -> None:
    assert _decided(text)


@pytest.mark.parametrize(
    "text", ["spec.list.exists(i, i == 2)", 'spec.other == "x"', "spec.size + 1 > 2", "spec.size > 1.5"]
)
def test_what_needs_the_object_is_not(text: str) -> None:
    assert not _decided(text)


def test_a_value_of_another_type_is_looked_at(tmp_path: Path) -> None:
    objects = [{"metadata": {"name": "n"}, "spec": {"color": 0}}]
    table = index_table(objects)
    pq.write_table(table, tmp_path / "part-00000.parquet")
    predicate = push_down(compile_where("spec.color == 0").root, table.schema, unclear=set())
    (found,) = bare_index().scan(place_of(tmp_path), And(()), columns=["name"], where=predicate)
    assert found.to_pylist() == [{"name": "n", UNKNOWN: UNDECIDED}]


def test_nothing_is_in_an_empty_list_and_is_not_looked_at(tmp_path: Path) -> None:
    objects = [{"metadata": {"name": "n"}}]
    table = index_table(objects)
    pq.write_table(table, tmp_path / "part-00000.parquet")
    where = compile_where("!(spec.color in [])")
    predicate = push_down(where.root, table.schema, unclear=set())
    (found,) = bare_index().scan(place_of(tmp_path), And(()), columns=["name"], where=predicate)
    assert where.test(objects[0])
    assert found.to_pylist() == [{"name": "n", UNKNOWN: 0}]


def test_a_field_that_may_be_null_is_not_decided() -> None:
    assert not _decided('spec.maybe == "x"', unclear={"spec.maybe"})
    assert not _decided('spec.color == "x"', unclear=None)


def test_an_absent_number_is_decided_where_none_is_an_empty_text(tmp_path: Path) -> None:
    objects = [{"metadata": {"name": "n"}, "spec": {}}]
    table = index_table(objects)
    pq.write_table(table, tmp_path / "part-00000.parquet")
    for unclear in (set(), {"spec.on"}):
        predicate = push_down(compile_where("has(spec.on)").root, table.schema, unclear=unclear)
        found = bare_index().scan(place_of(tmp_path), And(()), columns=["name"], where=predicate)
        rows = [row for table in found for row in table.to_pylist()]
        assert [row[UNKNOWN] for row in rows] == [UNDECIDED if unclear else MAY_FAIL]


def test_row_groups_are_skipped_by_their_statistics(tmp_path: Path) -> None:
    objects = [
        {"metadata": {"name": f"n{at}", "namespace": "p"}, "spec": {"color": f"c{at // 10}", "size": at // 10}}
        for at in range(100)
    ]
    table = index_table(objects)
    pq.write_table(table, tmp_path / "part-00000.parquet", row_group_size=10)
    for text in (
        'spec.color == "c4"',
        "spec.size == 4",
        "spec.size > 8",
        'spec.color in ["c0"]',
        '"c3" >= spec.color && spec.size > 2',
    ):
        reported = Scan()
        predicate = push_down(compile_where(text).root, table.schema, unclear=set())
        found = list(bare_index().scan(place_of(tmp_path), And(()), columns=["name"], where=predicate, scan=reported))
        assert (sum(one.num_rows for one in found), reported.skipped, reported.scanned) == (10, 9, 10), text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("spec.color ==", "Syntax error"),
        ("nope == 1", "undeclared reference to 'nope'"),
        ("1 + 1", "is of type int"),
        ('"a" + 1 == "a"', "found no matching overload"),
    ],
)
def test_a_predicate_that_is_none_is_refused_with_the_compilers_words(text: str, words: str) -> None:
    with pytest.raises(SelectorError) as caught:
        compile_where(text)
    assert words in str(caught.value)


def test_predicates_print_for_people() -> None:
    text = 'spec.a == "x" && !(spec.b in [1, 2] || has(metadata.labels.app)) && spec.l.size() > 1'
    assert unparse(compile_where(text).root) == text
