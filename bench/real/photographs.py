"""Lay out the photographs of `make real` and our questions about them: `python -m bench.real.photographs FOLDER`.

The photographs come with scikit-image; the repository has none of them.
"""

import csv
import sys
from importlib.util import find_spec
from pathlib import Path

import PIL.Image

WHAT = "What is the main thing in this photograph?"
ITEMS = {
    "chelsea.png": ("a cat", "Is there an animal in this photograph?", "yes"),
    "coffee.png": ("a cup of coffee", "Is there something to drink in this photograph?", "yes"),
    "motorcycle_left.png": ("a motorcycle", "Can the thing in this photograph be driven?", "yes"),
    "camera.png": ("a man with a camera", "Is a tripod in this photograph?", "yes"),
    "rocket.jpg": ("a rocket", "Is there an animal in this photograph?", "no"),
    "astronaut.png": ("an astronaut", "Is there something to eat in this photograph?", "no"),
}
"""By photograph: the answer to `WHAT`, another question and its answer."""
WHAT_IF = (
    ("chelsea.png", "How many cats are there?", "1", "How many cats would there be if two more came?", "3", "direct"),
    (
        "coffee.png",
        "How many cups are there?",
        "1",
        "How many cups if it were taken away?",
        "0",
        "direct",
    ),
    ("camera.png", "How many people are there?", "1", "How many people would there be if one joined?", "2", "direct"),
    ("motorcycle_left.png", "How many wheels are there?", "2", "How many if one were taken off?", "1", "direct"),
    ("coffee.png", "Is the cup empty?", "no", "Would the cup be empty if somebody drank it up?", "yes", "boolean"),
    ("astronaut.png", "Is a helmet there?", "yes", "Would it be there if somebody took it away?", "no", "boolean"),
)
"""Rows of C-VQA's published columns."""


def lay_out(folder: Path) -> None:
    """Write the photographs, `items.csv` and `what-if.csv`; what is there is written anew."""
    package = find_spec("skimage")
    if package is None or package.origin is None:
        raise SystemExit("no package 'scikit-image' here; `make real` installs it")
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, (answer, question, reply) in ITEMS.items():
        photograph = PIL.Image.open(Path(package.origin).parent / "data" / name).convert("RGB")
        stem = Path(name).stem
        photograph.save(folder / f"{stem}.png")
        rows.append((f"{stem}-what", f"{stem}.png", WHAT, answer))
        rows.append((f"{stem}-whether", f"{stem}.png", question, reply))
    _write(folder / "items.csv", [("id", "image", "question", "reference"), *rows])
    what_if = [(f"{Path(name).stem}.png", *cells) for name, *cells in WHAT_IF]
    _write(folder / "what-if.csv", [("img_path", "query", "answer", "new query", "new answer", "type"), *what_if])


def _write(path: Path, rows: list[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
