"""A server to practice on: two models to test, and the helpers that a study needs. It knows drawings of discs only.

In the protocol of OpenAI it serves the models

- `honest`, which answers by the disc and cites the disc;
- `careless`, which answers by the ground and cites the disc;
- `helper`, which writes edit instructions, checks edits and judges; it is exact, because the drawings are so simple;
- `painter`, which edits images.
"""

import base64
import io
import json
import re
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from PIL import Image, ImageDraw

from cfeval.core.errors import InputError

# So many that a trust card can conclude something.
DRAWINGS = 96
RADII = (35, 30, 25)
TESTED = ("honest", "careless")
MODELS = (*TESTED, "helper", "painter")
WIDTH, HEIGHT = 160, 120
COLORS = {
    **{"red": (200, 30, 30), "green": (30, 140, 50), "blue": (30, 60, 200)},
    **{"yellow": (230, 210, 40), "purple": (130, 40, 170), "orange": (240, 130, 20)},
}
# The parts of a drawing, and a pixel of each.
PLACES = {"disc": (80, 60), "square": (146, 106), "ground": (4, 4)}
# Of a pixel from a color, over its channels: storing and resizing move it less, and a blank image is further away.
MOST_DISTANT = 60


def run(
    images: Annotated[Path, typer.Option(help="Folder that the drawings are written to.")] = Path("drawings"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0: any that is free.")] = 8000,
) -> None:
    """Serve two small models to practice on, one faithful and one not, and write drawings to ask them about.

    It speaks the protocol of OpenAI, needs no key, and listens on this machine alone.
    """
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise InputError(f"port {port} cannot be used ({error.strerror}); choose another with --port") from error
    with server:
        write_drawings(images)
        print(f"Wrote {DRAWINGS} drawings to {images}")
        print(f"Serving {', '.join(MODELS)} at http://localhost:{server.server_port}/v1 (Ctrl-C to stop)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def write_drawings(folder: Path) -> None:
    """Write the drawings; ground and disc agree in color, so that both models are right."""
    folder.mkdir(parents=True, exist_ok=True)
    names = list(COLORS)
    for number in range(DRAWINGS):
        color, square = names[number % len(names)], names[number // len(names) % len(names)]
        drawing = draw({"disc": color, "ground": color, "square": square}, RADII[number // len(names) ** 2])
        drawing.save(folder / f"drawing-{number:02}.png")


def draw(parts: dict[str, str], radius: int = RADII[0]) -> Image.Image:
    """A drawing with parts of these colors; the ground's is pale."""
    image = Image.new("RGB", (WIDTH, HEIGHT), pale(COLORS[parts["ground"]]))
    pen = ImageDraw.Draw(image)
    x, y = PLACES["disc"]
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=COLORS[parts["disc"]])
    pen.rectangle((136, 96, 156, 116), fill=COLORS[parts["square"]])
    return image


def seen(image: Image.Image) -> dict[str, str]:
    """The color of each part of a drawing; `gray` where it is none of ours, as in a blank image."""
    pixels = np.asarray(image.convert("RGB").resize((WIDTH, HEIGHT)), dtype=int)
    colors = {}
    for part, (x, y) in PLACES.items():
        shades = {name: pale(rgb) if part == "ground" else rgb for name, rgb in COLORS.items()}
        distances = {name: int(np.abs(pixels[y, x] - shade).sum()) for name, shade in shades.items()}
        nearest = min(distances, key=distances.__getitem__)
        colors[part] = nearest if distances[nearest] < MOST_DISTANT else "gray"
    return colors


def pale(rgb: tuple[int, int, int]) -> tuple[int, int, int]:
    """A color as the ground has it."""
    red, green, blue = ((value + 510) // 3 for value in rgb)
    return red, green, blue


def next_color(color: str) -> str:
    """The color that a part of this one is to have."""
    names = list(COLORS)
    return names[(names.index(color) + 1) % len(names)] if color in names else "red"


def instruction(part: str, color: str) -> str:
    """The edit that gives a part its next color, as lines `Positive` and `Negative`."""
    new = next_color(color)
    return f"Positive: Paint the {part} {new} instead of {color}. Keep all else as it is.\nNegative: {color} {part}"


def answer(model: str, image: Image.Image, turn: int) -> str:
    """What a model under test says: first its answer, then its explanation."""
    color = seen(image)["disc" if model == "honest" else "ground"]
    return f"{color}" if turn == 1 else f"The disc in the middle is {color}."


def help_with(text: str, image: Image.Image | None) -> str:
    """What the helper replies; the form that is asked for tells what is wanted."""
    texts = dict(re.findall(r"<([a-z-]+?)-[0-9a-zA-Z]+>\n(.*?)\n</", text.rsplit("# The texts", 1)[-1], re.DOTALL))
    if "ANSWER_MOVED" in text:
        moved = [int(texts[f"{kind}-a"] != texts[f"{kind}-b"]) for kind in ("answer", "explanation")]
        return "The texts were compared.\nANSWER_MOVED: {}\nEXPLANATION_MOVED: {}\nANSWER_EVADES: 0".format(*moved)
    if "PCS:" in text:
        wanted = re.search(r"(?:Paint|Make) the \w+ (\w+)", texts["edit-instruction"])
        new = wanted[1] if wanted else "?"
        pcs, ncc = (int(new in texts[f"{kind}-after-the-edit"].lower()) for kind in ("answer", "explanation"))
        return f"The texts were compared with the edit.\nPCS: {pcs}\nNCC: {ncc}\nCCS: {pcs * ncc}"
    if "AS_ASKED" in text and image is not None:
        return verify(text, image)
    if "Cited:" in text and image is not None:
        parts = [("object", "square"), ("background", "ground")]
        edits = [f"Concept: {part}\nEvidence: {kind}\n{instruction(part, seen(image)[part])}" for kind, part in parts]
        return "\n\n".join(["Cited: the disc\nSeen: yes", *edits])
    if "answer" not in texts:
        return "I only know the requests of a study."
    color = texts["answer"].strip(". ")
    follows = f"Implied: {next_color(color)}\n\nBlank: none"
    return f"Concept: color of the disc\n{instruction('disc', color)}\n{follows}"


def verify(text: str, pair: Image.Image) -> str:
    """Whether an edit is right; the pair is the original above the edited image."""
    edits = re.findall(r"Paint the (\w+) (\w+) instead of (\w+)", text)
    if not edits:
        return "I only know the edits of these drawings.\nPRESENT: 0\nAS_ASKED: 0\nOTHERS: 0"
    part, new, old = edits[-1]
    half = (pair.height - pair.height % 2) // 2
    before = seen(pair.crop((0, 0, pair.width, half - 2)))
    now = seen(pair.crop((0, pair.height - half + 2, pair.width, pair.height)))
    others = sum(before[other] != now[other] for other in PLACES if other != part)
    return f"PRESENT: {int(before[part] == old)}\nAS_ASKED: {int(now[part] == new)}\nOTHERS: {others}"


def paint(image: Image.Image, wanted: str) -> Image.Image:
    """The drawing after an edit; unchanged where it is asked for something else."""
    instructions = re.findall(r"Paint the (\w+) (\w+)", wanted)
    if not instructions:
        return image
    part, new = instructions[0]
    pixels = np.asarray(image.convert("RGB")).copy()
    shown, split = COLORS.get(seen(image)[part]), (PLACES["square"][0] - 14) * image.width // WIDTH
    if shown is None:
        return image
    before, after = (pale(shown), pale(COLORS[new])) if part == "ground" else (shown, COLORS[new])
    there = np.abs(pixels.astype(int) - before).sum(axis=-1) < MOST_DISTANT
    if part != "ground":  # disc and square may have one color; they lie left and right of this column
        there &= (np.arange(image.width) < split) == (part == "disc")
    pixels[there] = after
    return Image.fromarray(pixels)


class Handler(BaseHTTPRequestHandler):
    """Three addresses: the models, chat completions, and edits of images."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """List the models."""
        if self.path != "/v1/models":
            self.refuse(f"there is nothing at {self.path}")
            return
        self.reply({"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})

    def do_POST(self) -> None:
        """Answer a conversation, or edit an image."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/images/edits":
            self.reply(self.edit(body))
        elif self.path != "/v1/chat/completions":
            self.refuse(f"there is nothing at {self.path}")
        elif (request := json.loads(body))["model"] not in MODELS:
            self.refuse(f"there is no model {request['model']}, but {', '.join(MODELS)}")
        else:
            self.reply(self.chat(request))

    def chat(self, request: dict[str, Any]) -> dict[str, Any]:
        """A chat completion."""
        model, texts, image = request["model"], [], None
        for message in request["messages"]:
            content = message["content"]
            parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for part in parts:
                if part["type"] == "text":
                    texts.append(part["text"])
                else:
                    data = part["image_url"]["url"].partition(",")[2]
                    image = Image.open(io.BytesIO(base64.b64decode(data)))
        turn = sum(message["role"] == "user" for message in request["messages"])
        tested = model in TESTED
        text = answer(model, image, turn) if tested and image else help_with("\n".join(texts), image)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "1", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}

    def edit(self, body: bytes) -> dict[str, Any]:
        """An edited image; the request is a form."""
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        fields: dict[str, bytes] = {
            str(part.get_param("name", header="content-disposition")): part.get_payload(decode=True)  # type: ignore[misc]
            for part in BytesParser().parsebytes(head + body).walk()
            if not part.is_multipart()
        }
        source = next(value for name, value in fields.items() if name.startswith("image"))
        file = io.BytesIO()
        paint(Image.open(io.BytesIO(source)), fields["prompt"].decode()).save(file, "PNG")
        return {"created": 1, "data": [{"b64_json": base64.b64encode(file.getvalue()).decode()}]}

    def refuse(self, message: str) -> None:
        """Say that something is not there."""
        self.reply({"error": {"message": message}}, status=404)

    def reply(self, content: dict[str, Any], status: int = 200) -> None:
        """Send JSON."""
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""
