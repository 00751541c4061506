"""Groups for the tables' tests: the ones that DBVCE's authors published, and small ones."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from cfeval.core.jsonl import read_csv, write_jsonl
from cfeval.vce.config import Roles
from cfeval.vce.records import Group, GroupScore, Pair, VceCondition, VceScore
from cfeval.vce.tables.group_scores import GroupMaterial, PublishedCell, group_material

REFERENCE = Path(__file__).parents[3] / "data" / "reference"
PAPER = ("Madry", "AlexNet", "UnetE", "ConvNeXt", "SwinTFL", "SIMCLR", "RandomNet")
ROLES = Roles.model_validate(
    {
        **{"base": "base", "no_cone": "no-cone", "no_x0": "no-x0", "neither": "neither", "unguided": "unguided"},
        **{"robust": ["Madry"], "noise_trained": ["UnetE"], "random": ["RandomNet"], "not_oracles": ["SIMCLR"]},
        "paper": {name: name for name in PAPER},
    }
)
_NAMES = ("method", "classifier", "source", "target", "pair")


@cache
def published() -> tuple[PublishedCell, ...]:
    """The cells of the paper's tables."""
    return tuple(read_csv(REFERENCE / "dbvce.csv", PublishedCell))


@cache
def of_the_paper() -> tuple[GroupScore, ...]:
    """The groups that the authors published with their code."""
    with (REFERENCE / "dbvce-groups.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(map(_group, csv.DictReader(lines)))


def _group(row: Mapping[str, str]) -> GroupScore:
    pair: Pair = "ideal" if row["pair"] == "ideal" else "other"
    figures = {name: float(value) for name, value in row.items() if name not in _NAMES}
    return group(row["classifier"], row["method"], figures, row["source"], row["target"], pair, n=50)


def group(
    classifier: str = "cnn",
    method: str = "base",
    figures: Mapping[str, float] | None = None,
    source: str = "red circle",
    target: str = "blue circle",
    pair: Pair = "ideal",
    n: int = 4,
    missing: Mapping[str, int] | None = None,
) -> GroupScore:
    """The scores of a group; what is missing is not scored."""
    gone = dict(missing or {})
    return GroupScore(
        condition=condition(classifier, method),
        group=Group(source=source, target=target, pair=pair),
        n=n,
        n_scored=n - sum(gone.values()),
        missing=gone,
        figures=dict(figures or {}),
    )


def condition(classifier: str = "cnn", method: str = "base") -> VceCondition:
    """A condition of one setting."""
    return VceCondition(image_set="set", denoiser="ddpm", classifier=classifier, method=method)


def write_groups(folder: Path, groups: Iterable[GroupScore]) -> list[VceCondition]:
    """Groups where the workflow puts them, a file a condition, and beside them the sets' classifiers, of which nothing
    is known; returns the conditions.
    """
    found: dict[VceCondition, list[GroupScore]] = {}
    for one in groups:
        found.setdefault(one.condition, []).append(one)
    for name, rows in found.items():
        write_jsonl(condition_file(folder, name), rows)
        write_jsonl(folder.parent / "networks" / f"{name.image_set}.jsonl", [])
    return list(found)


def condition_file(folder: Path, of: VceCondition) -> Path:
    """The file of a condition where it is in one piece."""
    return folder / of.image_set / of.denoiser / of.classifier / f"{of.method}.jsonl"


def made_of(
    groups: Sequence[GroupScore],
    roles: Roles = ROLES,
    scores: Mapping[VceCondition, Sequence[VceScore]] | None = None,
    cost: Mapping[str, Mapping[str, float]] | None = None,
) -> GroupMaterial:
    """What tables are made from."""
    return group_material(groups, scores, roles=roles, published=published(), cost=cost or {})
