"""The server of live pages: who gets an answer, and that slow viewers hold up no one."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from testbed.look.live.server import HERE, MOST_CONNECTIONS, LiveServer, Reply, listening_socket, new_secret

SECRET = "the-secret-of-these-tests"


class Letters:
    """A page, and a stream that goes on until the test ends it."""

    def __init__(self) -> None:
        self.is_over = threading.Event()

    def hear(self, told: dict[str, Any]) -> None:
        """Nothing is said here."""

    def reply(self, name: str, query: Mapping[str, str]) -> Reply | None:
        if name == "stream":
            return Reply("text/plain", self._pieces())
        return Reply("text/html", [f"page {query.get('n', '-')}".encode()]) if name == "" else None

    def _pieces(self) -> Iterator[bytes]:
        while not self.is_over.is_set():
            yield b"x" * 65536
        yield b"end"


@pytest.fixture
def server() -> Iterator[LiveServer]:
    made = LiveServer(listening_socket(), SECRET, Letters())
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.source.is_over.set()  # type: ignore[attr-defined]
    made.shutdown()
    made.server_close()


def ask(server: LiveServer, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(HERE, server.server_address[1], timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_no_two_secrets_are_the_same() -> None:
    assert len({new_secret() for _ in range(100)}) == 100
    assert all(len(new_secret()) >= 22 for _ in range(100)), "128 bits"


def test_the_page(server: LiveServer) -> None:
    assert ask(server, f"/{SECRET}/?n=3") == (200, b"page 3")
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("path", ["/", "", "/x", f"/{SECRET[:-1]}/", f"/{SECRET}x/", f"/x/{SECRET}/", "/%2e/", "*"])
def test_nothing_without_the_secret(server: LiveServer, path: str) -> None:
    status, body = ask(server, path)
    assert status in (400, 404)
    assert b"page" not in body
    assert SECRET.encode() not in body


@pytest.mark.parametrize("name", ["other", "../", "stream/..", "etc/passwd"])
def test_nothing_at_other_names(server: LiveServer, name: str) -> None:
    assert ask(server, f"/{SECRET}/{name}")[0] == 404


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "localhost:8080", "127.0.0.1:1"])
def test_hosts_that_are_this_machine(server: LiveServer, host: str) -> None:
    """With any port: the user may have forwarded one."""
    assert ask(server, f"/{SECRET}/", Host=host)[0] == 200
    assert ask(server, f"/{SECRET}/", Host=host, Origin=f"http://{host}")[0] == 200


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1.evil.example", "localhost.evil:80", "127.0.0.1:x", "[::1]"]
)
def test_other_hosts_are_refused(server: LiveServer, host: str) -> None:
    """A name that an attacker lets point to this machine (DNS rebinding) is in the header."""
    assert ask(server, f"/{SECRET}/", Host=host)[0] == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:80", "http://127.0.0.1:1"])
def test_other_origins_are_refused(server: LiveServer, origin: str) -> None:
    host = f"127.0.0.1:{server.server_address[1]}"
    assert ask(server, f"/{SECRET}/", Host=host, Origin=origin)[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"])
def test_nothing_is_writable(server: LiveServer, method: str) -> None:
    assert ask(server, f"/{SECRET}/", method)[0] == 501


def test_what_a_browser_is_told(server: LiveServer) -> None:
    connection = http.client.HTTPConnection(HERE, server.server_address[1], timeout=30)
    connection.request("GET", f"/{SECRET}/")
    headers = connection.getresponse().headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer", "the secret would be in it"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in headers


def raw(server: LiveServer, text: str) -> socket.socket:
    """A connection that has sent something and reads nothing."""
    connection = socket.create_connection((HERE, server.server_address[1]), timeout=30)
    connection.sendall(text.encode())
    return connection


def until(condition: Any) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_viewers_that_do_not_read_hold_up_no_other(server: LiveServer) -> None:
    """And one that has gone leaves nothing."""
    request = f"GET /{SECRET}/stream HTTP/1.0\r\nHost: localhost\r\n\r\n"
    stuck = [raw(server, request) for _ in range(3)]
    stuck.append(raw(server, "GET /"))  # never ends its request
    until(lambda: server.open_connections == 4)
    assert ask(server, f"/{SECRET}/") == (200, b"page -")
    for one in stuck:
        one.close()
    until(lambda: server.open_connections == 0)


def test_too_many_viewers(server: LiveServer) -> None:
    """More are turned away, until one has gone."""
    stuck = [raw(server, "GET /") for _ in range(MOST_CONNECTIONS)]
    until(lambda: server.open_connections == MOST_CONNECTIONS)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        ask(server, f"/{SECRET}/")
    stuck.pop().close()
    until(lambda: server.open_connections < MOST_CONNECTIONS)
    assert ask(server, f"/{SECRET}/")[0] == 200
    for one in stuck:
        one.close()


def test_garbage(server: LiveServer) -> None:
    for text in (
        "\r\n\r\n",
        "GET\r\n\r\n",
        "\x00\xff" * 1000 + "\r\n\r\n",
        "GET " + "/" * 100_000 + " HTTP/1.0\r\n\r\n",
    ):
        raw(server, text).close()
    assert ask(server, f"/{SECRET}/")[0] == 200
