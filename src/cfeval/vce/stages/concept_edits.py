"""Counterfactuals by edits in words: what sets source and target apart is named and changed, one concept at a time.

The editor sees the image, the two classes and, in a sentence, where the classifier looks; not the classifier. So what
the classifier follows was there to be named, and was not found by its gradient. What is made is scored, put into tables
and shown as any counterfactual is.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from cfeval.core.cli_options import Archive, Out, Seed, build, from_json
from cfeval.core.errors import InputError
from cfeval.core.images import Image, folder_of, load
from cfeval.core.jsonl import read_jsonl
from cfeval.core.progress import track
from cfeval.core.records import failure
from cfeval.core.sampling import derive_seed
from cfeval.core.shards import atomic_records_with_images
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache
from cfeval.vce.files import ClassifierSpec, Groups, ImagesFile
from cfeval.vce.interfaces import Classifier, ConceptEdit, ConceptEditor
from cfeval.vce.predictions import from_bytes, looked_at, pixels_of
from cfeval.vce.records import Group, SourceImage, VceCounterfactual
from cfeval.vce.stages.counterfactuals import Wanted, wanted

BATCH = 16


@dataclass(frozen=True)
class _Request:
    task: Wanted
    image: Image
    explanation: str


def edited(
    tasks: Iterable[Wanted],
    image_of: Callable[[SourceImage], Image],
    editor: ConceptEditor,
    classifier: Classifier,
    seed: int,
) -> Iterator[list[tuple[VceCounterfactual, dict[str, Image]]]]:
    """Edit the image of every task, in order; yields the records of its edits, each with its image.

    Args:
        tasks: what is wanted, each image and target once.
        image_of: opens an original.
        editor: who edits.
        classifier: the one that is explained.
        seed: of the study.
    """

    def request(task: Wanted) -> _Request:
        image = image_of(task.image)
        explanation = looked_at(classifier, from_bytes(pixels_of(image)[None])[0]) if editor.wants_explanation else ""
        return _Request(task, image, explanation)

    async def edit(request: _Request) -> Sequence[ConceptEdit]:
        classes, name = (request.task.group.source, request.task.group.target), request.task.image.id
        return await editor.edit(name, request.image, classes, request.explanation, derive_seed(seed, name, classes[1]))

    for task, edits in map_requests(tasks, request, edit, BATCH):
        yield [_made(task, number, each) for number, each in enumerate(edits)]


def _made(task: Wanted, number: int, edit: ConceptEdit) -> tuple[VceCounterfactual, dict[str, Image]]:
    named = Wanted(task.image, task.group, number, task.seed)
    path = f"{named.id}.png"
    record = named.record(
        concept=edit.concept,
        instruction=edit.instruction,
        calls=edit.calls,
        image=edit.image.ref(path) if edit.image else None,
        **failure(edit.status, edit.stage, edit.reason),
    )
    return record, {path: edit.image} if edit.image else {}


def run(
    images: ImagesFile,
    editor: Annotated[str, typer.Option(help="The concept editor, as JSON: its plugin and options.")],
    classifier: ClassifierSpec,
    groups: Groups,
    seed: Seed,
    out: Out,
    offline: Offline = False,
    archive: Archive = False,
) -> None:
    """Make counterfactuals by edits in words: what sets source and target apart, one concept at a time."""
    use_offline_cache(offline)
    requested = from_json(groups, list[Group], "--groups")
    if not requested:
        raise InputError("--groups: the list is empty; name at least one source class with its target")
    model: ConceptEditor = build("concept_editors", editor, "--editor")
    explained: Classifier = build("classifiers", classifier, "--classifier")
    has = Counter(image.label for image in read_jsonl(images, SourceImage))
    folder = folder_of(images)
    tasks = wanted(read_jsonl(images, SourceImage), requested, 1, seed, same_noise=True)
    made = edited(tasks, lambda record: load(folder, record.image), model, explained, seed)
    with atomic_records_with_images(out, archive=archive) as add:
        for records in track(made, sum(has[group.source] for group in requested), "edits"):
            for record, files in records:
                add(record, files)
