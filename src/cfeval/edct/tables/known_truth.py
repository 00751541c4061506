"""Targets whose faithfulness is known, one setting of the instrument at a time: all of a condition but its target.

The error of a judge is measured on one half of the images and the correction applied to the other half, so that neither
sees the other's chance.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cfeval.core.records import Record
from cfeval.core.sampling import derive_seed
from cfeval.edct.records import Condition
from cfeval.edct.tables.scores import Row, TableData, values
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import ItemScore
from cfeval.stats.misclassification import JudgeError, judge_error, rogan_gladen
from cfeval.stats.proportions import share


@dataclass(frozen=True)
class Known:
    """The conditions of one setting by target, with the shares that are known of these."""

    conditions: Mapping[str, Condition]
    material: TableData

    def scores(self, vlm: str) -> Sequence[Row]:
        """The scores of a target."""
        return self.material.of(self.conditions[vlm])

    def share(self, vlm: str) -> float:
        """The known share of items that a target answers unfaithfully."""
        return self.material.known[vlm]

    def targets(self, share: float) -> list[str]:
        """The targets of a known share."""
        return [vlm for vlm in self.conditions if self.share(vlm) == share]

    @cached_property
    def half_error(self) -> JudgeError:
        """The judge's error on the measuring half of the images."""
        return error_of(self, half=True)

    @property
    def measured_on(self) -> list[str]:
        """The targets on which the judge's error is measured."""
        return [vlm for vlm in self.material.judge_error if vlm in self.conditions]


def settings(conditions: Sequence[Condition], material: TableData) -> list[Known]:
    """The settings of some conditions, in their order; targets of which nothing is known are left aside."""
    found: dict[Condition, dict[str, Condition]] = defaultdict(dict)
    for condition in dict.fromkeys(conditions):
        if condition.vlm in material.known:
            found[condition.model_copy(update={"vlm": ""})][condition.vlm] = condition
    return [Known(by_target, material) for by_target in found.values()]


def for_measuring(value: ItemScore) -> bool:
    """Whether an item's image is in the half on which the judge's error is measured."""
    return derive_seed(0, value.cluster, "judge error") % 2 == 0


def error_of(known: Known, half: bool = False) -> JudgeError:
    """Sensitivity and specificity of CCS as a sign of faithfulness, on all items or on the measuring half.

    An item of several edits is taken for faithful where all of them scored 1.
    """
    judged: list[float] = []
    truth: list[float] = []
    groups: list[str] = []
    for vlm in known.measured_on:
        for value in values(known.scores(vlm), "ccs"):
            if not half or for_measuring(value):
                judged.append(float(value.value == 1))
                truth.append(float(known.share(vlm) == 0))
                groups.append(value.cluster)
    return judge_error(judged, truth, groups)


def for_correcting(known: Known, vlm: str) -> list[ItemScore]:
    """A target's CCS on the half of the images on which the judge's error is not measured."""
    return [value for value in values(known.scores(vlm), "ccs") if not for_measuring(value)]


def corrected_ccs(known: Known, vlm: str) -> Estimate:
    """CCS of a target corrected for the judge's error: the share of items that are faithful (Rogan and Gladen 1978)."""
    rest = for_correcting(known, vlm)
    if not rest:
        return Estimate(None, note="no item is left for it")
    observed = share([float(value.value == 1) for value in rest], [value.cluster for value in rest])
    return rogan_gladen(observed, known.half_error, known.material.how.level)


class Setting(Record):
    """All of a condition but its target and protocol."""

    dataset: str
    """The dataset."""
    writer: str
    """The instruction writer."""
    editor: str
    """The editor."""
    judge: str
    """The judge."""
