"""A server that answers as it is told, one answer after the other: for protocols of which little is needed."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """A request: its path, its headers in lower case, its JSON."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Scripted:
    """A running server; answers are a status, a JSON body (or bytes) and headers, and the last is given ever again.

    A body may be a function, which gets what was asked.
    """

    origin: str = ""
    answers: list[tuple[int, Any, dict[str, str]]] = field(default_factory=list)
    log: list[Asked] = field(default_factory=list)

    def say(self, *answers: Any) -> None:
        """Forget what was asked, and answer this from now on: bodies with status 200, or (status, body, headers)."""
        self.log = []
        self.answers = [one if isinstance(one, tuple) else (200, one, {}) for one in answers]

    def next(self, asked: Asked) -> tuple[int, Any, dict[str, str]]:
        """The answer to a request."""
        self.log.append(asked)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def scripted() -> Iterator[Scripted]:
    """A server while the block runs."""
    server = Scripted()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, body, further = server.next(Asked(self.path, headers, json.loads(raw or b"null")))
            body = body(server.log[-1]) if callable(body) else body
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(sent)),
                **further,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.origin = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
