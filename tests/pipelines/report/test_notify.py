"""Messages about a run: to a webhook, to Slack and by mail, and what happens where a server does not take one."""

import http.server
import json
import re
import socketserver
import threading

import jsonschema
import pytest

from auditor.base.errors import PlanError
from auditor.causes.model import FindingsModel
from auditor.output.formats.problems import of_model
from auditor.output.views.message import MOST_CHARACTERS, message_data, message_text
from pipelines.run.job.lock import run_lock
from pipelines.run.job.roots import open_root
from pipelines.run.report.notify import messages_about, parse_receivers, send
from tests.causes.reports import audited, definition, export, widget
from tests.pipelines.report.test_commands import auditor
from tests.shared import ROOT

SECRET_VALUE = "hunter2-is-a-value"


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    rule = "'<!channel>' == ''"
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": rule}]
    bad = widget("b", {"size": SECRET_VALUE})
    return export(tmp_path_factory.mktemp("dump") / "dump.ndjson", crd, widget("a", {"size": 9}), bad)


@pytest.fixture(scope="module")
def report(dump, tmp_path_factory):
    return audited(tmp_path_factory.mktemp("report") / "report", dump)


@pytest.fixture
def web(monkeypatch):
    """A web server that keeps what it gets; its attribute `answer` is its answer, and it calls `look` before."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.got.append((self.path, json.loads(body)))
            self.server.users.append(self.headers["Authorization"])
            self.server.look()
            self.send_response(self.server.answer)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AUDITOR_INSECURE_HTTP", "1")
    with Serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        server.answer, server.look, server.got, server.users = 200, lambda: None, [], []
        yield server


@pytest.fixture
def mail(monkeypatch):
    """A mail server that keeps what it gets."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            self.say("220 test")
            while line := self.rfile.readline():
                word = line.split()[0].upper()
                self.server.got.append(line.decode().strip())
                if word == b"DATA":
                    self.say("354 go on")
                    while (text := self.rfile.readline()) != b".\r\n":
                        self.server.got.append(text.decode().rstrip())
                self.say("221 bye" if word == b"QUIT" else self.server.answer if word == b"RCPT" else "250 ok")

        def say(self, text):
            self.wfile.write(f"{text}\r\n".encode())

    monkeypatch.setenv("AUDITOR_INSECURE_HTTP", "1")
    with Serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as server:
        server.got, server.answer = [], "250 ok"
        yield server


class Serving:
    def __init__(self, server):
        self.server = server

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self.server

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def notify(report, receivers):
    send(messages_about(report, receivers))


def port(server):
    return server.server_address[1]


def test_a_webhook_gets_json(report, web, capsys):
    notify(str(report), parse_receivers([f"http://127.0.0.1:{port(web)}/hook?key=s3cret"]))
    [(path, data)] = web.got
    assert path == "/hook?key=s3cret"
    schema = json.loads((ROOT / "auditor/output/views/notification.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(data)
    assert data["exit_code"] == 1
    model = FindingsModel.open(report)
    problems = (cause.objects if cause.impact else cause.distinct_findings for cause in model.causes)
    assert sum(data["problems"].values()) == sum(problems)
    assert data["causes"] == len(model.causes)
    assert "Widget.example.com: 1 object, spec.size" in data["text"]
    assert capsys.readouterr().err == ""


def test_slack_gets_a_payload_that_mentions_no_user(report, web):
    notify(str(report), parse_receivers([f"slack+http://127.0.0.1:{port(web)}/hook"]))
    [(_, data)] = web.got
    assert set(data) == {"text", "mrkdwn", "unfurl_links", "link_names"}
    assert "Widget.example.com" in data["text"]
    assert data["mrkdwn"] is False
    assert "&lt;!channel&gt;" in data["text"]
    assert "<" not in data["text"]


def test_a_mail_is_sent_to_all(report, mail):
    url = f"smtp://127.0.0.1:{port(mail)}?from=auditor@example.com&to=a@example.com&to=b@example.com"
    notify(str(report), parse_receivers([url]))
    text = "\n".join(mail.got)
    asked = text.lower()  # Python writes commands in small letters from 3.13 on
    assert "rcpt to:<a@example.com>" in asked
    assert "rcpt to:<b@example.com>" in asked
    subject = text[text.index("Subject:") :].partition("Content-")[0]
    assert "auditor: AT RISK" in " ".join(subject.split())
    assert "Widget.example.com" in text


@pytest.mark.parametrize("answer", [302, 404, 500])
def test_a_refused_message_is_reported_without_its_url(report, web, capsys, answer):
    web.answer = answer
    notify(str(report), parse_receivers([f"http://user:pass@127.0.0.1:{port(web)}/s3cret?key=s3cret"]))
    assert len(web.got) == 1, "a redirect is not followed"
    assert web.users == ["Basic dXNlcjpwYXNz"]
    text = capsys.readouterr().err
    assert text == (
        f"warning: http://127.0.0.1 did not take the message about the run (--notify): it answers {answer}\n"
    )


class Endless(socketserver.BaseRequestHandler):
    """Begins an answer of HTTP or of a mail server, and never ends it."""

    def handle(self):
        self.request.sendall(self.server.begin)
        while not self.server.ended.wait(0.02):
            try:
                self.request.sendall(b"-")
            except OSError:
                return


@pytest.fixture(params=["http", "http body", "smtp", "smtp silent"])
def endless(request, monkeypatch):
    """The URL of a server that never ends its answer."""
    begin = {
        "http": b"HTTP/1.1 200 OK\r\n",
        "http body": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX: ",
        "smtp": b"220",
        "smtp silent": b"220 hello\r\n250",
    }[request.param]
    monkeypatch.setenv("AUDITOR_INSECURE_HTTP", "1")
    monkeypatch.setattr("pipelines.run.report.notify._SECONDS", 0.3)
    with Serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Endless)) as server:
        server.begin, server.ended, server.daemon_threads = begin, threading.Event(), True
        scheme = request.param.partition(" ")[0]
        yield f"{scheme}://127.0.0.1:{port(server)}/?from=a@example.com&to=b@example.com"
        server.ended.set()


