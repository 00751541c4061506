"""Tables of questions in the forms of one's own and of public sets, with their images."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.images import image

Make = Callable[[int], dict[str, Any]]
CAPTIONS = ["A mug under a table", "A mug on a table", "A mug to the left of a table", "A mug to the right of a table"]


def plain(number: int) -> dict[str, Any]:
    """Rows of every form, in turn."""
    forms: list[dict[str, Any]] = [
        {"question": "What colour would it be?", "answer": ["dark blue", "navy"]},
        {"question": "What would it be?", "answer": "E", "options": ["a cat", "a dog", "an ox", "a hen", "a fox"]},
        {"question": "How many?", "answer": 3, "counterfactual_question": "And if?", "counterfactual_answer": 0},
        {"question": "Would it (A) fall or (B) stay?", "answer": "B"},
        {"question": "Would it float?", "answer": True},
    ]
    return {"image": f"{number}.png", "type": f"kind {number % 2}", **forms[number % len(forms)]}


def whatsup(number: int) -> dict[str, Any]:
    """A row as published: the first caption is right."""
    turned = CAPTIONS[number % 4 :] + CAPTIONS[: number % 4]
    return {"image_path": f"data/controlled_images/{number}.png", "caption_options": turned}


def counterbench(number: int) -> dict[str, Any]:
    """A row as published."""
    return {
        "original_image": f"{number}.png",
        "intervened_image": f"{number + 1}.png",
        "question": "Is the ball left of the box?",
        "answer_original": "yes",
        "answer_intervened": "no" if number % 2 else "yes",
        "should_change": bool(number % 2),
        "category": "spatial",
        "subcategory": "left_right",
        "intervention": "ball moved",
    }


TABLES: dict[str, tuple[str, str, Make]] = {
    "plain": ("mine.json", "", plain),
    "whatsup": ("controlled_images_dataset.json", "controlled_images", whatsup),
    "counterbench": ("counterbench_metadata.json", "images", counterbench),
}
"""By plugin: the table's name, the folder of its images, and its rows."""


def write_table(folder: Path, table: tuple[str, str, Make], rows: int) -> Path:
    """Write a table and its images; the path of the table."""
    name, images, make = table
    (folder / images).mkdir(parents=True, exist_ok=True)
    for number in range(rows + 1):
        (folder / images / f"{number}.png").write_bytes(image(number, size=(16, 12)).png)
    (folder / name).write_text(json.dumps([make(number) for number in range(rows)]))
    return folder / name
