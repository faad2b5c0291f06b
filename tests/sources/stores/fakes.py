"""Small servers that speak as much of Google's and Azure's stores as pyarrow's clients ask for, kept in memory."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import threading
import urllib.parse
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

STAMP = "Sat, 21 Nov 2026 00:00:00 GMT"


class Store(http.server.BaseHTTPRequestHandler):
    """What both have in common; names are BUCKET/PATH."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]

    def log_message(self, *_: Any) -> None:
        """Write no log."""

    def url(self) -> tuple[list[str], dict[str, str]]:
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        return parts.path.strip("/").split("/"), query

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        out = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def answer(self, code: int, body: bytes = b"", **headers: Any) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def content(self, data: bytes, **headers: Any) -> None:
        """Answer with bytes, or the range of them that was asked for."""
        wanted = self.headers.get("x-ms-range") or self.headers.get("Range")
        if not wanted:
            self.answer(200, data, **headers)
            return
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        start, stop = int(first), min(int(last or len(data)) + 1, len(data))
        if start >= len(data):
            self.answer(416, **headers)
            return
        self.answer(206, data[start:stop], Content_Range=f"bytes {start}-{stop - 1}/{len(data)}", **headers)

    def below(self, bucket: str, prefix: str) -> list[str]:
        names = sorted(name.partition("/")[2] for name in self.objects if name.startswith(bucket + "/"))
        return [name for name in names if name.startswith(prefix)]


class Google(Store):
    """storage/v1: uploads in pieces, downloads and flat lists, which are what the client uses."""

    sessions: dict[str, bytes]

    def do_GET(self) -> None:
        parts, query = self.url()
        bucket, name = parts[3], urllib.parse.unquote(parts[5]) if len(parts) > 5 else ""
        if not name:
            items = [self.described(bucket, one) for one in self.below(bucket, query.get("prefix", ""))]
            self.json({"kind": "storage#objects", "items": items})
        elif f"{bucket}/{name}" not in self.objects:
            self.json({"error": {"code": 404, "message": "Not Found"}}, 404)
        elif query.get("alt") == "media":
            self.content(self.objects[f"{bucket}/{name}"])
        else:
            self.json(self.described(bucket, name))

    def do_POST(self) -> None:
        parts, query = self.url()
        session = f"{parts[4]}/{query['name']}"
        self.body()
        self.sessions[session] = b""
        target = f"http://{self.headers['Host']}{self.path}&upload_id={urllib.parse.quote(session, safe='')}"
        self.answer(200, Location=target)

    def do_PUT(self) -> None:
        session = self.url()[1]["upload_id"]
        self.sessions[session] += self.body()
        if self.headers.get("Content-Range", "").endswith("/*"):
            self.answer(308, Range=f"bytes=0-{len(self.sessions[session]) - 1}")
            return
        self.objects[session] = self.sessions.pop(session)
        bucket, _, name = session.partition("/")
        self.json(self.described(bucket, name))

    def json(self, document: Any, code: int = 200) -> None:
        self.answer(code, json.dumps(document).encode(), Content_Type="application/json")

    def described(self, bucket: str, name: str) -> dict[str, Any]:
        return {
            "kind": "storage#object", "name": name, "bucket": bucket, "size": str(len(self.objects[f"{bucket}/{name}"])),
            "generation": "1", "metageneration": "1", "updated": "2026-11-21T00:00:00Z",
            "timeCreated": "2026-11-21T00:00:00Z",
        }  # fmt: skip


class Azure(Store):
    """The service of blobs as the emulator has it: the account is the first part of a path."""

    blocks: dict[str, dict[str, bytes]]

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts, query = self.url()
        container, name = parts[1], urllib.parse.unquote("/".join(parts[2:]))
        if "action" in query:
            self.answer(400, x_ms_error_code="InvalidQueryParameterValue")  # no hierarchy of folders
        elif query.get("comp") == "list":
            self.listed(container, query)
        elif not name:
            self.answer(200, Last_Modified=STAMP, ETag='"1"')
        elif f"{container}/{name}" not in self.objects:
            self.answer(404, x_ms_error_code="BlobNotFound")
        else:
            data = self.objects[f"{container}/{name}"]
            headers: dict[str, Any] = {
                "Last_Modified": STAMP, "ETag": '"1"', "x_ms_blob_type": "BlockBlob", "x_ms_creation_time": STAMP,
                "Content_Type": "application/octet-stream", "x_ms_server_encrypted": "true",
                "x_ms_lease_status": "unlocked", "x_ms_lease_state": "available",
            }  # fmt: skip
            if self.command == "HEAD":
                self.answer(200, Content_Length=str(len(data)), **headers)
            else:
                self.content(data, **headers)

    def do_PUT(self) -> None:
        parts, query = self.url()
        name, body = f"{parts[1]}/{urllib.parse.unquote('/'.join(parts[2:]))}", self.body()
        if query.get("comp") == "block":
            self.blocks.setdefault(name, {})[query["blockid"]] = body
        elif query.get("comp") == "blocklist":
            ids = [part.partition(b"<")[0].decode() for part in body.split(b">") if part.partition(b"<")[0].strip()]
            known = self.blocks.get(name, {})
            self.objects[name] = b"".join(known[one] for one in ids if one in known)
        elif "restype" not in query:
            self.objects[name] = body
        md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
        self.answer(
            201, Last_Modified=STAMP, ETag='"1"', Content_MD5=md5, x_ms_request_server_encrypted="true", Date=STAMP
        )

    def listed(self, container: str, query: dict[str, str]) -> None:
        prefix, names, folders = query.get("prefix", ""), list[str](), list[str]()
        for name in self.below(container, prefix):
            head, slash, _ = name[len(prefix) :].partition("/")
            if slash and query.get("delimiter"):
                folders.append(prefix + head + "/")
            else:
                names.append(name)
        blobs = "".join(
            f"<Blob><Name>{escape(name)}</Name><Properties><Creation-Time>{STAMP}</Creation-Time><Last-Modified>{STAMP}"
            f"</Last-Modified><Etag>1</Etag><Content-Length>{len(self.objects[f'{container}/{name}'])}</Content-Length>"
            "<Content-Type>application/octet-stream</Content-Type><BlobType>BlockBlob</BlobType>"
            "<ServerEncrypted>true</ServerEncrypted></Properties></Blob>"
            for name in names
        )
        shown = "".join(f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>" for name in dict.fromkeys(folders))
        text = (
            '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="http://localhost/" '
            f'ContainerName="{container}"><Prefix>{escape(prefix)}</Prefix><Blobs>{blobs}{shown}</Blobs><NextMarker/>'
            "</EnumerationResults>"
        )
        self.answer(200, text.encode(), Content_Type="application/xml")


@contextmanager
def serving(kind: type[Store]) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Run a store; yield its address and what it holds."""
    objects: dict[str, bytes] = {}
    handler = type(kind.__name__, (kind,), {"objects": objects, "sessions": {}, "blocks": {}})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), cast("Any", handler)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}", objects
        server.shutdown()
