"""`auditor audit --notify`: sends a short message about a run to a webhook, to Slack, or by mail.

Messages are made while the run still holds its report, and sent when it has ended. All are sent at once, and given up
after one limit of time. A message that cannot be sent is reported on standard error and changes nothing else. Only
scheme and host of a URL are ever printed: the rest may be a secret.
"""

from __future__ import annotations

import base64
import json
import stat
import threading
import time
import urllib.parse
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import AuditorError, PlanError
from auditor.sources.stores.locations import allows_http
from auditor.store.manifest import MANIFEST
from pipelines.console import ignore_closed_stdout
from pipelines.run.report.file_formats import opened_content, write_outputs
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from email.message import EmailMessage

    from auditor.output.formats.problems import Content
    from pipelines.run.report.file_formats import FormatTarget


_SECONDS: Final = 10.0
"""Time for all messages together, with finding and connecting to the servers, and their answers."""
_SLACK: Final = "slack+"
_SLACK_HOST: Final = "hooks.slack.com"
_MAIL: Final = {"smtp": 25, "smtps": 465}
_EXPECTED: Final = "https://..., slack+https://..., or smtp://HOST?from=ADDRESS&to=ADDRESS"
_BAD_ANSWER: Final = 300


@dataclass(frozen=True, slots=True)
class Receiver:
    """A receiver of messages.

    Attributes:
        form: ``webhook``, ``slack`` or ``mail``.
        url: The URL, without the prefix that names the form.
    """

    form: str
    url: str

    @property
    def shown(self) -> str:
        """Scheme and host, which may be printed."""
        parts = urllib.parse.urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}"


def parse_receivers(urls: Sequence[str]) -> tuple[Receiver, ...]:
    """Return the receivers that --notify names.

    Raises:
        PlanError: A URL has another form.
    """
    return tuple(_receiver(url) for url in urls)


def _receiver(url: str) -> Receiver:
    is_slack = url.startswith(_SLACK)
    bare = url.removeprefix(_SLACK)
    try:
        parts = urllib.parse.urlsplit(bare)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise PlanError("--notify", "the URL cannot be parsed", _EXPECTED) from None
    if not host or parts.scheme not in ("http", "https", *_MAIL) or (is_slack and parts.scheme in _MAIL):
        raise PlanError("--notify", f"a URL of the scheme {parts.scheme!r}", _EXPECTED)
    if parts.scheme == "http" and not allows_http():
        reason = f"http://{host} is not encrypted: others can read the message in transit"
        raise PlanError("--notify", reason, "https://", "give --insecure-http to send it nevertheless")
    if parts.scheme not in _MAIL:
        return Receiver("slack" if is_slack or host == _SLACK_HOST else "webhook", bare)
    query = urllib.parse.parse_qs(parts.query)
    if not (query.get("from") and query.get("to")):
        raise PlanError("--notify", f"{parts.scheme}://{host} names no from or no to", _EXPECTED)
    if parts.username and parts.scheme == "smtp" and not allows_http():
        reason = f"smtp://{host} would send a password that is not encrypted"
        raise PlanError("--notify", reason, "smtps://", "give --insecure-http to send it nevertheless")
    return Receiver("mail", bare)


@dataclass(slots=True)
class Message:
    """A message that is ready to be sent.

    Attributes:
        receiver: Where it goes.
        content: A mail, or the body of a request.
        failure: Why it was not taken; empty if it was, None until that is known.
    """

    receiver: Receiver
    content: bytes | EmailMessage
    failure: str | None = field(default=None, init=False)


def messages_about(report: str, receivers: Sequence[Receiver]) -> list[Message]:
    """Return the messages about a report; a failure is reported, and changes nothing.

    Args:
        report: Its folder or URL.
        receivers: Where the messages go.
    """
    if not receivers:
        return []
    try:
        with opened_content(report) as (_, content):
            return made_messages(content, receivers)
    except (AuditorError, OSError) as error:
        ErrorLines()(f"warning: no message was sent (--notify): {error}\n")
        return []


def made_messages(content: Content, receivers: Sequence[Receiver]) -> list[Message]:
    """Return the messages about a report; one that cannot be made is reported, and left out."""
    messages = []
    for receiver in receivers:
        try:
            messages.append(Message(receiver, _content_for(receiver, content)))
        except ValueError as error:  # an address that no mail can have
            _warn(receiver, type(error).__name__)
    return messages


@contextmanager
def sent_at_the_end() -> Iterator[list[Message]]:
    """Yield a list, and send the messages in it when the block has ended, unless a signal or an error ended it."""
    messages: list[Message] = []
    try:
        yield messages
    except SystemExit:
        send(messages)
        raise
    send(messages)


def send(messages: Sequence[Message]) -> None:
    """Send messages, all at the same time; what was not taken within the limit of time is reported, and given up."""
    if not messages:
        return
    threads = [threading.Thread(target=_send, args=(message,), daemon=True) for message in messages]
    end = time.monotonic() + _SECONDS
    for thread in threads:
        thread.start()
    for message, thread in zip(messages, threads, strict=True):
        thread.join(max(0.0, end - time.monotonic()))
        failure = message.failure
        if failure is None:
            failure = f"it was not done within {_SECONDS:g} s"
        if failure:
            _warn(message.receiver, failure)


