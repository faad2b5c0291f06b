"""Manifests of the recorded answers to a create, one document each, and the definitions that they are made for.

`tests.updates.record_create` asks a real server with kubectl.
"""

from __future__ import annotations

from typing import Any, Final

_SPEC: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "colour": {"type": "string", "enum": ["red", "green"], "default": "red"},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "weight": {"type": "number"}},
            },
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "port": {"x-kubernetes-int-or-string": True},
        "note": {"type": "string", "nullable": True},
    },
    "x-kubernetes-validations": [
        {"rule": "self.size != 4", "message": "four is not a size"},
        {"rule": "!has(self.note) || self.note != self.colour"},
    ],
}
_STATUS: Final = {"type": "object", "properties": {"ready": {"type": "boolean"}}}


def _definition(kind: str, scope: str, *, status: bool) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}}
    version = {"served": True, "storage": False, "schema": {"openAPIV3Schema": schema}}
    if status:
        version["subresources"] = {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"},
        }
    plural = kind.lower() + "s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.create.example.com"},
        "spec": {
            "group": "create.example.com",
            "scope": scope,
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {**version, "name": "v1", "storage": True},
                {**version, "name": "v1beta1"},
                {**version, "name": "v1alpha1", "served": False},
            ],
        },
    }


DEFINITIONS: Final = [
    _definition("Gear", "Namespaced", status=True),
    _definition("Bolt", "Namespaced", status=False),
    _definition("World", "Cluster", status=True),
]


def _gear(rest: str, *, kind: str = "Gear", version: str = "v1", metadata: str = "{name: a}") -> str:
    return f"apiVersion: create.example.com/{version}\nkind: {kind}\nmetadata: {metadata}\n{rest}"


def _apps(rest: str) -> str:
    return f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a}}\n{rest}"


def _list(*specs: str) -> str:
    head = "{apiVersion: create.example.com/v1, kind: Gear, metadata: {name: a%d}, %s}"
    return "apiVersion: v1\nkind: List\nitems:\n" + "\n".join("- " + head % one for one in enumerate(specs))


_POD: Final = (
    "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [%s]}}}"
)
_ONE: Final = "spec: {size: 1}"

