"""Datasets in VQA's layout, as VQA v2 and OK-VQA: questions and annotations as JSON, images of COCO.

The annotations of VQA v2's training split are some 400 MB: objects are cut to what is needed while the text is parsed.
Images are COCO's of 2014 and 2015: COCO_val2014_000000000042.jpg, in a folder named like the split or not.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from cfeval.core import plugin
from cfeval.core.errors import InputError
from cfeval.core.images import import_image
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import chosen
from cfeval.core.text_files import check_characters, read_json
from cfeval.datasets.sample import Dataset, OwnImages, Part, RawSample, as_frozen

# How many answers each question has.
PEOPLE = 10
_SPLIT = re.compile(r"(train|val|test|test-dev)20\d\d")
_SAME_RELEASE = "give questions and annotations of the same release and split"
Listed = TypeVar("Listed")


class Question(NamedTuple):
    """A question and the number of the COCO image that it is about."""

    id: str
    image: int
    text: str


@dataclass(frozen=True)
class Questions:
    """A questions file: its split, such as val2014, and its questions by id."""

    split: str
    by_id: dict[str, Question]


class _Answer(NamedTuple):
    answer: str
    raw: str | None


class Annotation(NamedTuple):
    """What people answered: as it is scored and, in OK-VQA only, as they wrote it (`raw`)."""

    id: str
    image: int
    answers: tuple[str, ...]
    raw: tuple[str, ...]
    reference: str
    """The most frequent answer, of two that are as frequent the first."""
    kind: str


class VqaPlugin(OwnImages):
    """Where the released files are; get them from the dataset's own site."""

    scorer: ClassVar[Literal["vqa", "okvqa"]]
    """How its answers are compared."""

    questions: str = plugin.file()
    """The questions file, as released (JSON)."""
    images: str = plugin.folder()
    """COCO's folder of images: COCO_val2014_000000000042.jpg and so on, directly or in a folder such as val2014/."""
    annotations: str | None = plugin.file(None)
    """The annotations file, as released (JSON); without it, as for a test split, no right answer is known."""
    ids: str | None = plugin.file(None)
    """A list of question ids, plain or frozen: exactly those, in that order. Without it the seed draws."""

    def read_by_item(self) -> tuple[str, ...]:
        """The folder of images."""
        return (f"{self.images.rstrip('/')}/",)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the images are where they should be."""
        there = Path(self.images).is_dir()
        yield Diagnostic(
            there, f"{self.images}: " + ("images" if there else "no such folder; unpack COCO's images there")
        )

    def build(self) -> Dataset:
        """The dataset."""
        return Vqa(self)


class Vqa:
    """A dataset in VQA's layout."""

    def __init__(self, options: VqaPlugin) -> None:
        self.options = options

    def samples(self, items: int, seed: int, part: Part | None = None) -> Iterator[RawSample]:
        """At most `items` questions, each with its image; the files are read once, images as they come.

        Raises:
            InputError: one line: a file is missing or is no such file, or an image is missing.
        """
        part = part or Part()
        source, ids = Path(self.options.questions), self.options.ids
        questions = read_questions(source)
        drawn = chosen(questions.by_id, items, seed, Path(ids) if ids else None, source)
        wanted = [item for item in drawn if part.takes(item)]
        taken = [questions.by_id[item] for item in wanted]
        folder = Path(self.options.images)
        images = [
            self.options.checked(image_path(folder, questions.split, question.image), [folder], question.id)
            for question in taken
        ]
        part.reads(*images)
        annotations = self._annotations(questions, wanted)
        del questions
        opened = (self._sample(q, image, annotations.get(q.id)) for q, image in zip(taken, images, strict=True))
        yield from as_frozen(opened, ids)

    def _annotations(self, questions: Questions, wanted: list[str]) -> dict[str, Annotation]:
        if not self.options.annotations:
            return {}
        path = Path(self.options.annotations)
        annotations = read_annotations(path, questions, dict.fromkeys(wanted))
        for item in annotations.values():
            if bool(item.raw) != (self.options.scorer == "okvqa"):
                release, plugin = ("OK-VQA", "okvqa") if item.raw else ("VQA", "vqav2")
                raise InputError(f"{path}: annotations of {release}, which are scored otherwise; use plugin {plugin}")
        return annotations

    def _sample(self, question: Question, image: Path, annotation: Annotation | None) -> RawSample:
        return RawSample(
            id=question.id,
            image=import_image(image),
            question=question.text,
            reference=annotation.reference if annotation else "",
            answers=annotation.answers if annotation else (),
            scorer=self.options.scorer,
            kind=annotation.kind if annotation else "",
        )


def read_questions(path: Path) -> Questions:
    """Read a questions file.

    Raises:
        InputError: one line: missing, not JSON, or not such a file.
    """

    def kept(content: dict[str, Any]) -> Any:
        if "question_id" not in content or "answers" in content:
            return content
        return Question(_id(path, content), _number(path, content, "image_id"), _text(path, content, "question"))

    content = _load(path, kept)
    questions = _list(path, content, "questions", Question, "v2_OpenEnded_mscoco_val2014_questions.json")
    by_id = {question.id: question for question in questions}
    if len(by_id) < len(questions):
        [(twice, _)] = Counter(question.id for question in questions).most_common(1)
        raise InputError(f"{path}: question {twice} stands there twice; take the file as it was released")
    return Questions(_split(path, content), by_id)


