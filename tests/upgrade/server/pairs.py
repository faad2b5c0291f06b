"""Pairs of definitions with objects: an upgrade each, with a trap in most of them.

Each pair has a group of its own, so that all of them fit into one server.
"""

import copy
from dataclasses import dataclass, field

WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:9/convert"},
    },
}
STATUS = {"type": "object", "properties": {"ready": {"type": "boolean"}, "phase": {"type": "string"}}}
SPEC = {
    "type": "object",
    "properties": {"size": {"type": "integer"}, "color": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
}  # fmt: skip


def spec(changed=None, **more):
    """Return the usual schema of a spec with properties replaced or (None) removed."""
    made = copy.deepcopy(SPEC)
    for name, schema in (changed or {}).items():
        if schema is None:
            del made["properties"][name]
        else:
            made["properties"][name] = schema
    return {**made, **more}


def version(name="v1", schema=None, *, served=True, storage=True, status=STATUS, root=None, **more):
    properties = {"spec": schema or spec(), "status": status}
    made = {"type": "object", "properties": properties, **(root or {})}
    out = {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": made}, **more}
    out.setdefault("subresources", {"status": {}})
    return {key: value for key, value in out.items() if value is not None}


def crd(*versions, scope="Namespaced", names=None, conversion=None, **more):
    """Return a definition; its group is filled in by `Pair`."""
    own = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", **(names or {})}
    made = {"scope": scope, "names": own, "versions": list(versions), **more}
    return made if conversion is None else {**made, "conversion": conversion}


def widget(name="a", at="v1", *, status=None, **content):
    made = {"at": at, "name": name, "spec": {"size": 1, "color": "red", **content}}
    made["spec"] = {key: value for key, value in made["spec"].items() if value is not None}
    return made if status is None else {**made, "status": status}


@dataclass
class Pair:
    """An upgrade.

    Attributes:
        objects: Created under the old definition, by POST, or by server-side apply where they say so.
        stored: status.storedVersions that is patched into the old definition afterwards.
        flipped: Versions that are made the storage version after the objects were created.
        raw: Values put into etcd as they are, by name.
        others: More definitions, there before the upgrade.
        group: Group of the new definition where it is another.
        api: The `api` of the new definition.
    """

    name: str
    old: dict
    new: dict
    objects: list = field(default_factory=lambda: [widget()])
    stored: list | None = None
    flipped: str = ""
    raw: dict = field(default_factory=dict)
    others: list = field(default_factory=list)
    api: str = "apiextensions.k8s.io/v1"
    new_name: str = ""

    @property
    def group(self):
        return f"{self.name}.acme.io"

    def document(self, body, *, api="apiextensions.k8s.io/v1", name=""):
        plural = body.get("names", {}).get("plural", "widgets")
        metadata = {"name": name or f"{plural}.{self.group}"}
        return {"apiVersion": api, "kind": "CustomResourceDefinition", "metadata": metadata,
                "spec": {"group": self.group, **copy.deepcopy(body)}}  # fmt: skip

    @property
    def old_document(self):
        return self.document(self.old)

    @property
    def new_document(self):
        return self.document(self.new, api=self.api, name=self.new_name)


def one(schema=None, **more):
    return crd(version(schema=schema, **more))


def two(*, storage="v1", served=("v1alpha1", "v1"), schemas=None, **more):
    names = ("v1alpha1", "v1")
    given = schemas or {}
    return crd(
        *(version(name, given.get(name), served=name in served, storage=name == storage) for name in names), **more
    )


STRING = {"type": "string"}
ALPHA = [widget(at="v1alpha1")]
ITEMS = {"type": "array", "items": {"type": "object", "properties": {"k": STRING, "v": STRING}}}
COSTLY = {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [
    {"rule": "self.all(a, self.all(b, self.all(c, self.exists(d, d != a + b + c))))"}]}  # fmt: skip

PAIRS = [
    Pair("same", one(), one()),
    Pair("described", one(), one(spec({"color": {"type": "string", "description": "a colour"}}))),
    Pair("field-added", one(), one(spec({"owner": STRING}))),
    Pair("field-removed-unused", one(spec({"old": STRING})), one()),
    Pair("field-removed-used", one(spec({"old": STRING})), one(), [widget(old="x")]),
    Pair("field-removed-in-items", one(spec({"list": ITEMS})),
         one(spec({"list": {"type": "array", "items": {"type": "object", "properties": {"k": STRING}}}})),
         [widget(list=[{"k": "a", "v": "b"}])]),
    Pair("required-missing", one(), one(spec({"owner": STRING}, required=["owner"]))),
    Pair("required-there", one(), one(spec(required=["color"]))),
    Pair("required-at-root", one(), one(root={"required": ["status"]})),
    Pair("enum-hit", one(), one(spec({"color": {"type": "string", "enum": ["blue"]}}))),
    Pair("enum-not-hit", one(), one(spec({"color": {"type": "string", "enum": ["red"]}}))),
    Pair("pattern-hit", one(), one(spec({"color": {"type": "string", "pattern": "^b"}}))),
    Pair("pattern-not-hit", one(), one(spec({"color": {"type": "string", "pattern": "^r"}}))),
    Pair("length-not-hit", one(), one(spec({"color": {"type": "string", "maxLength": 5}}))),
    Pair("maximum-hit", one(), one(spec({"size": {"type": "integer", "maximum": 0}}))),
    Pair("multiple-hit", one(), one(spec({"size": {"type": "integer", "multipleOf": 2}}))),
    Pair("items-hit", one(), one(spec({"tags": {"type": "array", "maxItems": 1, "items": STRING}})), [widget(tags=["a", "b"])]),
    Pair("format-hit", one(), one(spec({"color": {"type": "string", "format": "date-time"}}))),
    Pair("format-unknown", one(), one(spec({"color": {"type": "string", "format": "paint"}}))),
    Pair("type-changed-hit", one(), one(spec({"size": STRING}))),
    Pair("type-changed-absent", one(), one(spec({"size": STRING})), [widget(size=None)]),
    Pair("number-to-integer", one(spec({"size": {"type": "number"}})), one(), [widget(size=1.5)]),
    Pair("integer-to-number", one(), one(spec({"size": {"type": "number"}}))),
    Pair("int-or-string-narrowed", one(spec({"port": {"x-kubernetes-int-or-string": True}})),
         one(spec({"port": {"type": "integer"}})), [widget(port="http")]),
    Pair("null-goes", one(spec({"color": {"type": "string", "nullable": True}})), one(), [widget(color=None)]),
    Pair("one-of-hit", one(), one(spec(oneOf=[{"required": ["color"]}, {"required": ["size"]}]))),
    Pair("min-properties-hit", one(), one(spec(minProperties=3))),
    Pair("rule-hit", one(), one(spec(**{"x-kubernetes-validations": [{"rule": "self.size > 1"}]}))),
    Pair("rule-not-hit", one(), one(spec(**{"x-kubernetes-validations": [{"rule": "self.size > 0"}]}))),
    Pair("rule-at-root", one(), one(root={"x-kubernetes-validations": [{"rule": "self.spec.size > 1"}]})),
    Pair("rule-immutable", one(), one(spec({"color": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}))),
    Pair("rule-immutable-absent", one(spec({"owner": STRING})),
         one(spec({"owner": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}))),
    Pair("rule-too-costly", one(), one(spec({"tags": COSTLY}))),
    Pair("rule-broken", one(), one(spec(**{"x-kubernetes-validations": [{"rule": "self.nothing > 1"}]}))),
    Pair("rule-on-status", one(), one(status={**STATUS, "x-kubernetes-validations": [{"rule": "self.ready"}]}),
         [widget(status={"ready": False})]),
    Pair("set-duplicates", one(), one(spec({"tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}})),
         [widget(tags=["a", "a"])]),
    Pair("set-without-duplicates", one(), one(spec({"tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}})),
         [widget(tags=["a", "b"])]),
    Pair("map-keys-changed",
         one(spec({"list": {**ITEMS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                            "items": {**ITEMS["items"], "required": ["k", "v"]}}})),
         one(spec({"list": {**ITEMS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["v"],
                            "items": {**ITEMS["items"], "required": ["k", "v"]}}})),
         [widget(list=[{"k": "a", "v": "x"}, {"k": "b", "v": "x"}])]),
    Pair("map-keys-optional", one(spec({"list": ITEMS})),
         one(spec({"list": {**ITEMS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}})),
         [widget(list=[{"k": "a"}])]),
    Pair("scope-changed", one(), crd(version(), scope="Cluster")),
    Pair("kind-changed", one(), crd(version(), names={"kind": "Gadget", "listKind": "GadgetList"})),
    Pair("list-kind-changed", one(), crd(version(), names={"listKind": "Widgets"})),
    Pair("plural-changed", one(), crd(version(), names={"plural": "gadgets"}), new_name="widgets.plural-changed.acme.io"),
    Pair("plural-invalid", one(), crd(version(), names={"plural": "Widgets"}), new_name="widgets.plural-invalid.acme.io"),
    Pair("short-removed", crd(version(), names={"shortNames": ["wi"]}), one()),
    Pair("short-taken", one(), crd(version(), names={"shortNames": ["ga"]}),
         others=[crd(version(), names={"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList",
                                       "shortNames": ["ga"]})]),
    Pair("categories-changed", one(), crd(version(), names={"categories": ["all"]})),
    Pair("singular-changed", one(), crd(version(), names={"singular": "wid"})),
    Pair("storage-moves", two(), two(storage="v1alpha1")),
    Pair("served-off", one(), one(served=False)),
    Pair("served-off-one", two(), two(served=("v1",))),
    Pair("served-version-removed", two(), one()),
    Pair("unserved-version-removed", two(served=("v1",)), one()),
    Pair("stored-version-removed-empty", two(), one(), stored=["v1alpha1", "v1"]),
    Pair("stored-version-removed", two(storage="v1alpha1"), one(), flipped="v1"),
    Pair("stored-version-removed-rewritten", two(), one(), ALPHA, stored=["v1alpha1", "v1"]),
    Pair("stored-version-forgotten", two(storage="v1alpha1"), one(), flipped="v1", stored=["v1"]),
    Pair("storage-goes", two(storage="v1alpha1"), one()),
    Pair("storage-goes-empty", two(storage="v1alpha1"), one(), []),
    Pair("nothing-in-common", one(), crd(version("v2"))),
    Pair("nothing-in-common-empty", one(), crd(version("v2")), []),
    Pair("storage-goes-field-missing", two(storage="v1alpha1", schemas={"v1alpha1": spec({"old": STRING})}), one(),
         [widget(at="v1alpha1", old="x")]),
    Pair("storage-new-version", one(), crd(version(storage=False), version("v2"))),
    Pair("storage-new-version-narrow", one(), crd(version(storage=False), version("v2", spec({"color": None})))),
    Pair("version-added", one(), crd(version(), version("v2", storage=False))),
    Pair("managed-by-removed", two(), one(), [{**widget(at="v1alpha1"), "apply": "operator"}]),
    Pair("managed-and-stored", two(), one(), [{**widget(at="v1alpha1"), "apply": "operator"}], stored=["v1alpha1", "v1"]),
    Pair("status-removed", one(), one(subresources=None), [widget(status={"ready": True})]),
    Pair("status-added", one(subresources=None), one()),
    Pair("status-narrower", one(), one(status={"type": "object", "properties": {"ready": {"type": "boolean"},
         "phase": {"type": "string", "enum": ["Done"]}}}), [widget(status={"phase": "Busy"})]),
    Pair("status-field-removed", one(), one(status={"type": "object", "properties": {"ready": {"type": "boolean"}}}),
         [widget(status={"phase": "Busy"})]),
    Pair("scale-removed", one(subresources={"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"}}),
         one(subresources={})),
    Pair("selectable-removed", one(selectableFields=[{"jsonPath": ".spec.color"}]), one()),
    Pair("selectable-added", one(), one(selectableFields=[{"jsonPath": ".spec.color"}])),
    Pair("selectable-missing", one(), one(selectableFields=[{"jsonPath": ".spec.nothing"}])),
    Pair("columns-changed", one(), one(additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}])),
    Pair("columns-invalid", one(), one(additionalPrinterColumns=[{"name": "Size", "type": "int", "jsonPath": ".spec.size"}])),
    Pair("unknown-no-longer-kept", one({"type": "object", "x-kubernetes-preserve-unknown-fields": True}), one(), [widget(more=1)]),
    Pair("unknown-no-longer-kept-none", one({"type": "object", "x-kubernetes-preserve-unknown-fields": True}), one()),
    Pair("unknown-kept", one(), one({"type": "object", "x-kubernetes-preserve-unknown-fields": True})),
    Pair("preserve-unknown-on", one(), crd(version(), preserveUnknownFields=True)),
    Pair("map-closed", one(spec({"labels": {"type": "object", "additionalProperties": STRING}})),
         one(spec({"labels": {"type": "object", "properties": {"a": STRING}}})), [widget(labels={"b": "x"})]),
    Pair("map-narrower", one(spec({"labels": {"type": "object", "additionalProperties": STRING}})),
         one(spec({"labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}}})),
         [widget(labels={"b": "long"})]),
    Pair("schema-gone", one(), crd({key: value for key, value in version().items() if key != "schema"})),
    Pair("not-structural", one(), one(spec({"color": {"pattern": "x"}}))),
    Pair("two-storage-versions", two(), crd(version("v1alpha1"), version("v1"))),
    Pair("no-storage-version", two(), crd(version("v1alpha1", storage=False), version("v1", storage=False))),
    Pair("same-version-twice", one(), crd(version("v1"), version("v1", storage=False))),
    Pair("version-name-invalid", one(), crd(version(), version("V_2", storage=False))),
    Pair("webhook-without-client", two(), two(conversion={"strategy": "Webhook"})),
    Pair("webhook-added", two(), two(conversion=WEBHOOK)),
    Pair("webhook-added-stored-elsewhere", two(storage="v1alpha1"), two(conversion=WEBHOOK)),
    Pair("webhook-one-version", one(), crd(version(), conversion=WEBHOOK)),
    Pair("default-added", one(), one(spec({"owner": {"type": "string", "default": "nobody"}}))),
    Pair("default-invalid", one(), one(spec({"owner": {"type": "string", "default": 1}}))),
    Pair("embedded-invalid", one(spec({"template": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}})),
         one(spec({"template": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-embedded-resource": True}})),
         [widget(template={"x": 1})]),
    Pair("v1beta1", one(), one(), api="apiextensions.k8s.io/v1beta1"),
    Pair("group-protected", one(), one(), new_name="widgets.example.k8s.io"),
    Pair("cluster-scoped", crd(version(), scope="Cluster"), crd(version(schema=spec({"owner": STRING}, required=["owner"])), scope="Cluster")),
    Pair("torn", one(), one(spec({"owner": STRING})), raw={"torn": '{"apiVersion":"torn.acme.io/v1","kind":"Wid'}),
    Pair("version-unknown-before", one(), one(spec({"owner": STRING})),
         raw={"lost": '{"apiVersion":"version-unknown-before.acme.io/v0","kind":"Widget","metadata":{"name":"lost","namespace":"default",'
                      '"uid":"u","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"size":1}}'}),
    Pair("no-object", one(), one(spec({"color": None}, required=["size"])), []),
]  # fmt: skip
