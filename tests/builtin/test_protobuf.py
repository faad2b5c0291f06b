"""Stored protobuf values against the JSON that they were made from."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from typing import Any

import pytest

from auditor.builtin.protobuf import MAGIC, WireError, decode_stored
from tests.counting import bytes_of, calls_of
from tests.shared import shared


@cache
def stored_values() -> dict[str, bytes]:
    """Return the live values of the reference snapshot, by key."""
    import base64

    with gzip.open(shared("golden/upgrade/etcdctl-get.json.gz")) as stream:
        answer = json.load(stream)
    return {base64.b64decode(kv["key"]).decode(): base64.b64decode(kv.get("value", "")) for kv in answer["kvs"]}


@cache
def builtins() -> list[Any]:
    with gzip.open(shared("golden/upgrade/builtins.json.gz")) as stream:
        return json.load(stream)


def _without_zeros(value: Any) -> Any:
    """Leave out what a message cannot tell from absent."""
    if isinstance(value, dict):
        kept = {key: _without_zeros(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each}
    if isinstance(value, list):
        return [_without_zeros(each) for each in value]
    return value


def test_every_builtin_of_the_reference_snapshot_decodes_to_its_json() -> None:
    values = stored_values()
    compared = 0
    for one in builtins():
        stored = values[one["key"]]
        if not stored.startswith(MAGIC):
            continue
        decoded = _without_zeros(decode_stored(stored))
        wanted = _without_zeros(one["object"])
        if wanted["kind"] != "Lease":  # renewed hundreds of times after that
            assert decoded == wanted, one["key"]
            compared += 1
    assert compared > 60


def _tag(number: int, wire: int) -> bytes:
    return bytes([number << 3 | wire])


def _bytes(number: int, content: bytes) -> bytes:
    return bytes([*_varint(number << 3 | 2), *_varint(len(content))]) + content


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _stored(api_version: str, kind: str, raw: bytes) -> bytes:
    head = _bytes(1, api_version.encode()) + _bytes(2, kind.encode())
    return MAGIC + _bytes(1, head) + _bytes(2, raw) + _bytes(3, b"") + _bytes(4, b"")


def _meta(content: bytes) -> bytes:
    return _bytes(1, content)


def _time(seconds: int, nanos: int = 0) -> bytes:
    return _tag(1, 0) + _varint(seconds) + _tag(2, 0) + _varint(nanos)


@pytest.mark.parametrize(
    ("kind", "raw", "path", "wanted"),
    [
        pytest.param("v1/Pod", _meta(_bytes(1, b"a")) + _meta(_bytes(3, b"b")), "metadata.name", "a", id="two pieces"),
        pytest.param("v1/Pod", _meta(_bytes(1, b"a")) + _meta(_bytes(3, b"b")), "metadata.namespace", "b", id="second"),
        pytest.param(
            "apps/v1/Deployment", _bytes(2, _tag(1, 0) + _varint(2**32 + 5)), "spec.replicas", 5, id="32 bits"
        ),
        pytest.param("v1/ConfigMap", _bytes(3, _bytes(1, b"k")), "binaryData.k", "", id="null bytes"),
        pytest.param("v1/ConfigMap", _bytes(2, b"\x08\x01k\x10\x01v"), "data.k", "v", id="wire type in a map"),
        pytest.param(
            "certificates.k8s.io/v1/CertificateSigningRequest",
            _bytes(2, _bytes(6, _bytes(1, b"k"))),
            "spec.extra.k",
            [],
            id="list without items",
        ),
        pytest.param(
            "v1/Pod", b"\xfb\x06\x08\x01\x03\x04\xfc\x06" + _meta(_bytes(1, b"a")), "metadata.name", "a", id="group"
        ),
        pytest.param(
            "v1/Pod",
            _bytes(2, _bytes(14, _bytes(4, b"\x01\x02"))),
            "spec.securityContext.supplementalGroups",
            [1, 2],
            id="packed",
        ),
        pytest.param(
            "v1/Pod",
            _meta(_bytes(8, _time(253_402_300_800))),
            "metadata.creationTimestamp",
            "10000-01-01T00:00:00Z",
            id="year 10000",
        ),
        pytest.param("v1/Event", _bytes(10, _time(5, -1500)), "eventTime", "1970-01-01T00:00:04.999999Z", id="before"),
        pytest.param(
            "v1/Event",
            _bytes(10, _time(-62_135_596_800, 1000)),
            "eventTime",
            "0001-01-01T00:00:00.000001Z",
            id="year 1",
        ),
    ],
)
def test_bytes_read_as_the_server_reads_them(kind: str, raw: bytes, path: str, wanted: Any) -> None:
    """Each as the decoder of apimachinery 0.37.2 and its JSON encoder answered."""
    api_version, _, name = kind.rpartition("/")
    value: Any = decode_stored(_stored(api_version, name, raw))
    for step in path.split("."):
        value = value[step]
    assert value == wanted


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (_meta(b"\x0c"), "proto: ObjectMeta: wiretype end group for non-group"),
        (_meta(b"\x03"), "proto: ObjectMeta: illegal tag 0 (wire type 3)"),
        (_meta(b"\x28\x01"), "proto: wrong wireType = 0 for field UID"),
        (_meta(_tag(7, 1) + b"\0" * 8), "proto: wrong wireType = 1 for field Generation"),
        (_meta(b"\x0a" + _varint(-1)), "proto: negative length found during unmarshaling"),
        (_meta(b"\x38" + b"\xff" * 10), "proto: integer overflow"),
        (_meta(b"\xfb\x06\x08\x01"), "unexpected EOF"),
        (_meta(b"\xfe\x06"), "proto: illegal wireType 6"),
        (_meta(_bytes(8, _bytes(2, b""))), "proto: wrong wireType = 2 for field Nanos"),
        (
            _bytes(3, _bytes(12, _bytes(1, b"k") + _bytes(2, b"")) + _bytes(2, b"\x07")),
            "proto: PodCondition: illegal tag 0 (wire type 7)",
        ),
        (
            _bytes(2, _bytes(32, _bytes(1, b"k") + _bytes(2, _bytes(1, b"1 G")))),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_a_damaged_message_is_refused_in_the_decoders_words(raw: bytes, text: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_stored(_stored("v1", "Pod", raw))
    assert str(caught.value) == text


def test_a_message_in_many_pieces_takes_no_longer_than_one() -> None:
    few, many = (
        _stored("v1", "Pod", b"".join(_meta(_bytes(1, b"%06d" % number)) for number in range(count)))
        for count in (200, 1600)
    )
    assert decode_stored(many)["metadata"]["name"] == "001599"
    assert calls_of(lambda: decode_stored(many)) < 12 * calls_of(lambda: decode_stored(few))
    assert bytes_of(decode_stored, many) < 12 * bytes_of(decode_stored, few)


def test_an_absent_time_and_the_start_of_1970_are_different() -> None:
    meta = _bytes(1, b"p") + _bytes(8, b"")
    assert "creationTimestamp" not in decode_stored(_stored("v1", "ConfigMap", _bytes(1, meta)))["metadata"]
    meta = _bytes(1, b"p") + _bytes(8, _tag(1, 0) + b"\0" + _tag(2, 0) + b"\0")
    decoded = decode_stored(_stored("v1", "ConfigMap", _bytes(1, meta)))
    assert decoded["metadata"]["creationTimestamp"] == "1970-01-01T00:00:00Z"


def test_negative_numbers_are_twos_complement() -> None:
    raw = _bytes(1, _bytes(1, b"low")) + _tag(2, 0) + _varint(-5)
    assert decode_stored(_stored("scheduling.k8s.io/v1", "PriorityClass", raw))["value"] == -5


def test_a_quantity_an_amount_or_name_and_a_map_without_value_are_read() -> None:
    spec = _bytes(1, _tag(1, 0) + b"\1" + _tag(2, 0) + b"\0" + _bytes(3, b"50%"))
    decoded = decode_stored(_stored("policy/v1", "PodDisruptionBudget", _bytes(2, spec)))
    assert decoded["spec"]["minAvailable"] == "50%"
    decoded = decode_stored(_stored("v1", "ConfigMap", _bytes(2, _bytes(1, b"empty"))))
    assert decoded["data"] == {"empty": ""}
    decoded = decode_stored(_stored("v1", "Secret", _bytes(2, _bytes(1, b"k") + _bytes(2, b"\xff\0"))))
    assert decoded["data"] == {"k": "/wA="}


def test_unknown_numbers_are_ignored_and_the_last_scalar_wins() -> None:
    raw = _bytes(3, b"Opaque") + _bytes(99, b"?") + _bytes(3, b"other") + _tag(15, 5) + b"abcd"
    assert decode_stored(_stored("v1", "Secret", raw))["type"] == "other"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"", "unexpected end of JSON input"),
        (MAGIC + b"\x0a\x09\x0a", "unexpected EOF"),
        (MAGIC, "empty body"),
        (_stored("v1", "", b""), """Object 'Kind' is missing in 'runtime.TypeMeta{APIVersion:"v1", Kind:""}'"""),
        (
            _stored("", "Pod", b""),
            """Object 'apiVersion' is missing in 'runtime.TypeMeta{APIVersion:"", Kind:"Pod"}'""",
        ),
        (_stored("v1", "Nothing", b""), 'no kind "Nothing" is registered for version "v1"'),
        (_stored("v1", "Pod", b"\x0b"), "proto: wrong wireType = 3 for field ObjectMeta"),
        (_stored("v1", "Pod", b"\x08\x01"), "proto: wrong wireType = 0 for field ObjectMeta"),
        (b"[]", "json: not an object"),
    ],
)
def test_what_is_no_stored_object_is_refused(value: bytes, text: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_stored(value)
    assert str(caught.value) == text


def test_each_byte_of_a_text_that_is_no_utf_8_is_one_replacement_character() -> None:
    """As the server's JSON encoder writes such texts, also where several bytes begin one character."""
    metadata = _bytes(1, b"a\xe2\x82b\xff")
    assert decode_stored(_stored("v1", "Pod", _bytes(1, metadata)))["metadata"]["name"] == "a\ufffd\ufffdb\ufffd"


