"""Lines of a training set, in the layouts that trainers read; and which examples are held out.

trl            TRL and all that follow it: a message's content is a list of parts `image` and `text`, the images stand
               in the column `images`; pairs have `prompt`, `chosen` and `rejected`.
llama-factory  LLaMA-Factory's `sharegpt` with OpenAI's names: a message's content is a text in which `<image>` stands
               for the image; pairs have `messages`, and one message each in `chosen` and `rejected`.

Of those held out, all that share an image, whole or edited, stand on one side.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from cfeval.edct.training_set.examples import Example, Message

Layout = Literal["trl", "llama-factory"]
TAGS = ("<image>", "<video>", "<audio>")
"""What trainers take for an image or a sound wherever it stands in a text."""
TRAIN, HELD_OUT = "train.jsonl", "held-out.jsonl"


def is_plain(example: Example) -> bool:
    """Whether no text of an example holds what trainers take for an image."""
    turns = [*example.turns, *(turn for turn in (example.chosen, example.rejected) if turn)]
    return not any(tag in turn.text for tag in TAGS for turn in turns)


def image_path(image: str) -> str:
    """Where an image lies in the set, by its hash."""
    return f"images/{image}.png"


def line(example: Example, layout: Layout) -> str:
    """An example as a JSON line; `provenance` is JSON in a text, so that the column has one type whatever is in it."""
    first, *later = example.turns
    content: dict[str, Any] = {
        "images": [image_path(example.image)],
        "messages": [_message(first, layout, shows=True), *(_message(turn, layout) for turn in later)],
        "provenance": _json(example.provenance.model_dump(mode="json")),
    }
    if example.chosen and example.rejected:
        chosen, rejected = _message(example.chosen, layout), _message(example.rejected, layout)
        if layout == "trl":
            content |= {"prompt": content.pop("messages"), "chosen": [chosen], "rejected": [rejected]}
        else:
            content |= {"chosen": chosen, "rejected": rejected}
    return _json(content) + "\n"


def _message(turn: Message, layout: Layout, shows: bool = False) -> dict[str, Any]:
    """A message; where it `shows` the image, that comes before the words."""
    if layout == "llama-factory":
        return {"role": turn.role, "content": f"{TAGS[0]}{turn.text}" if shows else turn.text}
    image = [{"type": "image"}] if shows else []
    return {"role": turn.role, "content": [*image, {"type": "text", "text": turn.text}]}


def dataset_info(pairs: bool, files: Sequence[str]) -> str:
    """What LLaMA-Factory reads to find the files: `dataset_info.json`."""
    columns = {"messages": "messages", "images": "images"}
    columns |= {"chosen": "chosen", "rejected": "rejected"} if pairs else {}
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    entries = {
        entry_name(file): {
            "file_name": file,
            "formatting": "sharegpt",
            "ranking": pairs,
            "columns": columns,
            "tags": tags,
        }
        for file in files
    }
    return json.dumps(entries, indent=2) + "\n"


def entry_name(file: str) -> str:
    """The name of a file's dataset in `dataset_info.json`."""
    return f"edct_{file.removesuffix('.jsonl').replace('-', '_')}"


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, sort_keys=True)


def families(images: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The family of each image, named by the least hash in it.

    Args:
        images: pairs of hashes that belong together: an image and what was made of it.
    """
    parent: dict[str, str] = {}

    def root(image: str) -> str:
        while parent.setdefault(image, image) != image:
            image = parent[image]
        return image

    for one, other in images:
        least, most = sorted((root(one), root(other)))
        parent[most] = least
    return {image: root(image) for image in parent}


def held_out(family: str, share: float, seed: int) -> bool:
    """Whether a family is held out: a hash of its name, so that a family more moves no other.

    Args:
        share: of the families, in [0, 1), on average.
    """
    digest = hashlib.sha256(f"{seed}\x1f{family}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64
