"""What the data sets in VQA's layout share: questions and annotations as JSON, images of COCO."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from cfeval.backends.registry import Diagnostic, PluginOptions
from cfeval.errors import InputError
from cfeval.io.coco import image_path
from cfeval.io.frozen import as_frozen
from cfeval.io.pictures import import_image
from cfeval.io.samples import RawSample
from cfeval.io.selection import chosen
from cfeval.io.vqa_json import Annotation, Question, Questions, read_annotations, read_questions


class VqaOptions(PluginOptions):
    """Where the released files are; get them from the data set's own site."""

    questions: str
    """The questions file, as released (JSON)."""
    images: str
    """COCO's folder of images: COCO_val2014_000000000042.jpg and so on, directly or in a folder such as val2014/."""
    annotations: str | None = None
    """The annotations file, as released (JSON); without it, as for a test split, no right answer is known."""
    ids: str | None = None
    """A list of question ids, plain or frozen: exactly those, in that order. Without it the seed draws."""


def vqa_files(options: VqaOptions) -> tuple[str, ...]:
    """The JSON files, the list of ids, and the folder of images."""
    named = (options.questions, options.annotations, options.ids)
    return (*(path for path in named if path), f"{options.images.rstrip('/')}/")


def examine_vqa(options: VqaOptions) -> Iterator[Diagnostic]:
    """Whether the images are where they should be."""
    there = Path(options.images).is_dir()
    yield Diagnostic(
        there, f"{options.images}: " + ("images" if there else "no such folder; unpack COCO's images there")
    )


class Vqa:
    """A data set in VQA's layout."""

    def __init__(self, options: VqaOptions, scoring: Literal["vqa", "okvqa"]) -> None:
        self.options, self.scoring = options, scoring

    def samples(self, items: int, seed: int) -> Iterator[RawSample]:
        """At most `items` questions, each with its image; the files are read once, images as they come.

        Raises:
            InputError: one line: a file is missing or is no such file, or an image is missing.
        """
        source, ids = Path(self.options.questions), self.options.ids
        questions = read_questions(source)
        wanted = chosen(questions.by_id, items, seed, Path(ids) if ids else None, source)
        taken = [questions.by_id[item] for item in wanted]
        images = [image_path(Path(self.options.images), questions.split, question.image) for question in taken]
        known = self._annotations(questions, wanted)
        del questions
        opened = (self._sample(q, image, known.get(q.id)) for q, image in zip(taken, images, strict=True))
        yield from as_frozen(opened, ids)

    def _annotations(self, questions: Questions, wanted: list[str]) -> dict[str, Annotation]:
        if not self.options.annotations:
            return {}
        path = Path(self.options.annotations)
        found = read_annotations(path, questions, dict.fromkeys(wanted))
        for item in found.values():
            if bool(item.raw) != (self.scoring == "okvqa"):
                release, backend = ("OK-VQA", "okvqa") if item.raw else ("VQA", "vqav2")
                raise InputError(f"{path}: annotations of {release}, which are scored otherwise; use backend {backend}")
        return found

    def _sample(self, question: Question, image: Path, known: Annotation | None) -> RawSample:
        return RawSample(
            id=question.id,
            picture=import_image(image),
            question=question.text,
            reference=known.reference if known else "",
            answers=known.answers if known else (),
            scoring=self.scoring,
            kind=known.kind if known else "",
        )
