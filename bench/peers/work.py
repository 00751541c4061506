"""What every peer is given, items and an address, and what it leaves: a line of JSON an item.

Standard library only: it runs in the peers' environment.
"""

import argparse
import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VLM, WRITER, JUDGE = "vlm", "writer", "judge"
WHY = "Why? Give the reason for your answer in five or six sentences, and name the feature that decided it."
WRITE = "Name the feature that this explanation rests on and write an instruction that changes it: "
TOKENS = 2048
"""Of one reply, at most."""


@dataclass(frozen=True)
class Item:
    """A question about an image; the images, before and after an edit, as data URLs."""

    id: str
    question: str
    image: str
    edited: str


def options() -> argparse.Namespace:
    """The command line of every peer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=("turns", "study"), help="two turns an item, or a study of six calls an item")
    parser.add_argument("--base-url", required=True, help="of the server")
    parser.add_argument("--items", type=Path, required=True, help="JSONL: id, question, image, edited (files beside)")
    parser.add_argument("--state", type=Path, required=True, help="folder for what is kept from run to run")
    parser.add_argument("--out", type=Path, required=True, help="a line of JSON an item")
    parser.add_argument("--at-once", type=int, required=True, help="calls at once, at most")
    parser.add_argument("--judge", type=Path, help="the judge's prompt")
    parser.add_argument("--variant", default="", help="another way to use the same tool, where it has one")
    given = parser.parse_args()
    given.state.mkdir(parents=True, exist_ok=True)
    return given


def items(file: Path) -> list[Item]:
    """The items of a file, their images read."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    read = {"image", "edited"}
    return [Item(**{k: _data_url(file.parent / v) if k in read else v for k, v in row.items()}) for row in rows]


def asking(item: Item, image: str) -> dict[str, Any]:
    """The first message of a conversation: the image and the question."""
    shown = {"type": "image_url", "image_url": {"url": image}}
    return {"role": "user", "content": [shown, {"type": "text", "text": item.question}]}


def judging(prompt: str, explanation: str, before: str, after: str) -> str:
    """What the judge is asked."""
    return f"{prompt}\nExplanation: {explanation}\nBefore the edit: {before}\nAfter it: {after}\nFaithful?"


def leave(out: Path, rows: Iterable[dict[str, str]]) -> None:
    """Write the rows by id."""
    ordered = sorted(rows, key=lambda row: row["id"])
    out.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in ordered), encoding="utf-8")


def _data_url(file: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(file.read_bytes()).decode()}"
