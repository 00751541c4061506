"""A server of the OpenAI protocol in a few lines: says who it is and what it was asked; slow where it is told to be."""

import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Answers `/health` and chat completions."""

    def do_GET(self) -> None:
        self._say({"well": True})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked.get("tells"):
            Path(asked["tells"]).touch()
        time.sleep(float(asked.get("wait", 0)))
        if asked.get("die"):
            os._exit(7)
        where = {"pid": os.getpid(), "child": CHILD.pid}
        where |= {"gpu": os.environ.get("CUDA_VISIBLE_DEVICES"), "job": os.environ.get("SLURM_JOB_ID")}
        said = {"finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(where)}}
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        turns = len(asked.get("messages", ()))
        self._say({**where, "turns": turns, "model": asked.get("model"), "choices": [said], "usage": usage})

    def _say(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the log is for what goes wrong."""


if __name__ == "__main__":
    if sys.argv[1] == "broken":
        sys.exit("no such weights")
    CHILD = subprocess.Popen(["sleep", "600"], start_new_session=True)  # as servers start workers of their own
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
