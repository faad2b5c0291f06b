"""A small bakery as a cluster: definitions in two revisions, objects drawn by a seeded generator, and damaged values.

The first revision of the definitions is loose, the second limits it, adds defaults and rules, moves the storage version
and selects fields. `record` creates the objects under the first, moves to the second and asks a real API server.
"""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMESPACES = ("north", "south", "market")
CREATED = "2026-02-11T08:00:00Z"
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def text(**more: Any) -> dict[str, Any]:
    return {**TEXT, **more}


def crd(
    group: str, plural: str, kind: str, versions: list[dict[str, Any]], *, scope: str = "Namespaced", **more: Any
) -> dict[str, Any]:
    names = {
        "plural": plural,
        "singular": kind.lower(),
        "kind": kind,
        "listKind": f"{kind}List",
        **more.pop("names", {}),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": versions, **more},
    }


def version(
    name: str, spec: dict[str, Any], status: dict[str, Any] | None = None, *, storage: bool = True, **more: Any
) -> dict[str, Any]:
    properties = {"spec": spec} | ({"status": status} if status else {})
    root = {"type": "object", "properties": properties, **more.pop("root", {})}
    subresources = more.pop("subresources", {"status": {}} if status else {})
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": root},
        "subresources": subresources,
        **more,
    }


