"""Google's and Azure's stores, web servers with TLS, and other schemes: each is read, listed and written to."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import ssl
import sys
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import AuditorError, SourceError
from auditor.sources import open_source
from auditor.sources.crd_files import read_crd_documents
from auditor.sources.stores.locations import remote_file, shown_url
from auditor.sources.stores.patterns import Match, expand
from tests.command import auditor
from tests.sources.archives.writing import CRD, OBJECTS, text, tgz, unpack, velero
from tests.sources.stores.fakes import Azure, Google, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = base64.b64encode(b"nobody's key").decode()
LINES = b"\n".join(text(one) for one in OBJECTS)


@pytest.fixture(params=["gs", "az"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, dict[str, bytes]]]:
    """A store with nothing in it, to which the environment leads: (beginning of its URLs, what it holds)."""
    with serving(Google if request.param == "gs" else Azure) as (host, objects):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://{host}")
        account = f"AccountName=dev;AccountKey={KEY};BlobEndpoint=http://{host}/dev"
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"DefaultEndpointsProtocol=http;{account}")
        yield f"{request.param}://backups", objects


def run(*args: str, code: int = 0) -> str:
    reported = auditor(*args)
    assert reported.code == code, reported.output
    return reported.output


def named(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("widget.")]


@pytest.mark.parametrize("name", ["a b%20c.ndjson", "backup.tar.gz", "tree"])
def test_a_dump_in_a_store_is_read(name: str, store: tuple[str, dict[str, bytes]], tmp_path: Path) -> None:
    base, objects = store
    if name == "tree":
        objects |= {f"backups/deep/tree/{path}": data for path, data in velero(OBJECTS).items()}
    else:
        objects[f"backups/deep/{name}"] = tgz(velero(OBJECTS)) if "tar" in name else LINES
    plan = open_source(f"{base}/deep/{name}", number=0, workdir=tmp_path)
    if isinstance(plan, list):
        (plan,) = plan
    assert (plan.rows, plan.name, plan.damage) == (len(OBJECTS), f"{base}/deep/{name}", ())


def test_patterns_find_folders_that_no_object_stands_for(store: tuple[str, dict[str, bytes]]) -> None:
    base, objects = store
    objects |= dict.fromkeys(["backups/x/a/1.db", "backups/x/b/1.db", "backups/x/b/2.db", "backups/x/c.db"], b"x")
    found = expand(f"{base}/x/*/1.db")
    assert found == [Match(f"{base}/x/a/1.db", ("a",)), Match(f"{base}/x/b/1.db", ("b",))]
    assert [one.path for one in expand(f"{base}/x/**/*.db")] == [
        f"{base}/x/{name}" for name in ("a/1.db", "b/1.db", "b/2.db", "c.db")
    ]
    assert remote_file(f"{base}/x").is_folder()
    with pytest.raises(SourceError, match="the pattern names nothing"):
        expand(f"{base}/y/*")
    with pytest.raises(SourceError, match=f"{base}/y: no such file or folder"):
        remote_file(f"{base}/y").is_folder()


def test_a_fleet_its_definitions_and_its_report_lie_in_a_store(
    store: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    """The report is then asked where it lies: by its index, with its dump, and key by key."""
    base, objects = store
    objects["backups/crds/widgets.json"] = text(CRD)
    for name in ("east", "west"):
        objects[f"backups/{name}/today.ndjson"] = b"\n".join(text(one) for one in OBJECTS[1:])
    report = f"{base}/reports/today"
    run("audit", f"{base}/*/today.ndjson", "--crds", f"{base}/crds", "--report", report, "--jobs", "1")
    manifest = json.loads(objects["backups/reports/today/manifest.json"])
    assert [one["name"] for one in manifest["clusters"]] == ["east", "west"]
    assert manifest["counts"]["keys"] == 2 * (len(OBJECTS) - 1)
    assert "is not here" in run("query", report, "widgets", "-o", "name")

    one = f"{base}/reports/one"
    dump = f"{base}/east/today.ndjson"
    run("audit", dump, "--crds", f"{base}/crds", "--report", one, "--jobs", "1")
    names = named(run("query", one, "widgets", "-o", "name"))
    assert len(names) > 1
    assert names == named(run("query", one, "widgets", "-o", "name", "--dump", dump))
    assert names == named(run("query", dump, "widgets", "-o", "name", "--crds", f"{base}/crds"))
    key = names[-1].partition("/")[2]
    namespace = next(obj["metadata"].get("namespace") for obj in OBJECTS if obj["metadata"]["name"] == key)
    shown = run("show", one, f"{namespace}/{key}", "-o", "json", "--dump", dump)
    assert json.JSONDecoder().raw_decode(shown)[0]["report"]["objects"][0]["name"] == key
    reported = auditor("audit", dump, "--report", one, "--jobs", "1")
    assert reported.stderr.startswith(f"error: {one}: holds a report already")


def test_an_upgrade_is_judged_from_store_to_store(store: tuple[str, dict[str, bytes]]) -> None:
    base, objects = store
    objects["backups/crds/deep/widgets.json"] = text(CRD)
    objects["backups/today.ndjson"] = LINES
    report = f"{base}/reports/upgrade"
    run("upgrade", f"{base}/today.ndjson", "--new-crds", f"{base}/crds", "--report", report, "--jobs", "1")
    assert "upgrade" in json.loads(objects["backups/reports/upgrade/manifest.json"])


def test_what_is_wrong_with_a_definition_is_reported_by_its_url(store: tuple[str, dict[str, bytes]]) -> None:
    base, objects = store
    objects |= {"backups/crds/a.json": text(CRD), "backups/crds/b/c.yaml": b"a: [\n"}
    assert [one["metadata"]["name"] for one in read_crd_documents([f"{base}/crds/*.json"])] == ["widgets.example.com"]
    with pytest.raises(AuditorError) as caught:
        read_crd_documents([f"{base}/crds"])
    assert str(caught.value).startswith(f"{base}/crds/b/c.yaml: ")


@pytest.mark.parametrize("command", ["query", "show", "explain"])
def test_what_is_not_in_a_store_is_said(command: str, store: tuple[str, dict[str, bytes]]) -> None:
    reported = auditor(command, f"{store[0]}/none", "widgets")
    assert reported.code != 0
    assert reported.stderr == f"error: {store[0]}/none: no such file or folder\n"


def test_a_store_without_an_account_says_where_one_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SourceError, match="az://backups/x: no storage account; expected AZURE_STORAGE_ACCOUNT_NAME"):
        remote_file("az://backups/x").is_folder()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("abfss://backups@account.dfs.core.windows.net/x", "abfss://backups@account.dfs.core.windows.net/x"),
        ("abfss://user:pass@account.dfs.core.windows.net/x", "abfss://account.dfs.core.windows.net/x"),
        ("gs://backups/x?endpoint_override=h%3A1&anonymous=1", "gs://backups/x"),
    ],
)
def test_a_container_is_shown_and_a_secret_is_not(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_endpoints_can_be_in_the_url(tmp_path: Path) -> None:
    with serving(Google) as (host, objects):
        objects["backups/x.ndjson"] = LINES
        url = f"gs://backups/x.ndjson?endpoint_override={host}&scheme=http&anonymous=1"
        plan = open_source(url, number=0, workdir=tmp_path)
    assert not isinstance(plan, list)
    assert (plan.rows, plan.name) == (len(OBJECTS), "gs://backups/x.ndjson")


def test_files_by_url_are_asked_as_by_path(tmp_path: Path) -> None:
    dump = f"file://{unpack({'a b/x.ndjson': LINES}, tmp_path / 'in')}/a%20b/x.ndjson"
    assert len(named(run("query", dump, "widgets", "-o", "name"))) > 1
    report = f"file://{tmp_path}/report"
    run("audit", dump, "--report", report, "--jobs", "1")
    assert named(run("query", report, "widgets", "-o", "name")) == named(run("query", dump, "widgets", "-o", "name"))


# ---- web servers


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[str, Path, Path]]:
    """A web server with TLS and a certificate of its own: (address, what it serves, the certificate)."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem = tmp_path / "certificate.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    both = tmp_path / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    both.write_bytes(private + pem.read_bytes())
    folder = tmp_path / "www"
    folder.mkdir()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_address[1]}", folder, pem
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Write no log."""

    def end_headers(self) -> None:
        if self.path.endswith(".cut"):
            self.send_header("Content-Length", str(len(LINES) + 100))
        super().end_headers()

    def send_header(self, keyword: str, value: str) -> None:
        if keyword == "Content-Length" and self.path.endswith(".cut") and int(value) == len(LINES):
            return
        super().send_header(keyword, value)


def test_a_web_server_is_read_if_its_certificate_is_trusted(
    web: tuple[str, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, folder, pem = web
    unpack({"a b.ndjson": LINES, "backup.tgz": tgz(velero(OBJECTS))}, folder)
    (tmp_path / "work").mkdir()
    with pytest.raises(SourceError, match=r"certificate verify failed") as caught:
        open_source(f"{address}/a%20b.ndjson?token=secret", number=0, workdir=tmp_path / "work")
    assert "secret" not in str(caught.value)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    for number, name in enumerate(("a%20b.ndjson?token=secret", "backup.tgz")):
        workdir = tmp_path / f"work-{number}"
        workdir.mkdir()
        plan = open_source(f"{address}/{name}", number=0, workdir=workdir)
        if isinstance(plan, list):
            (plan,) = plan
        assert (plan.rows, plan.name) == (len(OBJECTS), f"{address}/{name.partition('?')[0]}")


def test_a_download_that_breaks_off_is_an_error(
    web: tuple[str, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, folder, pem = web
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    unpack({"x.ndjson.cut": LINES}, folder)
    with pytest.raises(SourceError, match="the connection ended 100 bytes early"):
        open_source(f"{address}/x.ndjson.cut", number=0, workdir=tmp_path)


# ---- other schemes


def test_other_schemes_are_read_through_fsspec(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/backups/a/x.ndjson", LINES)
    memory.pipe("/backups/b/x.ndjson", LINES)
    (match, _) = expand("memory://backups/*/x.ndjson")
    plan = open_source(match.path, number=0, workdir=tmp_path)
    assert not isinstance(plan, list)
    assert plan.rows == len(OBJECTS)


def test_a_scheme_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(SourceError, match=r"no reader of sftp://; expected s3://, gs://.*; pip install fsspec"):
        open_source("sftp://host/x", number=0, workdir=tmp_path)
