"""What `cluster.db.gz` holds: definitions of a bakery and its objects, in the order in which `make.py` writes them.

The definitions are written as API servers store them (apiextensions.k8s.io/v1beta1 JSON). Nothing here comes from a
real cluster.
"""

from __future__ import annotations

import json

GROUP = "bakery.example.com"


def string(**more):
    return {"type": "string", **more}


def crd(plural, kind, versions, *, scope="Namespaced", subresources=None, conversion=None, stored=()):
    """Return a definition in the stored form; `stored` are versions that were the storage version before."""
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List"}
    spec = {
        "group": GROUP,
        "version": versions[0]["name"],
        "names": names,
        "scope": scope,
        "versions": versions,
        "conversion": conversion or {"strategy": "None"},
        "preserveUnknownFields": False,
    }
    if subresources:
        spec["subresources"] = subresources
    conditions = [
        {
            "type": kind_,
            "status": "True",
            "reason": "InitialNamesAccepted",
            "message": "the initial names set was accepted",
        }
        for kind_ in ("NamesAccepted", "Established")
    ]
    storage = [version["name"] for version in versions if version["storage"]]
    return {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "metadata": {"name": f"{plural}.{GROUP}", "uid": f"crd-{plural}", "generation": 1,
                     "creationTimestamp": "2026-01-05T08:00:00Z"},
        "spec": spec,
        "status": {"conditions": conditions, "acceptedNames": names,
                   "storedVersions": [*stored, *storage]},
    }  # fmt: skip


LOAF_SPEC = {
    "type": "object",
    "required": ["flour"],
    "properties": {
        "flour": string(enum=["wheat", "rye", "spelt"]),
        "grams": {"type": "integer", "minimum": 100, "maximum": 5000},
        "shape": string(default="round"),
        "seeds": {"type": "array", "items": string(), "x-kubernetes-list-type": "set"},
    },
}


def loaf_schema(extra=None):
    spec = {**LOAF_SPEC, "properties": {**LOAF_SPEC["properties"], **(extra or {})}}
    status = {"type": "object", "properties": {"phase": string()}}
    return {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}}}


OVEN_SCHEMA = {
    "openAPIV3Schema": {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["maxCelsius"],
                "properties": {
                    "maxCelsius": {"type": "integer"},
                    "fuel": string(default="gas"),
                    "electric": {"type": "boolean"},
                    "serviced": string(format="date-time"),
                },
            }
        },
    }
}

ORDER_SCHEMA = {
    "openAPIV3Schema": {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"customer": string(minLength=2), "count": {"type": "integer"}}}
        },
    }
}

DEFINITIONS = [
    crd(
        "loaves",
        "Loaf",
        [
            {"name": "v1", "served": True, "storage": True, "schema": loaf_schema({"glaze": string()}),
             "selectableFields": [{"jsonPath": ".spec.flour"}, {"jsonPath": ".spec.grams"}]},
            {"name": "v1alpha1", "served": True, "storage": False, "schema": loaf_schema(),
             "selectableFields": [{"jsonPath": ".spec.flour"}]},
        ],
        subresources={"status": {}},
        stored=["v1alpha1"],
    ),
    crd(
        "ovens",
        "Oven",
        [{"name": "v1", "served": True, "storage": True, "schema": OVEN_SCHEMA,
          "selectableFields": [{"jsonPath": ".spec.fuel"}, {"jsonPath": ".spec.electric"}]}],
        scope="Cluster",
    ),
    crd("orders", "Order", [{"name": "v1", "served": True, "storage": True, "schema": ORDER_SCHEMA}]),
]  # fmt: skip


def item(kind, name, namespace, spec, version="v1", **metadata):
    meta = {"name": name, "uid": f"{kind.lower()}-{name}", "generation": 1,
            "creationTimestamp": "2026-02-01T06:30:00Z", **metadata}  # fmt: skip
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": meta, "spec": spec}


def values():
    """Yield (key, bytes) in the order in which they are written; a later value of a key replaces the former."""
    root = "/registry"
    for definition in DEFINITIONS:
        name = definition["metadata"]["name"]
        yield f"{root}/apiextensions.k8s.io/customresourcedefinitions/{name}", encode(definition)
    for namespace in ("north", "south"):
        for number in range(12):
            flour = ("wheat", "rye", "spelt")[number % 3]
            spec = {"flour": flour, "grams": 250 + 50 * number, "shape": "long"}
            yield (
                key("loaves", namespace, f"loaf-{number:02}"),
                encode(
                    item("Loaf", f"loaf-{number:02}", namespace, spec, labels={"team": ("day", "night")[number % 2]})
                ),
            )
    old = [("old-rye", {"flour": "rye", "grams": 900}), ("old-wheat", {"flour": "wheat", "glaze": "egg"})]
    for name, spec in old:  # stored before v1 became the storage version; `glaze` is unknown there
        yield key("loaves", "north", name), encode(item("Loaf", name, "north", spec, "v1alpha1"))
    bad = {
        "too-heavy": {"flour": "rye", "grams": 9000, "shape": "long"},
        "wrong-flour": {"flour": "sand", "grams": 500, "shape": "long"},
        "no-flour": {"grams": 500, "shape": "long"},
        "twice-seeded": {"flour": "rye", "shape": "long", "seeds": ["poppy", "sesame", "poppy"]},
    }
    for name, spec in bad.items():
        yield key("loaves", "south", name), encode(item("Loaf", name, "south", spec))
    yield key("loaves", "south", "shapeless"), encode(item("Loaf", "shapeless", "south", {"flour": "rye"}))  # defaulted
    yield (
        key("loaves", "south", "old-recipe"),
        encode(
            item("Loaf", "old-recipe", "south", {"flour": "rye", "shape": "long", "yeast": {"grams": 7}})  # pruned
        ),
    )
    for name, fuel in (("oven-a", "gas"), ("oven-b", "wood"), ("oven-c", None)):
        spec = {"maxCelsius": 280, "electric": fuel is None} | ({"fuel": fuel} if fuel else {})
        yield f"{root}/{GROUP}/ovens/{name}", encode(item("Oven", name, None, spec))
    dated = {"maxCelsius": 250, "fuel": "gas", "serviced": "last spring"}
    yield f"{root}/{GROUP}/ovens/oven-d", encode(item("Oven", "oven-d", None, dated))  # wrong format
    for number in range(3):
        spec = {"customer": f"Customer {number}", "count": number}
        yield key("orders", "north", f"order-{number}"), encode(item("Order", f"order-{number}", "north", spec))
    torn = encode(item("Order", "order-torn", "north", {"customer": "Nobody", "count": 1}))
    yield key("orders", "north", "order-torn"), torn[:-20]  # cut short: every LIST of orders fails
    yield (
        f"{root}/gone.example.com/ghosts/north/ghost",
        encode(
            {"apiVersion": "gone.example.com/v1", "kind": "Ghost", "metadata": {"name": "ghost", "namespace": "north"}}
        ),
    )  # its definition was deleted
    yield (
        f"{root}/configmaps/north/notes",
        encode(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes", "namespace": "north"}, "data": {}}
        ),
    )
    yield f"{root}/health", b""
    yield (
        key("loaves", "north", "loaf-00"),
        encode(item("Loaf", "loaf-00", "north", {"flour": "rye", "grams": 260, "shape": "round"}, generation=2)),
    )  # a newer revision


def key(plural, namespace, name):
    return f"/registry/{GROUP}/{plural}/{namespace}/{name}"


def encode(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode() + b"\n"