def loaf(revision: int) -> dict[str, Any]:
    """Loaves: two versions, a status, columns, selectable fields; storage moves from v1alpha1 to v1."""
    spec: dict[str, Any] = {
        "type": "object",
        "properties": {
            "flour": text(),
            "grams": dict(NUMBER),
            "seeds": {"type": "array", "items": text()},
            "glaze": text(),
            "baked": text(),
            "price": {"x-kubernetes-int-or-string": True},
            "crust": {"type": "number"},
            "sold": {"type": "boolean"},
            "labels": {"type": "object", "additionalProperties": text()},
        },
    }
    status = {"type": "object", "properties": {"phase": text(), "seen": dict(NUMBER)}}
    if revision == 2:
        fields = spec["properties"]
        fields["flour"] = text(enum=["wheat", "rye", "spelt"])
        fields["grams"] = {"type": "integer", "minimum": 100, "maximum": 5000}
        fields["seeds"] = {"type": "array", "items": text(maxLength=8), "maxItems": 4, "x-kubernetes-list-type": "set"}
        fields["baked"] = text(format="date-time")
        fields["shape"] = text(default="round")
        fields["labels"] = {"type": "object", "additionalProperties": text(minLength=1), "maxProperties": 3}
        fields["crust"] = {"type": "number", "multipleOf": 0.5}
        del fields["glaze"]
        spec["required"] = ["flour"]
        spec["x-kubernetes-validations"] = [
            {"rule": "!has(self.sold) || !self.sold || has(self.price)", "message": "a loaf that is sold has a price"},
            {
                "rule": "!has(self.grams) || self.grams % 50 == 0",
                "messageExpression": "self.grams > 500 ? 'large, and not in steps of 50' : 'not in steps of 50'",
            },
        ]
        status["properties"]["phase"] = text(enum=["Rising", "Baked"])
    columns = [
        {"name": "Flour", "type": "string", "jsonPath": ".spec.flour"},
        {"name": "Grams", "type": "integer", "jsonPath": ".spec.grams", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    selectable = [{"jsonPath": ".spec.flour"}, {"jsonPath": ".spec.grams"}] if revision == 2 else []
    old = copy.deepcopy(spec)
    old["properties"].pop("price")
    if revision == 2:
        old["x-kubernetes-validations"] = old["x-kubernetes-validations"][1:]
        old["properties"]["shape"] = text(default="square")
    more = {"selectableFields": selectable} if selectable else {}
    versions = [
        version("v1", spec, status, storage=revision == 2, additionalPrinterColumns=columns, **more),
        version("v1alpha1", old, status, storage=revision == 1),
    ]
    return crd(
        "bakery.example.com", "loaves", "Loaf", versions, names={"shortNames": ["lf"], "categories": ["all", "bread"]}
    )


def oven(revision: int) -> dict[str, Any]:
    """Ovens: of the whole cluster, with a scale."""
    spec: dict[str, Any] = {
        "type": "object",
        "properties": {
            "replicas": dict(NUMBER),
            "celsius": dict(NUMBER),
            "fuel": text(nullable=True),
            "shelves": {"type": "array", "items": dict(NUMBER)},
        },
    }
    if revision == 2:
        spec["properties"]["celsius"] = {"type": "integer", "maximum": 300, "default": 220}
        spec["properties"]["fuel"] = text(default="gas")
        spec["properties"]["shelves"] = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}
        spec["x-kubernetes-validations"] = [{"rule": "has(self.celsius) && self.celsius > 50"}]
    status = {"type": "object", "properties": {"replicas": dict(NUMBER)}}
    scale = {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}
    rule = {"rule": "!self.metadata.name.endsWith('pending')", "message": "no name ends in pending"}
    root = {"x-kubernetes-validations": [rule]} if revision == 2 else {}
    versions = [version("v1", spec, status, subresources=scale, root=root)]
    return crd("bakery.example.com", "ovens", "Oven", versions, scope="Cluster")


def recipe(revision: int) -> dict[str, Any]:
    """Recipes: nested lists and maps, embedded objects, unknown fields that are kept; no status; v2 comes with the second."""
    step = {
        "type": "object",
        "properties": {"name": text(), "minutes": dict(NUMBER), "note": text()},
        "required": ["name"],
    }
    spec: dict[str, Any] = {
        "type": "object",
        "properties": {
            "steps": {"type": "array", "items": step},
            "yields": {"type": "object", "additionalProperties": dict(NUMBER)},
            "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "author": text(nullable=True),
            "code": text(),
            "cidr": text(),
            "template": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
        },
    }
    if revision == 2:
        fields = spec["properties"]
        fields["steps"] = {
            **fields["steps"],
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "maxItems": 20,
        }
        fields["steps"]["items"] = copy.deepcopy(step)
        fields["steps"]["items"]["properties"]["minutes"] = {"type": "integer", "minimum": 1, "default": 5}
        fields["steps"]["items"]["x-kubernetes-validations"] = [
            {"rule": "self.name != 'wait' || self.minutes > 10", "message": "a wait is long"}
        ]
        fields["yields"] = {
            "type": "object",
            "additionalProperties": {"type": "integer", "exclusiveMinimum": True, "minimum": 0},
        }
        fields["author"] = text(default="unknown")
        fields["code"] = text(pattern="^[A-Z]{2}-[0-9]+$", maxLength=8)
        fields["cidr"] = text(format="cidr")
        spec["anyOf"] = [{"required": ["steps"]}, {"required": ["code"]}]
        spec["properties"]["code"]["x-kubernetes-validations"] = [
            {"rule": "self == oldSelf", "message": "a code stays"}
        ]
    versions = [version("v1", spec, storage=True)]
    if revision == 2:
        versions.append(version("v2", copy.deepcopy(spec), storage=False))
        versions[1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["source"] = text(default="book")
        versions[1]["selectableFields"] = [{"jsonPath": ".spec.code"}]
    return crd("kitchen.example.org", "recipes", "Recipe", versions)


def courier(_revision: int) -> dict[str, Any]:
    """Couriers: their versions are converted by a webhook that does not answer."""
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:9/convert"}}
    spec = {"type": "object", "properties": {"route": text()}}
    versions = [version("v1", spec, storage=True), version("v1alpha1", copy.deepcopy(spec), storage=False)]
    return crd(
        "hooked.example.com", "couriers", "Courier", versions, conversion={"strategy": "Webhook", "webhook": webhook}
    )


DEFINITIONS = (loaf, oven, recipe, courier)


def documents(revision: int) -> list[dict[str, Any]]:
    return [make(revision) for make in DEFINITIONS]


@dataclass(frozen=True)
class Wanted:
    """An object to create."""

    crd: str
    version: str
    namespace: str | None
    name: str
    body: dict[str, Any]
    status: dict[str, Any] | None = None


def loaf_of(draw: random.Random, version_name: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    spec: dict[str, Any] = {}
    if draw.random() < 0.9:
        spec["flour"] = draw.choice(["wheat", "rye", "spelt", "spelt", "maize"])
    if draw.random() < 0.8:
        spec["grams"] = draw.choice([250, 500, 750, 1000, 75, 6000, 333])
    if draw.random() < 0.5:
        spec["seeds"] = draw.choices(["poppy", "sesame", "flax", "sunflower"], k=draw.randrange(6))
    for key, values, share in (("glaze", ["egg", "milk"], 0.3), ("baked", ["2026-03-01T05:00:00Z", "today"], 0.4),
                               ("crust", [1, 1.5, 0.25], 0.4), ("sold", [True, False], 0.4)):  # fmt: skip
        if draw.random() < share:
            spec[key] = draw.choice(values)
    if version_name == "v1" and draw.random() < 0.5:
        spec["price"] = draw.choice([3, "3 EUR"])
    if draw.random() < 0.3:
        spec["labels"] = {key: draw.choice(["x", ""]) for key in draw.sample(["a", "b", "c", "d"], draw.randrange(5))}
    status = (
        {"phase": draw.choice(["Rising", "Baked", "Burnt"]), "seen": draw.randrange(9)} if draw.random() < 0.5 else None
    )
    return {"spec": spec}, status


def oven_of(draw: random.Random, _version: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    spec: dict[str, Any] = {"replicas": draw.randrange(4)} if draw.random() < 0.7 else {}
    if draw.random() < 0.7:
        spec["celsius"] = draw.choice([40, 200, 250, 400])
    if draw.random() < 0.6:
        spec["fuel"] = draw.choice(["gas", "wood", None])
    if draw.random() < 0.6:
        spec["shelves"] = [draw.randrange(-1, 5) for _ in range(draw.randrange(4))]
    return {"spec": spec}, {"replicas": 1} if draw.random() < 0.5 else None


def recipe_of(draw: random.Random, _version: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    spec: dict[str, Any] = {}
    if draw.random() < 0.7:
        names = draw.choices(["mix", "knead", "wait", "bake"], k=draw.randrange(1, 5))
        spec["steps"] = [
            {
                "name": name,
                **({"minutes": draw.choice([0, 5, 20])} if draw.random() < 0.7 else {}),
                **({"note": "warm"} if draw.random() < 0.3 else {}),
            }
            for name in names
        ]
    if draw.random() < 0.5:
        spec["yields"] = {key: draw.randrange(3) for key in draw.sample(["small", "large"], draw.randrange(3))}
    if draw.random() < 0.3:
        spec["extra"] = {"nested": {"list": [1, "two", None]}}
    for key, values, share in (
        ("author", ["Ann", None], 0.5),
        ("code", ["AB-1", "ab1", "XY-123456"], 0.6),
        ("cidr", ["10.0.0.0/8", "10.0.0.0", "::/0"], 0.4),
    ):
        if draw.random() < share:
            spec[key] = draw.choice(values)
    if draw.random() < 0.2:
        spec["template"] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}
    return {"spec": spec}, None


def objects(count: int, seed: int = 20260211) -> Iterator[Wanted]:
    """Yield objects that the first revision accepts."""
    draw = random.Random(seed)
    names = ("amber", "birch", "delta", "ember", "fjord", "hazel", "kelp", "larch", "onyx", "willow")
    makers = (("loaves.bakery.example.com", ("v1", "v1alpha1"), loaf_of, 5), ("recipes.kitchen.example.org", ("v1",), recipe_of, 5),
              ("ovens.bakery.example.com", ("v1",), oven_of, 2))  # fmt: skip
    for name, versions, make, share in makers:
        for at in range(count * share // 12):
            chosen = draw.choice(versions)
            body, status = make(draw, chosen)
            metadata: dict[str, Any] = {"name": f"{draw.choice(names)}-{at:02d}"}
            if draw.random() < 0.6:
                metadata["labels"] = {
                    "team": draw.choice(["dawn", "dusk"]),
                    **({"tier": "gold"} if draw.random() < 0.5 else {}),
                }
            if draw.random() < 0.3:
                metadata["annotations"] = {"example.com/turn": str(draw.randrange(9))}
            namespace = None if name.startswith("ovens") else draw.choice(NAMESPACES)
            yield Wanted(name, chosen, namespace, metadata["name"], {**body, "metadata": metadata}, status)
    for at in range(4):
        yield Wanted(
            "couriers.hooked.example.com",
            "v1",
            "north",
            f"courier-{at}",
            {"metadata": {"name": f"courier-{at}"}, "spec": {"route": "a"}},
        )


def damaged(good: dict[str, Any], kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield (case, value) of values that no API server writes, made from an object of a kind."""

    def made(**metadata: Any) -> dict[str, Any]:
        found = copy.deepcopy(good)
        found["metadata"] = {key: each for key, each in {**found["metadata"], **metadata}.items() if each is not ...}
        return found

    def top(**more: Any) -> dict[str, Any]:
        return {key: each for key, each in {**copy.deepcopy(good), **more}.items() if each is not ...}

    cases: dict[str, Any] = {
        "annotations-list": made(annotations=["a"]), "annotations-null": made(annotations=None),
        "annotation-bad-key": made(annotations={"a b": "1", "": "2"}), "annotations-object-value": made(annotations={"a": {}}),
        "creation-garbage": made(creationTimestamp="yesterday"), "creation-null": made(creationTimestamp=None),
        "creation-number": made(creationTimestamp=5), "deletion-pending": made(deletionTimestamp=CREATED, deletionGracePeriodSeconds=0, finalizers=["example.com/x"]),
        "finalizer-bad": made(finalizers=["no slash"]), "finalizers-numbers": made(finalizers=[1]), "finalizers-string": made(finalizers="a"),
        "generate-name": made(generateName="x-"), "generation-float": made(generation=1.5), "generation-missing": made(generation=...),
        "generation-negative": made(generation=-1), "generation-string": made(generation="1"), "label-bad-key": made(labels={"a b": "1"}),
        "label-bad-value": made(labels={"a": "b c"}), "labels-list": made(labels=[]), "labels-null-value": made(labels={"a": None}),
        "labels-number": made(labels={"a": 1}), "labels-string": made(labels="a"), "managed-fields-missing": made(managedFields=...),
        "managed-fields-garbage": made(managedFields="x"), "managed-fields-odd": made(managedFields=[{"manager": "x"}]),
        "no-uid": made(uid=...), "uid-number": made(uid=7), "owner-string": made(ownerReferences="x"),
        "owner-incomplete": made(ownerReferences=[{"kind": "Pod"}]), "resource-version-stored": made(resourceVersion="12"), "resource-version-number": made(resourceVersion=12),
        "self-link": made(selfLink="/x"), "unknown-metadata": made(surprise=True), "name-differs": made(name="another"),
        "spec-missing": top(spec=...), "spec-null": top(spec=None), "spec-list": top(spec=[1]), "spec-string": top(spec="x"), "spec-empty": top(spec={}),
        "unknown-top": top(surprise={"a": 1}), "unknown-spec": top(spec={**(good.get("spec") or {}), "surprise": [1]}), "kind-differs": top(kind="Cake"),
        "kind-missing": top(kind=...), "api-version-missing": top(apiVersion=...), "version-unknown": top(apiVersion=f"{good['apiVersion'].partition('/')[0]}/v9"),
        "group-differs": top(apiVersion="other.example.com/v1"), "list-kind": top(kind=f"{kind}List"), "list-with-items": top(kind=f"{kind}List", items=[good]), "items": top(items=["a"]), "metadata-list": top(metadata=[]), "metadata-string": top(metadata="x"),
        "wrong-types": top(spec={"grams": "many", "seeds": {}, "steps": "mix", "code": 5, "celsius": "hot"}), "null-fields": top(spec={"flour": None, "grams": None, "code": None, "celsius": None}),
        "number-float-int": top(spec={**(good.get("spec") or {}), "grams": 500.0, "replicas": 2.0}), "number-fraction": top(spec={"grams": 500.5, "replicas": 2.5}),
        "number-large": top(spec={"grams": 2**63 - 1, "replicas": 2**63}),
    }  # fmt: skip
    for name, value in cases.items():
        yield name, json.dumps(value).encode()
    plain = json.dumps(good)
    yield "truncated", plain[: len(plain) // 2].encode()
    yield "empty", b""
    yield "trailing-garbage", plain.encode() + b"x"
    yield "trailing-newlines", plain.encode() + b"\n\n"
    yield "leading-space", b"  " + plain.encode()
    yield "crlf-pretty", json.dumps(good, indent=2).replace("\n", "\r\n").encode()
    yield "byte-order-mark", b"\xef\xbb\xbf" + plain.encode()
    yield "duplicate-keys", plain[:-1].encode() + b',"spec":{},"spec":{"flour":"rye"}}'
    yield "invalid-utf8", plain.encode().replace(b'"spec": {', b'"spec": {"flour": "r\xffe", ', 1)
    yield "lone-surrogate", plain.encode().replace(b'"spec": {', b'"spec": {"flour": "\\ud800", ', 1)
    yield "mixed-case", plain.encode().replace(b'"spec"', b'"Spec"', 1)
    yield "array", b"[" + plain.encode() + b"]"
    yield "protobuf", b"k8s\x00\n\x06\n\x01a\x12\x01b"
    yield "sealed", b"k8s:enc:aescbc:v1:key1:" + bytes(range(32))
