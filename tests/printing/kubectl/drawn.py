"""Draws commands over the recorded cluster of `tests/recorded`, and records what kubectl prints for them.

    python -m tests.printing.kubectl.drawn KUBE [SEED [COUNT [SNAPSHOT [OUT]]]]

restores the snapshot into an etcd, starts the kube-apiserver of KUBE/start on it, and asks KUBE/bin/kubectl (KUBE as for
`tests.golden.server.record`). Kinds that the server itself writes at its start are left out.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.golden.server.record import PORTS, RECORDED, Cluster
from tests.sources.etcd.etcd_server import etcdutl

HERE = Path(__file__).parent
ANSWERS = "drawn.json.gz"
OF_THE_SERVER = frozenset({
    "apiservices", "componentstatuses", "endpoints", "endpointslices", "events", "flowschemas", "ipaddresses", "leases",
    "namespaces", "peerserverleases", "priorityclasses", "prioritylevelconfigurations", "servicecidrs", "services",
})  # fmt: skip
"""Kinds that a server writes at its start."""


class Kind:
    """A kind of the cluster, its names and its objects."""

    def __init__(self, group_version: str, resource: dict[str, Any], objects: list[dict[str, Any]]) -> None:
        group, _, version = group_version.rpartition("/")
        plural, kind = resource["name"], resource["kind"]
        suffixes = ["", f".{group}", f".{version}.{group}"] if group else [""]
        self.names = [plural, resource.get("singularName") or kind.lower(), kind, *resource.get("shortNames", ())]
        self.names += [f"{plural}{suffix}" for suffix in suffixes]
        self.namespaced = resource["namespaced"]
        self.objects = objects
        self.paths = sorted({path for obj in objects for path in paths(obj)})


def paths(value: Any, lead: str = "") -> list[str]:
    """Return the paths of a value that jsonpath can write without quotes."""
    if isinstance(value, dict):
        return [
            path
            for key, each in value.items()
            if key.isalnum() and key != "managedFields"
            for path in (f"{lead}.{key}", *paths(each, f"{lead}.{key}"))
        ]
    if isinstance(value, list) and value:
        return [f"{lead}[{index}]" for index in ("0", "*", "-1")] + paths(value[0], f"{lead}[0]")
    return []


def kinds_of(cluster: Cluster) -> list[Kind]:
    """Return the kinds that have objects; of one that cannot be listed there are the names only."""
    api, kinds = cluster.api, []
    groups = api.must("GET", "/apis")["groups"]
    versions = ["v1", *(group["preferredVersion"]["groupVersion"] for group in groups)]
    for version in versions:
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for resource in api.request("GET", root)[1].get("resources", ()):  # a server that is added may not answer
            if "list" not in resource["verbs"] or resource["name"] in OF_THE_SERVER:
                continue
            code, answer = api.request("GET", f"{root}/{resource['name']}?limit=500")
            if code != 200 or answer["items"]:
                kinds.append(Kind(version, resource, answer.get("items", [])))
    return kinds


class Drawer:
    """Draws commands over the kinds of a cluster."""

    def __init__(self, kinds: list[Kind], seed: int) -> None:
        self.kinds = kinds
        self.listable = [kind for kind in kinds if kind.objects]
        self.random = random.Random(seed)
        self.namespaces = sorted(
            {self.metadata(obj).get("namespace") or "default" for kind in kinds for obj in kind.objects}
        )

    @staticmethod
    def metadata(obj: dict[str, Any]) -> dict[str, Any]:
        metadata: dict[str, Any] = obj.get("metadata") or {}
        return metadata

    def any(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def words(self, *choices: list[str]) -> list[str]:
        return self.random.choice(choices)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def command(self) -> list[str]:
        """Return the arguments of one `kubectl get`."""
        kind = self.any(*self.kinds)
        obj = self.any(*kind.objects) if kind.objects else {}
        metadata = self.metadata(obj)
        scope = self.any([], ["-A"], ["-A"], ["-n", metadata.get("namespace") or self.any(*self.namespaces)],
                         ["-n", self.any(*self.namespaces, "nowhere")])  # fmt: skip
        name = str(self.any(*kind.names))
        form = self.random.randrange(100)
        words = [name]
        if not kind.objects and (form < 55 or form >= 90):
            scope = ["-A"]  # other lists of a broken kind kubectl asks for minutes, as it is answered 429
        elif form < 45:
            words += self.selection(kind, metadata)
        elif form < 55:
            words = [",".join(str(self.any(*self.any(*self.listable).names)) for _ in range(self.any(2, 2, 3)))]
        elif form < 85:
            named = [str(metadata.get("name") or "absent")]
            named += [str(self.metadata(self.any(*kind.objects or [{}])).get("name") or "x")] * self.chance(30)
            named += ["missing"] * self.chance(25)
            words = [f"{name}/{each}" for each in named] if self.chance(40) else [name, *named]
            scope = ["-n", metadata["namespace"]] if metadata.get("namespace") and self.chance(90) else scope
        elif form < 90:
            words = [
                self.any(
                    "all",
                    "pos",
                    "loafs",
                    "pods.v2",
                    "deployments.v1beta1.apps",
                    "widgets.example.com",
                    "pods/",
                    "/x",
                    "pods,nothing",
                    "Pod.v1.",
                )
            ]
        else:
            words += self.selection(kind, metadata, bad=True)
        return [*words, *scope, *self.output(kind), *self.more()]

    def selection(self, kind: Kind, metadata: dict[str, Any], *, bad: bool = False) -> list[str]:
        """Return a label selector or a field selector, or nothing."""
        labels = metadata.get("labels") or {"app": "web"}
        key = self.any(*sorted(labels))
        value = labels[key]
        if bad:
            return self.words(
                ["-l", self.any(f"{key} in", "a=b=c", "=x", f"{key}=a b", "!", "a notin ()", "a>x", "-a", "a in (b", ",")],
                ["--field-selector", self.any("spec.x=1", "metadata.name", "a=b=c", "metadata.labels.app=x", "status.phase=Running", "=x", "metadata.name>x", ",", "metadata.name=a\\")],
                ["--sort-by", self.any("{.a", ".spec[", "metadata.name}", "{.spec.nothing}", "{range .items}", "name", "..")],
            )  # fmt: skip
        label = self.any(f"{key}={value}", f"{key}!={value}", f"{key} in ({value},x)", f"{key} notin ({value})", key,
                         f"!{key}", f"{key}=={value},{key}", f"{key}=absent")  # fmt: skip
        field = self.any(f"metadata.name={metadata.get('name')}", f"metadata.name!={metadata.get('name')}",
                         f"metadata.namespace={metadata.get('namespace') or ''}", f"metadata.namespace!={self.any(*self.namespaces)}",
                         f"metadata.name=={metadata.get('name')},metadata.namespace!=x")  # fmt: skip
        sort = self.any(
            ".metadata.name",
            ".metadata.namespace",
            ".metadata.creationTimestamp",
            *self.random.sample(kind.paths, min(6, len(kind.paths))),
        )
        plain: list[list[str]] = [
            [],
            ["-l", label],
            ["--selector", label],
            ["--field-selector", field],
            ["-l", label, "--field-selector", field],
        ]
        sorting = [["--sort-by", sort], ["--sort-by", f"{{{sort}}}"], ["-l", label, "--sort-by", sort]]
        return self.words(*plain, *sorting)

    def output(self, kind: Kind) -> list[str]:
        """Return an output format."""
        one, two = (self.any(*kind.paths or [".kind"]) for _ in range(2))
        return self.words(
            [], [], ["-o", "wide"], ["-o", "json"], ["-o", "yaml"], ["-o", "name"],
            [f"-o=jsonpath={{{self.any('.items[*]', '.items[0]', '')}{one}}}"],
            ["-o", f"jsonpath={{range .items[*]}}{{.metadata.name}}{{'\\t'}}{{{two}}}{{'\\n'}}{{end}}"],
            ["-o", f"jsonpath={self.any(f'{{.items[?(@.metadata.name)]{one}}}', f'{{{one}}}x', '{.items[*].spec', '{.kind}')}"],
            ["-o", f"custom-columns=NAME:.metadata.name,A:{one},B:{two}"],
            ["-o", self.any(f"custom-columns=A:{one}", "custom-columns=A", "custom-columns=", "xml", "jsonpath", "jsonpath-as-json={.items[*].metadata.name}")],
        )  # fmt: skip

    def more(self) -> list[str]:
        """Return further options."""
        options = (["--show-labels"], ["-L", "app,team"], ["--no-headers"], ["--show-kind"], ["--ignore-not-found"],
                   ["--show-managed-fields"], ["--server-print=false"], ["--chunk-size=3"], ["--subresource=status"])  # fmt: skip
        return [*self.words(*options)] if self.chance(30) else []


def restore(snapshot: Path, folder: Path) -> None:
    """Write the data directory of an etcd from a packed snapshot."""
    plain = folder / "snapshot.db"
    plain.write_bytes(gzip.decompress(snapshot.read_bytes()))
    peer = f"http://127.0.0.1:{PORTS[0] + 1}"
    words = ["--data-dir", str(folder / "etcd"), "--name", "default", "--initial-cluster", f"default={peer}"]
    words += ["--initial-advertise-peer-urls", peer]
    subprocess.run([str(etcdutl()), "snapshot", "restore", str(plain), *words], check=True, capture_output=True)


def ask(kubectl: Path, kubeconfig: Path, args: list[str]) -> dict[str, Any]:
    """Return what kubectl answered."""
    now = time.time()
    done = subprocess.run(
        [kubectl, "--kubeconfig", kubeconfig, "get", *args], capture_output=True, text=True, check=False
    )
    return {
        "verb": "get",
        "args": args,
        "now": round(now, 3),
        "out": done.stdout,
        "err": done.stderr,
        "code": done.returncode,
    }


def main(kube: str, seed: str = "44", count: str = "160", snapshot: str = "", out: str = "") -> None:
    """Draw and ask; write the answers."""
    with tempfile.TemporaryDirectory() as work:
        restore(Path(snapshot) if snapshot else RECORDED / "snapshot.db.gz", Path(work))
        cluster = Cluster(Path(kube), Path(work))
        try:
            time.sleep(20)  # until the definitions are served
            drawer = Drawer(kinds_of(cluster), int(seed))
            answers = [
                ask(Path(kube) / "bin/kubectl", Path(work) / "kubeconfig", drawer.command()) for _ in range(int(count))
            ]
        finally:
            cluster.stop()
    packed = gzip.compress(json.dumps(answers, indent=0).encode(), mtime=0)
    (Path(out) if out else HERE / ANSWERS).write_bytes(packed)


if __name__ == "__main__":
    main(*sys.argv[1:])
