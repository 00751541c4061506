"""A model hub on loopback that serves one folder as the model `someone/some-model`, or refuses to."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

MODEL = "someone/some-model"
"""What the hub has."""
NOWHERE = "http://127.0.0.1:9"
"""Where nobody listens."""
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def asked_at(patch: pytest.MonkeyPatch, address: str, cache: Path | None = None) -> None:
    """Let the hub's client, which read its settings at its import, talk to another hub, with an own cache."""
    patch.setattr(constants, "ENDPOINT", address)
    patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}")
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    if cache:
        patch.setattr(constants, "HF_HUB_CACHE", str(cache))


@contextmanager
def hub(folder: Path | None = None, status: int = 404, code: str = "RepoNotFound") -> Iterator[tuple[str, list[str]]]:
    """The address of a hub and the files that were fetched from it; without a folder it only answers with an error."""
    fetched: list[str] = []

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def log_message(self, *message: object) -> None:
            pass

        def _answer(self, body: bool) -> None:
            path = self.path.split("?")[0]
            if folder is None:
                return self._send(status, b"{}", body, {"X-Error-Code": code})
            if path.startswith(f"/api/models/{MODEL}/tree/"):
                return self._send(200, json.dumps(_tree(folder)).encode(), body)
            if path.startswith(f"/api/models/{MODEL}"):
                return self._send(200, json.dumps(_card(folder)).encode(), body)
            name = path.partition("/resolve/")[2].partition("/")[2]
            if not (folder / name).is_file():
                return self._send(404, b"", body, {"X-Error-Code": "EntryNotFound"})
            if body:
                fetched.append(name)
            content = (folder / name).read_bytes()
            about = {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
            return self._send(200, content, body, about)

        def _send(self, status: int, content: bytes, body: bool, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", fetched
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _card(folder: Path) -> dict[str, object]:
    return {"id": MODEL, "sha": COMMIT, "siblings": [{"rfilename": name} for name in _names(folder)]}


def _tree(folder: Path) -> list[dict[str, object]]:
    sizes = ((name, (folder / name).stat().st_size) for name in _names(folder))
    return [{"type": "file", "path": name, "size": size, "oid": "0" * 40} for name, size in sizes]