def read_annotations(path: Path, questions: Questions, wanted: Collection[str]) -> dict[str, Annotation]:
    """Read the annotations of some questions; each of `wanted` has one.

    Raises:
        InputError: one line: like `read_questions`; or the file is not for these questions.
    """

    def kept(content: dict[str, Any]) -> Any:
        if "answers" in content:
            item = _id(path, content)
            return _annotation(path, item, content) if item in wanted else Annotation(item, 0, (), (), "", "")
        if "answer" in content:
            raw = intern(_text(path, content, "raw_answer", blank=True)) if "raw_answer" in content else None
            return _Answer(intern(_text(path, content, "answer", blank=True)), raw)  # most are the same few words
        return content

    content = _load(path, kept)
    annotations = _list(path, content, "annotations", Annotation, "v2_mscoco_val2014_annotations.json")
    _check_release(path, questions, _split(path, content), len(annotations))
    by_id = {annotation.id: annotation for annotation in annotations if annotation.id in wanted}
    names = content.get("question_types")
    for item in wanted:
        if item not in by_id or by_id[item].image != questions.by_id[item].image:
            raise InputError(f"{path}: no annotation of question {item} about its image; {_SAME_RELEASE}")
    if not isinstance(names, dict):
        return by_id
    # OK-VQA numbers its kinds of questions and says elsewhere what they are.
    return {item: note._replace(kind=str(names.get(note.kind, note.kind))) for item, note in by_id.items()}


def _check_release(path: Path, questions: Questions, split: str, annotations: int) -> None:
    if split != questions.split:
        raise InputError(f"{path}: annotations of {split} for questions of {questions.split}; {_SAME_RELEASE}")
    if annotations != len(questions.by_id):
        raise InputError(f"{path}: {annotations} annotations for {len(questions.by_id)} questions; {_SAME_RELEASE}")


def _annotation(path: Path, item: str, content: dict[str, Any]) -> Annotation:
    answers = content["answers"]
    if not isinstance(answers, list) or not all(isinstance(answer, _Answer) for answer in answers):
        raise InputError(f"{path}: question {item}: answers must be a list of objects with the key 'answer'")
    if len(answers) != PEOPLE:
        raise InputError(f"{path}: question {item}: {len(answers)} answers; VQA accuracy is defined for {PEOPLE}")
    raw = tuple(answer.raw for answer in answers if answer.raw is not None)
    plain = tuple(answer.answer for answer in answers)
    [(most, _)] = Counter(raw or plain).most_common(1)
    reference, kind = content.get("multiple_choice_answer") or most, content.get("question_type") or ""
    return Annotation(item, _number(path, content, "image_id"), plain, raw, str(reference), str(kind))


def _load(path: Path, kept: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """Parse a file, each of its objects replaced by what `kept` makes of it."""
    content = read_json(path, kept)
    return content if isinstance(content, dict) else {}


def _list(path: Path, content: dict[str, Any], name: str, kind: type[Listed], example: str) -> list[Listed]:
    items = content.get(name)
    if not isinstance(items, list) or not all(isinstance(item, kind) for item in items):
        raise InputError(f"{path}: no list of {name} in VQA's layout; give a file such as {example}")
    return items


def _split(path: Path, content: dict[str, Any]) -> str:
    split = content.get("data_subtype")
    if not isinstance(split, str) or not _SPLIT.fullmatch(split):
        raise InputError(f"{path}: data_subtype must name a split of COCO such as val2014, but got {split!r:.40}")
    return split


def _id(path: Path, content: dict[str, Any]) -> str:
    return str(_number(path, content, "question_id"))


def _number(path: Path, content: dict[str, Any], key: str) -> int:
    value = content.get(key)
    if type(value) is not int or not 0 <= value < 10**18:
        raise InputError(f"{path}: {key} must be a whole number, but got {value!r:.40}{_whose(content)}")
    return value


def _text(path: Path, content: dict[str, Any], key: str, blank: bool = False) -> str:
    value = content.get(key)
    if not isinstance(value, str) or not (blank or value.strip()):
        raise InputError(f"{path}: {key} must be a text, but got {value!r:.40}{_whose(content)}")
    try:
        check_characters(value)
    except ValueError as error:
        raise InputError(f"{path}: {key}: {error}{_whose(content)}") from None
    return value


def _whose(content: dict[str, Any]) -> str:
    return f" (question_id {content['question_id']!r:.40})" if "question_id" in content else ""


def image_path(folder: Path, split: str, image: int) -> Path:
    """The file of an image.

    Args:
        folder: holds the images, or a folder named like the split that does.
        split: such as val2014; test-dev2015 is a part of test2015, and its images have that name.
        image: its number.

    Raises:
        InputError: one line that names the file, where it was looked for, and the option to set.
    """
    folder_split = split.replace("test-dev", "test")
    name = f"COCO_{folder_split}_{image:012d}.jpg"
    for place in (folder, folder / folder_split):
        if (place / name).is_file():
            return place / name
    raise InputError(
        f"{name}: no such image in {folder} or {folder / folder_split}; "
        f"set the option 'images' to the folder of COCO's {folder_split} images"
    )


class OkVqa(VqaPlugin):
    """OK-VQA: questions about COCO images that need outside knowledge (Marino et al. 2019, version 1.1; CC BY 4.0).

    Files of its test split, which is drawn from COCO's val2014: OpenEnded_mscoco_val2014_questions.json and
    mscoco_val2014_annotations.json.
    """

    scorer = "okvqa"


class VqaV2(VqaPlugin):
    """VQA v2: questions about COCO images, ten answers each (Goyal et al. 2017; annotations CC BY 4.0).

    Files of its validation split: v2_OpenEnded_mscoco_val2014_questions.json and v2_mscoco_val2014_annotations.json; of
    its test splits only questions are public. Other releases in the same layout can be read as well.
    """

    scorer = "vqa"
