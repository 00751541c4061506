"""The classifiers of a study as DBVCE's Table 1 lists them: parameters, accuracy on the originals, robustness."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer

from cfeval.core.cli_options import Cut, Out
from cfeval.core.images import Image, folder_of, load
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.shards import whole_or_shards_of_all
from cfeval.core.streams import batched
from cfeval.vce.files import AllImages, Named, build_all
from cfeval.vce.interfaces import Classifier
from cfeval.vce.predictions import from_bytes, likeliest, pixels_of, probabilities
from cfeval.vce.records import ExplainedNetwork, SourceImage

Labelled = tuple[str, Image]
"""The class of an image, and the image."""


def networks(
    classifiers: Mapping[str, Classifier], images: Sequence[Labelled], batch: int = 64
) -> Iterator[ExplainedNetwork]:
    """What is known of each classifier; accuracy is of images of classes that it knows.

    Args:
        classifiers: by name.
        images: the originals of the study.
        batch: how many are looked at at once.

    Raises:
        PluginError: logits that are not finite.
    """
    for name, classifier in classifiers.items():
        of_known_classes = [(label, image) for label, image in images if label in classifier.classes]
        right = 0
        for some in batched(of_known_classes, batch):
            pixels = np.stack([pixels_of(image) for _, image in some])
            seen = likeliest(classifier, probabilities(classifier, from_bytes(pixels), True, f"classifier '{name}'"))
            right += sum(label == sees for (label, _), sees in zip(some, seen, strict=True))
        yield ExplainedNetwork(
            name=name,
            parameters=parameters_of(classifier),
            robust=classifier.robust,
            timed=classifier.timed,
            n=len(of_known_classes),
            n_right=right,
        )


def parameters_of(classifier: Any) -> int | None:
    """How many parameters the networks have that a classifier holds; None where it holds none."""
    from torch.nn import Module

    held = [value for value in vars(classifier).values() if isinstance(value, Module)]
    counted = {id(weight): weight.numel() for network in held for weight in network.parameters()}
    return sum(counted.values()) if counted else None


def run(
    images: AllImages,
    classifiers: Annotated[str, typer.Option(help=f"The classifiers. {Named}")],
    out: Out,
    cut: Cut = None,
    batch: Annotated[int, typer.Option(min=1, help="Images that are looked at at once.")] = 64,
) -> None:
    """Look at every classifier of the study: its parameters, and its accuracy on the originals."""
    labelled = [
        (record.label, load(folder_of(file), record.image))
        for file in whole_or_shards_of_all(images, cut)
        for record in read_jsonl(file, SourceImage)
    ]
    write_jsonl(out, networks(build_all("classifiers", classifiers, "--classifiers"), labelled, batch))