def test_json_is_read_as_it_is() -> None:
    assert decode_stored(b'{"kind":"Pod","a":1}') == {"kind": "Pod", "a": 1}


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (_bytes(1, b"cpu") + _bytes(2, b"\xc9\xb0") + _bytes(2, _bytes(1, b"2")), "unexpected EOF"),
        (_bytes(1, b"cpu") + b"\x13\x02\x01\x14" + _bytes(2, _bytes(1, b"2")), "proto: Quantity: illegal tag 0 (wire type 1)"),
        (_bytes(1, b"cpu") + _bytes(2, _bytes(1, b"?")) + _bytes(2, _bytes(1, b"2")), "quantities must match"),
        (_bytes(1, b"cpu") + _bytes(2, _bytes(1, b"1")) + _bytes(2, _bytes(1, b"2")), None),
    ],
)  # fmt: skip
def test_each_of_several_values_of_an_entry_is_decoded(entry: bytes, text: str | None) -> None:
    """Answers of the API server's codec; the last value counts."""
    stored = _stored("node.k8s.io/v1", "RuntimeClass", _meta(b"") + _bytes(2, b"a") + _bytes(3, _bytes(1, entry)))
    if text is None:
        assert decode_stored(stored)["overhead"]["podFixed"] == {"cpu": "2"}
        return
    with pytest.raises(WireError, match=re.escape(text)):
        decode_stored(stored)
