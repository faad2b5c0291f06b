"""Arrow's functions called by name return the same as its wrapped ones."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.base import arrow
from auditor.base.errors import DamagedDump

pa: Any = pyarrow
pc: Any = pyarrow.compute
ROOT = Path(__file__).resolve().parent.parent.parent
MAP = pa.map_(pa.string(), pa.string())
KEYS = st.lists(st.binary(max_size=6), min_size=1, max_size=30)


@given(KEYS, st.data())
def test_each_does_what_the_wrapped_one_does(keys: list[bytes], data: st.DataObject) -> None:
    array = pa.array([b"before", *keys, b"behind"], pa.large_binary()).slice(1, len(keys))
    assert arrow.sorted_order(array).tolist() == pc.sort_indices(array).to_pylist()
    assert arrow.sorted_order(array).tolist() == sorted(range(len(keys)), key=keys.__getitem__)  # stable
    at = np.array(data.draw(st.lists(st.integers(0, len(keys) - 1))), dtype=np.int64)
    assert arrow.take(array, at).to_pylist() == [keys[index] for index in at]
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys))), dtype=bool)
    assert arrow.where(array, kept).to_pylist() == [key for key, one in zip(keys, kept, strict=True) if one]
    assert arrow.unlike_next(array).tolist() == [one != other for one, other in pairwise(keys)]
    assert arrow.column(at).equals(pa.array(at.tolist(), pa.int64()))
    rows = arrow.take(pa.table({"key": array}), at.tolist())
    assert rows.to_pydict() == {"key": [keys[index] for index in at]}
    begins = data.draw(st.sampled_from(["", "a", "\0"]))
    assert arrow.starts_with(array, begins).tolist() == [key.startswith(begins.encode()) for key in keys]
    binary = arrow.as_binary(array)
    binary.validate(full=True)
    assert binary.equals(array.cast(pa.binary()))


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab")), max_size=12))
def test_rows_are_sorted_by_the_first_column_before_the_others(rows: list[tuple[int, str]]) -> None:
    order = arrow.sorted_rows(dict(zip(("number", "letter"), _columns(rows), strict=True))).tolist()
    assert order == sorted(range(len(rows)), key=rows.__getitem__)  # stable


TEXTS = st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "b", "ab"])), max_size=8)


@given(TEXTS, TEXTS)
def test_nulls_are_no_value(texts: list[str | None], others: list[str | None]) -> None:
    array, among = pa.array(texts, pa.string()), pa.array(others, pa.string())
    assert arrow.fill_null(array, "-").to_pylist() == ["-" if text is None else text for text in texts]
    assert arrow.equal(array, "a").tolist() == [text == "a" for text in texts]
    assert arrow.starts_with(array, "a").tolist() == [text is not None and text.startswith("a") for text in texts]
    pairs = pairwise(texts)
    assert arrow.unlike_next(array).tolist() == [None not in (one, other) and one != other for one, other in pairs]
    assert arrow.index_in(array, among).equals(pc.index_in(array, value_set=among))


def _columns(rows: list[tuple[int, str]]) -> tuple[Any, Any]:
    return pa.array([row[0] for row in rows], pa.int32()), pa.array([row[1] for row in rows], pa.string())


@pytest.mark.parametrize("columns", [None, ["c", "a.b"]])
def test_a_file_is_read_as_the_wrapped_reader_reads_it(tmp_path: Path, columns: list[str] | None) -> None:
    table = pa.table({"a.b": ["x", None, "x"], "c": [["d"], [], None], "e": pa.array([[("k", "v")]] * 3, MAP)})
    path = tmp_path / "one.parquet"
    pyarrow.parquet.write_table(table, path)
    expected = pyarrow.parquet.ParquetFile(path, read_dictionary=["a.b"]).read(columns)
    found = arrow.read_parquet(path, columns, dictionaries=["a.b"])
    assert found.equals(expected if columns is None else expected.select(columns))
    assert pa.types.is_dictionary(found.schema.field("a.b").type)
    with arrow.parquet_reader(path) as reader:
        assert reader.metadata.num_rows == 3
        assert reader.schema_arrow.equals(pyarrow.parquet.read_schema(path))


@pytest.mark.parametrize("texts", [[], ["b", None, "a", "b"]])
def test_columns_are_encoded_and_cast(texts: list[str | None]) -> None:
    array = pa.array(texts, pa.string())
    assert arrow.dictionary_encoded(array).equals(array.dictionary_encode())
    assert arrow.cast(array, pa.binary()).equals(array.cast(pa.binary()))


def test_what_cannot_be_cast_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        arrow.cast(pa.array([b"\xff"], pa.binary()), pa.string())


@pytest.mark.parametrize("keys", [[], [b""], [b"", b""]])
def test_nothing_is_binary_too(keys: list[bytes]) -> None:
    binary = arrow.as_binary(pa.array(keys, pa.large_binary()))
    assert (binary.to_pylist(), binary.type) == (keys, pa.binary())


def test_a_footer_whose_names_are_not_utf8_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "part.parquet"
    pyarrow.parquet.write_table(pa.table({"a_long_name": ["x"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"a_long_name", b"a_long\xa3name"))
    with pytest.raises(DamagedDump, match="not UTF-8"):
        arrow.read_parquet(path)


@pytest.mark.parametrize("length", [0, 7, 100])
def test_a_file_that_is_cut_short_is_damage(length: int, tmp_path: Path) -> None:
    path = tmp_path / "part.parquet"
    pyarrow.parquet.write_table(pa.table({"a": ["x"]}), path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DamagedDump, match="is damaged: "):
        arrow.read_parquet(path)


@pytest.mark.parametrize(
    ("limit", "found"), [("_MOST_FOOTER", "its footer is "), ("_MOST_GROUP_BYTES", "a row group declares ")]
)
def test_a_file_beyond_a_limit_is_refused(
    limit: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "part.parquet"
    pyarrow.parquet.write_table(pa.table({"a": ["x" * 1000]}), path)
    assert arrow.parquet_footer(path).num_rows == 1
    monkeypatch.setattr(arrow, limit, 100)
    with pytest.raises(DamagedDump, match=found):
        arrow.parquet_footer(path)
