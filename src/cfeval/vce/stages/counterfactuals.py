"""Counterfactuals of every image, towards every target of its class (DBVCE, Sections 2.3 and 4)."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt
import typer

from cfeval.core.cli_options import Archive, Out, Seed, build, from_json
from cfeval.core.errors import InputError, nearest
from cfeval.core.ids import ids_of
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl
from cfeval.core.progress import track
from cfeval.core.record import SHARD, uses
from cfeval.core.records import Status, failure
from cfeval.core.sampling import derive_seed
from cfeval.core.shards import atomic_records_with_images
from cfeval.core.streams import batched
from cfeval.vce.files import (
    SAMPLE,
    ClassifierSpec,
    Groups,
    ImagesFile,
    Mask,
    Repeats,
    load_torch,
    masks_in,
    npy,
    pixels_of,
)
from cfeval.vce.interfaces import Classifier
from cfeval.vce.method import Compute, Method
from cfeval.vce.models.classifier import check_outputs
from cfeval.vce.records import Group, SourceImage, VceCounterfactual

if TYPE_CHECKING:
    from torch import Tensor

    from cfeval.vce.sampler.batch import Classes
    from cfeval.vce.sampler.networks import BatchBudget, Models

Pixels = npt.NDArray[np.uint8]
STAGE = "counterfactuals"


@dataclass(frozen=True)
class Wanted:
    """A counterfactual that is wanted: of which image, towards which target, with which noise."""

    image: SourceImage
    group: Group
    repeat: int
    seed: int

    @property
    def id(self) -> str:
        """Its id: the image, the target and the draw of the noise."""
        target = "".join(letter if letter.isalnum() else "-" for letter in self.group.target)[:40].strip("-")
        if not self.group.target.isascii():
            target = ids_of({self.group.target: self.group.target}, 40, "class", "-", "-", hashed=31)[self.group.target]
        return f"{self.image.id}-to-{target}-{self.repeat}"

    def record(self, **fields: object) -> VceCounterfactual:
        """The record of what became of it."""
        return VceCounterfactual(
            id=self.id,
            source_image=self.image.id,
            source=self.group.source,
            target=self.group.target,
            pair=self.group.pair,
            repeat=self.repeat,
            **fields,
        )


@dataclass(frozen=True)
class Made:
    """A counterfactual: its record, its image where it has one, and the sampler's own values, (3, H, W)."""

    record: VceCounterfactual
    images: Mapping[str, Image]
    values: "Tensor | None" = None


def wanted(
    images: Iterable[SourceImage], groups: Sequence[Group], repeats: int, seed: int, same_noise: bool
) -> Iterator[Wanted]:
    """What is to be made: every image towards every target of its class, `repeats` times.

    Args:
        images: the originals.
        groups: source and target classes.
        repeats: counterfactuals of each image and target.
        seed: of the study.
        same_noise: whether the images of every group are given the same noise, as in the reference code, so that groups
            and methods differ in nothing else; else every counterfactual has noise of its own.
    """
    for image in images:
        for group in groups:
            for repeat in range(repeats) if group.source == image.label else ():
                drawn = (image.number,) if same_noise else (image.id, group.target)
                yield Wanted(image, group, repeat, derive_seed(seed, "noise", repeat, *drawn))


def counterfactuals(
    tasks: Iterable[Wanted],
    pixels_of: Callable[[SourceImage], Pixels],
    models: "Models",
    method: Method,
    compute: Compute,
    mask_of: Callable[[SourceImage], Mask] | None = None,
) -> Iterator[Made]:
    """Make what is wanted, in order.

    Args:
        tasks: what is wanted.
        pixels_of: opens an original, (H, W, 3), uint8 RGB.
        models: the networks.
        method: how.
        compute: with which precision, and how many at once; halved where memory runs out.
        mask_of: opens the mask of an original, for methods with mask `given`.

    Raises:
        InputError: a class that the classifier does not have, an original of another size than the denoiser's.
        PluginError: a classifier that says of originals what is not finite.
    """
    from cfeval.vce.sampler.networks import BatchBudget
    from cfeval.vce.sampler.sampler import counterfactuals as sampled

    allowance = BatchBudget(compute.batch)
    for some in batched(tasks, compute.batch):
        originals = to_images([pixels_of(task.image) for task in some]).to(models.denoiser.dtype)
        if method.guidance != "none" and originals.shape[-1] == models.denoiser.image_size:  # else refused below
            _check_answers(models, originals, method.prepared)
        made = sampled(
            originals,
            [task.seed for task in some],
            method,
            models,
            _classes(some, models.classifier),
            compute.model_copy(update={"batch": allowance.batch}),
            regions=to_regions([mask_of(task.image) for task in some]) if mask_of else None,
        )
        allowance.batch = min(allowance.batch, made.batch)
        kept = _kept(some, made.images, models.classifier, method, allowance)
        for row, task in enumerate(some):
            yield _made(task, made.images[row], int(made.attempts[row]) + 1, bool(made.finite[row]), kept[row])


def _check_answers(models: "Models", originals: "Tensor", prepared: bool) -> None:
    """Ask classifiers about the originals: of one that is broken, every counterfactual would seem to diverge."""
    import torch

    for who, classifier in (("the explained classifier", models.classifier), ("the robust classifier", models.robust)):
        if classifier is not None:
            with torch.no_grad():
                logits = classifier.logits(originals.to(classifier.device), prepared=prepared)
            check_outputs(logits.float().cpu().numpy(), who)


