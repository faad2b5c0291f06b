"""A report with changed files, or files of other types and sizes, ends a command with a clear error: code 2."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auditor.base import arrow
from auditor.base.errors import AuditorError
from pipelines.cli.query import query_options
from tests.command import auditor
from tests.fuzz.hostile.bounded import bounded
from tests.fuzz.hostile.forged import audited, copied, with_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KEY = "d/a0"


def commands(report: Path, sound: Path, target: Path) -> list[list[str]]:
    """Return the commands that read a report."""
    dump = str(sound.parent / "dump.ndjson")
    return [
        ["query", str(report), "ws"],
        ["show", str(report), KEY],
        ["findings", str(sound), "--against", str(report)],
        ["findings", str(report), "--against", str(sound)],
        ["audit", dump, "--diff", str(report), "--report", str(target / "diff"), "--fail-on", "never"],
    ]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audited(tmp_path_factory.mktemp("sound") / "one")


def part(report: Path, table: str) -> Path:
    return next((report / table).glob("*.parquet"))


def huge_text(report: Path, size: int = 600 << 20) -> None:
    with_text(report, "objects", ("key", "name", "reason"), lambda _: "x" * size, texts=1)


def other_type(report: Path) -> None:
    path = part(report, "objects")
    table = pq.read_table(path)
    at = table.schema.get_field_index("key")
    pq.write_table(table.set_column(at, "key", pa.array(np.arange(table.num_rows))), path)


def long_footer(report: Path) -> None:
    path = part(report, "objects")
    with path.open("wb") as stream:
        stream.write(b"PAR1")
        stream.truncate(1 << 30)
        stream.seek(1 << 30)
        stream.write((900 << 20).to_bytes(4, "little") + b"PAR1")


def no_file(report: Path) -> None:
    path = part(report, "objects")
    path.unlink()
    os.mkfifo(path)


def manifest_with(report: Path, data: bytes) -> None:
    (report / "manifest.json").write_bytes(data)


def deep(report: Path) -> None:
    manifest_with(report, b'{"inputs":' + b"[" * 10_000 + b"]" * 10_000 + b"}")


def gigabyte(report: Path) -> None:
    manifest_with(report, b'{"inputs":[')
    with (report / "manifest.json").open("ab") as stream:
        stream.truncate(1 << 30)


def many_lists(report: Path) -> None:
    """A manifest of a size that is read, whose lists would take gigabytes."""
    manifest_with(report, b'{"inputs":[' + b"[]," * (20 << 20) + b"0]}")


MADE: tuple[Callable[[Path], None], ...] = (other_type, long_footer, no_file, deep, gigabyte, many_lists)


def check_refused(report: Path, sound: Path, target: Path) -> None:
    for command in commands(report, sound, target):
        with bounded(1000):
            ended = auditor(*command)
        assert (ended.code, "Traceback" in ended.output) == (2, False), (command, ended)
        assert ended.output.startswith("error: "), ended


@pytest.mark.parametrize("change", [*MADE, pytest.param(huge_text, marks=pytest.mark.slow)])
def test_what_no_audit_wrote_is_refused_by_name(change: Callable[[Path], None], sound: Path, tmp_path: Path) -> None:
    report = copied(sound, tmp_path / "forged")
    change(report)
    check_refused(report, sound, tmp_path)


def test_the_size_limit_of_a_report_holds_at_every_command(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with a limit that is lower: what breaks it takes little time to write."""
    monkeypatch.setattr(arrow, "_MOST_GROUP_BYTES", arrow._MOST_GROUP_BYTES >> 7)
    report = copied(sound, tmp_path / "forged")
    huge_text(report, 600 << 13)
    check_refused(report, sound, tmp_path)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything in a manifest."""
    if path:
        yield path
    for key, one in value.items() if type(value) is dict else enumerate(value) if type(value) is list else ():
        yield from places(one, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    out = value = orjson.loads(orjson.dumps(value))
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = other
    return out


OTHERS = (None, "x", -1, 1.5e300, True, [], {}, [[]], [{}], {"a": "b"})


@pytest.mark.parametrize("other", OTHERS, ids=repr)
@pytest.mark.parametrize(
    "step", [pytest.param(1, marks=pytest.mark.nightly, id="all"), pytest.param(5, marks=pytest.mark.slow, id="some")]
)
def test_a_manifest_of_other_types_ends_no_command_in_an_unforeseen_way(
    step: int, other: Any, sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In each change every place has two of the ten values, each night all."""
    from pipelines.run.diff import run_diff
    from pipelines.run.objects.show import run_show
    from pipelines.run.query import run_query

    report = copied(sound, tmp_path / "forged")
    manifest = orjson.loads((report / "manifest.json").read_bytes())
    flags: dict[str, Any] = {"crds": (), "etcd_prefix": "/registry", "encryption_config": "", "kms_decryptor": ""}
    refused = 0
    for path in list(places(manifest))[OTHERS.index(other) % step :: step]:
        manifest_with(report, orjson.dumps(replaced(manifest, path, other)))
        for command in (
            lambda: run_query(query_options(str(report), {**flags, "output": "name"})),
            lambda: run_show(query_options(str(report), flags), KEY, output="json"),
            lambda: run_diff(str(report), str(sound), str, output="table", fail_on="never"),
            lambda: run_diff(str(sound), str(report), str, output="table", fail_on="never"),
        ):
            try:
                command()
            except AuditorError:
                refused += 1
            except Exception as error:
                raise AssertionError(path) from error
    capsys.readouterr()
    assert refused
