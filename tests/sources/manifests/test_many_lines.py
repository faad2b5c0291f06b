"""Lines that are taken together give what they give one by one, whatever is between them."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.sources.manifests import manifest_walk
from auditor.sources.manifests.export_table import ManifestRows
from auditor.sources.manifests.manifest_table import open_manifests
from auditor.sources.manifests.manifest_walk import ManifestWalk
from auditor.sources.manifests.sinks import NeedsSpool, Spans, Spool

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = [
    json.dumps({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": name + "s"}}).encode()
    for api, kind, name in [("v1", "A", "x"), ("x.io/v1", "B", "y"), ("x.io/v2", "B", "x"), ("", "", "")]
]
ODD = [
    b"",
    b" ",
    b"}",
    b"# a comment",
    b'{"kind":"A"} ',
    b'{"kind":"A"}\r',
    b'{"a":{"b":1}',
    b'{"a":',
    b'{"a":1}}',
    b'{"a":1}{"b":2}',
    b'{"a":"x}',
    b'{y"}',
    b'{"a":01}',
    b'{"kind":"A","kind":"B"}',
    b'{"kind":"\\u0041","metadata":{"name":"\\ud800"}}',
    b'{"kind":"\xff"}',
    b'{"kind":5}',
    b'{"kind":"Table","apiVersion":"meta.k8s.io/v1"}',
    b'{"kind":"List","items":[{"kind":"C"},{"kind":"A","metadata":{"name":"w"}}]}',
    b'{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"p"}}]}',
    b'[{"kind":"A"}]',
]
LINES = st.lists(st.one_of(st.sampled_from(PLAIN), st.sampled_from(PLAIN), st.sampled_from(PLAIN + ODD)), max_size=40)


def walked(data: bytes, folder: Path, *, few: int, many: int) -> tuple[Any, ...]:
    """Return all that a walk tells, with so many lines first one by one and then so many together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_walk, "FEW_LINES", few)
        patch.setattr(manifest_walk, "MANY_LINES", many)
        rows, spool = ManifestRows(0), BytesIO()
        walk = ManifestWalk(Spans(rows))
        try:
            walk.walk(data)
        except NeedsSpool:
            rows = ManifestRows(0)
            walk = ManifestWalk(Spool(rows, spool))
            walk.walk(data)
    rows.write(folder / "live.arrow")
    with pa.OSFile(str(folder / "live.arrow")) as stream:
        table = pa.ipc.open_file(stream).read_all().to_pydict()
    reported = (walk.format, walk.damage.records(), walk.notes, walk.objects, walk.lists, walk.tables, walk.lines)
    return table, spool.getvalue(), reported, rows.defining


@settings(max_examples=300)
@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\n\n"]), st.booleans())
def test_lines_taken_together_give_what_they_give_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], between: bytes, ended: bool
) -> None:
    data = PLAIN[0] + b"\n" + between.join(lines) + (b"\n" if ended else b"")
    folder = tmp_path_factory.mktemp("lines")
    assert walked(data, folder, few=1, many=3) == walked(data, folder, few=1 << 30, many=1)


def test_one_odd_line_takes_no_other_with_it(tmp_path: Path) -> None:
    plain = [b'{"kind":"A","metadata":{"name":"n%03d"}}' % number for number in range(700)]
    lines = [*plain[:300], b'{"kind":', *plain[300:]]
    dump = tmp_path / "dump"
    dump.write_bytes(b"".join(line + b"\n" for line in lines))
    plan = open_manifests(str(dump), dump, number=0, workdir=tmp_path)
    with pa.OSFile(plan.live) as stream:
        table = pa.ipc.open_file(stream).read_all()
    data = dump.read_bytes()
    spans = zip(table["offset"].to_pylist(), table["length"].to_pylist(), strict=True)
    assert [data[offset : offset + length] for offset, length in spans] == [*plain, b'{"kind":']
    assert (plan.rows, plan.format, plan.damage) == (701, "ndjson", ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLAIN[0], False),
        (b'{"kind":"X","note":"CustomResourceDefinition"}', False),
        (b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"}', True),
        (b'{"apiVersion":"v1","kind":"List","metadata":{"name":"n"},"items":[]}', True),
        (b'{"kind":', True),
        (b"[[1]]", True),
    ],
)
@pytest.mark.parametrize("count", [1, 400])
def test_an_export_tells_which_rows_definitions_may_be_among(
    tmp_path: Path, text: bytes, expected: bool, count: int
) -> None:
    dump = tmp_path / "dump"
    dump.write_bytes((PLAIN[1] + b"\n") * count + text + b"\n" + (PLAIN[1] + b"\n") * count)
    plan = open_manifests(str(dump), dump, number=0, workdir=tmp_path)
    with pa.OSFile(plan.live) as stream:
        lengths = pa.ipc.open_file(stream).read_all()["length"].to_pylist()
    (row,) = [row for row, length in enumerate(lengths) if length != len(PLAIN[1])] or [0]
    assert plan.defining == (((row, row + 1),) if expected else ())


def test_rows_that_definitions_may_be_among_are_reported_in_ranges(tmp_path: Path) -> None:
    definition = b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%d"}}'
    lines = [PLAIN[1], definition % 1, b'{"kind":', PLAIN[0], definition % 2, b'{"kind":', PLAIN[1]]
    dump = tmp_path / "dump"
    dump.write_bytes(b"\n".join(lines))
    assert open_manifests(str(dump), dump, number=0, workdir=tmp_path).defining == ((1, 3), (5, 7))


@pytest.mark.parametrize("count", [1, 400])
def test_an_export_knows_the_rows_of_each_kind(tmp_path: Path, count: int) -> None:
    text = b'{"apiVersion":"%s","kind":"%s","metadata":{"name":"n"}}\n'
    kinds = [(b"b/v1", b"X"), (b"a/v2", b"Y"), (b"a/v1", b"Y"), (b"v1", b"X"), (b"a/v1", b"X")]
    dump = tmp_path / "dump"
    dump.write_bytes(b'{"kind":\n' + b"".join(text % kind for kind in kinds) * count)
    plan = open_manifests(str(dump), dump, number=0, workdir=tmp_path)
    ends = {("", "X"): 1, ("a", "X"): 2, ("a", "Y"): 4, ("b", "X"): 5}
    assert plan.kinds is not None
    assert {kind: end // count for kind, (_, end) in plan.kinds.items()} == ends
    assert [first for first, _ in plan.kinds.values()] == [0, *(end * count for end in list(ends.values())[:-1])]
    assert plan.rows == 5 * count + 1
