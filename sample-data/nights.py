"""Two nights of two clusters of the bakery: what was written before Monday's snapshots, and what before Tuesday's.

Tuesday differs from Monday as clusters do: orders come and go, a definition gets a rule that old objects break, a
faulty object is repaired, a Service that a conversion webhook needs is deleted, a pod crashes.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from bakery import GROUP, crd, encode, item, string

from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

Write = tuple[str, "dict | None"]
"""A key and its value; None deletes the key."""

CLUSTERS = ("east", "west")
SEPTEMBER = "2026-09-01T06:30:00Z"
MONDAY, TUESDAY = "2026-11-23", "2026-11-24"
FLOURS = ("wheat", "rye", "spelt")
AGE = {"name": "Age", "type": "date", "JSONPath": ".metadata.creationTimestamp"}
HEAVY_SPELT = {
    "rule": "self.flour != 'spelt' || self.grams <= 1500",
    "message": "a loaf of spelt weighs at most 1500 grams",
}
LARGE_ORDER = {
    "rule": "self.lines.map(line, line.count).sum() <= 20 || has(self.contact)",
    "message": "an order of more than 20 loaves names a contact",
}


def column(name: str, path: str, type_: str = "string") -> dict:
    return {"name": name, "type": type_, "JSONPath": path}


def version(
    name: str, spec: dict, columns: list[dict], *, storage: bool = True, status: dict | None = None, **more
) -> dict:
    properties = {"spec": {"type": "object", **spec}}
    if status:
        properties["status"] = {"type": "object", "properties": status}
    schema = {"type": "object", "required": ["spec"], "properties": properties}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema},
            "additionalPrinterColumns": [*columns, AGE], **more}  # fmt: skip


def stored(plural: str, kind: str, versions: list[dict], **more) -> dict:
    """Return a definition as servers store it: what all versions have in common is beside them."""
    made = crd(plural, kind, versions, **more)
    for name in ("schema", "additionalPrinterColumns", "selectableFields"):
        first = versions[0].get(name)
        if first and all(each.get(name) == first for each in versions):
            made["spec"]["validation" if name == "schema" else name] = first
            for each in versions:
                del each[name]
    return made


def loaves(*rules: dict) -> dict:
    spec = {
        "required": ["flour", "grams"],
        "properties": {
            "flour": string(enum=list(FLOURS)),
            "grams": {"type": "integer", "minimum": 100, "maximum": 5000},
            "shape": string(default="round"),
            "baked": string(format="date-time"),
        },
    } | ({"x-kubernetes-validations": list(rules)} if rules else {})
    columns = [
        column("Flour", ".spec.flour"),
        column("Grams", ".spec.grams", "integer"),
        column("Shape", ".spec.shape"),
    ]
    fields = [{"jsonPath": ".spec.flour"}, {"jsonPath": ".spec.grams"}]
    made = stored("loaves", "Loaf", [version("v1", spec, columns, selectableFields=fields)])
    made["metadata"]["generation"] += len(rules)
    return made


def ovens() -> dict:
    spec = {
        "required": ["maxCelsius"],
        "properties": {
            "maxCelsius": {"type": "integer"},
            "fuel": string(default="gas"),
            "serviced": string(format="date-time"),
        },
    }
    condition = {"type": "object", "properties": dict.fromkeys(("type", "status", "reason", "message"), string())}
    columns = [
        column("Celsius", ".spec.maxCelsius", "integer"),
        column("Fuel", ".spec.fuel"),
        column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
    ]
    status = {"conditions": {"type": "array", "items": condition}}
    versions = [version("v1", spec, columns, status=status)]
    return stored("ovens", "Oven", versions, scope="Cluster", subresources={"status": {}})


def orders() -> dict:
    line = {
        "type": "object",
        "required": ["flour", "count"],
        "properties": {"flour": string(enum=list(FLOURS)), "count": {"type": "integer", "minimum": 1}},
    }
    spec = {
        "required": ["customer", "lines"],
        "properties": {
            "customer": string(minLength=2),
            "contact": string(maxLength=100),
            "due": string(format="date-time"),
            "express": {"type": "boolean"},
            "lines": {"type": "array", "maxItems": 5, "items": line,
                      "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["flour"]},
        },
        "x-kubernetes-validations": [LARGE_ORDER],
    }  # fmt: skip
    columns = [
        column("Customer", ".spec.customer"),
        column("Due", ".spec.due"),
        column("Express", ".spec.express", "boolean"),
    ]
    return stored("orders", "Order", [version("v1", spec, columns)])


def recipes() -> dict:
    """Return the definition of a kind that only a conversion webhook can convert."""
    new = {"required": ["flour"], "properties": {"flour": string(), "minutes": {"type": "integer"}}}
    old = {"required": ["flour"], "properties": {"flour": string(), "time": string()}}
    service = {"namespace": "kitchen", "name": "recipe-converter", "path": "/convert", "port": 443}
    conversion = {
        "strategy": "Webhook",
        "webhookClientConfig": {"service": service},
        "conversionReviewVersions": ["v1"],
    }
    return stored("recipes", "Recipe", [
        version("v1", new, [column("Flour", ".spec.flour"), column("Minutes", ".spec.minutes", "integer")]),
        version("v1alpha1", old, [column("Flour", ".spec.flour"), column("Time", ".spec.time")], storage=False),
    ], conversion=conversion, stored=["v1alpha1"])  # fmt: skip


def builtin(api: str, kind: str, folder: str, namespace: str | None, name: str, created: str, **parts) -> Write:
    """Return key and value of an object of a built-in kind."""
    place = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, **place, "uid": f"{kind.lower()}-{name}", "creationTimestamp": created}
    where = "/".join(("/registry", folder, *place.values(), name))
    return where, {"apiVersion": api, "kind": kind, "metadata": metadata | parts.pop("metadata", {}), **parts}


def owner(api: str, kind: str, name: str) -> dict:
    reference = {"apiVersion": api, "kind": kind, "name": name, "uid": f"{kind.lower()}-{name}", "controller": True}
    return {"ownerReferences": [reference]}


def pod(namespace: str, name: str, created: str, *, waiting: str | None = None, restarts: int = 0) -> Write:
    """Return a pod of a replica set: running, or with a container that waits for a reason."""
    app = name.rpartition("-")[0]
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {"startedAt": created}}
    ready = "False" if waiting else "True"
    container = {"name": app, "image": f"registry.example.com/{app}:1.4"}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": ready}, {"type": "ContainersReady", "status": ready}],
        "containerStatuses": [{**container, "ready": not waiting, "restartCount": restarts, "state": state}],
    }
    metadata = {"labels": {"app": app}, **owner("apps/v1", "ReplicaSet", app)}
    spec = {"nodeName": "node-a", "containers": [container]}
    return builtin("v1", "Pod", "pods", namespace, name, created, metadata=metadata, spec=spec, status=status)


def event(about: Write, number: int, kind: str, reason: str, message: str, *, minute: int, count: int) -> Write:
    """Return an event of the night before Tuesday, some minutes after one."""
    _, of = about
    metadata = of["metadata"]
    namespace, name, seen = metadata["namespace"], metadata["name"], f"{TUESDAY}T01:{minute}:00Z"
    involved = {"apiVersion": of["apiVersion"], "kind": of["kind"]}
    involved |= {field: metadata[field] for field in ("namespace", "name", "uid")}
    times = {"firstTimestamp": f"{TUESDAY}T00:41:00Z", "lastTimestamp": seen, "count": count}
    parts = {"involvedObject": involved, "type": kind, "reason": reason, "message": message, **times}
    source = {"component": "kubelet", "host": "node-a"}
    return builtin("v1", "Event", "events", namespace, f"{name}.{number:04}", seen, **parts, source=source)


def workload(namespace: str, app: str, created: str, ready: int = 2) -> Iterator[Write]:
    """Yield a Deployment and its ReplicaSet."""
    selector = {"matchLabels": {"app": app}}
    containers = [{"name": app, "image": f"registry.example.com/{app}:1.4"}]
    template = {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers}}
    spec = {"replicas": 2, "selector": selector, "template": template}
    status = {"replicas": 2, "readyReplicas": ready, "availableReplicas": ready}
    parts = {"spec": spec, "status": {**status, "updatedReplicas": 2}}
    yield builtin("apps/v1", "Deployment", "deployments", namespace, app, created, **parts)
    parts = {"spec": spec, "status": status, "metadata": owner("apps/v1", "Deployment", app)}
    yield builtin("apps/v1", "ReplicaSet", "replicasets", namespace, app, created, **parts)


def service(namespace: str, app: str, created: str) -> Write:
    spec = {"selector": {"app": app}, "ports": [{"port": 443}], "type": "ClusterIP"}
    return builtin("v1", "Service", "services/specs", namespace, app, created, spec=spec)


def custom(value: dict) -> Write:
    """Return key and value of a custom resource."""
    plural = {"Loaf": "loaves"}.get(value["kind"], value["kind"].lower() + "s")
    metadata = value["metadata"]
    return "/".join(("/registry", GROUP, plural, *filter(None, [metadata.get("namespace")]), metadata["name"])), value


def definition(value: dict) -> Write:
    return f"/registry/apiextensions.k8s.io/customresourcedefinitions/{value['metadata']['name']}", value


def loaf(number: int) -> Write:
    grams = 300 + 50 * (number * 7 % 31)
    shape, baked = ("round", "long")[number % 2], f"{MONDAY}T0{number % 2}:{number % 60:02}:00Z"
    spec = {"flour": FLOURS[number % 3], "grams": grams, "shape": shape, "baked": baked}
    return custom(item("Loaf", f"loaf-{number:03}", "shop", spec, creationTimestamp=baked))


def order(number: int, day: str, **spec) -> Write:
    lines = [
        {"flour": FLOURS[(number + each) % 3], "count": 1 + (number * number + 3 * each) % 8}
        for each in range(1 + number % 3)
    ]
    spec = {"customer": f"Customer {number % 17}", "due": f"{day}T{8 + number % 9:02}:00:00Z", "lines": lines,
            **({"express": True} if number % 5 == 0 else {}), **spec}  # fmt: skip
    return custom(item("Order", f"order-{number:03}", "shop", spec, creationTimestamp=f"{day}T01:{number % 60:02}:00Z"))


def oven(number: int, *, ready: bool = True, **spec) -> Write:
    spec = {"maxCelsius": 250 + 10 * number, "fuel": ("gas", "wood", "pellets")[number % 3], **spec}
    condition = {"status": "True"} if ready else {"status": "False", "reason": "Open", "message": "the door is open"}
    value = item("Oven", f"oven-{number}", None, spec, creationTimestamp=SEPTEMBER)
    return custom({**value, "status": {"conditions": [{"type": "Ready", **condition}]}})


def monday(cluster: str) -> Iterator[Write]:
    """Yield what a cluster has in the first night."""
    yield from map(definition, (loaves(), ovens(), orders(), recipes()))
    for name in ("kitchen", "shop"):
        yield builtin("v1", "Namespace", "namespaces", None, name, SEPTEMBER, status={"phase": "Active"})
    node = {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.37.2"}}
    yield builtin("v1", "Node", "minions", None, "node-a", SEPTEMBER, status=node)
    for namespace, app in (("kitchen", "recipe-converter"), ("shop", "till")):
        yield service(namespace, app, SEPTEMBER)
        yield from workload(namespace, app, SEPTEMBER)
        for number in range(2):
            yield pod(namespace, f"{app}-{number}", SEPTEMBER)
    for number, flour in enumerate(FLOURS):
        yield custom(item("Recipe", f"bread-of-{flour}", "kitchen", {"flour": flour, "minutes": 40 + number}))
    yield custom(item("Recipe", "grandmothers", "kitchen", {"flour": "rye", "time": "one evening"}, "v1alpha1"))
    for number in range(1, 5):
        yield oven(number, **({"serviced": "last spring"} if (number, cluster) == (3, "east") else {}))
    for number in range(90 if cluster == "east" else 60):
        yield loaf(number)
    for number in range(60):
        yield order(number, MONDAY)
    yield order(60, MONDAY, customer="School", lines=[{"flour": "rye", "count": 40}])


def tuesday(cluster: str) -> Iterator[Write]:
    """Yield what was written between the two nights; None deletes."""
    for number in range(0, 60, 2):
        yield order(number, MONDAY)[0], None  # delivered
    for number in range(61, 100):
        yield order(number, TUESDAY)
    if cluster == "east":
        yield definition(loaves(HEAVY_SPELT))
        yield oven(3, serviced="2026-11-23T10:00:00Z")
        crashed = pod("shop", "till-1", SEPTEMBER, waiting="CrashLoopBackOff", restarts=7)
        yield from workload("shop", "till", SEPTEMBER, ready=1)
        yield crashed
        pulled, failed = "Container image already present on machine", "Back-off restarting failed container till"
        yield event(crashed, 1, "Normal", "Pulled", pulled, minute=50, count=8)
        yield event(crashed, 2, "Warning", "BackOff", failed, minute=58, count=31)
    else:
        yield order(60, MONDAY, customer="School", contact="the caretaker", lines=[{"flour": "rye", "count": 40}])
        yield oven(2, ready=False)
        yield "/registry/services/specs/kitchen/recipe-converter", None  # so no client can list recipes


def dumps() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each snapshot."""
    for cluster in CLUSTERS:
        history = History()
        for night, writes in (("monday", monday), ("tuesday", tuesday)):
            for key, value in writes(cluster):
                if value is None:
                    history.delete(key.encode())
                else:
                    history.put(key.encode(), encode(value))
            yield f"{night}/{cluster}.db.gz", gzip.compress(snapshot(bolt_file(etcd_buckets(history.rows))), 9, mtime=0)
