"""Serves pages to browsers on this machine: read only, to who knows the address.

It listens on 127.0.0.1 only. Other users of the machine can connect there too, so the address has a secret in it; and
any web page that a browser shows can send requests there, so those that name another host, or come from a page of
another origin, are refused. There is nothing but GET, and nothing that a request can change.
"""

from __future__ import annotations

import re
import secrets
import socket
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

HERE = "127.0.0.1"
MOST_CONNECTIONS = 32
TIMEOUT_S = 10.0
"""A viewer that sends no request, or takes nothing of an answer, for so long is disconnected."""
_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?")
"""With any port: a user may have forwarded another one to this machine, such as by `ssh -L`."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # this one cannot be given in the page
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Reply:
    """What a viewer gets."""

    content_type: str
    pieces: Iterable[bytes]
    """One after the other, as they come; a page is one piece."""
    headers: Mapping[str, str] = field(default_factory=dict)


class Source(Protocol):
    """What is served."""

    def hear(self, told: dict[str, Any]) -> None:
        """The command says something, such as how far it is. The last time, `ended` is true."""

    def reply(self, name: str, query: Mapping[str, str]) -> Reply | None:
        """What is at this name below the address; None if there is nothing. Called in many threads."""


def listening_socket() -> socket.socket:
    """A socket on a free port of this machine."""
    return socket.create_server((HERE, 0))


def new_secret() -> str:
    """A part of an address that no one can guess."""
    return secrets.token_urlsafe(16)


class LiveServer(ThreadingHTTPServer):
    """Answers each viewer in a thread of its own, so that one that reads slowly holds up no other."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, secret: str, source: Source) -> None:
        super().__init__(listening.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.secret, self.source = secret, source
        self._free = threading.Semaphore(MOST_CONNECTIONS)
        self._lock = threading.Lock()
        self.open_connections = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin to answer, if there are not too many viewers."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        with self._lock:
            self.open_connections += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, in a thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self.open_connections -= 1
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A viewer has gone, or takes nothing: that is its own affair."""


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer
    timeout = TIMEOUT_S
    server_version, sys_version = "testbed", ""

    def do_GET(self) -> None:
        """Answer a request."""
        if not self._comes_from_here():
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        reply = self._reply()
        if reply is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        for name, value in {"Content-Type": reply.content_type, **_HEADERS, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in reply.pieces:
            self.wfile.write(piece)

    def _comes_from_here(self) -> bool:
        """Whether the request names this machine, and no page of another origin has sent it."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        return _HOST.fullmatch(host) is not None and origin in (None, f"http://{host}")

    def _reply(self) -> Reply | None:
        """What is at the address; nothing without the secret."""
        address = urlsplit(self.path)
        _, secret, name = (*address.path.split("/", 2), "", "")[:3]
        if not compare_digest(secret.encode(), self.server.secret.encode()):
            return None
        return self.server.source.reply(name, dict(parse_qsl(address.query)))

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the terminal is the command's."""
