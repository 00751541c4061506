"""Score every counterfactual: what classifiers say of it, and how far it is from its original."""

from collections.abc import Iterable, Iterator
from pathlib import Path
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
from cfeval.io.indexed import Grouped
from cfeval.io.progress import track
from cfeval.io.records import count_records, read_jsonl, write_jsonl
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
    views = views_of([images], [counterfactuals], reference)
    found = scores(_groups(counterfactuals, reference), views, measures, batch)
    write_jsonl(out, track(found, count_records(counterfactuals), "scores"))


def _groups(counterfactuals: Path, reference: bool) -> Iterator[Iterable[VceRecord]]:
    """Those of a group together for the reference evaluation, which needs that; else all as they come."""
    if not reference:
        yield read_jsonl(counterfactuals, VceRecord)
        return
    grouped = Grouped([counterfactuals], VceRecord, lambda record: (record.source, record.target))
    yield from (grouped[key] for key in grouped)
