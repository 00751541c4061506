"""The README's image, from the demo's results: one edit, an answer that follows it, and one that does not.

`python -m bench.docs.image` writes it in a light and a dark version.
"""

import base64
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from cfeval.core.files import write_text

ITEM = "world-00003"
MODELS = ("grounded", "shortcut")
"""Test models of which the first answers from what it cites, the second from something else."""
FILES = {"edit.svg": False, "edit-dark.svg": True}
"""The two versions, and whether each is for a dark page."""
_INSTRUCTIONS, _EDITS = "grammar/edct-2025", "grammar/scene/edct-2025"
"""Where the models' files lie below their folders."""


class Facts(NamedTuple):
    """What the image shows."""

    question: str
    concept: str
    original: bytes
    edited: bytes
    before: Sequence[str]
    after: Sequence[str]


def facts(results: Path) -> Facts:
    """What the records of a study say of the item.

    Raises:
        ValueError: the models do not meet the same edit, or their answers do not tell them apart.
    """
    item = _record(results / "items/world.jsonl")
    edits = [_record(results / f"counterfactuals/world/{vlm}/{_EDITS}.jsonl") for vlm in MODELS]
    written = [_record(results / f"instructions/world/{vlm}/{_INSTRUCTIONS}.jsonl") for vlm in MODELS]
    before = [_record(results / f"baselines/world/{vlm}.jsonl")["answer"] for vlm in MODELS]
    after = [_record(results / f"requeries/world/{vlm}/{_EDITS}.jsonl")["answer"] for vlm in MODELS]
    old, new = ([text.split()[-1] for text in texts] for texts in (before, after))
    if edits[0]["image"] != edits[1]["image"] or old[0] != old[1] or new[0] == old[0] or new[1] != old[1]:
        raise ValueError(f"{ITEM} is no example: {MODELS[0]} {old[0]} → {new[0]}, {MODELS[1]} {old[1]} → {new[1]}")
    folder = results / f"counterfactuals/world/{MODELS[0]}/{_EDITS}"
    return Facts(
        question=item["question"],
        concept=written[0]["negative"].removeprefix("a ").split(" in the ")[0],
        original=(results / "items/world" / item["image"]["path"]).read_bytes(),
        edited=(folder / edits[0]["image"]["path"]).read_bytes(),
        before=old,
        after=new,
    )


def story(shown: Facts) -> str:
    """The whole image in words, for those who do not see it."""
    return (
        f"An image and the question: {shown.question} Two models answer {shown.before[0]}, and both explain it by the "
        f"{shown.concept}. cfeval repaints the {shown.concept} and asks again. Model A now answers {shown.after[0]}: "
        f"its answer follows, the explanation holds. Model B still answers {shown.after[1]}: it looked at something "
        "else."
    )


def draw(shown: Facts, dark: bool) -> str:
    """The image as SVG, 1,200 × 420 pixels; no text is smaller than 15 pixels where it is shown 800 wide."""
    ink, ground, good, bad = (
        ("#e6e6e6", "#161b22", "#5fd38d", "#ffa657") if dark else ("#1f2328", "#f6f8fa", "#1a7f37", "#bc4c00")
    )
    words = [
        (30, 360, 26, "normal", ink, f"“{shown.question}”"),
        (292, 130, 25, "normal", ink, "The explanation"),
        (292, 162, 25, "normal", ink, "names the"),
        (292, 194, 25, "bold", ink, f"{shown.concept},"),
        (292, 266, 25, "normal", ink, "so we repaint it."),
        *_row(110, "A", shown, 0, ("✓ Answer follows.", "The explanation holds."), (ink, good)),
        *_row(272, "B", shown, 1, ("✗ Answer does not follow.", "It looked at something else."), (ink, bad)),
    ]
    texts = "".join(
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{fill}">{escape(text)}</text>\n'
        for x, y, size, weight, fill, text in words
    )
    images = "".join(
        f'<image x="{x}" y="60" width="240" height="240" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{base64.b64encode(png).decode()}"/>\n'
        for x, png in ((30, shown.original), (515, shown.edited))
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 420" width="1200" height="420" '
        f'font-family="system-ui, sans-serif" role="img"><title>{escape(story(shown))}</title>\n'
        f'<rect width="1200" height="420" rx="16" fill="{ground}"/>\n{images}{texts}'
        f'<path d="M292 222 H 492 m -14 -10 l 14 10 l -14 10" fill="none" stroke="{ink}" stroke-width="3"/>\n</svg>\n'
    )


def _row(
    y: int, model: str, shown: Facts, number: int, said: tuple[str, str], colors: tuple[str, str]
) -> list[tuple[int, int, int, str, str, str]]:
    ink, verdict = colors
    return [
        (785, y, 28, "bold", ink, f"Model {model}: {shown.before[number]} → {shown.after[number]}"),
        (785, y + 38, 26, "bold", verdict, said[0]),
        (785, y + 72, 25, "normal", ink, said[1]),
    ]


def _record(path: Path) -> dict[str, Any]:
    with path.open(encoding="utf-8") as file:
        found: dict[str, Any] = next(record for record in map(json.loads, file) if record["id"] == ITEM)
    return found


def main() -> None:
    """Write both versions from the demo's results."""
    root = Path(__file__).parents[2]
    shown = facts(root / "results/edct")
    for name, dark in FILES.items():
        write_text(root / "docs/images" / name, draw(shown, dark))
    print(story(shown))


if __name__ == "__main__":
    main()
