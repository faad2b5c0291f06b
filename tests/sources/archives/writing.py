"""Writes the same objects as the tools write them: paths to bytes, then a tar, a zip or a folder of these."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

Files = dict[str, bytes]
Object = dict[str, Any]

CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def widget(name: str, namespace: str, **spec: Any) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def secret(name: str, namespace: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"a": "Yg=="},
    }


OBJECTS: list[Object] = [
    CRD,
    *(widget(f"w{number}", f"ns{number % 3}", n=number) for number in range(7)),
    secret("s", "ns0"),
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}},
]


def text(one: Object) -> bytes:
    return json.dumps(one).encode()


def place(one: Object) -> tuple[str, str, str, str, str]:
    """Return (plural, group, version, namespace, name)."""
    group, _, version = one["apiVersion"].rpartition("/")
    return (
        one["kind"].lower() + "s",
        group,
        version,
        one["metadata"].get("namespace", ""),
        one["metadata"]["name"],
    )


def velero(objects: list[Object], *, form: str = "1.1.0", other_versions: bool = False) -> Files:
    files: Files = {"metadata/version": form.encode() + b"\n"}
    for one in objects:
        plural, group, version, namespace, name = place(one)
        where = f"resources/{plural}.{group}" if group else f"resources/{plural}"
        scope = f"namespaces/{namespace}" if namespace else "cluster"
        files[f"{where}/{scope}/{name}.json"] = text(one)
        if form == "1.1.0":
            files[f"{where}/{version}-preferredversion/{scope}/{name}.json"] = text(one)
        if other_versions:
            files[f"{where}/v1beta1/{scope}/{name}.json"] = text({**one, "apiVersion": f"{group}/v1beta1".lstrip("/")})
    return files


def rancher(objects: list[Object]) -> Files:
    files: Files = {"filters/filters.json": b'{"kind":"ResourceSet"}', "filters/statussubresource.json": b"{}"}
    for one in objects:
        plural, group, version, namespace, name = place(one)
        files[f"{plural}.{group}#{version}/{namespace + '/' if namespace else ''}{name}.json"] = text(one)
    return files


def must_gather(objects: list[Object], *, root: str = "quay-io-image-sha256-0123/") -> Files:
    files: Files = {
        "must-gather.log": b"[must-gather] OUT\n",
        f"{root}version": b"4.16\n",
        f"{root}timestamp": b"now\n",
        f"{root}event-filter.html": b"<html>",
        f"{root}namespaces/ns0/pods/p/p/logs/current.log": b"{not json\n",
    }
    lists: dict[str, list[Object]] = {}
    for one in objects:
        plural, group, _, namespace, name = place(one)
        if namespace:
            files[f"{root}namespaces/{namespace}/{namespace}.yaml"] = yaml.safe_dump(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            ).encode()
        where = f"{root}namespaces/{namespace}" if namespace else f"{root}cluster-scoped-resources"
        files[f"{where}/{group or 'core'}/{plural}/{name}.yaml"] = b"---\n" + yaml.safe_dump(one).encode()
        lists.setdefault(f"{where}/{group or 'core'}/{plural}.yaml", []).append(one)
    for path, items in lists.items():
        document = {"apiVersion": items[0]["apiVersion"], "kind": items[0]["kind"] + "List", "items": items}
        files[path] = b"---\n" + yaml.safe_dump(document).encode()
    return files


def cluster_info() -> Files:
    def listed(kind: str, *names: str, namespace: str = "") -> bytes:
        meta = [{"name": name, **({"namespace": namespace} if namespace else {})} for name in names]
        return json.dumps(
            {"kind": kind, "apiVersion": "v1", "items": [{"metadata": one} for one in meta]}, indent=4
        ).encode()

    return {
        "nodes.json": listed("NodeList", "a", "b"),
        "kube-system/pods.json": listed("PodList", "p", namespace="kube-system"),
        "kube-system/services.json": listed("ServiceList", "s", namespace="kube-system"),
        "kube-system/p/logs.txt": b'{"msg":"a log line"}\n',
    }


def tar(files: Files, *, form: int = tarfile.PAX_FORMAT, prefix: str = "") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def zipped(files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tgz(files: Files, **options: Any) -> bytes:
    return gzip.compress(tar(files, **options))


def unpack(files: Files, folder: Path) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder
