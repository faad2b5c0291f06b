"""Keys: what the shape of a key tells."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.sources.registry_key import OWN_GROUPS, KeyParts, classify, printable_key, split_key
from tests.shared import shared, shared_lines

RESOURCES = {
    ("example.com", "widgets"): True,
    ("example.com", "planets"): False,
    ("gateway.networking.k8s.io", "routes"): True,
}
SCOPE = "the key does not fit the scope: "


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("/registry/example.com/widgets/prod/a", KeyParts("custom", "example.com", "widgets", "prod", "a")),
        ("/registry/example.com/planets/earth", KeyParts("custom", "example.com", "planets", None, "earth")),
        (
            "/registry/gateway.networking.k8s.io/routes/a/b",
            KeyParts("custom", "gateway.networking.k8s.io", "routes", "a", "b"),
        ),
        (
            "/registry/example.com/widgets/lonely",
            KeyParts(
                "other",
                "example.com",
                "widgets",
                None,
                "lonely",
                SCOPE + "widgets.example.com wants namespace and name after the resource",
            ),
        ),
        (
            "/registry/example.com/planets/milkyway/earth",
            KeyParts(
                "other",
                "example.com",
                "planets",
                None,
                "earth",
                SCOPE + "planets.example.com wants a name after the resource",
            ),
        ),
        (
            "/registry/example.com/widgets/a/b/c",
            KeyParts(
                "other",
                "example.com",
                "widgets",
                None,
                "c",
                SCOPE + "widgets.example.com wants namespace and name after the resource",
            ),
        ),
        (
            "/registry/gone.example.com/ghosts/ns/g",
            KeyParts("orphaned", "gone.example.com", "ghosts", "ns", "g", "no definition owns ghosts.gone.example.com"),
        ),
        (
            "/registry/example.com/unknownplural/g",
            KeyParts(
                "orphaned", "example.com", "unknownplural", None, "g", "no definition owns unknownplural.example.com"
            ),
        ),
        (
            "/registry/metrics.k8s.io/pods/ns/g",
            KeyParts("orphaned", "metrics.k8s.io", "pods", "ns", "g", "no definition owns pods.metrics.k8s.io"),
        ),
        (
            "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com",
            KeyParts("definition", "apiextensions.k8s.io", "customresourcedefinitions", None, "widgets.example.com"),
        ),
        (
            "/registry/apiregistration.k8s.io/apiservices/v1.",
            KeyParts("builtin", "apiregistration.k8s.io", "apiservices", None, "v1."),
        ),
        ("/registry/pods/ns/p", KeyParts("builtin", "", "pods", "ns", "p")),
        ("/registry/deployments/ns/d", KeyParts("builtin", "apps", "deployments", "ns", "d")),
        ("/registry/nodes/n", KeyParts("builtin", None, "nodes", None, "n")),
        ("/registry/apps/deployments/ns/d", KeyParts("builtin", None, "apps/deployments", None, "ns/d")),
        ("/registry/services/specs", KeyParts("builtin", None, "services", None, "specs")),
        ("/registry/minions/n", KeyParts("builtin", "", "nodes", None, "n")),
        ("/registry/services/specs/ns/s", KeyParts("builtin", "", "services", "ns", "s")),
        ("/registry/services/endpoints/ns/s", KeyParts("builtin", "", "endpoints", "ns", "s")),
        ("/registry/controllers/ns/s", KeyParts("builtin", "", "replicationcontrollers", "ns", "s")),
        ("/registry/ingress/ns/s", KeyParts("builtin", "networking.k8s.io", "ingresses", "ns", "s")),
        (
            "/registry/clusterroles/system:node",
            KeyParts("builtin", "rbac.authorization.k8s.io", "clusterroles", None, "system:node"),
        ),
        ("/registry/ranges/serviceips", KeyParts("builtin", None, "ranges", None, "serviceips")),
        ("/registry/masterleases/10.0.0.1", KeyParts("builtin", None, "masterleases", None, "10.0.0.1")),
        ("/registry/health", KeyParts("other", reason="no key of an object")),
        ("/registry/compact_rev_key", KeyParts("other", reason="no key of an object")),
        ("/registry/", KeyParts("other", reason="no key of an object")),
        ("/registry/example.com/widgets//a", KeyParts("other", reason="no key of an object")),
        (
            "/registry/example.com/widgets",
            KeyParts(
                "other",
                "example.com",
                "widgets",
                None,
                None,
                SCOPE + "widgets.example.com wants namespace and name after the resource",
            ),
        ),
        ("compact_rev_key", KeyParts("other", reason="not below the prefix of the API server's keys")),
        ("/registry", KeyParts("other", reason="not below the prefix of the API server's keys")),
        ("/registryx/pods/a/b", KeyParts("other", reason="not below the prefix of the API server's keys")),
    ],
)
def test_a_key_is_placed_by_its_shape(key: str, place: KeyParts) -> None:
    assert classify(split_key(key.encode(), "/registry"), RESOURCES) == place


@pytest.mark.parametrize("prefix", ["/kubernetes.io", "kubernetes.io", "/kubernetes.io/"])
def test_the_prefix_may_be_another(prefix: str) -> None:
    assert split_key(b"/kubernetes.io/pods/a/b", prefix) == ("pods", "a", "b")
    assert split_key(b"/registry/pods/a/b", prefix) is None


def test_an_empty_prefix_is_the_root() -> None:
    assert split_key(b"/pods/a/b", "") == ("pods", "a", "b")


@pytest.mark.parametrize(
    ("key", "text"),
    [(b"\xff\xfebin\x00key", "\\xff\\xfebin\x00key"), ("/a/ü".encode(), "/a/ü"), (b"/a/\xc3", "/a/\\xc3")],
)
def test_bytes_that_are_no_text_are_escaped(key: bytes, text: str) -> None:
    assert printable_key(key) == text


@given(st.binary(max_size=60))
def test_any_key_is_placed(key: bytes) -> None:
    for candidate in (key, b"/registry/" + key):
        place = classify(split_key(candidate, "/registry"), RESOURCES)
        assert place.status in {"custom", "definition", "builtin", "orphaned", "other"}
        assert (place.reason is None) == (place.status in {"custom", "definition", "builtin"})


def test_keys_of_a_cluster_are_reported_as_the_server_did() -> None:
    definitions = [json.loads(path.read_bytes()) for path in sorted(shared("golden/upgrade/crds/rev2").glob("*.json"))]
    resources = {
        (one["spec"]["group"], one["spec"]["names"]["plural"]): one["spec"]["scope"] == "Namespaced"
        for one in definitions
    }
    lines = shared_lines("golden/upgrade/keys.ndjson.gz")
    answered = {line["key"]: line for line in shared_lines("golden/upgrade/expected.ndjson.gz")}
    places = {line["key"]: classify(split_key(line["key"].encode(), "/registry"), resources) for line in lines}
    for line in lines:
        place = places[line["key"]]
        asked = answered.get(line["key"])
        assert (asked is not None) == line["customResource"]
        if asked is None:
            assert place.status != "custom", line
        elif "note" in asked:
            assert (place.status, asked["note"]) == ("other", "key does not fit the scope")
        else:
            assert (place.status, f"{place.plural}.{place.group}") == ("custom", asked["crd"])
            assert (place.namespace, place.name) == (asked.get("namespace") or None, asked["name"])
    counts = Counter(place.status for place in places.values())
    assert counts["orphaned"] == 6  # five ghosts and an unknown plural
    assert counts["definition"] == len(definitions)
    by_prefix = json.loads(shared("golden/upgrade/summary.json").read_bytes())["byPrefix"]
    own = "/registry/apiregistration.k8s.io/apiservices"
    builtin = [key for key in by_prefix if key == own or ("." not in key.split("/")[2] and key.count("/") > 2)]
    assert counts["builtin"] == sum(by_prefix[key] for key in builtin if "compact_rev" not in key)


def test_own_groups_are_no_custom_groups() -> None:
    assert "gateway.networking.k8s.io" not in OWN_GROUPS
    assert "snapshot.storage.k8s.io" not in OWN_GROUPS
