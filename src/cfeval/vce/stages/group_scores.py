"""The figures of each group: shares, means, diversity, distances of distributions (DBVCE, Section 3 and Table 2).

| figure | what it is |
|---|---|
| `ta`, `oa`, `fr` | target accuracy, original accuracy, flip rate |
| `misread` | share of originals that the classifier puts in another class than their own, before any change |
| `cv` | conditional validity: how often oracles see the target where the classifier does |
| `p_target`, `p_source` | mean probability of the target and of the source class |
| `os_<oracle>`, `ota_<oracle>` | oracle score, oracle target accuracy |
| `os_mean`, `ota_mean`, `os_majority`, `ota_majority` | those of all oracles together |
| `<distance>`, `<other>` | means of the counterfactuals' figures |
| `d1_batch`, `d1_5_batch`, `d2_batch` | the reference code's distances, only in the reference evaluation |
| `diversity_<distance>` | mean distance between counterfactuals of one image |
| `<features>` | Fréchet distance to the originals; left out of a group with no more images than features |
| `s<features>`, `<features>_floor` | that across halves (sFID), and of halves of the originals: equal distributions |
| `<features>_target` | Fréchet distance to images of the target class |
| `<features>_both`, `s<features>_both` | those of a group and the one from target to source together |
| `fva`, `fva_<rest>` | face verification accuracy, of the similarities `fs` and `fs_<rest>` |
| `mnac_<oracle>`, `cd_<oracle>` | mean number of attributes changed, correlation difference |
| `k…`, `k…_se` | kernel distance (KID) to images of the target class, else to the originals, and its standard error |
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, TypeVar, cast

import typer

from cfeval.core.cli_options import Cut, Out, Seed, build, from_json
from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.records import Status
from cfeval.core.sampling import derive_seed
from cfeval.core.shards import whole_or_shards_of_all
from cfeval.core.streams import batched
from cfeval.inference.local.devices import memory_errors
from cfeval.vce.files import AllImages, Named, PerceptualSpecs, Reference, build_all, views_of
from cfeval.vce.interfaces import AttributeClassifier, PerceptualDistance
from cfeval.vce.metrics.proximity import batch_lp_distance, diversity, repeat_pairs, verification_accuracy
from cfeval.vce.metrics.validity import (
    committee_majority,
    committee_mean,
    conditional_validity,
    flip_rate,
    misread,
    oracle_score,
    oracle_target_accuracy,
    original_accuracy,
    target_accuracy,
)
from cfeval.vce.predictions import perceptual
from cfeval.vce.records import COMMITTEE, Group, GroupScore, VceCondition, VceScore
from cfeval.vce.stages.group_figures import Attributes, Distributions
from cfeval.vce.stages.scores import DECIMALS, NORMS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Member:
    """The little of a score that its group needs, some 400 bytes; what is said is kept once for all members."""

    id: str
    source_image: str
    repeat: int
    status: Status
    before: str
    predicted: str
    oracles: tuple[tuple[str, str], ...]
    """What each oracle says, by its name."""
    names: tuple[str, ...]
    values: "array[float]"
    """The names of what was measured, and the values."""

    def value(self, name: str) -> float:
        """What was measured under a name."""
        return self.values[self.names.index(name)]


def group_scores(
    scores: Iterable[VceScore],
    condition: VceCondition,
    distributions: Distributions,
    distances: Mapping[str, PerceptualDistance],
    seed: int,
    oracles: Mapping[str, AttributeClassifier] | None = None,
) -> Iterator[GroupScore]:
    """Score the groups of a condition, source by source, the ideal target first.

    Args:
        scores: of all counterfactuals of the condition, whatever became of them, in any order. A `Member` of each is
        kept. condition: what made them. distributions: feature extractors by the names of their figures, and where the
        images come from. distances: perceptual distances by name, for the diversity of counterfactuals of one image.
        seed: of the study.
        oracles: of attributes, by name.

    Raises:
        InputError: an oracle has the name of a committee's figure, or sizes of images differ.
        PluginError: memory ran out.
    """
    groups = {
        key: sorted(members, key=lambda member: (member.source_image, member.repeat))
        for key, members in sorted(_members(scores).items())
    }
    sound = {key: [member for member in members if member.status == Status.OK] for key, members in groups.items()}
    attributes = Attributes(distributions.views, oracles or {}, distributions.batch)
    for (source, pair, target), members in groups.items():
        group = Group(source=source, target=target, pair=pair)
        ok = sound[source, pair, target]
        drawn = derive_seed(seed, group.source, group.target, "halves")
        figures: dict[str, float] = {}
        if ok:
            with memory_errors(f"scoring the group {group.source} → {group.target}", "set a smaller batch"):
                figures |= said_figures(ok, group) | mean_figures(ok)
                figures |= batch_figures(ok) if distributions.views.reference else {}
                figures |= diversity_figures(ok, distances, distributions)
                figures |= distributions.figures(members, ok, group.target, drawn)
                figures |= attributes.figures((source, pair, target), sound)
                if (target, pair, source) in groups:
                    back, good = groups[target, pair, source], sound[target, pair, source]
                    both = sorted((source, target))
                    drawn = derive_seed(seed, *both, "halves")
                    figures |= distributions.of_both([*members, *back], [*ok, *good], drawn)
        yield GroupScore(
            condition=condition,
            group=group,
            n=len(members),
            n_scored=len(ok),
            missing=dict(Counter(str(member.status) for member in members if member.status != Status.OK)),
            figures={name: round(value, DECIMALS) for name, value in figures.items()},
        )


def _members(scores: Iterable[VceScore]) -> dict[tuple[str, str, str], list[Member]]:
    """The members of every group, by its source, pair and target."""
    same: dict[object, object] = {}

    def once(value: T) -> T:
        return cast(T, same.setdefault(value, value))

    groups: dict[tuple[str, str, str], list[Member]] = {}
    for score in scores:
        figures = score.distances | score.others | {"p_target": score.p_target, "p_source": score.p_source}
        measured = {name: value for name, value in figures.items() if value is not None}
        member = Member(
            id=score.id,
            source_image=once(score.source_image),
            repeat=score.repeat,
            status=score.status,
            before=once(score.before or ""),
            predicted=once(score.predicted or ""),
            oracles=once(tuple(score.oracles.items())),
            names=once(tuple(measured)),
            values=array("d", measured.values()),
        )
        groups.setdefault((score.source, score.pair, score.target), []).append(member)
    return groups


def said_figures(ok: Sequence[Member], group: Group) -> dict[str, float]:
    """What the explained classifier and the oracles say, of counterfactuals that have a result."""
    predicted = [member.predicted for member in ok]
    targets = [group.target] * len(ok)
    figures = {
        "ta": target_accuracy(predicted, targets),
        "oa": original_accuracy(predicted, [group.source] * len(ok)),
        "fr": flip_rate([member.before for member in ok], predicted),
    }
    answers = [dict(member.oracles) for member in ok]
    oracles = {name: [answer[name] for answer in answers] for name in answers[0]}
    for name, replies in oracles.items():
        if name in COMMITTEE:
            raise InputError(f"an oracle is called '{name}', which is the committee's name; give it another name")
        figures |= {
            f"os_{name}": oracle_score(predicted, replies),
            f"ota_{name}": oracle_target_accuracy(replies, targets),
        }
    for kind, wanted in (("os", predicted), ("ota", targets)):
        if oracles:
            figures[f"{kind}_mean"] = committee_mean(oracles, wanted)
            figures[f"{kind}_majority"] = committee_majority(oracles, wanted)
    valid = conditional_validity(predicted, oracles, targets) if oracles else None
    if valid is not None:
        figures["cv"] = valid
    if all("p_source" in member.names for member in ok):  # else the classifier does not know the source class
        figures["misread"] = misread([member.before for member in ok], [group.source] * len(ok))
    return figures


def mean_figures(ok: Sequence[Member]) -> dict[str, float]:
    """Means of what is measured of each counterfactual, over those that have it."""
    measured: dict[str, list[float]] = {}
    for member in ok:
        for name, value in zip(member.names, member.values, strict=True):
            measured.setdefault(name, []).append(value)
    same = {
        f"fva{name.removeprefix('fs')}": verification_accuracy(values)
        for name, values in measured.items()
        if name.split("_")[0] == "fs"
    }
    return {name: fmean(values) for name, values in measured.items()} | same


def batch_figures(ok: Sequence[Member]) -> dict[str, float]:
    """The distances of the reference code: one norm over all counterfactuals together."""
    return {f"{name}_batch": batch_lp_distance([member.value(name) for member in ok], p) for name, p in NORMS.items()}


def diversity_figures(
    ok: Sequence[Member], distances: Mapping[str, PerceptualDistance], distributions: Distributions
) -> dict[str, float]:
    """How different counterfactuals of one image are; left out where no image has two."""
    repeats: dict[str, list[Member]] = {}
    for member in ok:
        repeats.setdefault(member.source_image, []).append(member)
    several = [same for same in repeats.values() if len(same) > 1]
    if not several or not distances:
        return {}
    distances_by_name: dict[str, list[list[float]]] = {name: [] for name in distances}
    for same in several:
        images = distributions.views.counterfactuals(same)
        for name, measure in distances.items():
            apart: list[float] = []
            for pairs in batched(repeat_pairs(len(same)), distributions.batch):
                first, second = (list(side) for side in zip(*pairs, strict=True))
                apart += perceptual(measure, images[first], images[second], name).tolist()
            distances_by_name[name].append(apart)
    return {f"diversity_{name}": diversity(per_image) for name, per_image in distances_by_name.items()}


def run(
    scores: Annotated[list[Path], typer.Argument(help="Scores of the condition (JSONL) with all their shards.")],
    condition: Annotated[str, typer.Option(help="The condition's names, as JSON.")],
    images: AllImages,
    counterfactuals: Annotated[
        list[Path], typer.Option(help="Counterfactuals (JSONL) with all their shards, images beside.")
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
    attributes: Annotated[str, typer.Option(help=f"Oracles of attributes. {Named}")] = "{}",
    reference: Reference = False,
    cut: Cut = None,
) -> None:
    """Score the groups of a condition: shares, means, diversity, distances of distributions, attributes."""
    real = build("image_sets", image_set, "--image-set") if image_set else None

    def targets(label: str) -> Iterable[Image]:
        assert real is not None
        return (labelled.image for labelled in real.images([label], count, size, derive_seed(seed, "targets")))

    distributions = Distributions(
        views_of(whole_or_shards_of_all(images, cut), whole_or_shards_of_all(counterfactuals, cut), reference),
        build_all("feature_extractors", features, "--features"),
        targets if real else None,
    )
    distances = build_all("perceptual_metrics", perceptual, "--perceptual")
    rows = (row for file in whole_or_shards_of_all(scores, cut) for row in read_jsonl(file, VceScore))
    oracles = build_all("attribute_classifiers", attributes, "--attributes")
    named = from_json(condition, VceCondition, "--condition")
    write_jsonl(out, group_scores(rows, named, distributions, distances, seed, oracles))
