"""A server on loopback that plays every role of a study: models under test, writer, editor, gate, verifier, judge."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import PIL.Image

from tests.conftest import Run
from tests.loopback.conversation import Conversation
from tests.loopback.personas import PERSONAS, filled
from tests.loopback.server import loopback
from tests.loopback.site import Loopback

MODELS = ("vlm-a", "vlm-b", "writer", "painter", "seer-gate", "seer", "judge")
QUESTION = "What is happening here?"


def seer(conversation: Conversation) -> str:
    """A model that sees every edit: the thing was there, it is as asked, nothing else changed."""
    seen = {"present": 1, "as_asked": 1, "others": 0, "changes": []}
    if conversation.schema is not None:
        return filled(conversation.schema, seen, conversation.digest)
    return "\n".join(["I looked at both.", "PRESENT: 1", "AS_ASKED: 1", "OTHERS: 0"])


@contextmanager
def service() -> Iterator[Loopback]:
    """The server, which wants no key."""
    with loopback(personas={**PERSONAS, "seer": seer}, models=MODELS) as server:
        yield server


def photographs(folder: Path, number: int = 6) -> Path:
    """Some images of noise, as a camera's files are called."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in range(number):
        pixels = np.random.default_rng(one).integers(0, 255, (120, 160, 3), dtype=np.uint8)
        PIL.Image.fromarray(pixels).save(folder / f"IMG_{one:04d}.jpg")
    return folder


def new_study(cfeval: Run, server: Loopback, name: str = "mine", photos: int = 2) -> Path:
    """A study of one model and some photographs, made by `cfeval init` in the current folder; its folder."""
    photographs(Path("photos"), photos)
    assert cfeval("init", name, *init_options(server, Path("photos"), ["vlm-a"]))[0] == 0
    return Path(name).absolute()


def init_options(server: Loopback, images: Path, targets: Sequence[str] = ("vlm-a", "vlm-b")) -> list[str]:
    """Options of `cfeval init` by which every role is played by the server."""
    at = f"@{server.openai}"
    roles: Mapping[str, str] = {
        "writer": f"vllm/writer{at}",
        "editor": f"other/painter{at}",
        "gate": f"vllm/seer-gate{at}",
        "verifier": f"vllm/seer{at}",
        "judge": f"vllm/judge{at}",
    }
    words = ["--images", str(images), "--question", QUESTION]
    words += [word for target in targets for word in ("--model", f"vllm/{target}{at}")]
    return [*words, *(word for role, name in roles.items() for word in (f"--{role}", name))]
