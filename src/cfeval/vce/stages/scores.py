"""What each counterfactual is worth: what classifiers say of it, how far it is from its original (DBVCE, Section 3)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from cfeval.core.cli_options import Out, build
from cfeval.core.jsonl import count_records, read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Status
from cfeval.core.streams import Grouped, batched
from cfeval.inference.local.devices import memory_errors
from cfeval.vce.files import (
    ClassifierSpec,
    CounterfactualsFile,
    ImagesFile,
    Named,
    PerceptualSpecs,
    Reference,
    build_all,
    load_torch,
    views_of,
)
from cfeval.vce.interfaces import Classifier, FeatureExtractor, PerceptualDistance
from cfeval.vce.metrics.proximity import cout, embedding_similarity, lp_distance, stretched
from cfeval.vce.predictions import (
    Floats,
    Images,
    Probabilities,
    Views,
    check_knows,
    embedded,
    likeliest,
    nearest_bytes,
    perceptual,
    probabilities,
)
from cfeval.vce.records import VceCounterfactual, VceScore

DECIMALS = 6
_EXPLAINED = "the explained classifier"
NORMS = {"d1": 1.0, "d1_5": 1.5, "d2": 2.0}
"""Names of the Minkowski distances, and their p."""
COMMON = ("id", "source_image", "source", "target", "pair", "repeat", "concept")
"""What a score takes over from its record."""
Extremes = tuple[tuple[float, float], tuple[float, float]]
"""Least and greatest value of the originals, and of the counterfactuals, of a whole group."""


@dataclass(frozen=True)
class Measures:
    """What is measured of each counterfactual; everything but the classifier by the name that its figures get.

    `cout_steps`: in how many steps COUT goes from original to counterfactual, each of which the classifier is asked
    about; 0 leaves COUT out.
    """

    classifier: Classifier
    oracles: Mapping[str, Classifier] = field(default_factory=dict)
    distances: Mapping[str, PerceptualDistance] = field(default_factory=dict)
    embeddings: Mapping[str, FeatureExtractor] = field(default_factory=dict)
    cout_steps: int = 50


def scores(
    groups: Iterable[Iterable[VceCounterfactual]], views: Views, measures: Measures, batch: int = 64
) -> Iterator[VceScore]:
    """Score every counterfactual; what has none keeps its status and is not looked at.

    Args:
        groups: counterfactuals. The reference evaluation goes through each group twice, because its perceptual distance
            depends on the extremes of the whole group; else they may all be one.
        views: their images; they say whether the paper's definitions or the reference code's are followed.
        measures: what to measure.
        batch: how many counterfactuals to look at at once.

    Raises:
        InputError: the classifier or an oracle does not know a target class, or sizes of images differ.
        PluginError: memory ran out, or a network says what is not finite.
    """
    before: dict[str, str] = {}
    for some, extremes in _parts(groups, views, batch):
        ok = [record for record in some if record.status == Status.OK]
        with memory_errors(f"scoring {len(ok)} counterfactuals at once", "set a smaller batch"):
            scored = iter(list(_scored(ok, views, measures, extremes, before)) if ok else ())
        for record in some:
            if record.status == Status.OK:
                yield next(scored)
            else:
                yield VceScore(**_common(record), status=record.status, stage=record.stage, reason=record.reason)


def _parts(
    groups: Iterable[Iterable[VceCounterfactual]], views: Views, batch: int
) -> Iterator[tuple[list[VceCounterfactual], Extremes | None]]:
    """Records in batches of one group each; for the reference evaluation with the group's extremes."""
    for group in groups:
        sound = (record for record in group if record.status == Status.OK) if views.reference else ()
        extremes = _extremes(sound, views, batch)
        yield from ((some, extremes) for some in batched(group, batch))


def _extremes(records: Iterable[VceCounterfactual], views: Views, batch: int) -> Extremes | None:
    limits = np.array([[(side.min(), side.max()) for side in views.pairs(some)] for some in batched(records, batch)])
    if not len(limits):
        return None
    low, high = limits[..., 0].min(axis=0).tolist(), limits[..., 1].max(axis=0).tolist()
    return (low[0], high[0]), (low[1], high[1])


def _scored(
    records: Sequence[VceCounterfactual],
    views: Views,
    measures: Measures,
    extremes: Extremes | None,
    before: dict[str, str],
) -> Iterator[VceScore]:
    """The scores of sound counterfactuals; `before` keeps what the classifier said of the originals."""
    for record in records:
        check_knows(measures.classifier, record.target, _EXPLAINED)
        for name, oracle in measures.oracles.items():
            check_knows(oracle, record.target, f"oracle '{name}'")
    originals, made = views.pairs(records)
    prepared = not views.reference
    shares = probabilities(measures.classifier, made, prepared, _EXPLAINED)
    _ask_before(records, originals, measures.classifier, prepared, before)
    columns: dict[str, Sequence[Any]] = {
        "before": [before[record.source_image] for record in records],
        "predicted": likeliest(measures.classifier, shares),
        "p_target": _of_class(measures.classifier, shares, [record.target for record in records]),
        "p_source": _of_class(measures.classifier, shares, [record.source for record in records]),
        "oracles": _rows(
            {
                name: likeliest(oracle, probabilities(oracle, made, prepared, f"oracle '{name}'"))
                for name, oracle in measures.oracles.items()
            },
            len(records),
        ),
        "distances": _rows(_distances(originals, made, measures, extremes), len(records)),
        "others": _others(records, originals, made, measures, views),
    }
    for place, record in enumerate(records):
        yield VceScore(**_common(record), **{name: column[place] for name, column in columns.items()})


