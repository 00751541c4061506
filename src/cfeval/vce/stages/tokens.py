"""Tokens that a text-to-image model learns for what a classifier sees (TIME, Jeanneret et al. 2024)."""

import json
from typing import Annotated

import typer

from cfeval.core.cli_options import Out, Seed, build
from cfeval.core.errors import InputError, nearest
from cfeval.vce.files import ClassifierSpec
from cfeval.vce.interfaces import Classifier, ImageSet
from cfeval.vce.models.learned_tokens import Training, learn_tokens, write_tokens
from cfeval.vce.models.spelling import spec_of
from cfeval.vce.predictions import from_bytes, likeliest, pixels_of, probabilities


def run(
    denoiser: Annotated[str, typer.Option(help="The model that learns: diffusers:FOLDER or the plugin as JSON.")],
    classifier: ClassifierSpec,
    image_set: Annotated[str, typer.Option(help="Images to learn from, as JSON: their plugin and options.")],
    out: Out,
    label: Annotated[
        list[str] | None, typer.Option(help="Class whose images are taken; may be repeated. Without it all classes.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Images of each of them.")] = 1000,
    context: Annotated[
        str, typer.Option(help="Words that the tokens for all images start from.")
    ] = "centered real scene",
    tokens: Annotated[int, typer.Option(min=1, max=16, help="Tokens for each class.")] = 3,
    joint: Annotated[str, typer.Option(help="Text between the context and the tokens of a class.")] = "with a",
    steps: Annotated[int, typer.Option(min=1, help="Steps for the context and for each class.")] = Training.steps,
    batch: Annotated[int, typer.Option(min=1, help="Images a step.")] = Training.batch,
    rate: Annotated[float, typer.Option(min=0, help="Learning rate.")] = Training.rate,
    seed: Seed = 0,
) -> None:
    """Have Stable Diffusion learn tokens for what a classifier sees in images (TIME).

    Images are sorted by what the classifier says, not by their labels. Name the file as `tokens` of the denoiser, and
    use the method's preset `time`.
    """
    import torch

    explained: Classifier = build("classifiers", json.dumps(spec_of(classifier, "--classifier")), "--classifier")
    model = build("denoisers", json.dumps(spec_of(denoiser, "--denoiser", "denoisers")), "--denoiser")
    images: ImageSet = build("image_sets", image_set, "--image-set")
    labels = label or list(images.classes)
    if unknown := next((name for name in labels if name not in images.classes), ""):
        raise InputError(f"--label: the image set has no class '{unknown}'; {nearest(unknown, images.classes)}")
    chosen = list(images.images(labels, count, model.image_size, seed))
    tensors = [torch.from_numpy(from_bytes(pixels_of(labelled.image))) for labelled in chosen]
    shares = (probabilities(explained, image[None].numpy(), True) for image in tensors)
    seen = [name for share in shares for name in likeliest(explained, share)]
    if len(set(seen)) < 2:
        raise InputError(f"--classifier: it sees '{seen[0]}' in every image; give images of two classes at least")

    def begun(phase: str) -> None:
        typer.echo(f"learning tokens for {phase}", err=True)

    training = Training(steps, batch, rate, seed=seed)
    write_tokens(out, learn_tokens(model, tensors, seen, context.split(), tokens, joint, training, begun))
    typer.echo(f"{out}: tokens for {', '.join(f'{name} ({seen.count(name)} images)' for name in sorted(set(seen)))}")