def test_a_server_that_answers_for_ever_is_given_up(report, endless, web, capsys):
    notify(str(report), parse_receivers([endless, f"http://127.0.0.1:{port(web)}/"]))
    shown = endless.rpartition(":")[0]
    assert capsys.readouterr().err == (
        f"warning: {shown} did not take the message about the run (--notify): it was not done within 0.3 s\n"
    )
    assert len(web.got) == 1, "the other message is sent"


def test_a_message_is_sent_when_the_lock_is_free(dump, tmp_path, web):
    """The next night finds no lock, however long a message takes."""
    locked = []

    def look():
        with run_lock(open_root(str(tmp_path / "root"))):
            locked.append(json.loads((tmp_path / "root" / "last-run.json").read_text())["exit_code"])

    web.look = look
    done = auditor("audit", dump, "--report-root", tmp_path / "root", "--notify", f"http://127.0.0.1:{port(web)}/")
    assert done.code == 1, done.stderr
    assert locked == [1]


def test_one_refusal_does_not_stop_the_next_message(report, web, mail, capsys):
    mail.answer = "550 no"
    urls = [
        "http://127.0.0.1:1/",
        f"smtp://127.0.0.1:{port(mail)}?from=a@example.com&to=b@example.com",
        f"http://127.0.0.1:{port(web)}/",
    ]
    notify(str(report), parse_receivers(urls))
    assert len(web.got) == 1
    assert capsys.readouterr().err.count("did not take the message") == 2


def test_an_audit_has_the_same_result_whether_its_message_is_taken(dump, tmp_path, web):
    done = auditor("audit", dump, "--report", tmp_path / "one", "--notify", f"http://127.0.0.1:{port(web)}/")
    assert done.code == 1
    assert len(web.got) == 1
    named = {"AUDITOR_AUDIT_NOTIFY": "http://127.0.0.1:1/"}
    refused = auditor("audit", dump, "--report", tmp_path / "two", env=named)
    assert refused.code == 1
    assert "did not take the message" in refused.stderr
    outputs = (one.stdout.replace("\\\n", "").replace("two", "one") for one in (refused, done))
    texts = (re.sub(r"[0-9.]+ s$", "", text, flags=re.MULTILINE) for text in outputs)
    assert len(set(texts)) == 1


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.com/", "ftp://example.com", "https://", "example.com", "http://[", "https://a:port/"),
        *("smtp://example.com", "smtp://example.com?from=a@b", "smtp://u:p@example.com?from=a&to=b"),
        "slack+smtp://example.com?from=a&to=b",
    ],
)
def test_urls_of_another_form_are_refused_before_the_audit(url, monkeypatch):
    monkeypatch.delenv("AUDITOR_INSECURE_HTTP", raising=False)
    with pytest.raises(PlanError) as error:
        parse_receivers([url])
    assert "u:p" not in str(error.value)


def test_slack_is_known_by_its_host():
    [one] = parse_receivers(["https://hooks.slack.com/services/T/B/s3cret"])
    assert (one.form, one.shown) == ("slack", "https://hooks.slack.com")


def test_a_message_is_short_and_has_no_value(tmp_path):
    names = [f"field{number:03}{'x' * 80}" for number in range(200)]
    crd = definition({name: {"type": "boolean"} for name in names})
    bad = widget("a", dict.fromkeys(names, SECRET_VALUE))
    folder = tmp_path / ("long" * 40)
    content = of_model(FindingsModel.open(audited(folder, export(tmp_path / "dump.ndjson", crd, bad))))
    text = message_text(content)
    assert len(text) <= MOST_CHARACTERS
    assert "and 191 more causes" in text
    assert text.endswith(content.shown[-40:])
    assert SECRET_VALUE not in json.dumps(message_data(content))
