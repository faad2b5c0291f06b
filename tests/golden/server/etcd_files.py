"""Records snapshots and data directories of etcd 3.4 and 3.6, and what the servers and their tools say of them.

``python -m tests.golden.server.etcd_files [FOLDER]`` starts etcd, which is on PATH or is built from the Go module
proxy, and writes some 60 small keys: updates, deletions of one key and of a range, keys that are created again,
transactions of several writes, leases, a large value, an empty one, and a key that is not UTF-8.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.golden.server.record import pack
from tests.sources.etcd.etcd_server import Etcd, b64, etcdutl, server_binary

RECORDED = Path(__file__).resolve().parents[2] / "recorded" / "golden" / "etcd-files"
RELEASES = ("3.4", "3.6")
WIDGETS = b"/registry/ex.io/widgets/"
LARGE = b"crumb " * 35000
"""A value that takes many overflow pages, and few bytes when it is packed."""


def widget(number: int) -> bytes:
    return WIDGETS + b"%s/w%02d" % (b"de"[number % 2 : number % 2 + 1], number)


def transaction(server: Etcd, *keys: bytes) -> None:
    """Write several keys at one revision."""
    puts = [{"request_put": {"key": b64(key), "value": b64(b"in one revision")}} for key in keys]
    server.call("kv/txn", {"success": puts})


def fill(server: Etcd) -> None:
    """Write the keys, and compact nothing."""
    for number in range(60):
        server.put(widget(number), b'{"number":%d}' % number)
    for number in range(0, 60, 3):
        server.put(widget(number), b'{"number":%d,"pad":"%s"}' % (number, b"x" * 40 * (number % 7)))
    for number in range(5, 60, 11):
        server.delete(widget(number))
    server.delete(WIDGETS + b"d/w2", WIDGETS + b"d/w3")
    server.put(widget(20), b'{"number":20,"again":true}')
    transaction(server, widget(22), widget(23), b"/registry/ex.io/other")
    server.call("lease/grant", {"TTL": "100000", "ID": "77"})
    for number in (1, 2):
        body = {"key": b64(b"/registry/leased/%d" % number), "value": b64(b"leased"), "lease": "77"}
        server.call("kv/put", body)
    server.put(b"/registry/empty", b"")
    server.put(b"\xff\xfebin\0key", b"a key that is not UTF-8")
    server.put(b"/registry/big/a", LARGE)
    server.put(b"/registry/big/b", LARGE[:9000])


def change(server: Etcd) -> int:
    """Write more, and return the revision before the last of it."""
    for turn in range(4):
        for number in range(0, 24, 2):
            server.put(widget(number), b'{"number":%d,"turn":%d}' % (number, turn))
    server.delete(widget(4))
    return server.live()[0] - 20


def tool(*words: str) -> Any:
    done = subprocess.run(words, check=True, capture_output=True, env={**os.environ, "ETCDCTL_API": "3"})
    return json.loads(done.stdout)


def live(server: Etcd) -> dict[str, list[Any]]:
    """Return what the server lists, by key."""
    found = server.call("kv/range", {"key": b64(b"\0"), "range_end": b64(b"\0")})["kvs"]
    return {
        row["key"]: [
            *(int(row.get(name, 0)) for name in ("create_revision", "mod_revision", "version", "lease")),
            hashlib.sha256(base64.b64decode(row.get("value", ""))).hexdigest()[:16],
        ]
        for row in found
    }


def snapshot(server: Etcd, folder: Path, work: Path, name: str) -> dict[str, Any]:
    """Save a snapshot, and return what the server and its tools say of it."""
    path = work / f"{name}.db"
    server.snapshot(path)
    pack(folder, f"{name}.db.gz", path.read_bytes())
    (hashed,) = tool("etcdctl", f"--endpoints={server.url}", "endpoint", "hashkv", "-w", "json")
    return {
        "etcdutl_status": tool(str(etcdutl()), "snapshot", "status", str(path), "-w", "json"),
        "hashkv": hashed["HashKV"]["hash"],
        "current_revision": server.live()[0],
        "live": live(server),
    }


def snapshots(release: str, folder: Path, work: Path) -> dict[str, Any]:
    """Save the snapshots of a release, and return what is expected of each."""
    short, out = release.replace(".", ""), {}
    with Etcd(server_binary(release), work / f"snapshots-{short}") as server:

        def save(name: str) -> None:
            out[f"{name}-{short}.db.gz"] = snapshot(server, folder, work, f"{name}-{short}")

        fill(server)
        save("snapshot")
        server.compact(change(server))
        save("compacted")
        if release == "3.4":  # which may leave no row of the revision of a deletion
            server.delete(widget(6))
            server.compact(server.live()[0])
            save("last-tombstone-compacted")
        else:
            change(server)
            server.defragment()
            save("defragmented")
    return out


def data_directory(release: str, folder: Path, work: Path) -> dict[str, Any]:
    """Save the folder of a member that was killed before it applied all of its log, and return what it served."""
    data = work / f"data-{release}"
    with Etcd(server_binary(release), data, "--backend-batch-interval=1h", "--backend-batch-limit=1000000") as server:
        fill(server)
        server.snapshot(work / "committed.db")  # the backend commits before it sends itself
        change(server)
        transaction(server, widget(1), widget(3))
        found, revision = live(server), server.live()[0]
        server.kill()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(data.rglob("*")):
            if path.is_file() and "lock" not in path.name and path.suffix != ".tmp":
                entry = tarfile.TarInfo(path.relative_to(data).as_posix())
                content = path.read_bytes()
                if path.suffix == ".wal":  # what is preallocated is zeros
                    content = content.rstrip(b"\0") + bytes(64)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    target = folder / f"data-dir-{release.replace('.', '')}.tar.gz"
    target.write_bytes(gzip.compress(buffer.getvalue(), 9, mtime=0))
    return {"after_replay": {"current_revision": revision, "keys": len(found), "live": found}}


def main() -> None:
    folder = Path(sys.argv[1]) if sys.argv[1:] else RECORDED
    folder.mkdir(parents=True, exist_ok=True)
    expected: dict[str, Any] = {"snapshots": {}, "data_dirs": {}}
    with tempfile.TemporaryDirectory() as name:
        for release in RELEASES:
            expected["snapshots"].update(snapshots(release, folder, Path(name)))
            expected["data_dirs"][f"data-dir-{release.replace('.', '')}.tar.gz"] = data_directory(
                release, folder, Path(name)
            )
    pack(folder, "expected.json", json.dumps(expected, sort_keys=True).encode() + b"\n")


if __name__ == "__main__":
    main()
