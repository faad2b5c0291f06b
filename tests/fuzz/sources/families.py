"""What is fuzzed: for each form of dump a few sound ones, how they are broken, and how they are laid down."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
import struct
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tests.fuzz.sources import mutate
from tests.sources.archives.writing import OBJECTS, must_gather, rancher, tar, text, tgz, velero, zipped
from tests.sources.bolt_writer import bolt_file
from tests.sources.encryption.vectors import VECTORS
from tests.sources.etcd.wal_writer import WalWriter, delete, message, put

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent.parent.parent
SHARED = ROOT.parent / "shared" / "golden"


@dataclass(frozen=True, slots=True)
class Case:
    """One input.

    Attributes:
        files: Relative path to bytes, to be written below a folder.
        given: What to open, relative to that folder; empty means the folder.
        repaired: Its checksums are right.
        options: Those of `open_source`.
    """

    files: dict[str, bytes]
    given: str
    repaired: bool
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Family:
    """One form of dump; `weight` is its share."""

    name: str
    weight: int
    make: Callable[[random.Random], Case]


def key_value(key: bytes, main: int, value: bytes) -> bytes:
    return message((1, key), (2, main), (3, main), (4, 1), (5, value))


def revision(main: int, sub: int = 0, *, deleted: bool = False) -> bytes:
    return struct.pack(">Q", main) + b"_" + struct.pack(">Q", sub) + (b"t" if deleted else b"")


def small_etcd(*, page_size: int, fill: float, rows: int) -> bytes:
    """A database with encrypted, CBOR, protobuf and broken values among the others."""
    values = [text(one) for one in OBJECTS]
    values += [base64.b64decode(case["value"]) for case in VECTORS["cases"][::9]]
    values += [b"", b"k8s\0\n\x0b", b"\xd9\xd9\xf7\xa1", b"{", b"x" * 5000]
    items: dict[bytes, Any] = {}
    for main in range(2, rows + 2):
        key = b"/registry/example.com/widgets/ns/w%d" % (main % (rows // 2))
        if main % 7 == 0:
            items[revision(main, deleted=True)] = message((1, key))
        else:
            items[revision(main)] = key_value(key, main, values[main % len(values)])
    meta = {b"consistent_index": struct.pack(">Q", 9), b"finishedCompactRev": revision(3), b"term": bytes(8)}
    buckets: dict[bytes, Any] = {name: {} for name in (b"alarm", b"auth", b"cluster", b"lease", b"members")}
    return bolt_file({**buckets, b"key": items, b"meta": meta}, page_size=page_size, fill=fill)


def real(name: str) -> list[bytes]:
    """Return a reference dump, where it is beside the project."""
    path = SHARED / name
    return [gzip.decompress(path.read_bytes())] if path.exists() else []


def kine_store(rows: int) -> tuple[bytes, bytes]:
    """Return a store of kine and its write-ahead log, as a running server leaves them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA wal_autocheckpoint=0")
            connection.execute(
                "CREATE TABLE kine (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, created INTEGER, deleted INTEGER,"
                " create_revision INTEGER, prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB)"
            )
            connection.execute("CREATE INDEX kine_name_index ON kine (name)")
            for number in range(rows):
                one = (
                    f"/registry/x/{number % (rows // 2)}",
                    1,
                    number % 5 == 0,
                    0,
                    0,
                    0,
                    text(OBJECTS[number % 8]),
                    None,
                )
                connection.execute(
                    "INSERT INTO kine (name, created, deleted, create_revision, prev_revision, lease, value, old_value)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    one,
                )
                if number == rows // 2:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return path.read_bytes(), path.with_name("state.db-wal").read_bytes()


def wal_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        wal = WalWriter(Path(folder))
        for number in range(12):
            wal.entry(put(b"key %d" % number) if number % 3 else delete(b"a", b"b"))
            wal.state(number)
        return wal.path.read_bytes()


def wal_repaired(data: bytes, draw: random.Random) -> bytes:
    """A log whose records hold what a random generator draws, under right checksums."""
    with tempfile.TemporaryDirectory() as folder:
        wal = WalWriter(Path(folder), sequence=draw.choice((0, 0, 5)))
        for _ in range(draw.randrange(1, 12)):
            body = draw.choice((put(b"k"), delete(b"a", b"b"), b"", draw.randbytes(draw.randrange(40))))
            turn = draw.random()
            if turn < 0.7:
                wal.entry(
                    mutate.any_of(mutate.BYTES, body, draw),
                    index=draw.choice((None, None, draw.choice(mutate.NUMBERS))),
                )
            else:
                wal.record(draw.randrange(7), draw.randbytes(draw.randrange(60)))
        found = wal.path.read_bytes()
    return found if draw.random() < 0.8 else found[: draw.randrange(len(found))]


def etcdctl_text() -> bytes:
    rows = [
        {
            "key": base64.b64encode(b"/registry/example.com/widgets/ns/w%d" % number).decode(),
            "create_revision": number + 2,
            "mod_revision": number + 2,
            "version": 1,
            "value": base64.b64encode(text(OBJECTS[number % 8])).decode(),
        }
        for number in range(12)
    ]
    header = {"cluster_id": 14841639068965178418, "member_id": 10276657743932975437, "revision": 99, "raft_term": 2}
    return json.dumps({"header": header, "kvs": rows, "count": len(rows)}, separators=(",", ":")).encode() + b"\n"