def _warn(receiver: Receiver, why: str) -> None:
    ErrorLines()(f"warning: {receiver.shown} did not take the message about the run (--notify): {why}\n")


def _send(message: Message) -> None:
    try:
        if message.receiver.form == "mail":
            _mail(message)
        else:
            _post(message)
    except Exception as error:  # noqa: BLE001 - whatever a server or a proxy makes of it, the run has its result
        why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        message.failure = str(error) if isinstance(error, _MessageRefused) else why
    else:
        message.failure = ""


class _MessageRefused(OSError):
    """A server answers and refuses a message."""


def _content_for(receiver: Receiver, content: Content) -> bytes | EmailMessage:
    if receiver.form == "mail":
        return _mail_about(content, receiver.url)
    return json.dumps(_slack(content) if receiver.form == "slack" else _data(content)).encode()


def _post(message: Message) -> None:
    import urllib.error  # noqa: PLC0415 - only when asked
    import urllib.request  # noqa: PLC0415

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    headers = {"Content-Type": "application/json", "User-Agent": "auditor"}
    parts = urllib.parse.urlsplit(message.receiver.url)
    user, parts_, place = parts.netloc.rpartition("@")
    if parts_:
        token = base64.b64encode(urllib.parse.unquote(user).encode()).decode()
        headers["Authorization"] = f"Basic {token}"
    url = urllib.parse.urlunsplit(parts._replace(netloc=place))
    assert isinstance(message.content, bytes)
    request = urllib.request.Request(url, message.content, headers, method="POST")  # noqa: S310 - the scheme is checked
    try:
        with urllib.request.build_opener(NoRedirects).open(request, timeout=_SECONDS) as answer:
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
        error.close()
    except urllib.error.URLError as error:
        raise _MessageRefused(str(getattr(error.reason, "strerror", None) or type(error.reason).__name__)) from None
    if status >= _BAD_ANSWER:
        raise _MessageRefused(f"it answers {status}")


def _data(content: Content) -> dict[str, Any]:
    from auditor.output.views.message import message_data  # noqa: PLC0415 - only when asked

    return message_data(content)


def _slack(content: Content) -> dict[str, Any]:
    """Return the payload of an incoming webhook; no text of a dump can mention a user or make a link."""
    from auditor.output.views.message import MOST_CHARACTERS, message_text  # noqa: PLC0415 - only when asked

    lines, size = [], 0
    for line in message_text(content).split("\n"):
        escaped = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        size += len(escaped) + 1
        if size > MOST_CHARACTERS:
            break
        lines.append(escaped)
    return {"text": "\n".join(lines), "mrkdwn": False, "unfurl_links": False, "link_names": False}


def _mail_about(content: Content, url: str) -> EmailMessage:
    from email.message import EmailMessage  # noqa: PLC0415 - only when asked

    from auditor.output.views.message import message_text, message_title  # noqa: PLC0415

    query = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
    mail = EmailMessage()
    mail["From"], mail["To"] = query["from"][0], ", ".join(query["to"])
    mail["Subject"] = message_title(content)
    mail.set_content(message_text(content))
    return mail


def _mail(message: Message) -> None:
    import smtplib  # noqa: PLC0415 - only when asked
    import ssl  # noqa: PLC0415

    assert not isinstance(message.content, bytes)
    parts = urllib.parse.urlsplit(message.receiver.url)
    host, port = parts.hostname or "", parts.port or _MAIL[parts.scheme]
    secure = ssl.create_default_context()
    if parts.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=_SECONDS, context=secure)
    else:
        server = smtplib.SMTP(host, port, timeout=_SECONDS)
    with server:
        server.ehlo()
        if parts.scheme == "smtp" and server.has_extn("starttls"):
            server.starttls(context=secure)
            server.ehlo()
        if parts.username:
            server.login(urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or ""))
        server.send_message(message.content)


def deliver(report: str, outputs: Sequence[FormatTarget], receivers: Sequence[Receiver], history: str) -> list[Message]:
    """Write a stored report in some formats, and return the messages about it, which are not sent yet.

    Args:
        report: Its folder or URL.
        outputs: The formats.
        receivers: Receivers of the message.
        history: Folder or URL of the history that the run was added to; a page shows it; empty if there is none.

    Raises:
        AuditorError: It is not a report, or a file cannot be written.
    """
    if not outputs:
        return messages_about(report, receivers)
    from pipelines.run.report.history import known_history  # noqa: PLC0415 - 45 ms, which a start does not need

    with opened_content(report, history=known_history(history)) as (folder, content):
        with ignore_closed_stdout():
            write_outputs(content, outputs, stat.S_IMODE((folder / MANIFEST).stat().st_mode))
        return made_messages(content, receivers)
