"""A time-stamping authority on this machine: `openssl ts` behind a tiny server, and what may go wrong with one."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

CONFIG = """
[req]
distinguished_name = name
[name]
[root]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[tsa]
default_tsa = one
[one]
serial = {place}/serial
signer_cert = {place}/leaf.pem
signer_key = {place}/leaf.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
accuracy = secs:1
ess_cert_id_alg = sha256
"""


class Authority:
    """Keys and certificates in a folder, and what it answers."""

    def __init__(self, place: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("there is no openssl here")
        place.mkdir()
        self.place, self.root = place, place / "root.pem"
        self.status = 200
        self.answer: bytes | None = None
        (place / "openssl.cnf").write_text(CONFIG.format(place=place))
        (place / "serial").write_text("01\n")
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        made = ["-x509", "-days", "30", "-extensions", "root", "-subj", "/CN=Root", "-out", "root.pem"]
        self._openssl("req", *key, *made, "-keyout", "root.key")
        self._openssl("req", *key, "-subj", "/CN=Clock", "-keyout", "leaf.key", "-out", "leaf.csr")
        by = ["-CA", "root.pem", "-CAkey", "root.key", "-set_serial", "2", "-days", "30"]
        self._openssl(
            "x509", "-req", "-in", "leaf.csr", *by, "-extfile", "openssl.cnf", "-extensions", "leaf", "-out", "leaf.pem"
        )

    def _openssl(self, command: str, *words: str) -> None:
        config = ["-config", "openssl.cnf"] if command in ("req", "ts") else []
        done = subprocess.run(
            ["openssl", command, *config, *words], cwd=self.place, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def reply(self, query: bytes) -> bytes:
        """The answer to a query."""
        (self.place / "query.tsq").write_bytes(query)
        self._openssl("ts", "-reply", "-section", "one", "-queryfile", "query.tsq", "-out", "answer.tsr")
        return self.answer if self.answer is not None else (self.place / "answer.tsr").read_bytes()

    @contextmanager
    def served(self) -> Iterator[str]:
        """The authority's address while it answers."""

        class Handler(BaseHTTPRequestHandler):
            authority = self

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert self.headers["Content-Type"] == "application/timestamp-query"
                content = self.authority.reply(body)
                self.send_response(self.authority.status)
                self.send_header("Content-Type", "application/timestamp-reply")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is printed."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            server.server_close()
