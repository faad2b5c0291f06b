"""Records what a damaged value of each built-in kind does to a real API server that starts over the data of another.

``python -m tests.golden.server.torn_starts KUBE [FOLDER]``; KUBE as for `record`. Kinds that a server might read are
tried one by one, all others together: the server is ready with these. Authorization is that of a cluster, and no
admission plugin is off.
"""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from auditor.builtin.builtin_kinds import BUILTIN_KINDS
from tests.golden.server.record import pack
from tests.golden.server.torn import RECORDED
from tests.sources.etcd.etcd_server import Etcd, free_port, server_binary

SECONDS = 90
"""How long a server is watched at least; one that cannot check addresses ends after 60 seconds, and waits as long for storage."""
AT_ONCE = 4
TOGETHER = """podtemplates controllers controllerrevisions daemonsets deployments replicasets statefulsets events cronjobs
    jobs horizontalpodautoscalers ingress networkpolicies csidrivers poddisruptionbudgets csistoragecapacities podgroups
    workloads leasecandidates resourceclaimtemplates devicetaintrules storageversionmigrations"""
"""What the keys of kinds begin with that the server has no informer for."""
VALUES = {
    "services/specs/shop/nameless": '{"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop"}}',
    "pods/shop/nameless": '{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop"}}',
}
"""Values that decode, and that no watch cache has a key for; all others are torn."""


def keys() -> dict[str, str]:
    """Return a key for each built-in kind, by what its keys begin with."""
    out = {kind.prefix: f"{kind.prefix}/{'shop/' if kind.namespaced else ''}torn" for kind in BUILTIN_KINDS}
    return {**out, "ranges": "ranges/servicenodeports"}


class Starts:
    """Servers beside one etcd, each with a prefix of its own."""

    def __init__(self, kube: Path, work: Path, etcd: Etcd) -> None:
        self.kube = kube
        self.work = work
        self.etcd = etcd
        self.written: dict[bytes, bytes] = {}
        self.context = ssl._create_unverified_context()
        subprocess.run(["openssl", "genrsa", "-out", work / "sa.key", "2048"], check=True, capture_output=True)
        public = ["openssl", "rsa", "-in", work / "sa.key", "-pubout", "-out", work / "sa.pub"]
        subprocess.run(public, check=True, capture_output=True)
        (work / "tokens.csv").write_text("token,admin,admin,system:masters\n")

    def start(self, number: int, damaged: list[str]) -> dict[str, Any]:
        """Start a server over the data of the first one and damaged values; return whether it was ready or ended."""
        prefix, port = f"/start{number}", free_port()
        for key, value in self.written.items():
            self.etcd.put(key.replace(b"/start0", prefix.encode(), 1), value)
        for key in damaged:
            self.etcd.put(f"{prefix}/{key}".encode(), VALUES.get(key, "torn").encode())
        options = {
            "etcd-servers": self.etcd.url, "etcd-prefix": prefix, "service-cluster-ip-range": "10.0.0.0/24",
            "service-account-issuer": "https://x", "service-account-key-file": self.work / "sa.pub",
            "service-account-signing-key-file": self.work / "sa.key", "authorization-mode": "Node,RBAC",
            "token-auth-file": self.work / "tokens.csv", "cert-dir": self.work / f"certs{number}", "secure-port": port,
            "bind-address": "127.0.0.1", "endpoint-reconciler-type": "none",
        }  # fmt: skip
        with (self.work / f"{number}.log").open("w") as stream:
            words = [f"--{name}={value}" for name, value in options.items()]
            server = subprocess.Popen([self.kube / "bin" / "kube-apiserver", *words], stdout=stream, stderr=stream)
            failing, ready = self._watched(server, port, number)
            ended = server.poll() is not None
            server.terminate()
            server.wait(60)
        answer = {"ended": ended, "ready": ready, "notReady": failing}
        sys.stderr.write(f"{damaged[:3]}: {answer}\n")
        return answer

    def _watched(self, server: subprocess.Popen[bytes], port: int, number: int) -> tuple[list[str], bool]:
        """Return the checks of /readyz that fail at the end, and whether it was ready then."""
        failing, ready, began = [], False, time.monotonic()
        while server.poll() is None:
            passed = time.monotonic() - began
            if passed > SECONDS and not any("storage-readiness" in check for check in failing):
                break
            time.sleep(3)
            if ready and (number == 0 or passed > SECONDS * 3 / 4):  # no check of addresses has ended it
                break
            request = urllib.request.Request(f"https://127.0.0.1:{port}/readyz?verbose")
            request.add_header("Authorization", "Bearer token")
            try:
                urllib.request.urlopen(request, context=self.context, timeout=10).close()
                failing, ready = [], True
            except urllib.error.HTTPError as error:
                failing, ready = re.findall(r"\[-\](\S+)", error.read().decode()), False
            except OSError:
                ready = False
        return sorted(failing), ready


def main() -> None:
    kube, *more = sys.argv[1:]
    folder = Path(more[0]) if more else RECORDED
    with tempfile.TemporaryDirectory() as work, Etcd(server_binary("3.6"), Path(work) / "etcd") as etcd:
        starts = Starts(Path(kube), Path(work), etcd)
        starts.start(0, [])
        time.sleep(2)
        starts.written = {key: row[3] for key, row in etcd.live()[1].items() if key.startswith(b"/start0/")}
        cases = [[key] for prefix, key in keys().items() if prefix not in TOGETHER.split()] + [[key] for key in VALUES]
        together = [key for prefix, key in keys().items() if prefix in TOGETHER.split()]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(starts.start, range(1, len(cases) + 2), [*cases, together]))
    out = {"alone": {key: answer for (key,), answer in zip(cases, answers[:-1], strict=True)},
           "together": {"keys": together, **answers[-1]}}  # fmt: skip
    pack(folder, "torn-starts.json", json.dumps(out, indent=1, sort_keys=True).encode() + b"\n")


if __name__ == "__main__":
    main()
