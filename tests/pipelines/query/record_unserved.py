"""Records what kubectl prints of kinds that a server cannot serve: `unserved.json.gz`.

    python -m tests.pipelines.query.record_unserved KUBECTL KUBECONFIG ETCD_URL

No API takes these definitions, so they are put into etcd. Use a server without other users: the definitions stay.
"""

from __future__ import annotations

import base64
import copy
import gzip
import json
import re
import subprocess
import sys
import time
import urllib.request
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.crdcheck.record_panics import definition

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDED = Path(__file__).parent / "unserved.json.gz"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "uid": "u"}}
PANIC = {"rule": "[?dyn(self.i)].size() >= 0"}


def _conversion(value: Any) -> Callable[[Any], None]:
    return lambda document: document["spec"].update(conversion=value)


def _schema(value: Any) -> Callable[[Any], None]:
    return lambda document: document["spec"]["versions"][0].update(schema={"openAPIV3Schema": value})


def _second(*, served: bool) -> Callable[[Any], None]:
    version = definition(PANIC)["spec"]["versions"][0] | {"name": "v2", "storage": False, "served": served}
    return lambda document: document["spec"]["versions"].append(version)


def _not_stored(document: Any) -> None:
    document["spec"]["versions"][0]["storage"] = False


_PRESERVE = {
    "type": "object",
    "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": False}},
}
_NO_TYPE = {"type": "object", "properties": {"spec": {"properties": {"i": {"type": "integer"}}}}}
CHANGES: dict[str, Callable[[Any], None]] = {
    "Good": lambda _: None,
    "Panic": _schema(definition(PANIC)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]),
    "Served": _second(served=True),
    "Unserved": _second(served=False),
    "Hook": _conversion({"strategy": "Webhook"}),
    "Client": _conversion({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}),
    "Nowhere": _conversion(
        {"strategy": "Webhook", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}}
    ),
    "Other": _conversion({"strategy": "Other"}),
    "Store": _not_stored,
    "Preserve": _schema(_PRESERVE),
    "Ref": _schema({"type": "object", "$ref": "#/x"}),
    "Untyped": _schema(_NO_TYPE),
}
"""Kind to what is done to a good definition."""
FORMS = (
    "{}", "{} a", "{}/a", "{} -A", "{} -l a=b", "{} -l a=(", "{} --field-selector metadata.name=a", "{} a -o name",
    "{} -o json", "{} a --ignore-not-found", "{} --sort-by=.metadata.name", "{},goods", "goods,{} -o wide", "{} a b",
    "goods/a {}/a", "goods/missing {}/a", "{} -o custom-columns=A:.metadata.name", "{} --chunk-size=0",
)  # fmt: skip


def plural(kind: str) -> str:
    """Return the plural of a kind."""
    return f"{kind.lower()}s"


def values() -> dict[str, Any]:
    """Return the values of etcd by key, without the prefix ``/registry/``."""
    made: dict[str, Any] = {"namespaces/default": NAMESPACE}
    for kind, change in CHANGES.items():
        document = copy.deepcopy(definition({"rule": "self.i >= 0"}))
        group, name = document["spec"]["group"], plural(kind)
        names = {"plural": name, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"}
        conditions = [{"type": each, "status": "True"} for each in ("NamesAccepted", "Established")]
        document["metadata"] = {"name": f"{name}.{group}", "uid": name}
        document["spec"]["names"] = names
        document["status"] = {"storedVersions": ["v1"], "conditions": conditions, "acceptedNames": names}
        change(document)
        made[f"apiextensions.k8s.io/customresourcedefinitions/{name}.{group}"] = document
        metadata = {"name": "a", "namespace": "default", "uid": "u"}
        made[f"{group}/{name}/default/a"] = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata}
    return made


def commands() -> list[list[str]]:
    """Return the words after ``kubectl get``."""
    return [form.format(plural(kind)).split(" ") for kind, form in product(CHANGES, FORMS)]


def plain(text: str) -> str:
    """Return output with the same revision for each object."""
    return re.sub(r'("resourceVersion": )"\d+"', r'\1"1"', text)


def put(etcd: str, key: str, value: Any) -> None:
    """Put a value into etcd."""
    key, text = (base64.b64encode(each.encode()).decode() for each in (f"/registry/{key}", json.dumps(value)))
    body = json.dumps({"key": key, "value": text}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{etcd}/v3/kv/put", data=body)).read()


def record(kubectl: str, kubeconfig: str, etcd: str) -> None:
    """Write the file."""
    for key, value in values().items():
        put(etcd, key, value)
    time.sleep(10)
    subprocess.run([kubectl, "--kubeconfig", kubeconfig, "api-resources"], check=True, capture_output=True)
    answers = []
    for words in commands():
        done = subprocess.run(
            [kubectl, "--kubeconfig", kubeconfig, "get", *words], check=False, capture_output=True, text=True
        )
        answers.append({"words": words, "code": done.returncode, "out": plain(done.stdout), "err": done.stderr})
    RECORDED.write_bytes(gzip.compress(json.dumps(answers).encode(), mtime=0))


if __name__ == "__main__":
    record(*sys.argv[1:])
