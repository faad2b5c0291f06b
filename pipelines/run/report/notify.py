"""`auditor audit --notify`: sends a short message about a run to a webhook, to Slack, or by mail.

A message that cannot be sent is reported on standard error and changes nothing else. Only scheme and host of a URL
are ever printed: the rest may be a secret.
"""

from __future__ import annotations

import base64
import json
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import AuditorError, PlanError
from auditor.sources.stores.locations import allows_http
from pipelines.run.report.formats import opened_content
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.report.formats.problems import Content

__all__ = ["Receiver", "notify", "parse_receivers", "send_all"]

_SECONDS: Final = 10.0
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
        found = f"http://{host} is not encrypted: others can read the message in transit"
        raise PlanError("--notify", found, "https://", "give --insecure-http to send it nevertheless")
    if parts.scheme not in _MAIL:
        return Receiver("slack" if is_slack or host == _SLACK_HOST else "webhook", bare)
    query = urllib.parse.parse_qs(parts.query)
    if not (query.get("from") and query.get("to")):
        raise PlanError("--notify", f"{parts.scheme}://{host} names no from or no to", _EXPECTED)
    if parts.username and parts.scheme == "smtp" and not allows_http():
        found = f"smtp://{host} would send a password that is not encrypted"
        raise PlanError("--notify", found, "smtps://", "give --insecure-http to send it nevertheless")
    return Receiver("mail", bare)


def notify(report: str, receivers: Sequence[Receiver]) -> None:
    """Send a message about a report to each receiver; a failure is reported, and changes nothing.

    Args:
        report: Its folder or URL.
        receivers: Where the message goes.
    """
    if not receivers:
        return
    try:
        with opened_content(report) as (_, content):
            send_all(content, receivers)
    except (AuditorError, OSError) as error:
        ErrorLines()(f"warning: no message was sent (--notify): {error}\n")


def send_all(content: Content, receivers: Sequence[Receiver]) -> None:
    """Send a message about a report to each receiver; a failure is reported, and changes nothing."""
    for receiver in receivers:
        _send(content, receiver)


def _send(content: Content, receiver: Receiver) -> None:
    import http.client  # noqa: PLC0415 - only when asked
    import smtplib  # noqa: PLC0415

    try:
        if receiver.form == "mail":
            _mail(content, receiver.url)
        else:
            _post(content, receiver)
    except (OSError, http.client.HTTPException, smtplib.SMTPException, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        why = str(error) if isinstance(error, _Refused) else why
        ErrorLines()(f"warning: {receiver.shown} did not take the message about the run (--notify): {why}\n")


class _Refused(OSError):
    """A server answers and refuses a message."""


def _post(content: Content, receiver: Receiver) -> None:
    import urllib.error  # noqa: PLC0415 - only when asked
    import urllib.request  # noqa: PLC0415

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    body = json.dumps(_slack(content) if receiver.form == "slack" else _data(content)).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "auditor"}
    parts = urllib.parse.urlsplit(receiver.url)
    user, at, place = parts.netloc.rpartition("@")
    if at:
        token = base64.b64encode(urllib.parse.unquote(user).encode()).decode()
        headers["Authorization"] = f"Basic {token}"
    url = urllib.parse.urlunsplit(parts._replace(netloc=place))
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 - the scheme is checked
    try:
        with urllib.request.build_opener(NoRedirects).open(request, timeout=_SECONDS) as answer:
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
        error.close()
    except urllib.error.URLError as error:
        raise _Refused(str(getattr(error.reason, "strerror", None) or type(error.reason).__name__)) from None
    if status >= _BAD_ANSWER:
        raise _Refused(f"it answers {status}")


def _data(content: Content) -> dict[str, Any]:
    from auditor.report.views.message import message_data  # noqa: PLC0415 - only when asked

    return message_data(content)


def _slack(content: Content) -> dict[str, Any]:
    """Return the payload of an incoming webhook; no text of a dump can mention a user or make a link."""
    from auditor.report.views.message import MOST_CHARACTERS, message_text  # noqa: PLC0415 - only when asked

    lines, size = [], 0
    for line in message_text(content).split("\n"):
        escaped = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        size += len(escaped) + 1
        if size > MOST_CHARACTERS:
            break
        lines.append(escaped)
    return {"text": "\n".join(lines), "mrkdwn": False, "unfurl_links": False, "link_names": False}


def _mail(content: Content, url: str) -> None:
    import smtplib  # noqa: PLC0415 - only when asked
    import ssl  # noqa: PLC0415
    from email.message import EmailMessage  # noqa: PLC0415

    from auditor.report.views.message import message_text, message_title  # noqa: PLC0415

    parts = urllib.parse.urlsplit(url)
    query = urllib.parse.parse_qs(parts.query)
    message = EmailMessage()
    message["From"], message["To"] = query["from"][0], ", ".join(query["to"])
    message["Subject"] = message_title(content)
    message.set_content(message_text(content))
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
        server.send_message(message)
