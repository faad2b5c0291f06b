"""A footer that does not fit its schema is refused before Arrow reads its columns, which would crash the process."""

from __future__ import annotations

import os
import random
import traceback
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auditor.base import arrow, tables
from auditor.base.errors import DamagedDump
from auditor.base.parquet_footer import fault_of
from auditor.shards.columns import write_parquet

if TYPE_CHECKING:
    from pathlib import Path

VALUES: dict[str, list[Any]] = {
    "text": ["a", None, "b"],
    "number": [1, 2, None],
    "small": [7, 7, 7],
    "truth": [True, None, False],
    "list": [["a", "b"], [], None],
    "map": [[("k", "v")], [], None],
    "struct": [{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}],
    "real": [1.5, None, 2.5],
}
TYPES = {"small": pa.int32(), "map": pa.map_(pa.string(), pa.string())}


def sound(path: Path) -> bytes:
    """Write a file with a column of each kind; return its footer."""
    columns = {name: pa.array(values, TYPES.get(name)) for name, values in VALUES.items()}
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return footer_of(path.read_bytes())


def footer_of(data: bytes) -> bytes:
    length = int.from_bytes(data[-8:-4], "little")
    return data[-8 - length : -8]


def with_footer(path: Path, footer: bytes) -> None:
    """Replace the footer of a file."""
    data = path.read_bytes()
    body = data[: -8 - len(footer_of(data))]
    path.write_bytes(body + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def ask_everything(path: Path) -> None:
    """Ask Arrow for all that the auditor asks of a footer."""
    footer = arrow.parquet_footer(path)
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for at in range(group.num_columns):
            column = group.column(at)
            found = column.statistics
            _ = (column.physical_type, column.encodings, column.path_in_schema, found and (found.min, found.max))


def test_sound_footers_fit(tmp_path: Path) -> None:
    assert fault_of(sound(tmp_path / "a.parquet")) == ""
    for name in ("FINDINGS", "OBJECTS", "VERSIONS", "CHANGES"):
        write_parquet(getattr(tables, name).empty_table(), tmp_path / name)
        assert fault_of(footer_of((tmp_path / name).read_bytes())) == ""


def test_each_cut_footer_is_refused(tmp_path: Path) -> None:
    footer = sound(tmp_path / "a.parquet")
    schema_end = footer.index(b"\x19\x2c")  # the list of two row groups
    for length in range(schema_end + 2, len(footer), 7):
        assert fault_of(footer[:length]) != "", length


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\x15\xff" + b"\xff" * 12, "a number of more than 64 bits"),
        (b"\x1c" * 80, "values nested deeper than 32"),
        (b"\x49\x1c\x00", "its row groups come before its schema"),
        (b"\x1f\x00", "a value of the unknown type 15"),
        (b"\x18\xff\xff\xff\xff\x0f", "its footer ends too early"),
    ],
)
def test_what_is_wrong_is_named(data: bytes, fault: str) -> None:
    assert fault_of(data) == fault


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(6))
def test_no_changed_footer_ends_the_process(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    original = sound(path)
    whole = path.read_bytes()
    process = os.fork()
    if process == 0:  # what must not happen ends a child
        draw = random.Random(seed)
        for _ in range(500):
            footer = bytearray(original)
            for _ in range(draw.choice((1, 1, 2, 5))):
                footer[draw.randrange(len(footer))] = draw.choice((0, 1, 2, 3, draw.randrange(256)))
            path.write_bytes(whole)
            with_footer(path, bytes(footer))
            try:
                ask_everything(path)
            except (DamagedDump, UnicodeDecodeError):
                continue
            except BaseException:  # noqa: BLE001 - the child must not go on with the tests
                traceback.print_exc()
                os._exit(1)
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0


def test_a_name_that_is_not_utf8_is_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with_footer(path, sound(path).replace(b"number", b"num\xffer"))
    with pytest.raises(DamagedDump, match="names or texts that are not UTF-8"):
        arrow.parquet_footer(path)


def test_a_histogram_of_the_wrong_size_is_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    footer = sound(path)
    histogram = next(at for at in range(len(footer)) if "histogram of 3 levels" in fault_of(longer(footer, at)))
    with_footer(path, longer(footer, histogram))
    with pytest.raises(DamagedDump, match="has a histogram of 3 levels, its schema 2"):
        arrow.parquet_footer(path)


def longer(footer: bytes, at: int) -> bytes:
    """Return a footer in which a list of two numbers, where one begins, has three."""
    return footer[:at] + b"\x36\x00" + footer[at + 1 :] if footer[at] == 0x26 else b""
