"""Make counterfactuals of images towards the targets of their classes."""

from typing import Annotated

import typer

from cfeval.cli.common import Out, Seed, build
from cfeval.cli.output import from_json
from cfeval.cli.vce.common import ClassifierSpec, Groups, ImagesFile, Repeats, pixels_of
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
    compute: Annotated[str, typer.Option(help="Batch size, precision and the like: `compute` of params.yaml.")] = "{}",
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
    originals = read_jsonl(images, SourceImage)
    tasks = list(wanted(originals, from_json(groups, list[Group], "--groups"), repeats, seed, same_noise))
    made = counterfactuals(tasks, pixels_of(images), models, how, from_json(compute, Compute, "--compute"))
    with gallery(out) as add:
        for one in track(made, len(tasks), "counterfactuals"):
            add(one.record, one.pictures)
