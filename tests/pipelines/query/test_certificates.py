"""`auditor query --certificates`: the X.509 certificates of a dump, and never a private byte."""

from __future__ import annotations

import base64
import datetime
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.command import auditor
from tests.sources.archives.writing import tgz, velero

if TYPE_CHECKING:
    from pathlib import Path

NOW = "2026-06-01T00:00:00Z"
KEY = ec.generate_private_key(ec.SECP256R1())
PRIVATE = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()


def certificate(name: str, year: int, *names: str) -> str:
    """Return a certificate that expires at the beginning of a year."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the issuer")])
    builder = x509.CertificateBuilder(issuer, subject, KEY.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
    builder = builder.not_valid_after(datetime.datetime(year, 1, 1, tzinfo=datetime.UTC))
    if names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), critical=False
        )
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def thing(api_version: str, kind: str, name: str, **body: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **body}


def secret(name: str, type_: str = "kubernetes.io/tls", **data: str) -> dict[str, Any]:
    values = {key.replace("_", "."): packed(value) for key, value in data.items()}
    return thing("v1", "Secret", name, type=type_, data=values)


def dump(folder: Path, *objects: dict[str, Any]) -> Path:
    path = folder / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return path


def rows(path: Path, *words: str, code: int = 0) -> list[dict[str, Any]]:
    done = auditor("query", path, *words, "--certificates", "--now", NOW, "-o", "json")
    assert done.code == code, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_certificates_of_every_place_are_rows_by_expiry(tmp_path: Path) -> None:
    kubeconfig = f"clusters:\n- cluster:\n    certificate-authority-data: {packed(certificate('kubeconfig', 2033))}\n"
    hooks = [{"name": "a.example.com", "clientConfig": {"caBundle": packed(certificate("hook", 2031))}}]
    path = dump(
        tmp_path,
        secret("web", tls_crt=certificate("web", 2025) + certificate("chain", 2040), tls_key=PRIVATE),
        secret("kubeconfig", "Opaque", value=kubeconfig),
        thing("v1", "ConfigMap", "root", data={"ca.crt": certificate("root", 2030)}),
        thing("v1", "ConfigMap", "json", data={"a": json.dumps({"ca": certificate("in json", 2034)})}),
        thing("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "hook", webhooks=hooks),
        thing("apiregistration.k8s.io/v1", "APIService", "v1.a.b", spec={"caBundle": packed(certificate("api", 2032))}),
    )
    found = rows(path)
    assert [(row["kind"], row["name"], row["field"], row["subject"], row["expired"]) for row in found] == [
        ("Secret", "web", "data.tls.crt #1", "CN=web", True),
        ("ConfigMap", "root", "data.ca.crt", "CN=root", False),
        ("ValidatingWebhookConfiguration", "hook", "webhooks[0].clientConfig.caBundle", "CN=hook", False),
        ("APIService", "v1.a.b", "spec.caBundle", "CN=api", False),
        ("Secret", "kubeconfig", "data.value", "CN=kubeconfig", False),
        ("ConfigMap", "json", "data.a", "CN=in json", False),
        ("Secret", "web", "data.tls.crt #2", "CN=chain", False),
    ]
    assert {row["issuer"] for row in found} == {"CN=the issuer"}
    assert found[0]["expires"] == "2025-01-01T00:00:00Z"
    assert [row["name"] for row in rows(path, "secrets")] == ["web", "kubeconfig", "web"]


def test_the_table_says_when_each_expires_and_by_which_name_it_is_known(tmp_path: Path) -> None:
    path = dump(tmp_path, secret("web", tls_crt=certificate("", 2027, "a.example.com", "b.example.com")))
    done = auditor("query", path, "--certificates", "--now", NOW)
    assert "a.example.com, b.example.com   2027-01-01 (in 214d)" in done.stdout
    done = auditor("query", path, "--certificates", "--now", "2028-01-01T00:00:00Z")
    assert "2027-01-01 (expired 365d ago)" in done.stdout


def test_a_note_says_to_which_time_the_table_is_relative(tmp_path: Path) -> None:
    pair = secret("web", tls_crt=certificate("web", 2027))
    export = dump(tmp_path, pair)
    backup = tmp_path / "backup.tgz"
    pair["metadata"]["creationTimestamp"] = "2026-03-10T12:00:00Z"
    backup.write_bytes(tgz(velero([pair])))
    note = "note: relative to 2026-03-10T12:00:00Z, the newest time in the dump; --now now is the clock\n"
    for form in ("table", "wide"):
        assert auditor("query", backup, "--certificates", "-o", form).stderr == note
    assert re.fullmatch(r"note: relative to \S+Z, the clock\n", auditor("query", export, "--certificates").stderr)
    for words in (("-o", "json"), ("--now", "now"), ("--now", NOW)):
        assert auditor("query", backup, "--certificates", *words).stderr == ""
    assert auditor("query", backup, "configmaps", "--certificates").stderr == "No certificates found.\n"


def test_a_field_that_should_hold_a_certificate_and_does_not_is_a_row_and_exit_code_3(tmp_path: Path) -> None:
    broken = certificate("x", 2030).replace("M", "N", 1)
    path = dump(
        tmp_path,
        secret("empty", tls_crt="", tls_key=PRIVATE),
        secret("text", tls_crt="no certificate", tls_key=PRIVATE),
        secret("swapped", tls_crt=PRIVATE, ca_crt=""),
        secret("cut", tls_crt=broken.partition("-----END")[0] + PRIVATE),
        secret("broken", tls_crt=broken, tls_key=PRIVATE),
        secret("other", "Opaque", text="of no certificate"),
    )
    found = rows(path, code=3)
    assert {row["name"]: row["reason"] for row in found} == {
        "empty": "it is empty",
        "text": "it has no PEM block CERTIFICATE",
        "swapped": "it has no PEM block CERTIFICATE",
        "cut": "its PEM block has no end",
        "broken": "its PEM block is no X.509 certificate",
    }
    done = auditor("query", path, "--certificates")
    assert done.stderr == "5 values that should be certificates are not readable\n"
    assert "not readable: it is empty" in done.stdout


def test_no_private_byte_is_printed_in_any_form(tmp_path: Path) -> None:
    text = certificate("web", 2030)
    path = dump(tmp_path, secret("a", tls_crt=text, tls_key=PRIVATE), secret("b", tls_crt=PRIVATE + text, tls_key=text))
    for form in ("table", "wide", "json", "yaml", "ndjson", "csv", "markdown"):
        printed = auditor("query", path, "--certificates", "-o", form).output
        assert "CN=web" in printed
        assert "PRIVATE" not in printed
        assert all(line not in printed and packed(line) not in printed for line in PRIVATE.splitlines())


def test_without_certificates_it_says_so(tmp_path: Path) -> None:
    done = auditor("query", dump(tmp_path, secret("a", "Opaque", text="t")), "--certificates")
    assert (done.code, done.output) == (0, "No certificates found.\n")


@pytest.mark.parametrize("words", [("--unhealthy",), ("--count",), ("--sort-by", ".x"), ("-o", "name")])
def test_it_refuses_options_that_ask_for_something_else(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = auditor("query", dump(tmp_path), "--certificates", *words)
    assert done.code == 2
    assert "--certificates" in done.stderr
