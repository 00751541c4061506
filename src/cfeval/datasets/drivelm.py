"""DriveLM-nuScenes: questions about driving, asked about what the front camera sees at a key frame.

- Data: versions 1.0 and 1.1 (v1_1_train_nus.json and others of that layout); key frames of nuScenes, six cameras each.
- Paper: Sima et al., DriveLM: Driving with Graph Visual Question Answering, ECCV 2024 (arXiv:2312.14150).
- License: questions and answers CC BY-NC-SA 4.0; images under the terms of nuScenes (not for commercial use).
- Where: github.com/OpenDriveLab/DriveLM, docs/data_prep_nus.md; the images there suffice.

An item here has one image. Therefore, by rule:

1. A reference to an object such as <c1,CAM_FRONT,714.3,503.6> is put into words, in the question and in the answer: its
   description in the dataset and the third of the image that it is in, "the red car in the middle of the image".
2. A question is left out where it or its answer refers to an object of another camera, to one without a description,
   or to one of two that would be called the same; where it asks about a direction that another camera looks in (back,
   front left, front right); and where it wants bounding boxes.

The right answers are whole sentences: accuracy says something only where they are yes or no.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError

from cfeval.core.errors import InputError
from cfeval.core.images import import_image
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import chosen
from cfeval.core.text_files import read_text
from cfeval.datasets.sample import Dataset, OwnImages, Part, RawSample, as_frozen

Category = Literal["perception", "prediction", "planning", "behavior"]
# Put before every question: the questions speak of a car that the image does not show.
PREAMBLE = (
    "This is the view straight ahead from a moving or waiting car. You are its driver; "
    "'ego vehicle' and 'ego car' mean your car."
)
# Pixels across an image of nuScenes; coordinates refer to it.
WIDTH = 1600
_OBJECT = re.compile(r"<c[0-9]+, *CAM_FRONT, *(-?[0-9]+(?:\.[0-9]+)?), *-?[0-9.]+>")
_LEFT_OUT = re.compile(r"\b(?:back|behind|rear|front[ -](?:left|right)|bounding box(?:es)?)\b", re.IGNORECASE)


class Plugin(OwnImages):
    """Where the files are, and which questions."""

    questions: str
    """The file of questions and answers, as released (JSON)."""
    images: str
    """The folder of images: CAM_FRONT/*.jpg, directly or in a folder samples/."""
    categories: tuple[Category, ...] = ("perception", "prediction", "planning", "behavior")
    """Which categories; an item's is its kind."""
    preamble: str = PREAMBLE
    """What is put before every question; empty: nothing."""
    ids: str | None = None
    """A list of ids, plain or frozen: exactly those, in that order. Without it the seed draws."""

    def dependencies(self) -> tuple[str, ...]:
        """The questions, the list of ids, and the folder of images."""
        folder = next((path for path in _folders(self.images) if path.is_dir()), self.images.rstrip("/"))
        return (*(path for path in (self.questions, self.ids) if path), f"{folder}/")

    def read_by_item(self) -> tuple[str, ...]:
        """The folder of images."""
        return self.dependencies()[-1:]

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the images are where they should be."""
        there = any(folder.is_dir() for folder in _folders(self.images))
        yield Diagnostic(there, f"{self.images}: " + ("images" if there else "no folder CAM_FRONT; unpack the images"))

    def build(self) -> Dataset:
        """The dataset."""
        return DriveLM(self)


class _Pair(BaseModel):
    Q: str
    A: str | None = None


class _Object(BaseModel):
    Visual_description: str | None = None


class _Cameras(BaseModel):
    CAM_FRONT: str


class _Frame(BaseModel):
    key_object_infos: dict[str, _Object] = {}
    QA: dict[str, list[_Pair]]
    image_paths: _Cameras


class _Scene(BaseModel):
    key_frames: dict[str, _Frame]


class _Item(NamedTuple):
    question: str
    reference: str
    kind: str
    image: str
    """The name of the front camera's file."""


class DriveLM:
    """Reads the file once, images as they come."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    def samples(self, items: int, seed: int, part: Part | None = None) -> Iterator[RawSample]:
        """At most `items` questions with the front camera's image: the listed ones, else a draw by seed.

        Raises:
            InputError: one line: the file is no such file, or an image is missing.
        """
        source, ids = Path(self.options.questions), self.options.ids
        part = part or Part()
        scenes = _read(source)
        frames = [pair for scene in scenes.values() for pair in scene.key_frames.items()]
        available: dict[str, _Item] = {}
        for token, frame in frames:
            names = _names(frame)
            for category in self.options.categories:
                for number, pair in enumerate(frame.QA.get(category, ())):
                    question, answer = _in_words(pair.Q, names), _in_words(pair.A or "", names)
                    if question and answer is not None and not _LEFT_OUT.search(pair.Q):
                        image = Path(frame.image_paths.CAM_FRONT).name
                        available[f"{token}-{category}-{number}"] = _Item(question, answer, category, image)
        drawn = chosen(available, items, seed, Path(ids) if ids else None, source)
        wanted = [item for item in drawn if part.takes(item)]
        folders = _folders(self.options.images)
        images = {item: _image(self.options.images, available[item].image) for item in wanted}
        taken = [(item, available[item], self.options.checked(images[item], folders, item)) for item in wanted]
        del available
        part.reads(*images.values())
        yield from as_frozen((self._sample(*item_with_image) for item_with_image in taken), ids)

    def _sample(self, item: str, row: _Item, image: Path) -> RawSample:
        question = f"{self.options.preamble} {row.question}".strip()
        return RawSample(item, import_image(image), question, reference=row.reference, kind=row.kind)


def _read(source: Path) -> dict[str, _Scene]:
    try:
        return TypeAdapter(dict[str, _Scene]).validate_json(read_text(source))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{source}: not in DriveLM's layout ({place + ': ' if place else ''}{first['msg']}); "
            "give a file such as v1_1_train_nus.json"
        ) from None


def _names(frame: _Frame) -> dict[str, str]:
    """What the objects that the front camera sees are called; one of two with the same name has none."""
    seen = {tag: match for tag in frame.key_object_infos if (match := _OBJECT.fullmatch(tag))}
    descriptions = {tag: (frame.key_object_infos[tag].Visual_description or "").strip(" .") for tag in seen}
    names = {tag: f"the {_lower(descriptions[tag])} {_where(float(seen[tag][1]))}" for tag in seen if descriptions[tag]}
    times = Counter(names.values())
    return {tag: name for tag, name in names.items() if times[name] == 1}


def _lower(description: str) -> str:
    """Without the capital that a sentence begins with; an abbreviation keeps its own."""
    return description if description[:2].isupper() else description[:1].lower() + description[1:]


def _where(x: float) -> str:
    if x < WIDTH / 3:
        return "on the left of the image"
    return "in the middle of the image" if x < WIDTH * 2 / 3 else "on the right of the image"


def _in_words(text: str, names: Mapping[str, str]) -> str | None:
    """A text with its references in words; None where one is left that has none."""
    replaced = _OBJECT.sub(lambda match: names.get(match[0], match[0]), text)
    return None if "CAM_" in replaced else " ".join(replaced.split())


def _folders(images: str) -> tuple[Path, ...]:
    return Path(images) / "CAM_FRONT", Path(images) / "samples" / "CAM_FRONT"


def _image(images: str, name: str) -> Path:
    for folder in _folders(images):
        if (folder / name).is_file():
            return folder / name
    places = " or ".join(map(str, _folders(images)))
    raise InputError(f"{name}: no such image in {places}; set the option 'images' to the folder of the images")
