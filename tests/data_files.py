"""Small data sets as files: own images, and a release in VQA's layout (two JSON files and COCO's images)."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from cfeval.io.samples import RawSample, file_samples
from tests.conftest import picture

SAID = ("dogs",) * 6 + ("cats",) * 4
CATEGORIES = {"one": "Vehicles and Transportation", "eight": "Plants and Animals"}


def own_files(folder: Path, n: int = 6) -> dict[str, str]:
    """Write a CSV of `n` own images; returns the options of the plug-in `files`."""
    for number in range(n):
        Image.new("RGB", (8, 6), (number, 0, 0)).save(folder / f"{number}.png")
    rows = "".join(f"row-{number},{number}.png,What is {number}?,thing\n" for number in range(n))
    (folder / "own.csv").write_text(f"id,image,question,reference\n{rows}")
    return {"path": str(folder / "own.csv")}


def own_samples(folder: Path, n: int = 6) -> dict[str, str]:
    """File `n` samples as an import would; returns the options of the plug-in `samples`."""
    raws = [RawSample(f"s{number}", picture(number), "what?", answers=("a",), scoring="vqa") for number in range(n)]
    file_samples(folder / "own.jsonl", raws)
    return {"path": str(folder / "own.jsonl")}


def write_release(
    folder: Path, okvqa: bool = False, split: str = "val2014", n: int = 6, inside: str = ""
) -> dict[str, str]:
    """Write a release of `n` questions, two an image; returns the options of the plug-in that reads it.

    Args:
        inside: a folder inside the image folder that the images lie in.
    """
    ids = [(image, image * 1000 + place) for image in range(42, 42 + (n + 1) // 2) for place in range(2)][:n]
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "questions.json", header(split) | {"questions": [question(*pair) for pair in ids]})
    content = header(split) | ({"question_types": CATEGORIES} if okvqa else {})
    write(folder / "annotations.json", content | {"annotations": [annotation(*pair, okvqa) for pair in ids]})
    images = folder / "coco" / inside
    images.mkdir(parents=True, exist_ok=True)
    for image, _ in ids:
        Image.new("RGB", (20, 10), (image, 0, 0)).save(images / f"COCO_{split}_{image:012d}.jpg")
    names = {"questions": "questions.json", "annotations": "annotations.json", "images": "coco"}
    return {option: str(folder / name) for option, name in names.items()}


def write(path: Path, content: Any) -> None:
    """Write JSON."""
    path.write_text(json.dumps(content))


def header(split: str) -> dict[str, Any]:
    """What stands around the list."""
    info = {"year": 2017, "version": "2.0", "description": "made up", "contributor": "", "url": "", "date_created": ""}
    license_ = {"name": "none", "url": ""}
    return {"info": info, "task_type": "Open-Ended", "data_type": "mscoco", "license": license_, "data_subtype": split}


def question(image: int, number: int) -> dict[str, Any]:
    """One question."""
    return {"image_id": image, "question": f"What is in image {image}?", "question_id": number}


def annotation(image: int, number: int, okvqa: bool = False, said: Sequence[str] = SAID) -> dict[str, Any]:
    """Ten answers to one question; OK-VQA has them as written and as stems."""
    common = {"image_id": image, "question_id": number, "answer_type": "other"}
    if okvqa:
        answers = [
            {"answer_id": n, "raw_answer": text, "answer_confidence": "yes", "answer": text.removesuffix("s")}
            for n, text in enumerate(said, start=1)
        ]
        return common | {"question_type": "eight", "answers": answers, "confidence": 3}
    plain = [{"answer": text, "answer_confidence": "maybe", "answer_id": n} for n, text in enumerate(said, start=1)]
    return common | {"question_type": "what is", "multiple_choice_answer": max(said, key=said.count), "answers": plain}


SETS: dict[str, Callable[[Path], dict[str, str]]] = {
    "okvqa": lambda folder: write_release(folder, okvqa=True),
    "vqav2": write_release,
    "files": own_files,
    "samples": own_samples,
}
"""For every data set that is files: writes a small one and returns the options."""
