"""The figures of each group: shares, means, diversity, distances of distributions (DBVCE, Section 3 and Table 2).

| figure | what it is |
|---|---|
| `ta`, `oa`, `fr` | target accuracy, original accuracy, flip rate |
| `p_target`, `p_source` | mean probability of the target and of the source class |
| `os_<oracle>`, `ota_<oracle>` | oracle score, oracle target accuracy |
| `os_mean`, `ota_mean`, `os_majority`, `ota_majority` | those of all oracles together |
| `<distance>`, `<other>` | means of the counterfactuals' figures |
| `d1_batch`, `d1_5_batch`, `d2_batch` | the reference code's distances, only in the reference evaluation |
| `diversity_<distance>` | mean distance between counterfactuals of one image |
| `<features>` | Fréchet distance to the originals |
| `s<features>`, `<features>_floor` | that across halves (sFID), and of halves of the originals: equal distributions |
| `<features>_target` | Fréchet distance to images of the target class |
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from cfeval.backends.local_models.memory import memory_errors
from cfeval.backends.perceptual.base import PerceptualDistance
from cfeval.errors import InputError
from cfeval.metrics.committee import committee_majority, committee_mean
from cfeval.metrics.diversity import diversity, repeat_pairs
from cfeval.metrics.flip_rate import flip_rate
from cfeval.metrics.lp_distance import batch_lp_distance
from cfeval.metrics.oracle_score import oracle_score
from cfeval.metrics.oracle_target_accuracy import oracle_target_accuracy
from cfeval.metrics.original_accuracy import original_accuracy
from cfeval.metrics.target_accuracy import target_accuracy
from cfeval.records.common import Status
from cfeval.records.vce import Group, GroupScore, VceArm, VceScore
from cfeval.seeds import derive
from cfeval.streams import batched
from cfeval.studies.vce.asking import perceptual
from cfeval.studies.vce.distributions import Distributions
from cfeval.studies.vce.scores import DECIMALS, NORMS

COMMITTEE = ("mean", "majority")
"""What the committee's figures are called, and no oracle may be."""


def group_scores(
    scores: Iterable[VceScore],
    arm: VceArm,
    distributions: Distributions,
    distances: Mapping[str, PerceptualDistance],
    seed: int,
) -> Iterator[GroupScore]:
    """Score the groups of an arm, source by source, the ideal target first.

    Args:
        scores: of all counterfactuals of the arm, whatever became of them, in any order. They are kept, images are not.
        arm: what made them.
        distributions: feature extractors by the names of their figures, and where the images come from.
        distances: perceptual distances by name, for the diversity of counterfactuals of one image.
        seed: of the study.

    Raises:
        InputError: an oracle has the name of a committee's figure, or sizes of images differ.
        BackendError: memory ran out.
    """
    groups: dict[Group, list[VceScore]] = {}
    for score in scores:
        groups.setdefault(Group(source=score.source, target=score.target, pair=score.pair), []).append(score)
    for group in sorted(groups, key=lambda group: (group.source, group.pair, group.target)):
        members = sorted(groups[group], key=lambda score: (score.source_image, score.repeat))
        ok = [score for score in members if score.status == Status.OK]
        drawn = derive(seed, group.source, group.target, "halves")
        figures: dict[str, float] = {}
        if ok:
            with memory_errors(f"scoring the group {group.source} → {group.target}", "set a smaller batch"):
                figures |= said_figures(ok) | mean_figures(ok)
                figures |= batch_figures(ok) if distributions.views.reference else {}
                figures |= diversity_figures(ok, distances, distributions)
                figures |= distributions.figures(members, ok, group.target, drawn)
        yield GroupScore(
            arm=arm,
            group=group,
            n=len(members),
            n_scored=len(ok),
            missing=dict(Counter(str(score.status) for score in members if score.status != Status.OK)),
            figures={name: round(value, DECIMALS) for name, value in figures.items()},
        )


def said_figures(ok: Sequence[VceScore]) -> dict[str, float]:
    """What the explained classifier and the oracles say, of counterfactuals that have a result."""
    predicted = [score.predicted or "" for score in ok]
    targets = [score.target for score in ok]
    figures = {
        "ta": target_accuracy(predicted, targets),
        "oa": original_accuracy(predicted, [score.source for score in ok]),
        "fr": flip_rate([score.before or "" for score in ok], predicted),
    }
    oracles = {name: [score.oracles[name] for score in ok] for name in ok[0].oracles}
    for name, said in oracles.items():
        if name in COMMITTEE:
            raise InputError(f"an oracle is called '{name}', which is the committee's name; give it another name")
        figures |= {f"os_{name}": oracle_score(predicted, said), f"ota_{name}": oracle_target_accuracy(said, targets)}
    for kind, wanted in (("os", predicted), ("ota", targets)):
        if oracles:
            figures[f"{kind}_mean"] = committee_mean(oracles, wanted)
            figures[f"{kind}_majority"] = committee_majority(oracles, wanted)
    return figures


def mean_figures(ok: Sequence[VceScore]) -> dict[str, float]:
    """Means of what is measured of each counterfactual, over those that have it."""
    rows = [{**score.distances, **score.others, "p_target": score.p_target, "p_source": score.p_source} for score in ok]
    names = dict.fromkeys(name for row in rows for name in row)
    told = {name: [value for row in rows if (value := row.get(name)) is not None] for name in names}
    return {name: fmean(values) for name, values in told.items() if values}


def batch_figures(ok: Sequence[VceScore]) -> dict[str, float]:
    """The distances of the reference code: one norm over all counterfactuals together."""
    return {f"{name}_batch": batch_lp_distance([score.distances[name] for score in ok], p) for name, p in NORMS.items()}


def diversity_figures(
    ok: Sequence[VceScore], distances: Mapping[str, PerceptualDistance], distributions: Distributions
) -> dict[str, float]:
    """How different counterfactuals of one image are; left out where no image has two."""
    repeats: dict[str, list[VceScore]] = {}
    for score in ok:
        repeats.setdefault(score.source_image, []).append(score)
    several = [same for same in repeats.values() if len(same) > 1]
    if not several or not distances:
        return {}
    found: dict[str, list[list[float]]] = {name: [] for name in distances}
    for same in several:
        images = distributions.views.counterfactuals(same)
        for name, measure in distances.items():
            apart: list[float] = []
            for pairs in batched(repeat_pairs(len(same)), distributions.batch):
                one, other = (list(side) for side in zip(*pairs, strict=True))
                apart += perceptual(measure, images[one], images[other]).tolist()
            found[name].append(apart)
    return {f"diversity_{name}": diversity(per_image) for name, per_image in found.items()}
