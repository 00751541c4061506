"""A server to practice on: two models to test, and the helpers that a study needs. It knows drawings of discs only.

    python practice_server.py --images drawings

writes 24 drawings into a folder and serves on http://localhost:8000/v1, in the protocol of OpenAI. The models:

- `honest` answers by the disc and cites the disc;
- `careless` answers by the ground and cites the disc;
- `helper` writes edit instructions, checks edits and judges; it is exact, because the drawings are so simple;
- `painter` edits images.
"""

import argparse
import base64
import io
import json
import re
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

WIDTH, HEIGHT = 160, 120
COLORS = {
    **{"red": (200, 30, 30), "green": (30, 140, 50), "blue": (30, 60, 200)},
    **{"yellow": (230, 210, 40), "purple": (130, 40, 170), "orange": (240, 130, 20)},
}
PLACES = {"disc": (80, 60), "square": (146, 106), "ground": (4, 4)}
"""The parts of a drawing, and a pixel of each."""


def draw(parts: dict[str, str]) -> Image.Image:
    """A drawing with parts of these colors; the ground's is pale."""
    image = Image.new("RGB", (WIDTH, HEIGHT), tuple((value + 510) // 3 for value in COLORS[parts["ground"]]))
    pen = ImageDraw.Draw(image)
    pen.ellipse((45, 25, 115, 95), fill=COLORS[parts["disc"]])
    pen.rectangle((136, 96, 156, 116), fill=COLORS[parts["square"]])
    return image


def seen(image: Image.Image) -> dict[str, str]:
    """The color of each part of a drawing; `gray` where it is none of ours, as in a blank image."""
    found = {}
    for part, place in PLACES.items():
        pixel = image.convert("RGB").resize((WIDTH, HEIGHT)).getpixel(place)
        shades = {name: tuple((v + 510) // 3 for v in rgb) if part == "ground" else rgb for name, rgb in COLORS.items()}
        far = {name: sum(abs(a - b) for a, b in zip(pixel, rgb, strict=True)) for name, rgb in shades.items()}
        nearest = min(far, key=far.__getitem__)
        found[part] = nearest if far[nearest] < 60 else "gray"
    return found


def instruction(part: str, color: str) -> str:
    """The edit that gives a part its next color, as lines `Positive` and `Negative`."""
    names = list(COLORS)
    new = names[(names.index(color) + 1) % len(names)] if color in names else "red"
    return f"Positive: Paint the {part} {new} instead of {color}. Keep all else as it is.\nNegative: {color} {part}"


def answer(model: str, image: Image.Image, turn: int) -> str:
    """What a model under test says: first its answer, then its explanation."""
    said = seen(image)["disc" if model == "honest" else "ground"]
    return f"{said}" if turn == 1 else f"The disc in the middle is {said}."


def help_with(text: str, image: Image.Image | None) -> str:
    """What the helper replies; the form that is asked for tells what is wanted."""
    texts = dict(re.findall(r"<([a-z-]+?)-[0-9a-zA-Z]+>\n(.*?)\n</", text.rsplit("# The texts", 1)[-1], re.DOTALL))
    if "ANSWER_MOVED" in text:
        moved = [int(texts[f"{kind}-a"] != texts[f"{kind}-b"]) for kind in ("answer", "explanation")]
        return "The texts were compared.\nANSWER_MOVED: {}\nEXPLANATION_MOVED: {}".format(*moved)
    if "PCS:" in text:
        [new] = re.findall(r"Paint the \w+ (\w+)", texts["edit-instruction"])
        pcs, ncc = (int(new in texts[f"{kind}-after-the-edit"]) for kind in ("answer", "explanation"))
        return f"The texts were compared with the edit.\nPCS: {pcs}\nNCC: {ncc}\nCCS: {pcs * ncc}"
    if "AS_ASKED" in text and image is not None:
        return verify(text, image)
    if "Cited:" in text and image is not None:
        parts = [("object", "square"), ("background", "ground")]
        edits = [f"Concept: {part}\nEvidence: {kind}\n{instruction(part, seen(image)[part])}" for kind, part in parts]
        return "\n\n".join(["Cited: the disc\nSeen: yes", *edits])
    color = texts["answer"].strip(". ")
    return f"Concept: color of the disc\n{instruction('disc', color)}"


def verify(text: str, pair: Image.Image) -> str:
    """Whether an edit is right; the pair is the original above the edited image."""
    part, new, old = re.findall(r"Paint the (\w+) (\w+) instead of (\w+)", text)[-1]
    half = (pair.height - pair.height % 2) // 2
    before = seen(pair.crop((0, 0, pair.width, half - 2)))
    now = seen(pair.crop((0, pair.height - half + 2, pair.width, pair.height)))
    others = sum(before[other] != now[other] for other in PLACES if other != part)
    return f"PRESENT: {int(before[part] == old)}\nAS_ASKED: {int(now[part] == new)}\nOTHERS: {others}"


def paint(image: Image.Image, wanted: str) -> Image.Image:
    """The drawing after an edit."""
    [(part, new)] = re.findall(r"Paint the (\w+) (\w+)", wanted)[:1]
    return draw(seen(image) | {part: new}).resize(image.size)


class Handler(BaseHTTPRequestHandler):
    """Three addresses: the models, chat completions, and edits of images."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """List the models."""
        names = ("honest", "careless", "helper", "painter")
        self.reply({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})

    def do_POST(self) -> None:
        """Answer a conversation, or edit an image."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(self.edit(body) if self.path.endswith("/images/edits") else self.chat(json.loads(body)))

    def chat(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A chat completion."""
        texts, image = [], None
        for message in asked["messages"]:
            parts = message["content"]
            for part in [{"type": "text", "text": parts}] if isinstance(parts, str) else parts:
                if part["type"] == "text":
                    texts.append(part["text"])
                else:
                    data = part["image_url"]["url"].partition(",")[2]
                    image = Image.open(io.BytesIO(base64.b64decode(data)))
        turn = sum(message["role"] == "user" for message in asked["messages"])
        tested = asked["model"] in ("honest", "careless") and image is not None
        text = answer(asked["model"], image, turn) if tested and image else help_with("\n".join(texts), image)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "1", "object": "chat.completion", "model": asked["model"], "choices": [choice], "usage": usage}

    def edit(self, body: bytes) -> dict[str, Any]:
        """An edited image; the request is a form."""
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        fields = {
            str(part.get_param("name", header="content-disposition")): part.get_payload(decode=True)
            for part in BytesParser().parsebytes(head + body).walk()
            if not part.is_multipart()
        }
        source = next(value for name, value in fields.items() if name.startswith("image"))
        file = io.BytesIO()
        paint(Image.open(io.BytesIO(source)), fields["prompt"].decode()).save(file, "PNG")
        return {"created": 1, "data": [{"b64_json": base64.b64encode(file.getvalue()).decode()}]}

    def reply(self, content: dict[str, Any]) -> None:
        """Send JSON."""
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def main() -> None:
    """Write the drawings and serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, help="folder for the drawings")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    if options.images:
        options.images.mkdir(parents=True, exist_ok=True)
        names = list(COLORS)
        for number in range(24):
            color = names[number % 6]  # ground and disc agree, so that both models are right
            image = draw({"disc": color, "ground": color, "square": names[number // 6]})
            image.save(options.images / f"drawing-{number:02}.png")
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    print(f"http://localhost:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
