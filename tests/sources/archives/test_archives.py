"""Backups of every tool in every container give the same objects, once; what is not read is reported."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import sqlite3
import tarfile
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from auditor.base.errors import DamagedDump, SourceError, UnknownDump
from auditor.sources import Limits, open_source
from auditor.sources.encryption import Unsealer
from auditor.sources.encryption.config import parse_config
from auditor.sources.files.digest import map_file
from tests.shared import shared
from tests.sources.archives.writing import (
    OBJECTS,
    Files,
    Object,
    cluster_info,
    must_gather,
    rancher,
    tar,
    text,
    tgz,
    unpack,
    velero,
    widget,
    zipped,
)
from tests.sources.bolt_writer import bolt_file, key_value, revision
from tests.sources.dumps import extracted, table_rows, unpacked
from tests.sources.encryption.vectors import VECTORS
from tests.sources.kine.test_kine import LIVE, store_with_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from auditor.sources.source_plan import SourcePlan


def plans_of(path: Path | str, workdir: Path, **options: Any) -> list[SourcePlan]:
    workdir.mkdir(exist_ok=True)
    found = open_source(str(path), number=0, workdir=workdir, **options)
    return found if isinstance(found, list) else [found]


def objects_of(plan: SourcePlan) -> list[Object]:
    data = map_file(plan.mapped)
    return [json.loads(data[row["offset"] : row["offset"] + row["length"]]) for row in table_rows(plan.live)]


def names(objects: list[Object]) -> Counter[tuple[str, str, str]]:
    return Counter((one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in objects)


TOOLS: dict[str, Callable[[], Files]] = {
    "velero": lambda: velero(OBJECTS),
    "velero-1": lambda: velero(OBJECTS, form="1"),
    "velero-versions": lambda: velero(OBJECTS, other_versions=True),
    "rancher": lambda: rancher(OBJECTS),
    "must-gather": lambda: must_gather(OBJECTS),
    "inspect": lambda: must_gather(OBJECTS, root=""),
}
CONTAINERS: dict[str, Callable[[Files], bytes]] = {
    "tar": tar,
    "tar-gnu": lambda files: tar(files, form=tarfile.GNU_FORMAT),
    "tar-ustar": lambda files: tar(files, form=tarfile.USTAR_FORMAT, prefix="./"),
    "tgz": tgz,
    "tar.zst": lambda files: zstandard.compress(tar(files)),
    "tar.xz": lambda files: lzma.compress(tar(files)),
    "tar.bz2": lambda files: bz2.compress(tar(files)),
    "tgz.gz": lambda files: gzip.compress(tgz(files)),
    "zip": zipped,
}


@pytest.mark.parametrize("container", [*CONTAINERS, "folder"])
@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_each_object_is_read_once(tool: str, container: str, tmp_path: Path) -> None:
    files = TOOLS[tool]()
    path = tmp_path / "backup"
    if container == "folder":
        unpack(files, path)
    else:
        path.write_bytes(CONTAINERS[container](files))
    (plan,) = plans_of(path, tmp_path / "work")
    found = names(objects_of(plan))
    expected = names(OBJECTS)
    if tool in {"must-gather", "inspect"}:
        expected.update({("Namespace", "", f"ns{number}"): 1 for number in range(3)})
    assert found == expected
    assert plan.format == {"velero-1": "velero", "velero-versions": "velero", "inspect": "must-gather"}.get(tool, tool)
    assert plan.damage == ()
    assert plan.is_export
    assert "they do not show what is stored" in plan.notes[0]
    assert len(plan.sha256) == 64


@pytest.mark.usefixtures("shut")
def test_a_folder_of_a_backup_that_may_not_be_read_is_damage(tmp_path: Path) -> None:
    path = unpack(velero(OBJECTS), tmp_path / "backup")
    (path / "resources" / "shut").mkdir()
    (plan,) = plans_of(path, tmp_path / "work")
    assert names(objects_of(plan)) == names(OBJECTS)
    assert [(one.where, one.reason) for one in plan.damage] == [("folder 'resources/shut'", "Permission denied")]


def test_other_versions_of_an_object_are_left_out_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "backup.tar.gz"
    path.write_bytes(tgz(velero(OBJECTS, other_versions=True)))
    (plan,) = plans_of(path, tmp_path / "work")
    assert {one["apiVersion"].rpartition("/")[2] for one in objects_of(plan)} == {"v1"}
    assert any("are in several files" in note for note in plan.notes)
    of_others = "objects at other versions than the preferred one were not read: 10 files"
    assert (of_others in plan.notes, plan.damage) == (True, ())
    assert not any("being no objects by their names" in note for note in plan.notes)


@pytest.mark.parametrize("form", ["2.0.0", "1.2.0", ""])
def test_a_format_of_velero_that_is_not_known_is_named(tmp_path: Path, form: str) -> None:
    path = tmp_path / "backup.tar.gz"
    path.write_bytes(tgz({**velero(OBJECTS), "metadata/version": form.encode(), "notes.txt": b"a"}))
    (plan,) = plans_of(path, tmp_path / "work")
    assert names(objects_of(plan)) == names(OBJECTS)
    [damage] = plan.damage
    assert damage.where == "metadata/version"
    assert f"the format of this backup is {form or 'empty'}, which is not known (1 and 1.1.0 are)" in damage.reason
    assert "1 files were not read, being no objects by their names: notes.txt" in plan.notes


def test_a_backup_of_one_version_has_no_note_about_others(tmp_path: Path) -> None:
    folder = unpack(velero(OBJECTS, form="1"), tmp_path / "backup")
    (plan,) = plans_of(folder, tmp_path / "work")
    assert plan.damage == ()
    assert [note for note in plan.notes if "other versions" in note or "were not read" in note] == []


def test_an_object_that_is_only_below_its_version_is_read(tmp_path: Path) -> None:
    files = {
        "metadata/version": b"1.1.0",
        "resources/widgets.example.com/v1-preferredversion/namespaces/a/w.json": text(widget("w", "a")),
    }
    path = tmp_path / "backup.tar"
    path.write_bytes(tar(files))
    assert names(objects_of(plans_of(path, tmp_path / "work")[0])) == {("Widget", "a", "w"): 1}


@pytest.mark.parametrize("container", ["tgz", "zip", "folder", "stdout"])
def test_a_cluster_info_dump_is_read_and_says_what_it_lacks(container: str, tmp_path: Path) -> None:
    files = cluster_info()
    path = tmp_path / "dump"
    if container == "folder":
        unpack(files, path)
    elif container == "stdout":
        lists = [data for name, data in files.items() if name.endswith(".json")]
        log = b'==== START logs for container c of pod kube-system/p ====\n{"msg": 1}\nnot { json\n==== END logs for container c of pod kube-system/p ====\n'
        path.write_bytes(b"\n".join(lists[:2]) + b"\n" + log + lists[2] + b"\n" + log)
    else:
        path.write_bytes(CONTAINERS[container](files))
    (plan,) = plans_of(path, tmp_path / "work")
    assert names(objects_of(plan)) == names(
        [
            {"kind": "Node", "metadata": {"name": "a"}},
            {"kind": "Node", "metadata": {"name": "b"}},
            {"kind": "Pod", "metadata": {"name": "p", "namespace": "kube-system"}},
            {"kind": "Service", "metadata": {"name": "s", "namespace": "kube-system"}},
        ]
    )
    assert plan.damage == ()
    if container != "stdout":
        assert plan.format == "cluster-info"
        assert "holds no custom resources" in plan.notes[0]


def test_a_folder_with_namespaces_of_its_own_is_no_inspection(tmp_path: Path) -> None:
    unpack(
        {"namespaces/prod/app/deploy.yaml": text(widget("a", "b")), "base/x.yaml": text(widget("c", "d"))},
        tmp_path / "r",
    )
    (plan,) = plans_of(tmp_path / "r", tmp_path / "work")
    assert names(objects_of(plan)) == {("Widget", "b", "a"): 1, ("Widget", "d", "c"): 1}


# ---- databases in archives


@pytest.mark.parametrize("container", ["zip", "tar", "tgz"])
def test_a_snapshot_in_an_archive_is_the_snapshot(container: str, tmp_path: Path) -> None:
    """k3s and RKE2 put one snapshot into a zip when asked to compress."""
    snapshot = unpacked("golden/upgrade/snapshot.db.gz", tmp_path)
    path = tmp_path / "on-demand-node-1700000000.zip"
    path.write_bytes(CONTAINERS[container]({"on-demand-node-1700000000": snapshot.read_bytes()}))
    (plan,) = plans_of(path, tmp_path / "work")
    (plain,) = plans_of(snapshot, tmp_path / "plain")
    assert (plan.format, plan.name, plan.damage) == ("etcd-snapshot", str(path), ())
    assert [row["mod_revision"] for row in table_rows(plan.live)] == [
        row["mod_revision"] for row in table_rows(plain.live)
    ]
    assert plan.sha256 == plain.sha256


@pytest.mark.parametrize("name", ["data-dir-34.tar.gz", "data-dir-36.tar.gz"])
def test_a_data_directory_in_an_archive_is_read_with_its_log(name: str, tmp_path: Path) -> None:
    path = shared(f"golden/etcd-files/{name}")
    (plan,) = plans_of(path, tmp_path / "work")
    (plain,) = plans_of(extracted(f"golden/etcd-files/{name}", tmp_path / "plain"), tmp_path / "plain-work")
    assert (plan.format, plan.name) == ("etcd-data-dir", str(path))
    assert plan.rows == plain.rows > 40
    assert any("entries of the write-ahead log" in note and "not applied" in note for note in plan.notes)


def test_several_dumps_in_an_archive_are_plans_of_their_own(tmp_path: Path) -> None:
    snapshot = unpacked("golden/etcd-files/snapshot-36.db.gz", tmp_path)
    rows = plans_of(snapshot, tmp_path / "plain")[0].rows
    state = store_with_log(tmp_path)
    files = {
        "a/one.db": snapshot.read_bytes(),
        "a/two.db.gz": gzip.compress(snapshot.read_bytes()),
        "db/state.db": state.read_bytes(),
        "db/state.db-wal": state.with_name("state.db-wal").read_bytes(),
        "m/w.yaml": text(widget("w", "a")),
        "m/w.json.gz": gzip.compress(text(widget("x", "a"))),
        "inner.tgz": tgz(velero(OBJECTS)),
        "README.md": b"# what this is",
    }
    path = tmp_path / "all.zip"
    path.write_bytes(zipped(files))
    plans = plans_of(path, tmp_path / "work")
    assert [(plan.name.removeprefix(str(path)), plan.format, plan.rows) for plan in plans] == [
        ("", "archive", 2),
        ("!a/one.db", "etcd-snapshot", rows),
        ("!a/two.db.gz", "etcd-snapshot", rows),
        ("!db/state.db", "kine-sqlite", len(LIVE)),
        ("!inner.tgz", "velero", len(OBJECTS)),
    ]
    assert [table_rows(plan.live)[0]["source"] for plan in plans] == [0, 1, 2, 3, 4]
    assert any("README.md" in note for note in plans[0].notes)


def test_a_folder_of_backups_gives_one_plan_each(tmp_path: Path) -> None:
    folder = unpack(
        {"a.tar.gz": tgz(velero(OBJECTS)), "b.zip": zipped(rancher(OBJECTS))}
        | {f"c{number:02d}.tgz": tgz({"x.txt": b"x"}) for number in range(12)},
        tmp_path / "f",
    )
    plans = plans_of(folder, tmp_path / "work")
    assert [plan.format for plan in plans] == ["velero", "rancher"]
    assert any(note.startswith("c00.tgz was not read") for note in plans[0].notes)
    assert plans[0].notes[-1] == "2 more files were not read"


def test_dumps_in_folders_of_a_folder_are_found(tmp_path: Path) -> None:
    files = {"east/etcd/a.db": SNAPSHOT, "north/backup.tgz": tgz(velero(OBJECTS)), "west/notes.txt": b"nothing"}
    files |= {f"{number:02d}.bin": b"nothing" for number in range(11)}
    (tmp_path / "work").mkdir()
    plans = open_source(str(unpack(files, tmp_path / "all")), number=3, workdir=tmp_path / "work")
    assert isinstance(plans, list)
    assert [(plan.format, plan.rows) for plan in plans] == [("etcd-snapshot", 1), ("velero", len(OBJECTS))]
    assert {row["source"] for row in table_rows(plans[1].live)} == {4}
    named = ", ".join(f"{number:02d}.bin" for number in range(10))
    assert f"beside the dumps in {tmp_path / 'all'}, not read: {named} and 2 more" in plans[0].notes
    with pytest.raises(UnknownDump, match="no manifest in this folder"):
        open_source(str(tmp_path / "all/west"), number=0, workdir=tmp_path / "work")


SNAPSHOT = bolt_file({b"key": {revision(2): key_value(b"/registry/a/b", 2, 2, 1, b"{}")}, b"meta": {}})
BROKEN = b"SQLite format 3\0" + bytes(4000)


@pytest.mark.parametrize("below", ["", "west/"])
def test_a_dump_that_cannot_be_read_at_all_leaves_those_beside_it(below: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other")) as connection:
        connection.execute("CREATE TABLE grafana (id INTEGER)")
    other = (tmp_path / "other").read_bytes()
    east = "east/" if below else ""
    folder = unpack({f"{below}a.db": BROKEN, f"{east}b.db": SNAPSHOT, f"{east}c.db": other}, tmp_path / "f")
    (plan,) = plans_of(folder, tmp_path / "work")
    assert plan.rows == 1
    assert [(damage.where, damage.reason) for damage in plan.damage] == [
        (f"{folder / below / 'a.db'} beside it", "a SQLite database that cannot be read: file is not a database")
    ]
    assert [note for note in plan.notes if note.startswith("c.db was not read: a SQLite database, not of kine")]


@pytest.mark.parametrize(
    ("below", "reported"),
    [("", r"no dump that can be read; b\.tgz was not read"), ("west/", "no manifest in this folder")],
)
def test_a_folder_of_dumps_that_cannot_be_read_at_all_says_so(below: str, reported: str, tmp_path: Path) -> None:
    folder = unpack({f"{below}a.db": BROKEN, f"{below}b.tgz": tgz({"x.txt": b"x"})}, tmp_path / "f")
    with pytest.raises(DamagedDump, match=r"a\.db: a SQLite database that cannot be read"):
        plans_of(folder, tmp_path / "work")
    (folder / below / "a.db").unlink()
    with pytest.raises(UnknownDump, match=reported):
        plans_of(folder, tmp_path / "work2")


def test_an_archive_beside_manifests_is_only_named(tmp_path: Path) -> None:
    folder = unpack({"chart.tgz": tgz({"x.txt": b"x"}), "w.yaml": text(widget("w", "a"))}, tmp_path / "f")
    (plan,) = plans_of(folder, tmp_path / "work")
    assert plan.rows == 1
    assert any(note.startswith("chart.tgz was not read") for note in plan.notes)


# ---- encrypted files of Rancher


def sealed_case(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(case for case in VECTORS["cases"] if case["name"] == name)
    return found


def test_an_encrypted_backup_of_rancher_opens_with_its_configuration(tmp_path: Path) -> None:
    case = sealed_case("box first key")
    files = {"secrets.#v1/default/a.json": json.dumps(case["value"]).encode(), **rancher([widget("w", "a")])}
    path = tmp_path / "backup.tar.gz.enc"
    path.write_bytes(tgz(files))
    unsealer = Unsealer(parse_config(VECTORS["configs"]["box"]))
    (plan,) = plans_of(path, tmp_path / "work", unsealer=unsealer)
    assert json.loads(base64.b64decode(case["plain"])) in objects_of(plan)
    assert plan.damage == ()
    (closed,) = plans_of(path, tmp_path / "closed")
    assert closed.rows == 2
    assert any("1 file is encrypted, thus not opened" in note for note in closed.notes)


# ---- damage and malice


def raw_member(name: bytes, data: bytes, kind: bytes = b"0", link: bytes = b"", size: bytes | None = None) -> bytes:
    header = bytearray(512)
    header[: len(name)] = name
    header[100:108] = b"0000644\0"
    header[124:136] = size if size is not None else b"%011o\0" % len(data)
    header[156:157] = kind
    header[157 : 157 + len(link)] = link
    header[257:265] = b"ustar\00000"
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + data + bytes(-len(data) % 512)


GOOD = raw_member(b"w.json", text(widget("w", "a")))
END = bytes(1024)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"/etc/cron.d/x.json", "an absolute name"),
        (b"../../x.json", "a name that leads out of the folder"),
        (b"a/../../x.json", "a name that leads out of the folder"),
        (b"C:/x.json", "an absolute name"),
        (b"a\\..\\x.json", "a name with backslashes"),
    ],
)
@pytest.mark.parametrize("container", ["tar", "zip"])
def test_names_that_lead_out_are_left_out_and_reported(
    container: str, name: bytes, reason: str, tmp_path: Path
) -> None:
    body = text(widget("evil", "a"))
    path = tmp_path / "work" / "archive"
    path.parent.mkdir()
    if container == "tar":
        path.write_bytes(raw_member(name, body) + GOOD + END)
    else:
        path.write_bytes(zipped({name.decode(): body, "w.json": text(widget("w", "a"))}))
    (plan,) = plans_of(path, tmp_path / "work")
    assert names(objects_of(plan)) == {("Widget", "a", "w"): 1}
    assert [damage.reason for damage in plan.damage] == [f"{reason}; it was not read"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["work"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(b"1", "a hard link"), (b"2", "a symbolic link"), (b"3", "a device"), (b"6", "a pipe"), (b"S", "a sparse file")],
)
def test_links_and_devices_are_left_out_and_reported(kind: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "archive.tar"
    path.write_bytes(raw_member(b"link.json", b"", kind, b"/etc/passwd") + GOOD + END)
    (plan,) = plans_of(path, tmp_path / "work")
    assert plan.rows == 1
    assert [(damage.where, damage.reason) for damage in plan.damage] == [
        ("member 'link.json'", f"{reason}; it was not read")
    ]


def test_long_names_are_read_in_both_dialects_and_too_long_ones_are_left(tmp_path: Path) -> None:
    for number, form in enumerate((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)):
        files = {
            f"{'d' * 150}/{'e' * 150}/w.json": text(widget("w", "a")),
            f"{'x/' * 2500}w.json": text(widget("y", "a")),
        }
        path = tmp_path / f"{number}.tar"
        path.write_bytes(tar(files, form=form))
        (plan,) = plans_of(path, tmp_path / f"work-{number}")
        assert names(objects_of(plan)) == {("Widget", "a", "w"): 1}
        assert "a name of 5006 bytes" in plan.damage[0].reason


def test_a_header_that_claims_gigabytes_of_name_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "archive.tar.gz"
    claim = raw_member(b"x", b"", b"x", size=b"77777777777\0")
    path.write_bytes(gzip.compress(GOOD + claim + bytes(40 << 20)))
    (plan,) = plans_of(path, tmp_path / "work")
    assert plan.rows == 1
    assert "breaks off in a header" in plan.damage[0].reason


@pytest.mark.parametrize("container", ["tar", "tgz"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_an_archive_that_breaks_off_gives_what_came_before(container: str, share: float, tmp_path: Path) -> None:
    objects = [widget(f"w{number}", "a", pad="x" * (number * 37 % 700)) for number in range(60)]
    data = CONTAINERS[container](velero(objects, form="1"))
    path = tmp_path / "backup"
    path.write_bytes(data[: int(len(data) * share)])
    try:
        (plan,) = plans_of(path, tmp_path / "work")
    except SourceError as error:
        assert share < 0.3, error  # noqa: PT017
        return
    found = objects_of(plan)
    assert all(one in objects for one in found)
    assert plan.damage or len(found) == 60


def test_bytes_that_are_no_header_end_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "archive.tar"
    path.write_bytes(GOOD + b"\xff" * 512 + raw_member(b"x.json", text(widget("x", "a"))) + END)
    (plan,) = plans_of(path, tmp_path / "work")
    assert plan.rows == 1
    assert plan.damage[0].reason == "there is no file header here; 1 files were read before that"


@pytest.mark.parametrize("zeros", [1, 2, 20])
def test_what_follows_zeros_in_a_tar_is_read_and_the_zeros_are_reported(zeros: int, tmp_path: Path) -> None:
    """A hole, or archives that were put one behind the other."""
    path = tmp_path / "archive.tar"
    path.write_bytes(GOOD + bytes(512 * zeros) + raw_member(b"x.json", text(widget("x", "a"))) + END)
    (plan,) = plans_of(path, tmp_path / "work")
    assert plan.rows == 2
    assert [damage.where for damage in plan.damage] == [f"byte {len(GOOD)}"]
    assert plan.damage[0].reason.startswith(
        f"{512 * zeros} zero bytes, which mark the end of an archive, but more data follows"
    )


@pytest.mark.parametrize("name", [b"x.json", b"x.json/"])
@pytest.mark.parametrize("kind", [b"0", b"\0", b"7", b"Z"])
def test_every_type_without_another_meaning_is_a_file_of_a_tar(kind: bytes, name: bytes, tmp_path: Path) -> None:
    path = tmp_path / "archive.tar"
    path.write_bytes(GOOD + raw_member(name, text(widget("x", "a")), kind) + END)
    (plan,) = plans_of(path, tmp_path / "work")
    assert (plan.rows, plan.damage) == (2, ())


def test_a_file_of_a_tar_without_a_name_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "archive.tar"
    path.write_bytes(GOOD + raw_member(b"", text(widget("x", "a"))) + END)
    (plan,) = plans_of(path, tmp_path / "work")
    assert [damage.reason for damage in plan.damage] == ["a file without a name; it was not read"]


@pytest.mark.parametrize("container", ["tgz", "zip"])
def test_a_bomb_is_stopped(container: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(CONTAINERS[container]({"w.json": text(widget("w", "a")), "big.json": bytes(30 << 20)}))
    limits = Limits(ratio=100, ratio_from=1 << 20)
    (plan,) = plans_of(path, tmp_path / "work", limits=limits)
    assert plan.rows == 1
    assert [damage.where for damage in plan.damage] == ["archive"]
    assert plan.damage[0].reason.startswith("expanded past ")


def test_archives_in_archives_end_somewhere(tmp_path: Path) -> None:
    data = tgz({"w.json": text(widget("w", "a"))})
    for _ in range(6):
        data = tar({"inner.tgz": data})
    path = tmp_path / "nested.tar"
    path.write_bytes(data)
    with pytest.raises(SourceError, match="archives in archives, 4 deep"):
        plans_of(path, tmp_path / "work")


def test_too_many_files_are_too_many(tmp_path: Path) -> None:
    path = tmp_path / "many"
    files = {f"{n}.json": text(widget(f"w{n}", "a")) for n in range(30)}
    path.write_bytes(tar(files))
    (plan,) = plans_of(path, tmp_path / "work", limits=Limits(members=20))
    assert plan.rows == 20
    assert plan.damage[0].reason.startswith("an archive of more than 20 files")
    path.write_bytes(zipped(files))  # its list says so before anything is read
    with pytest.raises(SourceError, match="more than 20 files"):
        plans_of(path, tmp_path / "work", limits=Limits(members=20))


def test_a_large_file_goes_through_a_file(tmp_path: Path) -> None:
    objects = [widget(f"w{number}", "a", pad="x" * 100) for number in range(200)]
    path = tmp_path / "archive.tar"
    path.write_bytes(tar({"all.ndjson": b"\n".join(text(one) for one in objects)}))
    (plan,) = plans_of(path, tmp_path / "work", limits=Limits(member=5000))
    assert names(objects_of(plan)) == names(objects)


def test_an_archive_of_nothing_says_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "archive.tar"
    path.write_bytes(tar({"a.txt": b"a", "b.png": b"b"}))
    with pytest.raises(UnknownDump, match=r"nothing to read in it; seen: a\.txt, b\.png"):
        plans_of(path, tmp_path / "work")


@pytest.mark.parametrize("cut", [10, 60])
def test_a_zip_without_its_list_is_damaged(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "backup.zip"
    path.write_bytes(zipped(velero(OBJECTS))[:-cut])
    with pytest.raises(DamagedDump, match="a zip archive that cannot be read"):
        plans_of(path, tmp_path / "work")


def test_a_file_of_a_zip_that_does_not_hold_is_damage(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.json": text(widget("a", "x", pad=list(range(300)))), "b.json": text(widget("b", "x"))}))
    at = data.index(b"a.json") + 60
    data[at : at + 20] = bytes(20)
    path = tmp_path / "backup.zip"
    path.write_bytes(data)
    (plan,) = plans_of(path, tmp_path / "work")
    assert plan.damage
    assert ("Widget", "x", "b") in names([one for one in objects_or_text(plan) if isinstance(one, dict)])


def test_a_file_of_a_zip_that_is_shorter_than_its_list_says_is_damage(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.json": text(widget("a", "x")), "b.json": text(widget("b", "x"))}))
    at = data.rindex(b"PK\1\2") + 24
    size = int.from_bytes(data[at : at + 4], "little")
    data[at : at + 4] = (size + 10).to_bytes(4, "little")
    path = tmp_path / "backup.zip"
    path.write_bytes(data)
    (plan,) = plans_of(path, tmp_path / "work")
    assert plan.rows == 1
    assert [(one.where, one.reason) for one in plan.damage] == [
        ("member 'b.json'", "10 bytes are missing of what the list of files says")
    ]


def test_files_that_the_list_of_a_zip_lost_are_damage(tmp_path: Path) -> None:
    """The comment of a file that is said to be long hides the entries after it."""
    data = bytearray(zipped({f"{number}.json": text(widget(f"w{number}", "x")) for number in range(8)}))
    data[data.index(b"PK\1\2") + 33] = 200
    path = tmp_path / "backup.zip"
    path.write_bytes(data)
    (plan,) = plans_of(path, tmp_path / "work")
    assert plan.rows < 8
    assert ("list of files", f"it lists {plan.rows} files, but its end record counts 8") in [
        (one.where, one.reason) for one in plan.damage
    ]


def test_a_dump_in_an_archive_that_cannot_be_read_at_all_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "archive.tar"
    path.write_bytes(tar({"a.json": text(widget("a", "x")), "b.db": b"SQLite format 3\0" + bytes(4000)}))
    (plan,) = plans_of(path, tmp_path / "work")
    assert plan.rows == 1
    assert [(one.where, one.reason) for one in plan.damage] == [
        ("b.db", "a SQLite database that cannot be read: file is not a database")
    ]


def test_an_archive_of_dumps_that_cannot_be_read_at_all_says_so(tmp_path: Path) -> None:
    bad = b"SQLite format 3\0" + bytes(4000)
    path = tmp_path / "archive.tar"
    path.write_bytes(tar({"a.db": bad, "b.db": bad}))
    with pytest.raises(DamagedDump, match=r"archive\.tar!b\.db: a SQLite database that cannot be read"):
        plans_of(path, tmp_path / "work")
    database = tmp_path / "state.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE grafana (id INTEGER)")
    path.write_bytes(tar({"a.db": database.read_bytes(), "b.db": database.read_bytes()}))
    with pytest.raises(UnknownDump, match=r"archive\.tar!b\.db: .*tables found: grafana"):
        plans_of(path, tmp_path / "work2")


def objects_or_text(plan: SourcePlan) -> list[Any]:
    data = map_file(plan.mapped)
    out: list[Any] = []
    for row in table_rows(plan.live):
        piece = data[row["offset"] : row["offset"] + row["length"]]
        try:
            out.append(json.loads(piece))
        except ValueError:
            out.append(piece)
    return out


def test_an_archive_from_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(tgz(velero(OBJECTS)))

    monkeypatch.setattr("sys.stdin", Stdin())
    (plan,) = plans_of("-", tmp_path / "work")
    assert names(objects_of(plan)) == names(OBJECTS)


def test_a_compressed_archive_is_never_unpacked_to_a_file(tmp_path: Path) -> None:
    """What lands on disk are the objects, not the archive: logs and copies are read past."""
    files = must_gather(OBJECTS)
    files |= {f"quay/namespaces/ns0/pods/p{n}/c/logs/current.log": b"line\n" * 100_000 for n in range(10)}
    path = tmp_path / "must-gather.tar.gz"
    path.write_bytes(tgz(files))
    (plan,) = plans_of(path, tmp_path / "work")
    written = sum(one.stat().st_size for one in (tmp_path / "work").rglob("*") if one.is_file())
    assert written < 100_000
    assert plan.rows


def test_links_out_of_a_folder_and_in_circles_are_reported_or_passed_by(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (tmp_path / "elsewhere").mkdir()
    unpack(velero(OBJECTS), folder)
    (folder / "circle").symlink_to("circle")
    (folder / "resources" / "out").symlink_to(tmp_path / "elsewhere")
    (plan,) = plans_of(folder, tmp_path / "work")
    assert [(one.where, one.reason) for one in plan.damage] == [
        ("member 'resources/out'", "a symbolic link out of the folder; it was not read")
    ]
