"""Servers that redirect, trickle or never end: they get no secrets, and they are given up in time."""

from __future__ import annotations

import http.server
import threading
import time
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import SourceError
from auditor.sources.stores import patience
from auditor.sources.stores.locations import remote_file
from auditor.sources.stores.patterns import expand
from tests.command import auditor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TOKEN = "a-session-token"
NUMBERS = count(1)


@contextmanager
def serving(answer: Callable[[Any], None]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield (address of a server that answers each request by a function, texts of the requests it got)."""
    seen: list[tuple[str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            seen.append((self.command, f"{self.path}\n{self.headers}"))
            answer(self)

        do_GET = do_HEAD = do_PUT = handle_any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Write no log."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}", seen
        server.shutdown()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITOR_INSECURE_HTTP", "1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tester")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def reply(handler: Any, code: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(code)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_of_a_store_to_another_host_gets_nothing(
    code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither reading, asking nor writing follows it; region redirects name no host."""
    with serving(lambda handler: reply(handler, 200, b"{}")) as (other, stolen):

        def redirect(handler: Any) -> None:
            where = f"http://localhost:{other.partition(':')[2]}{handler.path}"
            reply(handler, code, Location=where, x_amz_bucket_region=f"x.{other}#")

        with serving(redirect) as (host, asked):
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}")
            with pytest.raises(SourceError):
                remote_file("s3://backups/x.db").copy_to(tmp_path / "copy")
            with pytest.raises(SourceError):
                remote_file("s3://backups/x.db").is_folder()
            with pytest.raises(SourceError):
                expand("s3://backups/*.db")
    assert any(TOKEN in text for _, text in asked)
    assert stolen == []


def endless(handler: Any, *, fresh: bool, names: bool) -> None:
    number = next(NUMBERS) if fresh else 0
    inside = f"<Contents><Key>x/{number}.db</Key><Size>1</Size></Contents>" if names else ""
    text = f"<IsTruncated>true</IsTruncated><NextContinuationToken>t{number}</NextContinuationToken>{inside}"
    reply(handler, 200, f"<ListBucketResult><Name>backups</Name>{text}</ListBucketResult>".encode())


@pytest.mark.parametrize(
    ("fresh", "names", "reason"),
    [
        (False, True, "the listing does not end"),
        (True, False, "the listing does not end"),
        (True, True, "the listing has more than 50 names"),
    ],
)
def test_an_endless_listing_is_given_up(fresh: bool, names: bool, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "ENTRIES", 50)
    with serving(lambda handler: endless(handler, fresh=fresh, names=names)) as (host, _):
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}")
        with pytest.raises(SourceError, match=reason):
            expand("s3://backups/x/*.db")


def trickle(handler: Any) -> None:
    """Send a byte now and then; without an end."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 30))
    handler.end_headers()
    try:
        while handler.command != "HEAD":
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        return


def trickle_head(handler: Any) -> None:
    try:
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
        while True:
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        return


@pytest.mark.parametrize("scheme", ["http", "s3"])
@pytest.mark.parametrize(
    ("answer", "limit", "reason"),
    [
        (trickle, "READ_SECONDS", "less than 256 KiB arrived within 0.5 seconds"),
        (trickle_head, "CALL_SECONDS", "gave no answer within 0.5 seconds"),
    ],
)
def test_a_server_that_sends_a_byte_now_and_then_is_given_up(
    scheme: str, answer: Any, limit: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(patience, limit, 0.5)
    with serving(answer) as (host, _):
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}")
        url = f"http://{host}/x.db" if scheme == "http" else "s3://backups/x.db"
        with pytest.raises(SourceError, match=reason):
            remote_file(url).copy_to(tmp_path / "copy")


def test_an_unencrypted_address_needs_the_option(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AUDITOR_INSECURE_HTTP")
    with serving(lambda handler: reply(handler, 200, b"{}")) as (host, asked):
        with pytest.raises(SourceError, match="give --insecure-http"):
            remote_file(f"http://{host}/x.json").copy_to(tmp_path / "copy")
        assert asked == []
        monkeypatch.setenv("AUDITOR_INSECURE_HTTP", "0")  # restored at the end, whatever the command sets
        asking = ["query", f"http://{host}/x.json", "widgets"]
        assert "--insecure-http" in auditor(*asking).stderr
        assert asked == []
        auditor(*asking, "--insecure-http")
        assert {command for command, _ in asked} == {"GET"}


@pytest.mark.parametrize("words", [("completion", "bash"), ("releases",), ("sources",)])
def test_commands_that_take_no_url_do_not_have_the_option(words: tuple[str, ...]) -> None:
    done = auditor(*words, "--insecure-http")
    assert done.code == 2
    assert "No such option" in done.stderr


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("http://{host}/y", "give --insecure-http"),
        ("file:///etc/passwd", "Redirection to url 'file:///etc/passwd' is not allowed"),
        ("ftp://{host}/y", "redirects to ftp"),
    ],
)
def test_a_redirect_leads_to_no_weaker_place(
    target: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def redirect(handler: Any) -> None:
        reply(handler, 302, Location=target.format(host=handler.headers["Host"]))

    with serving(redirect) as (host, asked):
        allowed = iter(["1"])
        real = remote_file(f"http://{host}/x")
        monkeypatch.setattr("auditor.sources.stores.locations.allows_http", lambda: next(allowed, "") == "1")
        with pytest.raises(SourceError, match=reason):
            real.copy_to(tmp_path / "copy")
    assert len(asked) == 1


def test_redirects_end(tmp_path: Path) -> None:
    with (
        serving(lambda handler: reply(handler, 302, Location=handler.path + "x")) as (host, asked),
        pytest.raises(SourceError),
    ):
        remote_file(f"http://{host}/x").copy_to(tmp_path / "copy")
    assert len(asked) < 10
