"""Make counterfactuals of images towards the targets of their classes."""

import json
import re
from collections import Counter
from typing import Annotated

import typer

from cfeval.cli.common import Archive, Out, Seed, build
from cfeval.cli.output import from_json
from cfeval.cli.vce.common import SAMPLE, ClassifierSpec, Groups, ImagesFile, Repeats, npy, pixels_of
from cfeval.errors import InputError
from cfeval.io.gallery import gallery
from cfeval.io.progress import track
from cfeval.io.records import read_jsonl
from cfeval.params.vce_method import Compute, Method
from cfeval.records.vce import Group, SourceImage


def run(
    images: ImagesFile,
    denoiser: Annotated[str, typer.Option(help="The diffusion model, as JSON: its backend and options.")],
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
    from cfeval.diffusion.networks import Models
    from cfeval.studies.vce.counterfactuals import counterfactuals, wanted

    how = from_json(method, Method, "--method")
    models = Models(
        denoiser=build("denoisers", denoiser, "--denoiser"),
        classifier=build("classifiers", classifier, "--classifier"),
        robust=build("classifiers", robust, "--robust") if robust else None,
        perceptual=build("perceptual", perceptual, "--perceptual") if perceptual else None,
    )
    if models.robust and not models.robust.robust:
        raise InputError("--robust: this classifier was not trained to be robust; name one that was (`robust: true`)")
    asked = from_json(groups, list[Group], "--groups")
    if not asked:
        raise InputError("--groups: the list is empty; name at least one source class with its target")
    has = Counter(image.label for image in read_jsonl(images, SourceImage))
    total = repeats * sum(has[group.source] for group in asked)
    if not total and not re.fullmatch(r"[0-9]{3}", images.stem):  # a shard may hold no image of these classes
        raise InputError(f"--groups: no image is of a source class; {images} has {', '.join(has) or 'none'}")
    tasks = wanted(read_jsonl(images, SourceImage), asked, repeats, seed, same_noise)
    used = from_json(compute, Compute, "--compute")
    if precision:
        used = from_json(json.dumps(used.model_dump() | {"precision": precision}), Compute, "--precision")
    made = counterfactuals(tasks, pixels_of(images), models, how, used)
    with gallery(out, archive=archive) as add:
        for one in track(made, total, "counterfactuals"):
            sample = {f"{one.record.id}{SAMPLE}": npy(one.values)} if how.mode == "reference" and one.pictures else {}
            add(one.record, {**one.pictures, **sample})
