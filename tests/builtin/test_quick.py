"""The fast check of stored protobuf proves only values that the exact reader decodes, including numeric annotations."""

from __future__ import annotations

import random
from base64 import b64decode

import pytest

from auditor.builtin.judge import is_proven
from auditor.builtin.quick import Prover
from auditor.builtin.scheme import target_of
from auditor.builtin.stored import UndecodableError, read_stored
from tests.builtin.test_stored import seeds

KINDS = ("/Pod", "/ConfigMap", "apps/DaemonSet", "apps/Deployment", "apps/ReplicaSet", "apps/ControllerRevision")
DAEMONS = target_of("apps", "DaemonSet")
GENERATION = b"deprecated.daemonset.template.generation"
ROLLBACK = b"deprecated.deployment.rollback.to"


def field(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes([tag]) + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + content


def enveloped(api_version: bytes, kind: bytes, raw: bytes) -> bytes:
    head = b"k8s\0" + field(0x0A, field(0x0A, api_version) + field(0x12, kind))
    return head + field(0x12, raw) + b'\x1a\0"\0'


def daemon_set(entry: bytes, after: bytes = b"", *, kind: bytes = b"DaemonSet") -> bytes:
    metadata = field(0x0A, b"a") + field(0x12, b"") + field(0x1A, b"b") + field(0x62, entry) + after
    return enveloped(b"apps/v1", kind, field(0x0A, metadata) + field(0x12, b"") + field(0x1A, b""))


def pod() -> bytes:
    """Return a Pod as a server writes it: a container with a limit, a node, a phase."""
    metadata = field(0x0A, b"a") + field(0x12, b"") + field(0x1A, b"b") + field(0x5A, key(b"app") + value(b"web"))
    limit = field(0x0A, key(b"cpu") + field(0x12, field(0x0A, b"100m")))
    container = field(0x0A, b"c") + field(0x12, b"image:1") + field(0x42, limit)
    spec = field(0x12, container) + field(0x1A, b"Always") + b"\x20\x1e" + field(0x52, b"node-1")
    return enveloped(b"v1", b"Pod", field(0x0A, metadata) + field(0x12, spec) + field(0x1A, field(0x0A, b"Running")))


def reads(target: object, data: bytes) -> tuple[str | None, bool, bool] | None:
    try:
        found = read_stored(target, data)
    except UndecodableError:
        return None
    return found.version, bool(found.namespace), bool(found.name)


def key(name: bytes) -> bytes:
    return field(0x0A, name)


def value(text: bytes) -> bytes:
    return field(0x12, text)


@pytest.mark.parametrize("text", [b"1", b"42", b"0", b"9" * 18])
def test_the_generation_of_a_daemon_set_is_proven(text: bytes) -> None:
    data = daemon_set(key(GENERATION) + value(text))
    assert is_proven(DAEMONS, data)
    assert reads(DAEMONS, data) == ("v1", True, True)


@pytest.mark.parametrize(
    ("entry", "after"),
    [
        *[
            (key(GENERATION) + value(text), b"")
            for text in (b"", b"x", b"1x", b"-", b"1.5", b" 1", b"9" * 19, b"\xd9\xa1")
        ],
        (key(GENERATION), b""),
        (value(b"abc") + key(GENERATION), b""),
        (value(b"b\x2d") + key(GENERATION), field(0x12, b"12")),  # what follows belongs to the metadata
        (key(GENERATION) + value(b"1") + value(b"x"), b""),
        (key(GENERATION) + value(b"1"), field(0x62, key(GENERATION) + value(b"x"))),
    ],
)
def test_a_generation_that_is_no_number_is_not_proven(entry: bytes, after: bytes) -> None:
    data = daemon_set(entry, after)
    assert not is_proven(DAEMONS, data)
    assert reads(DAEMONS, data) is None


def test_the_other_annotation_is_left_to_the_exact_reader() -> None:
    deployments = target_of("apps", "Deployment")
    for text, expected in ((b"5", True), (b"x", False)):
        data = daemon_set(key(ROLLBACK) + value(text), kind=b"Deployment")
        assert not is_proven(deployments, data)
        assert (reads(deployments, data) is not None) == expected


def test_the_name_of_the_annotation_elsewhere_proves_and_refuses_nothing() -> None:
    data = daemon_set(key(b"note") + value(GENERATION + b"=x"))
    assert not is_proven(DAEMONS, data)
    assert reads(DAEMONS, data) is not None


def _changed(data: bytes, rng: random.Random) -> bytes:
    """Change one to three places: other bytes, fewer, twice the same, a length or a number off by a little."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(4, len(out))
        how = rng.randrange(5)
        if how == 0:
            out[at] = rng.randrange(256)
        elif how == 1:
            out[at] = (out[at] + rng.choice((-1, 1))) % 256
        elif how == 2:
            del out[at : at + rng.randint(1, 8)]
        elif how == 3:
            out[at:at] = out[at : at + rng.randint(1, 8)]
        else:
            out[at:at] = bytes([rng.choice((0, 8, 10, 18, 26, 98, 128))])
        if len(out) < 8:
            return bytes(data)
    return bytes(out)


@pytest.mark.parametrize("into", KINDS)
def test_what_is_proven_of_changed_values_decodes(into: str) -> None:
    rng = random.Random(into)
    group, _, kind = into.rpartition("/")
    target = target_of(group, kind)
    values = [b64decode(seed["value"]) for seed in seeds() if seed["into"] == into and seed["form"] == "protobuf"]
    values += {"apps/DaemonSet": [daemon_set(key(GENERATION) + value(b"42"))], "/Pod": [pod()]}.get(into, [])
    prover = Prover()
    proven = refused = 0
    for _ in range(2500):
        data = _changed(rng.choice(values), rng)
        found = prover.prove(target, data)
        if found is None:
            refused += 1
        else:
            proven += 1
            assert found == reads(target, data), data
    assert proven > 50
    assert refused > 200
