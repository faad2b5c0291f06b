"""Make the dumps of this folder.

`monday/` and `tuesday/` are written as etcd lays out a database, always with the same bytes. `cluster.db.gz` is made by
an etcd that this command starts, and its bytes differ each time: only with --snapshot.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import bakery  # noqa: E402
import nights  # noqa: E402


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def snapshot() -> bytes:
    """Start an etcd, put the keys of `bakery.py`, and return what `etcdctl snapshot save` writes."""
    folder = Path(tempfile.mkdtemp())
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    server = subprocess.Popen(
        ["etcd", "--data-dir", str(folder / "data"), "--listen-client-urls", client, "--advertise-client-urls", client,
         "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def ctl(*words, data=None):
        environment = {"ETCDCTL_API": "3", "PATH": "/usr/bin:/usr/local/bin:/bin"}
        command = ["etcdctl", "--endpoints", client, *words]
        return subprocess.run(command, input=data, capture_output=True, check=True, env=environment)

    try:
        for _ in range(50):
            try:
                ctl("endpoint", "health")
                break
            except subprocess.CalledProcessError:
                time.sleep(0.2)
        for name, data in bakery.values():
            ctl("put", name, "") if not data else ctl("put", name, data=data)
        gone = bakery.key("orders", "north", "order-gone")
        ctl("put", gone, data=b"{}")
        ctl("del", gone)
        ctl("snapshot", "save", str(folder / "snapshot.db"))
        return (folder / "snapshot.db").read_bytes()
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--to", type=Path, default=HERE, metavar="FOLDER", help="where to write them (default: sample-data)"
    )
    parser.add_argument(
        "--snapshot",
        action="store_true",
        help="make cluster.db.gz too; needs etcd and etcdctl on the path, such as Debian's etcd-server and etcd-client",
    )
    given = parser.parse_args()
    made = dict(nights.dumps())
    if given.snapshot:
        made["cluster.db.gz"] = gzip.compress(snapshot(), 9, mtime=0)
    for name, data in made.items():
        path = given.to / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        print(f"{path}: {len(data):,} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
