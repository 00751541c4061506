"""Score every counterfactual: what classifiers say of it, and how far it is from its original."""

from typing import Annotated

import typer

from cfeval.cli.common import Out, build
from cfeval.cli.vce.common import (
    ClassifierSpec,
    CounterfactualsFile,
    ImagesFile,
    Named,
    PerceptualSpecs,
    Reference,
    build_all,
    views_of,
)
from cfeval.io.progress import track
from cfeval.io.records import read_jsonl, write_jsonl
from cfeval.records.vce import VceRecord


def run(
    images: ImagesFile,
    counterfactuals: CounterfactualsFile,
    classifier: ClassifierSpec,
    out: Out,
    oracles: Annotated[str, typer.Option(help=f"Other classifiers that are asked. {Named}")] = "{}",
    perceptual: PerceptualSpecs = "{}",
    embeddings: Annotated[str, typer.Option(help=f"Features whose similarity is measured. {Named}")] = "{}",
    cout_steps: Annotated[int, typer.Option(min=0, help="Steps of COUT from image to counterfactual; 0: none.")] = 50,
    batch: Annotated[int, typer.Option(min=1, help="Counterfactuals that are looked at at once.")] = 64,
    reference: Reference = False,
) -> None:
    """Score every counterfactual: what classifiers say of it, and how far it is from its original."""
    from cfeval.studies.vce.scores import Measures, scores

    measures = Measures(
        build("classifiers", classifier, "--classifier"),
        build_all("classifiers", oracles, "--oracles"),
        build_all("perceptual", perceptual, "--perceptual"),
        build_all("features", embeddings, "--embeddings"),
        cout_steps,
    )
    records = list(read_jsonl(counterfactuals, VceRecord))
    found = scores(records, views_of([images], [counterfactuals], reference), measures, batch)
    write_jsonl(out, track(found, len(records), "scores"))
