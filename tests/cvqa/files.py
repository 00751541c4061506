"""Files of C-VQA for tests: a CSV in the published form, and images with COCO's names."""

from collections.abc import Collection
from pathlib import Path

import PIL.Image

HEADER = "img_path,query,answer,new query,new answer,type"
KINDS = {"direct": ("2", "3"), "indirect": ("4", "0"), "boolean": ("yes", "no")}


def write_questions(folder: Path, rows: int = 12, spoilt: Collection[int] = ()) -> Path:
    """Write a CSV whose types take turns, two rows an image; the rows in `spoilt` have a number in words."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [HEADER]
    for number in range(1, rows + 1):
        kind = list(KINDS)[number % 3]
        answer, new = KINDS[kind]
        answer = "two" if number in spoilt else answer
        lines.append(f"{image_name(number)},What of {number}?,{answer},What of {number} if?,{new},{kind}")
    path = folder / "questions.csv"
    path.write_text("\n".join([*lines, ""]))
    return path


def image_name(number: int) -> str:
    """The image of a row."""
    return f"COCO_val2014_{(number + 1) // 2:012d}.jpg"


def write_images(folder: Path, rows: int = 12, missing: Collection[int] = ()) -> Path:
    """Write the images of the rows but for those of `missing`."""
    folder.mkdir(parents=True, exist_ok=True)
    lacking = {image_name(number) for number in missing}
    for number in range(1, rows + 1):
        if image_name(number) not in lacking:
            PIL.Image.new("RGB", (8, 6), (20 * number, 0, 0)).save(folder / image_name(number))
    return folder


def write_results(folder: Path, rows: int = 12, name: str = "model_responses.csv") -> Path:
    """Write the same questions with what a model responded to each: `said N` to the first, `said N if` to the other."""
    questions = write_questions(folder, rows).read_text().splitlines()[1:]
    lines = [f"{line},said {n},said {n} if" for n, line in enumerate(questions, start=1)]
    path = folder / name
    path.write_text("\n".join([f"{HEADER},response,new_response", *lines, ""]))
    return path