def to_images(pixels: Sequence[Pixels]) -> "Tensor":
    """Images (H, W, 3), uint8, as one tensor (N, 3, H, W), float32 in [−1, 1]."""
    import torch

    stacked = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2)
    return stacked.float() / 127.5 - 1


def to_regions(masks: Sequence[Mask]) -> "Tensor":
    """Masks (H, W) of 0 and 1 as one tensor (N, 1, H, W), float32."""
    import torch

    return torch.from_numpy(np.stack(masks)).unsqueeze(1).float()


def to_pixels(image: "Tensor") -> Pixels:
    """An image (3, H, W) in [−1, 1], clamped, as pixels (H, W, 3), uint8."""
    levels = ((image.double().clamp(-1, 1) + 1) * 127.5).round().byte()
    return levels.permute(1, 2, 0).cpu().numpy()


def _classes(tasks: Sequence[Wanted], classifier: Classifier | None) -> "Classes | None":
    from cfeval.vce.sampler.batch import Classes

    if classifier is None:
        return None
    sources = [_index(task.group.source, classifier) for task in tasks]
    return Classes([_index(task.group.target, classifier) for task in tasks], sources)


def _index(name: str, classifier: Classifier) -> int:
    if name not in classifier.classes:
        raise InputError(f"the classifier has no class '{name}'; {nearest(name, classifier.classes)}")
    return classifier.classes.index(name)


def _kept(
    tasks: Sequence[Wanted], images: "Tensor", classifier: Classifier | None, method: Method, allowance: "BatchBudget"
) -> list[bool]:
    """Which counterfactuals the rejection step keeps; all, where there is none."""
    from cfeval.vce.sampler.sampler import accepted

    if not method.reject or classifier is None:
        return [True] * len(tasks)
    targets = [_index(task.group.target, classifier) for task in tasks]
    return accepted(images, targets, classifier, method.prepared, allowance).tolist()


def _made(task: Wanted, values: "Tensor", attempts: int, finite: bool, kept: bool) -> Made:
    if not finite:
        reason = "it diverged: values that are not finite"
        return Made(task.record(attempts=attempts, **failure(Status.NO_IMAGE, STAGE, reason)), {})
    if not kept:
        reason = "the classifier sees another class than the target"
        return Made(task.record(attempts=attempts, **failure(Status.REJECTED, STAGE, reason)), {})
    image = Image.from_pixels(to_pixels(values))
    path = f"{task.id}.png"
    return Made(task.record(attempts=attempts, image=image.ref(path)), {path: image}, values)


def run(
    images: ImagesFile,
    denoiser: Annotated[str, typer.Option(help="The diffusion model, as JSON: its plugin and options.")],
    classifier: ClassifierSpec,
    method: Annotated[str, typer.Option(help="How: a method of params.yaml, as JSON.")],
    groups: Groups,
    seed: Seed,
    out: Out,
    robust: Annotated[str, typer.Option(help="The robust classifier of the cone, as JSON; empty: none.")] = "",
    perceptual: Annotated[str, typer.Option(help="The distance of DiME's perceptual term, as JSON; empty: none.")] = "",
    repeats: Repeats = 1,
    same_noise: Annotated[bool, typer.Option(help="Give the images of every group the same noise.")] = True,
    precision: Annotated[
        str | None,
        typer.Option(help="Precision of the networks: float32, bfloat16 or float16; empty: that of --compute."),
    ] = None,
    compute: Annotated[str, typer.Option(help="Batch size, precision and the like: `compute` of params.yaml.")] = "{}",
    archive: Archive = False,
) -> None:
    """Make counterfactuals of images towards the targets of their classes."""
    load_torch()
    from cfeval.vce.sampler.networks import Models

    settings = from_json(method, Method, "--method")
    explained = build("classifiers", classifier, "--classifier")
    models = Models(
        denoiser=build("denoisers", denoiser, "--denoiser"),
        classifier=explained,
        robust=(explained if robust == classifier else build("classifiers", robust, "--robust")) if robust else None,
        perceptual=build("perceptual_metrics", perceptual, "--perceptual") if perceptual else None,
    )
    if models.robust and not models.robust.robust:
        raise InputError("--robust: this classifier was not trained to be robust; name one that was (`robust: true`)")
    requested = from_json(groups, list[Group], "--groups")
    if not requested:
        raise InputError("--groups: the list is empty; name at least one source class with its target")
    has = Counter(image.label for image in read_jsonl(images, SourceImage))
    total = repeats * sum(has[group.source] for group in requested)
    if not total and not re.fullmatch(SHARD, images.stem):  # a shard may hold no image of these classes
        raise InputError(f"--groups: no image is of a source class; {images} has {', '.join(has) or 'none'}")
    tasks = wanted(read_jsonl(images, SourceImage), requested, repeats, seed, same_noise)
    used = from_json(compute, Compute, "--compute")
    if precision:
        used = from_json(json.dumps(used.model_dump() | {"precision": precision}), Compute, "--precision")
    if settings.mask == "given":
        uses(f"{settings.region_folder.rstrip('/')}/")
    mask_of = masks_in(Path(settings.region_folder), models.denoiser.image_size) if settings.mask == "given" else None
    made = counterfactuals(tasks, pixels_of(images), models, settings, used, mask_of)
    with atomic_records_with_images(out, archive=archive) as add:
        for counterfactual in track(made, total, "counterfactuals"):
            record, images_of = counterfactual.record, counterfactual.images
            sampled = settings.mode == "reference" and images_of
            sample = {f"{record.id}{SAMPLE}": npy(counterfactual.values)} if sampled else {}
            add(record, {**images_of, **sample})
