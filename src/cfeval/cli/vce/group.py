"""Score the groups of an arm: shares, means, diversity, distances of distributions."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Cut, Out, Seed, build
from cfeval.cli.output import from_json
from cfeval.cli.vce.common import AllImages, Named, PerceptualSpecs, Reference, build_all, views_of
from cfeval.io.pictures import Picture
from cfeval.io.records import read_jsonl, write_jsonl
from cfeval.io.sharded_files import whole_or_shards_of_all
from cfeval.records.vce import VceArm, VceScore
from cfeval.seeds import derive


def run(
    scores: Annotated[list[Path], typer.Argument(help="Scores of the arm (JSONL) with all their shards.")],
    arm: Annotated[str, typer.Option(help="The arm's names, as JSON.")],
    images: AllImages,
    counterfactuals: Annotated[
        list[Path], typer.Option(help="Counterfactuals (JSONL) with all their shards, pictures beside.")
    ],
    seed: Seed,
    out: Out,
    perceptual: PerceptualSpecs = "{}",
    features: Annotated[str, typer.Option(help=f"Features of the Fréchet distances. {Named}")] = "{}",
    image_set: Annotated[
        str, typer.Option(help="The set of images, as JSON; distances to the target classes are measured on it.")
    ] = "",
    count: Annotated[int, typer.Option(min=2, help="Images of each target class.")] = 50,
    size: Annotated[int, typer.Option(min=8, help="Height and width of the images, pixels.")] = 256,
    reference: Reference = False,
    cut: Cut = None,
) -> None:
    """Score the groups of an arm: shares, means, diversity, distances of distributions."""
    from cfeval.studies.vce.distributions import Distributions
    from cfeval.studies.vce.groups import group_scores

    real = build("image_sets", image_set, "--image-set") if image_set else None

    def targets(label: str) -> Iterable[Picture]:
        assert real is not None
        return (found.picture for found in real.images([label], count, size, derive(seed, "targets")))

    distributions = Distributions(
        views_of(whole_or_shards_of_all(images, cut), whole_or_shards_of_all(counterfactuals, cut), reference),
        build_all("features", features, "--features"),
        targets if real else None,
    )
    distances = build_all("perceptual", perceptual, "--perceptual")
    rows = (row for file in whole_or_shards_of_all(scores, cut) for row in read_jsonl(file, VceScore))
    write_jsonl(out, group_scores(rows, from_json(arm, VceArm, "--arm"), distributions, distances, seed))
