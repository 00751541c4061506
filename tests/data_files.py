"""Small datasets as files: own images, and releases in the layouts of VQA, DriveLM and 3DSRBench."""

import base64
import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import PIL.Image

from cfeval.datasets.sample import RawSample, file_samples
from tests.images import image

SAID = ("dogs",) * 6 + ("cats",) * 4
CATEGORIES = {"one": "Vehicles and Transportation", "eight": "Plants and Animals"}


def own_files(folder: Path, n: int = 6) -> dict[str, str]:
    """Write a CSV of `n` own images; returns the options of the plugin `files`."""
    for number in range(n):
        PIL.Image.new("RGB", (8, 6), (number, 0, 0)).save(folder / f"{number}.png")
    rows = "".join(f"row-{number},{number}.png,What is {number}?,thing\n" for number in range(n))
    (folder / "own.csv").write_text(f"id,image,question,reference\n{rows}")
    return {"path": str(folder / "own.csv")}


def own_samples(folder: Path, n: int = 6) -> dict[str, str]:
    """File `n` samples as an import would; returns the options of the plugin `samples`."""
    raws = [RawSample(f"s{number}", image(number), "what?", answers=("a",), scorer="vqa") for number in range(n)]
    file_samples(folder / "own.jsonl", raws)
    return {"path": str(folder / "own.jsonl")}


def write_release(
    folder: Path, okvqa: bool = False, split: str = "val2014", n: int = 6, inside: str = ""
) -> dict[str, str]:
    """Write a release of `n` questions, two an image; returns the options of the plugin that reads it.

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
    for number, _ in ids:
        PIL.Image.new("RGB", (20, 10), (number, 0, 0)).save(images / f"COCO_{split}_{number:012d}.jpg")
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


CAR, VAN, BEHIND = "<c1,CAM_FRONT,100.0,450.5>", "<c2,CAM_FRONT,800.0,4.0>", "<c3,CAM_BACK,1.0,2.0>"
"""Objects of the key frames of DriveLM: a red car on the left, a white SUV in the middle, a black sedan behind."""


def write_drivelm(folder: Path, inside: str = "", **more: list[tuple[str, str]]) -> dict[str, str]:
    """Write a release of DriveLM's layout with two key frames, three questions each; returns the plugin's options.

    Args:
        inside: a folder inside the image folder that CAM_FRONT lies in.
        more: by category, further questions and answers of the second frame; its id is f1.
    """
    front = folder / "nuscenes" / inside / "CAM_FRONT"
    front.mkdir(parents=True, exist_ok=True)
    frames = {}
    for number in range(2):
        PIL.Image.new("RGB", (16, 9), (number, 0, 0)).save(front / f"front-{number}.jpg")
        asked = {
            "perception": [("Is the road wet?", "Yes."), (f"What color is {CAR}?", f"{CAR} is red.")],
            "planning": [("What should the ego car do?", "Wait.")],
        }
        for category, pairs in more.items() if number else ():
            asked[category] = asked.get(category, []) + pairs
        frames[f"f{number}"] = _frame(f"front-{number}.jpg", asked)
    write(folder / "drivelm.json", {"scene": {"scene_description": "made up", "key_frames": frames}})
    return {"questions": str(folder / "drivelm.json"), "images": str(folder / "nuscenes")}


def _frame(image: str, asked: dict[str, list[tuple[str, str]]]) -> dict[str, Any]:
    said = {CAR: "Red car.", VAN: "White SUV.", BEHIND: "Black sedan."}
    objects = {tag: {"Category": "Vehicle", "Status": None, "Visual_description": text} for tag, text in said.items()}
    rest = {"C": None, "con_up": None, "con_down": None, "cluster": None, "layer": None}
    qa = {category: [{"Q": q, "A": a, **rest} for q, a in pairs] for category, pairs in asked.items()}
    paths = {camera: f"../nuscenes/samples/{camera}/{image}" for camera in ("CAM_FRONT", "CAM_BACK")}
    return {"key_object_infos": objects, "QA": qa, "image_paths": paths}


SPATIAL = ("qid", "question", "A", "B", "C", "D", "answer", "category", "image_url", "image")


def spatial_rows(n: int = 6) -> list[dict[str, str]]:
    """`n` questions in 3DSRBench's layout, each with a mirrored and a rotated variant; the images are inside."""
    rows = []
    for number in range(n):
        image = PIL.Image.new("RGB", (8, 6), (number, 0, 0))
        file = io.BytesIO()
        image.save(file, format="PNG")
        row = dict.fromkeys(SPATIAL, "") | {
            "question": f"Which is higher in {number}?",
            "A": "the hat",
            "B": "the red ball",
            "answer": "B",
            "category": ("height_higher", "location_above")[number % 2],
            "image_url": f"http://images.example/val2017/{number:012d}.png",
            "image": base64.b64encode(file.getvalue()).decode(),
        }
        rows += [row | {"qid": f"Q{number:07d}{suffix}"} for suffix in ("-flip", "", "-1", "-flip-1")]
    return rows


def write_threedsrbench(folder: Path, rows: list[dict[str, str]] | None = None) -> dict[str, str]:
    """Write a table in 3DSRBench's layout; returns the options of the plugin."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = spatial_rows() if rows is None else rows
    with (folder / "3dsrbench.tsv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return {"path": str(folder / "3dsrbench.tsv")}


SETS: dict[str, Callable[[Path], dict[str, str]]] = {
    "okvqa": lambda folder: write_release(folder, okvqa=True),
    "vqav2": write_release,
    "files": own_files,
    "samples": own_samples,
    "drivelm": write_drivelm,
    "threedsrbench": write_threedsrbench,
}
"""For every dataset that is files: writes a small one and returns the options."""