def _ask_before(
    records: Sequence[VceCounterfactual],
    originals: Images,
    classifier: Classifier,
    prepared: bool,
    before: dict[str, str],
) -> None:
    """Note what the classifier says of the originals that it was not asked about yet."""
    places = {record.source_image: place for place, record in enumerate(records) if record.source_image not in before}
    if places:
        names = likeliest(classifier, probabilities(classifier, originals[list(places.values())], prepared, _EXPLAINED))
        before.update(zip(places, names, strict=True))


def _distances(
    originals: Images, made: Images, measures: Measures, extremes: Extremes | None
) -> dict[str, Sequence[float]]:
    """The distances of each pair by name; for perceptual ones images are first stretched to the group's extremes."""
    distances: dict[str, Sequence[float]] = {
        name: _rounded(lp_distance(originals, made, p)) for name, p in NORMS.items()
    }
    if extremes:
        originals, made = (
            stretched(images, *limits) for images, limits in zip((originals, made), extremes, strict=True)
        )
    for name, measure in measures.distances.items():
        distances[name] = _rounded(perceptual(measure, originals, made, name))
    return distances


def _others(
    records: Sequence[VceCounterfactual], originals: Images, made: Images, measures: Measures, views: Views
) -> list[dict[str, float]]:
    """Similarities of embeddings, and COUT where the classifier knows the source class too."""
    seen = [nearest_bytes(images) for images in (originals, made)]
    similar = {
        name: _rounded(embedding_similarity(*(embedded(extractor, images, name) for images in seen)))
        for name, extractor in measures.embeddings.items()
    }
    rows: list[dict[str, float]] = _rows(similar, len(records))
    places = [place for place, record in enumerate(records) if record.source in measures.classifier.classes]
    if measures.cout_steps and places:
        transitions = _cout(
            [records[place] for place in places], originals[places], made[places], measures, not views.reference
        )
        for place, value in zip(places, transitions, strict=True):
            rows[place]["cout"] = value
    for row, record in zip(rows, records, strict=True):
        row["attempts"] = float(record.attempts)
    return rows


def _cout(
    records: Sequence[VceCounterfactual], originals: Images, made: Images, measures: Measures, prepared: bool
) -> list[float]:
    classifier = measures.classifier
    places = np.array(
        [[classifier.classes.index(name) for name in (record.source, record.target)] for record in records]
    )

    def of_both(images: "npt.NDArray[np.floating[Any]]") -> Floats:
        shares = probabilities(classifier, np.ascontiguousarray(images, dtype=np.float32), prepared, _EXPLAINED)
        return np.take_along_axis(shares, places, axis=1)

    return _rounded(cout(originals, made, of_both, measures.cout_steps))


def _of_class(classifier: Classifier, shares: Probabilities, names: Sequence[str]) -> list[float | None]:
    """The probability of a class of each image; None where the classifier does not know it."""
    places = {name: place for place, name in enumerate(classifier.classes)}
    return [
        round(float(row[places[name]]), DECIMALS) if name in places else None
        for row, name in zip(shares, names, strict=True)
    ]


def _rows(columns: Mapping[str, Sequence[Any]], count: int) -> list[dict[str, Any]]:
    return [{name: values[place] for name, values in columns.items()} for place in range(count)]


def _rounded(values: Floats) -> list[float]:
    return [round(float(value), DECIMALS) for value in values]


def _common(record: VceCounterfactual) -> dict[str, Any]:
    return {name: getattr(record, name) for name in COMMON}


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
    load_torch()
    measures = Measures(
        build("classifiers", classifier, "--classifier"),
        build_all("classifiers", oracles, "--oracles"),
        build_all("perceptual_metrics", perceptual, "--perceptual"),
        build_all("feature_extractors", embeddings, "--embeddings"),
        cout_steps,
    )
    views = views_of([images], [counterfactuals], reference)
    scored = scores(_groups(counterfactuals, reference), views, measures, batch)
    write_jsonl(out, track(scored, count_records(counterfactuals), "scores"))


def _groups(counterfactuals: Path, reference: bool) -> Iterator[Iterable[VceCounterfactual]]:
    """Those of a group together for the reference evaluation, which needs that; else all as they come."""
    if not reference:
        yield read_jsonl(counterfactuals, VceCounterfactual)
        return
    grouped = Grouped([counterfactuals], VceCounterfactual, lambda record: (record.source, record.target))
    yield from (grouped[key] for key in grouped)