CASES: Final[dict[str, str]] = {
    # -- custom resources: names and namespaces
    "no-namespace": _gear(_ONE),
    "own-namespace": _gear(_ONE, metadata="{name: a, namespace: default}"),
    "generate-name": _gear(_ONE, metadata="{generateName: a-}"),
    "generate-name-dots": _gear(_ONE, metadata="{generateName: a.}"),
    "generate-name-bad": _gear(_ONE, metadata="{generateName: A_b-}"),
    "generate-name-and-name": _gear(_ONE, metadata="{generateName: A_b-, name: a}"),
    "no-name": _gear(_ONE, metadata="{}"),
    "null-metadata": _gear(_ONE, metadata="null"),
    "no-metadata": f"apiVersion: create.example.com/v1\nkind: Gear\n{_ONE}",
    "bad-name": _gear(_ONE, metadata="{name: Bad_Name}"),
    "long-generate-name": _gear(_ONE, metadata=f"{{generateName: {'a' * 70}}}"),
    "cluster-scoped": _gear(_ONE, kind="World"),
    "cluster-scoped-with-namespace": _gear(_ONE, kind="World", metadata="{name: a, namespace: nowhere}"),
    # -- custom resources: metadata
    "label-number": _gear(_ONE, metadata="{name: a, labels: {a: 1}}"),
    "label-bad": _gear(_ONE, metadata="{name: a, labels: {a: x y}}"),
    "annotation-bool": _gear(_ONE, metadata="{name: a, annotations: {a: true}}"),
    "annotations-null": _gear(_ONE, metadata="{name: a, annotations: null}"),
    "metadata-list": _gear(_ONE, metadata="[]"),
    "metadata-unknown": _gear(_ONE, metadata="{name: a, nme: b}"),
    "finalizer-bad": _gear(_ONE, metadata="{name: a, finalizers: [b a d]}"),
    "owner-incomplete": _gear(_ONE, metadata="{name: a, ownerReferences: [{kind: A, name: b}]}"),
    "system-fields": _gear(
        _ONE,
        metadata="{name: a, uid: u, resourceVersion: '5', generation: -7, selfLink: /a, creationTimestamp: null, "
        "deletionTimestamp: '2026-01-01T00:00:00Z', managedFields: [{manager: a}]}",
    ),
    "timestamp-bad": _gear(_ONE, metadata="{name: a, creationTimestamp: yesterday}"),
    # -- custom resources: fields
    "unknown": _gear("spec: {size: 1, colr: red}"),
    "unknown-three": _gear("spec: {size: 99, colr: red, parts: [{name: a}, {name: b, wight: 1}]}\nextra: 1"),
    "unknown-at-the-root": _gear("spec: {size: 1}\nsize: 1"),
    "unknown-where-free": _gear("spec: {size: 1, free: {a: 1}, template: {apiVersion: v1, kind: A, other: 1}}"),
    "unknown-in-status": _gear("spec: {size: 1}\nstatus: {redy: true}"),
    "status-dropped": _gear('spec: {size: 1}\nstatus: {ready: "yes"}'),
    "status-kept": _gear('spec: {size: 1}\nstatus: {ready: "yes"}', kind="Bolt"),
    "missing": _gear("spec: {}"),
    "no-spec": _gear(""),
    "too-large": _gear("spec: {size: 10}"),
    "wrong-type": _gear("spec: {size: big}"),
    "enum": _gear("spec: {size: 1, colour: blue}"),
    "whole-float": _gear("spec: {size: 1.0}"),
    "float": _gear("spec: {size: 1.5}"),
    "null-with-default": _gear("spec: {size: 1, colour: null}"),
    "null-required": _gear("spec: {size: null}"),
    "nullable": _gear("spec: {size: 1, note: null}"),
    "rule": _gear("spec: {size: 4}"),
    "rule-with-default": _gear("spec: {size: 1, note: red}"),
    "rule-not-run": _gear("spec: {size: 4, colour: blue}"),
    "map-key-twice": _gear("spec: {size: 1, parts: [{name: a}, {name: a}]}"),
    "embedded-without-kind": _gear("spec: {size: 1, template: {metadata: {name: a}}}"),
    "embedded-metadata": _gear(
        "spec: {size: 1, template: {apiVersion: v1, kind: A, metadata: {name: a, labels: {a: 1}}}}"
    ),
    "map-value": _gear("spec: {size: 1, labels: {a: 1}}"),
    "int-or-string": _gear("spec: {size: 1, port: http}"),
    "int-or-string-wrong": _gear("spec: {size: 1, port: [1]}"),
    "yaml-words": _gear("spec: {size: 1, note: yes}"),
    "anchors": _gear("spec:\n  size: 1\n  free:\n    a: &x {b: 1}\n    c: *x\n    d: {<<: *x}"),
    # -- custom resources: versions and kinds
    "other-version": _gear(_ONE, version="v1beta1"),
    "version-not-served": _gear(_ONE, version="v1alpha1"),
    "version-unknown": _gear(_ONE, version="v9"),
    "kind-unknown": _gear(_ONE, kind="Geer"),
    "group-unknown": "apiVersion: nobody.example.com/v1\nkind: Gear\nmetadata: {name: a}",
    "no-api-version": "kind: Gear\nmetadata: {name: a}",
    "no-kind": "apiVersion: create.example.com/v1\nmetadata: {name: a}",
    "neither": "metadata: {name: a}",
    "list": "- a",
    "scalar": "a",
    "two-slashes": "apiVersion: a/b/c\nkind: Gear\nmetadata: {name: a}",
    # -- text
    "braces": "apiVersion: {{ .Values.api }}\nkind: Gear\nmetadata: {name: a}",
    "tab": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: a",
    "open-quote": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a}",
    "unknown-anchor": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: *a}",
    "byte-order-mark": "\ufeffapiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}",
    "comment-only": "# nothing",
    "json": '{"apiVersion": "create.example.com/v1", "kind": "Gear", "metadata": {"name": "a"}, "spec": {"size": 1.0}}',
    "json-torn": '{"apiVersion": "create.example.com/v1", "kind": "Gear", "metadata": {"name": "a"',
    # -- lists, and fields that are written twice
    "list-good": _list(_ONE, "spec: {size: 2}"),
    "list-one-bad": _list(_ONE, "spec: {size: 10}"),
    "list-unknown-field": _list("spec: {size: 1, colr: red}"),
    "list-empty": "apiVersion: v1\nkind: List\nitems: []",
    "list-typed": "apiVersion: create.example.com/v1\nkind: GearList\n"
    "items: [{metadata: {name: a}, spec: {size: 1}}, {metadata: {name: b}, spec: {size: 2}}]",
    "list-of-lists": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n"
    "  items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]",
    "list-without-items": "apiVersion: v1\nkind: List",
    "field-twice": _gear("spec: {size: 1, size: 2}"),
    # -- built-in kinds
    "config-map": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}",
    "config-map-number": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}",
    "config-map-unknown": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {a: b}",
    "config-map-label": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: true}}",
    "secret-base64": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: '%%%'}",
    "deployment": _apps(_POD % "{name: a, image: b}"),
    "deployment-unknown": _apps(_POD % "{name: a, image: b, imagePullPolcy: Always, ports: [{port: 1}]}"),
    "deployment-replicas": _apps('spec: {replicas: "3"}'),
    "deployment-port": _apps(_POD % '{name: a, image: b, ports: [{containerPort: "80"}]}'),
    "deployment-env": _apps(_POD % "{name: a, image: b, env: [{name: A, value: 1}]}"),
    "deployment-quantity": _apps(_POD % "{name: a, image: b, resources: {limits: {cpu: lots}}}"),
    "deployment-case": _apps(_POD % "{Name: a, image: b}"),
    "deployment-status": _apps(_POD % "{name: a, image: b}" + "\nstatus: {replicas: 1, nothing: 1}"),
    "service-port": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80, targetPort: http}]}",
    "namespace": "apiVersion: v1\nkind: Namespace\nmetadata: {name: ab, namespace: other}",
    "cluster-role": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a, namespace: b}\nrules: []",
    "ingress-old": "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}",
    "cron-job-old": "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}",
    "pod-security-policy": "apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: a}",
    "alpha": "apiVersion: internal.apiserver.k8s.io/v1alpha1\nkind: StorageVersion\nmetadata: {name: a.b}\nspec: {}",
    "component-status": "apiVersion: v1\nkind: ComponentStatus\nmetadata: {name: a}",
    "autoscaler": "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"
    "spec: {maxReplicas: 3, minReplica: 1, scaleTargetRef: {kind: Deployment, name: a}}",
    # -- definitions
    "definition-unknown": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    "metadata: {name: as.create.example.com}\nspec: {group: create.example.com, scop: Cluster}",
    "definition-no-schema": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    "metadata: {name: as.create.example.com}\n"
    "spec: {group: create.example.com, scope: Cluster, names: {kind: A, plural: as}, "
    "versions: [{name: v1, served: true, storage: true}]}",
    "definition-old": "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n"
    "metadata: {name: as.create.example.com}\nspec: {group: create.example.com}",
    "definition-schema-unknown": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    "metadata: {name: as.create.example.com}\n"
    "spec: {group: create.example.com, scope: Cluster, names: {kind: A, plural: as}, "
    "versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: "
    "{type: object, desription: a, properties: {a: {type: array, items: {type: string, mxLength: 1}}}}}}]}",
}
