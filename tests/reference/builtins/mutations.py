"""Stored values of built-in kinds with something wrong: a drawn object and the splices that damage it."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

Splice = list[Any]
"""[where, how many bytes go, hex of those that come]."""

_VALUES = (
    *("5", '"x"', "true", "null", "{}", "[]", "-1", "1.5", "1e3", "1e400", "99999999999", "9223372036854775808"),
    *('{"a":5}', '{"a":"b"}', "[1]", '["x"]', "[null]", '"1Gi"', '"12x"', '"1e3"', '" 5 "', '""', '"-"', '"1.5.2"'),
    *('"2024-02-30T00:00:00Z"', '"2024-02-03T04:05:06Z"', '"2024-02-03T04:05:06.123456Z"', '"now"', '"QQ=="', '"Q?"'),
    *('"QQ="', '"Q"', '"QUJD\\n"', '"\\ud800"', '"\xff"', "01", ".5", "NaN", '"a\nb"', '"25%"', "2147483648", "256"),
)
_HEADS = (
    *(("v1", "Pod"), ("v1", "ConfigMap"), ("v7", "Service"), ("apps/v1", "Deployment")),
    *(("autoscaling/v2beta2", "HorizontalPodAutoscaler"), ("batch/v1beta1", "CronJob"), ("a/b/c", "Pod"), ("", "Pod")),
    *(("v1", ""), ("", ""), ("v1", "Foo"), ("apps/v1", "Pod"), ("v1", "pod")),
)


def applied(value: bytes, splices: list[Splice]) -> bytes:
    """Return a value with its splices, which are in order of their places in the value as it was."""
    out, at = [], 0
    for where, gone, come in splices:
        out += [value[at:where], bytes.fromhex(come)]
        at = where + gone
    return b"".join([*out, value[at:]])


def mutated(random: Random, form: str, value: bytes) -> list[Splice]:
    """Return splices that damage a value, or hardly."""
    return _of_json(random, value) if form == "json" else _of_protobuf(random, value)


def _put(where: int, gone: int, come: bytes) -> Splice:
    return [where, gone, come.hex()]


def _of_protobuf(random: Random, value: bytes) -> list[Splice]:
    way = random.randrange(12)
    at = random.randrange(len(value))
    if way == 0:
        return [_put(at, len(value) - at, b"")]
    if way <= 3:
        return [_put(at, 1, bytes([random.randrange(256)]))]
    if way == 4:
        return [_put(at, random.randrange(1, 6), b"")]
    if way == 5:
        return [_put(at, 0, bytes(random.randrange(256) for _ in range(random.randrange(1, 5))))]
    if way <= 8:  # another tag where one may be
        tags = [i for i in range(4, len(value)) if value[i] in (0x08, 0x0A, 0x10, 0x12, 0x1A, 0x22, 0x28, 0x2A, 0x32)]
        at = random.choice(tags or [at])
        return [_put(at, 1, bytes([value[at] & 0xF8 | random.choice((0, 1, 2, 3, 4, 5, 6, 7))]))]
    if way == 9:  # a text that is no UTF-8
        texts = [found.start() for found in re.finditer(rb"[a-z]{3,}", value)]
        return [_put(random.choice(texts or [at]), 1, b"\xff")]
    if way == 10:  # another envelope
        version, kind = random.choice(_HEADS)
        head = b"\x0a" + bytes([len(version)]) + version.encode() + b"\x12" + bytes([len(kind)]) + kind.encode()
        return [_put(5, 1 + value[5], bytes([len(head)]) + head)]
    return [_put(0, random.choice((0, 4)), random.choice((b"", b"k8s", b"k8s\0", b"{", b"k8s:enc:aesgcm:v1:a:", b" ")))]


def _of_json(random: Random, value: bytes) -> list[Splice]:
    way = random.randrange(10)
    at = random.randrange(len(value))
    if way == 0:
        return [_put(at, len(value) - at, b"")]
    if way == 1:
        return [_put(at, random.randrange(1, 4), b"")]
    if way == 2:
        return [_put(at, 0, random.choice((b"\xff", b"{", b"}", b'"', b",", b"0", b"\0", b"\xef\xbb\xbf")))]
    scalars = list(re.finditer(rb'(?<=":)(?:"[^"]*"|-?[0-9.]+|true|false|null)', value))
    if way <= 6 and scalars:  # another value
        found = random.choice(scalars)
        come = random.choice(_VALUES).encode("latin-1")
        return [_put(found.start(), found.end() - found.start(), come)]
    keys = list(re.finditer(rb'"[A-Za-z]+":', value))
    found = random.choice(keys)
    if way == 7:  # a key twice
        return [_put(found.start(), 0, found[0] + random.choice(_VALUES).encode("latin-1") + b",")]
    if way == 8:  # another key
        key = found[0].strip(b'":')
        return [_put(found.start() + 1, len(key), random.choice((b"nothing", key.upper(), key[:1].upper() + key[1:])))]
    version, kind = random.choice(_HEADS)
    head = re.match(rb'\{"kind":"[^"]*","apiVersion":"[^"]*"', value)
    assert head is not None
    come = json.dumps({"kind": kind, "apiVersion": version})[:-1].encode()
    return [_put(0, head.end(), come)]


_FIXED = (b"", b" ", b"{}", b"null", b"[]", b"5", b'"x"', b"{", b"k8s\0", b"k8s", b"\0", b"\xff\xfe", b"abc", b"abcd",
          b"a: b", b"kind: Pod\napiVersion: v1\nmetadata: {name: a, namespace: b}\n", b"\xef\xbb\xbf{}", b"\x1f\x8b\x08",
          b'{"kind":"Pod"}', b'{"apiVersion":"v1"}', b'{"kind":5}', b'{"KIND":"Pod","APIVERSION":"v1"}',
          b'{"kind":"ConfigMap","apiVersion":"v1","data":{"a":5}}',
          b'{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"5"},"data":[]}',
          b'{"kind":"Secret","apiVersion":"v1","data":{"a":"?"}}', b'{"kind":"Secret","apiVersion":"v1","data":{"a":[1,256]}}',
          b'{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":"three"}}',
          b'{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"annotations":{"deprecated.deployment.rollback.to":"x"}}}',
          b'{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"annotations":{"deprecated.daemonset.template.generation":""}}}',
          b"eyJraW5kIjoiUG9kIiwiYXBpVmVyc2lvbiI6InYxIn0=", b"azhzAA==", b'{"kind":"Pod","apiVersion":"v1"} x')  # fmt: skip
FIXED_TARGETS = ("/Pod", "/ConfigMap", "/Secret", "apps/Deployment", "apps/DaemonSet", "/Service")


def cases(random: Random, seeds: list[dict[str, str]], count: int) -> list[tuple[str, int, list[Splice]]]:
    """Return (kind, number of the seed, splices) of so many values; of the first ones, every seed as it is."""
    out: list[tuple[str, int, list[Splice]]] = [(seed["into"], at, []) for at, seed in enumerate(seeds)]
    first = b64decode(seeds[0]["value"])
    out += [(into, 0, [_put(0, len(first), value)]) for into in FIXED_TARGETS for value in _FIXED]
    while len(out) < count:
        at = random.randrange(len(seeds))
        value = b64decode(seeds[at]["value"])
        splices = mutated(random, seeds[at]["form"], value)
        into = seeds[at]["into"] if random.random() < 0.97 else random.choice(seeds)["into"]
        out.append((into, at, splices))
    return out