class Families:
    """All families, their seeds made once."""

    def __init__(self) -> None:
        self.etcd = [
            (1024, small_etcd(page_size=1024, fill=0.6, rows=40)),
            (4096, small_etcd(page_size=4096, fill=0.5, rows=60)),
            (1024, small_etcd(page_size=1024, fill=0.3, rows=200)),
        ]
        dumps = [*real("etcd-files/defragmented-36.db.gz"), *real("encrypted/aescbc/snapshot.db.gz")]
        self.etcd += [(4096, data[: len(data) // 512 * 512]) for data in dumps]
        self.kine = [kine_store(40), kine_store(120)]
        self.wal = wal_file()
        self.etcdctl = etcdctl_text()
        self.ndjson = b"\n".join(text(one) for one in OBJECTS)
        self.listed = json.dumps({"kind": "List", "apiVersion": "v1", "items": OBJECTS}, indent=1).encode()
        self.yaml = yaml.safe_dump_all(OBJECTS).encode()
        rows = [f"{n},/registry/a{n % 5},1,0,0,0,0,\\x{text(OBJECTS[n % 8]).hex()}," for n in range(1, 12)]
        self.csv = "\n".join(
            ["id,name,created,deleted,create_revision,prev_revision,lease,value,old_value", *rows]
        ).encode()
        self.archives = [
            velero(OBJECTS),
            rancher(OBJECTS),
            must_gather(OBJECTS),
            {"snap.db": self.etcd[0][1], "a.json": self.ndjson},
        ]
        self.families = [
            Family("etcd", 46, self._etcd),
            Family("etcd data directory", 8, self._data_dir),
            Family("kine sqlite", 8, self._kine),
            Family("kine text", 4, self._csv),
            Family("etcdctl", 6, self._etcdctl),
            Family("manifests", 10, self._manifests),
            Family("tar", 7, self._tar),
            Family("gzip", 6, self._gzip),
            Family("zip", 5, self._zip),
        ]

    def _etcd(self, draw: random.Random) -> Case:
        size, data = draw.choice(self.etcd)
        repaired = draw.random() < 0.8
        broken = (mutate.bolt_repaired if repaired else mutate.bolt_mutated)(data, draw, size)
        if not repaired and draw.random() < 0.2:  # nothing is left that says what the file is
            broken = bytes(2 * size) + broken[2 * size :]
        return Case({"dump.db": broken}, "dump.db", repaired, {"salvage": draw.random() < 0.3})

    def _data_dir(self, draw: random.Random) -> Case:
        size, data = self.etcd[draw.randrange(2)]
        repaired = draw.random() < 0.75
        log = wal_repaired(self.wal, draw) if repaired else mutate.any_of(mutate.BYTES, self.wal, draw)
        database = mutate.bolt_repaired(data, draw, size) if draw.random() < 0.3 else data
        name = draw.choice(("0" * 16 + "-" + "0" * 16 + ".wal", "0" * 15 + "1-" + "0" * 16 + ".wal"))
        return Case({"member/snap/db": database, f"member/wal/{name}": log}, "", repaired, {})

    def _kine(self, draw: random.Random) -> Case:
        state, log = draw.choice(self.kine)
        if draw.random() < 0.6:
            return Case(
                {"state.db": state, "state.db-wal": mutate.sqlite_log_repaired(log, draw)}, "state.db", True, {}
            )
        files = {"state.db": mutate.any_of(mutate.BYTES, state, draw)}
        if draw.random() < 0.5:
            files["state.db-wal"] = log
        return Case(files, "state.db", False, {})

    def _csv(self, draw: random.Random) -> Case:
        return Case({"kine.csv": mutate.any_of(mutate.TEXTS, self.csv, draw)}, "kine.csv", False, {})

    def _etcdctl(self, draw: random.Random) -> Case:
        return Case({"get.json": mutate.any_of(mutate.TEXTS, self.etcdctl, draw)}, "get.json", False, {})

    def _manifests(self, draw: random.Random) -> Case:
        data = draw.choice((self.ndjson, self.listed, self.yaml))
        return Case({"all.txt": mutate.any_of(mutate.TEXTS, data, draw)}, "all.txt", False, {})

    def _tar(self, draw: random.Random) -> Case:
        data = tar(draw.choice(self.archives))
        repaired = draw.random() < 0.8
        broken = mutate.tar_repaired(data, draw) if repaired else mutate.any_of(mutate.BYTES, data, draw)
        return Case({"a.tar": broken}, "a.tar", repaired, {})

    def _gzip(self, draw: random.Random) -> Case:
        if draw.random() < 0.25:
            data = tgz(draw.choice(self.archives))
            return Case({"a.tgz": mutate.any_of(mutate.BYTES, data, draw)}, "a.tgz", False, {})
        turn = draw.randrange(3)
        inside: Callable[[bytes, random.Random], bytes]
        if turn == 0:
            data, inside = gzip.compress(tar(draw.choice(self.archives)), 1), mutate.tar_repaired
        elif turn == 1:
            size, plain = self.etcd[0]
            data, inside = gzip.compress(plain, 1), lambda one, again: mutate.bolt_repaired(one, again, size)
        else:
            data, inside = gzip.compress(self.ndjson, 1), lambda one, again: mutate.any_of(mutate.TEXTS, one, again)
        return Case({"a.gz": mutate.gzip_repaired(data, draw, inside)}, "a.gz", True, {})

    def _zip(self, draw: random.Random) -> Case:
        files = draw.choice(self.archives)
        if draw.random() < 0.2:
            return Case({"a.zip": mutate.any_of(mutate.BYTES, zipped(files), draw)}, "a.zip", False, {})
        return Case({"a.zip": mutate.zip_repaired(b"", draw, files)}, "a.zip", True, {})

    def draw(self, draw: random.Random, name: str = "") -> tuple[Family, Case]:
        """Return one input, of one family where its name is given."""
        families = [one for one in self.families if name in ("", one.name)]
        family = draw.choices(families, [one.weight for one in families])[0]
        return family, family.make(draw)
